"""What the catalog asks of a database's connection; ``sqlite3`` has it by nature."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol


class ConflictError(Exception):
    """A row that must be there once is there already."""


class Rows(Protocol):
    """What a statement found."""

    @property
    def rowcount(self) -> int:
        """Count of the rows that it wrote."""
        ...

    def fetchone(self) -> Any:
        """The next row, ``None`` after the last."""
        ...

    def fetchall(self) -> list[Any]:
        """All rows that are left."""
        ...

    def __iter__(self) -> Iterator[Any]:
        """The rows that are left, one by one."""
        ...


class Connection(Protocol):
    """Runs SQL with ``?`` for each value; the catalog writes nothing else than that SQL."""

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Rows:
        """Runs one statement."""
        ...

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> Any:
        """Runs one statement for each of many rows of values."""
        ...
