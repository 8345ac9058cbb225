"""Plans and traces for people: aligned text in a terminal, tables in a notebook."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from llama_index_semxpath.xpath.plan import Plan, PlanStep

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class TraceNode:
    """A node that a filter or step kept or dropped.

    Args:
        id: Node id.
        label: Kind and title, for people.
        score: The score it got there, in [0, 1].
    """

    id: str
    label: str
    score: float


@dataclass(slots=True)
class TraceStep:
    """What one step or filter did.

    Args:
        text: The part of the query.
        threshold: Least score that passes, for a graded filter; ``None`` for a hard one.
        kept: Nodes that passed.
        dropped: Nodes that did not.
        kept_count: How many passed (``kept`` may be cut).
        dropped_count: How many did not (``dropped`` may be cut).
    """

    text: str
    threshold: float | None
    kept: list[TraceNode]
    dropped: list[TraceNode]
    kept_count: int
    dropped_count: int


@dataclass(slots=True)
class Trace:
    """For every step the nodes kept and dropped, with their scores."""

    steps: list[TraceStep] = field(default_factory=list)

    def to_dict(self) -> list[dict[str, Any]]:
        """JSON-able form."""
        return [
            {
                "text": step.text,
                "threshold": step.threshold,
                "kept_count": step.kept_count,
                "dropped_count": step.dropped_count,
                "kept": [_node_dict(node) for node in step.kept],
                "dropped": [_node_dict(node) for node in step.dropped],
            }
            for step in self.steps
        ]

    def __str__(self) -> str:
        return trace_text(self)

    def _repr_html_(self) -> str:
        return trace_html(self)


def plan_text(plan: Plan) -> str:
    """The plan as an aligned table.

    Example:
        >>> step = PlanStep("step", "//Row", method="postings of Row", estimate=9, actual=9, ms=0.2)
        >>> print(plan_text(Plan("//Row", "//Row", steps=[step])))
        plan of //Row
          //Row  [memory]  postings of Row  est 9  got 9  0.20 ms
    """
    lines = [f"plan of {plan.query}"]
    if plan.canonical != plan.query:
        lines.append(f"  runs as {plan.canonical}")
    if plan.rules:
        lines.append(f"  rules   {', '.join(plan.rules)}")
    if plan.access is not None:
        lines.append(f"  access  {plan.access[0]} of {plan.access[1]} nodes visible")
    rows = [_cells(depth, step) for depth, step in plan.walk()]
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)] if rows else []
    for (_, step), row in zip(plan.walk(), rows, strict=True):
        cells = [_pad(cell, width) for cell, width in zip(row, widths, strict=True) if width]
        lines.append("  " + "  ".join(cells).rstrip())
        if step.pushed:
            lines.append(f"      {step.pushed.store}: {step.pushed.text}")
            if step.pushed.parameters:
                lines.append(f"      with {dict(step.pushed.parameters)}")
    if plan.ms is not None:
        lines.append(f"  total {plan.ms:.2f} ms")
    return "\n".join(lines)


def plan_html(plan: Plan) -> str:
    """The plan as an HTML table; all text escaped."""
    head = "".join(f"<th>{name}</th>" for name in ("part", "engine", "how", "est", "got", "ms"))
    body = []
    for depth, step in plan.walk():
        pushed = ""
        if step.pushed:
            pushed = f"<br><code>{html.escape(f'{step.pushed.store}: {step.pushed.text}')}</code>"
        cells = (
            f'<td style="text-align:left;padding-left:{depth + 0.5}em">'
            f"<code>{html.escape(step.text)}</code>{pushed}</td>"
            f"<td>{html.escape(step.engine)}</td><td>{html.escape(step.method)}</td>"
            f"<td>{_number(step.estimate)}</td><td>{_number(step.actual)}</td>"
            f"<td>{'' if step.ms is None else f'{step.ms:.2f}'}</td>"
        )
        body.append(f"<tr>{cells}</tr>")
    total = "" if plan.ms is None else f"<p>total {plan.ms:.2f} ms</p>"
    return (
        f"<p><code>{html.escape(plan.canonical)}</code></p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>{total}"
    )


def trace_text(trace: Trace) -> str:
    """The trace as text: ``+`` kept, ``-`` dropped, each with its score."""
    lines: list[str] = []
    for step in trace.steps:
        bar = "" if step.threshold is None else f", threshold {step.threshold:.2f}"
        lines.append(f"{step.text}  kept {step.kept_count}, dropped {step.dropped_count}{bar}")
        lines += _trace_lines("+", step.kept, step.kept_count)
        lines += _trace_lines("-", step.dropped, step.dropped_count)
    return "\n".join(lines)


def trace_html(trace: Trace) -> str:
    """The trace as HTML lists that fold; all text escaped."""
    parts = []
    for step in trace.steps:
        bar = "" if step.threshold is None else f", threshold {step.threshold:.2f}"
        items = "".join(
            f"<li>{mark} {node.score:.3f} {html.escape(node.label)}</li>"
            for mark, nodes in (("+", step.kept), ("−", step.dropped))
            for node in nodes[:_SHOWN]
        )
        parts.append(
            f"<details><summary><code>{html.escape(step.text)}</code> kept {step.kept_count},"
            f" dropped {step.dropped_count}{bar}</summary><ul>{items}</ul></details>"
        )
    return "".join(parts)


def _trace_lines(mark: str, nodes: Sequence[TraceNode], count: int) -> list[str]:
    lines = [f"  {mark} {node.score:.3f}  {node.label}" for node in nodes[:_SHOWN]]
    if count > len(lines):
        lines.append(f"  {mark} … {count - len(lines)} more")
    return lines


def _node_dict(node: TraceNode) -> dict[str, Any]:
    return {"id": node.id, "label": node.label, "score": round(node.score, 6)}


def _cells(depth: int, step: PlanStep) -> list[str]:
    return [
        "  " * depth + _cut(step.text),
        f"[{step.engine}]",
        step.method,
        "" if step.estimate is None else f"est {step.estimate:,}",
        "" if step.actual is None else f"got {step.actual:,}",
        "" if step.ms is None else f"{step.ms:.2f} ms",
    ]


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _cut(text: str, width: int = 60) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _width(text))
