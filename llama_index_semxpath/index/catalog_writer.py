"""Writing to the catalog: one document at a time, only the rows that differ, and the outbox."""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.access import effective_labels
from llama_index_semxpath.index.codec import (
    check_text,
    digest,
    encode_attributes,
    printable,
    searchable,
)
from llama_index_semxpath.index.connection import ConflictError, Connection
from llama_index_semxpath.index.diff import Changes, assign_keys, compare
from llama_index_semxpath.index.embedding_text import keyword_text
from llama_index_semxpath.index.history_rows import (
    KEEP_ROW,
    Signature,
    keep_rows,
    write_revision,
)
from llama_index_semxpath.index.keywords import segment
from llama_index_semxpath.index.prepare import prepare_nodes
from llama_index_semxpath.index.rows import EntitySource, PreparedNode, Source, StoredNode
from llama_index_semxpath.index.words import Words
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.order import component, component_between, subtree_range
from llama_index_semxpath.tree.table import Edge

#: The projections that every write is announced to.
TARGETS = ("vectors", "graph")
_INSERT = (
    "INSERT INTO nodes (pk, id, doc, parent, kind, order_key, level, text, attributes, tokens, "
    "labels, access, hash, vector, since) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


@dataclass(frozen=True, slots=True)
class Written:
    """What one write did to the catalog.

    Args:
        added: Count of new nodes.
        changed: Count of rewritten nodes.
        removed: Count of deleted nodes.
    """

    added: int = 0
    changed: int = 0
    removed: int = 0


class CatalogWriter:
    """The writing half of the catalog, within one transaction.

    Args:
        connection: The writer's connection, in a transaction.
        words: The keyword index.
    """

    def __init__(self, connection: Connection, words: Words) -> None:
        self._connection = connection
        self._words = words
        self._version: int | None = None
        self._signature = Signature()
        #: Projections that the store is not configured with: they get whole documents if ever.
        self.absent: frozenset[str] = frozenset()

    @property
    def connection(self) -> Connection:
        """The writer's connection, for those who write rows with it in the same transaction."""
        return self._connection

    def sign(self, signature: Signature) -> None:
        """Says who writes and why; to be called before anything is written."""
        self._signature = signature

    @property
    def changed(self) -> bool:
        """Whether anything was written that readers or projections can tell."""
        return self._version is not None

    def put_document(
        self,
        nodes: Sequence[TreeNode] | Sequence[PreparedNode],
        *,
        source: Source | None = None,
    ) -> Written:
        """Stores a document, or brings the stored one to this version.

        Args:
            nodes: All nodes in pre-order, the root first; its id is the document's.
            source: Where it came from.

        Returns:
            What changed; all zeros when the store already held exactly this.

        Raises:
            StoreError: The nodes are no tree, or a node id belongs to another document.
            AttributeValueError: A value that cannot be stored.
        """
        prepared = [node for node in nodes if isinstance(node, PreparedNode)] or prepare_nodes(
            [node for node in nodes if isinstance(node, TreeNode)]
        )
        tree = [item.node for item in prepared]
        doc = tree[0].id
        part, layout, weight, known = self.head(doc)
        stored = self._stored(part) if known else {}
        assign_keys(stored, tree, part)
        access = self._access_codes(effective_labels(tree))
        changes = compare(stored, prepared, access)
        new_layout = _layout(tree)
        if changes or not known or new_layout != layout:
            hash_ = digest(*(f"{item.hash.hex()}{item.node.order}" for item in prepared))
            self.apply(changes, stored, dict(zip((n.id for n in tree), access, strict=True)))
            new_weight = weight_of(tree[0])
            self.put_head(doc, part, len(tree), hash_, new_layout, new_weight)
            self.announce_changes(doc, changes, whole=not known or weight != new_weight)
        self._put_source(doc, source)
        return Written(len(changes.added), len(changes.changed), len(changes.removed))

    def delete_document(self, doc: str) -> bool:
        """Deletes a document with everything whose only source it is.

        Returns:
            Whether the store held it; deleting what is not there changes nothing.
        """
        found = self._connection.execute(
            "SELECT part FROM documents WHERE id = ?", (searchable(doc),)
        )
        row = found.fetchone()
        if row is None:
            return False
        self.replace_relations(doc, ())
        self.replace_entities(doc, ())
        bounds = subtree_range(row[0])
        inside = "order_key >= ? AND order_key < ?"
        found = self._connection.execute(f"SELECT id FROM nodes WHERE {inside}", bounds)
        ids = [row[0] for row in found]
        self._connection.execute(
            f"DELETE FROM words WHERE rowid IN (SELECT pk FROM nodes WHERE {inside})", bounds
        )
        keep_rows(self._connection, self.touch(), inside, bounds)
        self._connection.execute(f"DELETE FROM nodes WHERE {inside}", bounds)
        self._connection.execute("DELETE FROM documents WHERE id = ?", (doc,))
        for target in TARGETS:
            self._outbox(target, "removed", doc, ids)
        self.touch()
        return True

    def replace_relations(self, doc: str, edges: Iterable[Edge]) -> bool:
        """Replaces all relations that a document says; returns whether any differ."""
        edges = list(edges)
        for edge in edges:
            for text in (edge.source, edge.name, edge.target):
                check_text(text, "relation", text)
        rows = sorted(
            {
                (doc, e.source, e.name, e.target, encode_attributes(e.properties, e.source))
                for e in edges
            }
        )
        old = self._connection.execute(
            "SELECT doc, source, name, target, properties FROM edges WHERE doc = ? "
            "ORDER BY source, name, target, properties",
            (doc,),
        ).fetchall()
        if sorted(old) == rows:
            return False
        gone, new = set(old).difference(rows), set(rows).difference(old)
        self._connection.executemany(
            "DELETE FROM edges WHERE doc = ? AND source = ? AND name = ? AND target = ? "
            "AND properties = ?",
            sorted(gone),
        )
        self._connection.executemany(
            "INSERT INTO edges (doc, source, name, target, properties) VALUES (?, ?, ?, ?, ?)",
            sorted(new),
        )
        self._outbox("graph", "relations", doc, None)
        self.set_meta("relations", str(self.touch()))
        return True

    def replace_entities(self, doc: str, entities: Iterable[EntitySource]) -> bool:
        """Replaces all that a document says about entities; returns whether any of it differs."""
        entities = list(entities)
        for e in entities:
            for text in (e.entity, e.label, e.name, e.context, *e.aliases):
                check_text(text, "entity", e.entity)
        new = {e.entity: _entity_row(e) for e in entities}
        sql = (
            "SELECT entity, doc, label, name, properties, aliases FROM entity_sources WHERE doc = ?"
        )
        old = {row[0]: row for row in self._connection.execute(sql, (doc,))}
        dirty = sorted({id_ for id_ in {*old, *new} if old.get(id_) != new.get(id_)})
        if not dirty:
            return False
        self._connection.executemany(
            "DELETE FROM entity_sources WHERE entity = ? AND doc = ?",
            [(id_, doc) for id_ in dirty if id_ not in new],
        )
        self._connection.executemany(
            "INSERT INTO entity_sources (entity, doc, label, name, properties, aliases, context) "
            "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (entity, doc) DO UPDATE SET "
            "label = excluded.label, name = excluded.name, properties = excluded.properties, "
            "aliases = excluded.aliases, context = excluded.context",
            [new[id_] for id_ in dirty if id_ in new],
        )
        self._outbox("graph", "entities", doc, dirty)
        self.set_meta("relations", str(self.touch()))
        return True

    def set_meta(self, key: str, value: str) -> None:
        """Keeps a setting of the store."""
        self._connection.execute(
            "INSERT INTO meta (key, value) VALUES (?, ?) "
            "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (key, value),
        )

    def drop_meta(self, keys: Sequence[str]) -> None:
        """Forgets settings of the store."""
        self._connection.executemany("DELETE FROM meta WHERE key = ?", [(key,) for key in keys])

    def touch_source(self, doc: str, source: Source) -> None:
        """Notes that a source was looked at and holds what it held."""
        self._put_source(doc, source)

    def announce(self, target: str, what: str, doc: str, ids: Sequence[str] | None) -> None:
        """Tells a projection that rows may differ, as a repair does."""
        self._outbox(target, what, doc, ids)

    def done(self, seqs: Sequence[int]) -> None:
        """Strikes finished work from the outbox."""
        self._connection.executemany("DELETE FROM outbox WHERE seq = ?", [(seq,) for seq in seqs])

    # The steps of put_document

    def head(self, doc: str) -> tuple[str, bytes, float, bool]:
        """Component, layout and weight of a document, and whether the store holds it."""
        row = self._connection.execute(
            "SELECT part, layout, weight FROM documents WHERE id = ?", (doc,)
        ).fetchone()
        if row is not None:
            return row[0], row[1], row[2], True
        last = self._connection.execute("SELECT max(part) FROM documents").fetchone()[0]
        part = component(0) if last is None else component_between(last, None)
        return part, b"", 0.0, False

    def _stored(self, part: str) -> dict[str, StoredNode]:
        rows = self._connection.execute(
            "SELECT pk, id, parent, order_key, access, hash, vector FROM nodes "
            "WHERE order_key >= ? AND order_key < ? ORDER BY order_key",
            subtree_range(part),
        )
        return {row[1]: StoredNode(*row) for row in rows}

    def _access_codes(self, labels: Sequence[frozenset[str] | None]) -> list[int]:
        codes: dict[frozenset[str] | None, int] = {None: 0}
        for set_ in dict.fromkeys(labels):
            if set_ is not None:
                codes[set_] = self.label_code(json.dumps(sorted(set_), ensure_ascii=False))
        return [codes[set_] for set_ in labels]

    def label_code(self, text: str) -> int:
        """Code of a label set, given as a sorted JSON list."""
        self._connection.execute(
            "INSERT INTO label_sets (labels) VALUES (?) ON CONFLICT DO NOTHING", (text,)
        )
        row = self._connection.execute("SELECT code FROM label_sets WHERE labels = ?", (text,))
        return int(row.fetchone()[0])

    def apply(
        self, changes: Changes, stored: Mapping[str, StoredNode], access: Mapping[str, int]
    ) -> None:
        """Writes the rows of changed nodes, and keeps those that they replace.

        Args:
            changes: What to write; order keys are assigned.
            stored: The stored rows of nodes that change, by id.
            access: Code of the labels in force, by id of the nodes that are written.
        """
        execute, many = self._connection.execute, self._connection.executemany
        version = self.touch()
        gone = [(old.pk,) for old in changes.removed]
        before = [*gone, *((stored[p.node.id].pk,) for p in changes.changed)]
        many(f"{KEEP_ROW} pk = ? AND since < ?", [(version, pk, version) for (pk,) in before])
        many("DELETE FROM words WHERE rowid = ?", gone)
        many("DELETE FROM nodes WHERE pk = ?", gone)
        if changes.changed:
            # Keys move one by one, so a row may want a key that another has not left yet.
            rows = [(stored[p.node.id].pk, p) for p in changes.changed]
            many("UPDATE nodes SET order_key = ? WHERE pk = ?", [(f"#{pk}", pk) for pk, _ in rows])
            many(
                "UPDATE nodes SET parent = ?, kind = ?, order_key = ?, level = ?, text = ?, "
                "attributes = ?, tokens = ?, labels = ?, access = ?, hash = ?, vector = ?, "
                "doc = ?, since = ? WHERE pk = ?",
                [_update_row(p, access[p.node.id], pk, version) for pk, p in rows],
            )
            rewritten = [(pk, p) for pk, p in rows if stored[p.node.id].hash != p.hash]
            many("DELETE FROM words WHERE rowid = ?", [(pk,) for pk, _ in rewritten])
            self._put_words(rewritten)
        if changes.added:
            first = execute("SELECT coalesce(max(pk), 0) + 1 FROM nodes").fetchone()[0]
            added = list(enumerate(changes.added, first))
            try:
                many(_INSERT, [_insert_row(pk, p, access[p.node.id], version) for pk, p in added])
            except (sqlite3.IntegrityError, ConflictError):
                raise StoreError(
                    "a node id belongs to another document already",
                    where=printable(self._taken(changes.added)),
                    hint="ids must be unique in a store",
                ) from None
            self._put_words(added)

    def _put_words(self, rows: Iterable[tuple[int, PreparedNode]]) -> None:
        self._words.put(
            self._connection,
            [
                (pk, segment(p.path), segment(text))
                for pk, p in rows
                if (text := keyword_text(p.node))
            ],
        )

    def _taken(self, nodes: Iterable[PreparedNode]) -> str:
        for prepared in nodes:
            row = self._connection.execute(
                "SELECT doc FROM nodes WHERE id = ?", (prepared.node.id,)
            ).fetchone()
            if row is not None and row[0] != prepared.node.doc:
                return f"{prepared.node.id} of {row[0]}"
        return "?"

    def put_head(
        self, doc: str, part: str, nodes: int, hash_: bytes, layout: bytes, weight: float
    ) -> None:
        """Writes the row of a document."""
        now = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
        self._connection.execute(
            "INSERT INTO documents (id, part, version, nodes, hash, layout, weight, updated) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
            "version = excluded.version, nodes = excluded.nodes, hash = excluded.hash, "
            "layout = excluded.layout, weight = excluded.weight, updated = excluded.updated",
            (doc, part, self.touch(), nodes, hash_, layout, weight, now),
        )

    def _put_source(self, doc: str, source: Source | None) -> None:
        if source is not None:
            self._connection.execute(
                "UPDATE documents SET source = ?, source_size = ?, source_mtime = ?, "
                "source_hash = ? WHERE id = ?",
                (source.path, source.size, source.mtime, source.hash, doc),
            )

    def announce_changes(self, doc: str, changes: Changes, *, whole: bool) -> None:
        """Tells the projections what of a document changed; ``whole``: that all of it did."""
        gone = [old.id for old in changes.removed]
        if whole:
            for target in TARGETS:
                if gone:
                    self._outbox(target, "nodes", doc, gone)
                self._outbox(target, "document", doc, None)
            return
        touched = [item.node.id for item in (*changes.added, *changes.changed)]
        touched.extend(gone)
        for target in TARGETS:
            ids = touched if target == "vectors" else list({*touched, *changes.relinked})
            if ids:
                self._outbox(target, "nodes", doc, ids)

    def _outbox(self, target: str, what: str, doc: str, ids: Sequence[str] | None) -> None:
        if target in self.absent and what in ("nodes", "document"):
            what, ids = "document", None
            sql = "SELECT 1 FROM outbox WHERE target = ? AND doc = ? AND what = ?"
            if self._connection.execute(sql, (target, doc, what)).fetchone() is not None:
                return
        self._connection.execute(
            "INSERT INTO outbox (target, what, doc, ids) VALUES (?, ?, ?, ?)",
            (target, what, doc, None if ids is None else json.dumps(ids, ensure_ascii=False)),
        )

    def touch(self) -> int:
        """Number of this write, which is a revision of the store."""
        if self._version is None:
            sql = "SELECT value FROM meta WHERE key = 'version'"
            row = self._connection.execute(sql).fetchone()
            self._version = int(row[0]) + 1 if row is not None else 1
            if row is None:
                self.set_meta("identity", uuid4().hex)
            self.set_meta("version", str(self._version))
            write_revision(self._connection, self._version, self._signature)
        return self._version


def weight_of(root: TreeNode) -> float:
    """Source weight of a document: its ``@weight`` where that is a number > 0, else 1.

    Example:
        >>> weight_of(TreeNode("d", "Document", "d", attributes={"weight": 2}))
        2.0
    """
    weight = root.attributes.get("weight")
    if isinstance(weight, (int, float)) and not isinstance(weight, bool) and weight > 0:
        return float(weight)
    return 1.0


def _insert_row(pk: int, item: PreparedNode, access: int, since: int) -> tuple[object, ...]:
    node = item.node
    return (
        pk, node.id, node.doc, node.parent, node.kind, node.order, node.level, node.text,
        item.attributes, node.tokens, _labels(node), access, item.hash, item.vector, since,
    )  # fmt: skip


def _update_row(item: PreparedNode, access: int, pk: int, since: int) -> tuple[object, ...]:
    node = item.node
    return (
        node.parent, node.kind, node.order, node.level, node.text, item.attributes, node.tokens,
        _labels(node), access, item.hash, item.vector, node.doc, since, pk,
    )  # fmt: skip


def _labels(node: TreeNode) -> str | None:
    return None if node.labels is None else json.dumps(sorted(node.labels), ensure_ascii=False)


def _layout(nodes: Sequence[TreeNode]) -> bytes:
    """Spans and pages in document order; nothing for a document without any."""
    if all(node.span is None and node.page is None for node in nodes):
        return b""
    values = array("i")
    for node in nodes:
        start, end = node.span or (-1, -1)
        values.extend((start, end, -1 if node.page is None else node.page))
    return values.tobytes()


def _entity_row(entity: EntitySource) -> tuple[str, ...]:
    return (
        entity.entity,
        entity.doc,
        entity.label,
        entity.name,
        encode_attributes(entity.properties, entity.entity),
        json.dumps(list(entity.aliases), ensure_ascii=False),
        entity.context,
    )
