"""Query text to canonical text or error: data in ``cases``, one row a case."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from llama_index_semxpath.errors import SemXPathSyntaxError
from llama_index_semxpath.xpath import parse, to_text

HERE = Path(__file__).parent
LITERALS = HERE.parent / "cases" / "query" / "53-query-literals-quotes-hyphens" / "case.json"


def rows(errors: bool) -> list[Any]:
    found = []
    for path in sorted((HERE / "cases").glob("*.json")):
        if path.stem.endswith("_errors") == errors and not path.stem.startswith("check"):
            for row in json.loads(path.read_text(encoding="utf-8")):
                found.append(pytest.param(row, id=f"{path.stem}:{row['query']!a:.40}"))
    return found


@pytest.mark.parametrize("row", rows(errors=False))
def test_canonical_text(row: dict[str, Any]) -> None:
    expr = parse(row["query"])
    assert to_text(expr) == row["text"]
    assert parse(row["text"]) == expr
    assert to_text(parse(row["text"])) == row["text"]


@pytest.mark.parametrize("row", rows(errors=True))
def test_syntax_error(row: dict[str, Any]) -> None:
    with pytest.raises(SemXPathSyntaxError) as caught:
        parse(row["query"])
    error = caught.value
    assert (error.message, error.offset, error.hint) == (
        row["message"],
        row["offset"],
        row.get("hint"),
    )
    assert list(error.expected) == row.get("expected", [])
    assert list(error.suggestions) == row.get("suggestions", [])


def test_enough_cases() -> None:
    assert len(rows(errors=False)) >= 400
    assert len({row.values[0]["message"] for row in rows(errors=True)}) >= 40


def test_handed_literal_cases() -> None:
    case = json.loads(LITERALS.read_text(encoding="utf-8"))
    for query in case["expected"]["results"]:
        parse(query)
    for query in case["expected"]["errors"]:
        with pytest.raises(SemXPathSyntaxError) as caught:
            parse(query)
        assert caught.value.expected
        assert 0 < caught.value.offset <= len(query)


def test_literal_values_of_handed_cases() -> None:
    case = json.loads(LITERALS.read_text(encoding="utf-8"))
    titles = {node["id"]: node for node in case["data"]["nodes"]}
    for query, (wanted,) in case["expected"]["results"].items():
        condition = parse(query).steps[-1].filters[0].expr  # type: ignore[union-attr]
        name = condition.left.steps[0].test.name  # type: ignore[union-attr]
        assert titles[wanted][name] == condition.right.value  # type: ignore[union-attr]


def test_error_shows_line_column_and_caret() -> None:
    with pytest.raises(SemXPathSyntaxError) as caught:
        parse("//Section\n  [@title == 'x']")
    assert (caught.value.line, caught.value.column) == (2, 11)
    assert str(caught.value).splitlines() == [
        "unexpected '==' at line 2, column 11; expected an operator or ']'; write '='",
        "    [@title == 'x']",
        "            ^",
    ]


@pytest.mark.parametrize("query", [None, b"//a", 3, ["//a"]])
def test_only_text_is_a_query(query: object) -> None:
    with pytest.raises(SemXPathSyntaxError, match="a query is text"):
        parse(query)  # type: ignore[arg-type]


def test_spans_point_into_the_text() -> None:
    text = "//Section[ @title = 'x' ]/Paragraph[2]"
    path = parse(text)
    assert text[slice(*path.span)] == text
    section, paragraph = path.steps[1], path.steps[2]  # type: ignore[union-attr]
    assert text[slice(*section.span)] == "Section[ @title = 'x' ]"
    assert text[slice(*section.filters[0].expr.right.span)] == "'x'"
    assert text[slice(*paragraph.filters[0].span)] == "[2]"
