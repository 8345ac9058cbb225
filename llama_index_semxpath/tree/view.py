"""The tree as one reader sees it: hidden rows are cut out before anything else looks at it."""

from __future__ import annotations

import numpy as np

from llama_index_semxpath.tree.columns import Mask, Rows
from llama_index_semxpath.tree.edges import EdgeTable
from llama_index_semxpath.tree.table import TextSource, TreeTable


class _View(TreeTable):
    """A table without the hidden rows of another, and its relations between visible rows."""

    base: TreeTable

    @property
    def _pairs(self) -> dict[str, tuple[Rows, Rows]]:
        assert self.base_rows is not None
        place = np.full(len(self.base), -1, dtype=np.int32)
        place[self.base_rows] = np.arange(len(self.base_rows), dtype=np.int32)
        found = {}
        for name in self.base.relations:
            source, target = (place[ends] for ends in self.base.relation_pairs(name))
            seen = (source >= 0) & (target >= 0)
            # A relation that only hidden nodes have is not known to the reader either.
            if seen.any():
                found[name] = (source[seen], target[seen])
        return found


def make_view(base: TreeTable, visible: Mask) -> TreeTable:
    """See :meth:`TreeTable.view`.

    Raises:
        ValueError: A mask of another length than the table; an access mask is never guessed.
    """
    if visible.shape != (len(base),) or visible.dtype != np.bool_:
        raise ValueError("an access mask needs one boolean a row")
    keep = visible.copy()
    keep[0] = True
    rows = np.flatnonzero(keep).astype(np.int32)
    before = np.concatenate([[0], np.cumsum(keep)]).astype(np.int32)
    parent, orphan = _visible_parents(base, keep, rows)
    columns = {}
    for name, column in base.columns.items():
        kept = keep[column.rows]
        if kept.any():
            columns[name] = column.take(kept, before[column.rows[kept]])
    # A label set or document of hidden rows only stays in the code lists; no code points to it.
    view = _View(
        kinds=base.kinds,
        kind=base.kind[rows],
        parent=parent,
        end=before[base.end[rows]],
        depth=_depths(base, before, rows),
        doc=base.doc[rows],
        docs=base.docs,
        ids=[base.ids[row] for row in rows.tolist()],
        columns=columns,
        texts=_view_texts(base, rows),
        orders=None if base.orders is None else [base.orders[row] for row in rows.tolist()],
        label=base.label[rows],
        label_sets=base.label_sets,
        edges=EdgeTable([], [], []),
    )
    view.base = base
    view.base_rows = rows
    view.orphan = orphan
    starts = before[base.tree_starts]
    stops = before[np.append(base.tree_starts[1:], len(base))] if len(starts) else starts
    view.__dict__["tree_starts"] = starts[stops > starts]
    return view


def _visible_parents(base: TreeTable, keep: Mask, rows: Rows) -> tuple[Rows, Mask]:
    """Nearest visible ancestor of each row in view rows, and whether it is not the real parent."""
    parent = base.parent[rows]
    parent[0] = 0
    orphan = ~keep[parent]
    while True:
        hidden = ~keep[parent]
        if not hidden.any():
            break
        parent[hidden] = base.parent[parent[hidden]]
    place = np.cumsum(keep) - 1
    found = place[parent].astype(np.int32)
    found[0] = -1
    return found, orphan


def _depths(base: TreeTable, before: Rows, rows: Rows) -> Rows:
    """Visible ancestors of each row, the root included: opened subtrees minus closed ones."""
    change = np.zeros(len(rows) + 1, dtype=np.int32)
    ends = before[base.end[rows]]
    np.add.at(change, np.minimum(np.arange(1, len(rows) + 1), len(rows)), 1)
    np.subtract.at(change, ends, 1)
    return np.cumsum(change)[: len(rows)].astype(np.int32)


def _view_texts(base: TreeTable, rows: Rows) -> TextSource:
    def texts(wanted: Rows) -> list[str]:
        return base.texts(rows[wanted])

    return texts
