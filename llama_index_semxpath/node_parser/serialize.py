"""Nodes as the JSON objects of the public interface."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import Any

from llama_index_semxpath.text import name_text
from llama_index_semxpath.tree.node import TreeNode, Value


def node_to_dict(node: TreeNode, path: Sequence[str], xpath: str) -> dict[str, Any]:
    """One node as a JSON-ready object.

    Args:
        node: The node.
        path: Titles of the sections around it, outermost first, its own last if it is one.
        xpath: Canonical absolute path, such as ``/Document[1]/Section[2]``.

    Example:
        >>> node_to_dict(TreeNode("d", "Document", "d", order="a0"), [], "/Document[1]")["kind"]
        'Document'
    """
    return {
        "id": node.id,
        "kind": node.kind,
        "parent": node.parent,
        "level": node.level,
        "title": node.title,
        "number": node.number,
        "text": node.text,
        "attributes": {key: json_value(value) for key, value in node.attributes.items()},
        "path": list(path),
        "xpath": xpath,
        "order": node.order,
        "tokens": node.tokens,
        "page": node.page,
        "span": None if node.span is None else list(node.span),
    }


def json_value(value: Value) -> Any:
    """A value as JSON has it: dates in ISO 8601.

    Example:
        >>> json_value(dt.date(2026, 3, 1))
        '2026-03-01'
    """
    return value.isoformat() if isinstance(value, dt.date) else value


def walk_places(nodes: Sequence[TreeNode]) -> Iterator[tuple[TreeNode, list[str], str]]:
    """Each node with its heading path and canonical path.

    Args:
        nodes: Nodes of one document in document order, the root first.

    Yields:
        ``(node, titles outermost first, xpath)``; the list is shared between nodes: copy it to
        change it.

    Example:
        >>> from llama_index_semxpath.node_parser.registry import parse_bytes
        >>> [(path, xpath) for _, path, xpath in walk_places(parse_bytes("# A\\n\\nb", "a.md"))][-1]
        (['A'], '/Document[1]/Section[1]/Paragraph[1]')
    """
    places: dict[str, tuple[list[str], str]] = {}
    counts: dict[tuple[str, str], int] = {}
    for node in nodes:
        if node.parent is None:
            path, xpath = [], f"/{name_text(node.kind)}[1]"
        else:
            above, base = places[node.parent]
            key = (node.parent, node.kind)
            counts[key] = counts.get(key, 0) + 1
            xpath = f"{base}/{name_text(node.kind)}[{counts[key]}]"
            path = [*above, node.title or ""] if node.kind == "Section" else above
        places[node.id] = (path, xpath)
        yield node, path, xpath


def tree_to_dict(nodes: Sequence[TreeNode]) -> dict[str, Any]:
    """A document as ``semxpath parse --json`` prints it.

    Args:
        nodes: Nodes of one document in document order, the root first.

    Returns:
        ``{"document": root, "nodes": [every node, the root first]}``.
    """
    dicts = [node_to_dict(node, path, xpath) for node, path, xpath in walk_places(nodes)]
    return {"document": dicts[0] if dicts else None, "nodes": dicts}
