"""Work side by side with a limit in time: who is late or fails does not hold up the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

T = TypeVar("T")


class _Job(threading.Thread, Generic[T]):
    """A daemon: one that never ends does not keep the process alive."""

    def __init__(self, name: str, work: Callable[[], T]) -> None:
        super().__init__(name=f"route-{name}", daemon=True)
        self._work = work
        self.result: T | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Keeps what the work gives or raises."""
        try:
            self.result = self._work()
        except BaseException as error:
            self.error = error


def side_by_side(
    works: Mapping[str, Callable[[], T]], timeout: float | None
) -> dict[str, T | BaseException]:
    """Runs several pieces of work at the same time.

    Args:
        works: What to run, by name.
        timeout: Seconds that all of them have together, > 0; ``None`` for no limit.

    Returns:
        What each gave, or the exception that it raised; a ``TimeoutError`` for one that is late.

    Example:
        >>> side_by_side({"a": lambda: 1, "b": lambda: 2}, timeout=5)
        {'a': 1, 'b': 2}
    """
    if len(works) == 1 and timeout is None:
        ((name, work),) = works.items()
        try:
            return {name: work()}
        except Exception as error:
            return {name: error}
    jobs = {name: _Job(name, work) for name, work in works.items()}
    for job in jobs.values():
        job.start()
    end = None if timeout is None else time.monotonic() + timeout
    found: dict[str, T | BaseException] = {}
    for name, job in jobs.items():
        job.join(None if end is None else max(0.0, end - time.monotonic()))
        if job.is_alive():
            found[name] = TimeoutError(f"no answer within {timeout:g} s")
        elif job.error is not None:
            found[name] = job.error
        else:
            found[name] = job.result  # type: ignore[assignment]
    return found
