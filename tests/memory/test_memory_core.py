"""The memory through its public interface: writing, versions, undo, access, bad input."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest
from memory_trees import TRIP, Clock

from llama_index_semxpath.errors import (
    AccessError,
    AmbiguousTargetError,
    SemXPathError,
    SemXPathSyntaxError,
    StoreError,
)
from llama_index_semxpath.memory import Record, StructuredMemory


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[StructuredMemory]:
    with StructuredMemory.from_defaults(tmp_path, clock=clock, embed=False) as memory:
        memory.load_tree(TRIP, id="trip")
        yield memory


def names(memory: object, query: str = "//Visit | //Meal") -> list[str]:
    return [match.attributes["name"] for match in memory.query(query)]  # type: ignore[attr-defined]


def test_a_tree_is_what_was_loaded(memory: StructuredMemory) -> None:
    assert [m.xpath for m in memory.query("//Meal")] == [
        "/Plan[1]/Day[1]/Meal[1]",
        "/Plan[1]/Day[2]/Meal[1]",
    ]
    assert memory.query("/Plan/Day[2]/@index").value == [2]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            'insert Visit(@name = "Lighthouse") into /Plan/Day[2]',
            ["Market hall", "Tasca by the bridge", "Tram museum", "River walk", "Garden kitchen",
             "Lighthouse"],
        ),
        (
            'insert Visit(@name = "Lighthouse") before //Visit[@name = "Tram museum"]',
            ["Market hall", "Tasca by the bridge", "Lighthouse", "Tram museum", "River walk",
             "Garden kitchen"],
        ),
        (
            'insert all Visit(@name = "x") after /Plan/Day/*[1]'.replace("insert all", "insert"),
            None,
        ),
        (
            'insert Visit(@name = "Break") after all /Plan/Day/*[1]',
            ["Market hall", "Break", "Tasca by the bridge", "Tram museum", "River walk", "Break",
             "Garden kitchen"],
        ),
        (
            'replace //Meal[@name = "Garden kitchen"] with Meal(@name = "Port cellar")',
            ["Market hall", "Tasca by the bridge", "Tram museum", "River walk", "Port cellar"],
        ),
        ("delete //Visit", ["Tasca by the bridge", "Garden kitchen"]),
        ("delete /Plan/Day[1]", ["River walk", "Garden kitchen"]),
        (
            "move /Plan/Day[1]/Meal[1] into /Plan/Day[2]",
            ["Market hall", "Tram museum", "River walk", "Garden kitchen", "Tasca by the bridge"],
        ),
        (
            "move /Plan/Day[2] before /Plan/Day[1]",
            ["River walk", "Garden kitchen", "Market hall", "Tasca by the bridge", "Tram museum"],
        ),
        (
            "move /Plan/Day[1]/Visit after /Plan/Day[2]/Visit[1]",
            ["Tasca by the bridge", "River walk", "Market hall", "Tram museum", "Garden kitchen"],
        ),
    ],
)  # fmt: skip
def test_updates(memory: StructuredMemory, statement: str, expected: list[str] | None) -> None:
    before = names(memory)
    if expected is None:
        with pytest.raises(AmbiguousTargetError) as refused:
            memory.update(statement)
        assert len(refused.value.candidates) == 2
        assert names(memory) == before
        return
    change = memory.update(statement, reason="because")
    assert names(memory) == expected
    assert memory.revisions(1)[0].reason == "because"
    assert names(memory.version(change.revision - 1)) == before
    memory.undo()
    assert names(memory) == before
    assert names(memory.version(change.revision)) == expected


def test_set_keeps_the_type_of_the_value(memory: StructuredMemory) -> None:
    memory.update('set /Plan/Day[2]/@index = "7"')
    memory.update('set /Plan/@start = "2031-05-01"')
    assert memory.query("/Plan/Day[2]/@index").value == [7]
    assert memory.query('/Plan[@start < "2031-06-01"]/@start').value == ["2031-05-01"]


def test_parameters_are_values_and_never_statements(memory: StructuredMemory) -> None:
    hostile = 'x") into /Plan/Day[2]; delete //Day; ("'
    memory.update("insert $node into /Plan/Day[1]", params={"node": Record("Note", hostile)})
    assert [m.text for m in memory.query("//Note")] == [hostile]
    memory.update("set /Plan/@owner = $who", params={"who": "'; drop table nodes; --"})
    assert memory.query("/Plan/@owner").value == ["'; drop table nodes; --"]
    assert len(memory.query("//Day")) == 2


def test_an_edit_touches_only_its_rows(memory: StructuredMemory) -> None:
    target = memory.query("/Plan/Day[1]/Visit[1]")[0]
    change = memory.update('insert Visit(@name = "First") before /Plan/Day[1]/Visit[1]')
    assert (len(change.added), change.changed, change.moved, change.removed) == (1, (), (), ())
    assert [v.revision.seq for v in memory.history(target)] == [1]
    change = memory.update('set /Plan/Day[1]/Visit[2]/@time = "09:30"')
    assert change.changed == (target.id,)
    assert change.ids == (target.id,)


def test_history_tells_who_when_and_why(memory: StructuredMemory, clock: Clock) -> None:
    meal = memory.query("//Meal")[0].id
    clock.set("2031-02-01T08:00:00+00:00")
    memory.revise(meal, {"time": "13:00"}, reason="later", author="ana")
    clock.set("2031-03-01T08:00:00+00:00")
    memory.forget(meal, reason="closed", author="rui")
    versions = memory.history(meal)
    assert [(v.node and v.node.attributes["time"], v.revision.author) for v in versions] == [
        ("12:30", "user"),
        ("13:00", "ana"),
        (None, "rui"),
    ]
    assert versions[1].until is not None
    assert versions[1].until.reason == "closed"
    assert versions[2].until is None


def test_at_reads_by_date_time_and_number(memory: StructuredMemory, clock: Clock) -> None:
    clock.set("2031-02-01T08:00:00+00:00")
    memory.update("delete /Plan/Day[1]")
    assert len(memory.at("2031-01-31").query("//Day")) == 2
    assert len(memory.at("2031-02-01").query("//Day")) == 1
    assert len(memory.at("2031-02-01T07:59:59Z").query("//Day")) == 2
    assert len(memory.at(dt.date(2031, 1, 15)).query("//Day")) == 2
    assert len(memory.version(-1).query("//Day")) == 2
    assert "Market hall" in memory.at("2031-01-15").to_xml("trip")
    assert "Market hall" not in memory.to_xml("trip")
    with pytest.raises(StoreError, match="no date"):
        memory.at("next week")
    with pytest.raises(StoreError, match="no revision 99"):
        memory.version(99)


def test_a_clock_that_runs_backward_does_not_turn_versions_around(
    memory: StructuredMemory, clock: Clock
) -> None:
    clock.set("2030-06-01T00:00:00+00:00")
    memory.update("delete /Plan/Day[1]")
    times = [revision.time for revision in memory.revisions()]
    assert times == sorted(times, reverse=True)
    assert len(memory.at("2031-01-01").query("//Day")) == 1


def test_diff(memory: StructuredMemory) -> None:
    first = memory.index.catalog.version
    memory.update('insert Visit(@name = "Lighthouse") into /Plan/Day[2]')
    memory.update('set //Visit[@name = "River walk"]/@time = "11:00"')
    memory.update('move //Visit[@name = "Tram museum"] into /Plan/Day[2]')
    memory.update('delete //Meal[@name = "Garden kitchen"]')
    diff = memory.diff(first)
    assert [node.attributes["name"] for node in diff.added] == ["Lighthouse"]
    assert [node.attributes["name"] for node in diff.removed] == ["Garden kitchen"]
    assert [item.fields for item in diff.changed] == [{"@time": ("10:00", "11:00")}]
    assert [item.after.attributes["name"] for item in diff.moved] == ["Tram museum"]
    assert str(diff).splitlines()[0] == "- Meal Garden kitchen"
    assert not memory.diff(first, first)
    assert memory.diff("2031-01-01", None).to_dict()["to"] == memory.index.catalog.version


def test_undo_of_an_older_change_and_its_refusal(memory: StructuredMemory) -> None:
    first = memory.update('set //Visit[@name = "River walk"]/@time = "11:00"').revision
    memory.update('delete //Meal[@name = "Garden kitchen"]')
    memory.undo(first)
    assert memory.query('//Visit[@name = "River walk"]/@time').value == ["10:00"]
    assert len(memory.query("//Meal")) == 1
    with pytest.raises(StoreError, match="changed again"):
        memory.undo(first)
    memory.undo()  # takes the undo back
    assert memory.query('//Visit[@name = "River walk"]/@time').value == ["11:00"]


def test_undo_brings_a_whole_tree_back(memory: StructuredMemory) -> None:
    before = memory.to_json("trip")
    memory.forget("trip")
    assert memory.trees() == []
    memory.undo()
    assert memory.to_json("trip") == before


def test_a_change_is_all_or_nothing(memory: StructuredMemory) -> None:
    revision = memory.index.catalog.version

    def half() -> None:
        with memory.change("half") as edit:
            edit.add(Record("Note", "kept?"), "trip")
            edit.remove("nobody")

    with pytest.raises(StoreError, match="no such node"):
        half()
    assert len(memory.query("/Plan/Day")) == 2
    assert memory.index.catalog.version == revision
    with memory.change("nothing") as edit:
        assert edit.node("trip").kind == "Plan"
    assert not edit.change
    assert memory.index.catalog.version == revision


def test_graded_targets_are_asked_back(tmp_path: Path) -> None:
    with StructuredMemory.from_defaults(tmp_path) as memory:
        memory.load_tree(TRIP, id="trip")
        statement = 'delete //*[@note][@note =~ "food and eating"]'
        loose = f"threshold(0, {statement.removeprefix('delete ')})"
        with pytest.raises(AmbiguousTargetError) as refused:
            memory.update(f"delete {loose}")
        assert {match.kind for match in refused.value.candidates} <= {"Visit", "Meal"}
        assert len(memory.query("//Visit")) == 3
        memory.update(f"delete all {loose}")
        assert len(memory.query("//Visit | //Meal")) == 0


def test_what_is_gone_is_a_clear_error(memory: StructuredMemory) -> None:
    meal = memory.query("//Meal")[0]
    memory.forget(meal)
    for act in (
        lambda: memory.revise(meal, {"time": "1"}),
        lambda: memory.forget(meal.id),
        lambda: memory.move(meal, "into", "trip"),
        lambda: memory.remember("x", meal),
        lambda: memory.update("delete /Plan/Day[9]"),
        lambda: memory.query(f'id("{meal.id}")')[0] and None,
    ):
        with pytest.raises((StoreError, IndexError)):
            act()
    assert memory.update("delete all /Plan/Day[9]").ids == ()


@pytest.mark.parametrize(
    ("act", "error"),
    [
        (lambda m: m.remember(""), StoreError),
        (lambda m: m.remember("   \n "), StoreError),
        (lambda m: m.remember("a\x00b"), SemXPathError),
        (lambda m: m.remember("\ud800"), SemXPathError),
        (lambda m: m.remember({"kind": "Note", "txt": "?"}), StoreError),
        (lambda m: m.remember(3), StoreError),
        (lambda m: m.update("drop everything"), SemXPathSyntaxError),
        (lambda m: m.update("delete //Day; delete //Plan"), SemXPathSyntaxError),
        (lambda m: m.move("trip", "into", "//Day[1]"), StoreError),
        (lambda m: m.move("//Day[1]", "into", "//Day[1]/Visit[1]"), StoreError),
        (lambda m: m.load_tree("<Plan>"), SemXPathError),
        (lambda m: m.load_tree("not a tree"), SemXPathError),
        (lambda m: m.load_tree(TRIP, id="trip"), StoreError),
        (lambda m: m.undo(0), StoreError),
        (lambda m: m.undo(77), StoreError),
        (lambda m: m.remember("x", "trip", reason="a\x00"), SemXPathError),
    ],
)  # fmt: skip
def test_bad_input_changes_nothing(memory: StructuredMemory, act, error) -> None:  # type: ignore[no-untyped-def]
    before = memory.to_json("trip")
    with pytest.raises(error):
        act(memory)
    assert memory.to_json("trip") == before
    assert len(memory.trees()) == 1


def test_a_turn_of_a_megabyte(memory: StructuredMemory) -> None:
    turn = "all work and no play " * 50_000
    change = memory.remember(turn, "trip", kind="Turn")
    assert memory.node(change.added[0]).text == turn  # type: ignore[union-attr]
    assert len(memory.query("//Turn")) == 1


def test_users_see_and_change_only_their_own(tmp_path: Path) -> None:
    with StructuredMemory.from_defaults(tmp_path, embed=False) as memory:
        ana = memory.load_tree("<User name='Ana'><Fact>tea</Fact><Fact>x</Fact></User>",
                               labels=["ana"]).added[0]  # fmt: skip
        rui = memory.remember(Record("User", attributes={"name": "Rui"}), principal=["rui"])
        assert [m.attributes["name"] for m in memory.trees(["ana"])] == ["Ana"]
        assert [m.attributes["name"] for m in memory.trees(["rui"])] == ["Rui"]
        assert memory.trees() == []
        for who in (["rui"], None):
            with pytest.raises(SemXPathError):
                memory.revise(ana, {"name": "?"}, principal=who)
            with pytest.raises(SemXPathError):
                memory.forget("//Fact", every=False, principal=who)
            with pytest.raises(SemXPathError):
                memory.remember("spam", ana, principal=who)
            assert memory.history(ana, principal=who) == []
        with pytest.raises(AccessError):
            memory.revise(ana, labels=["rui"], principal=["ana"])
        memory.revise(ana, {"city": "Faro"}, principal=["ana"])
        assert [n.id for n in memory.diff(0, principal=["rui"]).added] == [rui.added[0]]
        # What is hidden today is hidden in the past too.
        memory.revise(ana, labels=["vault"], principal=["ana", "vault"])
        assert memory.version(1).query("//User", principal=["ana"]).ids == []


def test_equal_notes_are_two_nodes(memory: StructuredMemory) -> None:
    first = memory.remember("call Eva", "trip").added[0]
    second = memory.remember("call Eva", "trip").added[0]
    assert first != second
    memory.forget(first)
    assert [m.id for m in memory.query("//Note")] == [second]


def test_ids_do_not_depend_on_the_machine(tmp_path: Path) -> None:
    found = []
    for name in ("a", "b"):
        with StructuredMemory.from_defaults(tmp_path / name, embed=False) as memory:
            memory.load_tree(TRIP)
            memory.update('insert Visit(@name = "Lighthouse") into /Plan/Day[2]')
            found.append([m.id for m in memory.query("//*")])
    assert found[0] == found[1]


def test_many_inserts_at_one_place_keep_their_order(memory: StructuredMemory) -> None:
    expected = []
    for number in range(300):
        memory.update(
            f'insert Visit(@name = "v{number}") before //Meal[@name = "Tasca by the bridge"]'
        )
        expected.append(f"v{number}")
    assert names(memory, "/Plan/Day[1]/*")[1:-2] == expected
    keys = [m.node.order for m in memory.query("//*")]
    assert keys == sorted(keys)
    assert max(map(len, keys)) < 100


def test_purge_forgets_for_good(memory: StructuredMemory, clock: Clock) -> None:
    clock.set("2031-02-01T00:00:00+00:00")
    memory.update("delete /Plan/Day[1]")
    clock.set("2031-03-01T00:00:00+00:00")
    memory.update('set /Plan/@name = "Porto"')
    memory.purge("2031-02-15")
    with pytest.raises(StoreError, match="can be read no more"):
        memory.at("2031-01-15")
    assert memory.at("2031-02-20").query("/Plan/@name").value == ["Weekend in Porto"]
    data = b"".join(path.read_bytes() for path in memory.index.config.store.glob("catalog.db"))
    assert memory.purge() >= 1
    assert data


def test_reopening_finds_everything(tmp_path: Path) -> None:
    with StructuredMemory.from_defaults(tmp_path, embed=False) as memory:
        memory.load_tree(TRIP, id="trip")
        memory.update("delete /Plan/Day[1]", reason="rain")
        tree = memory.to_json("trip")
    with StructuredMemory.from_defaults(tmp_path, embed=False) as memory:
        assert memory.to_json("trip") == tree
        assert [r.reason for r in memory.revisions()] == ["rain", ""]
        assert len(memory.version(1).query("//Day")) == 2


async def test_async_twins(tmp_path: Path) -> None:
    with StructuredMemory.from_defaults(tmp_path, embed=False) as memory:
        await memory.aload_tree(TRIP, id="trip")
        await memory.aupdate("delete /Plan/Day[1]")
        await memory.aremember("x", "trip")
        await memory.arevise("trip", {"name": "P"})
        assert len(await memory.aquery("//*")) == 5


def test_the_past_in_queries(memory: StructuredMemory, clock: Clock) -> None:
    clock.set("2031-02-01T00:00:00+00:00")
    memory.update("delete /Plan/Day[1]")
    memory.update('set //Visit[@name = "River walk"]/@time = "11:00"')
    assert memory.query('count(at("2031-01-15", //Visit))').value == 3
    assert memory.query('at($day, //Meal[@time = "12:30"])', params={"day": "2031-01-15"}).ids
    assert memory.query("version(1, //Day[1]/Meal)").ids
    assert memory.query("version(-1, //Visit/@time)").value == ["10:00"]
    times = [m.attributes["time"] for m in memory.query('//Visit[@name = "River walk"]/version::*')]
    assert times == ["10:00", "11:00"]
    assert [m.attributes["name"] for m in memory.query("//Version[1]//Meal")] == [
        "Tasca by the bridge",
        "Garden kitchen",
    ]
    last = memory.query("//Version[-1]//Visit")
    assert [m.attributes["time"] for m in last] == ["11:00"]
    assert last[0].why["version"] == memory.index.catalog.version
    assert len(memory.query('//Version[.//Visit[@time = "10:00"]]')) == 2
    with pytest.raises(SemXPathError):
        memory.query('at("soon", //Day)')
    with pytest.raises(SemXPathError):
        memory.query("version(1.5, //Day)")
    # What is gone is not found; what never was is a mistake.
    assert memory.query('//Visit[@name = "Market hall"]').ids == []
    memory.update("delete all //Meal")
    assert memory.query("//Meal").ids == []
    with pytest.raises(SemXPathError, match="did you mean 'Visit'"):
        memory.query("//Visti")
