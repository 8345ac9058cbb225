"""Vectors in Milvus, embedded (Milvus Lite) or on a server, under a schema of our own.

One row a node: the id, the vector, and as scalar fields what a filter needs: the document, the
order key (a subtree is one range of it), kind, level, weight, access labels, and the attributes.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from llama_index_semxpath.errors import EmbeddingMismatchError, StoreError, StoreLockedError
from llama_index_semxpath.index.codec import printable
from llama_index_semxpath.index.embedding import Vector
from llama_index_semxpath.index.milvus_expr import Condition, OneOf, literal, to_expression
from llama_index_semxpath.index.projection import ProjectedNode, ProjectedRow
from llama_index_semxpath.tree.node import Value
from llama_index_semxpath.xpath.plan import Pushed

#: What a VARCHAR field holds, in bytes.
_VARCHAR = 65_535
#: Attributes of a row stay below the 65,536 bytes that a JSON field holds on older servers.
_ATTRIBUTE_BYTES = 60_000
#: A longer string is text, not something to filter by.
_VALUE_BYTES = 1_024
#: Most results of one search.
MAX_RESULTS = 16_384
#: Rows that a scan of a server reads at a time.
_PAGE = 8_192
#: Rows of one request: 2,000 vectors of 512 dimensions are 4 MiB, well below the 64 MiB limit.
_ROWS = 2_000


class MilvusProjection:
    """The catalog's vectors in a Milvus collection.

    Args:
        uri: A file for Milvus Lite, or the URL of a server.
        dimension: Components of a vector, 1 and up.
        collection: Name of the collection; made when it is not there.
        token: Token of the server.
        timeout: Seconds to wait for an answer, > 0.

    Raises:
        StoreLockedError: Another process holds the file.
        StoreError: The server does not answer, or the collection is not ours.
        EmbeddingMismatchError: The collection holds vectors of another dimension.
    """

    name = "vectors"
    title = "Milvus"
    is_exact = False
    most = MAX_RESULTS

    def __init__(
        self,
        uri: str,
        *,
        dimension: int,
        collection: str = "semxpath",
        token: str = "",
        timeout: float = 30.0,
    ) -> None:
        self.uri = uri
        self.collection = collection
        self.dimension = dimension
        self._timeout = timeout
        # gRPC writes to standard error by itself, about pings that Milvus Lite finds too many.
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        with self._errors("opened"):
            from pymilvus import MilvusClient

            # They log the errors that they raise, too.
            for logger in ("pymilvus", "milvus_lite"):
                logging.getLogger(logger).setLevel(logging.CRITICAL)
            _Lite.take(uri)
            self._client = MilvusClient(uri=uri, token=token, timeout=timeout)
            if self._client.has_collection(collection):
                self._check_schema()
            else:
                self._create()
            # A reopened collection answers nothing before it is loaded.
            self._client.load_collection(collection)

    def upsert(self, nodes: Sequence[ProjectedNode]) -> None:
        """Writes rows, replacing those of the same id."""
        rows = iter([_row(node) for node in nodes if node.vector is not None])
        while batch := list(islice(rows, _ROWS)):
            with self._errors("written to"):
                self._client.upsert(self.collection, batch, timeout=self._timeout)

    def delete(self, ids: Sequence[str]) -> None:
        """Deletes rows by id."""
        todo = iter(dict.fromkeys(ids))
        while batch := list(islice(todo, _ROWS)):
            with self._errors("written to"):
                self._client.delete(self.collection, filter=_has_id(batch), timeout=self._timeout)

    def search(self, vector: Vector, condition: Condition, limit: int) -> list[tuple[str, float]]:
        """Nearest rows that meet a condition.

        Args:
            vector: A unit vector.
            condition: What rows must meet.
            limit: Most rows, 1 to ``MAX_RESULTS``.

        Returns:
            Ids and cosines, best first.
        """
        with self._errors("searched"):
            found = self._client.search(
                self.collection,
                [vector.tolist()],
                filter=to_expression(condition),
                limit=min(limit, MAX_RESULTS),
                output_fields=["id"],
                consistency_level="Strong",
                timeout=self._timeout,
            )
        return [(hit["id"], float(hit["distance"])) for hit in found[0]]

    def pushed(self, condition: Condition, vector: Vector, limit: int) -> Pushed:
        """What :meth:`search` sends, for a plan."""
        return Pushed(
            self.title,
            to_expression(condition),
            {
                "collection": self.collection,
                "vector": f"{len(vector)} numbers, of the phrase",
                "limit": min(limit, MAX_RESULTS),
                "consistency_level": "Strong",
            },
        )

    def select(self, condition: Condition, limit: int = MAX_RESULTS) -> list[str]:
        """Ids of rows that meet a condition, in no order."""
        with self._errors("read"):
            rows = self._client.query(
                self.collection,
                filter=to_expression(condition) or 'id != ""',
                output_fields=["id"],
                limit=limit,
                consistency_level="Strong",
                timeout=self._timeout,
            )
        return [row["id"] for row in rows]

    def get(self, ids: Sequence[str]) -> dict[str, Vector]:
        """Vectors of rows by id."""
        found: dict[str, Vector] = {}
        todo = iter(dict.fromkeys(ids))
        while batch := list(islice(todo, _ROWS)):
            with self._errors("read"):
                rows = self._client.query(
                    self.collection,
                    filter=_has_id(batch),
                    output_fields=["id", "vector"],
                    consistency_level="Strong",
                    timeout=self._timeout,
                )
            found.update((row["id"], np.asarray(row["vector"], np.float32)) for row in rows)
        return found

    def count(self) -> int:
        """Count of rows."""
        with self._errors("read"):
            rows = self._client.query(
                self.collection, filter="", output_fields=["count(*)"],
                consistency_level="Strong", timeout=self._timeout,
            )  # fmt: skip
        return int(rows[0]["count(*)"])

    def scan(self) -> Iterator[ProjectedRow]:
        """Every row."""
        if "://" not in self.uri:
            # Milvus Lite gives rows in no order, so there are no pages to turn.
            yield from map(_projected, self._rows('id != ""'))
            return
        last = ""
        while True:
            condition = f"id > {literal(last)}" if last else 'id != ""'
            # A server gives the smallest keys first.
            rows = self._rows(condition, limit=_PAGE)
            yield from map(_projected, rows)
            if len(rows) < _PAGE:
                return
            last = max((row["id"] for row in rows), key=str.encode)

    def _rows(self, condition: str, **options: Any) -> list[dict[str, Any]]:
        with self._errors("read"):
            rows: list[dict[str, Any]] = self._client.query(
                self.collection,
                filter=condition,
                output_fields=["id", "doc", "order_key", "labels", "fingerprint"],
                consistency_level="Strong",
                timeout=self._timeout,
                **options,
            )
        return rows

    def flush(self) -> None:
        """Acknowledged rows are durable; strong reads see them."""

    def close(self) -> None:
        """Closes the connection."""
        with contextlib.suppress(Exception):
            self._client.close()
        _Lite.release(self.uri)

    def _create(self) -> None:
        from pymilvus import DataType

        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=_VARCHAR)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=self.dimension)
        for name in ("doc", "order_key", "kind", "labels", "fingerprint"):
            schema.add_field(name, DataType.VARCHAR, max_length=_VARCHAR)
        schema.add_field("level", DataType.INT64)
        schema.add_field("weight", DataType.DOUBLE)
        schema.add_field("attributes", DataType.JSON)
        index = self._client.prepare_index_params()
        # The vectors are unit vectors, so the inner product is the cosine.
        lite = "://" not in self.uri
        index.add_index(
            "vector",
            index_type="FLAT" if lite else "HNSW",
            metric_type="IP",
            params={} if lite else {"M": 16, "efConstruction": 200},
        )
        self._client.create_collection(self.collection, schema=schema, index_params=index)

    def _check_schema(self) -> None:
        described = self._client.describe_collection(self.collection)
        fields: dict[str, Mapping[str, Any]] = {f["name"]: f for f in described["fields"]}
        if not {"id", "vector", "order_key", "fingerprint", "attributes"} <= fields.keys():
            raise StoreError(
                f"the collection '{self.collection}' was made by something else",
                where=self.uri,
                hint="name another collection",
            )
        dimension = int(fields["vector"]["params"]["dim"])
        if dimension != self.dimension:
            raise EmbeddingMismatchError(
                f"the collection holds vectors of dimension {dimension}, not {self.dimension}",
                where=self.uri,
            )

    @contextlib.contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        """The client's errors as ours."""
        try:
            yield
        except StoreError:
            raise
        except Exception as error:
            text = printable(str(getattr(error, "message", "") or error), 300)
            if "lock" in text.lower() or "another process" in text or "Open local milvus" in text:
                raise StoreLockedError(
                    "another process holds the store's vectors (Milvus Lite is for one process)",
                    where=self.uri,
                    hint="close it there, or use a Milvus server",
                ) from None
            raise StoreError(
                f"Milvus cannot be {what}: {text}",
                where=self.uri,
                hint="'semxpath check --repair' builds it anew if it is damaged"
                if "://" not in self.uri
                else "check that it runs; the catalog is intact and will catch up",
            ) from None


