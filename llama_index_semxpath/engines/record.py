"""Keeps what a run met: figures for the plan, and the trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from llama_index_semxpath.tree.columns import Floats, Mask, Rows
from llama_index_semxpath.tree.table import TreeTable
from llama_index_semxpath.xpath import ast
from llama_index_semxpath.xpath.explain import Trace, TraceNode, TraceStep
from llama_index_semxpath.xpath.plan import PlanStep
from llama_index_semxpath.xpath.planner import filter_text

#: Most nodes that a trace lists for each side of a filter.
TRACED = 200


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

    def method(self, part: ast.Step | ast.Filter | ast.Expr, method: str, engine: str) -> None:
        """A part was carried out in another way than planned."""
        planned = self.steps.get(id(part))
        if planned is not None:
            planned.method, planned.engine = method, engine

    def trace(
        self,
        part: ast.Filter,
        table: TreeTable,
        rows: Rows,
        kept: Mask,
        scores: Floats | None,
        threshold: float | None,
    ) -> None:
        """A filter kept some of ``rows`` and dropped the others."""
        if self.traced is None or self._depth:
            return
        grades = kept.astype(np.float64) if scores is None else scores
        sides = [np.flatnonzero(kept), np.flatnonzero(~kept)]
        # Best first: the reader looks for what just missed the threshold.
        shown = [side[np.argsort(-grades[side], kind="stable")][:TRACED] for side in sides]
        lists = [
            [_traced(table, int(rows[place]), float(grades[place])) for place in side.tolist()]
            for side in shown
        ]
        self.traced.steps.append(
            TraceStep(
                filter_text(part), threshold, lists[0], lists[1], len(sides[0]), len(sides[1])
            )
        )


def _traced(table: TreeTable, row: int, score: float) -> TraceNode:
    return TraceNode(table.ids[row], node_label(table, row), score)


def node_label(table: TreeTable, row: int) -> str:
    """Kind and title (or name, or the head of the text, or the id) of a row, for people."""
    for name in ("title", "name"):
        column = table.attribute(name)
        place = -1 if column is None else int(column.slots(len(table))[row])
        if column is not None and place >= 0:
            return f"{table.kind_name(row)} {column.text(place)[:60]}"
    text = " ".join(table.texts(np.array([row], dtype=np.int32))[0].split())
    return f"{table.kind_name(row)} {text[:60] or table.ids[row]}"
