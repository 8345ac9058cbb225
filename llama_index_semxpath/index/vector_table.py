"""Vectors in the catalog's own database: one store less to run, at the price of exact search."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from llama_index_semxpath.errors import EmbeddingMismatchError, StoreError
from llama_index_semxpath.index.database import Database
from llama_index_semxpath.index.embedding import Vector
from llama_index_semxpath.index.milvus import filterable, labels_text
from llama_index_semxpath.index.milvus_expr import Condition, OneOf
from llama_index_semxpath.index.projection import ProjectedNode, ProjectedRow
from llama_index_semxpath.index.vector_sql import PostgresVectors, SqliteVectors, VectorDialect
from llama_index_semxpath.xpath.plan import Pushed

_COLUMNS = "id, doc, order_key, kind, level, weight, labels, fingerprint, attributes, vector"
_CHUNK = 900
_DIMENSION = "vector_rows.dimension"


class TableVectors:
    """A projection of the catalog's vectors into a table beside it.

    Cosines are exact: the database reads every row that meets the condition, of which a subtree is
    one range of an index.

    Args:
        database: The catalog's database.
        dimension: Components of a vector, 1 and up.
        create: Make the table when it is not there.

    Raises:
        EmbeddingMismatchError: The table holds vectors of another dimension.
        StoreError: PostgreSQL has no extension ``vector``, or the table is not there.
    """

    name = "vectors"
    title = "SQL"
    is_exact = True
    most = 2**31 - 1

    def __init__(self, database: Database, *, dimension: int, create: bool = True) -> None:
        self.dimension = dimension
        self._database = database
        self._sql: VectorDialect = (
            PostgresVectors() if database.dialect == "postgresql" else SqliteVectors()
        )
        self._check(create)

    def upsert(self, nodes: Sequence[ProjectedNode]) -> None:
        """Writes rows, replacing those of the same id."""
        changes = ", ".join(f"{c} = excluded.{c}" for c in _COLUMNS.split(", ")[1:])
        sql = (
            f"INSERT INTO vector_rows ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, "
            f"{self._sql.attributes}, {self._sql.vector}) ON CONFLICT (id) DO UPDATE SET {changes}"
        )
        with self._database.write() as connection:
            connection.executemany(sql, [self._row(n) for n in nodes if n.vector is not None])

    def delete(self, ids: Sequence[str]) -> None:
        """Deletes rows by id."""
        with self._database.write() as connection:
            connection.executemany("DELETE FROM vector_rows WHERE id = ?", [(i,) for i in ids])

    def search(self, vector: Vector, condition: Condition, limit: int) -> list[tuple[str, float]]:
        """Nearest rows that meet a condition.

        Args:
            vector: A unit vector.
            condition: What rows must meet.
            limit: Most rows, 1 and up.

        Returns:
            Ids and cosines, best first.
        """
        sql, values = self._search(condition)
        with self._database.read() as connection:
            rows = connection.execute(sql, (self._sql.bind(vector), *values, limit))
            return [(id_, float(cosine)) for id_, cosine in rows]

    def pushed(self, condition: Condition, vector: Vector, limit: int) -> Pushed:
        """What :meth:`search` sends, for a plan."""
        sql, values = self._search(condition)
        return Pushed(self.title, sql, {
            "1": f"{len(vector)} numbers, of the phrase",
            **{str(place): value for place, value in enumerate([*values, limit], 2)},
        })  # fmt: skip

    def select(self, condition: Condition, limit: int | None = None) -> list[str]:
        """Ids of rows that meet a condition, in document order."""
        where, values = self._sql.condition(condition)
        sql = f"SELECT id FROM vector_rows WHERE {where} ORDER BY order_key"
        return [row[0] for row in islice(self._database.stream(sql, values), limit)]

    def get(self, ids: Sequence[str]) -> dict[str, Vector]:
        """Vectors of rows by id."""
        found: dict[str, Vector] = {}
        with self._database.read() as connection:
            for start in range(0, len(ids), _CHUNK):
                where, values = self._sql.condition(OneOf("id", tuple(ids[start : start + _CHUNK])))
                sql = f"SELECT id, vector FROM vector_rows WHERE {where}"
                found.update((i, self._sql.read(v)) for i, v in connection.execute(sql, values))
        return found

    def count(self) -> int:
        """Count of rows."""
        with self._database.read() as connection:
            return int(connection.execute("SELECT count(*) FROM vector_rows").fetchone()[0])

    def scan(self) -> Iterator[ProjectedRow]:
        """Every row."""
        sql = "SELECT id, doc, order_key, labels, fingerprint FROM vector_rows"
        for id_, doc, order, labels, fingerprint in self._database.stream(sql):
            known = tuple(json.loads(labels)) if labels else None
            yield ProjectedRow(id_, doc, order, known, fingerprint)

    def flush(self) -> None:
        """Every write is a transaction that has ended."""

    def close(self) -> None:
        """The database is the catalog's to close."""

    def _search(self, condition: Condition) -> tuple[str, list[Any]]:
        where, values = self._sql.condition(condition)
        return (
            f"SELECT id, {self._sql.cosine} AS cosine FROM vector_rows WHERE {where} "
            "ORDER BY cosine DESC, order_key LIMIT ?",
            values,
        )

    def _row(self, node: ProjectedNode) -> tuple[Any, ...]:
        assert node.vector is not None
        return (
            node.id, node.doc, node.order, node.kind, -1 if node.level is None else node.level,
            node.weight, "" if node.labels is None else labels_text(node.labels), node.fingerprint,
            json.dumps(filterable(node.attributes), ensure_ascii=False),
            self._sql.bind(SqliteVectors().read(node.vector)),
        )  # fmt: skip

    def _check(self, create: bool) -> None:
        with self._database.read() as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = ?", (_DIMENSION,))
            found = row.fetchone()
        if found is None and not create:
            raise StoreError("the catalog holds no vectors yet", where=self._database.place)
        if found is None:
            self._create()
        elif int(found[0]) != self.dimension:
            raise EmbeddingMismatchError(
                f"the catalog holds vectors of dimension {found[0]}, not {self.dimension}",
                where=self._database.place,
            )

    def _create(self) -> None:
        try:
            with self._database.write() as connection:
                for statement in self._sql.tables:
                    connection.execute(statement.replace("{dimension}", str(self.dimension)))
                connection.execute(
                    "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING",
                    (_DIMENSION, str(self.dimension)),
                )
        except StoreError as error:
            if 'extension "vector"' not in error.message:
                raise
            raise StoreError(
                "the database cannot hold vectors: it has no extension 'vector'",
                where=self._database.place,
                hint="install pgvector on the server, or keep vectors in Milvus",
            ) from None
