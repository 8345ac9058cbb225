"""The catalog's tables as a migration copies them, read from the catalog's own definitions."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llama_index_semxpath.errors import EmbeddingMismatchError
from llama_index_semxpath.index.catalog import NODE_COLUMNS
from llama_index_semxpath.index.embedding import Matrix, Vector
from llama_index_semxpath.index.migrations import MIGRATIONS


@dataclass(frozen=True, slots=True)
class Table:
    """One table.

    Args:
        name: Its name.
        columns: All of its columns, those of the key first.
        key: Columns that tell rows apart and order them.
        number: The column that the database counts up by itself, ``""`` for none.
    """

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    number: str = ""

    @property
    def insert(self) -> str:
        """The statement that writes a row."""
        marks = ", ".join("?" * len(self.columns))
        return f"INSERT INTO {self.name} ({', '.join(self.columns)}) VALUES ({marks})"

    @property
    def everything(self) -> str:
        """The statement that reads all rows in order of the key."""
        return f"SELECT {', '.join(self.columns)} FROM {self.name} ORDER BY {', '.join(self.key)}"

    def page(self, after: Sequence[Any] | None, limit: int) -> tuple[str, list[Any]]:
        """The statement that reads the rows after a key, and its values.

        Example:
            >>> Table("t", ("a", "b"), ("a",)).page([1], 2)
            ('SELECT a, b FROM t WHERE (a) > (?) ORDER BY a LIMIT ?', [1, 2])
        """
        key = ", ".join(self.key)
        where = "" if after is None else f"WHERE ({key}) > ({', '.join('?' * len(self.key))}) "
        sql = f"SELECT {', '.join(self.columns)} FROM {self.name} {where}ORDER BY {key} LIMIT ?"
        return sql, [*(after or ()), limit]

    @property
    def node_columns(self) -> list[int]:
        """Where a node's columns are, in the order in which ``read_node`` takes them."""
        return [self.columns.index(name) for name in NODE_COLUMNS.split(", ")]


class StoredModel:
    """The model of a store whose vectors are all there: it has a name and makes nothing.

    Args:
        name: Name of the model.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def embed_texts(self, texts: Sequence[str]) -> Matrix:
        """Refuses."""
        raise EmbeddingMismatchError("a vector is missing from the catalog", where=self.name)

    def embed_query(self, text: str) -> Vector:
        """Refuses."""
        raise EmbeddingMismatchError("a vector is missing from the catalog", where=self.name)


def _tables() -> tuple[Table, ...]:
    """All tables but those that each database keeps in a form of its own, nodes last."""
    connection = sqlite3.connect(":memory:")
    for script in MIGRATIONS:
        connection.executescript(script)
    names = [
        row[0]
        for row in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid"
        )
        if not row[0].startswith(("words", "sqlite_")) and row[0] not in ("meta", "outbox")
    ]
    found = [_table(connection, name) for name in names]
    connection.close()
    return tuple(sorted(found, key=lambda table: table.name == "nodes"))


def _table(connection: sqlite3.Connection, name: str) -> Table:
    rows = connection.execute(f"PRAGMA table_info({name})").fetchall()
    columns = [row[1] for row in rows]
    key = [row[1] for row in sorted(rows, key=lambda row: row[5]) if row[5]]
    types = {row[1]: row[2] for row in rows}
    number = key[0] if [types[column] for column in key] == ["INTEGER"] else ""
    if name == "entity_sources":
        # The order in which things were said is that of the rows' own numbers.
        key, number = ["rowid"], "rowid"
    rest = [column for column in columns if column not in key]
    return Table(name, (*key, *rest), tuple(key), number)


TABLES = _tables()
NODES = TABLES[-1]
