"""The catalog's database: SQLite in a file, or PostgreSQL at a URL, under one interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from llama_index_semxpath.errors import StoreError

if TYPE_CHECKING:
    from llama_index_semxpath.index.connection import Connection
    from llama_index_semxpath.index.words import Words


class Turn(Protocol):
    """A lock that makes writers of a store take turns."""

    def hold(self) -> AbstractContextManager[None]:
        """Holds the lock; it may be held again within.

        Raises:
            StoreLockedError: Another writer did not finish in time.
        """
        ...


class Database(ABC):
    """Where the catalog's tables are: many readers that each see one moment, one writer.

    Args:
        place: What messages call it: the file, or the URL without its password.
        words: The keyword index.
    """

    #: ``sqlite`` or ``postgresql``.
    dialect: str

    def __init__(self, place: str, words: Words) -> None:
        self.place = place
        self.words = words

    @abstractmethod
    def read(self) -> AbstractContextManager[Connection]:
        """A connection on which every statement sees the same moment of the store.

        A read within a read of the same thread shares the outer moment.
        """

    @abstractmethod
    def write(self) -> AbstractContextManager[Connection]:
        """A connection whose statements take effect together, or not at all.

        A write within a write belongs to the outer one.
        """

    @abstractmethod
    def write_at_once(self) -> AbstractContextManager[Connection]:
        """Like :meth:`write`, for what can wait for another day: it never waits itself.

        Raises:
            StoreLockedError: Something else is being written.
        """

    @abstractmethod
    def stream(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[Any]:
        """The rows of a statement, read as they are asked for, in bounded memory."""

    def continue_numbers(self, connection: Connection, table: str, column: str) -> None:
        """After rows were written with numbers of their own: the next number is a new one.

        SQLite takes the greatest number and one by itself.
        """
        _ = connection, table, column

    @abstractmethod
    def turn(self, lock: Path, patience: float) -> Turn:
        """The lock of the one writer.

        Args:
            lock: A file to lock, for a database that is a file too.
            patience: Seconds to wait for another writer, 0 and up.
        """

    @abstractmethod
    def close(self) -> None:
        """Closes every connection; the database is of no use afterwards."""


def open_database(place: Path | str, *, create: bool, schema: str = "semxpath") -> Database:
    """Opens the database of a catalog.

    Args:
        place: The file of an SQLite database, or an SQLAlchemy URL of a PostgreSQL one.
        create: Make the tables when they are not there.
        schema: PostgreSQL schema that holds the tables.

    Raises:
        StoreError: There is no store, or it is none of ours, or the server does not answer.
        StoreVersionError: A newer version of the package wrote it.
    """
    if isinstance(place, str) and "://" in place:
        scheme = place.partition("://")[0]
        if scheme.partition("+")[0] not in ("postgresql", "postgres"):
            raise StoreError(
                f"no catalog can be kept in a '{scheme}' database",
                hint="use postgresql://…, or a directory for SQLite",
            )
        from llama_index_semxpath.index.postgres import PostgresDatabase

        return PostgresDatabase(place, create=create, schema=schema)
    from llama_index_semxpath.index.sqlite import SqliteDatabase

    return SqliteDatabase(Path(place), create=create)
