"""Location paths: steps and filters over node sets of many contexts at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from llama_index_semxpath.engines.axes import NodeTest, sibling_places, step_pairs, step_set
from llama_index_semxpath.engines.leaves import (
    attribute_step,
    filter_values,
    step_from_values,
    text_step,
    united_values,
)
from llama_index_semxpath.engines.relations import walk_relation
from llama_index_semxpath.engines.sets import (
    PAIR_LIMIT,
    NodeSet,
    TooWideError,
    ValueSet,
    pair_keys,
    ranks,
    unique_pairs,
)
from llama_index_semxpath.engines.values import Value
from llama_index_semxpath.tree.columns import Floats, Mask, Rows
from llama_index_semxpath.xpath import ast
from llama_index_semxpath.xpath.names import TREE_RELATIONS
from llama_index_semxpath.xpath.planner import is_any_below
from llama_index_semxpath.xpath.types import type_of

if TYPE_CHECKING:
    from llama_index_semxpath.engines.evaluate import Context, Evaluator

#: ``node()`` admits the root only where it stands for ``.``, ``..`` and ``//``.
_ROOT_AXES = {"self", "parent", "descendant-or-self"}
_NOTHING: Rows = np.empty(0, dtype=np.int32)


class PathWalker:
    """Walks paths for an evaluator."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.table = evaluator.table
        self._fused: dict[int, tuple[Sequence[ast.Step], list[ast.Step]]] = {}
        self._positional: dict[int, tuple[Sequence[ast.Filter], bool]] = {}

    # -- paths --------------------------------------------------------------------------------

    def path(self, path: ast.Path, context: Context) -> NodeSet | ValueSet:
        """The nodes or values that a path selects in every context."""
        return self.walk(path, self._start(path, context))

    def walk(self, path: ast.Path, found: NodeSet | ValueSet) -> NodeSet | ValueSet:
        """The steps of a path from given nodes."""
        steps = self.fused(path.steps)
        skip = False
        for place, step in enumerate(steps):
            if skip:
                skip = False
                continue
            following = steps[place + 1] if place + 1 < len(steps) else None
            began = time.perf_counter()
            # `//X[2]` counts among the children of each parent, with no list of all parents.
            if following is not None and is_any_below(step, (following,)):
                step, skip = following, True
                found = self._children_below(found, step)
            else:
                found = self.step(found, step)
            self._record(step, found, began)
        return found

    def _start(self, path: ast.Path, context: Context) -> NodeSet | ValueSet:
        found: Value
        if path.start == "root":
            return NodeSet(np.zeros(1, dtype=np.int32))
        owner = np.arange(len(context), dtype=np.int32)
        if path.start is None:
            if context.column is not None:
                return ValueSet(context.rows, owner, (context.column,))
            return NodeSet(context.rows, owner)
        found = self.evaluator.value(path.start, context)
        if not isinstance(found, NodeSet | ValueSet):
            self.evaluator.fail("a path can only go on from nodes", path)
        assert isinstance(found, NodeSet | ValueSet)
        for part in path.filters:
            began = time.perf_counter()
            found = self._whole(found, part)
            self._record(part, found, began)
        if isinstance(found, NodeSet) and path.steps:
            return found.in_document_order(len(self.table))
        return found

    def fused(self, steps: Sequence[ast.Step]) -> list[ast.Step]:
        """Steps with ``//X`` as ``descendant::X`` where no filter of X looks at positions."""
        known = self._fused.get(id(steps))
        if known is not None and known[0] is steps:
            return known[1]
        found: list[ast.Step] = []
        for step in steps:
            if found and is_any_below(found[-1], (step,)) and not self.positional(step.filters):
                found[-1] = replace(step, axis="descendant")
            else:
                found.append(step)
        self._fused[id(steps)] = (steps, found)
        return found

    def positional(self, filters: Sequence[ast.Filter]) -> bool:
        """Whether a filter looks at positions, so that contexts must be kept apart."""
        known = self._positional.get(id(filters))
        if known is not None and known[0] is filters:
            return known[1]
        answer = any(
            not isinstance(part, ast.Predicate) or self._counts(part.expr) for part in filters
        )
        self._positional[id(filters)] = (filters, answer)
        return answer

    def _counts(self, expr: ast.Expr) -> bool:
        return type_of(expr, self.evaluator.params) in ("number", "unknown") or _asks_position(expr)

    def test(self, step: ast.Step) -> NodeTest:
        """The rows that a step's node test admits."""
        if step.test.type == "name":
            return NodeTest(step.test.name)
        if step.test.type == "any-name":
            return NodeTest()
        if step.test.type == "any-node":
            return NodeTest(root=step.axis in _ROOT_AXES)
        return NodeTest("")

    # -- steps --------------------------------------------------------------------------------

    def step(self, found: NodeSet | ValueSet, step: ast.Step) -> NodeSet | ValueSet:
        """One step from every node of a set.

        Args:
            found: The nodes to step from.
            step: Axis, test and filters.
        """
        if isinstance(found, ValueSet):
            return step_from_values(self, found, step)
        if step.axis == "attribute":
            return attribute_step(self, found, step)
        if step.test.type == "text":
            return text_step(self, found, step)
        if step.axis == "version":
            raise self.evaluator.lacks(
                "this index keeps no versions", step.span[0], "versions exist in agent memory"
            )
        if _needs_graph(step) and not self.evaluator.dataset.has_graph:
            raise self.evaluator.lacks(
                "this index has no property graph", step.span[0], "configure one to walk relations"
            )
        if not self.positional(step.filters):
            reached = self._split(found, lambda part: self._reach(part, step))
            self._reached(step, reached)
            for part in step.filters:
                began = time.perf_counter()
                reached = self.filtered(reached, part, found, step)
                self._record(part, reached, began)
            return reached
        if step.axis == "child":
            return self._by_parent(self._split(found, lambda p: self._reach(p, step)), step)
        return self._split(found, lambda part: self._by_item(part, step))

    def _split(self, found: NodeSet, action: Callable[[NodeSet], NodeSet]) -> NodeSet:
        """An action on a set, in halves where the whole would make too many pairs."""
        try:
            return action(found)
        except TooWideError:
            # Of several contexts the predicate above gives fewer at a time.
            if len(found.rows) < 2 or not _one_owner(found):
                raise
        half = len(found.rows) // 2
        first = np.arange(len(found.rows)) < half
        parts = [self._split(found.keep(mask), action) for mask in (first, ~first)]
        return unique_pairs(_joined(parts), len(self.table))

    def _reach(self, found: NodeSet, step: ast.Step) -> NodeSet:
        """What an axis reaches from a set, without filters."""
        table, test = self.table, self.test(step)
        if step.axis in ("rel", "inv"):
            item, rows = walk_relation(table, step, found.rows)
            keep = test.mask(table, rows) if step.test.type != "name" else rows > 0
            return unique_pairs(_picked(found, item[keep], rows[keep]), len(table))
        if found.scores is None and _one_owner(found):
            rows = step_set(table, step.axis, found.rows, test)
            owner = found.owner
            if owner is not None:
                owner = np.full(len(rows), owner[0] if len(owner) else 0, dtype=np.int32)
            return NodeSet(rows, owner)
        if found.scores is None and step.axis in ("descendant", "descendant-or-self"):
            found = self._uncovered(found)
        item, rows = step_pairs(table, step.axis, found.rows, test)
        return unique_pairs(_picked(found, item, rows), len(table))

    def _uncovered(self, found: NodeSet) -> NodeSet:
        """Without the nodes below another of the same context: their ranges add nothing."""
        keys = pair_keys(found.owners(), found.rows, len(self.table))
        ends = keys + (self.table.end[found.rows] - found.rows)
        reach = np.maximum.accumulate(ends)
        return found.keep(np.concatenate([[True], keys[1:] >= reach[:-1]]).astype(np.bool_))

    def _children_below(self, found: NodeSet | ValueSet, step: ast.Step) -> NodeSet:
        if isinstance(found, ValueSet):
            return NodeSet(_NOTHING, None if found.owner is None else _NOTHING)
        below = replace(step, axis="descendant", filters=())
        reached = self._split(found, lambda part: self._reach(part, below))
        return self._by_parent(reached, step)

    def _by_parent(self, reached: NodeSet, step: ast.Step) -> NodeSet:
        """Filters whose positions count among the children of one parent."""
        parent = self.table.parent[reached.rows]
        if self.table.orphan is not None:
            # Nobody's child: each orphan is first and last of its own.
            alone = self.table.orphan[reached.rows]
            parent = np.where(alone, np.int32(len(self.table)) + reached.rows, parent)
        key: Any = parent
        if reached.owner is not None:
            key = parent + reached.owner.astype(np.int64) * (2 * len(self.table))
        if bool((key[1:] >= key[:-1]).all()):
            return self._counted(reached, key, step)
        order = np.argsort(key, kind="stable")
        entries = NodeSet(
            reached.rows[order],
            None if reached.owner is None else reached.owner[order],
            None if reached.scores is None else reached.scores[order],
        )
        return self._counted(entries, key[order], step)

    def _by_item(self, found: NodeSet, step: ast.Step) -> NodeSet:
        """Filters whose positions count along an axis from each node."""
        if step.axis in ("rel", "inv"):
            item, rows = walk_relation(self.table, step, found.rows)
            keep = rows > 0
            item, rows = item[keep], rows[keep]
        else:
            item, rows = step_pairs(self.table, step.axis, found.rows, self.test(step))
        return self._counted(_picked(found, item, rows), item, step)

    def _counted(self, entries: NodeSet, group: Any, step: ast.Step) -> NodeSet:
        """Applies filters within groups of entries that stand in axis order."""
        self._reached(step, entries)
        for part in step.filters:
            began = time.perf_counter()
            entries, group = self._filter_groups(entries, group, part)
            self._record(part, entries, began)
        return unique_pairs(replace(entries, sequence=False), len(self.table))

    # -- filters ------------------------------------------------------------------------------

    def _filter_groups(self, entries: NodeSet, group: Any, part: ast.Filter) -> tuple[NodeSet, Any]:
        if isinstance(part, ast.Shift):
            rows = self._shifted(entries.rows, part.offset)
            keep = rows > 0
            return replace(entries.keep(keep), rows=rows[keep]), group[keep]
        if isinstance(part, ast.Predicate) and not self._counts(part.expr):
            kept, mask = self._passing(entries, part)
            return kept, group[mask]
        position, size = ranks(group)
        mask, scores = self.position_mask(part, entries.rows, position, size)
        kept = _scaled(entries, scores).keep(mask)
        self._trace(part, entries.rows, mask, scores)
        return kept, group[mask]

    def position_mask(
        self, part: ast.Filter, rows: Rows, position: Any, size: Any
    ) -> tuple[Mask, Floats | None]:
        """Who passes a filter that looks at positions, and the scores of a graded one."""
        if isinstance(part, ast.Index):
            wanted = part.position if part.position >= 0 else size + 1 + part.position
            return (position == wanted) & (position > 0), None
        if isinstance(part, ast.Slice):
            low, high = (
                size + 1 + bound if bound is not None and bound < 0 else bound
                for bound in (part.first, part.last)
            )
            mask = np.ones(len(position), dtype=np.bool_)
            if low is not None:
                mask &= position >= low
            if high is not None:
                mask &= position <= high
            return mask, None
        assert isinstance(part, ast.Predicate)
        return self._computed(part, rows, position, size)

    def _computed(
        self, part: ast.Predicate, rows: Rows, position: Any, size: Any
    ) -> tuple[Mask, Floats | None]:
        """A predicate that asks for positions, or is one."""
        from llama_index_semxpath.engines.evaluate import Context

        evaluator = self.evaluator
        context = Context(rows, position.astype(np.float64), size.astype(np.float64))
        kind = type_of(part.expr, evaluator.params)
        if kind == "number":
            with evaluator.recorder.nested():
                wanted = evaluator.numbers(part.expr, context)
            return np.broadcast_to(wanted, len(rows)) == position, None
        with evaluator.recorder.nested():
            return evaluator.condition(part.expr, context)

    def filtered(
        self,
        found: NodeSet,
        part: ast.Filter,
        origin: NodeSet | None = None,
        step: ast.Step | None = None,
    ) -> NodeSet:
        """A filter without positions, on every node of a set once.

        Args:
            found: The nodes to filter.
            part: The filter.
            origin: The nodes that the step came from, for a search below them.
            step: The step.
        """
        assert isinstance(part, ast.Predicate)
        return self._passing(found, part, origin, step)[0]

    def _passing(
        self,
        found: NodeSet,
        part: ast.Predicate,
        origin: NodeSet | None = None,
        step: ast.Step | None = None,
    ) -> tuple[NodeSet, Mask]:
        from llama_index_semxpath.engines.evaluate import Context

        evaluator = self.evaluator
        if _one_owner(found) and not found.sequence and bool((np.diff(found.rows) > 0).all()):
            rows, back = found.rows, None
        else:
            rows, back = np.unique(found.rows, return_inverse=True)
        outcome: tuple[Mask, Floats | None] | None = None
        if origin is not None and step is not None:
            outcome = evaluator.grader.searched(evaluator, part.expr, rows, origin, step)
        if outcome is None:
            with evaluator.recorder.nested():
                outcome = evaluator.condition(part.expr, Context(rows))
        mask, scores = outcome
        self._trace(part, rows, mask, scores)
        if back is not None:
            mask = mask[back]
            scores = None if scores is None else scores[back]
        return _scaled(found, scores).keep(mask), mask

    def _whole(self, found: NodeSet | ValueSet, part: ast.Filter) -> NodeSet | ValueSet:
        """A filter after parentheses: positions count over the whole set of a context."""
        if isinstance(found, ValueSet):
            return filter_values(self, found, part)
        if isinstance(part, ast.Predicate) and not self._counts(part.expr):
            return self.filtered(found, part)
        entries, _ = self._filter_groups(found, found.owners(), part)
        if isinstance(part, ast.Shift):
            return unique_pairs(replace(entries, sequence=False), len(self.table))
        return entries

    def _shifted(self, rows: Rows, offset: int) -> Rows:
        """The k-th sibling of each row, 0 where there is none."""
        place, start, stop = sibling_places(self.table, rows)
        target = place.astype(np.int64) + offset
        inside = (target >= start) & (target < stop)
        found = np.zeros(len(rows), dtype=np.int32)
        found[inside] = self.table.child_lists[0][target[inside]]
        return found

    # -- union --------------------------------------------------------------------------------

    def union(self, left: Value, right: Value, expr: ast.Expr, count: int) -> NodeSet | ValueSet:
        """``left | right`` in every of ``count`` contexts."""
        if isinstance(left, NodeSet | ValueSet) and isinstance(right, NodeSet | ValueSet):
            a, b = _same_owners(left, right, count)
            if isinstance(a, NodeSet) and isinstance(b, NodeSet):
                joined = replace(_joined([a, b]), sequence=False)
                return unique_pairs(joined, len(self.table))
            if isinstance(a, ValueSet) and isinstance(b, ValueSet):
                return united_values(a, b, len(self.table))
            if not len(a.rows) or not len(b.rows):
                return a if len(a.rows) else b
        self.evaluator.fail("nodes and attributes cannot be united", expr)
        raise AssertionError

    def _reached(self, step: ast.Step, found: NodeSet) -> None:
        """Tells the trace what a step reached, before its filters."""
        if self.evaluator.recorder.is_tracing:
            self.evaluator.recorder.reached(step, self.table, np.unique(found.rows))

    def _trace(self, part: ast.Filter, rows: Rows, mask: Mask, scores: Floats | None) -> None:
        """Tells the trace what a filter kept, with the single grades of a combined one."""
        evaluator = self.evaluator
        if not evaluator.recorder.is_tracing:
            return
        bar = None if scores is None else evaluator.passing
        parts = {} if scores is None else evaluator.grader.why(rows)
        evaluator.recorder.trace(part, self.table, rows, mask, scores, bar, parts)

    def _record(self, part: ast.Step | ast.Filter, found: NodeSet | ValueSet, began: float) -> None:
        self.evaluator.recorder.ran(part, len(found.rows), (time.perf_counter() - began) * 1000)


