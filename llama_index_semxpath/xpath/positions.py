"""Conditions on ``position()`` and ``last()`` in the form of an index or a slice."""

from __future__ import annotations

from llama_index_semxpath.xpath import ast

#: A comparison read from the right.
MIRROR: dict[str, ast.Operator] = {
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
    "=": "=",
    "!=": "!=",
}
#: The largest place worth a normal form; beyond it doubles stop being exact.
_LIMIT = 2**53


def position_filter(expr: ast.Expr, span: ast.Span) -> ast.Filter | None:
    """The index or slice that a predicate is, if it is one.

    Args:
        expr: The expression in the predicate.
        span: Where it stands.

    Example:
        >>> from llama_index_semxpath.xpath import parse
        >>> position_filter(parse("position() = last() - 1"), (0, 0))
        Index(position=-2, span=(0, 0))
    """
    place = _place(expr)
    if place is not None:
        return ast.Index(place, span) if place else None
    if not isinstance(expr, ast.Binary):
        return None
    if expr.op == "and":
        return _between(expr, span)
    if expr.op not in MIRROR:
        return None
    op: str = expr.op
    place = _place(expr.right)
    if not _is_call(expr.left, "position"):
        if not _is_call(expr.right, "position"):
            return None
        op, place = MIRROR[expr.op], _place(expr.left)
    return None if place is None else _compared(op, place, span)


def _compared(op: str, place: int, span: ast.Span) -> ast.Filter | None:
    """The positions that stand in a relation to a place; a negative one counts from the end."""
    from_end = place < 0
    if op == "=":
        return ast.Index(place, span)
    if op == "!=":
        if place == 1:
            return ast.Slice(2, None, span)
        return ast.Slice(None, -2, span) if place == -1 else None
    if op == "<=":
        return ast.Slice(None, place, span)
    if op == ">=":
        return ast.Slice(place, None, span)
    if op == "<":
        return None if place == 1 else ast.Slice(None, place - 1, span)
    # position() > last() selects nothing, and there is no slice for nothing.
    return None if place == -1 else ast.Slice(place + 1, None, span) if place or from_end else None


def _between(expr: ast.Binary, span: ast.Span) -> ast.Filter | None:
    """``position() >= 2 and position() <= 4`` is ``[2:4]``."""
    left, right = (position_filter(side, span) for side in (expr.left, expr.right))
    if not isinstance(left, ast.Slice) or not isinstance(right, ast.Slice):
        return None
    if left.first is None:
        left, right = right, left
    if left.last is not None or right.first is not None:
        return None
    return ast.Slice(left.first, right.last, span)


def _place(expr: ast.Expr) -> int | None:
    """A fixed place: ``3`` is 3, ``last()`` is -1, ``last() - 2`` is -3."""
    if isinstance(expr, ast.Num):
        whole = 0 < expr.value <= _LIMIT and expr.value == int(expr.value)
        return int(expr.value) if whole else None
    if _is_call(expr, "last"):
        return -1
    if isinstance(expr, ast.Binary) and expr.op == "-" and _is_call(expr.left, "last"):
        back = _place(expr.right)
        return None if back is None or back < 0 else -1 - back
    return None


def _is_call(expr: ast.Expr, name: str) -> bool:
    return isinstance(expr, ast.Call) and expr.name == name and not expr.args
