"""Relation steps: ``rel::NAME{1,3}`` and ``inv::NAME`` over adjacency lists, whole sets a hop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from llama_index_semxpath.engines.axes import NodeTest, Pairs, sibling_places, step_pairs
from llama_index_semxpath.engines.sets import PAIR_LIMIT, Longs, TooWideError, expand
from llama_index_semxpath.tree.columns import Rows
from llama_index_semxpath.tree.table import TreeTable
from llama_index_semxpath.xpath import ast

Hop = Callable[[Rows], Pairs]
_EVERY = NodeTest()


def walk_relation(table: TreeTable, step: ast.Step, rows: Rows) -> Pairs:
    """Rows that a relation step reaches from each row, distinct and in document order.

    ``CONTAINS`` and ``NEXT`` are read from the tree where no stored relation has the name;
    ``rel::*`` follows stored relations only.

    Args:
        table: The tree as the reader sees it.
        step: A ``rel`` or ``inv`` step.
        rows: Rows to start from.

    Raises:
        TooWideError: More pairs than fit.
    """
    hop = _hop(table, step)
    low, high = step.repeat or (1, 1)
    size = len(table)
    frontier = np.arange(len(rows), dtype=np.int64) * size + rows
    reached = frontier if low == 0 else np.empty(0, dtype=np.int64)
    for distance in range(1, high + 1):
        item, below = frontier // size, (frontier % size).astype(np.int32)
        source, target = hop(below)
        frontier = np.unique(item[source] * size + target)
        if distance >= low:
            # What was reached before has been walked on from before: cycles end here.
            frontier = np.setdiff1d(frontier, reached, assume_unique=True)
            reached = np.union1d(reached, frontier)
        if not len(frontier):
            break
        if len(reached) + len(frontier) > PAIR_LIMIT and len(rows) > 1:
            raise TooWideError
    return reached // size, (reached % size).astype(np.int32)


def _hop(table: TreeTable, step: ast.Step) -> Hop:
    inverse = step.axis == "inv"
    known = table.relations
    if step.test.type != "name":
        names = known
    elif step.test.name in known:
        names = [step.test.name]
    elif step.test.name == "CONTAINS":
        axis = "parent" if inverse else "child"
        return lambda rows: step_pairs(table, axis, rows, _EVERY)
    elif step.test.name == "NEXT":
        return lambda rows: _next(table, rows, -1 if inverse else 1)
    else:
        names = []
    return lambda rows: _neighbours(table, names, rows, inverse)


def _neighbours(table: TreeTable, names: list[str], rows: Rows, inverse: bool) -> Pairs:
    items: list[Longs] = [np.empty(0, dtype=np.int64)]
    found: list[Rows] = [np.empty(0, dtype=np.int32)]
    for name in names:
        adjacency = table.neighbours(name, inverse=inverse)
        item, index = expand(adjacency.starts[rows], adjacency.starts[rows + 1])
        items.append(item)
        found.append(adjacency.rows[index])
    return np.concatenate(items), np.concatenate(found)


def _next(table: TreeTable, rows: Rows, offset: int) -> Pairs:
    place, start, stop = sibling_places(table, rows)
    target = place + offset
    item = np.flatnonzero((target >= start) & (target < stop))
    return item, table.child_lists[0][target[item]]
