"""Steps to attributes and own texts, and on from them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from llama_index_semxpath.engines.sets import NodeSet, ValueSet, ranks, unique_pairs
from llama_index_semxpath.tree.columns import Column
from llama_index_semxpath.xpath import ast
from llama_index_semxpath.xpath.types import type_of

if TYPE_CHECKING:
    from llama_index_semxpath.engines.paths import PathWalker

#: Name of the column that stands for own texts.
OWN_TEXT = "text()"


def attribute_step(walker: PathWalker, found: NodeSet, step: ast.Step) -> ValueSet:
    """``@name`` and ``@*``; positions count among the attributes of one node."""
    if step.test.type == "name":
        names = [step.test.name] if step.test.name in walker.table.columns else []
    elif step.test.type in ("any-name", "any-node"):
        names = list(walker.table.columns)
    else:
        names = []
    places, which = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    columns = [walker.table.columns[name] for name in names]
    for index, column in enumerate(columns):
        has = np.flatnonzero(column.slots(len(walker.table))[found.rows] >= 0)
        places.append(has)
        which.append(np.full(len(has), index, dtype=np.int32))
    place, code = np.concatenate(places), np.concatenate(which)
    if len(columns) > 1:
        order = np.lexsort((code, place))
        place, code = place[order], code[order]
    values = ValueSet(
        found.rows[place],
        None if found.owner is None else found.owner[place],
        tuple(columns) or (None,),
        code if len(columns) > 1 else None,
        None if found.scores is None else found.scores[place],
    )
    if step.filters:
        node: Any = place
        for part in step.filters:
            values, node = _filter_groups(walker, values, node, part)
    return values


def text_step(walker: PathWalker, found: NodeSet, step: ast.Step) -> ValueSet:
    """``text()`` is a node's own text: there are no text nodes below it."""
    if step.axis in ("descendant", "descendant-or-self"):
        below = replace(step, axis="descendant-or-self", test=ast.Test("any-node"), filters=())
        reached = walker.step(found, below)
        assert isinstance(reached, NodeSet)
        found = reached
    elif step.axis not in ("child", "self"):
        found = found.keep(np.zeros(len(found.rows), np.bool_))
    texts = walker.table.texts(found.rows)
    some = np.fromiter(map(bool, texts), dtype=np.bool_, count=len(texts))
    found = found.keep(some)
    values = ValueSet(found.rows, found.owner, (None,), None, found.scores)
    if step.filters:
        # In a filter `.` is the text itself: it needs a column, as attributes have.
        own = dict(zip(found.rows.tolist(), (text for text in texts if text), strict=True))
        rows = sorted(own)
        column = Column.from_values(OWN_TEXT, rows, [own[row] for row in rows])
        values = replace(values, columns=(column,))
    node = np.arange(len(values.rows))
    for part in step.filters:
        values, node = _filter_groups(walker, values, node, part)
    return values


def filter_values(walker: PathWalker, values: ValueSet, part: ast.Filter) -> ValueSet:
    """A filter over all values of a context."""
    return _filter_groups(walker, values, values.owners(), part)[0]


def _filter_groups(
    walker: PathWalker, values: ValueSet, group: Any, part: ast.Filter
) -> tuple[ValueSet, Any]:
    from llama_index_semxpath.engines.evaluate import Context

    if isinstance(part, ast.Shift):
        walker.evaluator.fail("an attribute has no siblings", ast.Num(0, part.span))
    position, size = ranks(group)
    if not isinstance(part, ast.Predicate):
        mask, _ = walker.position_mask(part, values.rows, position, size)
        return values.keep(mask), group[mask]
    mask = np.zeros(len(values.rows), dtype=np.bool_)
    scores = np.ones(len(values.rows)) if values.scores is None else values.scores.copy()
    graded = values.scores is not None
    for column, places in values.parts():
        if not len(places):
            continue
        context = Context(
            values.rows[places],
            position[places].astype(np.float64),
            size[places].astype(np.float64),
            column,
        )
        if type_of(part.expr, walker.evaluator.params) == "number":
            wanted = walker.evaluator.numbers(part.expr, context)
            mask[places] = np.broadcast_to(wanted, len(places)) == position[places]
            continue
        passed, grades = walker.evaluator.condition(part.expr, context)
        mask[places] = passed
        if grades is not None:
            graded = True
            scores[places] *= grades
    return replace(values, scores=scores if graded else None).keep(mask), group[mask]


def step_from_values(walker: PathWalker, values: ValueSet, step: ast.Step) -> NodeSet | ValueSet:
    """A step from attributes: only to themselves and up."""
    if step.axis == "self" and step.test.type == "any-node":
        for part in step.filters:
            values = filter_values(walker, values, part)
        return values
    owners = unique_pairs(NodeSet(values.rows, values.owner, values.scores), len(walker.table))
    upward = {"parent": "self", "ancestor": "ancestor-or-self"}.get(step.axis)
    if upward == "self":
        return walker.step(owners, replace(step, axis="self"))
    if upward == "ancestor-or-self":
        return walker.step(owners, replace(step, axis="ancestor-or-self"))
    empty = np.zeros(len(owners.rows), dtype=np.bool_)
    return owners.keep(empty)


def united_values(left: ValueSet, right: ValueSet, size: int) -> ValueSet:
    """The values of either side, each once."""
    columns: list[Column | None] = list(left.columns)
    for column in right.columns:
        if column not in columns:
            columns.append(column)
    codes = []
    for side in (left, right):
        own = np.zeros(len(side.rows), np.int64) if side.which is None else side.which
        places = np.array([columns.index(column) for column in side.columns], dtype=np.int64)
        codes.append(places[own])
    rows = np.concatenate([left.rows, right.rows])
    code = np.concatenate(codes)
    owners = np.concatenate([left.owners(), right.owners()])
    keys = (owners.astype(np.int64) * size + rows) * len(columns) + code
    _, first = np.unique(keys, return_index=True)
    scores = None
    if left.scores is not None or right.scores is not None:
        scores = np.concatenate(
            [np.ones(len(s.rows)) if s.scores is None else s.scores for s in (left, right)]
        )[first]
    owner = None if left.owner is None else owners[first].astype(np.int32)
    return ValueSet(rows[first], owner, tuple(columns), code[first].astype(np.int32), scores)
