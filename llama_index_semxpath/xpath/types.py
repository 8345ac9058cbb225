"""Static types of expressions: is a predicate a position, a hard condition or a score?"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any

from llama_index_semxpath.xpath import ast
from llama_index_semxpath.xpath.functions import FUNCTIONS, Type
from llama_index_semxpath.xpath.operators import subexpressions

_CONDITION = ("boolean", "score")
_COMBINERS = ("min", "max", "avg", "gmean")


def type_of(expr: ast.Expr, params: Mapping[str, Any] | None = None) -> Type:
    """The type of what an expression gives.

    A combination of conditions is a ``score``: ``. =~ "x"``, ``bm25``, evidence, ``1 - c``, a
    product of conditions, arithmetic with a score, and ``min max avg gmean`` of conditions or of a
    path that ends in a predicate. ``not``, ``and`` and ``or`` of hard conditions are ``boolean``.

    Args:
        expr: The expression.
        params: Values of the parameters; without them a parameter is ``unknown``.

    Example:
        >>> from llama_index_semxpath.xpath import parse
        >>> [type_of(parse(q)) for q in ("last() - 1", '1 - (@status = "Done")', "a/b", "3 < 4")]
        ['number', 'score', 'nodes', 'boolean']
    """
    match expr:
        case ast.Str():
            return "string"
        case ast.Num():
            return "number"
        case ast.Duration():
            return "duration"
        case ast.Path():
            return "nodes"
        case ast.Items():
            return "list"
        case ast.Param(name):
            return "unknown" if params is None or name not in params else value_type(params[name])
        case ast.Negative(operand):
            return "duration" if type_of(operand, params) == "duration" else "number"
        case ast.Call():
            return _call_type(expr, params)
        case ast.Binary():
            return _binary_type(expr, params)


def value_type(value: object) -> Type:
    """The type of a parameter's value; ``unknown`` for one that cannot be a parameter.

    Example:
        >>> value_type(True), value_type(3), value_type(["a"]), value_type(object())
        ('boolean', 'number', 'list', 'unknown')
    """
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dt.date):
        return "date"
    if isinstance(value, dt.timedelta):
        return "duration"
    return "list" if isinstance(value, list | tuple | set | frozenset) else "unknown"


def is_evidence(expr: ast.Expr) -> bool:
    """Whether an expression is a path that ends in a predicate, as ``POI[. =~ "x"]`` does.

    Example:
        >>> from llama_index_semxpath.xpath import parse
        >>> is_evidence(parse('POI[. =~ "x"]')), is_evidence(parse("Row/@price"))
        (True, False)
    """
    if not isinstance(expr, ast.Path):
        return False
    filters = expr.steps[-1].filters if expr.steps else expr.filters
    return any(isinstance(part, ast.Predicate) for part in filters)


def is_graded(expr: ast.Expr) -> bool:
    """Whether an expression grades by meaning or keywords anywhere inside.

    Example:
        >>> from llama_index_semxpath.xpath import parse
        >>> is_graded(parse('//Day[POI[. =~ "x"]]')), is_graded(parse("//Day[1]"))
        (True, False)
    """
    return any(_grades(node) for node in walk(expr))


def walk(expr: ast.Expr) -> Iterator[ast.Expr]:
    """An expression and every expression inside it, outer ones first."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(subexpressions(node)))


def _grades(node: ast.Expr) -> bool:
    if isinstance(node, ast.Binary):
        return node.op == "=~"
    return isinstance(node, ast.Call) and node.name == "bm25"


def _binary_type(expr: ast.Binary, params: Mapping[str, Any] | None) -> Type:
    op = expr.op
    if op == "=~":
        return "score"
    if op == "|":
        return "nodes"
    if op in ("=", "!=", "<", "<=", ">", ">=", "in"):
        return "boolean"
    left, right = type_of(expr.left, params), type_of(expr.right, params)
    if op in ("or", "and"):
        return "score" if "score" in (left, right) else "boolean"
    if op in ("+", "-") and "duration" in (left, right):
        return "duration" if left == right else "date"
    if "score" in (left, right) and op != "mod":
        return "score"
    one_minus = op == "-" and expr.left == ast.Num(1) and right == "boolean"
    product = op == "*" and left == right == "boolean"
    return "score" if one_minus or product else "number"


def _call_type(expr: ast.Call, params: Mapping[str, Any] | None) -> Type:
    function = FUNCTIONS.get(expr.name)
    if function is None:
        return "unknown"
    if expr.name == "not" and len(expr.args) == 1:
        return "score" if type_of(expr.args[0], params) == "score" else "boolean"
    if expr.name in _COMBINERS and expr.args:
        types = [type_of(arg, params) for arg in expr.args]
        evidence = all(
            is_evidence(a) or t in _CONDITION for a, t in zip(expr.args, types, strict=True)
        )
        return "score" if evidence or "score" in types else "number"
    return function.returns
