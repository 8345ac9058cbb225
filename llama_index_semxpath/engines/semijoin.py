"""Existence and counts of paths in predicates, asked once for the whole tree and not per node.

``[Table/Row[@n > 3]]`` over many sections: find the rows that fit anywhere, mark their parents, and
look the contexts up in the marks. This is the classic semi-join reduction; it makes a predicate
cost what its rarest part costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from llama_index_semxpath.engines.sets import NodeSet, flags
from llama_index_semxpath.tree.columns import Floats, Mask, Rows
from llama_index_semxpath.tree.table import TreeTable
from llama_index_semxpath.xpath import ast
from llama_index_semxpath.xpath.types import is_graded

if TYPE_CHECKING:
    from llama_index_semxpath.engines.evaluate import Context, Evaluator

#: Below this many contexts, walking from each is cheap enough.
_FEW = 32
_AXES = {"child", "descendant", "self", "parent", "ancestor"}
_COUNTED = {"child", "descendant", "ancestor"}


def exists(evaluator: Evaluator, path: ast.Path, context: Context) -> Mask | None:
    """Whether each context has a node on the path; ``None`` where this way does not apply."""
    steps = _plain_steps(evaluator, path, context)
    if steps is None:
        return None
    targets = _targets(evaluator, steps)
    if targets is None:
        return None
    return _has(evaluator.table, steps[0].axis, context.rows, targets)


def counts(evaluator: Evaluator, path: ast.Path, context: Context) -> Floats | None:
    """Nodes of each context on a path of one step down or up; ``None`` otherwise."""
    steps = _plain_steps(evaluator, path, context)
    if steps is None or len(steps) != 1 or steps[0].axis not in _COUNTED:
        return None
    targets = _targets(evaluator, steps)
    if targets is None:
        return None
    table, rows = evaluator.table, context.rows
    if steps[0].axis == "child":
        if table.orphan is not None:
            targets = targets[~table.orphan[targets]]
        found = np.bincount(table.parent[targets], minlength=len(table))[rows]
        return found.astype(np.float64)
    if steps[0].axis == "ancestor":
        return _above(table, targets)[rows].astype(np.float64)
    inside = np.searchsorted(targets, table.end[rows])
    return (inside - np.searchsorted(targets, rows, side="right")).astype(np.float64)


def _plain_steps(evaluator: Evaluator, path: ast.Path, context: Context) -> list[ast.Step] | None:
    """The steps of a relative, hard path without positions, when asking backwards is cheaper."""
    if path.start is not None or len(context) < _FEW or context.column is not None:
        return None
    steps = evaluator.walker.fused(path.steps)
    while len(steps) > 1 and steps[0].axis == "self" and _is_any_node(steps[0]):
        steps = steps[1:]
    last = steps[-1]
    if last.axis == "attribute" and len(steps) > 1:
        if last.test.type != "name" or last.filters:
            return None
        plain = steps[:-1]
    else:
        plain = steps
    for step in plain:
        if step.axis not in _AXES or step.test.type not in ("name", "any-name", "any-node"):
            return None
        if step.axis in ("self", "parent") and step.test.type == "any-node":
            return None
        if evaluator.walker.positional(step.filters):
            return None
    if is_graded(path) or not _worthwhile(evaluator, plain[0], context.rows):
        return None
    return list(steps)


def _is_any_node(step: ast.Step) -> bool:
    return step.test.type == "any-node" and not step.filters


def _worthwhile(evaluator: Evaluator, step: ast.Step, rows: Rows) -> bool:
    table = evaluator.table
    total = len(evaluator.walker.test(step).rows(table))
    if step.axis == "child":
        starts = table.child_lists[1]
        forward = int((starts[rows + 1] - starts[rows]).sum())
    elif step.axis == "descendant":
        forward = int(table.size[rows].sum()) - len(rows)
    else:
        forward = len(rows) * 8
    return total <= 2 * forward


def _targets(evaluator: Evaluator, steps: Sequence[ast.Step]) -> Rows | None:
    """Rows that the first step may end at, so that the rest of the path leads on from them."""
    table = evaluator.table
    found: Rows | None = None
    axis = ""
    for step in reversed(steps):
        if step.axis == "attribute":
            column = table.attribute(step.test.name)
            found = np.empty(0, np.int32) if column is None else column.rows
            axis = "attribute"
            continue
        rows = evaluator.walker.test(step).rows(table)
        if found is not None:
            if axis == "attribute":
                rows = np.intersect1d(rows, found, assume_unique=True)
            else:
                rows = rows[_has(table, axis, rows, found)]
        nodes = NodeSet(rows)
        for part in step.filters:
            assert isinstance(part, ast.Predicate)
            nodes = evaluator.walker.filtered(nodes, part)
        found, axis = nodes.rows, step.axis
    return found


def _has(table: TreeTable, axis: str, rows: Rows, targets: Rows) -> Mask:
    """Which rows have one of the targets (ascending) on an axis."""
    if axis == "child":
        if table.orphan is not None:
            targets = targets[~table.orphan[targets]]
        return flags(table.parent[targets], len(table))[rows]
    if axis == "descendant":
        inside = np.searchsorted(targets, table.end[rows])
        below: Mask = inside > np.searchsorted(targets, rows, side="right")
        return below
    if axis == "ancestor":
        above: Mask = _above(table, targets)[rows] > 0
        return above
    marks = flags(targets, len(table))
    if axis == "self":
        return marks[rows]
    parent = table.parent[rows]
    real = parent >= 0
    if table.orphan is not None:
        real &= ~table.orphan[rows]
    return marks[np.maximum(parent, 0)] & real


def _above(table: TreeTable, targets: Rows) -> Rows:
    """How many of the targets are ancestors of each row: opened minus closed subtrees."""
    change = np.zeros(len(table) + 1, dtype=np.int32)
    # A target's subtree opens after itself; one without descendants closes at once.
    np.add.at(change, targets + 1, 1)
    np.subtract.at(change, table.end[targets], 1)
    return np.cumsum(change, dtype=np.int32)
