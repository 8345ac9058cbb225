"""The axes of XPath over columns: from whole sets of rows to whole sets of rows.

Two forms of each: :func:`step_pairs` keeps which row each result came from, in axis order, for
positions and for many contexts at once; :func:`step_set` only makes the union, which is cheaper.
Descendants are ranges (Grust et al., "Staircase join", VLDB 2003), cut to one kind by binary
search in the list of that kind's rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from llama_index_semxpath.engines.sets import (
    PAIR_LIMIT,
    Longs,
    TooWideError,
    distinct,
    expand,
    flags,
    merged_ranges,
)
from llama_index_semxpath.tree.columns import Mask, Rows
from llama_index_semxpath.tree.table import TreeTable

Pairs = tuple[Longs, Rows]
Ints = npt.NDArray[np.integer[Any]]
_EMPTY: Rows = np.empty(0, dtype=np.int32)
#: Axes whose positions count away from the context node, against document order.
REVERSE = {"ancestor", "ancestor-or-self", "preceding", "preceding-sibling", "parent"}


@dataclass(frozen=True, slots=True)
class NodeTest:
    """Which rows a step admits: those of one kind, or (``kind`` is ``None``) all but the root.

    ``root`` admits the root too: ``node()`` on the axes behind ``.``, ``..`` and ``//``.
    """

    kind: str | None = None
    root: bool = False

    def rows(self, table: TreeTable) -> Rows:
        """All rows it admits, ascending."""
        return table.all_rows if self.kind is None else table.rows_of(self.kind)

    def mask(self, table: TreeTable, rows: Rows) -> Mask:
        """Which of the rows it admits."""
        if self.kind is not None:
            code = table.kind_codes.get(self.kind, -1)
            found: Mask = table.kind[rows] == code
            return found
        return np.ones(len(rows), dtype=np.bool_) if self.root else rows != 0


def step_pairs(table: TreeTable, axis: str, rows: Rows, test: NodeTest) -> Pairs:
    """Result rows of every row, in axis order, with the place of the row each comes from.

    Raises:
        TooWideError: More pairs than fit; the caller gives fewer rows at a time.
    """
    item, found = _PAIRS[axis](table, rows, test)
    keep = test.mask(table, found)
    if keep.all():
        return item, found
    return item[keep], found[keep]


def step_set(table: TreeTable, axis: str, rows: Rows, test: NodeTest) -> Rows:
    """Distinct result rows of a set of distinct rows, ascending."""
    if not len(rows):
        return _EMPTY
    return _SETS[axis](table, rows, test)


# -- pairs ------------------------------------------------------------------------------------


def _guarded(starts: Ints, stops: Ints) -> tuple[Longs, Longs]:
    total = int(np.maximum(stops.astype(np.int64) - starts, 0).sum())
    if total > PAIR_LIMIT and len(starts) > 1:
        raise TooWideError
    return expand(starts, stops)


def _in_range(table: TreeTable, starts: Rows, stops: Rows, test: NodeTest) -> Pairs:
    """Rows of the test's kind in each half-open range of rows."""
    if test.kind is None:
        item, index = _guarded(starts, stops)
        return item, index.astype(np.int32)
    rows = table.rows_of(test.kind)
    item, index = _guarded(np.searchsorted(rows, starts), np.searchsorted(rows, stops))
    return item, rows[index]


def _child(table: TreeTable, rows: Rows, test: NodeTest) -> Pairs:
    children, starts = table.child_lists
    item, index = _guarded(starts[rows], starts[rows + 1])
    return item, children[index]


def _descendant(table: TreeTable, rows: Rows, test: NodeTest) -> Pairs:
    return _in_range(table, rows + np.int32(1), table.end[rows], test)


def _descendant_or_self(table: TreeTable, rows: Rows, test: NodeTest) -> Pairs:
    return _in_range(table, rows, table.end[rows], test)


def _self(table: TreeTable, rows: Rows, test: NodeTest) -> Pairs:
    return np.arange(len(rows)), rows


def _real_parents(table: TreeTable, rows: Rows) -> Rows:
    parent = table.parent[rows]
    if table.orphan is None:
        return parent
    return np.where(table.orphan[rows], np.int32(-1), parent)


def _parent(table: TreeTable, rows: Rows, test: NodeTest) -> Pairs:
    parent = _real_parents(table, rows)
    item = np.flatnonzero(parent >= 0)
    return item, parent[item]