class _Lite:
    """Counts who uses an embedded database, which a closed client would keep locked."""

    _users: ClassVar[Counter[str]] = Counter()
    _lock = threading.Lock()

    @classmethod
    def take(cls, uri: str) -> None:
        if "://" not in uri:
            with cls._lock:
                cls._users[os.path.abspath(uri)] += 1

    @classmethod
    def release(cls, uri: str) -> None:
        if "://" in uri:
            return
        path = os.path.abspath(uri)
        with cls._lock:
            cls._users[path] -= 1
            if cls._users[path] > 0:
                return
            del cls._users[path]
            import_module("milvus_lite.server_manager").server_manager_instance.release_server(path)


def _has_id(ids: Sequence[str]) -> str:
    # Printed here: the client splices ids into its own expression without escaping them.
    return to_expression(OneOf("id", tuple(ids)))


def _row(node: ProjectedNode) -> dict[str, Any]:
    assert node.vector is not None
    return {
        "id": node.id,
        "vector": np.frombuffer(node.vector, np.float32),
        "doc": node.doc,
        "order_key": node.order,
        "kind": node.kind,
        "level": -1 if node.level is None else node.level,
        "weight": node.weight,
        "labels": "" if node.labels is None else labels_text(node.labels),
        "fingerprint": node.fingerprint,
        "attributes": filterable(node.attributes),
    }


def filterable(attributes: Mapping[str, Value]) -> dict[str, Any]:
    """The attributes that a filter may name: dates as ISO 8601, long texts and NaN left out.

    Example:
        >>> filterable({"n": 5, "abstract": "x" * 5000})
        {'n': 5}
    """
    kept: dict[str, Any] = {}
    room = _ATTRIBUTE_BYTES
    for key, value in attributes.items():
        plain = value if isinstance(value, (str, bool, int, float, list)) else value.isoformat()
        size = len(key.encode()) + len(repr(plain).encode())
        if size > _VALUE_BYTES or size > room or plain != plain:
            continue
        if isinstance(plain, int) and not -(2**63) <= plain < 2**63:
            continue
        room -= size
        kept[key] = plain
    return kept


def labels_text(labels: Sequence[str]) -> str:
    """A set of labels as one string, the form in which rows hold it and filters ask for it."""
    return json.dumps(sorted(labels), ensure_ascii=False, separators=(",", ":"))


def _projected(row: Mapping[str, Any]) -> ProjectedRow:
    labels = tuple(json.loads(row["labels"])) if row["labels"] else None
    return ProjectedRow(row["id"], row["doc"], row["order_key"], labels, row["fingerprint"])
