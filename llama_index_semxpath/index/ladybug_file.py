"""One Ladybug database file: shared in the process, one writer, our errors."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

from llama_index_semxpath.errors import StoreError, StoreLockedError, StoreVersionError

Rows = list[list[Any]]
#: Column names and types of a table of rows: ``string int64 list<string> list<double>``.
Types = Sequence[tuple[str, str]]
FORMAT = "1"
_READING = frozenset({"MATCH", "OPTIONAL", "UNWIND", "WITH", "RETURN"})
_WRITING = frozenset(
    {
        *("ALTER", "ATTACH", "BEGIN", "CALL", "CHECKPOINT", "COMMENT", "COMMIT", "COPY", "CREATE"),
        *("DELETE", "DETACH", "DROP", "EXPORT", "FORCE", "IMPORT", "INSTALL", "LOAD", "MACRO"),
        *("MERGE", "REMOVE", "ROLLBACK", "SET", "UNINSTALL", "UPDATE", "USE"),
    }
)
_READ_HINT = "use one MATCH … RETURN statement and give values as parameters"
#: The most that Ladybug may keep in memory; taken only as it is needed.
_BUFFER_BYTES = 1 << 30
_DDL = (
    "CREATE NODE TABLE IF NOT EXISTS Meta(key STRING, value STRING, PRIMARY KEY(key))",
    "CREATE NODE TABLE IF NOT EXISTS Node(id STRING, kind STRING, type STRING, name STRING, "
    "aliases STRING[], keys STRING[], "
    "text STRING, doc STRING, parent STRING, order_key STRING, level INT64, labels STRING[], "
    "attributes STRING, origins STRING, origin_ids STRING[], payload STRING, fingerprint STRING, "
    "strings MAP(STRING, STRING), numbers MAP(STRING, DOUBLE), untyped STRING[], PRIMARY KEY(id))",
    "CREATE REL TABLE IF NOT EXISTS Relation(FROM Node TO Node, name STRING, origin STRING, "
    "variant STRING, properties STRING)",
)


class LadybugFile:
    """A database file with its connections; get one with :meth:`open`.

    Ladybug allows one write transaction at a time and its file lock does not see a second open in
    the same process, so both are settled here: one object for each file, one writer lock. Readers
    run on connections of their own and see the last committed state, except the thread that is
    writing, which sees its own writes.
    """

    _opened: ClassVar[dict[tuple[str, bool], LadybugFile]] = {}
    _registry: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, path: str, read_only: bool) -> None:
        self.path = path
        self.read_only = read_only
        self.holders = 0
        self._lock = threading.RLock()
        self._depth = 0
        self._writer: Any = None
        self._idle: list[Any] = []
        self._idle_lock = threading.Lock()
        self._database = _open_database(path, read_only)
        try:
            self._prepare()
        except BaseException:
            self._database.close()
            raise

    @classmethod
    def open(cls, path: str | Path, *, read_only: bool = False) -> LadybugFile:
        """The file's one object in this process.

        Raises:
            StoreLockedError: Another process holds the file for writing.
            StoreVersionError: The file was written by another version of this format.
            StoreError: The file is not a database, or cannot be read.
        """
        real = os.path.realpath(path)
        with cls._registry:
            # A reader in the writer's process shares the writer's database.
            file = cls._opened.get((real, False)) or cls._opened.get((real, read_only))
            if file is None:
                file = cls._opened[(real, read_only)] = cls(real, read_only)
            file.holders += 1
            return file

    def release(self, holder: Any) -> None:
        """Gives the file back; the last holder closes it. A second call of one does nothing."""
        with self._registry:
            if getattr(holder, "_released", False):
                return
            holder._released = True
            self.holders -= 1
            if self.holders == 0:
                del self._opened[(self.path, self.read_only)]
                self._close()

    @contextmanager
    def write(self) -> Iterator[None]:
        """A transaction, for this thread alone; nested ones join it."""
        with self._lock:
            if self._depth:
                yield
                return
            # A connection keeps every prepared statement with the rows that it was given, without
            # bound: so the writer's lives for one transaction.
            self._writer = self._connect()
            try:
                _run(self._writer, "BEGIN TRANSACTION", {}, self.path)
                self._depth = 1
                yield
                _run(self._writer, "COMMIT", {}, self.path)
            except BaseException:
                with suppress(StoreError):  # a failed COMMIT has already rolled back
                    _run(self._writer, "ROLLBACK", {}, self.path)
                raise
            finally:
                self._depth = 0
                self._writer.close()
                self._writer = None

    def load(self, text: str, types: Types, rows: list[dict[str, Any]]) -> Rows:
        """Runs a writing statement over ``$rows``, inside :meth:`write`."""
        with _our_errors(self.path):
            # A fresh table each time: Ladybug crashes when one object is loaded repeatedly.
            table = _arrow_table(types, rows)
        return _run(self._writer, text, {"rows": table}, self.path)

    def read(self, text: str, parameters: Mapping[str, Any] | None = None) -> Rows:
        """All rows of a reading statement."""
        with self._reader() as connection:
            return _run(connection, text, parameters or {}, self.path)

    def query(self, text: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
        """All rows of a statement that somebody else wrote; it can only read the graph."""
        _check_reads_only(text)
        with self._connect() as connection:  # of its own: a connection keeps every text it ran
            _run(connection, "BEGIN TRANSACTION READ ONLY", {}, self.path)
            try:
                with _our_errors(self.path):
                    result = connection.execute(text, dict(parameters))
                    names = result.get_column_names()
                    return [dict(zip(names, row, strict=True)) for row in result.get_all()]
            finally:
                with suppress(StoreError):  # an error has ended the transaction already
                    _run(connection, "ROLLBACK", {}, self.path)

    def stream(self, text: str, parameters: Mapping[str, Any]) -> Iterator[list[Any]]:
        """The rows of a reading statement, one at a time."""
        with self._reader() as connection:
            with _our_errors(self.path):
                result = connection.execute(text, dict(parameters))
            try:
                while result.has_next():
                    yield result.get_next()
            finally:
                result.close()

    def checkpoint(self) -> None:
        """Writes the log into the database file."""
        with self._lock:
            if not self.read_only and not self._depth:
                self.read("CHECKPOINT")

    @contextmanager
    def _reader(self) -> Iterator[Any]:
        if self._depth and self._lock._is_owned():  # type: ignore[attr-defined]
            yield self._writer
            return
        with self._idle_lock:
            connection = self._idle.pop() if self._idle else None
        connection = connection or self._connect()
        try:
            yield connection
        finally:
            with self._idle_lock:
                self._idle.append(connection)

    def _connect(self) -> Any:
        import ladybug

        with _our_errors(self.path):
            return ladybug.Connection(self._database, num_threads=2)

    def _prepare(self) -> None:
        tables = {row[1] for row in self.read("CALL show_tables() RETURN *")}
        if not tables and not self.read_only:
            with self.write():
                for statement in (*_DDL, f"CREATE (m:Meta {{key: 'format', value: '{FORMAT}'}})"):
                    _run(self._writer, statement, {}, self.path)
            return
        if "Meta" not in tables:
            raise StoreVersionError(
                "the file is not a graph of this package", where=self.path, hint="choose another"
            )
        rows = self.read("MATCH (m:Meta) WHERE m.key = 'format' RETURN m.value")
        found = rows[0][0] if rows else "unknown"
        if found != FORMAT:
            raise StoreVersionError(
                f"the graph has format {found}, this version reads {FORMAT}",
                where=self.path,
                hint="remove the file: it is rebuilt from the catalog by `semxpath check --repair`",
            )

    def _close(self) -> None:
        with self._lock, self._idle_lock:
            for connection in self._idle:
                connection.close()
            self._idle.clear()
            self._database.close()


def _open_database(path: str, read_only: bool) -> Any:
    import ladybug

    if read_only and not os.path.exists(path):
        raise StoreError("there is no graph to read", where=path)
    with _our_errors(path, "'semxpath check --repair' builds it anew if it is damaged"):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return ladybug.Database(
            path, buffer_pool_size=_BUFFER_BYTES, max_num_threads=2, read_only=read_only
        )


def _arrow_table(types: Types, rows: list[dict[str, Any]]) -> Any:
    import pyarrow as pa

    by_name = {
        "string": pa.string(),
        "int64": pa.int64(),
        "list<string>": pa.list_(pa.string()),
        "list<double>": pa.list_(pa.float64()),
    }
    return pa.table(
        {name: pa.array([r[name] for r in rows], by_name[kind]) for name, kind in types}
    )


def _check_reads_only(text: str) -> None:
    """Refuses all but plain reading statements.

    A read-only transaction is not enough: a statement can end it, and ``COPY`` and ``LOAD`` reach
    the file system from inside. The words are refused wherever they stand, strings included, so
    that no trick of quoting can hide one.
    """
    words = [word.upper() for word in re.findall(r"\w+", text)]
    if not words or words[0] not in _READING:
        raise StoreError("the statement does not begin with a reading clause", hint=_READ_HINT)
    refused = _WRITING.intersection(words)
    if refused or ";" in text:
        found = f"'{min(refused)}'" if refused else "';'"
        raise StoreError(
            f"the statement holds {found}, which a reading one cannot", hint=_READ_HINT
        )


def _run(connection: Any, text: str, parameters: Mapping[str, Any], path: str) -> Rows:
    with _our_errors(path):
        result = connection.execute(text, dict(parameters))
        try:
            return list(result.get_all())
        finally:
            result.close()


@contextmanager
def _our_errors(path: str, hint: str | None = None) -> Iterator[None]:
    """Turns what Ladybug and the file system raise into one clear error."""
    try:
        yield
    except (RuntimeError, OSError, ValueError, TypeError, MemoryError) as error:
        message = (str(error).splitlines() or [type(error).__name__])[0]
        if "lock on file" in message:
            raise StoreLockedError(
                "another process holds the graph",
                where=path,
                hint="close it there, or open with read_only=True",
            ) from error
        if "read-only" in message or "read only" in message:
            raise StoreLockedError("the graph is open for reading only", where=path) from error
        raise StoreError(f"the graph store failed: {message}", where=path, hint=hint) from error
