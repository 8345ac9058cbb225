"""The reference engine: columns in memory."""

from __future__ import annotations

import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np

from llama_index_semxpath.engines.base import Dataset, Scorer
from llama_index_semxpath.engines.evaluate import Context, Evaluator
from llama_index_semxpath.engines.record import Recorder
from llama_index_semxpath.engines.result import Answer, Evaluation, no_rows
from llama_index_semxpath.engines.sets import NodeSet, TooWideError, ValueSet
from llama_index_semxpath.engines.values import (
    Booleans,
    Dates,
    Groups,
    Listed,
    Numbers,
    Scores,
    Strings,
    Value,
    to_strings,
)
from llama_index_semxpath.errors import QueryCapabilityError
from llama_index_semxpath.instrumentation import span
from llama_index_semxpath.schema import Schema
from llama_index_semxpath.tree.columns import Column, Mask, Rows, from_epoch
from llama_index_semxpath.tree.stats import schema_of
from llama_index_semxpath.tree.table import TreeTable
from llama_index_semxpath.xpath import ast
from llama_index_semxpath.xpath.compile import compile_query
from llama_index_semxpath.xpath.plan import Plan, PlanStep
from llama_index_semxpath.xpath.planner import Physical, make_plan
from llama_index_semxpath.xpath.types import is_graded

#: Nested brackets up to which Python's usual limit on frames is enough, and the limit beyond.
_SHALLOW = 50
_FRAMES = 10_000
#: Reader's trees that are kept, by mask.
_VIEWS = 8


class MemoryEngine:
    """Runs queries over numpy columns.

    Args:
        dataset: Tree, scorers, keywords, clock.
        check_names: Refuse kinds, attributes and relations that the tree does not have.

    Example:
        >>> from llama_index_semxpath.tree.node import TreeNode
        >>> nodes = [TreeNode("d", "Document", "d"), TreeNode("s", "Section", "d", "d", "Setup")]
        >>> engine = MemoryEngine(Dataset(TreeTable.from_nodes(nodes)))
        >>> engine.run('//Section[. = "Setup"]').positions.tolist(), engine.run("count(//*)").value
        ([2], 2.0)
    """

    def __init__(self, dataset: Dataset, *, check_names: bool = True) -> None:
        self.dataset = dataset
        self.check_names = check_names
        self._views: OrderedDict[tuple[int, bytes], TreeTable] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """``memory``."""
        return "memory"

    def schema(self, visible: Mask | None = None) -> Schema:
        """Kinds, attributes and relations of what a reader may see."""
        return _schema(self._table(visible))

    def run(
        self,
        query: str,
        *,
        params: Mapping[str, Any] | None = None,
        top_k: int | None = None,
        visible: Mask | None = None,
        trace: bool = False,
    ) -> Evaluation:
        """See :meth:`Engine.run`."""
        began = time.perf_counter()
        table = self._table(visible)
        with span("plan", query=query) as facts:
            expr, plan, steps = self._planned(query, table, params, visible)
            facts["rules"] = len(plan.rules)
        recorder = Recorder(steps, tracing=trace)
        _allow_depth(query)
        evaluator = Evaluator(self.dataset, table, params or {}, query, recorder)
        try:
            with span("engine.memory", query=plan.canonical) as facts:
                value = evaluator.value(expr, Context(np.zeros(1, dtype=np.int32)))
                facts["results"] = len(value.rows) if isinstance(value, NodeSet) else 1
        except TooWideError as error:
            raise QueryCapabilityError(
                "the query needs more memory than is allowed",
                query=query,
                offset=0,
                hint="restrict the sets that are compared",
            ) from error
        result = self._result(value, evaluator, plan, is_graded(expr))
        plan.ms = (time.perf_counter() - began) * 1000
        if len(plan.steps) == 1 and plan.steps[0].actual is None and not result.is_value:
            # What stands around all else: a call, a union.
            plan.steps[0].actual, plan.steps[0].ms = len(result), plan.ms
        result.trace = recorder.traced
        return result.head(top_k)

    def evaluate(
        self,
        expr: ast.Expr,
        rows: Rows,
        *,
        query: str,
        params: Mapping[str, Any] | None = None,
        visible: Mask | None = None,
        trace: bool = False,
    ) -> Evaluation:
        """The rest of a query whose first part another engine has run.

        Args:
            expr: A checked, relative path, walked from ``rows`` as one node set.
            rows: Rows of the whole table; those hidden from the reader are left out.
            query: The query text, for errors and the plan.
            params: Values of ``$name``.
            visible: See :meth:`Engine.run`.
            trace: See :meth:`Engine.run`.
        """
        table = self._table(visible)
        if table.base_rows is not None:
            rows = np.flatnonzero(np.isin(table.base_rows, rows)).astype(np.int32)
        plan, steps = make_plan(query, expr, [], table, self._physical())
        recorder = Recorder(steps, tracing=trace)
        evaluator = Evaluator(self.dataset, table, params or {}, query, recorder)
        start = NodeSet(np.unique(rows).astype(np.int32))
        value = evaluator.walker.walk(expr, start) if isinstance(expr, ast.Path) else start
        result = self._result(value, evaluator, plan, is_graded(expr))
        result.trace = recorder.traced
        return result

    def explain(
        self,
        query: str,
        *,
        params: Mapping[str, Any] | None = None,
        visible: Mask | None = None,
    ) -> Plan:
        """The plan of a query, without running it.

        Raises:
            QueryError: The query is wrong, or asks for a part that the dataset lacks.
        """
        return self._planned(query, self._table(visible), params, visible)[1]

    def _planned(
        self,
        query: str,
        table: TreeTable,
        params: Mapping[str, Any] | None,
        visible: Mask | None,
    ) -> tuple[ast.Expr, Plan, dict[int, PlanStep]]:
        schema = _schema(table) if self.check_names else None
        able = capabilities(self.dataset)
        expr, rules, notes = compile_query(query, schema, params or {}, capabilities=able)
        plan, steps = make_plan(query, expr, rules, table, self._physical())
        plan.notes += notes
        if visible is not None:
            plan.access = (len(table) - 1, len(self.dataset.table) - 1)
        return expr, plan, steps

    def _physical(self) -> Physical:
        scorer = self.dataset.scorer
        return Physical(
            self.dataset.exact_limit,
            scorer is not None and type(scorer).search is not Scorer.search,
            scorer.name if scorer is not None else "",
        )

    def _table(self, visible: Mask | None) -> TreeTable:
        """The tree as the reader sees it; recent readers' trees are kept."""
        if visible is None:
            return self.dataset.table
        key = (len(visible), np.packbits(visible).tobytes())
        with self._lock:
            view = self._views.pop(key, None)
            if view is None or view.__dict__["base"] is not self.dataset.table:
                view = self.dataset.table.view(visible)
            self._views[key] = view
            while len(self._views) > _VIEWS:
                self._views.popitem(last=False)
        return view

    def _result(self, value: Value, evaluator: Evaluator, plan: Plan, graded: bool) -> Evaluation:
        table = evaluator.table
        if not isinstance(value, NodeSet | ValueSet):
            return Evaluation(no_rows(), np.empty(0), plan, value=_answer(table, value))
        scores = np.ones(len(value.rows)) if value.scores is None else value.scores
        order = np.arange(len(value.rows))
        sequence = isinstance(value, NodeSet) and value.sequence
        if graded and not sequence:
            order = np.argsort(-scores, kind="stable")
        if isinstance(value, NodeSet):
            # The root is where paths start, not a node of the corpus.
            order = order[value.rows[order] != 0]
        rows, scores = value.rows[order], scores[order]
        found = rows if table.base_rows is None else table.base_rows[rows]
        answer = None if isinstance(value, NodeSet) else _typed_values(table, value, order)
        return Evaluation(found, scores, plan, evaluator.grader.why(rows), answer, graded=graded)


