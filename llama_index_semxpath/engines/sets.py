"""Node sets of many contexts at once, and the array steps that all axes share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from llama_index_semxpath.tree.columns import Column, Floats, Mask, Rows

Longs = npt.NDArray[np.int64]

#: Most pairs that one array step makes at a time (about 100 MB of working memory).
PAIR_LIMIT = 4_000_000


class TooWideError(Exception):
    """A step over many contexts would need too much memory; the caller splits the contexts."""


@dataclass(slots=True)
class NodeSet:
    """For each context a set of rows: parallel arrays, sorted by context, then document order.

    Args:
        rows: Rows, distinct within a context.
        owner: Place of the context that each row belongs to; ``None``: the set of every context.
        scores: Score of each row's best path; ``None``: all 1.
        sequence: The rows stand in an order of their own (``sort``, ``top``).
    """

    rows: Rows
    owner: Rows | None = None
    scores: Floats | None = None
    sequence: bool = False

    def keep(self, mask: Mask) -> NodeSet:
        """The entries under a mask."""
        return NodeSet(
            self.rows[mask],
            None if self.owner is None else self.owner[mask],
            None if self.scores is None else self.scores[mask],
            self.sequence,
        )

    def owners(self) -> Rows:
        """The owner of each entry; 0 for a set of every context."""
        return np.zeros(len(self.rows), np.int32) if self.owner is None else self.owner

    def in_document_order(self, size: int) -> NodeSet:
        """The set without an order of its own; ``size`` is that of the table."""
        if not self.sequence:
            return self
        return unique_pairs(replace(self, sequence=False), size)


@dataclass(slots=True)
class ValueSet:
    """For each context a set of attribute values or own texts.

    Args:
        rows: Row of the node that each belongs to.
        owner: Place of the context; ``None``: the items of every context.
        columns: The attributes; ``None`` stands for the own text.
        which: Index into ``columns`` of each item; ``None``: all of the first.
        scores: Score of the path to each; ``None``: all 1.
    """

    rows: Rows
    owner: Rows | None
    columns: tuple[Column | None, ...]
    which: Rows | None = None
    scores: Floats | None = None

    def owners(self) -> Rows:
        """The owner of each item; 0 for items of every context."""
        return np.zeros(len(self.rows), np.int32) if self.owner is None else self.owner

    def keep(self, mask: Mask) -> ValueSet:
        """The items under a mask."""
        return ValueSet(
            self.rows[mask],
            None if self.owner is None else self.owner[mask],
            self.columns,
            None if self.which is None else self.which[mask],
            None if self.scores is None else self.scores[mask],
        )

    def parts(self) -> list[tuple[Column | None, Longs]]:
        """The places of the items of each attribute."""
        if self.which is None:
            return [(self.columns[0], np.arange(len(self.rows)))]
        return [
            (column, np.flatnonzero(self.which == index))
            for index, column in enumerate(self.columns)
        ]


def expand(starts: npt.NDArray[Any], stops: npt.NDArray[Any]) -> tuple[Longs, Longs]:
    """All numbers of many ranges, with the place of the range that each comes from.

    Example:
        >>> item, index = expand(np.array([5, 9]), np.array([7, 9]))
        >>> item.tolist(), index.tolist()
        ([0, 0], [5, 6])
    """
    counts = np.maximum(stops.astype(np.int64) - starts, 0)
    total = int(counts.sum())
    item = np.repeat(np.arange(len(counts)), counts)
    first = np.repeat(np.cumsum(counts) - counts - starts, counts)
    return item, np.arange(total) - first


def merged_ranges(starts: Longs, stops: Longs) -> tuple[Longs, Longs]:
    """Disjoint ranges that cover the same numbers as nested ones, given by ascending start."""
    if len(starts) <= 1:
        return starts, stops
    reach = np.maximum.accumulate(stops)
    fresh = np.concatenate([[True], starts[1:] >= reach[:-1]])
    firsts = np.flatnonzero(fresh)
    return starts[firsts], np.maximum.reduceat(stops, firsts)


def pair_keys(owner: Rows, rows: Rows, size: int) -> Longs:
    """One sortable number for each (owner, row)."""
    keys: Longs = owner.astype(np.int64) * size + rows
    return keys


def unique_pairs(found: NodeSet, size: int) -> NodeSet:
    """Sorted and without repeats; of repeats the best score stays."""
    owners = found.owners()
    if len(found.rows) < 2:
        return found
    keys = pair_keys(owners, found.rows, size)
    steps = np.diff(keys)
    if (steps > 0).all():
        return found
    if found.scores is None:
        keys = np.unique(keys) if (steps < 0).any() else keys[np.append(True, steps > 0)]
        scores = None
    else:
        order = np.argsort(keys, kind="stable")
        firsts = np.flatnonzero(np.diff(keys[order], prepend=-1))
        scores = np.maximum.reduceat(found.scores[order], firsts)
        keys = keys[order][firsts]
    rows = (keys % size).astype(np.int32)
    owner = None if found.owner is None else (keys // size).astype(np.int32)
    return NodeSet(rows, owner, scores)


def group_starts(group: npt.NDArray[Any]) -> Longs:
    """Places where a new group begins in an array whose groups are contiguous."""
    if not len(group):
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))


def ranks(group: npt.NDArray[Any]) -> tuple[Longs, Longs]:
    """Position (from 1) of each entry in its group, and the group's size.

    Example:
        >>> [array.tolist() for array in ranks(np.array([4, 4, 9]))]
        [[1, 2, 1], [2, 2, 1]]
    """
    starts = group_starts(group)
    sizes = np.diff(np.append(starts, len(group)))
    position = np.arange(len(group)) - np.repeat(starts, sizes) + 1
    return position, np.repeat(sizes, sizes)


def flags(rows: npt.NDArray[Any], size: int) -> Mask:
    """A mask with the given places set."""
    mask = np.zeros(size, dtype=np.bool_)
    mask[rows] = True
    return mask


def distinct(rows: Rows, size: int) -> Rows:
    """Distinct rows, ascending: by marking for many, by sorting for few."""
    if len(rows) * 32 > size:
        return np.flatnonzero(flags(rows, size)).astype(np.int32)
    return np.unique(rows)
