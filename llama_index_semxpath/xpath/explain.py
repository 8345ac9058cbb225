"""Plans and traces for people: aligned text in a terminal, tables in a notebook."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from llama_index_semxpath.text import cut, width
from llama_index_semxpath.xpath.plan import Plan, PlanStep, Pushed

#: Nodes listed for each side of a filter.
_SHOWN = 8
_WIDTH = 100
_COLUMNS = ("part", "engine", "how", "estimated", "found", "ms")
#: How many of them are texts, before the figures.
_TEXTS = 3
_TABLE = "border-collapse:collapse;font-size:90%"
_LEFT = "text-align:left;padding:2px 8px;vertical-align:top"
_RIGHT = "text-align:right;padding:2px 8px;vertical-align:top"


@dataclass(frozen=True, slots=True)
class TraceNode:
    """A node that a filter or step kept or dropped.

    Args:
        id: Node id.
        label: Kind and title, for people.
        score: The score it got there, in [0, 1].
        parts: Where the filter combines several grades: each one's score.
    """

    id: str
    label: str
    score: float
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class TraceStep:
    """What one step reached, or one filter kept and dropped.

    Args:
        text: The part of the query.
        threshold: Least score that passes, for a graded filter; ``None`` for a hard one.
        kept: Nodes that passed, or were reached.
        dropped: Nodes that did not pass.
        kept_count: How many passed (``kept`` may be cut).
        dropped_count: How many did not (``dropped`` may be cut).
        operation: Whether a step reached the nodes or a filter sorted them out.
    """

    text: str
    threshold: float | None
    kept: list[TraceNode]
    dropped: list[TraceNode]
    kept_count: int
    dropped_count: int
    operation: Literal["step", "filter"] = "filter"

    def figures(self) -> str:
        """The counts in words."""
        if self.operation == "step":
            return f"reached {self.kept_count:,}"
        bar = "" if self.threshold is None else f", threshold {self.threshold:.2f}"
        return f"kept {self.kept_count:,}, dropped {self.dropped_count:,}{bar}"


@dataclass(slots=True)
class Trace:
    """For every step the nodes reached, for every filter those kept and dropped, with scores."""

    steps: list[TraceStep] = field(default_factory=list)

    def to_dict(self) -> list[dict[str, Any]]:
        """JSON-able form."""
        return [
            {
                "operation": step.operation,
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
          part   engine  how              estimated  found    ms
          //Row  memory  postings of Row          9      9  0.20
    """
    lines = [f"plan of {plan.query}", *(f"  {name:<8}{text}" for name, text in _facts(plan))]
    rows = [_cells(depth, step) for depth, step in plan.walk()]
    widths = [max(map(width, column)) for column in zip(_COLUMNS, *rows, strict=True)]
    if rows:
        lines.append(_line(_COLUMNS, widths))
    for (depth, step), row in zip(plan.walk(), rows, strict=True):
        lines.append(_line(row, widths))
        if step.pushed:
            lines += _pushed_lines(step.pushed, "  " * (depth + 3))
    if plan.ms is not None:
        lines.append(f"  total {plan.ms:.2f} ms")
    return "\n".join(lines)


def plan_html(plan: Plan) -> str:
    """The plan as an HTML table; all text escaped."""
    head = "".join(
        f'<th style="{_LEFT if at < _TEXTS else _RIGHT}">{name}</th>'
        for at, name in enumerate(_COLUMNS)
    )
    body = "".join(_row_html(depth, step) for depth, step in plan.walk())
    facts = "".join(
        f"<div>{name}: <code>{html.escape(text)}</code></div>" for name, text in _facts(plan)
    )
    total = "" if plan.ms is None else f"<div>total {plan.ms:.2f} ms</div>"
    return (
        f"<div><strong>plan of</strong> <code>{html.escape(plan.query)}</code></div>{facts}"
        f'<table style="{_TABLE}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>{total}"
    )


def trace_text(trace: Trace) -> str:
    """The trace as text: ``+`` kept, ``-`` dropped, each with its score.

    Example:
        >>> near = TraceNode("s1", "Section Leave", 0.42)
        >>> step = TraceStep('[. =~ "backup"]', 0.5, [], [near], 0, 1)
        >>> print(trace_text(Trace([step])))
          [. =~ "backup"]  kept 0, dropped 1, threshold 0.50
            - 0.420  Section Leave
    """
    lines: list[str] = []
    for step in trace.steps:
        if step.operation == "step":
            lines.append(f"{step.text}  {step.figures()}")
            continue
        lines.append(f"  {step.text}  {step.figures()}")
        lines += _trace_lines("+", step.kept, step.kept_count, step.threshold is not None)
        lines += _trace_lines("-", step.dropped, step.dropped_count, step.threshold is not None)
    return "\n".join(lines)


