"""The reference evaluator: expressions over whole arrays of context nodes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from llama_index_semxpath.engines import semijoin
from llama_index_semxpath.engines.base import Dataset
from llama_index_semxpath.engines.compare import compare
from llama_index_semxpath.engines.grading import Grader
from llama_index_semxpath.engines.paths import PathWalker
from llama_index_semxpath.engines.periods import add_period, shift_dates
from llama_index_semxpath.engines.record import Recorder
from llama_index_semxpath.engines.sets import NodeSet, TooWideError, ValueSet, group_starts
from llama_index_semxpath.engines.values import (
    Booleans,
    Dates,
    Groups,
    Listed,
    Numbers,
    Period,
    Scores,
    Strings,
    Value,
    constant,
    parse_date,
    to_booleans,
    to_numbers,
)
from llama_index_semxpath.errors import ParameterError, QueryCapabilityError, QueryTypeError
from llama_index_semxpath.tree.columns import Column, Floats, Mask, Rows
from llama_index_semxpath.tree.table import TreeTable
from llama_index_semxpath.xpath import ast

_COMPARISONS = frozenset(("=", "!=", "<", "<=", ">", ">="))


@dataclass(slots=True)
class Context:
    """Context nodes, with their positions where a filter counts.

    Args:
        rows: The context node of each context.
        position: Its position among the nodes of its step, from 1.
        last: The number of those nodes.
        column: When the contexts are attributes: which; its owners are ``rows``.
    """

    rows: Rows
    position: Floats | None = None
    last: Floats | None = None
    column: Column | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, places: Any) -> Context:
        """The contexts at some places."""
        return Context(
            self.rows[places],
            None if self.position is None else self.position[places],
            None if self.last is None else self.last[places],
            self.column,
        )


#: The outcome of a condition: who passes, and the scores of a graded one.
Outcome = tuple[Mask, Floats | None]


class Evaluator:
    """Evaluates checked expressions over one reader's tree.

    Args:
        dataset: Scorers, keywords and clock.
        table: The tree as the reader sees it.
        params: Values of ``$name``.
        query: The query text, for errors.
        recorder: Collects plan figures, trace and grades.
    """

    def __init__(
        self,
        dataset: Dataset,
        table: TreeTable,
        params: Mapping[str, Any],
        query: str,
        recorder: Recorder,
    ) -> None:
        self.dataset = dataset
        self.table = table
        self.params = params
        self.query = query
        self.recorder = recorder
        self.grader = Grader(dataset, table, query)
        self.walker = PathWalker(self)
        self.threshold: float | None = None
        self.now = dataset.clock()

    # -- dispatch -----------------------------------------------------------------------------

    def value(self, expr: ast.Expr, context: Context) -> Value:
        """The value of an expression in every context.

        Raises:
            TooWideError: Too much for one go; the caller gives fewer contexts.
            QueryError: The query asks for what is not there.
        """
        match expr:
            case ast.Path():
                return self.walker.path(expr, context)
            case ast.Str(text):
                return Strings.of([text])
            case ast.Num(number):
                return constant(number)
            case ast.Binary():
                return self._binary(expr, context)
            case ast.Call():
                from llama_index_semxpath.engines.functions import call

                return call(self, expr, context)
            case ast.Negative(operand):
                return self._negative(operand, context)
            case ast.Param(name):
                return self.parameter(name, expr.span[0])
            case ast.Duration(amount, unit):
                return Period(amount, unit)
            case ast.Items(values):
                return Listed([self.value(item, context) for item in values])

    def parameter(self, name: str, offset: int) -> Value:
        """The value bound to ``$name``."""
        if name not in self.params:
            raise ParameterError(
                f"parameter ${name} has no value",
                query=self.query,
                offset=offset,
                hint="pass it in params",
            )
        given = self.params[name]
        if isinstance(given, dt.timedelta):
            return Period(given.total_seconds(), "s")
        return constant(given)

    def numbers(self, expr: ast.Expr, context: Context) -> Floats:
        """An expression as a number in every context, in pieces when all would be too much."""
        try:
            return to_numbers(self.table, self.value(expr, context), len(context))
        except TooWideError:
            if len(context) < 2:
                raise
        half = len(context) // 2
        pieces = (context.take(slice(None, half)), context.take(slice(half, None)))
        parts = [np.broadcast_to(self.numbers(expr, piece), len(piece)) for piece in pieces]
        return np.concatenate(parts)

    def truth(self, expr: ast.Expr, context: Context) -> Value:
        """An expression as a condition: ``Booleans``, or ``Scores`` when it grades."""
        if isinstance(expr, ast.Path):
            fast = semijoin.exists(self, expr, context)
            if fast is not None:
                return Booleans(fast)
        value = self.value(expr, context)
        if isinstance(value, Scores | Booleans):
            return value
        if isinstance(value, NodeSet | ValueSet) and value.scores is not None:
            return Scores(best_scores(value, len(context)))
        return Booleans(to_booleans(self.table, value, len(context)))

    def condition(self, expr: ast.Expr, context: Context) -> Outcome:
        """Who passes a filter, in pieces when all at once would take too much memory."""
        try:
            value = self.truth(expr, context)
        except TooWideError:
            if len(context) < 2:
                raise
            half = len(context) // 2
            parts = [
                self.condition(expr, context.take(slice(None, half))),
                self.condition(expr, context.take(slice(half, None))),
            ]
            mask = np.concatenate([part[0] for part in parts])
            grades = [part[1] for part in parts if part[1] is not None]
            return mask, np.concatenate(grades) if len(grades) == 2 else None
        if isinstance(value, Scores):
            scores = np.broadcast_to(np.clip(value.values, 0.0, 1.0), len(context))
            return scores >= self.passing, scores
        assert isinstance(value, Booleans)
        return np.broadcast_to(value.values, len(context)), None

    @property
    def passing(self) -> float:
        """Least score that passes a graded filter."""
        if self.threshold is not None:
            return self.threshold
        scorer = self.dataset.scorer
        return 0.5 if scorer is None else scorer.threshold

    def at_threshold(self, threshold: float, action: Callable[[], Value]) -> Value:
        """Runs an action with another least score."""
        outer, self.threshold = self.threshold, threshold
        try:
            return action()
        finally:
            self.threshold = outer

    # -- operators ----------------------------------------------------------------------------

    def _binary(self, expr: ast.Binary, context: Context) -> Value:
        op = expr.op
        if op in ("and", "or"):
            return self._logical(expr, context)
        if op == "=~":
            phrase = self.value(expr.right, context)
            return self.grader.meaning(self.value(expr.left, context), phrase, len(context), expr)
        left, right = self.value(expr.left, context), self.value(expr.right, context)
        if op == "|":
            return self.walker.union(left, right, expr, len(context))
        if op == "in":
            return Booleans(compare(self.table, "=", left, right, len(context)))
        if op in _COMPARISONS:
            self._no_period(left, right, expr)
            return Booleans(compare(self.table, op, left, right, len(context)))
        return self._arithmetic(op, left, right, expr, len(context))

    def _logical(self, expr: ast.Binary, context: Context) -> Value:
        """``and`` is the least, ``or`` the greatest score; what is settled is not graded."""
        from llama_index_semxpath.xpath.types import is_graded

        first, second = expr.left, expr.right
        if is_graded(first) and not is_graded(second):
            first, second = second, first
        left = self.truth(first, context)
        conjunction = expr.op == "and"
        if isinstance(left, Booleans):
            settled = np.broadcast_to(left.values != conjunction, len(context))
            open_places = np.flatnonzero(~settled)
            if len(open_places) * 2 < len(context):
                return self._rest(second, context, open_places, settled=not conjunction)
        right = self.truth(second, context)
        if isinstance(left, Booleans) and isinstance(right, Booleans):
            both = left.values & right.values if conjunction else left.values | right.values
            return Booleans(both)
        a, b = (np.asarray(side.values, dtype=np.float64) for side in _graded(left, right))
        return Scores(np.minimum(a, b) if conjunction else np.maximum(a, b))

    def _rest(
        self, expr: ast.Expr, context: Context, places: Any, *, settled: bool
    ) -> Booleans | Scores:
        """A condition asked only where it still matters."""
        inner: Value = Booleans(np.zeros(0, dtype=np.bool_))
        if len(places):
            inner = self.truth(expr, context.take(places))
        if isinstance(inner, Scores):
            scores = np.full(len(context), float(settled))
            scores[places] = inner.values
            return Scores(scores)
        assert isinstance(inner, Booleans)
        mask = np.full(len(context), settled)
        mask[places] = inner.values
        return Booleans(mask)

    def _arithmetic(
        self, op: str, left: Value, right: Value, expr: ast.Binary, count: int
    ) -> Value:
        if isinstance(left, Period) or isinstance(right, Period):
            return self._calendar(op, left, right, expr, count)
        a, b = to_numbers(self.table, left, count), to_numbers(self.table, right, count)
        with np.errstate(all="ignore"):
            if op == "+":
                result = a + b
            elif op == "-":
                result = a - b
            elif op == "*":
                result = a * b
            elif op == "div":
                result = np.true_divide(a, b)
            else:
                result = np.fmod(a, b)
        if op != "mod" and (
            isinstance(left, Scores)
            or isinstance(right, Scores)
            or (op == "*" and isinstance(left, Booleans) and isinstance(right, Booleans))
            or (op == "-" and expr.left == ast.Num(1) and isinstance(right, Booleans))
        ):
            return Scores(result)
        return Numbers(result)

    def _calendar(self, op: str, left: Value, right: Value, expr: ast.Binary, count: int) -> Value:
        if isinstance(left, Period) and isinstance(right, Period):
            return add_period(left, right, op)
        period, other = (left, right) if isinstance(left, Period) else (right, left)
        assert isinstance(period, Period)
        if (op == "-" and isinstance(left, Period)) or op not in ("+", "-"):
            self.fail("a duration can only be added to or taken from a date", expr)
        return shift_dates(self.dates(other, count), period, 1 if op == "+" else -1)

    def dates(self, value: Value, count: int) -> Dates:
        """A value as a moment in every context; text that is no ISO 8601 date is NaN."""
        from llama_index_semxpath.engines.values import first_places, to_strings

        if isinstance(value, Dates):
            return value
        if isinstance(value, ValueSet) and value.which is None:
            places = first_places(value, count)
            some, column = places >= 0, value.columns[0]
            if column is not None and column.uniform is not None and column.uniform in (3, 4):
                found = np.full(len(places), np.nan)
                slots = column.slots(len(self.table))[value.rows[places[some]]]
                found[some] = column.numbers[slots]
                return Dates(found, date_only=column.uniform == 3)
        strings = to_strings(self.table, value, count)
        moments = strings.map(parse_date, np.float64)
        return Dates(moments, date_only=all(len(text.strip()) == 10 for text in strings.texts()))

    def _negative(self, operand: ast.Expr, context: Context) -> Value:
        value = self.value(operand, context)
        if isinstance(value, Period):
            return replace(value, amount=-value.amount)
        return Numbers(-to_numbers(self.table, value, len(context)))

    def _no_period(self, left: Value, right: Value, expr: ast.Binary) -> None:
        if isinstance(left, Period | Groups) or isinstance(right, Period | Groups):
            self.fail("a duration or a group cannot be compared", expr)

    # -- errors -------------------------------------------------------------------------------

    def fail(self, message: str, expr: ast.Expr, hint: str | None = None) -> None:
        """Raises a type error at an expression."""
        raise QueryTypeError(message, query=self.query, offset=expr.span[0], hint=hint)

    def lacks(self, what: str, offset: int, hint: str) -> QueryCapabilityError:
        """An error for a part that this dataset does not have."""
        return QueryCapabilityError(what, query=self.query, offset=offset, hint=hint)


def best_scores(found: NodeSet | ValueSet, count: int) -> Floats:
    """The best score of each context's entries, 0 without any."""
    scores = found.scores if found.scores is not None else np.ones(len(found.rows))
    if found.owner is None:
        return np.array([scores.max() if len(scores) else 0.0])
    best = np.zeros(count)
    starts = group_starts(found.owner)
    if len(starts):
        best[found.owner[starts]] = np.maximum.reduceat(scores, starts)
    return best


def _graded(left: Value, right: Value) -> tuple[Booleans | Scores, Booleans | Scores]:
    assert isinstance(left, Booleans | Scores)
    assert isinstance(right, Booleans | Scores)
    return left, right
