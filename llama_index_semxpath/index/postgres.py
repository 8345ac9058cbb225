"""PostgreSQL as the catalog's database: a schema of its own in a database that may hold others."""

from __future__ import annotations

import select
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any

from llama_index_semxpath.errors import (
    StoreError,
    StoreLockedError,
    StoreVersionError,
)
from llama_index_semxpath.index.connection import ConflictError, Connection, Rows
from llama_index_semxpath.index.database import Database
from llama_index_semxpath.index.migrations import APPLICATION_ID, FORMAT, MIGRATIONS, statements
from llama_index_semxpath.index.postgres_sql import definition, placeholders
from llama_index_semxpath.index.words import ArrayWords

_BUSY_SECONDS = 30.0
_CONNECT_SECONDS = 10
#: Connections that read at a time; more readers wait.
_READERS = 16
#: Rows that a stream fetches at a time.
_PAGE = 2_000
_names = count(1)


class PostgresDatabase(Database):
    """Connections to one schema of a PostgreSQL database.

    Reads run in read-only transactions of one snapshot each, on connections that are kept and
    shared. Writing goes through one connection that holds an advisory lock of the schema.

    Args:
        url: SQLAlchemy URL of the database.
        create: Make the schema and its tables when they are not there.
        schema: Name of the schema.

    Raises:
        StoreError: The server does not answer, or the schema holds something else.
        StoreVersionError: A newer version of the package wrote it.
    """

    dialect = "postgresql"

    def __init__(self, url: str, *, create: bool = False, schema: str = "semxpath") -> None:
        self._options, place = _connect_options(url)
        super().__init__(f"{place} (schema {schema})", ArrayWords())
        self.schema = schema
        self._key = lock_key(schema)
        self._lock = threading.RLock()
        self._local = threading.local()
        self._idle: list[_Connection] = []
        self._slots = threading.BoundedSemaphore(_READERS)
        self._writer: _Connection | None = None
        self._closed = False
        with self._lock, self.translate():
            try:
                self._migrate(create)
            except BaseException:
                self.close()
                raise

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection on which every statement sees the same moment of the store."""
        reading: _Reading | None = getattr(self._local, "reading", None)
        if reading is None:
            reading = self._local.reading = _Reading()
        with self.translate():
            if reading.connection is None:
                self._slots.acquire()
                try:
                    reading.connection = self._take()
                except BaseException:
                    self._slots.release()
                    raise
            connection = reading.connection
            reading.depth += 1
            try:
                yield connection
            finally:
                reading.depth -= 1
                if not reading.depth:
                    reading.connection = None
                    self._give_back(connection)
                    self._slots.release()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A connection whose statements take effect together, or not at all."""
        with self._write(_BUSY_SECONDS) as connection:
            yield connection

    @contextmanager
    def write_at_once(self) -> Iterator[Connection]:
        """Like :meth:`write`, but it never waits."""
        self._check_open()
        if not self._lock.acquire(blocking=False):
            raise self.refusal()
        try:
            with self._write(0.0) as connection:
                yield connection
        finally:
            self._lock.release()

    @contextmanager
    def _write(self, patience: float) -> Iterator[Connection]:
        with self.translate(), self._lock:
            self._check_open()
            if self._writer is not None and self._writer.is_broken:
                self._writer = None
            if self._writer is None:
                self._writer = self.connect()
            writer = self._writer
            if writer.in_transaction:
                yield writer
                return
            self._lock_schema(writer, patience)
            try:
                yield writer
                writer.raw.commit()
            except BaseException:
                writer.roll_back()
                raise

    def stream(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[Any]:
        """The rows of a statement, by a cursor of the server."""
        with self.read() as connection:
            assert isinstance(connection, _Connection)
            yield from connection.stream(sql, parameters)

    def continue_numbers(self, connection: Connection, table: str, column: str) -> None:
        """Sets the sequence of the column to the greatest number there is."""
        connection.execute(
            "SELECT setval(pg_get_serial_sequence(?, ?), "
            f"(SELECT coalesce(max({column}), 0) + 1 FROM {table}), false)",
            ('"{}".{}'.format(self.schema.replace('"', '""'), table), column),
        )

    def turn(self, lock: Path, patience: float) -> PostgresTurn:
        """An advisory lock, so that writers on any machine take turns."""
        return PostgresTurn(self, patience)

    def close(self) -> None:
        """Closes every connection."""
        with self._lock:
            self._closed = True
            for connection in (*self._idle, self._writer):
                if connection is not None:
                    connection.close()
            self._idle.clear()
            self._writer = None

    @contextmanager
    def translate(self) -> Iterator[None]:
        """The driver's errors as ours."""
        import psycopg

        try:
            yield
        except psycopg.errors.LockNotAvailable:
            raise self.refusal() from None
        except psycopg.errors.ProgramLimitExceeded as error:
            raise StoreError(
                f"a name or id is too long for an index of PostgreSQL: {_first_line(error)}",
                where=self.place,
                hint="ids, names and sources of some 2,600 bytes are the most; SQLite takes longer",
            ) from None
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            raise StoreError(
                f"the catalog's server does not answer: {_first_line(error)}",
                where=self.place,
                hint="check that it runs and takes connections; nothing was half written",
            ) from None
        except psycopg.Error as error:
            raise StoreError(
                f"the catalog cannot be used: {_first_line(error)}", where=self.place
            ) from None

    def connect(self) -> _Connection:
        """A new connection with the schema as its place for names."""
        import psycopg
        from psycopg import sql

        with self.translate():
            raw = psycopg.connect(**self._options)
            # Extensions have their types and operators in the schema `public`.
            names = sql.Identifier(self.schema), sql.Identifier("public")
            raw.execute(sql.SQL("SET search_path TO {}, {}").format(*names))
            raw.commit()
        return _Connection(raw)

    @property
    def key(self) -> int:
        """The schema's number among advisory locks."""
        return self._key

    def refusal(self) -> StoreLockedError:
        """What a writer hears that waited in vain."""
        return StoreLockedError(
            "another process is writing to the store",
            where=self.place,
            hint="try again when it is done",
        )

    def _lock_schema(self, connection: _Connection, patience: float) -> None:
        try:
            if patience:
                connection.raw.execute(f"SET LOCAL lock_timeout = {int(patience * 1000)}")
                connection.execute("SELECT pg_advisory_xact_lock(?)", (self._key,))
                connection.raw.execute("SET LOCAL lock_timeout = 0")
                return
            row = connection.execute("SELECT pg_try_advisory_xact_lock(?)", (self._key,))
            if not row.fetchone()[0]:
                raise self.refusal()
        except BaseException:
            connection.roll_back()
            raise

    def _take(self) -> _Connection:
        self._check_open()
        import psycopg

        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread was faster
                break
            if not connection.is_broken:
                return connection
        connection = self.connect()
        connection.raw.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.raw.read_only = True
        return connection

    def _give_back(self, connection: _Connection) -> None:
        connection.roll_back()
        if self._closed or connection.is_broken:
            connection.close()
        else:
            self._idle.append(connection)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("the store is closed", where=self.place)

    def _migrate(self, create: bool) -> None:
        self._writer = writer = self.connect()
        found = self._format(writer)
        writer.roll_back()
        if found is None and not create:
            raise StoreError("there is no store here", where=self.place, hint="index a document")
        if found == FORMAT:
            return
        from psycopg import sql

        self._lock_schema(writer, _BUSY_SECONDS)
        try:
            # Another process may have migrated it while this one waited.
            found = self._format(writer)
            if found is None:
                name = sql.Identifier(self.schema)
                writer.raw.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(name))
                writer.execute("CREATE TABLE store_format (application BIGINT, format BIGINT)")
                writer.execute("INSERT INTO store_format VALUES (?, 0)", (APPLICATION_ID,))
            for script in MIGRATIONS[found or 0 :]:
                for statement in statements(script):
                    for one in definition(statement):
                        writer.execute(one)
            writer.execute("UPDATE store_format SET format = ?", (FORMAT,))
            writer.raw.commit()
        except BaseException:
            writer.roll_back()
            raise

    def _format(self, connection: _Connection) -> int | None:
        """Format of the store, ``None`` for an empty schema.

        Raises:
            StoreError: The schema holds something else.
            StoreVersionError: A newer version wrote it.
        """
        tables = {
            row[0]
            for row in connection.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = ?", (self.schema,)
            )
        }
        if not tables:
            return None
        if "store_format" not in tables:
            raise StoreError("the schema is not a catalog", where=self.place)
        application, found = connection.execute("SELECT * FROM store_format").fetchone()
        if application != APPLICATION_ID:
            raise StoreError("the schema is not a catalog", where=self.place)
        if found > FORMAT:
            raise StoreVersionError(
                f"the store has format {found}, this version reads up to {FORMAT}",
                where=self.place,
                hint="upgrade llama-index-semxpath",
            )
        return int(found)


