import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llama_index_semxpath.index.entities import (
    EntityResolver,
    KnownEntity,
    Mention,
    Merge,
    apart_names,
    merge_sources,
    undo_merge,
)
from llama_index_semxpath.index.entity_names import canonical_key, name_key
from llama_index_semxpath.index.graph_projection import PropertyGraphProjection
from llama_index_semxpath.index.graph_store import MemoryPropertyGraphStore
from llama_index_semxpath.index.projection import Entity
from llama_index_semxpath.index.rows import EntitySource

FIRST_ID = "d2ed10596152ef995bbc97c31b55e4de"
CASE = Path(__file__).parents[1] / "cases/stores/69-entity-variants-merge/case.json"


def groups(*mentions: Mention | str) -> list[set[int]]:
    """Places of the mentions, by entity."""
    resolver = EntityResolver()
    found: dict[str, set[int]] = {}
    for place, mention in enumerate(mentions):
        made = Mention(mention) if isinstance(mention, str) else mention
        found.setdefault(resolver.resolve(made)[0], set()).add(place)
    return list(found.values())


def test_case_69_variants_merge_and_others_do_not() -> None:
    case = json.loads(CASE.read_text(encoding="utf-8"))
    names = case["operation"]["names"]
    resolver = EntityResolver()
    rows: dict[str, list[EntitySource]] = {}
    merges: list[Merge] = []
    for place, name in enumerate(names):
        id_, merge = resolver.resolve(Mention(name))
        rows.setdefault(id_, []).append(EntitySource(id_, f"d{place}", "entity", name))
        merges += [merge] if merge else []
    found = [[row.name for row in entity] for entity in rows.values()]
    for group in case["expected"]["groups"]:
        assert group in found
    assert ["Valve Units"] in found  # the documented rule: plurals are other names
    (valve,) = [merge_sources(r) for r in rows.values() if r[0].name == "Valve Unit"]
    assert valve[1] == "Valve Unit"
    assert valve[3] == tuple(case["expected"]["groups"][0][1:])
    assert {m.absorbed for m in merges} == set(valve[3])


@pytest.mark.parametrize(
    "names",
    [
        ("System Admin", "system admin", "SystemAdmin", "system-admin", "system_admin"),
        ("Electrons", "electrons"),
        ("Acme Ltd", "Acme Ltd.", "ACME LIMITED", "Acme, Ltd.", "Acme Co., Ltd.", "Acme"),
        ("晨光科技有限公司", "晨光科技", "晨光 科技有限责任公司", "晨光科技（有限公司）"),
        ("U.S.", "US", "u.s"),
        ("《合同法》", "合同法", "「合同法」"),
        ("O’Hara", "O'Hara", "O`Hara"),
        ("ＡＢＣ公司", "ABC公司"),
        ("Café", "Cafe\u0301", "CAFÉ"),
        ("Straße", "STRASSE"),
        ("zero\u200bwidth", "zerowidth"),
    ],
)
def test_variants_meet(names: tuple[str, ...]) -> None:
    assert len(groups(*names)) == 1


@pytest.mark.parametrize(
    "names",
    [
        ("Valve Unit", "Valve Unit 2", "Valve Units"),
        ("Unit 1 2", "Unit 12", "Unit 1.2"),
        ("C", "C++", "C#"),
        ("Acme Inc.", "Acme Ltd.", "Acme GmbH"),
        ("Flag", "Fl"),
        ("第一章", "第二章"),
        ("张三", "张三丰"),
        ("-1", "1"),
        ("A-", "A+", "A"),
    ],
)
def test_different_names_stay_apart(names: tuple[str, ...]) -> None:
    assert len(groups(*names)) == len(names)


def test_homonyms_stay_apart() -> None:
    assert groups(
        Mention("Apple", "Company"), Mention("apple", "Fruit"), Mention("Apple", "Company")
    ) == [{0, 2}, {1}]
    assert groups(Mention("李雷", "员工", "甲部"), Mention("李雷", "员工", "乙部")) == [{0}, {1}]
    one, other = {"工号": "001"}, {"工号": "002"}
    assert groups(
        Mention("李雷", "员工", properties=one),
        Mention("李雷", "员工", properties=other),
        Mention("李雷", "员工", properties={**one, "age": 3}),
    ) == [{0, 2}, {1}]


def test_an_untyped_mention_fits_one_type_but_not_two() -> None:
    company, fruit = Mention("Apple", "Company"), Mention("Apple", "Fruit")
    untyped = Mention("Apple")
    assert groups(company, untyped) == [{0, 1}]
    assert groups(untyped, company) == [{0, 1}]
    assert groups(company, fruit, untyped, untyped) == [{0}, {1}, {2, 3}]


def test_aliases_join() -> None:
    assert groups(Mention("International Business Machines", aliases=("IBM",)), Mention("ibm")) == [
        {0, 1}
    ]
    assert groups(Mention("IBM"), Mention("International Business Machines", aliases=("IBM",))) == [
        {0, 1}
    ]


