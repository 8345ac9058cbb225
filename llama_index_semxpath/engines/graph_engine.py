"""SemXPath over a graph database: the leading hard steps of a path run there, the rest here.

A step is pushed down when set semantics decide it: no positions, no grades, one kind or one
relation. The database narrows by kind, range of order keys and comparisons; which of the returned
nodes are on the axis is decided by their keys, and the step's conditions are decided once more by
the reference engine. So a result is the reference engine's, whatever the database.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from llama_index_semxpath.engines.base import Dataset
from llama_index_semxpath.engines.conditions import conditions_of, is_hard
from llama_index_semxpath.engines.graph_query import (
    Dialect,
    HopQuery,
    LabelSet,
    NodeQuery,
    Statement,
)
from llama_index_semxpath.engines.keys import ROOT_KEY, key_ranges, on_axis
from llama_index_semxpath.engines.memory import MemoryEngine, capabilities
from llama_index_semxpath.engines.result import Evaluation
from llama_index_semxpath.instrumentation import span
from llama_index_semxpath.tree.columns import Mask, Rows
from llama_index_semxpath.tree.table import TreeTable
from llama_index_semxpath.xpath import ast
from llama_index_semxpath.xpath.compile import Compiled, compile_query
from llama_index_semxpath.xpath.names import TREE_RELATIONS
from llama_index_semxpath.xpath.plan import Plan, PlanStep, Pushed
from llama_index_semxpath.xpath.printer import to_text

#: Runs a statement: rows of ``(id, order key)``.
Ask = Callable[[str, Mapping[str, Any]], Iterable[Sequence[Any]]]
#: Axes on which a reader who may not see everything walks as one who may: from visible nodes down.
_OPEN_AXES = frozenset(("child", "descendant", "descendant-or-self", "self"))
_AXES = _OPEN_AXES | {
    *("parent", "ancestor", "ancestor-or-self", "following", "preceding"),
    *("following-sibling", "preceding-sibling"),
}
#: From more nodes than this a step is not worth a statement.
_MAX_CONTEXT = 20_000
#: The most label sets that stand in one statement.
_MAX_LABEL_SETS = 32


@dataclass(slots=True)
class _Walk:
    """Where a walk stands: the nodes reached, and what was asked."""

    rows: Rows
    keys: list[str]
    labels: tuple[LabelSet, ...] | None = None
    steps: list[PlanStep] = field(default_factory=list)
    consumed: int = 0


class GraphEngine:
    """Runs queries with a graph database; every result equals the reference engine's.

    Args:
        dataset: What the reference engine reads; its table has order keys.
        dialect: Writes statements.
        ask: Runs them.
        check_names: Refuse kinds, attributes and relations that the tree does not have.
    """

    def __init__(
        self, dataset: Dataset, dialect: Dialect, ask: Ask, *, check_names: bool = True
    ) -> None:
        self.dataset = dataset
        self.dialect = dialect
        self.reference = MemoryEngine(dataset, check_names=check_names)
        self._ask = ask

    @property
    def name(self) -> str:
        """Name of the database, in small letters."""
        return self.dialect.store.lower()

    def run(
        self,
        query: str,
        *,
        params: Mapping[str, Any] | None = None,
        top_k: int | None = None,
        visible: Mask | None = None,
        trace: bool = False,
    ) -> Evaluation:
        """See :meth:`Engine.run`; a trace is recorded by the reference engine alone."""
        began = time.perf_counter()
        expr, rules, notes = self._checked(query, params, visible)
        walk = None
        if not trace:
            with span(f"engine.{self.name}", query=query) as facts:
                walk = self._walk(expr, query, params, visible)
                facts["steps"] = 0 if walk is None else walk.consumed
        if walk is None or not walk.consumed:
            return self.reference.run(
                query, params=params, top_k=top_k, visible=visible, trace=trace
            )
        assert isinstance(expr, ast.Path)
        rest = ast.Path(None, (), expr.steps[walk.consumed :], expr.span)
        result = self.reference.evaluate(
            rest, walk.rows, query=query, params=params, visible=visible
        )
        plan = Plan(query, to_text(expr), list(rules), walk.steps + result.plan.steps)
        if visible is not None:
            plan.access = (int(visible[1:].sum()), len(self.dataset.table) - 1)
        plan.scorer = result.plan.scorer
        plan.notes += notes
        plan.ms = (time.perf_counter() - began) * 1000
        result.plan = plan
        return result.head(top_k)

    def explain(
        self,
        query: str,
        *,
        params: Mapping[str, Any] | None = None,
        visible: Mask | None = None,
    ) -> Plan:
        """The plan of a query with the statements that it sends, which are run to be known.

        Raises:
            QueryError: The query is wrong, or asks for a part that the dataset lacks.
        """
        return self.run(query, params=params, visible=visible).plan

    def _checked(
        self, query: str, params: Mapping[str, Any] | None, visible: Mask | None
    ) -> Compiled:
        schema = self.reference.schema(visible) if self.reference.check_names else None
        able = capabilities(self.dataset)
        return compile_query(query, schema, params or {}, capabilities=able)

    def _walk(
        self,
        expr: ast.Expr,
        query: str,
        params: Mapping[str, Any] | None,
        visible: Mask | None,
    ) -> _Walk | None:
        """Runs the leading steps that the database can; ``None`` when the path has none."""
        if not isinstance(expr, ast.Path) or expr.start != "root":
            return None
        if self.dataset.table.orders is None:
            return None
        labels = None if visible is None else _label_sets(self.dataset.table, visible)
        walk = _Walk(np.zeros(1, dtype=np.int32), [ROOT_KEY], labels)
        while walk.consumed < len(expr.steps) and len(walk.rows) <= _MAX_CONTEXT:
            place = walk.consumed
            step, used = _fused(expr.steps, place)
            if not self._pushable(step, walk, visible) or not is_hard(step.filters, params):
                break
            began = time.perf_counter()
            rows, statement = self._step(step, walk, params, visible)
            if step.filters:
                rows = self._decided(step, rows, query, params, visible)
            self._go_on(walk, step, rows, statement, used)
            walk.steps[-1].ms = (time.perf_counter() - began) * 1000
        return walk

    def _pushable(self, step: ast.Step, walk: _Walk, visible: Mask | None) -> bool:
        if step.axis in ("rel", "inv"):
            is_stored = step.test.type == "name" and step.test.name not in TREE_RELATIONS
            return is_stored and walk.consumed > 0 and (step.repeat or (1, 1))[0] > 0
        axes = _AXES if visible is None else _OPEN_AXES
        if walk.consumed == 0 and step.axis not in ("child", "descendant", "descendant-or-self"):
            return False
        return step.axis in axes and step.test.type == "name"

    def _step(
        self,
        step: ast.Step,
        walk: _Walk,
        params: Mapping[str, Any] | None,
        visible: Mask | None,
    ) -> tuple[Rows, Statement]:
        if step.axis in ("rel", "inv"):
            return self._hops(step, walk, visible)
        if not walk.keys:
            return walk.rows, Statement("")
        ranges = key_ranges(step.axis, walk.keys)
        conditions = conditions_of(step.filters, params)
        statement = self.dialect.nodes(NodeQuery(step.test.name, ranges, conditions, walk.labels))
        is_on = on_axis(step.axis, walk.keys)
        found = (id_ for id_, key in self._rows(statement) if is_on(key))
        return self._known(found, visible), statement

    def _hops(self, step: ast.Step, walk: _Walk, visible: Mask | None) -> tuple[Rows, Statement]:
        """A bounded walk, one statement a hop; no hidden node is walked through."""
        low, high = step.repeat or (1, 1)
        reached: list[Rows] = [np.empty(0, dtype=np.int32)]
        frontier, statement = walk.rows, Statement("")
        for distance in range(1, high + 1):
            if not len(frontier):
                break
            ids = self.dataset.table.ids
            starts = tuple(ids[row] for row in frontier.tolist())
            statement = self.dialect.hop(
                HopQuery(starts, step.test.name, step.axis == "inv", walk.labels)
            )
            frontier = self._known((id_ for id_, _ in self._rows(statement)), visible)
            if distance >= low:
                # What was reached before has been walked on from before: cycles end here.
                frontier = np.setdiff1d(frontier, np.concatenate(reached))
                reached.append(frontier)
        return np.unique(np.concatenate(reached)).astype(np.int32), statement

    def _decided(
        self,
        step: ast.Step,
        rows: Rows,
        query: str,
        params: Mapping[str, Any] | None,
        visible: Mask | None,
    ) -> Rows:
        """Those of the rows that meet the step's conditions, by the reference engine."""
        test = ast.Test("any-node") if step.axis in ("rel", "inv") else step.test
        here = ast.Step("self", test, step.filters, span=step.span)
        found = self.reference.evaluate(
            ast.Path(None, (), (here,), step.span),
            rows,
            query=query,
            params=params,
            visible=visible,
        )
        return np.sort(found.positions).astype(np.int32)

    def _go_on(
        self, walk: _Walk, step: ast.Step, rows: Rows, statement: Statement, used: int
    ) -> None:
        orders = self.dataset.table.orders
        assert orders is not None
        walk.rows, walk.keys = rows, [orders[row] for row in rows.tolist()]
        walk.consumed += used
        walk.steps.append(
            PlanStep(
                "step",
                to_text(ast.Path("root" if walk.consumed == used else None, (), (step,))),
                engine=self.name,
                method="narrowed there, decided by keys and conditions here",
                actual=len(rows),
                pushed=Pushed(self.dialect.store, statement.text, statement.parameters)
                if statement.text
                else None,
            )
        )

    def _rows(self, statement: Statement) -> Iterable[Sequence[Any]]:
        return self._ask(statement.text, statement.parameters)

    def _known(self, ids: Iterable[str], visible: Mask | None) -> Rows:
        """Rows of the table for ids, without those that the reader may not see."""
        position = self.dataset.table.position
        rows = np.array(
            sorted({row for id_ in ids if (row := position(id_)) is not None}), dtype=np.int32
        )
        return rows if visible is None else rows[visible[rows]]


def _label_sets(table: TreeTable, visible: Mask) -> tuple[LabelSet, ...] | None:
    """The sets of labels that visible nodes carry; ``None`` where there are too many to send.

    The database narrows by them; which node a reader sees is decided by the mask.
    """
    codes = np.unique(table.label[1:][visible[1:]]).tolist()
    if len(codes) > _MAX_LABEL_SETS:
        return None
    return tuple(None if c < 0 else tuple(sorted(table.label_sets[c])) for c in codes)


def _fused(steps: Sequence[ast.Step], place: int) -> tuple[ast.Step, int]:
    """The step at a place, ``//X`` as one step, and how many steps of the path it is."""
    step = steps[place]
    if place + 1 < len(steps):
        following = steps[place + 1]
        is_any = step.axis == "descendant-or-self" and step.test.type == "any-node"
        if is_any and not step.filters and following.axis == "child":
            fused = ast.Step("descendant", following.test, following.filters, span=step.span)
            return fused, 2
    return step, 1
