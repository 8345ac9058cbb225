"""From a checked and rewritten query to a plan: estimates by statistics, method by cost.

The estimates follow Selinger et al., "Access path selection", SIGMOD 1979: counts of kinds, shares
and distinct values of attributes, fixed guesses where nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from llama_index_semxpath.text import nfc, shown, string_text
from llama_index_semxpath.tree.columns import ValueType
from llama_index_semxpath.tree.table import TreeTable
from llama_index_semxpath.xpath import ast
from llama_index_semxpath.xpath.plan import Plan, PlanStep
from llama_index_semxpath.xpath.printer import to_text
from llama_index_semxpath.xpath.types import is_graded, type_of

#: Guessed shares of nodes that pass a filter about which nothing is known.
_SHARE_GRADED = 0.1
_SHARE_COMPARED = 1 / 3
_SHARE_OTHER = 0.5
#: Most values that a text is compared with for a note.
_COMPARED_VALUES = 10_000


@dataclass(frozen=True, slots=True)
class Physical:
    """What the dataset offers beside the tree.

    Args:
        exact_limit: Most candidates that are graded one by one when a search is there.
        can_search: Whether the scorer has an index to search.
        scorer: Name of the scorer, ``""`` for none.
    """

    exact_limit: int = 50_000
    can_search: bool = False
    scorer: str = ""


def make_plan(
    query: str,
    expr: ast.Expr,
    rules: Sequence[str],
    table: TreeTable,
    physical: Physical,
) -> tuple[Plan, dict[int, PlanStep]]:
    """The plan of a query, and its steps by identity of the syntax that each carries out.

    Args:
        query: The query as given.
        expr: The checked and rewritten query.
        rules: Names of the rules that changed it.
        table: The tree as the reader sees it.
        physical: What else there is.
    """
    planner = _Planner(table, physical)
    plan = Plan(query, to_text(expr), list(rules), planner.expr(expr))
    plan.scorer = (physical.scorer or "keywords") if is_graded(expr) else None
    plan.notes = planner.notes
    return plan, planner.steps


class _Planner:
    def __init__(self, table: TreeTable, physical: Physical) -> None:
        self.table = table
        self.physical = physical
        self.steps: dict[int, PlanStep] = {}
        self.notes: list[str] = []

    def expr(self, expr: ast.Expr) -> list[PlanStep]:
        match expr:
            case ast.Path():
                return self.path(expr)
            case ast.Binary("|", left, right):
                return [PlanStep("union", "|", children=[*self.expr(left), *self.expr(right)])]
            case ast.Call(name, args):
                inner = [step for arg in args for step in self.expr(arg)]
                operation = "sort" if name in ("sort", "top", "group") else "call"
                return [PlanStep(operation, f"{name}()", children=inner)]  # type: ignore[arg-type]
            case ast.Binary(op, left, right):
                inner = [*self.expr(left), *self.expr(right)]
                return [PlanStep("value", op, children=inner)] if inner else []
            case ast.Negative(operand):
                return self.expr(operand)
        return []

    def path(self, path: ast.Path) -> list[PlanStep]:
        found: list[PlanStep] = []
        estimate = 1.0
        if path.start is not None and path.start != "root":
            found += self.expr(path.start)
            estimate = float(found[-1].estimate or 1) if found else 1.0
            for part in path.filters:
                planned, estimate = self.filter(part, estimate, "", 1.0)
                found.append(planned)
        before = ""
        for place, step in enumerate(path.steps):
            if is_any_below(step, path.steps[place + 1 : place + 2]):
                # `//X[1]` runs as one: X below, counted by parent.
                continue
            planned, estimate = self.step(step, estimate, before, path, place)
            before = step.test.name if step.test.type == "name" else ""
            found.append(planned)
        return found

    def step(
        self, step: ast.Step, incoming: float, before: str, path: ast.Path, place: int
    ) -> tuple[PlanStep, float]:
        below = place > 0 and is_any_below(path.steps[place - 1], (step,))
        bare = ast.Step(step.axis, step.test, (), step.repeat, step.explicit)
        walked = ast.Step("descendant", step.test) if below else step
        start: Literal["root"] | None = "root" if path.start == "root" and place == below else None
        text = to_text(ast.Path(None, (), (bare,)))
        if below:
            text = f"//{text}"
        elif start or place > 0:
            text = f"/{text}"
        estimate = self.reached(walked, incoming, before)
        planned = PlanStep("step", text, method=self.method(walked), estimate=round(estimate))
        if below:
            planned.method += ", by parent"
            incoming = max(incoming, estimate)
        self.steps[id(step)] = planned
        parents = incoming if step.axis == "child" else max(1.0, incoming)
        for part in step.filters:
            kind = step.test.name if step.test.type == "name" else ""
            inner, estimate = self.filter(part, estimate, kind, parents)
            planned.children.append(inner)
        return planned, estimate

    def reached(self, step: ast.Step, incoming: float, before: str) -> float:
        total = float(self.count(step))
        if step.axis in ("self", "attribute"):
            return min(incoming, total) if step.axis == "self" else incoming
        if step.axis in ("parent", "ancestor", "ancestor-or-self"):
            return min(total, incoming)
        if step.axis in ("rel", "inv"):
            return self.related(step, incoming)
        share = incoming / max(1, len(self.table.rows_of(before))) if before else 1.0
        return total * min(1.0, share)

    def related(self, step: ast.Step, incoming: float) -> float:
        if step.test.type != "name":
            edges = len(self.table.edges)
        else:
            edges = len(self.table.relation_pairs(step.test.name)[0])
        return min(float(edges), incoming * max(1.0, edges / max(1, len(self.table))))

    def count(self, step: ast.Step) -> int:
        if step.test.type == "name" and step.axis not in ("attribute", "rel", "inv"):
            return len(self.table.rows_of(step.test.name))
        return len(self.table) - 1

    def method(self, step: ast.Step) -> str:
        if step.axis in ("rel", "inv"):
            return "adjacency lists, visited set"
        if step.axis == "attribute":
            return "column"
        if step.test.type == "text":
            return "own texts"
        if step.axis in ("descendant", "descendant-or-self", "following", "preceding"):
            return "row ranges"
        return {"child": "child lists", "self": "same rows"}.get(step.axis, "parents")

    def filter(
        self, part: ast.Filter, incoming: float, kind: str, parents: float
    ) -> tuple[PlanStep, float]:
        text = filter_text(part)
        if not isinstance(part, ast.Predicate):
            estimate = incoming if isinstance(part, ast.Shift) else min(incoming, parents)
            planned = PlanStep("filter", text, method="position", estimate=round(estimate))
            if isinstance(part, ast.Index) and part.position == 0:
                planned.estimate = 0
                self.notes.append("[0] selects nothing: positions start at 1")
        elif type_of(part.expr) == "number":
            estimate = min(incoming, parents)
            planned = PlanStep("filter", text, method="position", estimate=round(estimate))
        elif is_graded(part.expr):
            estimate = incoming * _SHARE_GRADED
            planned = self.grade(part, text, incoming)
            planned.estimate = math.ceil(estimate)
        else:
            estimate = incoming * self.share(part.expr, kind)
            planned = PlanStep("filter", text, method="columns", estimate=math.ceil(estimate))
        self.steps[id(part)] = planned
        return planned, estimate

    def grade(self, part: ast.Predicate, text: str, incoming: float) -> PlanStep:
        many = incoming > self.physical.exact_limit
        if many and self.physical.can_search and _is_plain_grade(part.expr):
            method = f"approximate search: above {self.physical.exact_limit:,}"
            planned = PlanStep("search", text, "vectors", method)
        else:
            planned = PlanStep("grade", text, "memory", "exact, all candidates")
        self.steps[id(part.expr)] = planned
        return planned

    def share(self, expr: ast.Expr, kind: str) -> float:
        """The share of nodes that a hard condition keeps."""
        match expr:
            case ast.Binary("=", ast.Path() as path, ast.Str(text)):
                self.near_miss(path, text)
        match expr:
            case ast.Binary("and", left, right):
                return self.share(left, kind) * self.share(right, kind)
            case ast.Binary("or", left, right):
                return min(1.0, self.share(left, kind) + self.share(right, kind))
            case ast.Call("not", (inner,)):
                return 1.0 - self.share(inner, kind)
            case ast.Binary(op, ast.Path() as path, _):
                present, distinct = self.attribute(path, kind)
                if op == "=" and distinct:
                    return present / distinct
                return present * _SHARE_COMPARED if distinct else _SHARE_COMPARED
            case ast.Path():
                present, distinct = self.attribute(expr, kind)
                return present if distinct else _SHARE_OTHER
        return _SHARE_OTHER

    def near_miss(self, path: ast.Path, text: str) -> None:
        """Notes a text that no value equals, while one does but for case and spaces."""
        if path.start is not None or len(path.steps) != 1 or path.steps[0].axis != "attribute":
            return
        column = self.table.attribute(path.steps[0].test.name)
        if column is None or not len(column.codes) or len(column.vocab) > _COMPARED_VALUES:
            return
        # The vocabulary holds what hidden nodes say, too; only what the reader may see counts.
        codes = np.unique(column.codes[column.types == ValueType.STRING]).tolist()
        values = [column.vocab[code] for code in codes]
        folded = _folded(text)
        near = next((value for value in values if _folded(value) == folded), None)
        if text in values:
            return
        if near is not None:
            name = path.steps[0].test.name
            self.notes.append(f"no @{shown(name)} is {string_text(text)}; one is {shown(near)}")

    def attribute(self, path: ast.Path, kind: str) -> tuple[float, int]:
        """Share of nodes that have an attribute, and its distinct values; 0 of them: unknown."""
        if path.start is not None or len(path.steps) != 1 or path.steps[0].axis != "attribute":
            return 1.0, 0
        column = self.table.attribute(path.steps[0].test.name)
        if column is None:
            return 0.0, 1
        whole = self.table.rows_of(kind) if kind else self.table.all_rows
        present = min(1.0, len(column) / max(1, len(whole)))
        if column.uniform == ValueType.STRING:
            return present, max(1, len(column.vocab))
        sample = column.numbers[:: max(1, len(column.numbers) // 1000)]
        return present, max(1, len(np.unique(sample)))


def is_any_below(step: ast.Step, following: Sequence[ast.Step]) -> bool:
    """Whether a step is the ``//`` in front of a child step, with which it runs as one.

    Args:
        step: The step.
        following: The step behind it, empty at the end of a path.
    """
    plain = step.axis == "descendant-or-self" and step.test.type == "any-node" and not step.filters
    return plain and any(after.axis == "child" and after.test.type != "text" for after in following)


def filter_text(part: ast.Filter) -> str:
    """A filter as it stands in a query.

    Example:
        >>> filter_text(ast.Index(2))
        '[2]'
    """
    text = to_text(ast.Path(None, (), (ast.Step("self", ast.Test("any-name"), (part,)),)))
    return text[text.index("[") :]


def _folded(text: str) -> str:
    return " ".join(nfc(text).casefold().split())


def _is_plain_grade(expr: ast.Expr) -> bool:
    return isinstance(expr, ast.Binary) and expr.op == "=~" and isinstance(expr.left, ast.Path)
