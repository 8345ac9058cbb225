"""Nodes, results and trees as lines of text, for terminals and ``repr``.

Everything here takes the dictionaries of ``to_dict()``, so that it serves results, parsed files and
JSON alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from llama_index_semxpath.display.style import Style, clean, cut, width_of

NodeDict = Mapping[str, Any]
#: How titles of a path are joined for a reader.
ARROW = " › "


def where(node: NodeDict) -> str:
    """The path of titles that leads to a node, its own title included.

    Example:
        >>> where({"path": ["Leave", "Annual leave"], "kind": "Paragraph"})
        'Leave › Annual leave'
    """
    titles = [clean(str(title)) for title in node.get("path") or ()]
    title = node.get("title")
    if title and node.get("kind") != "Section":
        titles.insert(0, clean(str(title)))
    return ARROW.join(titles)


def called(node: NodeDict) -> str:
    """What a record is called: its ``@name``, else the way to it.

    Example:
        >>> called({"xpath": "/Plan[1]/Day[2]", "attributes": {}})
        'Plan 1 › Day 2'
    """
    name = (node.get("attributes") or {}).get("name")
    if isinstance(name, str) and name.strip():
        return clean(name)
    steps = re.findall(r"/([^/\[]+)\[(\d+)\]", str(node.get("xpath") or ""))
    way = ARROW.join(f"{kind} {number}" for kind, number in steps)
    return way or clean(str(node.get("document") or node.get("id")))


def match_lines(place: int, match: NodeDict, style: Style, *, lines: int = 2) -> list[str]:
    """A match as a reader scans it: path and score, where it is, how it begins.

    Args:
        place: 1-based place in the result.
        match: A match of ``interface.md``.
        style: Width and colours.
        lines: Most lines of text shown.
    """
    number = f"{place:>3}  "
    score = "" if match.get("score") is None else f"{match['score']:.2f}"
    head = where(match) or called(match)
    room = style.width - len(number) - len(score) - 2
    title = cut(head, room)
    gap = " " * max(2, style.width - len(number) - width_of(title) - len(score))
    rows = [number + style.paint(title, "bold") + gap + style.paint(score, "green")]
    facts = [
        str(match["kind"]),
        clean(str(match.get("document") or "")),
        clean(str(match.get("xpath") or "")),
    ]
    if match.get("page"):
        facts.append(f"page {match['page']}")
    line = cut(" · ".join(fact for fact in facts if fact), style.width - 5)
    rows.append("     " + style.paint(line, "dim"))
    text = body(match)
    if text:
        rows.extend(style.wrap(text, "     ", lines))
    return rows


def body(node: NodeDict) -> str:
    """What a node says beyond its title: its text, or its attributes where it has none."""
    text = str(node.get("text") or "")
    if node.get("kind") in ("Section", "Document") and clean(text) == clean(
        str(node.get("title") or "")
    ):
        return ""
    attributes: Mapping[str, Any] = node.get("attributes") or {}
    if node.get("kind") == "Row" or not text:
        shown = [
            f"{name}: {value}"
            for name, value in attributes.items()
            if name not in ("title", "number", "n")
        ]
        return "; ".join(shown) or text
    return text


def matches_text(matches: Sequence[NodeDict], style: Style, *, lines: int = 2) -> str:
    """All matches of a result, one block each.

    Example:
        >>> print(matches_text([], Style()))
        no results
    """
    if not matches:
        return "no results"
    blocks = [
        "\n".join(match_lines(place, match, style, lines=lines))
        for place, match in enumerate(matches, 1)
    ]
    return "\n".join(blocks)


def tree_lines(nodes: Iterable[NodeDict], style: Style) -> Iterable[str]:
    """Nodes in document order as an indented tree, one line each.

    Example:
        >>> nodes = [{"id": "d", "kind": "Document", "parent": None, "title": "T"},
        ...          {"id": "p", "kind": "Paragraph", "parent": "d", "text": "words"}]
        >>> print("\\n".join(tree_lines(nodes, Style())))
        Document  T
          Paragraph  words
    """
    depth: dict[str, int] = {}
    for node in nodes:
        level = depth.get(node.get("parent") or "", -1) + 1
        depth[str(node["id"])] = level
        kind = str(node["kind"])
        indent = "  " * min(level, 20)
        text = clean(str(node.get("title") or "")) or clean(body(node))
        room = style.width - len(indent) - width_of(kind) - 2
        shown = cut(text, max(10, room))
        painted = style.paint(shown, "bold") if kind in ("Section", "Document") else shown
        yield f"{indent}{style.paint(kind, 'blue')}  {painted}".rstrip()