def _ancestor(table: TreeTable, rows: Rows, test: NodeTest) -> Pairs:
    items, found = [], []
    item, parent = np.arange(len(rows)), table.parent[rows]
    total = 0
    while True:
        above = parent > 0
        item, parent = item[above], parent[above]
        if not len(item):
            break
        items.append(item)
        found.append(parent)
        total += len(item)
        if total > PAIR_LIMIT and len(rows) > 1:
            raise TooWideError
        parent = table.parent[parent]
    if not items:
        return np.empty(0, np.int64), _EMPTY
    item, parent = np.concatenate(items), np.concatenate(found)
    # Stable: the nearest ancestor, found first, stays first of its item.
    order = np.argsort(item, kind="stable")
    return item[order], parent[order]


def _ancestor_or_self(table: TreeTable, rows: Rows, test: NodeTest) -> Pairs:
    item, found = _ancestor(table, rows, test)
    item = np.concatenate([np.arange(len(rows)), item])
    found = np.concatenate([rows, found])
    order = np.argsort(item, kind="stable")
    return item[order], found[order]


def sibling_places(table: TreeTable, rows: Rows) -> tuple[Rows, Rows, Rows]:
    """Place of each row among ``child_lists``, and where its siblings start and stop there.

    A row that is nobody's child (the root, an orphan) gets three zeros: no siblings.
    """
    children, starts = table.child_lists
    place = table.__dict__.get("_child_place")
    if place is None:
        place = np.full(len(table), -1, dtype=np.int32)
        place[children] = np.arange(len(children), dtype=np.int32)
        table.__dict__["_child_place"] = place
    own = place[rows]
    parent = np.maximum(table.parent[rows], 0)
    child = own >= 0
    return (
        np.where(child, own, 0),
        np.where(child, starts[parent], 0),
        np.where(child, starts[parent + 1], 0),
    )


def _following_sibling(table: TreeTable, rows: Rows, test: NodeTest) -> Pairs:
    place, _, stop = sibling_places(table, rows)
    item, index = _guarded(place + 1, stop)
    return item, table.child_lists[0][index]


def _preceding_sibling(table: TreeTable, rows: Rows, test: NodeTest) -> Pairs:
    place, start, _ = sibling_places(table, rows)
    item, index = _guarded(start, place)
    return item, table.child_lists[0][_mirrored(item, index, start, place)]


def _mirrored(item: Longs, index: Longs, starts: Ints, stops: Ints) -> Longs:
    """The same ranges, each walked backwards."""
    return (starts.astype(np.int64) + stops - 1)[item] - index


def _following(table: TreeTable, rows: Rows, test: NodeTest) -> Pairs:
    return _in_range(table, table.end[rows], table.tree_bounds(rows)[1], test)


def _preceding(table: TreeTable, rows: Rows, test: NodeTest) -> Pairs:
    start = table.tree_bounds(rows)[0]
    if test.kind is None:
        item, index = _guarded(start, rows)
        found = _mirrored(item, index, start, rows).astype(np.int32)
    else:
        kind_rows = table.rows_of(test.kind)
        low, high = np.searchsorted(kind_rows, start), np.searchsorted(kind_rows, rows)
        item, index = _guarded(low, high)
        found = kind_rows[_mirrored(item, index, low, high)]
    keep = table.end[found] <= rows[item]
    return item[keep], found[keep]


# -- sets -------------------------------------------------------------------------------------


def _child_set(table: TreeTable, rows: Rows, test: NodeTest) -> Rows:
    children, starts = table.child_lists
    count = int((starts[rows + 1] - starts[rows]).sum())
    kind_rows = test.rows(table)
    if count * 4 < len(kind_rows):
        found = children[expand(starts[rows], starts[rows + 1])[1]]
        return np.sort(found[test.mask(table, found)])
    keep = flags(rows, len(table))[table.parent[kind_rows]]
    if table.orphan is not None:
        keep &= ~table.orphan[kind_rows]
    return kind_rows[keep]


def _range_set(table: TreeTable, starts: Longs, stops: Longs, test: NodeTest) -> Rows:
    starts, stops = merged_ranges(starts, stops)
    if test.kind is None:
        return expand(starts, stops)[1].astype(np.int32)
    kind_rows = table.rows_of(test.kind)
    low, high = np.searchsorted(kind_rows, starts), np.searchsorted(kind_rows, stops)
    if len(low) == 1:
        return kind_rows[low[0] : high[0]]
    return kind_rows[expand(low, high)[1]]


def _descendant_set(table: TreeTable, rows: Rows, test: NodeTest) -> Rows:
    # A child starts after its parent, so merging the ranges from row + 1 keeps nested sets whole.
    return _range_set(table, rows.astype(np.int64) + 1, table.end[rows].astype(np.int64), test)


