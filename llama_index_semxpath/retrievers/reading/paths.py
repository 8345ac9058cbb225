"""The things of a question, ordered by which kind holds which, as one path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from llama_index_semxpath.retrievers.reading import build
from llama_index_semxpath.retrievers.reading.conditions import conditions, negate
from llama_index_semxpath.retrievers.reading.nouns import Noun
from llama_index_semxpath.retrievers.reading.vocabulary import Vocabulary
from llama_index_semxpath.xpath import ast
from llama_index_semxpath.xpath.operators import combine


@dataclass(slots=True)
class PathDraft:
    """A path while it is made.

    Args:
        vocabulary: Names of the tree.
        steps: Steps so far, the outermost first.
        reasons: What they stand for, in plain words.
    """

    vocabulary: Vocabulary
    steps: list[ast.Step] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def enter(self, nouns: Sequence[Noun], target: Noun) -> None:
        """Adds steps for the things around the target, outermost first.

        Args:
            nouns: All things of the question.
            target: The one that is asked for.
        """
        inner = target.kind
        holders = list(self.vocabulary.items) if inner == "*" else [inner]
        above = self.vocabulary.is_above
        around = [
            noun
            for noun in nouns
            if noun is not target
            and noun.kind != "*"
            and (
                (inner == "*" and noun.kind in holders)
                or any(above(noun.kind, holder) for holder in holders)
            )
        ]
        # How many of the others a thing holds says how far out it stands.
        rank = {id(noun): sum(above(noun.kind, o.kind) for o in around) for noun in around}
        for noun in sorted(around, key=lambda one: -rank[id(one)]):
            filters = conditions(noun, self.vocabulary)
            if noun.position is not None:
                # "day 4" is the fourth day; "the first open task" the first of those.
                position = _other(noun.position) if noun.excepted else noun.position
                filters.insert(0 if noun.labelled else len(filters), position)
            self.steps.extend(self._step(noun, filters))
            self.reasons.append(f"within {noun.kind}")

    def _step(self, noun: Noun, filters: Sequence[ast.Filter]) -> Sequence[ast.Step]:
        outer = self.steps[-1].test.name if self.steps else ""
        if outer and noun.kind in self.vocabulary.children.get(outer, {}):
            return [build.child(noun.kind, *filters)]
        return build.descend(noun.kind, *filters)

    def finish(self, nouns: Sequence[Noun], target: Noun, shift: int) -> ast.Expr:
        """The path with the target as its last step.

        Args:
            nouns: All things of the question.
            target: The one that is asked for.
            shift: -1 for the sibling before what fits, 1 for the one after, 0 for itself.
        """
        filters = conditions(target, self.vocabulary)
        filters.extend(self._held(nouns, target))
        position = _complement(target.position) if target.excepted else target.position
        if shift:
            filters.append(ast.Shift(shift))
        self.reasons.append(f"it asks for {target.kind if target.kind != '*' else 'items'}")
        scoped = bool(self.steps)
        if target.kind == "*":
            if not scoped or self.steps[-1].test.name not in self.vocabulary.items:
                self.steps.extend(build.descend(self._holder()))
            step: Sequence[ast.Step] = [build.child("*")]
        else:
            step = self._step(target, ())
        if position is None:
            return build.path([*self.steps, *step[:-1], _with(step[-1], filters)])
        if scoped or self._one_each(target.kind):
            return build.path([*self.steps, *step[:-1], _with(step[-1], [*filters, position])])
        whole = build.path([*self.steps, *step[:-1], _with(step[-1], filters)])
        return ast.Path(whole, filters=(position,))

    def _holder(self) -> str:
        counts = {
            holder: sum(self.vocabulary.children[holder].get(kind, 0) for kind in kinds)
            for holder, kinds in self.vocabulary.items.items()
        }
        return max(counts, key=lambda holder: counts[holder])

    def _one_each(self, kind: str) -> bool:
        """Whether all nodes of a kind stand directly below the root of their document."""
        starts = self.vocabulary.table.tree_starts
        parents = self.vocabulary.table.parent[self.vocabulary.table.rows_of(kind)]
        return len(parents) > 0 and bool(set(parents.tolist()) <= set(starts.tolist()))

    def _held(self, nouns: Sequence[Noun], target: Noun) -> list[ast.Filter]:
        """Conditions on what the target holds: some of it, or every one."""
        filters: list[ast.Filter] = []
        for noun in nouns:
            if (
                noun is target
                or noun.kind == "*"
                or not self.vocabulary.is_above(target.kind, noun.kind)
            ):
                continue
            wanted = conditions(noun, self.vocabulary)
            direct = noun.kind in self.vocabulary.children.get(target.kind, {})
            steps = [build.child(noun.kind)] if direct else list(build.below(noun.kind).steps)
            some: ast.Expr = ast.Path(None, steps=(*steps[:-1], _with(steps[-1], wanted)))
            if noun.count is not None:
                op, many = noun.count
                some = ast.Binary(op, ast.Call("count", (some,)), ast.Num(many))
            elif noun.none:
                some = build.negated(some)
            if noun.every and wanted:
                every = [negate(one) for one in wanted if isinstance(one, ast.Predicate)]
                failing = build.where(combine("or", [one.expr for one in every]))
                plain = ast.Path(None, steps=tuple(steps))
                other = ast.Path(None, steps=(*steps[:-1], _with(steps[-1], [failing])))
                filters.extend([build.where(plain), build.where(build.negated(other))])
                self.reasons.append(f"whose every {noun.kind} fits")
            else:
                filters.append(build.where(some))
                self.reasons.append(f"with a {noun.kind} that fits")
        return filters


def _other(position: ast.Filter) -> ast.Filter:
    """Every place but these."""
    if isinstance(position, ast.Index) and position.position > 0:
        return build.where(build.negated(build.at_positions([position.position])))
    if isinstance(position, ast.Predicate):
        return negate(position)
    return _complement(position) or position


def _complement(position: ast.Filter | None) -> ast.Filter | None:
    """Everything except a position at either end."""
    if isinstance(position, ast.Index):
        return ast.Slice(2, None) if position.position == 1 else ast.Slice(None, -2)
    if isinstance(position, ast.Slice) and position.last is not None:
        return ast.Slice(position.last + 1, None)
    if isinstance(position, ast.Slice) and position.first is not None:
        return ast.Slice(None, position.first - 1)
    return position


def _with(step: ast.Step, filters: Sequence[ast.Filter]) -> ast.Step:
    return ast.Step(step.axis, step.test, (*step.filters, *filters), step.repeat, step.explicit)