def _needs_graph(step: ast.Step) -> bool:
    """``rel::CONTAINS`` and ``rel::NEXT`` are read from the tree."""
    return step.axis in ("rel", "inv") and step.test.name not in TREE_RELATIONS


def _one_owner(found: NodeSet) -> bool:
    owner = found.owner
    return owner is None or not len(owner) or bool(owner[0] == owner[-1])


def _picked(found: NodeSet, item: Any, rows: Rows) -> NodeSet:
    """Rows reached from entries of a set, with the owners and scores of those entries."""
    return NodeSet(
        rows,
        None if found.owner is None else found.owner[item],
        None if found.scores is None else found.scores[item],
    )


def _scaled(found: NodeSet, scores: Floats | None) -> NodeSet:
    if scores is None:
        return found
    before = 1.0 if found.scores is None else found.scores
    return replace(found, scores=np.asarray(before * scores, dtype=np.float64))


def _joined(parts: Sequence[NodeSet]) -> NodeSet:
    graded = any(part.scores is not None for part in parts)
    scores = [np.ones(len(part.rows)) if part.scores is None else part.scores for part in parts]
    owners = [part.owner for part in parts if part.owner is not None]
    return NodeSet(
        np.concatenate([part.rows for part in parts]),
        np.concatenate(owners) if owners else None,
        np.concatenate(scores) if graded else None,
    )


