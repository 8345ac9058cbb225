"""Small builders of syntax trees, so that a question's words only ever become literals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from llama_index_semxpath.xpath import ast
from llama_index_semxpath.xpath.operators import combine

_DESCENDANTS = ast.Step("descendant-or-self", ast.Test("any-node"))
CONTEXT = ast.Path(None, steps=(ast.Step("self", ast.Test("any-node")),))


def test(kind: str) -> ast.Test:
    """The test for a kind; ``*`` for any."""
    return ast.Test("any-name") if kind == "*" else ast.Test("name", kind)


def child(kind: str, *filters: ast.Filter) -> ast.Step:
    """``kind[…]`` as a step; written out as ``child::`` so that no schema reads it otherwise."""
    return ast.Step("child", test(kind), filters, explicit=kind != "*")


def descend(kind: str, *filters: ast.Filter) -> tuple[ast.Step, ast.Step]:
    """``//kind[…]`` as steps."""
    return _DESCENDANTS, replace(child(kind, *filters), explicit=False)


def path(steps: Sequence[ast.Step]) -> ast.Path:
    """An absolute path."""
    return ast.Path("root", steps=tuple(steps))


def below(kind: str, *filters: ast.Filter) -> ast.Path:
    """``.//kind[…]``: below the context node."""
    return ast.Path(None, steps=(*CONTEXT.steps, *descend(kind, *filters)))


def attribute(name: str) -> ast.Path:
    """``@name``."""
    return ast.Path(None, steps=(ast.Step("attribute", ast.Test("name", name)),))


def equals(name: str, values: Sequence[str | float]) -> ast.Expr:
    """``@name = "v"``, or any of several values."""
    literals: list[ast.Expr] = [
        ast.Str(value) if isinstance(value, str) else ast.Num(value) for value in values
    ]
    tests = [ast.Binary("=", attribute(name), literal) for literal in literals]
    return combine("or", tests)


def negated(expr: ast.Expr) -> ast.Expr:
    """``not(expr)``."""
    return ast.Call("not", (expr,))


def means(phrase: str, name: str | None = None) -> ast.Expr:
    """``. =~ "phrase"``, or ``@name =~ "phrase"``."""
    return ast.Binary("=~", CONTEXT if name is None else attribute(name), ast.Str(phrase))


def where(expr: ast.Expr) -> ast.Predicate:
    """``[expr]``."""
    return ast.Predicate(expr)


def at_positions(numbers: Sequence[int]) -> ast.Expr:
    """``position() = 2 or position() = 5``."""
    position = ast.Call("position", ())
    return combine("or", [ast.Binary("=", position, ast.Num(number)) for number in numbers])


def beside(axis: ast.Axis, test_: ast.Expr) -> ast.Path:
    """``following-sibling::*[test]``: a sibling on one side that passes a test."""
    return ast.Path(None, steps=(ast.Step(axis, test("*"), (where(test_),), explicit=True),))