def test_ids_do_not_depend_on_spelling_or_run() -> None:
    first = EntityResolver().resolve(Mention("Valve Unit", "Part"))[0]
    assert EntityResolver().resolve(Mention("VALVE UNIT.", "Part"))[0] == first
    assert EntityResolver().resolve(Mention("Valve Unit", "Other"))[0] != first
    assert first == FIRST_ID, "ids are the same on every machine, for good"


def test_resolution_goes_on_after_a_reload() -> None:
    resolver = EntityResolver()
    id_, _ = resolver.resolve(Mention("Acme Ltd", "Company", properties={"lei": "1"}))
    known = KnownEntity(id_, "Company", "", ["Acme Ltd"], {"lei": "1"})
    again = EntityResolver([known])
    assert again.resolve(Mention("ACME", "Company"))[0] == id_
    assert again.resolve(Mention("ACME", "Company", properties={"lei": "2"}))[0] != id_
    assert known.names == ["Acme Ltd"], "the caller's own is not changed"


def test_properties_and_names_come_from_all_living_rows() -> None:
    rows = [
        EntitySource("e", "d1", "entity", "Acme", {"n": 0, "city": "X"}, ("A.",)),
        EntitySource("e", "d2", "Company", "ACME", {"city": "Y", "ok": False}),
    ]
    assert merge_sources(rows) == (
        "Company", "Acme", {"n": 0, "city": "Y", "ok": False}, ("A.", "ACME"),
    )  # fmt: skip
    assert merge_sources(rows[1:]) == ("Company", "ACME", {"city": "Y", "ok": False}, ())


def test_a_merge_is_undone_and_stays_undone() -> None:
    resolver = EntityResolver()
    id_, _ = resolver.resolve(Mention("Acme"))
    _, merge = resolver.resolve(Mention("Acme Ltd"))
    assert merge is not None
    assert (merge.rule, merge.absorbed) == ("company-form", "Acme Ltd")
    rows = [
        EntitySource(id_, "d1", "entity", "Acme", {"a": 1}),
        EntitySource(id_, "d2", "entity", "Acme Ltd", {"b": 2}),
        EntitySource(id_, "d3", "entity", "Acme", {"c": 3}, ("Acme Ltd", "AC")),
    ]
    staying, moved = undo_merge(rows, merge)
    assert merge_sources(staying)[1:] == ("Acme", {"a": 1, "c": 3}, ("AC",))
    assert merge_sources(moved)[1:] == ("Acme Ltd", {"b": 2}, ())
    new = moved[0].entity
    assert new != id_
    assert {row.doc for row in moved} == {"d2", "d3"}

    apart = apart_names([merge])
    again = EntityResolver(
        [
            KnownEntity(id_, "entity", "", ["Acme", "AC"], {}, apart[id_]),
            KnownEntity(new, "entity", "", ["Acme Ltd"]),
        ]
    )
    assert again.resolve(Mention("Acme Ltd"))[0] == new
    assert again.resolve(Mention("Acme"))[0] == id_


def test_undoing_a_spelling_with_the_same_key_keeps_the_two_apart() -> None:
    rows = [EntitySource("e", "d1", "entity", "DGX"), EntitySource("e", "d2", "entity", "dgx")]
    merge = Merge("e", "dgx", "same-name")
    staying, moved = undo_merge(rows, merge)
    known = [
        KnownEntity("e", "entity", "", ["DGX"], {}, apart_names([merge])["e"]),
        KnownEntity(moved[0].entity, "entity", "", ["dgx"]),
    ]
    assert [row.name for row in staying] == ["DGX"]
    assert EntityResolver(known).resolve(Mention("DGX"))[0] == "e"
    assert EntityResolver(known).resolve(Mention("dgx"))[0] == moved[0].entity


def test_aliases_are_searched() -> None:
    store = MemoryPropertyGraphStore()
    PropertyGraphProjection(store.graph).upsert_entities(
        [
            Entity("e1", "Part", "Valve Unit", ("VALVE  UNIT", "VU"), {}, "~a0", "f"),
            Entity("e2", "Part", "Valve Unit 2", (), {}, "~a1", "f"),
        ]
    )
    for spelling in ("valve unit", "“Valve Unit”", "vu", "Ｖａｌｖｅ Unit."):
        assert [n.id for n in store.get(ids=[spelling])] == ["e1"]


@given(st.text(), st.sampled_from(["", " ", ".", "。", "”"]))
def test_the_key_is_stable_under_its_variants(name: str, tail: str) -> None:
    key = canonical_key(name)
    assert canonical_key(name) == key
    assert canonical_key(f"  {name} ") == key
    assert name_key(name).full == key
    if key and canonical_key(f"x{name}") and name.strip():
        assert canonical_key(f"x{name}{tail}") == canonical_key(f"x{name}")


@given(st.lists(st.text(min_size=1, max_size=6), max_size=12))
def test_equal_names_are_always_one_entity(names: list[str]) -> None:
    resolver = EntityResolver()
    first = [resolver.resolve(Mention(name))[0] for name in names]
    again = [resolver.resolve(Mention(name))[0] for name in names]
    assert first == again