def _allow_depth(query: str) -> None:
    """Lets a deeply nested query recurse: Python frames only, so the C stack stays small."""
    depth = deepest = 0
    for char in query:
        depth += (char in "([") - (char in ")]")
        deepest = max(deepest, depth)
    if deepest > _SHALLOW:
        sys.setrecursionlimit(max(sys.getrecursionlimit(), _FRAMES))


def _schema(table: TreeTable) -> Schema:
    """The schema of a table, read off once."""
    schema: Schema | None = table.__dict__.get("_schema")
    if schema is None:
        schema = table.__dict__["_schema"] = schema_of(table)
    return schema


def capabilities(dataset: Dataset) -> frozenset[str]:
    """What queries may ask of a dataset."""
    found = {"keywords"}
    if dataset.has_graph:
        found.add("graph")
    if dataset.scorer is not None:
        found.add("scorer")
    return frozenset(found)


def _answer(table: TreeTable, value: Value) -> Answer:
    """The Python value of a query that does not end in nodes."""
    if isinstance(value, Groups):
        base = table.base_rows
        if base is not None:
            from dataclasses import replace

            return [replace(g, positions=base[g.positions]) for g in value.groups]
        return value.groups
    if isinstance(value, Listed):
        return [to_strings(table, item, 1).texts()[0] for item in value.values]
    if isinstance(value, Booleans):
        return bool(value.values[0])
    if isinstance(value, Numbers | Scores):
        return float(value.values[0])
    if isinstance(value, Dates) and not np.isnan(value.values[0]):
        return from_epoch(float(value.values[0]), date_only=value.date_only)
    assert isinstance(value, Strings | Dates)
    return to_strings(table, value, 1).texts()[0]


def _typed_values(table: TreeTable, values: ValueSet, order: Rows | Any) -> list[Any]:
    """Attribute values of a result as Python values, own texts as strings."""
    found: list[Any] = [None] * len(values.rows)
    for column, places in values.parts():
        rows = values.rows[places]
        if column is None:
            own: list[Any] = list(table.texts(rows))
        else:
            own = _column_values(table, column, rows)
        for place, one in zip(places.tolist(), own, strict=True):
            found[place] = one
    return [found[place] for place in order.tolist()]


def _column_values(table: TreeTable, column: Column, rows: Rows) -> list[Any]:
    return [column.value(slot) for slot in column.slots(len(table))[rows].tolist()]
