"""The catalog's nodes in the form that projections take over."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index_semxpath.index.catalog import Catalog
from llama_index_semxpath.index.codec import decode_attributes, digest, query_attributes
from llama_index_semxpath.index.merged import merged_entities
from llama_index_semxpath.index.projection import ProjectedNode, ProjectedRow
from llama_index_semxpath.tree.order import subtree_range

_COLUMNS = (
    "n.id, n.doc, n.parent, n.order_key, n.hash, n.vector, l.labels, d.weight, "
    "n.kind, n.level, n.text, n.attributes"
)
_TABLES = "nodes n JOIN documents d ON d.id = n.doc LEFT JOIN label_sets l ON l.code = n.access"
_CHUNK = 500


@dataclass(frozen=True, slots=True)
class NodeLink:
    """Where a node stands: its document (``""`` for an entity), parent and sibling before it."""

    id: str
    doc: str
    parent: str | None
    previous: str | None


class ProjectedNodes:
    """Reads nodes for one projection.

    Args:
        catalog: The catalog.
        model: Code of the embedding model when the target holds vectors: then only nodes that have
            one are given. ``None`` for a target that holds the structure.
    """

    def __init__(self, catalog: Catalog, model: int | None) -> None:
        self._catalog = catalog
        self._model = model

    def of_document(self, doc: str) -> Iterator[ProjectedNode]:
        """All nodes of a document in document order; none where the catalog does not hold it."""
        with self._catalog.moment():
            document = self._catalog.find_document(doc)
            if document is not None:
                yield from self._read(subtree_range(document.part))

    def of_ids(self, doc: str, ids: Sequence[str]) -> Iterator[ProjectedNode]:
        """Those nodes of a document that the catalog holds."""
        with self._catalog.moment():
            document = self._catalog.find_document(doc)
            if document is None:
                return
            previous = None if self._model is not None else self._previous(document.part)
            for start in range(0, len(ids), _CHUNK):
                chunk = ids[start : start + _CHUNK]
                for row in self._rows(f"n.id IN ({', '.join('?' * len(chunk))})", chunk):
                    yield self._node(row, None if previous is None else previous.get(row[0]))

    def rows(self) -> Iterator[ProjectedRow]:
        """What a projection should hold, in document order, as far as a check compares it."""
        where = "" if self._model is None else "WHERE n.vector IS NOT NULL"
        sql = (
            "SELECT n.id, n.doc, n.parent, n.order_key, n.hash, n.vector, l.labels, d.weight "
            f"FROM {_TABLES} {where} ORDER BY n.order_key"
        )
        last: dict[str | None, str] = {}
        stream = self._catalog.database.stream
        with self._catalog.moment():
            for id_, doc, parent, order, hash_, vector, labels, weight in stream(sql):
                if parent is None:
                    last.clear()
                previous = last.get(parent)
                last[parent] = id_
                print_ = self._fingerprint(hash_, order, labels, parent, previous, vector, weight)
                yield ProjectedRow(id_, doc, order, _labels(labels), print_)
            if self._model is None:
                for entity in merged_entities(self._catalog):
                    yield ProjectedRow(entity.id, "", entity.order, None, entity.fingerprint)

    def links(self) -> Iterator[NodeLink]:
        """Where every node stands, in document order; then the entities, which stand alone."""
        last: dict[str | None, str] = {}
        with self._catalog.moment():
            sql = "SELECT id, doc, parent FROM nodes ORDER BY order_key"
            for id_, doc, parent in self._catalog.database.stream(sql):
                if parent is None:
                    last.clear()
                yield NodeLink(id_, doc, parent, last.get(parent))
                last[parent] = id_
            for entity in merged_entities(self._catalog):
                yield NodeLink(entity.id, "", None, None)

    def _read(self, bounds: tuple[str, str]) -> Iterator[ProjectedNode]:
        last: dict[str | None, str] = {}
        for row in self._rows("n.order_key >= ? AND n.order_key < ?", bounds):
            previous = last.get(row[2])
            last[row[2]] = row[0]
            yield self._node(row, previous)

    def _rows(self, where: str, values: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        if self._model is None:
            sql = f"SELECT {_COLUMNS}, NULL FROM {_TABLES} WHERE {where}"
            parameters: list[Any] = list(values)
        else:
            sql = (
                f"SELECT {_COLUMNS}, v.vector FROM {_TABLES} "
                f"JOIN vectors v ON v.model = ? AND v.hash = n.vector WHERE {where}"
            )
            parameters = [self._model, *values]
        yield from self._catalog.database.stream(f"{sql} ORDER BY n.order_key", parameters)

    def _node(self, row: tuple[Any, ...], previous: str | None) -> ProjectedNode:
        id_, doc, parent, order, hash_, vector, labels, weight = row[:8]
        kind, level, text, attributes, values = row[8:]
        return ProjectedNode(
            id=id_,
            doc=doc,
            parent=parent,
            previous=previous,
            kind=kind,
            order=order,
            level=level,
            text=text,
            attributes=query_attributes(decode_attributes(attributes)),
            labels=_labels(labels),
            weight=weight,
            fingerprint=self._fingerprint(hash_, order, labels, parent, previous, vector, weight),
            vector=values,
        )

    def _previous(self, part: str) -> dict[str, str]:
        sql = (
            "SELECT id, parent FROM nodes WHERE order_key >= ? AND order_key < ? ORDER BY order_key"
        )
        last: dict[str | None, str] = {}
        found: dict[str, str] = {}
        with self._catalog.database.read() as connection:
            for id_, parent in connection.execute(sql, subtree_range(part)):
                if parent in last:
                    found[id_] = last[parent]
                last[parent] = id_
        return found

    def _fingerprint(
        self,
        hash_: bytes,
        order: str,
        labels: str | None,
        parent: str | None,
        previous: str | None,
        vector: bytes | None,
        weight: float,
    ) -> str:
        """Of what this target holds: vectors know no siblings, a graph no vectors."""
        own = (
            (parent or "", previous or "") if self._model is None else (vector or b"", str(weight))
        )
        return digest(hash_, order, labels or "", *own)[:8].hex()


def _labels(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(json.loads(text))
