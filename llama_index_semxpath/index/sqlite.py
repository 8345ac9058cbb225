"""SQLite as the catalog's database: one writer, readers that each see one moment."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from llama_index_semxpath.errors import StoreError, StoreLockedError, StoreVersionError
from llama_index_semxpath.index.database import Database
from llama_index_semxpath.index.lock import WriterLock
from llama_index_semxpath.index.migrations import (
    APPLICATION_ID,
    FORMAT,
    MIGRATIONS,
    statements,
)
from llama_index_semxpath.index.sqlite_vectors import add_vector_functions
from llama_index_semxpath.index.words import Fts5Words

_BUSY_SECONDS = 30.0
#: Memory that one connection may use for pages, in KiB (negative is SQLite's way to say KiB).
_CACHE = -64_000


class SqliteDatabase(Database):
    """Connections to one SQLite file in WAL mode.

    Each thread has a connection of its own for reading. Writing goes through one connection behind
    a lock, so that threads wait for each other here and processes in SQLite's busy handler.

    Args:
        path: The database file.
        create: Make it when it is not there.

    Raises:
        StoreError: There is no store, or the file is not one.
        StoreVersionError: A newer version of the package wrote it.
    """

    dialect = "sqlite"

    def __init__(self, path: Path, *, create: bool = False) -> None:
        super().__init__(str(path), Fts5Words())
        self.path = path
        self._local = threading.local()
        self._lock = threading.RLock()
        self._connections: list[sqlite3.Connection] = []
        self._closed = False
        if not path.exists() and not create:
            raise StoreError(
                "there is no store here", where=str(path.parent), hint="index a document first"
            )
        with self.translate():
            self._writer = self._connect()
            try:
                self._migrate(create)
            except BaseException:
                self._writer.close()
                raise

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A connection on which every statement sees the same moment of the store."""
        with self.translate():
            connection = self._reader()
            if connection.in_transaction:  # a read within a read shares the outer moment
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.rollback()

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A connection whose statements take effect together, or not at all.

        A write within a write belongs to the outer one.
        """
        with self.translate(), self._lock:
            self._check_open()
            if self._writer.in_transaction:
                yield self._writer
                return
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.commit()
            except BaseException:
                self._writer.rollback()
                raise

    @contextmanager
    def write_at_once(self) -> Iterator[sqlite3.Connection]:
        """Like :meth:`write`, for what can wait for another day: it never waits itself.

        Raises:
            StoreLockedError: Something else is being written.
        """
        self._check_open()
        if not self._lock.acquire(blocking=False):
            raise StoreLockedError("the store is being written to", where=str(self.path.parent))
        try:
            self._writer.execute("PRAGMA busy_timeout = 0")
            with self.write() as connection:
                yield connection
        finally:
            self._writer.execute(f"PRAGMA busy_timeout = {int(_BUSY_SECONDS * 1000)}")
            self._lock.release()

    def stream(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[Any]:
        """The rows of a statement; SQLite steps from one to the next by itself."""
        with self.read() as connection:
            yield from connection.execute(sql, parameters)

    def turn(self, lock: Path, patience: float) -> WriterLock:
        """A lock on a file beside the database."""
        return WriterLock(lock, patience)

    def close(self) -> None:
        """Closes every connection; the database is of no use afterwards."""
        with self._lock:
            self._closed = True
            for connection in self._connections:
                connection.close()
            self._connections.clear()
            self._local = threading.local()

    @contextmanager
    def translate(self) -> Iterator[None]:
        """SQLite's errors as ours."""
        try:
            yield
        except sqlite3.OperationalError as error:
            message = str(error)
            if "locked" in message or "busy" in message:
                raise StoreLockedError(
                    "another process is writing to the store",
                    where=str(self.path.parent),
                    hint="try again when it is done",
                ) from None
            raise StoreError(
                f"the catalog cannot be used: {message}", where=str(self.path)
            ) from None
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"the catalog is damaged or not a catalog: {error}",
                where=str(self.path),
                hint="restore it from a backup, or index the documents into a new store",
            ) from None

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("the store is closed", where=str(self.path.parent))

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        with self._lock:
            self._connections.append(connection)
        connection.execute(f"PRAGMA cache_size = {_CACHE}")
        connection.execute("PRAGMA foreign_keys = ON")
        # WAL with NORMAL keeps every commit across a kill of the process; a power cut may lose the
        # last commits but never tears one.
        connection.execute("PRAGMA synchronous = NORMAL")
        add_vector_functions(connection)
        return connection

    def _reader(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            self._check_open()
            connection = self._local.connection = self._connect()
            # Readers look terms up in the keyword index by themselves, see `words`.
            connection.execute(
                "CREATE VIRTUAL TABLE temp.word_places USING fts5vocab (main, words, instance)"
            )
            connection.execute("PRAGMA query_only = ON")
        return connection

    def _migrate(self, create: bool) -> None:
        connection = self._writer
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        if application not in (0, APPLICATION_ID) or (application == 0 and not self._is_empty()):
            raise StoreError("the file is not a catalog", where=str(self.path))
        if found > FORMAT:
            raise StoreVersionError(
                f"the store has format {found}, this version reads up to {FORMAT}",
                where=str(self.path.parent),
                hint="upgrade llama-index-semxpath",
            )
        if found == 0 and not create:
            raise StoreError(
                "the store was never finished",
                where=str(self.path.parent),
                hint="delete it and index again",
            )
        if found == FORMAT:
            return
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        # Another process may have migrated it while this one waited.
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        try:
            for script in MIGRATIONS[found:]:
                for statement in statements(script):
                    connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            connection.commit()
        except BaseException:
            connection.rollback()
            raise

    def _is_empty(self) -> bool:
        return not self._writer.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