def _descendant_or_self_set(table: TreeTable, rows: Rows, test: NodeTest) -> Rows:
    found = _range_set(table, rows.astype(np.int64), table.end[rows].astype(np.int64), test)
    return found if test.root or not len(found) or found[0] else found[1:]


def _self_set(table: TreeTable, rows: Rows, test: NodeTest) -> Rows:
    return rows[test.mask(table, rows)]


def _parent_set(table: TreeTable, rows: Rows, test: NodeTest) -> Rows:
    parent = _real_parents(table, rows)
    found = distinct(parent[parent >= 0], len(table))
    return found[test.mask(table, found)]


def _ancestor_set(table: TreeTable, rows: Rows, test: NodeTest) -> Rows:
    kind_rows = test.rows(table)
    if len(rows) * 8 < len(kind_rows):
        found, parent = [_EMPTY], rows
        seen = np.zeros(len(table), dtype=np.bool_)
        while len(parent):
            parent = np.unique(table.parent[parent])
            parent = parent[parent > 0]
            parent = parent[~seen[parent]]
            seen[parent] = True
            found.append(parent)
        ancestors = np.sort(np.concatenate(found))
        return ancestors[test.mask(table, ancestors)]
    # The ancestors are the rows with one of the set inside their range.
    inside = np.searchsorted(rows, table.end[kind_rows]) - np.searchsorted(
        rows, kind_rows, side="right"
    )
    return kind_rows[inside > 0]


def _ancestor_or_self_set(table: TreeTable, rows: Rows, test: NodeTest) -> Rows:
    own = rows[test.mask(table, rows)]
    return np.union1d(_ancestor_set(table, rows, test), own).astype(np.int32)


def _sibling_set(table: TreeTable, rows: Rows, test: NodeTest, *, after: bool) -> Rows:
    parent = _real_parents(table, rows)
    rows, parent = rows[parent >= 0], parent[parent >= 0]
    if not len(rows):
        return _EMPTY
    # Only the first (last) of each family counts: all others' siblings are among its own.
    mark = np.full(len(table), len(table) if after else -1, dtype=np.int32)
    if after:
        mark[parent[::-1]] = rows[::-1]
    else:
        mark[parent] = rows
    found = _child_set(table, distinct(parent, len(table)), test)
    bound = mark[table.parent[found]]
    return found[found > bound] if after else found[found < bound]


def _following_sibling_set(table: TreeTable, rows: Rows, test: NodeTest) -> Rows:
    return _sibling_set(table, rows, test, after=True)


def _preceding_sibling_set(table: TreeTable, rows: Rows, test: NodeTest) -> Rows:
    return _sibling_set(table, rows, test, after=False)


def _following_set(table: TreeTable, rows: Rows, test: NodeTest) -> Rows:
    rows = rows[rows > 0]  # nothing comes after or before the root
    if not len(rows):
        return _EMPTY
    start, stop = table.tree_bounds(rows)
    first = np.flatnonzero(np.diff(start, prepend=-1))
    ends = np.minimum.reduceat(table.end[rows], first).astype(np.int64)
    return _range_set(table, ends, np.maximum(stop[first], ends).astype(np.int64), test)


def _preceding_set(table: TreeTable, rows: Rows, test: NodeTest) -> Rows:
    rows = rows[rows > 0]
    if not len(rows):
        return _EMPTY
    start, _ = table.tree_bounds(rows)
    last = np.flatnonzero(np.diff(start, append=-1))
    starts, stops = start[last].astype(np.int64), rows[last].astype(np.int64)
    found = _range_set(table, starts, stops, test)
    place = np.searchsorted(starts, found, side="right") - 1
    return found[table.end[found] <= stops[place]]


_PAIRS: dict[str, Callable[[TreeTable, Rows, NodeTest], Pairs]] = {
    "child": _child,
    "descendant": _descendant,
    "descendant-or-self": _descendant_or_self,
    "self": _self,
    "parent": _parent,
    "ancestor": _ancestor,
    "ancestor-or-self": _ancestor_or_self,
    "following-sibling": _following_sibling,
    "preceding-sibling": _preceding_sibling,
    "following": _following,
    "preceding": _preceding,
}
_SETS: dict[str, Callable[[TreeTable, Rows, NodeTest], Rows]] = {
    "child": _child_set,
    "descendant": _descendant_set,
    "descendant-or-self": _descendant_or_self_set,
    "self": _self_set,
    "parent": _parent_set,
    "ancestor": _ancestor_set,
    "ancestor-or-self": _ancestor_or_self_set,
    "following-sibling": _following_sibling_set,
    "preceding-sibling": _preceding_sibling_set,
    "following": _following_set,
    "preceding": _preceding_set,
}
