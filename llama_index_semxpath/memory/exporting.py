"""Trees of a memory as XML and as plain data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from llama_index_semxpath.index.match import json_value
from llama_index_semxpath.tree.columns import value_text
from llama_index_semxpath.tree.node import TreeNode

_NAME = re.compile(r"[^\W\d][\w.-]*")
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def tree_xml(nodes: Sequence[TreeNode]) -> str:
    """A tree as XML: kinds are tags, attributes are attributes.

    A name that XML does not allow is written with ``_`` for what it does not allow; characters
    that no XML document can hold are left out.

    Args:
        nodes: The nodes in pre-order.

    Example:
        >>> print(tree_xml([TreeNode("d", "Plan", "d", attributes={"days": 3})]))
        <Plan days="3" />
    """
    elements: dict[str, ElementTree.Element] = {}
    for node in nodes:
        values = {_name(name): _clean(_value(value)) for name, value in node.attributes.items()}
        above = elements.get(node.parent or "")
        if above is None:
            element = ElementTree.Element(_name(node.kind), values)
        else:
            element = ElementTree.SubElement(above, _name(node.kind), values)
        if node.text:
            element.text = _clean(node.text)
        elements[node.id] = element
    root = elements[nodes[0].id]
    if not any(node.text and len(elements[node.id]) for node in nodes):
        ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode")


def tree_json(nodes: Sequence[TreeNode]) -> dict[str, Any]:
    """A tree as plain data: ``kind``, ``id``, ``text``, ``attributes`` and ``children``.

    Args:
        nodes: The nodes in pre-order.
    """
    plain: dict[str, dict[str, Any]] = {}
    for node in nodes:
        item: dict[str, Any] = {"kind": node.kind, "id": node.id}
        if node.text:
            item["text"] = node.text
        if node.attributes:
            item["attributes"] = json_value(node.attributes)
        above = plain.get(node.parent or "")
        if above is not None:
            above.setdefault("children", []).append(item)
        plain[node.id] = item
    return plain[nodes[0].id]


def _name(name: str) -> str:
    if _NAME.fullmatch(name):
        return name
    cleaned = re.sub(r"[^\w.-]", "_", name)
    return cleaned if _NAME.match(cleaned) else f"_{cleaned}"


def _value(value: Any) -> str:
    try:
        return value_text(value)
    except AttributeError:
        return str(json_value(value))


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("", text)
