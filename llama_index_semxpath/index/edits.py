"""Edits of single nodes: each writes the rows it must and leaves all others alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, MutableSet, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from llama_index_semxpath.errors import AccessError, StoreError
from llama_index_semxpath.index.access import DefaultAccess
from llama_index_semxpath.index.catalog import NODE_COLUMNS, read_node
from llama_index_semxpath.index.catalog_writer import TARGETS, CatalogWriter, weight_of
from llama_index_semxpath.index.codec import digest, encode_attributes, printable, searchable
from llama_index_semxpath.index.diff import Changes
from llama_index_semxpath.index.embedding_text import Title
from llama_index_semxpath.index.prepare import prepare_subtree
from llama_index_semxpath.index.rows import PreparedNode, StoredNode
from llama_index_semxpath.tree.ids import node_id
from llama_index_semxpath.tree.node import DOCUMENT_KINDS, TreeNode
from llama_index_semxpath.tree.order import (
    ancestor_keys,
    child_key,
    component,
    component_between,
    subtree_range,
)
from llama_index_semxpath.tree.record import Record

#: Sees to it that the vectors of prepared nodes are in the cache.
Keep = Callable[[Sequence[PreparedNode]], object]
#: Equal siblings that are told apart by counting; beyond, the revision tells them apart.
_COUNTED = 8
#: A component longer than this comes from very many inserts at one place.
_LONGEST_COMPONENT = 48
_INSIDE = "order_key >= ? AND order_key < ?"


@dataclass(frozen=True, slots=True)
class Rights:
    """What an editor may touch.

    Args:
        principal: Labels of who edits; ``None`` carries none.
        labelled: Whether the store holds labels.
        default: Whether nodes without labels may be read in a store that holds some.
    """

    principal: frozenset[str] | None = None
    labelled: bool = False
    default: DefaultAccess = "deny"

    def reads(self, labels: frozenset[str] | None) -> bool:
        """Whether a node with these labels in force may be read, and so be changed."""
        if labels is None:
            return not self.labelled or self.default == "allow"
        return not labels.isdisjoint(self.principal or ())

    def writes(self, labels: frozenset[str] | None) -> bool:
        """Whether a node may get these labels; without a principal anything may be written."""
        return self.principal is None or self.reads(labels)


@dataclass(slots=True)
class Touched:
    """What an edit did to a document, by id.

    Args:
        added: New nodes.
        changed: Nodes whose text, attributes, kind or labels differ.
        moved: Nodes that stand elsewhere.
        removed: Nodes that are gone.
        dirty: All nodes that projections must look at again.
        net: How many nodes the document has more than before, its first writing left out.
    """

    added: dict[str, None] = field(default_factory=dict)
    changed: dict[str, None] = field(default_factory=dict)
    moved: dict[str, None] = field(default_factory=dict)
    removed: dict[str, None] = field(default_factory=dict)
    dirty: dict[str, None] = field(default_factory=dict)
    net: int = 0


class TreeEditor:
    """Edits nodes of stored trees within one transaction of the catalog.

    Args:
        writer: The catalog's writer, in its transaction.
        embed: Sees to it that the vectors of prepared nodes are in the cache.
        rights: What the editor may touch; ``None`` for everything.
        count: Counts the tokens of a text.
    """

    def __init__(
        self,
        writer: CatalogWriter,
        embed: Keep,
        rights: Rights | None = None,
        count: Callable[[str], int] = lambda text: 0,
    ) -> None:
        self._writer = writer
        self._connection = writer.connection
        self._embed = embed
        self._rights = rights or Rights()
        self._count = count
        self.documents: dict[str, Touched] = {}

    # Reading what stands there now, edits so far included

    def node(self, id_: str) -> TreeNode:
        """A node.

        Raises:
            StoreError: There is none that the writer may see.
        """
        found = self.find(id_)
        if found is None:
            raise StoreError(
                "there is no such node", where=printable(id_), hint="it may have been removed"
            )
        return found

    def find(self, id_: str) -> TreeNode | None:
        """A node, ``None`` where there is none that the writer may see."""
        row = self._row(id_)
        if row is None or not self._rights.reads(self._labels_of(row[1])):
            return None
        return row[0]

    def children(self, id_: str) -> list[TreeNode]:
        """Children of a node in order, those that the writer may see."""
        return [
            node
            for node, access in self._subtree(self.node(id_))
            if node.parent == id_ and self._rights.reads(self._labels_of(access))
        ]

    def roots(self) -> list[str]:
        """Ids of all trees in order."""
        rows = self._connection.execute("SELECT id FROM documents ORDER BY part")
        return [row[0] for row in rows]

    # Writing

    def add(
        self,
        record: Record,
        parent: str | None = None,
        *,
        before: str | None = None,
        after: str | None = None,
    ) -> str:
        """Writes a node with all below it; returns its id.

        Args:
            record: The node.
            parent: Id of the node to put it into; ``None`` makes a new tree.
            before: Id of the sibling that it is to stand before.
            after: Id of the sibling that it is to stand after; by default it stands last.

        Raises:
            StoreError: There is no such parent or sibling, or the id is taken.
        """
        above = None if parent is None else self.node(parent)
        doc = "" if above is None else above.doc
        nodes = self._nodes(record, doc, parent)
        if above is None:
            nodes[0].order = self._root_part(before, after)
        else:
            self._refuse_document(above.doc)
            nodes[0].order = self._key(above, before, after)
        self._set_keys(nodes)
        self._insert(nodes, above)
        return nodes[0].id

    def set(
        self,
        id_: str,
        *,
        attributes: Mapping[str, Any] | None = None,
        text: str | None = None,
        kind: str | None = None,
        labels: frozenset[str] | None = None,
    ) -> bool:
        """Changes what a node says; returns whether anything differs.

        Args:
            id_: The node.
            attributes: New values by name; ``None`` as a value takes the attribute away.
            text: New own text; ``None`` leaves it.
            kind: New kind; ``None`` leaves it.
            labels: New access labels; ``None`` leaves them.
        """
        old = self.node(id_)
        self._refuse_document(old.doc)
        values = {**old.attributes, **(attributes or {})}
        values = {name: value for name, value in values.items() if value is not None}
        new = replace(
            old,
            attributes=values,
            text=old.text if text is None else text,
            kind=old.kind if kind is None else kind,
            labels=old.labels if labels is None else labels,
        )
        if new == old:
            return False
        if new.text != old.text:
            new.tokens = self._count(new.text)
        # What stands below is affected by a title, by labels, and in kinds embedded with it.
        wide = (
            new.title != old.title
            or new.labels != old.labels
            or bool({new.kind, old.kind} & set(DOCUMENT_KINDS))
        )
        below = self._subtree(old)[1:] if wide else []
        self._rewrite([new, *(node for node, _ in below)])
        self._touched(old.doc).changed[id_] = None
        if new.parent is None and weight_of(new) != weight_of(old):
            sql = "UPDATE documents SET weight = ? WHERE id = ?"
            self._connection.execute(sql, (weight_of(new), new.doc))
            self._note_dirty(new.doc, [n.id for n, _ in self._subtree(new)])
        return True

    def remove(self, id_: str) -> list[str]:
        """Takes a node away with all below it; returns the ids that are gone."""
        node = self.node(id_)
        self._refuse_document(node.doc)
        gone = self._subtree(node)
        self._refuse_hidden(gone)
        ids = [found.id for found, _ in gone]
        touched = self._touched(node.doc)
        if node.parent is None:
            self._writer.delete_document(node.doc)
        else:
            self._note_dirty(node.doc, self._next(node))
            stored = [self._stored(found.id) for found, _ in gone]
            self._writer.apply(Changes(removed=stored), {}, {})
            self._note_dirty(node.doc, ids)
            touched.net -= len(ids)
        touched.removed.update(dict.fromkeys(ids))
        return ids

    def move(
        self,
        id_: str,
        parent: str,
        *,
        before: str | None = None,
        after: str | None = None,
    ) -> None:
        """Puts a node with all below it elsewhere; ids stay.

        Args:
            id_: The node.
            parent: Id of the node to put it into.
            before: Id of the sibling that it is to stand before.
            after: Id of the sibling that it is to stand after; by default it stands last.

        Raises:
            StoreError: The place is inside the node, or the node is the root of a tree.
        """
        node, above = self.node(id_), self.node(parent)
        self._refuse_document(node.doc)
        self._refuse_document(above.doc)
        if node.parent is None:
            raise StoreError(
                "the root of a tree cannot be moved", where=printable(id_), hint="move its children"
            )
        if above.order == node.order or above.order.startswith(node.order + "."):
            raise StoreError("a node cannot be moved into itself", where=printable(id_))
        if id_ in (before, after):
            return
        moving = self._subtree(node)
        self._refuse_hidden(moving)
        self._note_dirty(node.doc, self._next(node))
        root = replace(node, parent=parent, order=self._key(above, before, after))
        nodes = [root, *(replace(found) for found, _ in moving[1:])]
        for found in nodes:
            found.doc = above.doc
        self._set_keys(nodes)
        if node.doc != above.doc:
            self._note_dirty(node.doc, [found.id for found in nodes])
            self._touched(node.doc).moved[id_] = None
            self._touched(node.doc).net -= len(nodes)
            self._touched(above.doc).net += len(nodes)
        self._rewrite(nodes)
        self._touched(above.doc).moved[id_] = None
        self._note_dirty(above.doc, self._next(root))

    def replace(self, id_: str, record: Record) -> str:
        """Puts a record in the place of a node, whose id and history it takes over."""
        node = self.node(id_)
        for child in self.children(id_):
            self.remove(child.id)
        gone = dict.fromkeys(node.attributes)
        self.set(
            id_,
            attributes={**gone, **record.attributes},
            text=record.text,
            kind=record.kind,
            labels=record.labels,
        )
        for item in record.children:
            self.add(item, id_)
        return id_

    def restore(self, wanted: Mapping[str, TreeNode | None]) -> None:
        """Brings nodes back to what they were, ids and places included.

        Args:
            wanted: The node by id as it is to be, with its order key; ``None`` where it is to be
                gone.

        Raises:
            StoreError: A node would lose its parent, or its place is inside what is to go.
        """
        now = {id_: row for id_ in wanted if (row := self._row(id_)) is not None}
        self._refuse_hidden(list(now.values()))
        gone = [row[0] for id_, row in now.items() if wanted[id_] is None]
        for node in gone:
            left = [n for n, _ in self._subtree(node) if n.parent == node.id]
            if any(child.id not in wanted for child in left):
                raise StoreError(
                    "a node that would go has children of its own by now", where=printable(node.id)
                )
        changes = Changes(removed=[self._stored(node.id) for node in gone])
        stored: dict[str, StoredNode] = {}
        codes: dict[str, int] = {}
        back = sorted((n for n in wanted.values() if n is not None), key=lambda node: node.order)
        for node in back:
            node = replace(node, order=self._order_again(node, wanted))
            item = prepare_subtree([node])[0]
            codes[node.id] = 0
            if node.id in now:
                stored[node.id] = self._stored(node.id)
                changes.changed.append(item)
            else:
                changes.added.append(item)
        self._writer.apply(changes, stored, codes)
        self._settle(gone, changes, now)

    def _order_again(self, node: TreeNode, wanted: Mapping[str, TreeNode | None]) -> str:
        """The order key that a node had, or one behind whoever has that now."""
        parent = None if node.parent is None else wanted.get(node.parent) or self._row(node.parent)
        if node.parent is not None and parent is None:
            raise StoreError("the node's parent is gone by now", where=printable(node.id))
        sql = "SELECT id FROM nodes WHERE order_key = ?"
        holder = self._connection.execute(sql, (node.order,)).fetchone()
        if holder is None or holder[0] in wanted:
            return node.order
        if node.parent is None:
            return self._root_part(None, holder[0])
        above = self.node(node.parent)
        if not node.order.startswith(above.order + "."):
            return self._key(above, None, None)
        return self._key(above, None, holder[0])

    def _settle(
        self, gone: Sequence[TreeNode], changes: Changes, now: Mapping[str, tuple[TreeNode, int]]
    ) -> None:
        """After rows were put back: documents, keyword paths, labels in force and vectors."""
        for node in gone:
            touched = self._touched(node.doc)
            touched.removed[node.id] = None
            touched.net -= 1
            self._note_dirty(node.doc, [node.id])
            if node.parent is None:
                self._connection.execute("DELETE FROM documents WHERE id = ?", (node.id,))
        for item in changes.added:
            self._touched(item.node.doc).added[item.node.id] = None
            self._touched(item.node.doc).net += 1
            if item.node.parent is None:
                part, weight = item.node.order, weight_of(item.node)
                self._writer.put_head(item.node.doc, part, 0, b"", b"", weight)
        for item in changes.changed:
            old, new = now[item.node.id][0], item.node
            moved = (old.parent, old.order) != (new.parent, new.order)
            touched = self._touched(new.doc)
            (touched.moved if moved else touched.changed)[new.id] = None
            if old.doc != new.doc:
                self._touched(old.doc).net -= 1
                touched.net += 1
        done: list[str] = []
        for item in sorted((*changes.added, *changes.changed), key=lambda item: item.node.order):
            order = item.node.order
            if not any(order.startswith(key + ".") for key in done[-1:]):
                done.append(order)
                self._rewrite([node for node, _ in self._subtree(item.node)], every=True)

    def finish(self) -> None:
        """Writes the documents' rows and tells the projections; to be called once, at the end."""
        for doc, touched in self.documents.items():
            part, _, weight, known = self._writer.head(doc)
            if known:
                sql = "SELECT nodes FROM documents WHERE id = ?"
                nodes = self._connection.execute(sql, (doc,)).fetchone()[0] + touched.net
                hash_ = digest(doc, str(self._writer.touch()))
                self._writer.put_head(doc, part, nodes, hash_, b"", weight)
            if touched.dirty:
                for target in TARGETS:
                    self._writer.announce(target, "nodes", doc, list(touched.dirty))

    # Rows

    def _row(self, id_: str) -> tuple[TreeNode, int] | None:
        sql = f"SELECT access, {NODE_COLUMNS} FROM nodes WHERE id = ?"
        row = self._connection.execute(sql, (searchable(id_),)).fetchone()
        return None if row is None else (read_node(row[1:]), int(row[0]))

    def _subtree(self, node: TreeNode) -> list[tuple[TreeNode, int]]:
        sql = f"SELECT access, {NODE_COLUMNS} FROM nodes WHERE {_INSIDE} ORDER BY order_key"
        rows = self._connection.execute(sql, subtree_range(node.order))
        return [(read_node(row[1:]), int(row[0])) for row in rows]

    def _stored(self, id_: str) -> StoredNode:
        row = self._connection.execute(
            "SELECT pk, id, parent, order_key, access, hash, vector FROM nodes WHERE id = ?", (id_,)
        ).fetchone()
        return StoredNode(*row)

    def _labels_of(self, access: int) -> frozenset[str] | None:
        if not access:
            return None
        row = self._connection.execute(
            "SELECT labels FROM label_sets WHERE code = ?", (access,)
        ).fetchone()
        return frozenset(json.loads(row[0]))

    def _access(self, nodes: Sequence[TreeNode], above: int) -> dict[str, int]:
        """Code of the labels in force, by id, for a node with all below it."""
        codes: dict[str, int] = {}
        for node in nodes:
            if node.labels is not None:
                text = json.dumps(sorted(node.labels), ensure_ascii=False)
                codes[node.id] = self._writer.label_code(text)
            else:
                codes[node.id] = codes.get(node.parent or "", above)
        return codes

    def _around(self, order: str) -> list[Title]:
        """Titles of the nodes around a place with their labels, those of documents left out."""
        keys = ancestor_keys(order)[1:]
        if not keys:
            return []
        marks = ", ".join("?" * len(keys))
        sql = (
            f"SELECT access, {NODE_COLUMNS} FROM nodes WHERE order_key IN ({marks}) "
            "ORDER BY order_key"
        )
        rows = self._connection.execute(sql, keys).fetchall()
        titles = [(read_node(row[1:]).title, self._labels_of(row[0])) for row in rows]
        return [(title, labels) for title, labels in titles if title]

    def _prepared(self, nodes: list[TreeNode], above: int) -> list[PreparedNode]:
        """Prepared nodes; ``above``: code of the labels in force on the first one's parent."""
        inherited = self._labels_of(above)
        prepared = prepare_subtree(nodes, self._around(nodes[0].order), inherited)
        self._embed(prepared)
        return prepared

    def _insert(self, nodes: list[TreeNode], above: TreeNode | None) -> None:
        row = None if above is None else self._row(above.id)
        code = 0 if row is None else row[1]
        prepared = self._prepared(nodes, code)
        access = self._access(nodes, code)
        self._refuse_unseen(nodes[0], access)
        self._writer.apply(Changes(added=prepared), {}, access)
        doc = nodes[0].doc
        if above is None:
            weight = weight_of(nodes[0])
            self._writer.put_head(doc, nodes[0].order, len(nodes), b"", b"", weight)
        else:
            self._touched(doc).net += len(nodes)
        ids = [node.id for node in nodes]
        self._touched(doc).added.update(dict.fromkeys(ids))
        self._note_dirty(doc, [*ids, *self._next(nodes[0])])

    def _rewrite(self, nodes: list[TreeNode], *, every: bool = False) -> None:
        """Writes a node and, where they are given, all below it, whose rows are there already.

        Args:
            nodes: The nodes as they are to be, in pre-order.
            every: Tell the projections of all of them, also of those whose rows do not differ.
        """
        parent = nodes[0].parent
        row = None if parent is None else self._row(parent)
        code = 0 if row is None else row[1]
        prepared = self._prepared(nodes, code)
        access = self._access(nodes, code)
        self._refuse_unseen(nodes[0], access)
        stored = {node.id: self._stored(node.id) for node in nodes}
        changed = [
            item for item in prepared if _differs(stored[item.node.id], item, access[item.node.id])
        ]
        self._writer.apply(Changes(changed=changed), stored, access)
        dirty = nodes if every else [item.node for item in changed]
        self._note_dirty(nodes[0].doc, [node.id for node in dirty])

    # Places

    def _nodes(self, record: Record, doc: str, parent: str | None) -> list[TreeNode]:
        """The nodes of a record in pre-order, with ids and without keys."""
        nodes: list[TreeNode] = []
        taken: MutableSet[str] = {parent or ""}
        todo: list[tuple[Record, str | None]] = [(record, parent)]
        while todo:
            item, above = todo.pop()
            values = {name: value for name, value in item.attributes.items() if value is not None}
            id_ = self._new_id(item, values, doc, above, taken)
            taken.add(id_)
            doc = doc or id_
            node = TreeNode(
                id_, item.kind, doc, above, item.text, values,
                tokens=self._count(item.text) if item.text else 0, labels=item.labels,
            )  # fmt: skip
            nodes.append(node)
            todo.extend((child, id_) for child in reversed(item.children))
        return nodes

    def _new_id(
        self,
        record: Record,
        values: Mapping[str, Any],
        doc: str,
        parent: str | None,
        taken: MutableSet[str],
    ) -> str:
        if record.id is not None:
            if record.id in taken or self._row(record.id) is not None:
                raise StoreError("a node with this id is there already", where=printable(record.id))
            return record.id
        content = record.text + "\n" + encode_attributes(values, record.kind)
        for place in self._occurrences():
            id_ = node_id(doc, parent or "", record.kind, content, place)
            if id_ not in taken and self._row(id_) is None:
                return id_
        raise AssertionError("there is always a free id")

    def _occurrences(self) -> Iterator[int]:
        yield from range(_COUNTED)
        place = self._writer.touch() << 32
        while True:
            yield place
            place += 1

    def _root_part(self, before: str | None, after: str | None) -> str:
        if before is None and after is None:
            return self._writer.head("")[0]
        sql = "SELECT id, part FROM documents ORDER BY part"
        roots = self._connection.execute(sql).fetchall()
        parts = [part for _, part in roots]
        anchor = self.node(before or after or "").doc
        place = [id_ for id_, _ in roots].index(anchor) + (before is None)
        low = parts[place - 1] if place else None
        return component_between(low, parts[place] if place < len(parts) else None)

    def _key(self, above: TreeNode, before: str | None, after: str | None) -> str:
        """Key of a new child, between the siblings it is to stand between."""
        key = self._free_key(above, before, after)
        if len(_last(key)) > _LONGEST_COMPONENT:
            self._renumber(above)
            key = self._free_key(above, before, after)
        return key

    def _renumber(self, above: TreeNode) -> None:
        """Gives the children of a node short keys again, after very many inserts at one place."""
        nodes = [node for node, _ in self._subtree(above)[1:]]
        place = 0
        keys = {above.id: above.order}
        for node in nodes:
            own = _last(node.order)
            if node.parent == above.id:
                own, place = component(place), place + 1
            assert node.parent is not None
            node.order = keys[node.id] = child_key(keys[node.parent], own)
        self._rewrite(nodes)

    def _free_key(self, above: TreeNode, before: str | None, after: str | None) -> str:
        if before is not None:
            next_ = self._sibling(above, before)
            low = self._child_before(above, next_.order)
            return child_key(above.order, component_between(low, _last(next_.order)))
        if after is not None:
            previous = self._sibling(above, after)
            high = self._child_after(above, previous.order)
            return child_key(above.order, component_between(_last(previous.order), high))
        last = self._child_before(above, subtree_range(above.order)[1])
        return child_key(above.order, component_between(last, None))

    def _sibling(self, above: TreeNode, id_: str) -> TreeNode:
        node = self.node(id_)
        if node.parent != above.id:
            raise StoreError("the node is no child of that parent", where=printable(id_))
        return node

    def _child_before(self, above: TreeNode, key: str) -> str | None:
        """Component of the last child that stands before a key."""
        row = self._connection.execute(
            "SELECT max(order_key) FROM nodes WHERE order_key > ? AND order_key < ?",
            (above.order, key),
        ).fetchone()
        return None if row[0] is None else _component(row[0], above.order)

    def _child_after(self, above: TreeNode, key: str) -> str | None:
        """Component of the first child that stands after a child and all below it."""
        row = self._connection.execute(
            "SELECT min(order_key) FROM nodes WHERE order_key >= ? AND order_key < ?",
            (subtree_range(key)[1], subtree_range(above.order)[1]),
        ).fetchone()
        return None if row[0] is None else _component(row[0], above.order)

    def _next(self, node: TreeNode) -> list[str]:
        """Id of the next sibling, whose link to the previous one changes."""
        above = node.order.rpartition(".")[0]
        if not above:
            return []
        row = self._connection.execute(
            f"SELECT id FROM nodes WHERE {_INSIDE} ORDER BY order_key LIMIT 1",
            (subtree_range(node.order)[1], subtree_range(above)[1]),
        ).fetchone()
        return [] if row is None else [row[0]]

    def _set_keys(self, nodes: Sequence[TreeNode]) -> None:
        """Keys of the descendants: kept components under the new key, or new ones in order."""
        keys = {nodes[0].id: nodes[0].order}
        last: dict[str, str | None] = {}
        for node in nodes[1:]:
            assert node.parent is not None
            own = (
                _last(node.order) if node.order else component_between(last.get(node.parent), None)
            )
            last[node.parent] = own
            node.order = child_key(keys[node.parent], own)
            keys[node.id] = node.order

    # Refusals

    def _refuse_document(self, doc: str) -> None:
        layout = self._writer.head(doc)[1]
        if layout:
            raise StoreError(
                "a document is changed by indexing its source again",
                where=printable(doc),
                hint="updates are for memory",
            )

    def _refuse_hidden(self, nodes: Sequence[tuple[TreeNode, int]]) -> None:
        codes = {access for _, access in nodes}
        if not all(self._rights.reads(self._labels_of(code)) for code in codes):
            raise AccessError(
                "the change takes in nodes that may not be read",
                hint="ask someone who may read all of it",
            )

    def _refuse_unseen(self, node: TreeNode, access: Mapping[str, int]) -> None:
        if not self._rights.writes(self._labels_of(access[node.id])):
            raise AccessError("the writer could not read what is to be written")

    # What was done

    def _touched(self, doc: str) -> Touched:
        return self.documents.setdefault(doc, Touched())

    def _note_dirty(self, doc: str, ids: Sequence[str]) -> None:
        self._touched(doc).dirty.update(dict.fromkeys(ids))


def _differs(old: StoredNode, new: PreparedNode, access: int) -> bool:
    node = new.node
    return (old.hash, old.order, old.access, old.vector, old.parent) != (
        new.hash, node.order, access, new.vector, node.parent,
    )  # fmt: skip


def _last(key: str) -> str:
    return key.rpartition(".")[2]


def _component(key: str, above: str) -> str:
    """Component of the child of ``above`` that a key lies in."""
    return key[len(above) + 1 :].partition(".")[0]
