"""Properties of parser and printer over random trees and random text."""

from __future__ import annotations

from typing import get_args

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from xpath_strategies import EXPRESSIONS, TOKENS

from llama_index_semxpath.errors import SemXPathSyntaxError
from llama_index_semxpath.xpath import ast, parse, rewrite, to_text, type_of
from llama_index_semxpath.xpath.functions import Type
from llama_index_semxpath.xpath.visit import transform

MANY = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@MANY
@given(EXPRESSIONS)
def test_printed_tree_reads_back(expr: ast.Expr) -> None:
    text = to_text(expr)
    assert parse(text) == expr
    assert to_text(parse(text)) == text


@MANY
@given(EXPRESSIONS)
def test_rewritten_tree_reads_back(expr: ast.Expr) -> None:
    new, _ = rewrite(expr)
    assert parse(to_text(new)) == new
    assert rewrite(new)[0] is new


@MANY
@given(EXPRESSIONS)
def test_identity_transformation_keeps_the_object(expr: ast.Expr) -> None:
    assert transform(expr, lambda part: part) is expr
    assert type_of(expr) in get_args(Type)


def assert_parses_or_refuses(text: str) -> None:
    try:
        expr = parse(text)
    except SemXPathSyntaxError as caught:
        error = caught
    else:
        canonical = to_text(expr)
        assert parse(canonical) == expr
        assert to_text(parse(canonical)) == canonical
        return
    assert 0 <= error.offset <= len(text)
    assert error.message in str(error)


@MANY
@given(TOKENS)
@example("a[`x")
@example("max(/)")
@example("(/) or 1")
def test_any_token_text(text: str) -> None:
    assert_parses_or_refuses(text)


@MANY
@given(st.text(st.characters(), max_size=60))
@example("\ud800")
@example("'\x00'")
@example("`\u1fef`")
@example("\u1fef")
def test_any_text(text: str) -> None:
    assert_parses_or_refuses(text)


@MANY
@given(TOKENS, st.integers(0, 80), st.text(max_size=3))
def test_any_text_with_a_cut(text: str, place: int, insert: str) -> None:
    assert_parses_or_refuses(text[:place] + insert + text[place:])
