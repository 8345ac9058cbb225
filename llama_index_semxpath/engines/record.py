"""Keeps what a run met: figures for the plan, and the trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from llama_index_semxpath.text import cut
from llama_index_semxpath.tree.columns import Floats, Mask, Rows
from llama_index_semxpath.tree.table import TreeTable
from llama_index_semxpath.xpath import ast
from llama_index_semxpath.xpath.explain import Trace, TraceNode, TraceStep
from llama_index_semxpath.xpath.plan import PlanStep, Pushed
from llama_index_semxpath.xpath.planner import filter_text
from llama_index_semxpath.xpath.printer import to_text

#: Most nodes that a trace lists for each side of a filter.
TRACED = 200
#: Terminal columns of a node's label.
_LABEL = 70


class Recorder:
    """Collects the figures of the outermost path; parts inside predicates count as their filter's.

    Args:
        steps: Plan steps by identity of the syntax they carry out.
        tracing: Whether to list the nodes kept and dropped.
    """

    def __init__(self, steps: dict[int, PlanStep], *, tracing: bool = False) -> None:
        self.steps = steps
        self.traced: Trace | None = Trace() if tracing else None
        self._depth = 0

    @contextmanager
    def nested(self) -> Iterator[None]:
        """While a predicate is asked, its own paths are no steps of the plan."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def ran(self, part: ast.Step | ast.Filter, count: int, ms: float) -> None:
        """A step or filter gave ``count`` nodes."""
        planned = self.steps.get(id(part))
        if planned is None or self._depth:
            return
        # A step in halves adds up; its count is what came out last.
        planned.actual = count
        planned.ms = (planned.ms or 0.0) + ms

    def method(
        self,
        part: ast.Step | ast.Filter | ast.Expr,
        method: str,
        engine: str = "memory",
        pushed: Pushed | None = None,
    ) -> None:
        """How a part was carried out, and what a store was asked for it."""
        planned = self.steps.get(id(part))
        if planned is not None:
            planned.method, planned.engine, planned.pushed = method, engine, pushed
            if planned.operation in ("grade", "search"):
                planned.operation = "search" if engine == "vectors" else "grade"

    @property
    def is_tracing(self) -> bool:
        """Whether a trace is wanted of what runs now."""
        return self.traced is not None and not self._depth

    def reached(self, step: ast.Step, table: TreeTable, rows: Rows) -> None:
        """A step reached ``rows``, before its filters."""
        if self.traced is None or self._depth:
            return
        planned = self.steps.get(id(step))
        nodes = [_traced(table, row, 1.0) for row in rows[:TRACED].tolist()]
        text = planned.text if planned is not None else to_text(ast.Path(None, (), (step,)))
        self.traced.steps.append(TraceStep(text, None, nodes, [], len(rows), 0, "step"))

    def trace(
        self,
        part: ast.Filter,
        table: TreeTable,
        rows: Rows,
        kept: Mask,
        scores: Floats | None,
        threshold: float | None,
        parts: Mapping[str, Floats],
    ) -> None:
        """A filter kept some of ``rows`` and dropped the others.

        Args:
            part: The filter.
            table: The tree as the reader sees it.
            rows: Rows that it was asked about.
            kept: Which of them passed.
            scores: Their scores, ``None`` for a hard filter.
            threshold: Least score that passes, ``None`` for a hard filter.
            parts: The single grades that are known of the rows, by name.
        """
        if self.traced is None or self._depth:
            return
        grades = kept.astype(np.float64) if scores is None else scores
        sides = [np.flatnonzero(kept), np.flatnonzero(~kept)]
        # Best first: the reader looks for what just missed the threshold.
        shown = [side[np.argsort(-grades[side], kind="stable")][:TRACED] for side in sides]
        singles = parts if len(parts) > 1 else {}
        lists = [
            [
                _traced(table, int(rows[place]), float(grades[place]), singles, place)
                for place in side.tolist()
            ]
            for side in shown
        ]
        self.traced.steps.append(
            TraceStep(
                filter_text(part), threshold, lists[0], lists[1], len(sides[0]), len(sides[1])
            )
        )


def _traced(
    table: TreeTable,
    row: int,
    score: float,
    parts: Mapping[str, Floats] | None = None,
    place: int = 0,
) -> TraceNode:
    known = {
        name: float(grades[place])
        for name, grades in (parts or {}).items()
        if not np.isnan(grades[place])
    }
    return TraceNode(table.ids[row], node_label(table, row), score, known)


def node_label(table: TreeTable, row: int) -> str:
    """Kind and title (or name, or the head of the text, or the id) of a row, for people."""
    for name in ("title", "name"):
        column = table.attribute(name)
        place = -1 if column is None else int(column.slots(len(table))[row])
        if column is not None and place >= 0:
            return _label(table, row, column.text(place))
    return _label(table, row, table.texts(np.array([row], dtype=np.int32))[0] or table.ids[row])


def _label(table: TreeTable, row: int, text: str) -> str:
    # What a document says must not reach a terminal as control characters.
    plain = "".join(char if char.isprintable() else " " for char in text[:500])
    return cut(f"{table.kind_name(row)} {' '.join(plain.split())}", _LABEL)
