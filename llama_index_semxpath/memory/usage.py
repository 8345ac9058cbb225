"""How often and when memories were recalled: beside the catalog, since a use is no new version."""

from __future__ import annotations

import datetime as dt
import sqlite3
import threading
from collections.abc import Iterable
from pathlib import Path

from llama_index_semxpath.errors import StoreError

_FILE = "memory_use.db"


class UsageLog:
    """Counts of uses by node id, in one SQLite file.

    Args:
        place: The store's directory, or ``":memory:"``.

    Raises:
        StoreError: The file cannot be opened.

    Example:
        >>> log = UsageLog(":memory:")
        >>> log.touch(["n1"], dt.datetime(2031, 1, 1, tzinfo=dt.timezone.utc))
        >>> log.uses[0][:2]
        ('n1', 1)
    """

    def __init__(self, place: str | Path) -> None:
        path = str(place) if str(place) == ":memory:" else str(Path(place) / _FILE)
        self._lock = threading.Lock()
        try:
            self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS uses"
                " (id TEXT PRIMARY KEY, uses INTEGER NOT NULL, last REAL NOT NULL)"
            )
            #: Id, count and last time in seconds of each use, oldest first.
            self.uses: list[tuple[str, int, float]] = self._db.execute(
                "SELECT id, uses, last FROM uses ORDER BY last"
            ).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"uses of memories: {error}", where=path) from error

    def touch(self, ids: Iterable[str], now: dt.datetime) -> None:
        """Count one use of each; a clock that runs backward does not move the last use."""
        stamp = now.timestamp()
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            for id_ in ids:
                row = self._db.execute(
                    "INSERT INTO uses (id, uses, last) VALUES (?, 1, ?) ON CONFLICT (id) DO UPDATE"
                    " SET uses = uses + 1, last = max(last, excluded.last) RETURNING uses, last",
                    (id_, stamp),
                ).fetchone()
                self.uses.append((id_, *row))
            self._db.execute("COMMIT")

    def forget(self, ids: Iterable[str]) -> None:
        """Drop what is known of nodes."""
        with self._lock:
            self._db.executemany("DELETE FROM uses WHERE id = ?", [(id_,) for id_ in ids])

    def close(self) -> None:
        """Close the file."""
        self._db.close()
