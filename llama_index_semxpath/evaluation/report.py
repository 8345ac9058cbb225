"""A report as text and as one self-contained page with plots."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from llama_index_semxpath.evaluation.run import Report
from llama_index_semxpath.text import padded

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:64rem;padding:0 1rem;
color:#1b1f24}table{border-collapse:collapse;margin:1rem 0}th,td{padding:.3rem .7rem;
border-bottom:1px solid #d6dae0;text-align:right}th:first-child,td:first-child{text-align:left}
svg{max-width:100%}
.best{font-weight:600}.note{color:#59636e}
@media(prefers-color-scheme:dark){body{background:#14171a;color:#e4e7ea}th,td{border-color:#3a4048}}
"""
_BARS = ("#3b6ea8", "#c2703d", "#4f8f5b", "#8a5fa8", "#a8883b", "#5a8a94")


def to_text(report: Report) -> str:
    """The report as a table for a terminal, with paired comparisons below it.

    Args:
        report: The report.
    """
    metrics = _shown(report)
    names = list(report.rows)
    width = max(len(name) for name in names) + 2
    lines = [padded("", width) + "".join(f"{metric:>16}" for metric in metrics)]
    for name in names:
        cells = "".join(f"{report.mean(name, metric):>16.3f}" for metric in metrics)
        lines.append(padded(name, width) + cells)
    last = names[-1]
    for metric in (one for one in metrics if one.startswith("recall@")):
        lines += ["", f"{last} against, {metric} (95 % paired bootstrap interval)"]
        for name in names[:-1]:
            one = report.compare(last, name, metric)
            said = f"{one.difference:+.3f} [{one.low:+.3f}, {one.high:+.3f}]"
            lines.append(f"  {padded(name, width)}{said}  better {one.better}, worse {one.worse}")
    if report.failures:
        lines += ["", f"{len(report.failures)} failures, the first: {report.failures[0]}"]
    return "\n".join(lines)


def to_html(report: Report) -> str:
    """The report as one page: nothing is loaded from anywhere, all text is escaped.

    Args:
        report: The report.
    """
    metrics = _shown(report)
    names = list(report.rows)
    count = len(report.rows[names[-1]])
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width'>",
        f"<title>{escape(report.dataset)}: retrieval quality</title><style>{_STYLE}</style></head>",
        f"<body><h1>{escape(report.dataset)}</h1><p class='note'>{count} questions</p>",
        _table(report, names, metrics),
    ]
    for metric in (one for one in metrics if one.startswith("recall@")):
        parts.append(f"<h2>{escape(metric)}</h2>")
        parts.append(_bars(report, names, metric))
        parts.append(_differences(report, names, metric))
    parts.append("<h2>Seconds</h2>" + _latency(report, names))
    if report.failures:
        shown = "".join(f"<li>{escape(one)}</li>" for one in report.failures[:50])
        parts.append(f"<h2>Failures ({len(report.failures)})</h2><ul>{shown}</ul>")
    parts.append("</body></html>")
    return "\n".join(parts)


def _shown(report: Report) -> list[str]:
    return [metric for metric in report.metrics if metric != "tokens"]


def _table(report: Report, names: Sequence[str], metrics: Sequence[str]) -> str:
    best = {metric: max(report.mean(name, metric) for name in names) for metric in metrics}
    head = "".join(f"<th>{escape(metric)}</th>" for metric in metrics)
    rows = []
    for name in names:
        cells = []
        for metric in metrics:
            mean = report.mean(name, metric)
            mark = " class='best'" if mean == best[metric] and metric != "seconds" else ""
            cells.append(f"<td{mark}>{mean:.3f}</td>")
        rows.append(f"<tr><td>{escape(name)}</td>{''.join(cells)}</tr>")
    return f"<table><tr><th></th>{head}</tr>{''.join(rows)}</table>"


def _bars(report: Report, names: Sequence[str], metric: str) -> str:
    rows = []
    for at, name in enumerate(names):
        mean, y = report.mean(name, metric), 30 * at
        rows.append(
            f"<text x='0' y='{y + 18}' font-size='13' fill='currentColor'>{escape(name)}</text>"
            f"<rect x='220' y='{y + 4}' width='{460 * mean:.1f}' height='20' rx='3' "
            f"fill='{_BARS[at % len(_BARS)]}'/>"
            f"<text x='{228 + 460 * mean:.1f}' y='{y + 18}' font-size='13' fill='currentColor'>"
            f"{mean:.3f}</text>"
        )
    return _svg(740, 30 * len(names), f"{metric} by pipeline", rows)


def _differences(report: Report, names: Sequence[str], metric: str) -> str:
    """Paired differences with their intervals, around a line at 0."""
    if len(names) < 2:
        return ""
    last = names[-1]
    found = [(name, report.compare(last, name, metric)) for name in names[:-1]]
    reach = max(0.05, *(abs(edge) for _, one in found for edge in (one.low, one.high)))

    def x(value: float) -> float:
        return 450 + 220 * value / reach

    bottom = 30 * len(found)
    rows = [
        f"<line x1='450' x2='450' y1='0' y2='{bottom}' stroke='currentColor' "
        "stroke-dasharray='3 3' opacity='.5'/>"
    ]
    for at, (name, one) in enumerate(found):
        y = 30 * at + 14
        rows.append(
            f"<text x='0' y='{y + 4}' font-size='13' fill='currentColor'>{escape(name)}</text>"
            f"<line x1='{x(one.low):.1f}' x2='{x(one.high):.1f}' y1='{y}' y2='{y}' "
            "stroke='currentColor' stroke-width='2'/>"
            f"<circle cx='{x(one.difference):.1f}' cy='{y}' r='5' fill='{_BARS[0]}'>"
            f"<title>{one.difference:+.3f} [{one.low:+.3f}, {one.high:+.3f}]</title></circle>"
        )
    caption = f"<p class='note'>{escape(last)} minus the others, 95 % paired bootstrap interval</p>"
    return caption + _svg(740, bottom, f"paired differences of {metric}", rows)


def _latency(report: Report, names: Sequence[str]) -> str:
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{report.quantile(name, 'seconds', 0.5):.4f}</td>"
        f"<td>{report.quantile(name, 'seconds', 0.95):.4f}</td>"
        f"<td>{report.mean(name, 'tokens'):.0f}</td></tr>"
        for name in names
    )
    head = "<tr><th></th><th>median</th><th>95 %</th><th>tokens</th></tr>"
    return f"<table>{head}{rows}</table>"


def _svg(width: int, height: int, label: str, rows: Sequence[str]) -> str:
    return (
        f"<svg role='img' aria-label='{escape(label)}' width='{width}' height='{height}' "
        f"viewBox='0 0 {width} {height}'>{''.join(rows)}</svg>"
    )
