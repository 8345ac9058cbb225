"""Where nodes stand: heading paths and canonical paths, as a reader may see them."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from llama_index_semxpath.index.match import HIDDEN_TITLE
from llama_index_semxpath.text import name_text
from llama_index_semxpath.tree.columns import Mask
from llama_index_semxpath.tree.table import TreeTable

#: Rows that are counted out one by one before all rows are numbered.
_COUNTED = 100


class Places:
    """Paths of the rows of a table.

    Args:
        table: The whole table.
        visible: Rows that the reader may see; ``None`` for all. Positions count visible siblings
            only and titles of hidden sections are left blank.
    """

    def __init__(self, table: TreeTable, visible: Mask | None = None) -> None:
        self._table = table
        self._visible = visible
        self._counted: dict[int, int] = {}

    def path(self, row: int) -> tuple[str, ...]:
        """Titles of the sections around a row, outermost first, a section's own included."""
        section = self._table.kind_codes.get("Section", -1)
        path: list[str] = []
        parent = self._table.parent
        while row > 0:
            if self._table.kind[row] == section:
                path.append(self._title(row))
            row = int(parent[row])
        return tuple(reversed(path))

    def xpath(self, row: int) -> str:
        """Canonical absolute path; a hidden ancestor shows its kind no more than its title."""
        steps: list[str] = []
        parent = self._table.parent
        while row > 0:
            if self._visible is None or self._visible[row]:
                name = name_text(self._table.kind_name(row))
                steps.append(f"/{name}[{self._place(row)}]")
            else:
                steps.append("/*")
            row = int(parent[row])
        return "".join(reversed(steps))

    def _place(self, row: int) -> int:
        """1-based place of a row among its siblings of the same kind.

        A few are counted out; for many it is cheaper to number all rows at once.
        """
        known = self._counted.get(row)
        if known is not None:
            return known
        if len(self._counted) >= _COUNTED:
            return int(self._ordinal[row])
        table = self._table
        above = int(table.parent[row])
        # Siblings stand between the parent and the row, one level below the parent.
        rows = slice(above + 1, row + 1)
        same = (table.parent[rows] == above) & (table.kind[rows] == table.kind[row])
        if self._visible is not None:
            same &= self._visible[rows]
        self._counted[row] = place = int(np.count_nonzero(same))
        return place

    @cached_property
    def _ordinal(self) -> NDArray[np.int64]:
        """1-based place of each row among its siblings of the same kind."""
        table = self._table
        rows = np.arange(len(table))
        if self._visible is not None:
            rows = rows[self._visible]
        order = rows[np.lexsort((rows, table.kind[rows], table.parent[rows]))]
        parent, kind = table.parent[order], table.kind[order]
        first = np.ones(len(order), bool)
        first[1:] = (parent[1:] != parent[:-1]) | (kind[1:] != kind[:-1])
        starts = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
        ordinal = np.zeros(len(table), np.int64)
        ordinal[order] = np.arange(len(order)) - starts + 1
        return ordinal

    def _title(self, row: int) -> str:
        if self._visible is not None and not self._visible[row]:
            return HIDDEN_TITLE
        titles = self._table.attribute("title")
        slot = -1 if titles is None else int(titles.slots(len(self._table))[row])
        return "" if titles is None or slot < 0 else str(titles.value(slot))
