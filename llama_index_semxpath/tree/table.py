"""The corpus as one tree in numpy columns, in document order: a subtree is a range of rows.

Row 0 is XPath's root; its children are the documents in the order added, then the entities of the
property graph. The descendants of ``row`` are ``row + 1 … end[row] - 1``: the pre-order and
subtree-size encoding of Grust et al., "Accelerating XPath evaluation in any RDBMS", TODS 2004.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from llama_index_semxpath.tree.columns import Column, Mask, Rows
from llama_index_semxpath.tree.edges import Adjacency, Edge, EdgeTable
from llama_index_semxpath.tree.node import TreeNode, Value

#: Own texts of the given rows, in their order. May read them from a store.
TextSource = Callable[[Rows], list[str]]
#: Fields of a node that ``@name`` reads like attributes.
_FIELDS = ("level", "page", "tokens")

__all__ = ["Column", "Edge", "EdgeTable", "TextSource", "TreeTable"]


class RowsById(Protocol):
    """Finds the row of an id."""

    def get(self, node_id: str, /) -> int | None:
        """The row, ``None`` for an id that is not there."""


class TreeTable:
    """A read-only tree of nodes in columns.

    Structure costs 20 bytes a node, and 12 more once postings and child lists are in use.

    Args:
        kinds: Kind names by code; ``kinds[0]`` is ``""``, the root's.
        kind: Kind code of each row.
        parent: Row of the parent; -1 for the root.
        end: Row after the last descendant.
        depth: 0 for the root.
        doc: Index into ``docs``, -1 for the root and for entities.
        docs: Document ids.
        ids: Node id of each row, ``""`` for the root.
        columns: Attributes by name.
        texts: Gives own texts by row.
        orders: Order key of each row, where known.
        label: Index into ``label_sets`` of the effective access labels, -1 where there are none.
        label_sets: The distinct label sets.
        edges: Relations by id.

    Example:
        >>> nodes = [TreeNode("d", "Document", "d"), TreeNode("s", "Section", "d", "d", "Setup")]
        >>> table = TreeTable.from_nodes(nodes)
        >>> table.ids, table.end.tolist(), table.texts(table.rows_of("Section"))
        (['', 'd', 's'], [3, 3, 3], ['Setup'])
    """

    #: Rows of the table that this one is a view of; ``None`` for a table of its own.
    base_rows: Rows | None = None
    #: Rows whose real parent is hidden: in a view, no child or parent step reaches them.
    orphan: Mask | None = None

    def __init__(
        self,
        *,
        kinds: list[str],
        kind: Rows,
        parent: Rows,
        end: Rows,
        depth: Rows,
        doc: Rows,
        docs: list[str],
        ids: list[str],
        columns: Mapping[str, Column],
        texts: TextSource,
        orders: list[str] | None = None,
        label: Rows | None = None,
        label_sets: Sequence[frozenset[str]] = (),
        edges: EdgeTable | None = None,
    ) -> None:
        self.kinds = kinds
        self.kind = kind
        self.parent = parent
        self.end = end
        self.depth = depth
        self.doc = doc
        self.docs = docs
        self.ids = ids
        self.columns = dict(columns)
        self.texts = texts
        self.orders = orders
        self.label = np.full(len(kind), -1, dtype=np.int32) if label is None else label
        self.label_sets = tuple(label_sets)
        self.edges = edges or EdgeTable([], [], [])

    @classmethod
    def from_nodes(
        cls,
        nodes: Iterable[TreeNode],
        edges: Iterable[Edge] = (),
        *,
        texts: TextSource | None = None,
    ) -> TreeTable:
        """A table of the given nodes.

        Args:
            nodes: Nodes of one or more documents and entities, sorted here by order key; nodes
                without keys must come in document order.
            edges: Relations between them.
            texts: Reads own texts from elsewhere; by default the nodes' texts are kept in memory.

        Raises:
            StoreError: A parent that is not among the nodes before its child, or an id twice.
        """
        from llama_index_semxpath.tree.build import table_from_nodes

        return table_from_nodes(nodes, EdgeTable.from_edges(edges), texts)

    @classmethod
    def from_columns(
        cls,
        *,
        ids: list[str],
        kinds: list[str],
        kind: Rows,
        parent: Rows,
        doc: Rows,
        docs: list[str],
        columns: Mapping[str, Column],
        texts: TextSource,
        orders: list[str] | None = None,
        label: Rows | None = None,
        label_sets: Sequence[frozenset[str]] = (),
        edges: EdgeTable | None = None,
    ) -> TreeTable:
        """A table from arrays that hold the root in row 0; sizes and depths are computed.

        ``label`` holds the nodes' own labels (-1: inherits); the table keeps the effective ones.
        """
        from llama_index_semxpath.tree.build import inherit_labels, measure

        end, depth = measure(parent)
        if label is not None:
            label = inherit_labels(label, end)
        return cls(
            kinds=kinds, kind=kind, parent=parent, end=end, depth=depth, doc=doc, docs=docs,
            ids=ids, columns=columns, texts=texts, orders=orders, label=label,
            label_sets=label_sets, edges=edges,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.kind)

    def __repr__(self) -> str:
        return f"TreeTable({len(self) - 1} nodes, {len(self.tree_starts)} trees)"

    @property
    def size(self) -> Rows:
        """Nodes in each subtree, the node itself included."""
        sizes: Rows = np.subtract(self.end, np.arange(len(self)), dtype=np.int32)
        return sizes

    @property
    def nbytes(self) -> int:
        """Bytes that the structure takes, derived lists in use included."""
        arrays = [self.kind, self.parent, self.end, self.depth, self.doc]
        for name in ("_postings", "child_lists", "tree_starts"):
            cached = self.__dict__.get(name, ())
            arrays.extend(cached if isinstance(cached, tuple) else (cached,))
        return sum(array.nbytes for array in arrays)

    # -- node tests ---------------------------------------------------------------------------

    @cached_property
    def kind_codes(self) -> dict[str, int]:
        """Code of each kind name."""
        return {name: code for code, name in enumerate(self.kinds) if code}

    @cached_property
    def _postings(self) -> tuple[Rows, np.ndarray[Any, np.dtype[np.int64]]]:
        # numpy sorts 16-bit keys by radix, several times faster than wider ones.
        small = self.kind.astype(np.int16) if len(self.kinds) < 2**15 else self.kind
        order = np.argsort(small, kind="stable").astype(np.int32)
        counts = np.bincount(self.kind, minlength=len(self.kinds))
        return order, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def rows_of(self, kind: str) -> Rows:
        """All rows of a kind, ascending; empty for a kind that the tree does not hold."""
        code = self.kind_codes.get(kind)
        if code is None:
            return np.empty(0, dtype=np.int32)
        order, starts = self._postings
        return order[starts[code] : starts[code + 1]]

    @cached_property
    def all_rows(self) -> Rows:
        """All rows but the root's."""
        return np.arange(1, len(self), dtype=np.int32)

    def kind_name(self, row: int) -> str:
        """Kind of a row."""
        return self.kinds[int(self.kind[row])]

    # -- structure ----------------------------------------------------------------------------

    @cached_property
    def child_lists(self) -> tuple[Rows, Rows]:
        """Child rows grouped by parent, and where each parent's group starts (one more at the end).

        Orphans of a view are nobody's children.
        """
        parent = self.parent[1:]
        rows = self.all_rows
        if self.orphan is not None:
            rows = rows[~self.orphan[1:]]
            parent = self.parent[rows]
        counts = np.bincount(parent, minlength=len(self))
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        return rows[np.argsort(parent, kind="stable")], starts

    @cached_property
    def tree_starts(self) -> Rows:
        """First row of each document or entity; ``following`` never leaves such a tree."""
        return np.flatnonzero(self.parent == 0).astype(np.int32)

    def tree_bounds(self, rows: Rows) -> tuple[Rows, Rows]:
        """First row, and row after the last, of the tree that each row stands in."""
        starts = self.tree_starts
        place = np.searchsorted(starts, rows, side="right")
        ends = np.append(starts, np.int32(len(self)))
        # The root stands in no tree: an empty range.
        return np.concatenate([np.zeros(1, np.int32), starts])[place], ends[place]

    # -- lookups ------------------------------------------------------------------------------

    @cached_property
    def _by_id(self) -> RowsById:
        return {node_id: row for row, node_id in enumerate(self.ids) if row}

    def position(self, node_id: str) -> int | None:
        """Row of a node id."""
        return self._by_id.get(node_id)

    def attribute(self, name: str) -> Column | None:
        """The column of an attribute, ``None`` where no node has it."""
        return self.columns.get(name)

    def attributes(self, row: int) -> dict[str, Value]:
        """All attributes of one row."""
        found: dict[str, Value] = {}
        for name, column in self.columns.items():
            place = int(column.slots(len(self))[row])
            if place >= 0:
                found[name] = column.value(place)
        return found

    def labels(self, row: int) -> frozenset[str] | None:
        """Effective access labels of a row, ``None`` where neither it nor an ancestor has any."""
        code = int(self.label[row])
        return None if code < 0 else self.label_sets[code]

    # -- relations ----------------------------------------------------------------------------

    @cached_property
    def _pairs(self) -> dict[str, tuple[Rows, Rows]]:
        return self.edges.pairs(self.position)

    @cached_property
    def _adjacency(self) -> dict[tuple[str, bool], Adjacency]:
        return {}

    @property
    def relations(self) -> list[str]:
        """Names of the relations, sorted."""
        return sorted(self._pairs)

    def relation_pairs(self, name: str) -> tuple[Rows, Rows]:
        """Source and target rows of a relation."""
        empty = np.empty(0, dtype=np.int32)
        return self._pairs.get(name, (empty, empty))

    def neighbours(self, name: str, *, inverse: bool = False) -> Adjacency:
        """Rows that a relation leads to from each row (``inverse``: that it comes from)."""
        key = (name, inverse)
        if key not in self._adjacency:
            source, target = self.relation_pairs(name)
            ends = (target, source) if inverse else (source, target)
            self._adjacency[key] = Adjacency.build(len(self), *ends)
        return self._adjacency[key]

    # -- access -------------------------------------------------------------------------------

    def visible_to(
        self, principal: Collection[str] | None, *, default_access: str = "deny"
    ) -> Mask | None:
        """Which rows a reader may see.

        Args:
            principal: The reader's labels; ``None`` is a reader without labels.
            default_access: ``"deny"`` or ``"allow"``: whether a node without labels is readable in
                a tree where some node has labels.

        Returns:
            A mask over rows, or ``None`` when no node carries labels, so that all see all.
        """
        if not self.label_sets:
            return None
        own = frozenset(principal or ())
        allowed = np.array([bool(own & labels) for labels in self.label_sets] + [False])
        allowed[-1] = default_access == "allow"
        mask: Mask = allowed[self.label]
        mask[0] = True
        return mask

    def view(self, visible: Mask) -> TreeTable:
        """The tree as a reader sees it: hidden rows are not in it at all.

        A visible node below a hidden one is an orphan: ``//`` from the root and from visible
        ancestors reaches it, but it is nobody's child or sibling.

        Args:
            visible: One flag a row; the root's is taken as set.
        """
        from llama_index_semxpath.tree.view import make_view

        return make_view(self, visible)

    # -- bytes --------------------------------------------------------------------------------

    def to_bytes(self, *, texts: bool = False) -> bytes:
        """A snapshot.

        Args:
            texts: Include the nodes' own texts; by default they stay in their store.
        """
        from llama_index_semxpath.tree.snapshot import dump

        return dump(self, texts=texts)

    @classmethod
    def from_bytes(cls, data: bytes | memoryview, texts: TextSource | None = None) -> TreeTable:
        """Opens a snapshot.

        Args:
            data: What :meth:`to_bytes` gave.
            texts: Reads own texts; by default those in the snapshot, else empty texts.

        Raises:
            StoreError: Damaged bytes.
        """
        from llama_index_semxpath.tree.snapshot import load

        return load(data, texts)

    @classmethod
    def concat(cls, tables: Sequence[TreeTable], edges: EdgeTable | None = None) -> TreeTable:
        """One corpus of several, in the given order.

        Args:
            tables: Tables of one or more documents each.
            edges: Relations of the whole; by default those of the tables together.
        """
        from llama_index_semxpath.tree.build import concat_tables

        return concat_tables(tables, edges)

    def replace_documents(
        self,
        removed: Collection[str],
        nodes: Iterable[TreeNode] = (),
        edges: EdgeTable | None = None,
    ) -> TreeTable:
        """This corpus with some documents taken out, changed or put in, the rest kept as it is.

        Args:
            removed: Ids of the documents that go, those that come back changed included.
            nodes: All nodes of the changed and new documents, with order keys.
            edges: Relations of the whole; by default those of this table.

        Raises:
            StoreError: A parent that is not among the nodes before its child, or an id twice.
        """
        from llama_index_semxpath.tree.build import replace_documents

        return replace_documents(self, removed, nodes, edges)
