"""Results, trees and plans as light HTML for notebooks: self-contained, escaped, dark-mode fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from llama_index_semxpath.display.text import ARROW, NodeDict, body, where

#: Most results and nodes shown; a notebook must stay light.
MOST = 200
_TEXT = 300

# Colours are mixed from the notebook's own text colour, so that dark themes read well too.
_STYLE = """<style>
.sxp{font-size:13px;line-height:1.45;color:inherit}
.sxp ol{margin:0;padding-left:2.2em}.sxp li{margin:.35em 0}
.sxp .m,.sxp .x{color:color-mix(in srgb,currentColor 60%,transparent);font-size:12px}
.sxp .s{float:right;font-variant-numeric:tabular-nums}
.sxp .b{display:inline-block;height:.6em;background:#3b82f6;border-radius:2px;vertical-align:middle}
.sxp .k{color:#3b82f6}.sxp details{margin-left:1.1em}.sxp summary{cursor:pointer}
.sxp .leaf{margin-left:2.2em}.sxp pre{white-space:pre-wrap;margin:.2em 0}
.sxp .p{color:color-mix(in srgb,currentColor 60%,transparent)}.sxp .p mark{font-weight:600}
.sxp table{border-collapse:collapse}.sxp td,.sxp th{padding:.15em .6em;text-align:left}
.sxp mark{background:color-mix(in srgb,#f59e0b 35%,transparent);color:inherit}
</style>"""


def matches_html(matches: Sequence[NodeDict], *, query: str = "") -> str:
    """A result as a list: path, score with a bar, place, first words.

    Args:
        matches: Matches of ``interface.md``.
        query: Shown above the list.

    Returns:
        HTML without scripts; every text of a document is escaped.

    Example:
        >>> "<script>" in matches_html([{"kind": "P", "id": "1", "text": "<script>", "score": 1.0}])
        False
    """
    items = "".join(_match(match) for match in matches[:MOST])
    more = f'<div class="m">… and {len(matches) - MOST} more</div>' if len(matches) > MOST else ""
    count = f"{len(matches)} result{'' if len(matches) == 1 else 's'}"
    head = f'<div class="m">{_text(query)}{" — " if query else ""}{count}</div>'
    return f'{_STYLE}<div class="sxp">{head}<ol>{items}</ol>{more}</div>'


def result_html(
    matches: Sequence[NodeDict],
    *,
    query: str = "",
    value: object = None,
    parts: Mapping[str, str] | None = None,
) -> str:
    """A query's result: its value or matches, with plan and trace folded below.

    Args:
        matches: Matches of ``interface.md``.
        query: Shown above.
        value: What a query gives that does not end in nodes, as JSON values.
        parts: Title to HTML of what is folded.

    Example:
        >>> "42" in result_html([], query="count(//Row)", value=42)
        True
    """
    if value is None:
        main = matches_html(matches, query=query)
    elif isinstance(value, list) and value and isinstance(value[0], Mapping):
        main = table_html(value, ["key", "count"])
    else:
        shown = value if isinstance(value, list) else [value]
        lines = "".join(f"<div>{_text(_figure(one))}</div>" for one in shown[:MOST])
        main = f'{_STYLE}<div class="sxp"><div class="m">{_text(query)}</div>{lines}</div>'
    folded = "".join(
        f"<details><summary>{_text(title)}</summary>{body}</details>"
        for title, body in (parts or {}).items()
    )
    return f'{main}<div class="sxp">{folded}</div>' if folded else main


def store_html(
    title: str, facts: Mapping[str, object], documents: Iterable[Mapping[str, object]]
) -> str:
    """A store at a glance: what it holds, and its documents.

    Args:
        title: What it is.
        facts: Names and figures.
        documents: ``id``, ``title`` and ``nodes`` of each.

    Example:
        >>> "3 Row" in store_html("store", {"Row": 3}, [])
        True
    """
    held = " · ".join(f"{value} {name}" for name, value in facts.items())
    rows = list(documents)
    table = table_html(rows[:MOST], ["id", "title", "nodes"]) if rows else ""
    more = f'<div class="m">… and {len(rows) - MOST} more</div>' if len(rows) > MOST else ""
    return (
        f'{_STYLE}<div class="sxp"><b>{_text(title)}</b><div class="m">{_text(held)}</div>'
        f"<details><summary>{len(rows)} documents</summary>{table}{more}</details></div>"
    )


def answer_html(
    text: str,
    citations: Sequence[Mapping[str, Any]],
    *,
    confidence: float,
    reasons: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> str:
    """An answer with where its citations lead, and how far to trust it.

    Example:
        >>> "confidence 0.90" in answer_html("Two litres. [1]", [], confidence=0.9)
        True
    """
    cited = "".join(
        f"<li>{_text(ARROW.join([str(one['document']), *map(str, one['path'])]))}"
        f"{_text(' · page ' + str(one['page'])) if one.get('page') else ''}</li>"
        for one in citations
    )
    said = "".join(f"<li>{_text(note)}</li>" for note in [*reasons, *notes])
    return (
        f'{_STYLE}<div class="sxp"><pre style="font-family:inherit">{_text(text)}</pre>'
        f"<ol>{cited}</ol><details><summary>confidence {confidence:.2f}</summary>"
        f"<ul>{said}</ul></details></div>"
    )


def tree_html(nodes: Iterable[NodeDict], *, matched: Iterable[str] = ()) -> str:
    """Nodes in document order as a tree to unfold.

    Args:
        nodes: Nodes of ``interface.md``, parents before children.
        matched: Ids to highlight; the way to each is unfolded.

    Returns:
        HTML without scripts.

    Example:
        >>> nodes = [{"id": "d", "kind": "Document", "parent": None, "title": "T"}]
        >>> "T" in tree_html(nodes)
        True
    """
    shown = list(nodes)[: MOST * 10]
    marked = set(matched)
    children: dict[str | None, list[NodeDict]] = {}
    parents = {str(node["id"]): node.get("parent") for node in shown}
    for node in shown:
        parent = node.get("parent")
        children.setdefault(parent if parent in parents else None, []).append(node)
    opened = set(marked)
    for start in marked:
        above = parents.get(start)
        while above is not None and above not in opened:
            opened.add(above)
            above = parents.get(above)
    return f'{_STYLE}<div class="sxp">{_branches(children, marked, opened)}</div>'


def table_html(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Rows (a plan, a trace, a schema) as a plain table.

    Example:
        >>> "<td>1</td>" in table_html([{"step": 1}], ["step"])
        True
    """
    head = "".join(f"<th>{_text(column)}</th>" for column in columns)
    lines = "".join(
        "<tr>" + "".join(f"<td>{_text(row.get(column, ''))}</td>" for column in columns) + "</tr>"
        for row in rows
    )
    return f'{_STYLE}<div class="sxp"><table><tr>{head}</tr>{lines}</table></div>'


def pre_html(text: str) -> str:
    """A plain text as it is, escaped.

    Example:
        >>> "&lt;b&gt;" in pre_html("<b>")
        True
    """
    return f'{_STYLE}<div class="sxp"><pre>{_text(text)}</pre></div>'


def _match(match: NodeDict) -> str:
    score = match.get("score")
    bar = ""
    if score is not None:
        width = 40 * float(score)
        bar = (
            f'<span class="s"><span class="b" style="width:{width:.0f}px"></span>'
            f" {float(score):.2f}</span>"
        )
    titles = where(match).split(ARROW)
    above = _text(ARROW.join(titles[:-1]) + (ARROW if len(titles) > 1 else ""))
    last = _text(titles[-1] or str(match.get("document") or match["id"]))
    head = f'<span class="p">{above}<mark>{last}</mark></span>'
    facts = " · ".join(
        str(fact) for fact in (match["kind"], match.get("document"), match.get("xpath")) if fact
    )
    why = "; ".join(f"{name} {_figure(value)}" for name, value in (match.get("why") or {}).items())
    text = body(match)
    short = text if len(text) <= _TEXT else text[:_TEXT] + " …"
    return (
        f"<li>{bar}{head}<div>{_text(short)}</div>"
        f'<div class="x">{_text(facts)}{" — " if why else ""}{_text(why)}</div></li>'
    )


def _branches(
    children: Mapping[str | None, list[NodeDict]], marked: set[str], opened: set[str]
) -> str:
    """Written as a loop: a tree of any depth must not meet the recursion limit."""
    parts: list[str] = []
    work: list[NodeDict | str] = list(reversed(children.get(None, [])))
    while work:
        item = work.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        node_id = str(item["id"])
        line = _line(item, node_id in marked)
        below = children.get(node_id, [])
        if not below:
            parts.append(f'<div class="leaf">{line}</div>')
            continue
        parts.append(f"<details{' open' if node_id in opened else ''}><summary>{line}</summary>")
        work.append("</details>")
        work.extend(reversed(below))
    return "".join(parts)


def _line(node: NodeDict, marked: bool) -> str:
    title = str(node.get("title") or "") or body(node)
    short = title if len(title) <= 120 else title[:120] + " …"
    text = f"<mark>{_text(short)}</mark>" if marked else _text(short)
    return f'<span class="k">{_text(node["kind"])}</span> {text}'


def _figure(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _text(value: object) -> str:
    return escape(str(value))