class PostgresTurn:
    """The turn of the one writer, across threads, processes and machines.

    The server lets go of the lock by itself when the connection of a killed writer ends.

    Args:
        database: The catalog's database.
        patience: Seconds to wait for another writer, 0 and up.
    """

    def __init__(self, database: PostgresDatabase, patience: float) -> None:
        self._database = database
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
            raise self._database.refusal()
        self._depth += 1
        try:
            if self._depth > 1:
                yield
                return
            connection = self._database.connect()
            try:
                with self._database.translate():
                    milliseconds = max(1, int(self._patience * 1000))
                    connection.raw.execute(f"SET lock_timeout = {milliseconds}")
                    # One more than the key of transactions, which wait for each other only.
                    connection.execute("SELECT pg_advisory_lock(?)", (self._database.key + 1,))
                    connection.raw.commit()
                yield
            finally:
                connection.close()
        finally:
            self._depth -= 1
            self._thread.release()


class _Reading:
    """The connection that a thread reads on, and how many reads share it."""

    def __init__(self) -> None:
        self.connection: _Connection | None = None
        self.depth = 0


class _Connection:
    """A connection that speaks the catalog's SQL."""

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    @property
    def in_transaction(self) -> bool:
        return bool(self.raw.info.transaction_status)

    @property
    def is_broken(self) -> bool:
        """Whether it ended; outside a statement, only a server that hangs up makes itself heard."""
        if self.raw.closed or self.raw.broken:
            return True
        readable, _, _ = select.select([self.raw.fileno()], [], [], 0)
        return bool(readable) and not self.in_transaction

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Rows:
        rows: Rows = self.raw.execute(placeholders(sql), tuple(parameters) or None)
        return rows

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> None:
        import psycopg

        rows = [tuple(row) for row in parameters]
        if not rows:
            return
        try:
            # A savepoint: after a conflict the transaction can still be asked what is there.
            with self.raw.transaction(), self.raw.cursor() as cursor:
                cursor.executemany(placeholders(sql), rows)
        except psycopg.errors.UniqueViolation as error:
            raise ConflictError(_first_line(error)) from None

    def stream(self, sql: str, parameters: Sequence[Any]) -> Iterator[Any]:
        name = f"rows_{next(_names)}"
        with self.raw.cursor(name=name) as cursor:
            cursor.itersize = _PAGE
            cursor.execute(placeholders(sql), tuple(parameters) or None)
            yield from cursor

    def roll_back(self) -> None:
        import psycopg

        try:
            self.raw.rollback()
        except psycopg.Error:
            self.close()

    def close(self) -> None:
        self.raw.close()


def lock_key(schema: str) -> int:
    """The number of a schema's advisory lock, an even 63-bit one.

    Example:
        >>> lock_key("semxpath") == lock_key("semxpath") != lock_key("other")
        True
    """
    digest = blake2b(schema.encode(), digest_size=8, person=b"semxpath").digest()
    return int.from_bytes(digest, "big") >> 2 << 1


def _connect_options(url: str) -> tuple[dict[str, Any], str]:
    """What the driver is given, and the URL without its password."""
    try:
        import psycopg  # noqa: F401
        from sqlalchemy.engine import make_url
        from sqlalchemy.exc import ArgumentError
    except ImportError:
        raise StoreError(
            "a catalog in PostgreSQL needs the driver psycopg",
            hint="pip install 'llama-index-semxpath[postgres]'",
        ) from None
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise StoreError("the catalog's URL cannot be read", hint="postgresql://…") from None
    options = parsed.translate_connect_args(username="user", database="dbname")
    options.update(parsed.query)
    options.setdefault("connect_timeout", _CONNECT_SECONDS)
    options.setdefault("application_name", "semxpath")
    return options, parsed.render_as_string(hide_password=True)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
