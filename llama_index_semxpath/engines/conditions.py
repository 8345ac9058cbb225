"""Which filters of a step are hard, and the comparisons among them that a store can narrow by."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from llama_index_semxpath.engines.graph_query import Comparison, Condition
from llama_index_semxpath.text import nfc
from llama_index_semxpath.xpath import ast
from llama_index_semxpath.xpath.operators import chain
from llama_index_semxpath.xpath.positions import MIRROR
from llama_index_semxpath.xpath.types import is_graded, type_of, walk

#: Fields of a node that ``@name`` reads but a graph store does not keep among the attributes.
_FIELDS = frozenset(("level", "page", "tokens"))
_COMPARISONS = frozenset(("=", "<", "<=", ">", ">="))


def is_hard(filters: Sequence[ast.Filter], params: Mapping[str, Any] | None) -> bool:
    """Whether all filters are conditions that look at no position and grade nothing.

    Example:
        >>> from llama_index_semxpath.xpath import parse
        >>> [is_hard(parse(q).steps[-1].filters, None) for q in ("/a[@b]", "/a[2]", '/a[. =~ "x"]')]
        [True, False, False]
    """
    return all(
        isinstance(part, ast.Predicate)
        and not is_graded(part.expr)
        and type_of(part.expr, params) in ("boolean", "nodes", "string")
        and not any(_counts(inner) for inner in walk(part.expr))
        for part in filters
    )


def conditions_of(
    filters: Sequence[ast.Filter], params: Mapping[str, Any] | None
) -> tuple[Condition, ...]:
    """Comparisons that every node which passes the (hard) filters meets.

    Example:
        >>> from llama_index_semxpath.xpath import parse
        >>> step = parse('/Row[@price > 5 and @unit = "kg" and not(@old)]').steps[-1]
        >>> [(c.attribute, c.op, c.value) for c in conditions_of(step.filters, None)]
        [('price', '>', 5.0), ('unit', '=', 'kg')]
    """
    found = []
    for part in filters:
        if isinstance(part, ast.Predicate):
            for operand in chain("and", part.expr):
                condition = _condition(operand, params or {})
                found += [condition] if condition else []
    return tuple(found)


def _condition(expr: ast.Expr, params: Mapping[str, Any]) -> Condition | None:
    if not isinstance(expr, ast.Binary) or expr.op not in _COMPARISONS:
        return None
    op, left, right = expr.op, expr.left, expr.right
    if not isinstance(left, ast.Path):
        op, left, right = MIRROR[op], right, left
    name, value = _attribute(left), _constant(right, params)
    if name is None or value is None or name in _FIELDS:
        return None
    return Condition(name, cast(Comparison, op), value)


def _attribute(expr: ast.Expr) -> str | None:
    """The attribute of the context node that a path reads, if that is all it does."""
    if not isinstance(expr, ast.Path) or expr.start is not None or len(expr.steps) != 1:
        return None
    step = expr.steps[0]
    plain = step.axis == "attribute" and step.test.type == "name" and not step.filters
    return step.test.name if plain else None


def _constant(expr: ast.Expr, params: Mapping[str, Any]) -> str | float | None:
    value: Any = None
    if isinstance(expr, ast.Str | ast.Num):
        value = expr.value
    elif isinstance(expr, ast.Param):
        value = params.get(expr.name)
    if isinstance(value, str):
        return nfc(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e308:
        return None if math.isnan(value) else float(value)
    return None


def _counts(expr: ast.Expr) -> bool:
    return isinstance(expr, ast.Call) and expr.name in ("position", "last")
