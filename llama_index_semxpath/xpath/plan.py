"""The plan of a query: what runs, where, in which order, and what it met."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

#: What a plan step does.
Operation = Literal["step", "filter", "grade", "search", "call", "sort", "union", "value"]


@dataclass(frozen=True, slots=True)
class Pushed:
    """Text that a plan step hands to a store, with the parameters that travel beside it.

    Args:
        store: ``Milvus``, ``Ladybug``, ``NebulaGraph``, ``SQLite``.
        text: Filter expression or statement, exactly as sent.
        parameters: Bound values, never part of the text.
    """

    store: str
    text: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class PlanStep:
    """One operation of a plan.

    Args:
        operation: What it does.
        text: The part of the query that it carries out, in canonical form.
        engine: Name of the engine that runs it.
        method: How: the access path or strategy, in a few words.
        estimate: Nodes expected, by the statistics.
        actual: Nodes that came out; ``None`` until it ran.
        ms: Milliseconds spent; ``None`` until it ran.
        pushed: What a store was asked.
        children: Operations inside it (a step's filters).
    """

    operation: Operation
    text: str
    engine: str = "memory"
    method: str = ""
    estimate: int | None = None
    actual: int | None = None
    ms: float | None = None
    pushed: Pushed | None = None
    children: list[PlanStep] = field(default_factory=list)

    def walk(self, depth: int = 0) -> Iterator[tuple[int, PlanStep]]:
        """This step and those inside it, with their depth."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form, without what is not known."""
        found: dict[str, Any] = {
            "operation": self.operation,
            "text": self.text,
            "engine": self.engine,
            "method": self.method,
            "estimate": self.estimate,
            "actual": self.actual,
            "ms": None if self.ms is None else round(self.ms, 3),
        }
        if self.pushed:
            found["pushed"] = {
                "store": self.pushed.store,
                "text": self.pushed.text,
                "parameters": dict(self.pushed.parameters),
            }
        if self.children:
            found["steps"] = [child.to_dict() for child in self.children]
        return {key: value for key, value in found.items() if value is not None and value != ""}


@dataclass(slots=True)
class Plan:
    """How a query runs.

    Args:
        query: The query as given.
        canonical: The query after checking and rewriting, printed.
        rules: Names of the rewrite rules that changed it, in order.
        steps: Operations in order.
        ms: Milliseconds from text to result; ``None`` until it ran.
        access: Nodes the reader may see of how many; ``None`` when all.
        scorer: What grades, in a query that does; else ``None``.
        notes: What the writer of the query may not have meant.

    Example:
        >>> print(Plan("//Section", "//Section", steps=[PlanStep("step", "//Section", estimate=3)]))
        plan of //Section
          part       engine  how  estimated  found  ms
          //Section  memory               3
    """

    query: str
    canonical: str
    rules: list[str] = field(default_factory=list)
    steps: list[PlanStep] = field(default_factory=list)
    ms: float | None = None
    access: tuple[int, int] | None = None
    scorer: str | None = None
    notes: list[str] = field(default_factory=list)

    def walk(self) -> Iterator[tuple[int, PlanStep]]:
        """All operations, with their depth."""
        for step in self.steps:
            yield from step.walk()

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        found: dict[str, Any] = {
            "query": self.query,
            "canonical": self.canonical,
            "rules": self.rules,
            "steps": [step.to_dict() for step in self.steps],
        }
        if self.ms is not None:
            found["ms"] = round(self.ms, 3)
        if self.access is not None:
            found["visible"], found["nodes"] = self.access
        if self.scorer is not None:
            found["scorer"] = self.scorer
        if self.notes:
            found["notes"] = list(self.notes)
        return found

    def __str__(self) -> str:
        from llama_index_semxpath.xpath.explain import plan_text

        return plan_text(self)

    def _repr_html_(self) -> str:
        from llama_index_semxpath.xpath.explain import plan_html

        return plan_html(self)