def _same_owners(
    left: NodeSet | ValueSet, right: NodeSet | ValueSet, count: int
) -> tuple[NodeSet | ValueSet, NodeSet | ValueSet]:
    """Both sets by context, where one of them is."""
    if (left.owner is None) == (right.owner is None):
        return left, right
    if left.owner is None:
        return _spread(left, count), right
    return left, _spread(right, count)


def _spread(found: NodeSet | ValueSet, count: int) -> NodeSet | ValueSet:
    """The set of every context, given to each of ``count``."""
    if count * len(found.rows) > PAIR_LIMIT and count > 1:
        raise TooWideError
    places = np.tile(np.arange(len(found.rows)), count)
    owner = np.repeat(np.arange(count), len(found.rows)).astype(np.int32)
    scores = None if found.scores is None else found.scores[places]
    if isinstance(found, NodeSet):
        return NodeSet(found.rows[places], owner, scores)
    which = None if found.which is None else found.which[places]
    return ValueSet(found.rows[places], owner, found.columns, which, scores)


def _asks_position(expr: ast.Expr) -> bool:
    """Whether ``position()`` or ``last()`` of the filter itself is asked."""
    match expr:
        case ast.Call(name, args):
            return name in ("position", "last") or any(map(_asks_position, args))
        case ast.Binary(_, left, right):
            return _asks_position(left) or _asks_position(right)
        case ast.Negative(operand):
            return _asks_position(operand)
        case ast.Items(values):
            return any(map(_asks_position, values))
        case ast.Path(start):
            return start is not None and start != "root" and _asks_position(start)
    return False
