"""Queries checked against one schema: resolved text and types, or the error. Data in ``cases``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from llama_index_semxpath import errors
from llama_index_semxpath.schema import AttributeInfo, KindInfo, Schema
from llama_index_semxpath.xpath import check, compile_query, parse, to_text
from llama_index_semxpath.xpath.check import CAPABILITIES

CASES = Path(__file__).parent / "cases"


def read(name: str) -> Any:
    return json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))


SCHEMA = Schema.from_dict(read("check_schema"))
PARAMS = {
    "q": "leave",
    "n": 2,
    "flag": True,
    "list": ["a", "b"],
    "nums": [1, 2],
    "price": 1,
    "day": "2026-01-31",
    "flag2": 0.5,
    "dir": "asc",
}
BAD_PARAMS = PARAMS | {"bad": {"a": 1}, "worse": [object()], "blank": " ", "zero": 0, "half": 1.5}


@pytest.mark.parametrize("row", [pytest.param(r, id=r["query"]) for r in read("check_ok")])
def test_checked_query(row: dict[str, Any]) -> None:
    checked = check(parse(row["query"]), SCHEMA, PARAMS, text=row["query"])
    assert to_text(checked.expr) == row["text"]
    assert (checked.type, checked.graded) == (row["type"], row["graded"])
    assert (None if checked.kinds is None else sorted(checked.kinds)) == row["kinds"]
    again = check(checked.expr, SCHEMA, PARAMS)
    assert to_text(again.expr) == row["text"]


@pytest.mark.parametrize("row", [pytest.param(r, id=r["query"]) for r in read("check_errors")])
def test_refused_query(row: dict[str, Any]) -> None:
    with pytest.raises(getattr(errors, row["error"])) as caught:
        check(parse(row["query"]), SCHEMA, BAD_PARAMS, text=row["query"])
    error = caught.value
    assert (error.message, error.offset, error.hint) == (
        row["message"],
        row["offset"],
        row.get("hint"),
    )
    assert list(error.expected) == row.get("expected", [])
    assert list(error.suggestions) == row.get("suggestions", [])


def test_twelve_classes_of_error_have_cases() -> None:
    rows = read("check_errors") + read("syntax_errors") + read("lexical_errors")
    assert {row["error"] for row in rows} >= {
        "SemXPathSyntaxError",
        "UnknownNameError",
        "AmbiguousNameError",
        "QueryTypeError",
        "ParameterError",
    }
    assert len({row["message"].split("'")[0] for row in rows}) >= 40


@pytest.mark.parametrize("schema", [None, Schema()])
def test_without_a_schema_every_name_is_taken(schema: Schema | None) -> None:
    query = "//Anything[foo = 1]/rel::BAR/baz[@qux]"
    assert to_text(check(parse(query), schema).expr) == to_text(parse(query))


def test_ambiguous_in_three_ways() -> None:
    kind = KindInfo("A", 1, {"x": AttributeInfo("x", "string", 1, 1.0)}, {"x": 1})
    relation = {"x": {"count": 1, "sources": {"A": 1}, "targets": {}}}
    whole = Schema({"A": kind, "x": KindInfo("x", 1)}).to_dict() | {"relations": relation}
    schema = Schema.from_dict(whole)
    with pytest.raises(errors.AmbiguousNameError) as caught:
        check(parse("//A[x]"), schema, text="//A[x]")
    assert caught.value.expected == ("@x", "child::x", "rel::x")
    assert "@x or child::x or rel::x" in str(caught.value)
    for way in caught.value.expected:
        assert way in to_text(check(parse(f"//A[{way}]"), schema).expr)


def test_a_parameter_may_stay_unbound_while_planning() -> None:
    checked = check(parse("//Row[@price > $p][$n]"), SCHEMA, None)
    assert to_text(checked.expr) == "//Row[@price > $p][$n]"
    with pytest.raises(errors.ParameterError):
        check(parse("//Row[@price > $p]"), SCHEMA, {})


@pytest.mark.parametrize(
    ("query", "missing", "said"),
    [
        ("//Section[. =~ 'x']", "scorer", "grading by meaning needs embeddings"),
        ("//Section[bm25(., 'x')]", "keywords", "keyword relevance needs a keyword index"),
        ("//Document/rel::SIGNED_BY", "graph", "a path over a relation needs a graph"),
        ("/员工/所属部门", "graph", "a path over a relation needs a graph"),
        ("at('2026-01-01', //Row)", "versions", "reading the past needs versions"),
        ("//Version[1]", "versions", "reading versions needs versions"),
        ("//Row/version::*", "versions", "reading versions needs versions"),
    ],
)
def test_what_an_index_cannot_do(query: str, missing: str, said: str) -> None:
    check(parse(query), SCHEMA, text=query)
    with pytest.raises(errors.QueryCapabilityError, match=said):
        check(parse(query), SCHEMA, text=query, capabilities=CAPABILITIES - {missing})


def test_relations_of_the_tree_need_no_graph() -> None:
    query = "//Section/rel::NEXT | //Section/rel::CONTAINS"
    assert check(parse(query), SCHEMA, capabilities=frozenset()).type == "nodes"


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("//Section['leave']", '["leave"] holds for every node'),
        ("//Section[@price > 1]", "no Section has @price, which stands on Row"),
        ("//Row[@price > 1]", None),
        ("//*[@price > 1]", None),
        ("//Section[@title = 'leave']", None),
    ],
)
def test_what_was_hardly_meant_is_noted(query: str, note: str | None) -> None:
    notes = check(parse(query), SCHEMA, text=query).notes
    assert len(notes) == (note is not None)
    assert note is None or note in notes[0]


def test_relations_of_the_tree_alone_are_told_from_none_configured() -> None:
    schema = Schema({"A": KindInfo("A", 1)})
    with pytest.raises(errors.UnknownNameError, match="holds none beside CONTAINS and NEXT"):
        check(parse("//A/rel::X"), schema)
    with pytest.raises(errors.QueryCapabilityError, match="follows the relations of the graph"):
        check(parse("//A/rel::*"), schema)
    for query in ("//A/rel::X", "//A/rel::*"):
        with pytest.raises(errors.QueryCapabilityError, match="needs a graph, and this index"):
            check(parse(query), schema, capabilities=CAPABILITIES - {"graph"})
    assert check(parse("//A/inv::NEXT"), schema).type == "nodes"


@pytest.mark.parametrize(
    "text",
    [
        "delete //Section[1]",
        "delete all //Section",
        'set //Section[1]/@title = "x"',
        'insert Section(@title = "x") into /Document[1]',
        "replace //Section[1] with Section()",
        "move //Section[1] after //Section[2]",
    ],
)
def test_an_update_is_no_query_and_says_where_it_belongs(text: str) -> None:
    with pytest.raises(errors.QueryCapabilityError, match=r"StructuredMemory\.update") as caught:
        compile_query(text, SCHEMA, {})
    assert caught.value.offset == 0
    with pytest.raises(errors.QueryError) as plain:
        compile_query("//delete", SCHEMA, {})
    assert "update" not in str(plain.value)


def test_the_caret_stands_under_the_fault() -> None:
    query = "//Section[title = 'x']/Paragraf"
    with pytest.raises(errors.UnknownNameError) as caught:
        check(parse(query), SCHEMA, text=query)
    assert str(caught.value).splitlines() == [
        "unknown kind 'Paragraf' at line 1, column 24; did you mean 'Paragraph'?",
        f"  {query}",
        "  " + " " * 23 + "^",
    ]


def columns(*names: str) -> Schema:
    attributes = {name: AttributeInfo(name, "number", 3, 1.0) for name in names}
    title = {"title": AttributeInfo("title", "string", 1, 1.0)}
    return Schema({"Row": KindInfo("Row", 3, attributes), "Section": KindInfo("Section", 1, title)})


TABLE = columns(
    "2024 / Q3 / Revenue", "2024 / Q3 / Cost (kEUR)", "2025 / Q3 / Cost (kEUR)", "重量（kg）"
)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("//Row[@Revenue > 3]", "//Row[@`2024 / Q3 / Revenue` > 3]"),
        ("//Row[Revenue > 3]", "//Row[@`2024 / Q3 / Revenue` > 3]"),
        ("//Row/@Revenue", "//Row/@`2024 / Q3 / Revenue`"),
        ("//Row[@`Q3 / Revenue` > 3]", "//Row[@`2024 / Q3 / Revenue` > 3]"),
        ("//*[@Revenue > 3]", "//*[@`2024 / Q3 / Revenue` > 3]"),
        ("//Section[@Revenue > 3]", "//Section[@`2024 / Q3 / Revenue` > 3]"),
        ("//Row[@`2025 / Q3 / Cost` > 3]", "//Row[@`2025 / Q3 / Cost (kEUR)` > 3]"),
        ("//Row[重量 > 3]", "//Row[@`重量（kg）` > 3]"),
        ("sort(//Row, Revenue)", "sort(//Row, @`2024 / Q3 / Revenue`)"),
        ("//Row[@number = 1]", "//Row[@number = 1]"),
    ],
)
def test_a_column_by_the_end_of_its_header_path(query: str, text: str) -> None:
    assert to_text(check(parse(query), TABLE, text=query).expr) == text


@pytest.mark.parametrize("query", ["//Row[@Cost > 3]", "//Row[Cost > 3]", "//Row[@`Cost (kEUR)`]"])
def test_a_column_name_that_two_header_paths_end_in(query: str) -> None:
    with pytest.raises(errors.AmbiguousNameError) as caught:
        check(parse(query), TABLE, text=query)
    assert caught.value.expected == ("@`2024 / Q3 / Cost (kEUR)`", "@`2025 / Q3 / Cost (kEUR)`")


def test_the_whole_name_of_a_column_wins_over_an_end() -> None:
    schema = columns("Cost", "2024 / Cost")
    query = "//Row[@Cost > 3]"
    assert to_text(check(parse(query), schema, text=query).expr) == query
