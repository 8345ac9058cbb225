"""A table with some nodes changed: array copies instead of a new reading of every node.

The cost is a few passes over the columns and Python work for the changed nodes only, so that a
store of 100,000 nodes is up to date some milliseconds after each of its writes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.tree.build import column_values
from llama_index_semxpath.tree.columns import Column, Mask, Rows, inserted
from llama_index_semxpath.tree.edges import EdgeTable
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.table import TextSource, TreeTable


class Patch:
    """What a patch did to rows.

    Args:
        table: The new table.
        moved: New row of each old one, -1 for those that left or were written anew.
        fresh: New rows that were written, ascending.
    """

    __slots__ = ("fresh", "moved", "table")

    def __init__(self, table: TreeTable, moved: Rows, fresh: Rows) -> None:
        self.table = table
        self.moved = moved
        self.fresh = fresh


def patch_table(
    table: TreeTable,
    removed: Collection[str],
    nodes: Iterable[TreeNode],
    texts: TextSource,
    edges: EdgeTable | None = None,
) -> Patch:
    """A table without some nodes and with others as given.

    Args:
        table: The table, with order keys; it stays as it is.
        removed: Ids of nodes that leave; ids that the table does not hold do not matter.
        nodes: All nodes that are new or differ, with order keys; when a node moves, its
            descendants are among them, and when its labels change, those that inherit them.
        texts: Own texts by row of the new table.
        edges: All relations; ``None`` where they are as they were.

    Raises:
        StoreError: A node whose parent is neither in the table nor among the nodes.

    Example:
        >>> table = TreeTable.from_nodes([TreeNode("d", "Plan", "d", order="a0")])
        >>> day = TreeNode("x", "Day", "d", "d", order="a0.a0")
        >>> patch = patch_table(table, (), [day], lambda rows: [""] * len(rows))
        >>> patch.table.ids, patch.table.end.tolist(), patch.moved.tolist()
        (['', 'd', 'x'], [3, 3, 3], [0, 1])
    """
    assert table.orders is not None
    incoming = sorted(nodes, key=lambda node: node.order)
    size = len(table)
    keep = np.ones(size, np.bool_)
    for id_ in {*removed, *(node.id for node in incoming)}:
        row = table.position(id_)
        if row is not None:
            keep[row] = False
    kept = np.flatnonzero(keep)
    # How many kept rows stand before each new node: order keys of kept rows are ascending.
    before = np.concatenate([[0], np.cumsum(keep)])
    places = [int(before[bisect_left(table.orders, node.order)]) for node in incoming]
    total = len(kept) + len(incoming)
    fresh: Rows = np.array(places, np.int32)
    fresh += np.arange(len(incoming), dtype=np.int32)
    old_rows = np.ones(total, np.bool_)
    old_rows[fresh] = False
    moved = np.full(size, -1, np.int32)
    moved[kept] = np.flatnonzero(old_rows)
    shape = _Shape(table, keep, moved, fresh, incoming, old_rows)
    patched = TreeTable(
        kinds=shape.kinds,
        kind=shape.kind,
        parent=shape.parent,
        end=shape.end,
        depth=shape.depth,
        doc=shape.doc,
        docs=shape.docs,
        ids=_spliced(table.ids, keep, places, [node.id for node in incoming]),
        columns=_columns(table, keep, moved, fresh, incoming),
        texts=texts,
        orders=_spliced(table.orders, keep, places, [node.order for node in incoming]),
        label=shape.label,
        label_sets=shape.label_sets,
        edges=table.edges if edges is None else edges,
    )
    patched.__dict__["_by_id"] = _index(table).patched(moved, fresh, incoming)
    return Patch(patched, moved, fresh)


class IdIndex:
    """Row of each id, where ids have slots that never move and slots have rows.

    Args:
        slots: Slot of each id ever seen; shared by the tables of one line.
        rows: Row of each slot, -1 for an id that the table does not hold.
    """

    __slots__ = ("rows", "slot_of_row", "slots")

    def __init__(self, slots: dict[str, int], rows: Rows, slot_of_row: Rows) -> None:
        self.slots = slots
        self.rows = rows
        self.slot_of_row = slot_of_row

    @classmethod
    def of(cls, ids: Sequence[str]) -> IdIndex:
        """An index of the ids of a table; the root has none."""
        slots = {node_id: slot for slot, node_id in enumerate(ids)}
        rows = np.arange(len(ids), dtype=np.int32)
        rows[:1] = -1
        return cls(slots, rows, np.arange(len(ids), dtype=np.int32))

    def get(self, node_id: str) -> int | None:
        """Row of an id."""
        slot = self.slots.get(node_id)
        if slot is None or slot >= len(self.rows):
            return None
        row = int(self.rows[slot])
        return None if row < 0 else row

    def patched(self, moved: Rows, fresh: Rows, nodes: Sequence[TreeNode]) -> IdIndex:
        """The index of a patched table."""
        slots = self.slots
        own = [slots.setdefault(node.id, len(slots)) for node in nodes]
        kept = np.flatnonzero(moved >= 0)
        slot_of_row = np.empty(len(kept) + len(nodes), np.int32)
        slot_of_row[moved[kept]] = self.slot_of_row[kept]
        slot_of_row[fresh] = own
        rows = np.full(len(slots), -1, np.int32)
        rows[slot_of_row] = np.arange(len(slot_of_row), dtype=np.int32)
        rows[slot_of_row[0]] = -1
        return IdIndex(slots, rows, slot_of_row)


def _index(table: TreeTable) -> IdIndex:
    """The table's index of ids, made anew where most of its slots stand empty."""
    found = table.__dict__.get("_by_id")
    if isinstance(found, IdIndex) and len(found.slots) < 2 * len(table) + 1_000:
        return found
    return IdIndex.of(table.ids)


