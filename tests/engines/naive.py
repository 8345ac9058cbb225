"""An evaluator that walks node by node, written from the specification: the oracle of the engine.

It knows only what `random_queries.graded_query` makes, and takes no short cut anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.xpath import ast
from llama_index_semxpath.xpath.types import type_of

Grade = Callable[[str, str], float]
Scored = dict[int, float]


@dataclass
class Naive:
    """Evaluates over nodes in document order; ``hidden`` ids do not exist."""

    nodes: list[TreeNode]
    grade: Grade
    hidden: set[str] = field(default_factory=set)
    threshold: float = 0.5

    def __post_init__(self) -> None:
        place = {node.id: row for row, node in enumerate(self.nodes, 1)}
        self.parent = [-1, *(0 if n.parent is None else place[n.parent] for n in self.nodes)]
        self.visible = [True, *(node.id not in self.hidden for node in self.nodes)]

    def node(self, row: int) -> TreeNode:
        return self.nodes[row - 1]

    def up(self, row: int) -> int | None:
        """The parent, where it may be seen; the root is one."""
        above = self.parent[row]
        return above if above >= 0 and self.visible[above] else None

    def ancestors(self, row: int) -> list[int]:
        found, above = [], self.parent[row]
        while above > 0:
            if self.visible[above]:
                found.append(above)
            above = self.parent[above]
        return found

    def rows(self) -> list[int]:
        return [row for row in range(1, len(self.nodes) + 1) if self.visible[row]]

    def below(self, row: int) -> list[int]:
        return [x for x in self.rows() if x > row and self._under(x, row)]

    def _under(self, row: int, top: int) -> bool:
        while row > top:
            row = self.parent[row]
        return row == top

    def children(self, row: int) -> list[int]:
        return [x for x in self.rows() if self.parent[x] == row]

    def tree_of(self, row: int) -> int:
        while self.parent[row] > 0:
            row = self.parent[row]
        return row

    def axis(self, axis: str, row: int) -> list[int]:
        """Nodes of an axis, in axis order."""
        above = self.up(row)
        family = [] if above is None else self.children(above)
        apart = {*self.ancestors(row), *self.below(row), row}
        same = [x for x in self.rows() if row and self.tree_of(x) == self.tree_of(row)]
        table = {
            "child": lambda: self.children(row),
            "descendant": lambda: self.below(row),
            "descendant-or-self": lambda: [row, *self.below(row)],
            "self": lambda: [row],
            "parent": lambda: [] if above is None else [above],
            "ancestor": lambda: self.ancestors(row),
            "ancestor-or-self": lambda: [row, *self.ancestors(row)],
            "following-sibling": lambda: [x for x in family if x > row],
            "preceding-sibling": lambda: [x for x in family if x < row][::-1],
            "following": lambda: [x for x in same if x > row and x not in apart],
            "preceding": lambda: [x for x in same if x < row and x not in apart][::-1],
        }
        return table[axis]()

    def path(self, path: ast.Path, context: int) -> Scored:
        found: Scored
        if path.start is None:
            found = {context: 1.0}
        elif path.start == "root":
            found = {0: 1.0}
        else:
            assert isinstance(path.start, ast.Path)
            found = self.path(path.start, context)
            group = sorted(found.items())
            for part in path.filters:
                group = self.filter(group, part)
            found = dict(group)
        steps = list(path.steps)
        while steps:
            step = steps.pop(0)
            plain = step.axis == "descendant-or-self" and step.test.type == "any-node"
            if plain and not step.filters and steps and steps[0].axis == "child":
                found = self.children_below(found, steps.pop(0))
            else:
                found = self.step(found, step)
        return found

    def step(self, found: Scored, step: ast.Step) -> Scored:
        result: Scored = {}
        for row, score in found.items():
            self.group(result, self.axis(step.axis, row), score, step)
        return result

    def children_below(self, found: Scored, step: ast.Step) -> Scored:
        """``//X``: the children of each node below, and each node whose parent is hidden."""
        result: Scored = {}
        for row, score in found.items():
            inside = [row, *self.below(row)]
            for parent in inside:
                self.group(result, self.children(parent), score, step)
            for alone in inside[1:]:
                if self.up(alone) is None:
                    self.group(result, [alone], score, step)
        return result

    def group(self, result: Scored, rows: list[int], score: float, step: ast.Step) -> None:
        group = [(row, 1.0) for row in rows if self.admits(step, row)]
        for part in step.filters:
            group = self.filter(group, part)
        for row, local in group:
            result[row] = max(result.get(row, -1.0), score * local)

    def admits(self, step: ast.Step, row: int) -> bool:
        if step.test.type == "any-node":
            return row > 0 or step.axis in ("self", "parent", "descendant-or-self")
        return row > 0 and step.test.name in ("", self.node(row).kind)

    def filter(self, group: list[tuple[int, float]], part: ast.Filter) -> list[tuple[int, float]]:
        size = len(group)
        if isinstance(part, ast.Index):
            place = part.position if part.position >= 0 else size + 1 + part.position
            return [entry for i, entry in enumerate(group, 1) if i == place]
        if isinstance(part, ast.Slice):
            low, high = (
                size + 1 + b if b is not None and b < 0 else b for b in (part.first, part.last)
            )
            return [
                entry
                for i, entry in enumerate(group, 1)
                if (low is None or i >= low) and (high is None or i <= high)
            ]
        if isinstance(part, ast.Shift):
            return [(new, s) for row, s in group if (new := self.shifted(row, part.offset))]
        kept = []
        for place, (row, score) in enumerate(group, 1):
            value = self.value(part.expr, row, place, size)
            if type_of(part.expr) == "number":
                if value == place:
                    kept.append((row, score))
            elif isinstance(value, bool):
                if value:
                    kept.append((row, score))
            elif (share := min(1.0, max(0.0, value))) >= self.threshold:
                kept.append((row, score * share))
        return kept

    def shifted(self, row: int, offset: int) -> int | None:
        above = self.up(row)
        family = [] if above is None else self.children(above)
        place = family.index(row) + offset if row in family else -1
        return family[place] if 0 <= place < len(family) else None

    def value(self, expr: ast.Expr, row: int, place: int, size: int) -> float | bool:
        match expr:
            case ast.Num(number):
                return float(number)
            case ast.Path():
                if expr.steps[-1].axis == "attribute":
                    return self.attribute(expr, row) is not None
                found = self.path(expr, row)
                if not self.graded(expr):
                    return bool(found)
                return max(found.values(), default=0.0)
            case ast.Binary("=~", _, ast.Str(phrase)):
                return self.grade(phrase, self.node(row).id)
            case ast.Binary(("and" | "or") as op, left, right):
                a, b = (self.value(side, row, place, size) for side in (left, right))
                if isinstance(a, bool) and isinstance(b, bool):
                    return (a and b) if op == "and" else (a or b)
                return min(float(a), float(b)) if op == "and" else max(float(a), float(b))
            case ast.Binary(("*" | "-") as op, left, right):
                a, b = (float(self.value(side, row, place, size)) for side in (left, right))
                return a * b if op == "*" else a - b
            case ast.Binary(op, ast.Path() as path, ast.Num(number)):
                own = self.attribute(path, row)
                return own is not None and _compare(op, float(own), float(number))
            case ast.Binary(op, left, right):
                a, b = (float(self.value(side, row, place, size)) for side in (left, right))
                return _compare(op, a, b)
            case ast.Call("position"):
                return float(place)
            case ast.Call("last"):
                return float(size)
            case ast.Call("count", (ast.Path() as path,)):
                return float(len(self.path(path, row)))
            case ast.Call("not", (inner,)):
                value = self.value(inner, row, place, size)
                return (not value) if isinstance(value, bool) else 1.0 - value
            case ast.Call(name, (ast.Path() as path,)) if name.startswith("agg_"):
                return self.evidence(name, path, row)
            case ast.Call(name, args):
                return _mean(name, [float(self.value(arg, row, place, size)) for arg in args])
        raise AssertionError(expr)

    def attribute(self, path: ast.Path, row: int) -> float | None:
        value = self.node(row).attributes.get(path.steps[-1].test.name)
        assert value is None or isinstance(value, int | float)
        return value

    def evidence(self, name: str, path: ast.Path, row: int) -> float:
        """The last filter grades and drops nothing."""
        last = path.steps[-1].filters[-1]
        assert isinstance(last, ast.Predicate)
        step = ast.Step(path.steps[-1].axis, path.steps[-1].test, path.steps[-1].filters[:-1])
        found = self.path(ast.Path(path.start, (), (*path.steps[:-1], step)), row)
        scores = [s * float(self.value(last.expr, x, 1, 1)) for x, s in sorted(found.items())]
        return _mean(name.removeprefix("agg_"), scores) if scores else 0.0

    def graded(self, expr: ast.Expr) -> bool:
        from llama_index_semxpath.xpath.types import is_graded

        return is_graded(expr)


def _compare(op: str, a: float, b: float) -> bool:
    return {"=": a == b, "!=": a != b, "<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b}[op]


def _mean(name: str, scores: list[float]) -> float:
    if name == "min":
        return min(scores)
    if name == "max":
        return max(scores)
    if name == "avg":
        return sum(scores) / len(scores)
    return math.prod(scores) ** (1 / len(scores))
