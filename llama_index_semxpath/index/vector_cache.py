"""Vectors by embedded text: computed once for equal text, whatever node or version holds it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from llama_index_semxpath.errors import EmbeddingMismatchError
from llama_index_semxpath.index.database import Database

_CHUNK = 900
Matrix = NDArray[np.float32]


class VectorCache:
    """The models a store knows and the vectors they made.

    Args:
        database: The catalog's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def model(self, name: str) -> tuple[int, int, bytes] | None:
        """Code, dimension and probe bytes of a model, ``None`` for one that made nothing yet."""
        sql = "SELECT code, dimension, probe FROM models WHERE name = ?"
        with self._database.read() as connection:
            row = connection.execute(sql, (name,)).fetchone()
        return None if row is None else (row[0], row[1], row[2])

    def models(self) -> list[str]:
        """Names of the models that made vectors in this store, in order of first use."""
        with self._database.read() as connection:
            return [row[0] for row in connection.execute("SELECT name FROM models ORDER BY code")]

    def register(self, name: str, dimension: int, probe: bytes) -> int:
        """Makes a model known; returns its code."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO models (name, dimension, probe) VALUES (?, ?, ?) "
                "ON CONFLICT DO NOTHING",
                (name, dimension, probe),
            )
            row = connection.execute("SELECT code FROM models WHERE name = ?", (name,))
            return int(row.fetchone()[0])

    def missing(self, model: int, hashes: Iterable[bytes]) -> list[bytes]:
        """Those hashes, each once, whose vectors have yet to be computed."""
        wanted = list(dict.fromkeys(hashes))
        known = {hash_ for hash_, _ in self._rows(model, wanted, "hash, NULL")}
        return [hash_ for hash_ in wanted if hash_ not in known]

    def get(self, model: int, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
        """Float32 bytes by hash, for those that are there."""
        return dict(self._rows(model, list(dict.fromkeys(hashes)), "hash, vector"))

    def put(
        self, model: int, hashes: Sequence[bytes], vectors: Matrix, *, wait: bool = True
    ) -> None:
        """Keeps vectors, in a transaction of their own: a cache may hold more than nodes use.

        Args:
            model: Code of the model.
            hashes: Hashes of the embedded texts.
            vectors: Their vectors, as rows.
            wait: Wait for other writers; else give up at once.

        Raises:
            StoreLockedError: Others write, and ``wait`` is off or they do not finish.
        """
        rows = [(model, h, v.tobytes()) for h, v in zip(hashes, vectors, strict=True)]
        write = self._database.write if wait else self._database.write_at_once
        with write() as connection:
            connection.executemany(
                "INSERT INTO vectors (model, hash, vector) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                rows,
            )

    def matrix(self, model: int, dimension: int) -> tuple[list[str], Matrix]:
        """Ids of all nodes that have a vector, in document order, and their vectors."""
        sql = (
            "SELECT n.id, v.vector FROM nodes n JOIN vectors v "
            "ON v.model = ? AND v.hash = n.vector ORDER BY n.order_key"
        )
        ids: list[str] = []
        data = bytearray()
        for id_, vector in self._database.stream(sql, (model,)):
            ids.append(id_)
            data += vector
        matrix = np.frombuffer(data, np.float32)
        if matrix.size != len(ids) * dimension:
            raise EmbeddingMismatchError(
                f"stored vectors do not have {dimension} dimensions",
                where=self._database.place,
                hint="run check(repair=True)",
            )
        return ids, matrix.reshape(len(ids), dimension)

    def of_nodes(self, model: int, ids: Sequence[str]) -> dict[str, bytes]:
        """Float32 bytes by node id, for those of the nodes that have a vector."""
        found: dict[str, bytes] = {}
        with self._database.read() as connection:
            for start in range(0, len(ids), _CHUNK):
                chunk = ids[start : start + _CHUNK]
                marks = ", ".join("?" * len(chunk))
                sql = (
                    "SELECT n.id, v.vector FROM nodes n JOIN vectors v "
                    f"ON v.model = ? AND v.hash = n.vector WHERE n.id IN ({marks})"
                )
                found.update(connection.execute(sql, (model, *chunk)))
        return found

    def _rows(
        self, model: int, hashes: Sequence[bytes], columns: str
    ) -> Iterable[tuple[bytes, bytes]]:
        with self._database.read() as connection:
            for start in range(0, len(hashes), _CHUNK):
                chunk = hashes[start : start + _CHUNK]
                marks = ", ".join("?" * len(chunk))
                sql = f"SELECT {columns} FROM vectors WHERE model = ? AND hash IN ({marks})"
                yield from connection.execute(sql, (model, *chunk)).fetchall()
