"""Sums, means and evidence over the nodes of every context."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from llama_index_semxpath.engines.sets import Longs, NodeSet, ValueSet, group_starts
from llama_index_semxpath.engines.values import (
    Booleans,
    Dates,
    Listed,
    Numbers,
    Scores,
    Value,
    item_numbers,
    to_numbers,
)
from llama_index_semxpath.tree.columns import Floats, Rows, ValueType
from llama_index_semxpath.xpath import ast

if TYPE_CHECKING:
    from llama_index_semxpath.engines.evaluate import Context, Evaluator


def total(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    """``sum(path)``."""
    value = evaluator.value(expr.args[0], context)
    if not isinstance(value, NodeSet | ValueSet):
        evaluator.fail("sum() takes nodes", expr.args[0])
    assert isinstance(value, NodeSet | ValueSet)
    numbers = item_numbers(evaluator.table, value, np.arange(len(value.rows)))
    if value.owner is None:
        return Numbers(np.array([numbers.sum()]))
    totals = np.bincount(value.owner, weights=numbers, minlength=len(context))
    return Numbers(totals.astype(np.float64))


def combine(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    """``min max avg gmean`` of conditions, of numbers, or of the numbers of one path."""
    if len(expr.args) == 1:
        value = evaluator.value(expr.args[0], context)
        if isinstance(value, NodeSet | ValueSet):
            return _over_nodes(evaluator, expr.name, value, len(context))
        if isinstance(value, Listed):
            numbers = [to_numbers(evaluator.table, item, 1)[0] for item in value.values]
            return Numbers(np.array([_reduced(expr.name, np.array(numbers))]))
    values = [evaluator.value(arg, context) for arg in expr.args]
    if any(isinstance(value, Dates) for value in values):
        dates = [evaluator.dates(value, len(context)) for value in values]
        figures = _across(expr.name, [date.values for date in dates])
        return Dates(figures, all(date.date_only for date in dates))
    figures = _across(
        expr.name, [to_numbers(evaluator.table, value, len(context)) for value in values]
    )
    conditions = all(isinstance(value, Booleans | Scores) for value in values)
    graded = any(isinstance(value, Scores) for value in values)
    return Scores(figures) if conditions or graded else Numbers(figures)


def _across(name: str, figures: list[Floats]) -> Floats:
    """One figure of several in every context."""
    stack = np.stack(np.broadcast_arrays(*figures))
    if name == "min":
        result: Floats = stack.min(axis=0)
    elif name == "max":
        result = stack.max(axis=0)
    elif name == "avg":
        result = stack.mean(axis=0)
    else:
        result = _gmean(stack)
    return result


def _gmean(stack: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Floats = np.exp(np.log(stack).mean(axis=0))
    return result


def _over_nodes(evaluator: Evaluator, name: str, found: NodeSet | ValueSet, count: int) -> Value:
    """The aggregate of a path's numbers (dates when all are), NaN for no nodes."""
    numbers = item_numbers(evaluator.table, found, np.arange(len(found.rows)))
    if found.owner is None:
        result = np.array([_reduced(name, numbers)])
    else:
        result = np.full(count, np.nan)
        starts = group_starts(found.owner)
        if len(starts):
            result[found.owner[starts]] = grouped(name, numbers, starts)
    kind = _date_type(found)
    return Numbers(result) if kind is None else Dates(result, kind == ValueType.DATE)


def _date_type(found: NodeSet | ValueSet) -> ValueType | None:
    if isinstance(found, NodeSet) or found.which is not None or found.columns[0] is None:
        return None
    uniform = found.columns[0].uniform
    return uniform if uniform in (ValueType.DATE, ValueType.DATETIME) else None


def _reduced(name: str, numbers: Floats) -> float:
    if not len(numbers):
        return float("nan")
    return float(grouped(name, numbers, np.zeros(1, dtype=np.int64))[0])


def grouped(name: str, figures: Floats, starts: Longs) -> Floats:
    """One figure of each group of a sorted array.

    Example:
        >>> grouped("avg", np.array([1.0, 3.0, 5.0]), np.array([0, 2])).tolist()
        [2.0, 5.0]
    """
    sizes = np.diff(np.append(starts, len(figures)))
    if name.endswith("min"):
        result: Floats = np.minimum.reduceat(figures, starts)
    elif name.endswith("max"):
        result = np.maximum.reduceat(figures, starts)
    elif name.endswith("avg"):
        result = np.add.reduceat(figures, starts) / sizes
    else:
        with np.errstate(invalid="ignore", divide="ignore"):
            result = np.exp(np.add.reduceat(np.log(figures), starts) / sizes)
    return result


def evidence(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    """``agg_…(path[p])``: the scores of ``p`` on the path's nodes, 0 where there are none.

    The last filter grades and drops nothing, so that a hard one gives the share, any or all.
    """
    path = expr.args[0]
    nodes, grader = _without_last_filter(path)
    found = evaluator.value(path if nodes is None else nodes, context)
    if not isinstance(found, NodeSet):
        evaluator.fail(f"{expr.name}() takes a path to nodes", path)
    assert isinstance(found, NodeSet)
    scores = np.ones(len(found.rows)) if found.scores is None else found.scores
    if grader is not None:
        scores = scores * _grades(evaluator, found.rows, grader)
    return Scores(_by_owner(expr.name, scores, found.owner, len(context)))


def _grades(evaluator: Evaluator, rows: Rows, grader: ast.Predicate) -> Floats:
    from llama_index_semxpath.engines.evaluate import Context

    distinct, back = np.unique(rows, return_inverse=True)
    mask, scores = evaluator.condition(grader.expr, Context(distinct))
    return (mask.astype(np.float64) if scores is None else scores)[back]


def _by_owner(name: str, scores: Floats, owner: Rows | None, count: int) -> Floats:
    if owner is None:
        return np.array([_reduced(name, scores) if len(scores) else 0.0])
    result = np.zeros(count)
    starts = group_starts(owner)
    if len(starts):
        result[owner[starts]] = grouped(name, scores, starts)
    return result


def _without_last_filter(path: ast.Expr) -> tuple[ast.Path | None, ast.Predicate | None]:
    """A path and its last filter, when that is a condition and not a position."""
    if not isinstance(path, ast.Path):
        return None, None
    filters = path.steps[-1].filters if path.steps else path.filters
    if not filters or not isinstance(filters[-1], ast.Predicate):
        return None, None
    last = filters[-1]
    if path.steps:
        step = replace(path.steps[-1], filters=filters[:-1])
        return replace(path, steps=(*path.steps[:-1], step)), last
    return replace(path, filters=filters[:-1]), last
