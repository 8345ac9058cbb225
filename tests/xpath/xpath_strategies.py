"""Random syntax trees that keep the invariants of ``ast``, and random query-like text."""

from __future__ import annotations

import unicodedata
from typing import get_args

from hypothesis import strategies as st

from llama_index_semxpath.xpath import ast
from llama_index_semxpath.xpath.lexer import UNITS
from llama_index_semxpath.xpath.operators import PRECEDENCE, binary, combine

NAMES = st.one_of(
    st.sampled_from(["a", "b-c", "制度", "and", "div", "node", "text", "Sales Order", "`", "x.y"]),
    st.text(min_size=1, max_size=6).map(lambda text: unicodedata.normalize("NFC", text)),
)
PLAIN_NAMES = st.sampled_from(["count", "min", "agg_max", "not", "f", "bm", "threshold"])
WHOLE = st.integers(0, 10**30)
NUMBERS = st.one_of(WHOLE, st.floats(0, 1.6e308, allow_nan=False)).map(ast.Num)
STRINGS = st.text(max_size=8).map(ast.Str)
DURATIONS = st.builds(ast.Duration, st.one_of(WHOLE, st.floats(0, 1e300)), st.sampled_from(UNITS))
NAME_TESTS = NAMES.map(lambda name: ast.Test("name", name))
TESTS = st.one_of(
    NAME_TESTS, st.sampled_from([ast.Test("any-name"), ast.Test("any-node"), ast.Test("text")])
)
AXES = st.sampled_from(get_args(ast.Axis))
PLACES = st.integers(-9, 9).filter(bool)
POSITIONS = st.one_of(
    st.integers(-9, 9).map(ast.Index),
    st.builds(ast.Slice, st.none() | PLACES, st.none() | PLACES),
    PLACES.map(ast.Shift),
)


@st.composite
def steps(draw: st.DrawFn, exprs: st.SearchStrategy[ast.Expr], least: int) -> tuple[ast.Step, ...]:
    found: list[ast.Step] = []
    for _ in range(draw(st.integers(least, 3))):
        axis = draw(AXES)
        test = draw(TESTS)
        if axis == "attribute":
            test = draw(st.one_of(NAME_TESTS, st.just(ast.Test("any-node"))))
        after_relation = bool(found) and found[-1].axis in ("rel", "inv")
        named_child = axis == "child" and test.type == "name"
        repeat = None
        if axis in ("rel", "inv") and draw(st.booleans()):
            repeat = draw(st.sampled_from([(1, 1), (1, 3), (2, 100)]))
        filters = draw(
            st.lists(st.one_of(POSITIONS, exprs.map(ast.Predicate)), max_size=2).map(tuple)
        )
        explicit = named_child and (after_relation or draw(st.booleans()))
        found.append(ast.Step(axis, test, filters, repeat, explicit))
    return tuple(found)


@st.composite
def paths(draw: st.DrawFn, exprs: st.SearchStrategy[ast.Expr]) -> ast.Path:
    kind = draw(st.sampled_from(["relative", "root", "expression"]))
    if kind == "relative":
        return ast.Path(None, (), draw(steps(exprs, 1)))
    if kind == "root":
        return ast.Path("root", (), draw(steps(exprs, 0)))
    start = draw(exprs)
    filters = draw(st.lists(exprs.map(ast.Predicate), max_size=2).map(tuple))
    tail = draw(steps(exprs, 0 if filters else 1))
    if start == ast.Path("root") and not filters:
        return ast.Path("root", (), tail)
    return ast.Path(start, filters, tail)


def _binary(op: ast.Operator, left: ast.Expr, right: ast.Expr) -> ast.Expr:
    return combine(op, [left, right]) if op in ("or", "and", "|") else binary(op, left, right)


def _extended(exprs: st.SearchStrategy[ast.Expr]) -> st.SearchStrategy[ast.Expr]:
    values = st.lists(NUMBERS | STRINGS, min_size=1, max_size=3).map(tuple).map(ast.Items)
    return st.one_of(
        st.builds(_binary, st.sampled_from(sorted(PRECEDENCE)), exprs, exprs),
        st.builds(lambda left, right: ast.Binary("in", left, right), exprs, values),
        exprs.map(ast.Negative),
        st.builds(ast.Call, PLAIN_NAMES, st.lists(exprs, max_size=3).map(tuple)),
        paths(exprs),
    )


EXPRESSIONS = st.recursive(
    st.one_of(NUMBERS, STRINGS, DURATIONS, NAMES.map(ast.Param)), _extended, max_leaves=12
)

#: Text from the alphabet of the language, so that much of it nearly parses.
_ALPHABET = """/ // . .. @ [ ] ( ) | , * + - = != < <= > >= =~ ~= :: : { } $ a b-c node() text()
    rel::a and or div mod in not( count( max( 1 -2 0.5 90d 'x' "y" ` ' " 制度 （ ］ “ ” é \x00
    $p child:: [1] [2:3] [@+1] {1,2} {1,} root() insert"""
TOKENS = st.lists(st.sampled_from(_ALPHABET.split()), max_size=30).map(" ".join)
