"""The rows under an editor: reading, writing and placing nodes, and what may not be done."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, MutableSet, Sequence
from dataclasses import dataclass, field
from typing import Any

from llama_index_semxpath.errors import AccessError, StoreError
from llama_index_semxpath.index.access import DefaultAccess
from llama_index_semxpath.index.catalog import NODE_COLUMNS, read_node
from llama_index_semxpath.index.catalog_writer import CatalogWriter, weight_of
from llama_index_semxpath.index.codec import encode_attributes, printable, searchable
from llama_index_semxpath.index.diff import Changes
from llama_index_semxpath.index.embedding_text import Title
from llama_index_semxpath.index.prepare import prepare_subtree
from llama_index_semxpath.index.rows import PreparedNode, StoredNode
from llama_index_semxpath.tree.ids import node_id
from llama_index_semxpath.tree.node import TreeNode
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
        everything: Whether labels do not count at all.
    """

    principal: frozenset[str] | None = None
    labelled: bool = False
    default: DefaultAccess = "deny"
    everything: bool = False

    def reads(self, labels: frozenset[str] | None) -> bool:
        """Whether a node with these labels in force may be read, and so be changed."""
        if self.everything:
            return True
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


class EditorRows:
    """Rows of stored trees as an editor reads and writes them, within one transaction.

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
        self.writer = writer
        self.connection = writer.connection
        self.embed = embed
        self.rights = rights or Rights(everything=True)
        self.count = count
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
        row = self.row(id_)
        if row is None or not self.rights.reads(self.labels_of(row[1])):
            return None
        return row[0]

    def children(self, id_: str) -> list[TreeNode]:
        """Children of a node in order, those that the writer may see."""
        return [
            node
            for node, access in self.subtree(self.node(id_))
            if node.parent == id_ and self.rights.reads(self.labels_of(access))
        ]

    def roots(self) -> list[str]:
        """Ids of all trees in order."""
        rows = self.connection.execute("SELECT id FROM documents ORDER BY part")
        return [row[0] for row in rows]

    # Rows

    def row(self, id_: str) -> tuple[TreeNode, int] | None:
        """A node and the code of the labels in force on it; ``None`` where it is not stored."""
        sql = f"SELECT access, {NODE_COLUMNS} FROM nodes WHERE id = ?"
        row = self.connection.execute(sql, (searchable(id_),)).fetchone()
        return None if row is None else (read_node(row[1:]), int(row[0]))

    def subtree(self, node: TreeNode) -> list[tuple[TreeNode, int]]:
        """A node and all below it in order, each with the code of its labels in force."""
        sql = f"SELECT access, {NODE_COLUMNS} FROM nodes WHERE {_INSIDE} ORDER BY order_key"
        rows = self.connection.execute(sql, subtree_range(node.order))
        return [(read_node(row[1:]), int(row[0])) for row in rows]

    def stored(self, id_: str) -> StoredNode:
        """The part of a node's row that tells whether it differs."""
        row = self.connection.execute(
            "SELECT pk, id, parent, order_key, access, hash, vector FROM nodes WHERE id = ?", (id_,)
        ).fetchone()
        return StoredNode(*row)

    def labels_of(self, access: int) -> frozenset[str] | None:
        """The labels that a code stands for."""
        if not access:
            return None
        row = self.connection.execute(
            "SELECT labels FROM label_sets WHERE code = ?", (access,)
        ).fetchone()
        return frozenset(json.loads(row[0]))

    def access(self, nodes: Sequence[TreeNode], above: int) -> dict[str, int]:
        """Code of the labels in force, by id, for a node with all below it."""
        codes: dict[str, int] = {}
        for node in nodes:
            if node.labels is not None:
                text = json.dumps(sorted(node.labels), ensure_ascii=False)
                codes[node.id] = self.writer.label_code(text)
            else:
                codes[node.id] = codes.get(node.parent or "", above)
        return codes

    def around(self, order: str) -> list[Title]:
        """Titles of the nodes around a place with their labels, those of documents left out."""
        keys = ancestor_keys(order)[1:]
        if not keys:
            return []
        marks = ", ".join("?" * len(keys))
        sql = (
            f"SELECT access, {NODE_COLUMNS} FROM nodes WHERE order_key IN ({marks}) "
            "ORDER BY order_key"
        )
        rows = self.connection.execute(sql, keys).fetchall()
        titles = [(read_node(row[1:]).title, self.labels_of(row[0])) for row in rows]
        return [(title, labels) for title, labels in titles if title]

    def _prepared(self, nodes: list[TreeNode], above: int) -> list[PreparedNode]:
        """Prepared nodes; ``above``: code of the labels in force on the first one's parent."""
        inherited = self.labels_of(above)
        prepared = prepare_subtree(nodes, self.around(nodes[0].order), inherited)
        self.embed(prepared)
        return prepared

    def insert(self, nodes: list[TreeNode], above: TreeNode | None) -> None:
        """Writes new nodes, given in pre-order with ids and keys."""
        row = None if above is None else self.row(above.id)
        code = 0 if row is None else row[1]
        prepared = self._prepared(nodes, code)
        access = self.access(nodes, code)
        self.refuse_unseen(nodes[0], access)
        self.writer.apply(Changes(added=prepared), {}, access)
        doc = nodes[0].doc
        if above is None:
            weight = weight_of(nodes[0])
            self.writer.put_head(doc, nodes[0].order, len(nodes), b"", b"", weight)
        else:
            self.touched(doc).net += len(nodes)
        ids = [node.id for node in nodes]
        self.touched(doc).added.update(dict.fromkeys(ids))
        self.note_dirty(doc, [*ids, *self.next(nodes[0])])

    def rewrite(self, nodes: list[TreeNode], *, every: bool = False) -> None:
        """Writes a node and, where they are given, all below it, whose rows are there already.

        Args:
            nodes: The nodes as they are to be, in pre-order.
            every: Tell the projections of all of them, also of those whose rows do not differ.
        """
        parent = nodes[0].parent
        row = None if parent is None else self.row(parent)
        code = 0 if row is None else row[1]
        prepared = self._prepared(nodes, code)
        access = self.access(nodes, code)
        self.refuse_unseen(nodes[0], access)
        stored = {node.id: self.stored(node.id) for node in nodes}
        changed = [
            item for item in prepared if _differs(stored[item.node.id], item, access[item.node.id])
        ]
        self.writer.apply(Changes(changed=changed), stored, access)
        dirty = nodes if every else [item.node for item in changed]
        self.note_dirty(nodes[0].doc, [node.id for node in dirty])

    # Places

    def nodes(self, record: Record, doc: str, parent: str | None) -> list[TreeNode]:
        """The nodes of a record in pre-order, with ids and without keys."""
        nodes: list[TreeNode] = []
        taken: MutableSet[str] = {parent or ""}
        todo: list[tuple[Record, str | None]] = [(record, parent)]
        while todo:
            item, above = todo.pop()
            values = {name: value for name, value in item.attributes.items() if value is not None}
            id_ = self.new_id(item, values, doc, above, taken)
            taken.add(id_)
            doc = doc or id_
            node = TreeNode(
                id_, item.kind, doc, above, item.text, values,
                tokens=self.count(item.text) if item.text else 0, labels=item.labels,
            )  # fmt: skip
            nodes.append(node)
            todo.extend((child, id_) for child in reversed(item.children))
        return nodes

    def new_id(
        self,
        record: Record,
        values: Mapping[str, Any],
        doc: str,
        parent: str | None,
        taken: MutableSet[str],
    ) -> str:
        """The id that a record asks for, or one made from its place and content."""
        if record.id is not None:
            if record.id in taken or self.row(record.id) is not None:
                raise StoreError("a node with this id is there already", where=printable(record.id))
            return record.id
        content = record.text + "\n" + encode_attributes(values, record.kind)
        for place in self._occurrences():
            id_ = node_id(doc, parent or "", record.kind, content, place)
            if id_ not in taken and self.row(id_) is None:
                return id_
        raise AssertionError("there is always a free id")

    def _occurrences(self) -> Iterator[int]:
        yield from range(_COUNTED)
        place = self.writer.touch() << 32
        while True:
            yield place
            place += 1

    def root_part(self, before: str | None, after: str | None) -> str:
        """Component of a new tree among the trees."""
        if before is None and after is None:
            return self.writer.head("")[0]
        sql = "SELECT id, part FROM documents ORDER BY part"
        roots = self.connection.execute(sql).fetchall()
        parts = [part for _, part in roots]
        anchor = self.node(before or after or "").doc
        place = [id_ for id_, _ in roots].index(anchor) + (before is None)
        low = parts[place - 1] if place else None
        return component_between(low, parts[place] if place < len(parts) else None)

    def key(self, above: TreeNode, before: str | None, after: str | None) -> str:
        """Key of a new child, between the siblings it is to stand between."""
        key = self._free_key(above, before, after)
        if len(_last(key)) > _LONGEST_COMPONENT:
            self._renumber(above)
            key = self._free_key(above, before, after)
        return key

    def _renumber(self, above: TreeNode) -> None:
        """Gives the children of a node short keys again, after very many inserts at one place."""
        nodes = [node for node, _ in self.subtree(above)[1:]]
        place = 0
        keys = {above.id: above.order}
        for node in nodes:
            own = _last(node.order)
            if node.parent == above.id:
                own, place = component(place), place + 1
            assert node.parent is not None
            node.order = keys[node.id] = child_key(keys[node.parent], own)
        self.rewrite(nodes)

    def _free_key(self, above: TreeNode, before: str | None, after: str | None) -> str:
        if before is not None:
            next_ = self.sibling(above, before)
            low = self._child_before(above, next_.order)
            return child_key(above.order, component_between(low, _last(next_.order)))
        if after is not None:
            previous = self.sibling(above, after)
            high = self._child_after(above, previous.order)
            return child_key(above.order, component_between(_last(previous.order), high))
        last = self._child_before(above, subtree_range(above.order)[1])
        return child_key(above.order, component_between(last, None))

    def sibling(self, above: TreeNode, id_: str) -> TreeNode:
        """A child of a node, refused where it is none."""
        node = self.node(id_)
        if node.parent != above.id:
            raise StoreError("the node is no child of that parent", where=printable(id_))
        return node

    def _child_before(self, above: TreeNode, key: str) -> str | None:
        """Component of the last child that stands before a key."""
        row = self.connection.execute(
            "SELECT max(order_key) FROM nodes WHERE order_key > ? AND order_key < ?",
            (above.order, key),
        ).fetchone()
        return None if row[0] is None else _component(row[0], above.order)

    def _child_after(self, above: TreeNode, key: str) -> str | None:
        """Component of the first child that stands after a child and all below it."""
        row = self.connection.execute(
            "SELECT min(order_key) FROM nodes WHERE order_key >= ? AND order_key < ?",
            (subtree_range(key)[1], subtree_range(above.order)[1]),
        ).fetchone()
        return None if row[0] is None else _component(row[0], above.order)

    def next(self, node: TreeNode) -> list[str]:
        """Id of the next sibling, whose link to the previous one changes."""
        above = node.order.rpartition(".")[0]
        if not above:
            return []
        row = self.connection.execute(
            f"SELECT id FROM nodes WHERE {_INSIDE} ORDER BY order_key LIMIT 1",
            (subtree_range(node.order)[1], subtree_range(above)[1]),
        ).fetchone()
        return [] if row is None else [row[0]]

    def set_keys(self, nodes: Sequence[TreeNode]) -> None:
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

    def refuse_document(self, doc: str) -> None:
        """Refuses to change what was parsed from a source."""
        layout = self.writer.head(doc)[1]
        if layout:
            raise StoreError(
                "a document is changed by indexing its source again",
                where=printable(doc),
                hint="updates are for memory",
            )

    def refuse_hidden(self, nodes: Sequence[tuple[TreeNode, int]]) -> None:
        """Refuses to change nodes of which some may not be read."""
        codes = {access for _, access in nodes}
        if not all(self.rights.reads(self.labels_of(code)) for code in codes):
            raise AccessError(
                "the change takes in nodes that may not be read",
                hint="ask someone who may read all of it",
            )

    def refuse_unseen(self, node: TreeNode, access: Mapping[str, int]) -> None:
        """Refuses to write what the writer could not read then."""
        if not self.rights.writes(self.labels_of(access[node.id])):
            raise AccessError("the writer could not read what is to be written")

    # What was done

    def touched(self, doc: str) -> Touched:
        """What was done to a document so far."""
        return self.documents.setdefault(doc, Touched())

    def note_dirty(self, doc: str, ids: Sequence[str]) -> None:
        """Notes nodes that projections must look at again."""
        self.touched(doc).dirty.update(dict.fromkeys(ids))


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
