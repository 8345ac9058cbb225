"""Walking a query without recursion: deep nesting must not touch Python's stack limit."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from operator import is_
from typing import Any, TypeVar

from llama_index_semxpath.xpath import ast

T = TypeVar("T")

#: A step of a recursive algorithm written as a generator: it yields sub-tasks, gets their results.
Task = Generator["Task[Any]", Any, T]


def run(task: Task[T]) -> T:
    """Runs a recursive generator with an explicit stack (a trampoline).

    Args:
        task: A generator that yields further generators and receives what they return.

    Returns:
        What the outermost generator returns.

    Example:
        >>> def total(tree):
        ...     found = 0
        ...     for part in tree:
        ...         found += (yield total(part)) if isinstance(part, list) else part
        ...     return found
        >>> run(total([1, [2, [3]]]))
        6
    """
    stack: list[Task[Any]] = [task]
    value: Any = None
    while True:
        try:
            child = stack[-1].send(value)
        except StopIteration as done:
            stack.pop()
            if not stack:
                result: T = done.value
                return result
            value = done.value
        else:
            stack.append(child)
            value = None


def transform(expr: ast.Expr, change: Callable[[ast.Expr], ast.Expr]) -> ast.Expr:
    """An expression with a function applied to every part of it, inner parts first.

    Args:
        expr: The expression.
        change: Gets an expression whose parts are changed already, returns what stands for it.

    Example:
        >>> from llama_index_semxpath.xpath import parse, to_text
        >>> to_text(transform(parse("a[1 + 2]"), lambda e: ast.Num(7) if e == ast.Num(2) else e))
        'a[1 + 7]'
    """
    return run(_transform(expr, change))


def _transform(expr: ast.Expr, change: Callable[[ast.Expr], ast.Expr]) -> Task[ast.Expr]:
    """A part in which nothing changes stays the same object: ``is`` tells whether anything did."""
    new = expr
    match expr:
        case ast.Negative(operand):
            inner: ast.Expr = yield _transform(operand, change)
            new = expr if inner is operand else replace(expr, operand=inner)
        case ast.Binary(_, left, right):
            first: ast.Expr = yield _transform(left, change)
            second: ast.Expr = yield _transform(right, change)
            if first is not left or second is not right:
                new = replace(expr, left=first, right=second)
        case ast.Call(_, args):
            parts = yield from _transform_all(args, change)
            new = expr if parts is args else replace(expr, args=parts)
        case ast.Items(values):
            parts = yield from _transform_all(values, change)
            new = expr if parts is values else replace(expr, values=parts)
        case ast.Path():
            new = yield from _transform_path(expr, change)
    return change(new)


def _transform_all(
    exprs: tuple[ast.Expr, ...], change: Callable[[ast.Expr], ast.Expr]
) -> Task[tuple[ast.Expr, ...]]:
    found: list[ast.Expr] = []
    for expr in exprs:
        found.append((yield _transform(expr, change)))
    return _same(exprs, found)


def _transform_path(path: ast.Path, change: Callable[[ast.Expr], ast.Expr]) -> Task[ast.Path]:
    start = path.start
    if start is not None and start != "root":
        start = yield _transform(start, change)
    filters = yield from _transform_filters(path.filters, change)
    found: list[ast.Step] = []
    for step in path.steps:
        inner = yield from _transform_filters(step.filters, change)
        found.append(step if inner is step.filters else replace(step, filters=inner))
    steps = _same(path.steps, found)
    if start is path.start and filters is path.filters and steps is path.steps:
        return path
    return replace(path, start=start, filters=filters, steps=steps)


def _transform_filters(
    filters: tuple[ast.Filter, ...], change: Callable[[ast.Expr], ast.Expr]
) -> Task[tuple[ast.Filter, ...]]:
    found: list[ast.Filter] = []
    for part in filters:
        if isinstance(part, ast.Predicate):
            inner: ast.Expr = yield _transform(part.expr, change)
            part = part if inner is part.expr else replace(part, expr=inner)
        found.append(part)
    return _same(filters, found)


def _same(old: tuple[T, ...], new: Sequence[T]) -> tuple[T, ...]:
    return old if all(map(is_, old, new)) else tuple(new)
