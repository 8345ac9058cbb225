"""Hostile text: nesting, length, chains, garbage. Nothing but our own error, and no recursion."""

from __future__ import annotations

import ast
import random
import re
import sys

import pytest

from llama_index_semxpath.errors import SemXPathSyntaxError
from llama_index_semxpath.schema import KindInfo, Schema
from llama_index_semxpath.xpath import check, is_graded, parse, rewrite, to_text, type_of
from llama_index_semxpath.xpath.lexer import MAX_LENGTH
from llama_index_semxpath.xpath.operators import MAX_NESTING

NESTED = {
    "brackets": lambda n: "a[" * n + "b" + "]" * n,
    "parentheses": lambda n: "(" * n + "a" + ")" * n,
    "calls": lambda n: "not(" * n + "a" + ")" * n,
    "published brackets": lambda n: "a[" + "[" * (n - 1) + "b" + "]" * n,
    "mixed": lambda n: "a[not(" * (n // 2) + "b" + ")]" * (n // 2),
    "evidence": lambda n: "max(" * (n - 1) + "/a[b]" + ")" * (n - 1),
}


@pytest.mark.parametrize("name", NESTED)
def test_nesting_at_the_limit(name: str) -> None:
    text = NESTED[name](MAX_NESTING)
    expr = parse(text)
    canonical = to_text(expr)
    assert to_text(parse(canonical)) == canonical
    checked = check(expr, Schema({"a": KindInfo("a", 1), "b": KindInfo("b", 1)}), text=text)
    rewritten, _ = rewrite(checked.expr)
    assert to_text(rewritten)
    assert type_of(expr)
    assert not is_graded(expr)


@pytest.mark.parametrize("name", NESTED)
def test_nesting_beyond_the_limit(name: str) -> None:
    text = NESTED[name](MAX_NESTING + 2)
    with pytest.raises(SemXPathSyntaxError, match="nested deeper than 200 levels"):
        parse(text)


@pytest.mark.parametrize(
    "text",
    ["-" * 5000 + "1", "1" + "+1" * 5000, "1" + " - 1" * 5000, "a" + " = a" * 5000, "a[" * 40_000],
    ids=["minus", "plus", "difference", "equations", "open brackets"],
)
def test_chains_that_would_make_a_deep_tree_are_refused(text: str) -> None:
    with pytest.raises(SemXPathSyntaxError, match="nested deeper"):
        parse(text)


@pytest.mark.parametrize("operator", ["or", "and", "|"])
def test_long_chains_of_associative_operators_stay_shallow(operator: str) -> None:
    text = f" {operator} ".join(f"@a{place}" for place in range(5000))
    expr = parse(text)
    assert to_text(expr) == text
    limit = sys.getrecursionlimit()
    assert parse(text) == expr  # compared by recursion over the depth of the tree
    assert to_text(rewrite(check(expr, text=text).expr)[0])
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize(
    "text",
    ["/a" * 45_000, "//*" * 30_000, "a" + "[1]" * 30_000, "f(" + "a," * 45_000 + "a)"],
    ids=["steps", "stars", "filters", "arguments"],
)
def test_wide_queries_parse(text: str) -> None:
    assert to_text(parse(text)).replace(", ", ",") == text


def test_length_limit() -> None:
    assert parse("a" * MAX_LENGTH)
    for text in ("a" * (MAX_LENGTH + 1), "a" + " " * MAX_LENGTH + "b", "'" + "x" * 1_000_000 + "'"):
        with pytest.raises(SemXPathSyntaxError, match="longer than 100,000 characters") as caught:
            parse(text)
        assert caught.value.offset == MAX_LENGTH
        assert "parameters" in str(caught.value)


MEGABYTE = 1_000_000


GARBAGE = r"""( [ a[ / // 'a" "b' `c $ @ \x00 \ud800 é, 9, - 1, '" [@ :: { “ a. 0.
    e\u0301, a+ a= [1: rel::a{ 90d, * *- 中文， 1*2+ a(b)"""


@pytest.mark.parametrize("piece", GARBAGE.split())
def test_garbage_is_refused(piece: str) -> None:
    piece = re.sub(r"\\\w+", lambda code: ast.literal_eval(f'"{code[0]}"'), piece)
    for text in (
        piece * (MAX_LENGTH // len(piece)),
        f"{piece} " * (MAX_LENGTH // len(piece + " ")),
    ):
        with pytest.raises(SemXPathSyntaxError) as caught:
            parse(text)
        assert "longer" not in caught.value.message
        assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("piece", ["(", "'", "\x00", "//a[1] ", "中文"])
def test_a_megabyte_is_refused_at_once(piece: str) -> None:
    with pytest.raises(SemXPathSyntaxError, match="longer than"):
        parse(piece * (MEGABYTE // len(piece)))


def test_noise_is_refused() -> None:
    noise = random.Random(7)
    for alphabet in (range(32, 127), range(0x10FFFF), [*map(ord, "/[]()@'\"`ab1 =")]):
        for _ in range(20):
            text = "".join(chr(noise.choice(alphabet)) for _ in range(5000))
            with pytest.raises(SemXPathSyntaxError):
                parse(text)
