"""Branches, merges, the registry of tasks, and several writers at once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from memory_trees import TRIP

from llama_index_semxpath.errors import MergeConflictError, SemXPathError, StoreError
from llama_index_semxpath.memory import Record, StructuredMemory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[StructuredMemory]:
    with StructuredMemory.from_defaults(tmp_path, embed=False) as memory:
        memory.load_tree(TRIP, id="trip")
        yield memory


def test_a_branch_is_apart_until_it_is_merged(memory: StructuredMemory) -> None:
    with memory.branch("rainy") as rainy:
        rainy.update('set //Visit[@name = "River walk"]/@name = "Aquarium"')
        rainy.update('insert Visit(@name = "Library") into /Plan/Day[1]')
        rainy.update("delete /Plan/Day[1]/Meal")
        rainy.update("move /Plan/Day[2] before /Plan/Day[1]")
        wanted = rainy.to_xml("trip")
        assert len(rainy.version(1).query("//Meal")) == 2
    memory.update('set /Plan/@name = "Porto"')
    assert "Aquarium" not in memory.to_xml("trip")
    assert memory.branches() == ["rainy"]
    change = memory.merge("rainy", reason="forecast")
    assert memory.to_xml("trip") == wanted.replace("Weekend in Porto", "Porto")
    assert len(change.added) == 1
    assert memory.merge("rainy").ids == ()
    memory.undo(change.revision)
    assert [m.attributes["name"] for m in memory.query("/Plan/Day[1]/*")][-1] == "Tram museum"


def test_both_sides_changed(memory: StructuredMemory) -> None:
    with memory.branch("b") as branch:
        branch.update('set //Visit[@name = "River walk"]/@time = "08:00"')
        branch.update('insert Visit(@name = "Library") into /Plan/Day[1]')
    memory.update('set //Visit[@name = "River walk"]/@time = "20:00"')
    before = memory.to_xml("trip")
    with pytest.raises(MergeConflictError) as refused:
        memory.merge("b")
    assert refused.value.nodes == tuple(memory.query('//Visit[@name = "River walk"]').ids)
    assert memory.to_xml("trip") == before
    memory.merge("b", prefer="main")
    assert memory.query('//Visit[@name = "River walk"]/@time').value == ["20:00"]
    assert len(memory.query('//Visit[@name = "Library"]')) == 1


def test_a_parent_that_is_gone(memory: StructuredMemory) -> None:
    with memory.branch("b") as branch:
        branch.update('insert Visit(@name = "Library") into /Plan/Day[1]')
    memory.update("delete /Plan/Day[1]")
    with pytest.raises(StoreError, match="parent is gone"):
        memory.merge("b")
    assert len(memory.query("//Day")) == 1


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a b", "x" * 65, "a\x00"])
def test_names_of_branches(memory: StructuredMemory, name: str) -> None:
    for act in (memory.branch, memory.merge, memory.drop_branch):
        with pytest.raises(SemXPathError):
            act(name)
    with pytest.raises(StoreError, match="no such branch"):
        memory.merge("never")
    memory.branch("x").close()
    memory.drop_branch("x")
    assert memory.branches() == []


def test_tasks_and_their_versions(memory: StructuredMemory) -> None:
    tasks = memory.tasks()
    tasks.add("t1", TRIP, title="Porto")
    tasks.add("t2", Record("Plan"), title="Empty")
    memory.update('delete /Task[@task_id = "t1"]//Meal[1]')
    memory.update('set /Task[@task_id = "t1"]/Plan/@name = "Short"')
    assert [(task.task_id, len(task.versions)) for task in tasks] == [("t1", 3), ("t2", 1)]
    assert len(tasks.version("t1", 1).query('/Task[@task_id = "t1"]//Meal')) == 2
    assert len(memory.query('/Task[@task_id = "t1"]/Version[2]//Meal')) == 0
    assert [item.fields for item in tasks.compare("t1", 2, -1).changed] == [
        {"@name": ("Weekend in Porto", "Short")}
    ]
    for act in (
        lambda: tasks.add("t1", TRIP),
        lambda: tasks.version("t1", 4),
        lambda: tasks.version("t3", 1),
    ):
        with pytest.raises(StoreError):
            act()


def test_turns_from_many_threads(memory: StructuredMemory) -> None:
    def turn(number: int) -> int:
        memory.remember(f"turn {number}", "trip", kind="Turn")
        return len(memory.query("//Turn"))

    with ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(turn, range(40)))
    assert max(counts) == 40
    texts = [match.text for match in memory.query("//Turn")]
    assert sorted(texts) == sorted(f"turn {n}" for n in range(40))
    assert len(memory.revisions()) == 41
    times = [revision.time for revision in memory.revisions()]
    assert times == sorted(times, reverse=True)


_WRITER = """
import sys
from llama_index_semxpath.memory import StructuredMemory
with StructuredMemory.from_defaults(sys.argv[1], embed=False, author=sys.argv[2]) as memory:
    for number in range(10):
        memory.remember(f"{sys.argv[2]} {number}", "trip", kind="Turn")
"""


def test_turns_from_other_processes(memory: StructuredMemory) -> None:
    store = str(memory.index.config.store)
    running = [
        subprocess.Popen([sys.executable, "-c", _WRITER, store, name]) for name in ("ana", "rui")
    ]
    for number in range(10):
        memory.remember(f"here {number}", "trip", kind="Turn")
    assert [process.wait(60) for process in running] == [0, 0]
    assert len(memory.query("//Turn")) == 30
    assert {r.author for r in memory.revisions()} == {"user", "ana", "rui"}
