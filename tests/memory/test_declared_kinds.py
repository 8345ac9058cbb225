"""Declared kinds: what is written follows them, or nothing is written."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from llama_index_semxpath.errors import AttributeValueError, StoreError
from llama_index_semxpath.memory import KindSpec, Record, StructuredMemory

KINDS = {
    "Project": KindSpec({"name": "string"}, required=["name"], parents=[""]),
    "Task": KindSpec(
        {"name": "string", "due": "date", "done": "boolean", "tags": "list"},
        required=["name"],
        parents=["Project", "Task"],
    ),
    "Log": KindSpec({"hours": "number"}, extra=True),
}


@pytest.fixture
def memory(tmp_path: Path):
    with StructuredMemory.from_defaults(tmp_path / "m", kinds=KINDS, embed=False) as made:
        made.remember(
            Record(
                "Project",
                attributes={"name": "House"},
                children=[Record("Task", attributes={"name": "Paint", "due": dt.date(2026, 5, 1)})],
            )
        )
        yield made


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ('insert Task(@due = "x") into /Project', "a Task needs a 'name'"),
        ('insert Task(@name = "a", @don = true()) into /Project', "did you mean 'done'"),
        ('insert Task(@name = "a", @due = "soon") into /Project', "is a date, not a string"),
        ('insert Task(@name = "a", @done = "yes") into /Project', "is a boolean, not a string"),
        ('insert Note("n", Task(@name = "a")) into /Project', "may not stand in a Note"),
        ("set //Task/@due = 3", "is a date, not a number"),
        ('set //Task/@colour = "red"', "has no 'colour'"),
        ('replace //Task with Task("no name")', "a Task needs a 'name'"),
        ('insert Project(@name = "b") into /Project', "it stands at the root"),
    ],
)
def test_what_is_not_as_declared_is_refused(
    memory: StructuredMemory, statement: str, message: str
) -> None:
    before, revision = (
        memory.to_xml(memory.query("/Project")[0].document),
        memory.index.catalog.version,
    )
    with pytest.raises((AttributeValueError, StoreError), match=message):
        memory.update(statement)
    assert memory.to_xml(memory.query("/Project")[0].document) == before
    assert memory.index.catalog.version == revision


def test_a_required_attribute_stays(memory: StructuredMemory) -> None:
    with pytest.raises(AttributeValueError, match="needs a 'name'"):
        memory.revise("//Task", attributes={"name": None})
    memory.revise("//Task", attributes={"name": "Paint the wall", "done": True, "tags": ["a"]})
    assert memory.query("//Task[@done = true()]")[0].attributes["name"] == "Paint the wall"


def test_a_move_to_where_a_kind_may_not_stand(memory: StructuredMemory) -> None:
    note = memory.remember("a note", "/Project").added[0]
    with pytest.raises(StoreError, match="may not stand in a Note"):
        memory.move("//Task", "into", note)


def test_kinds_that_are_not_declared_are_free(memory: StructuredMemory) -> None:
    memory.remember(Record("Idea", "anything", {"whatever": 1}), "/Project")
    memory.remember(Record("Log", "worked", {"hours": 2.5, "who": "Rio"}), "/Project")
    assert len(memory.query("//Log[@hours > 2][@who = 'Rio']")) == 1


def test_an_agent_is_told_the_declared_kinds(memory: StructuredMemory) -> None:
    (tool,) = [t for t in memory.as_tools() if t.metadata.name == "show_schema"]
    told = str(tool())
    assert "declared: Task @name string required, @due date" in told


def test_declarations_that_mean_nothing() -> None:
    with pytest.raises(StoreError, match="'text' is no type"):
        KindSpec({"name": "text"})
    with pytest.raises(StoreError, match="not declared"):
        KindSpec({}, required=["name"])
    with pytest.raises(StoreError, match="stands nowhere"):
        KindSpec({}, parents=[])


def test_labels_that_leave_the_writer_out_and_a_parent_that_is_hidden(tmp_path: Path) -> None:
    with StructuredMemory.from_defaults(tmp_path, embed=False) as free:
        tree = '<Board title="Pay"><Agenda title="lunch"/></Board>'
        free.load_tree(tree, id="b", labels=["board"], principal=["board", "staff"])
        free.revise("//Agenda", labels=["staff"], principal=["board", "staff"])
        change = free.revise("//Agenda", {"title": "dinner"}, principal=["staff"])
        assert len(change.changed) == 1
        assert len(free.query("/Board", principal=["staff"])) == 0
    with StructuredMemory.from_defaults(tmp_path / "open", embed=False) as free:
        note = free.remember("pay").added[0]
        assert free.revise(note, labels=["board"]).changed == (note,)
        assert free.node(note) is None
