"""One writer at a time, across threads and processes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from llama_index_semxpath.errors import StoreLockedError

try:
    import fcntl
except ImportError:  # Windows: the database's own lock still keeps writers apart
    fcntl = None  # type: ignore[assignment]

_PAUSE = 0.05


class WriterLock:
    """A lock on a file, which a killed process lets go of by itself.

    Args:
        path: The lock file; it is made and left there.
        patience: Seconds to wait for another writer, 0 and up.
    """

    def __init__(self, path: Path, patience: float = 30.0) -> None:
        self._path = path
        self._patience = patience
        self._thread = threading.RLock()
        self._depth = 0

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Holds the lock; it may be held again within.

        Raises:
            StoreLockedError: Another writer did not finish in time.
        """
        if not self._thread.acquire(timeout=self._patience):
            raise self._refusal()
        try:
            if self._depth or fcntl is None:
                yield from self._within()
                return
            with self._path.open("a+") as file:
                self._wait(file.fileno())
                try:
                    yield from self._within()
                finally:
                    fcntl.flock(file.fileno(), fcntl.LOCK_UN)
        finally:
            self._thread.release()

    def _within(self) -> Iterator[None]:
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def _wait(self, descriptor: int) -> None:
        end = time.monotonic() + self._patience
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError:
                if time.monotonic() >= end:
                    raise self._refusal() from None
                time.sleep(_PAUSE)

    def _refusal(self) -> StoreLockedError:
        return StoreLockedError(
            "another writer holds the store",
            where=str(self._path.parent),
            hint="try again when it is done",
        )