def trace_html(trace: Trace) -> str:
    """The trace as HTML lists that fold, graded filters open; all text escaped."""
    return "".join(_step_html(step) for step in trace.steps)


# -- parts ------------------------------------------------------------------------------------


def _facts(plan: Plan) -> list[tuple[str, str]]:
    """What holds for the whole plan."""
    facts = []
    if plan.canonical != plan.query:
        facts.append(("runs as", plan.canonical))
    if plan.rules:
        facts.append(("rules", ", ".join(plan.rules)))
    if plan.scorer is not None:
        facts.append(("graded", f"by {plan.scorer}"))
    if plan.access is not None:
        facts.append(("access", f"{plan.access[0]:,} of {plan.access[1]:,} nodes visible"))
    facts += [("note", note) for note in plan.notes]
    return facts


def _cells(depth: int, step: PlanStep) -> list[str]:
    return [
        "  " * depth + cut(step.text, 60),
        step.engine,
        step.method,
        _number(step.estimate),
        _number(step.actual),
        "" if step.ms is None else f"{step.ms:.2f}",
    ]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """A line of the table: texts to the left, figures to the right."""
    padded = [
        cell + " " * (room - width(cell)) if at < _TEXTS else " " * (room - width(cell)) + cell
        for at, (cell, room) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  " + "  ".join(padded).rstrip()


def _pushed_lines(pushed: Pushed, indent: str) -> list[str]:
    """What a store was asked, whole, and the values that went beside it."""
    lines = [f"{indent}{pushed.store}: {line}" for line in (pushed.text or "no filter").split("\n")]
    for name, value in pushed.parameters.items():
        lines.append(f"{indent}  {name} = {_value(value)}")
    return lines


def _row_html(depth: int, step: PlanStep) -> str:
    pushed = ""
    if step.pushed:
        values = "".join(
            f"<br>{html.escape(f'{name} = {_value(value)}')}"
            for name, value in step.pushed.parameters.items()
        )
        asked = html.escape(f"{step.pushed.store}: {step.pushed.text or 'no filter'}")
        pushed = f'<div style="font-size:90%"><code>{asked}</code>{values}</div>'
    return (
        f'<tr><td style="{_LEFT};padding-left:{depth * 1.5 + 0.5}em">'
        f"<code>{html.escape(step.text)}</code>{pushed}</td>"
        f'<td style="{_LEFT}">{html.escape(step.engine)}</td>'
        f'<td style="{_LEFT}">{html.escape(step.method)}</td>'
        f'<td style="{_RIGHT}">{_number(step.estimate)}</td>'
        f'<td style="{_RIGHT}">{_number(step.actual)}</td>'
        f'<td style="{_RIGHT}">{"" if step.ms is None else f"{step.ms:.2f}"}</td></tr>'
    )


def _step_html(step: TraceStep) -> str:
    graded = step.threshold is not None
    is_step = step.operation == "step"
    items = [
        f'<li style="list-style:none">{"" if is_step else "+ "}{_traced_html(node, graded)}</li>'
        for node in step.kept[:_SHOWN]
    ]
    items += [
        f'<li style="list-style:none;opacity:.65">\u2212 {_traced_html(node, graded)}</li>'
        for node in step.dropped[:_SHOWN]
    ]
    rest = step.kept_count + step.dropped_count - len(items)
    if rest > 0:
        items.append(f'<li style="list-style:none">… {rest:,} more</li>')
    return (
        f'<details{" open" if graded else ""} style="margin-left:{0 if is_step else 1}em">'
        f"<summary><code>{html.escape(step.text)}</code> {step.figures()}</summary>"
        f'<ul style="margin:0 0 4px 0">{"".join(items)}</ul></details>'
    )


def _traced_html(node: TraceNode, graded: bool) -> str:
    return html.escape(_traced(node, graded))


def _trace_lines(mark: str, nodes: Sequence[TraceNode], count: int, graded: bool) -> list[str]:
    lines = [f"    {mark} {_traced(node, graded)}" for node in nodes[:_SHOWN]]
    if count > len(lines):
        lines.append(f"    {mark} … {count - len(lines):,} more")
    return lines


def _traced(node: TraceNode, graded: bool) -> str:
    """A node with its score where there is one beside yes and no."""
    if not graded:
        return node.label
    parts = "; ".join(f"{name} {score:.3f}" for name, score in node.parts.items())
    return f"{node.score:.3f}  {node.label}" + (f"  ({parts})" if parts else "")


def _node_dict(node: TraceNode) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": node.id,
        "label": node.label,
        "score": round(node.score, 6),
    }
    if node.parts:
        found["parts"] = {name: round(score, 6) for name, score in node.parts.items()}
    return found


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return cut(text, _WIDTH)


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
