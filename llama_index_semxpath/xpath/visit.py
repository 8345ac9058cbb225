"""Walking a query without recursion: deep nesting must not touch Python's stack limit."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

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
