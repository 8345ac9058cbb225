"""The catalog: the one authority over documents, nodes, relations and what projections must do.

Everything here is plain Python and SQL: opening a store and asking a structural question imports no
LlamaIndex.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from llama_index_semxpath.errors import StoreError, UnknownDocumentError
from llama_index_semxpath.index.catalog_writer import CatalogWriter
from llama_index_semxpath.index.codec import decode_attributes, printable, searchable
from llama_index_semxpath.index.connection import Connection
from llama_index_semxpath.index.database import open_database
from llama_index_semxpath.index.keywords import query_words
from llama_index_semxpath.index.rows import EntitySource, Source, StoredDocument
from llama_index_semxpath.index.vector_cache import VectorCache
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.order import subtree_range
from llama_index_semxpath.tree.table import Edge

#: Setting of a catalog that a migration is copying into.
UNFINISHED = "migrating"
NODE_COLUMNS = "id, kind, doc, parent, text, attributes, order_key, level, tokens, labels"
_DOCUMENT = (
    "id, part, version, nodes, hash, weight, "
    "source, source_size, source_mtime, source_hash, updated"
)
#: Ids in one ``IN`` list; SQLite's own limit on parameters is 32,766.
_CHUNK = 900
#: Beyond this many and this share of the store, all own texts are read in one scan.
_SCAN, _SCAN_SHARE = 2_000, 0.2


class Catalog:
    """Documents and nodes in one SQLite file or PostgreSQL schema, for many readers and one writer.

    A reader sees whole documents: all reads within :meth:`moment` see the same state.

    Args:
        place: The database file, or an SQLAlchemy URL (``postgresql://…``).
        create: Make it when it is not there.
        schema: PostgreSQL schema that holds the tables.
        unfinished: Also open a catalog that a migration is still copying into.

    Raises:
        StoreError: There is no store, or it is none of ours, or the server does not answer, or a
            migration into it broke off.
        StoreVersionError: A newer version of the package wrote it.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> catalog = Catalog(Path(folder.name) / "catalog.db", create=True)
        >>> with catalog.write() as writer:
        ...     change = writer.put_document([TreeNode("d", "Document", "d")])
        >>> [document.id for document in catalog.documents()]
        ['d']
        >>> catalog.close(); folder.cleanup()
    """

    def __init__(
        self,
        place: Path | str,
        *,
        create: bool = False,
        schema: str = "semxpath",
        unfinished: bool = False,
    ) -> None:
        self.database = open_database(place, create=create, schema=schema)
        self.vectors = VectorCache(self.database)
        if not unfinished and self.meta(UNFINISHED) is not None:
            self.close()
            raise StoreError(
                "a migration into this store broke off",
                where=self.place,
                hint="run 'semxpath migrate' again, it goes on where it stopped",
            )

    @property
    def place(self) -> str:
        """What messages call the catalog: its file, or its URL without the password."""
        return self.database.place

    @contextmanager
    def moment(self) -> Iterator[None]:
        """Within it, every read of this thread sees the same state of the store."""
        with self.database.read():
            yield

    @contextmanager
    def write(self) -> Iterator[CatalogWriter]:
        """A transaction: everything written within takes effect at its end, or nothing does."""
        with self.database.write() as connection:
            yield CatalogWriter(connection, self.database.words)

    def close(self) -> None:
        """Closes the database."""
        self.database.close()

    @property
    def version(self) -> int:
        """Number of the last write; it changes whenever anything in the catalog does."""
        return int(self.meta("version") or 0)

    @property
    def identity(self) -> str:
        """Tells this store from every other, also from a later one in the same place."""
        return self.meta("identity") or ""

    def meta(self, key: str) -> str | None:
        """A setting of the store."""
        with self.database.read() as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def all_meta(self, prefix: str) -> dict[str, str]:
        """Settings whose key begins with a prefix."""
        sql = "SELECT key, value FROM meta WHERE substr(key, 1, ?) = ?"
        with self.database.read() as connection:
            return dict(connection.execute(sql, (len(prefix), prefix)))

    # Documents

    def documents(self) -> list[StoredDocument]:
        """All documents in the order they were added."""
        with self.database.read() as connection:
            rows = connection.execute(f"SELECT {_DOCUMENT} FROM documents ORDER BY part")
            return [_document(row) for row in rows]

    def document(self, id_: str) -> StoredDocument:
        """One document.

        Raises:
            UnknownDocumentError: The catalog does not hold it.
        """
        found = self.find_document(id_)
        if found is None:
            raise UnknownDocumentError(
                "the store holds no such document",
                where=printable(id_),
                hint="list them with documents()",
            )
        return found

    def find_document(self, id_: str) -> StoredDocument | None:
        """One document, ``None`` where the catalog does not hold it."""
        sql = f"SELECT {_DOCUMENT} FROM documents WHERE id = ?"
        with self.database.read() as connection:
            row = connection.execute(sql, (searchable(id_),)).fetchone()
        return None if row is None else _document(row)

    def count_nodes(self) -> int:
        """Count of the nodes of all documents."""
        with self.database.read() as connection:
            count = connection.execute("SELECT coalesce(sum(nodes), 0) FROM documents").fetchone()
        return int(count[0])

    # Nodes

    def nodes(self, ids: Sequence[str]) -> dict[str, TreeNode]:
        """Nodes by id, with spans and pages; unknown ids are left out."""
        found: dict[str, TreeNode] = {}
        with self.database.read() as connection:
            for rows in self._select(f"SELECT {NODE_COLUMNS} FROM nodes WHERE id IN", ids):
                found.update((row[0], read_node(row)) for row in rows)
            self._place(connection, found.values())
        return {id_: found[id_] for id_ in ids if id_ in found}

    def walk(self, doc: str | None = None, *, text: bool = True) -> Iterator[TreeNode]:
        """The nodes of one document, or of all, in document order.

        Args:
            doc: Id of the document; ``None`` walks all of them.
            text: Whether to read the texts too.

        Raises:
            UnknownDocumentError: The catalog does not hold the document.
        """
        columns = NODE_COLUMNS if text else NODE_COLUMNS.replace("text", "''", 1)
        where, bounds = "", tuple[str, ...]()
        with self.database.read() as connection:
            if doc is not None:
                where, bounds = (
                    "WHERE order_key >= ? AND order_key < ?",
                    subtree_range(self.document(doc).part),
                )
            sql = f"SELECT {columns} FROM nodes {where} ORDER BY order_key"
            layout: Iterator[int] = iter(())
            for row in self.database.stream(sql, bounds):
                node = read_node(row)
                if node.parent is None:
                    layout = iter(self._layout(connection, node.doc))
                _set_place(node, next(layout, -1), next(layout, -1), next(layout, -1))
                yield node

    def subtree(self, id_: str) -> list[TreeNode]:
        """A node and its descendants in document order; empty where the id is unknown."""
        with self.database.read() as connection:
            row = connection.execute(
                "SELECT order_key FROM nodes WHERE id = ?", (searchable(id_),)
            ).fetchone()
            if row is None:
                return []
            inside = "order_key >= ? AND order_key < ? ORDER BY order_key"
            sql = f"SELECT {NODE_COLUMNS} FROM nodes WHERE {inside}"
            nodes = [read_node(found) for found in connection.execute(sql, subtree_range(row[0]))]
            self._place(connection, nodes)
        return nodes

    def texts(self, ids: Sequence[str]) -> list[str]:
        """Own texts of nodes, in the order of ``ids``; ``""`` for unknown ones."""
        if len(ids) > _SCAN and len(ids) > _SCAN_SHARE * self.count_nodes():
            every = self.all_texts()
            return [every.get(id_, "") for id_ in ids]
        found: dict[str, str] = {}
        for rows in self._select("SELECT id, text FROM nodes WHERE id IN", ids):
            found.update(rows)
        return [found.get(id_, "") for id_ in ids]

    def all_texts(self) -> dict[str, str]:
        """Own texts of all nodes that have one, by id."""
        return dict(self.database.stream("SELECT id, text FROM nodes WHERE text <> ''"))

    def placed_since(self, version: int) -> list[str]:
        """Documents with spans or pages that were written after a version of the store."""
        sql = "SELECT id FROM documents WHERE version > ? AND length(layout) > 0"
        with self.database.read() as connection:
            return [row[0] for row in connection.execute(sql, (version,))]

    def own_labels(self) -> bool:
        """Whether any node of the store carries an access label."""
        with self.database.read() as connection:
            row = connection.execute("SELECT 1 FROM nodes WHERE labels IS NOT NULL LIMIT 1")
            return row.fetchone() is not None

    def labelled(self) -> bool:
        """Whether labels are in force on any node."""
        with self.database.read() as connection:
            if connection.execute("SELECT 1 FROM label_sets LIMIT 1").fetchone() is None:
                return False
            sql = "SELECT 1 FROM nodes WHERE access <> 0 LIMIT 1"
            return connection.execute(sql).fetchone() is not None

    # Relations and entities

    def edges(self, doc: str | None = None) -> list[Edge]:
        """Relations said by one document, or by all."""
        sql = "SELECT source, name, target, properties FROM edges"
        with self.database.read() as connection:
            rows = (
                connection.execute(f"{sql} ORDER BY pk")
                if doc is None
                else connection.execute(f"{sql} WHERE doc = ? ORDER BY pk", (doc,))
            )
            return [Edge(s, n, t, decode_attributes(p)) for s, n, t, p in rows]

    def edges_to(self, targets: Sequence[str]) -> Iterator[tuple[str, Edge]]:
        """Relations that reach some nodes, each with the document that says it."""
        sql = "SELECT doc, source, name, target, properties FROM edges WHERE target IN"
        for rows in self._select(sql, targets):
            for doc, source, name, target, properties in rows:
                yield doc, Edge(source, name, target, decode_attributes(properties))

    def relations(self) -> list[tuple[str, str, str, str]]:
        """Document, source, name and target of all relations."""
        sql = "SELECT doc, source, name, target FROM edges ORDER BY pk"
        with self.database.read() as connection:
            return connection.execute(sql).fetchall()

    def entity_sources(
        self, entities: Sequence[str] | None = None
    ) -> list[tuple[int, EntitySource]]:
        """What documents say about entities, with a number that rises as things were said."""
        columns = "rowid, entity, doc, label, name, properties, aliases, context"
        sql = f"SELECT {columns} FROM entity_sources"
        with self.database.read() as connection:
            if entities is None:
                rows = connection.execute(sql).fetchall()
            else:
                parts = self._select(f"{sql} WHERE entity IN", entities)
                rows = [row for part in parts for row in part]
        return [
            (n, EntitySource(e, d, label, name, decode_attributes(p), tuple(json.loads(a)), c))
            for n, e, d, label, name, p, a, c in sorted(rows)
        ]

    # Keywords

    def keyword(
        self, text: str, limit: int | None = None, ids: Sequence[str] | None = None
    ) -> list[tuple[str, float]]:
        """Nodes that hold words of a text, with their BM25 scores, best first.

        Args:
            text: The words; Chinese is cut into words, nothing in it is an operator.
            limit: How many nodes at most, 1 and up; ``None`` for all that match.
            ids: Only these nodes.

        Returns:
            Ids with scores > 0 (BM25, see ``words``).
        """
        words = query_words(text)
        if not words or limit == 0:
            return []
        with self.database.read() as connection:
            hits = self.database.words.search(connection, words)
            if ids is not None:
                wanted = frozenset(ids)
                hits = (hit for hit in hits if hit[0] in wanted)
            return [(id_, score) for id_, score in islice(hits, limit)]

    def _select(self, sql: str, values: Sequence[str]) -> Iterator[list[tuple[Any, ...]]]:
        with self.database.read() as connection:
            for start in range(0, len(values), _CHUNK):
                chunk = [searchable(value) for value in values[start : start + _CHUNK]]
                marks = ", ".join("?" * len(chunk))
                yield connection.execute(f"{sql} ({marks})", chunk).fetchall()

    def _layout(self, connection: Connection, doc: str) -> array[int]:
        row = connection.execute("SELECT layout FROM documents WHERE id = ?", (doc,)).fetchone()
        layout = array("i")
        layout.frombytes(row[0])
        return layout

    def _place(self, connection: Connection, nodes: Iterable[TreeNode]) -> None:
        """Sets spans and pages, which the layout of the document holds by rank."""
        layouts: dict[str, tuple[Mapping[str, int], array[int]]] = {}
        for node in nodes:
            if node.doc not in layouts:
                layout = self._layout(connection, node.doc)
                if not layout:
                    layouts[node.doc] = ({}, layout)
                    continue
                ranks = connection.execute(
                    "SELECT id FROM nodes WHERE order_key >= ? AND order_key < ? "
                    "ORDER BY order_key",
                    subtree_range(node.order.partition(".")[0]),
                )
                layouts[node.doc] = (
                    {row[0]: rank for rank, row in enumerate(ranks)},
                    layout,
                )
            ranks_of, layout = layouts[node.doc]
            if not layout:
                continue
            at = 3 * ranks_of[node.id]
            _set_place(node, layout[at], layout[at + 1], layout[at + 2])


def _set_place(node: TreeNode, start: int, end: int, page: int) -> None:
    if start >= 0:
        node.span = (start, end)
    if page >= 0:
        node.page = page


def read_node(row: Sequence[Any]) -> TreeNode:
    """A node from a row of ``NODE_COLUMNS``, without span and page."""
    id_, kind, doc, parent, text, attributes, order, level, tokens, labels = row
    return TreeNode(
        id_,
        kind,
        doc,
        parent,
        text,
        decode_attributes(attributes),
        order,
        level,
        tokens,
        None,
        None,
        None if labels is None else frozenset(json.loads(labels)),
    )


def _document(row: Sequence[Any]) -> StoredDocument:
    id_, part, version, nodes, hash_, weight, path, size, mtime, source_hash, updated = row
    source = None if path is None else Source(path, size, mtime, source_hash)
    return StoredDocument(id_, part, version, nodes, hash_, weight, source, updated)