class _Shape:
    """The structure of the new table."""

    def __init__(
        self,
        table: TreeTable,
        keep: Mask,
        moved: Rows,
        fresh: Rows,
        nodes: Sequence[TreeNode],
        old_rows: Mask,
    ) -> None:
        self._keep, self._moved, self._fresh, self._old_rows = keep, moved, fresh, old_rows
        self._nodes = nodes
        self._rows = {node.id: row for node, row in zip(nodes, fresh.tolist(), strict=True)}
        self.kinds, kinds = _codes(table.kinds, [node.kind for node in nodes])
        self.kind = self._merged(table.kind, kinds)
        self.docs, docs = _codes(table.docs, [node.doc for node in nodes])
        self.doc = self._merged(table.doc, docs)
        self.parent = self._parents(table)
        self.depth = self._merged(table.depth, [0] * len(nodes))
        for row in fresh.tolist():
            self.depth[row] = self.depth[self.parent[row]] + 1
        self.end = ends(self.depth)
        self.label, self.label_sets = self._labels(table)

    def _merged(self, old: Rows, new: Sequence[int]) -> Rows:
        if self._keep.all():
            places = self._fresh - np.arange(len(self._fresh), dtype=np.int32)
            whole: Rows = inserted(old, places, np.array(new, np.int32))
            return whole
        result = np.empty(len(self._old_rows), np.int32)
        result[self._old_rows] = old[self._keep]
        result[self._fresh] = new
        return result

    def _parents(self, table: TreeTable) -> Rows:
        above = table.parent[self._keep]
        parents = np.where(above >= 0, self._moved[above], np.int32(-1))
        # The parent was written anew, at whatever row it stands now.
        for place in np.flatnonzero((parents < 0) & (above >= 0)).tolist():
            parents[place] = self._row_of(table, table.ids[int(above[place])])
        own = [0 if n.parent is None else self._row_of(table, n.parent) for n in self._nodes]
        result = np.empty(len(self._old_rows), np.int32)
        result[self._old_rows] = parents
        result[self._fresh] = own
        return result

    def _row_of(self, table: TreeTable, node_id: str) -> int:
        row = self._rows.get(node_id)
        if row is None:
            old = table.position(node_id)
            row = -1 if old is None else int(self._moved[old])
        if row < 0:
            raise StoreError("parent does not come before its child", where=node_id)
        return row

    def _labels(self, table: TreeTable) -> tuple[Rows, tuple[frozenset[str], ...]]:
        sets = list(table.label_sets)
        label = self._merged(table.label, [-1] * len(self._nodes))
        for node, row in zip(self._nodes, self._fresh.tolist(), strict=True):
            if node.labels is None:
                label[row] = label[self.parent[row]]
                continue
            if node.labels not in sets:
                sets.append(node.labels)
            label[row] = sets.index(node.labels)
        # A tree in which no node has labels any more is open again.
        return label, tuple(sets) if (label >= 0).any() else ()


def ends(depth: Rows) -> Rows:
    """Row after the last descendant of each row: the next one that is no deeper.

    Example:
        >>> ends(np.array([0, 1, 2, 1], np.int32)).tolist()
        [4, 3, 3, 4]
    """
    found = np.full(len(depth), len(depth), np.int32)
    rows = np.arange(len(depth), dtype=np.int32)
    for level in range(int(depth.max()), 0, -1):
        own = depth[rows] == level
        after = np.append(rows[1:], np.int32(len(depth)))
        found[rows[own]] = after[own]
        # What is deeper than the next level ends no subtree of it.
        rows = rows[~own]
    return found


def _codes(names: list[str], wanted: Sequence[str]) -> tuple[list[str], list[int]]:
    """Codes of names, and the list with those that are new; -1 for ``""``."""
    new = [name for name in dict.fromkeys(wanted) if name and name not in names]
    names = [*names, *new] if new else names
    code = {name: names.index(name) for name in dict.fromkeys(wanted) if name}
    return names, [code.get(name, -1) for name in wanted]


def _spliced(old: list[str], keep: Mask, places: Sequence[int], new: Sequence[str]) -> list[str]:
    """Strings of the kept rows, each new one after as many of them as its place says."""
    kept: list[str] = []
    for low, high in _runs(keep):
        kept.extend(old[low:high])
    result: list[str] = []
    start = 0
    for place, text in zip(places, new, strict=True):
        result.extend(kept[start:place])
        result.append(text)
        start = place
    result.extend(kept[start:])
    return result


def _columns(
    table: TreeTable, keep: Mask, moved: Rows, fresh: Rows, nodes: Sequence[TreeNode]
) -> dict[str, Column]:
    given: dict[str, tuple[list[int], list[Any]]] = {}
    for node, row in zip(nodes, fresh.tolist(), strict=True):
        for name, value in column_values(node):
            rows, values = given.setdefault(name, ([], []))
            rows.append(row)
            values.append(value)
    columns = {}
    for name, column in table.columns.items():
        mask = keep[column.rows]
        if mask.all():
            column = column.at(moved[column.rows])
        else:
            column = column.take(mask, moved[column.rows[mask]])
        if name in given:
            column = column.merged(Column.from_values(name, *given.pop(name)))
        if len(column):
            columns[name] = column
    columns.update((name, Column.from_values(name, *pair)) for name, pair in given.items())
    return columns


def _runs(keep: Mask) -> Iterator[tuple[int, int]]:
    """Half-open ranges of the rows that are kept."""
    borders = np.flatnonzero(np.diff(np.concatenate([[0], keep, [0]]).astype(np.int8)))
    yield from zip(borders[::2].tolist(), borders[1::2].tolist(), strict=True)
