"""What is written into a memory: records, from Python values and from text in XML or JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from llama_index_semxpath.errors import SourceError, StoreError
from llama_index_semxpath.node_parser.blocks import Block
from llama_index_semxpath.node_parser.options import ParseOptions
from llama_index_semxpath.node_parser.records import parse_json, parse_xml, parse_yaml
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.record import Record

__all__ = ["Record", "as_record", "record_of_nodes", "tree_record"]


def as_record(
    node: Record | Mapping[str, Any] | str,
    kind: str = "Note",
    attributes: Mapping[str, Any] | None = None,
    labels: frozenset[str] | None = None,
) -> Record:
    """The record for what a caller gives as a node.

    Args:
        node: A record; a text; or a mapping with ``kind``, ``text``, ``attributes`` and
            ``children``, all optional.
        kind: Kind of a text, and of a mapping that names none.
        attributes: Attributes beside those that the node brings.
        labels: Access labels, where the node brings none.

    Raises:
        StoreError: It is none of these, or an empty text.

    Example:
        >>> as_record("likes tea", "Preference", {"confidence": 0.9})
        Record(kind='Preference', text='likes tea', attributes={'confidence': 0.9}, children=(), \
labels=None, id=None)
    """
    if isinstance(node, str):
        if not node.strip():
            raise StoreError("there is nothing to remember", hint="give a text that says something")
        return Record(kind, node, dict(attributes or {}), labels=labels)
    if isinstance(node, Record):
        values = {**node.attributes, **(attributes or {})}
        own = labels if node.labels is None else node.labels
        return Record(node.kind, node.text, values, node.children, own, node.id)
    if isinstance(node, Mapping):
        unknown = set(node).difference(("kind", "text", "attributes", "children", "labels", "id"))
        if unknown:
            raise StoreError(
                f"a node has no '{sorted(unknown)[0]}'",
                hint="it has kind, text, attributes, children, labels and id",
            )
        own = node.get("labels")
        return Record(
            str(node.get("kind", kind)),
            str(node.get("text", "")),
            {**node.get("attributes", {}), **(attributes or {})},
            [as_record(child) for child in node.get("children", ())],
            labels if own is None else frozenset(own),
            node.get("id"),
        )
    raise StoreError(f"a {type(node).__name__} is no node", hint="give a Record, mapping or text")


def tree_record(source: Record | Mapping[str, Any] | str | bytes | Path) -> Record:
    """The record of a whole tree, from XML, JSON or YAML text or file, or from plain data.

    Args:
        source: A record; plain data as JSON has them; a path; or the text itself, where ``<``
            begins XML and ``{`` or ``[`` JSON.

    Raises:
        SourceError: The source cannot be read.

    Example:
        >>> plan = tree_record('<Plan><Day index="1"><POI name="Harbour"/></Day></Plan>')
        >>> plan.kind, plan.children[0].attributes, plan.children[0].children[0].kind
        ('Plan', {'index': 1}, 'POI')
    """
    if isinstance(source, Record):
        return source
    if isinstance(source, Mapping):
        import json

        try:
            source = json.dumps(source, ensure_ascii=False, default=str)
        except (TypeError, ValueError) as error:
            raise SourceError(f"the data cannot be read: {error}") from None
    if isinstance(source, Path):
        data, ending = read_source(source), source.suffix.lower()
    else:
        data = source.encode("utf-8", "replace") if isinstance(source, str) else source
        ending = ".xml" if data.lstrip()[:1] == b"<" else ".json"
    parse = _FRONT_ENDS.get(ending)
    if parse is None:
        raise SourceError(
            f"a tree cannot be read from a '{ending}' file", hint="give XML, JSON or YAML"
        )
    parsed = parse(data, ParseOptions())
    return _of_block(Block(parsed.root, "", attributes=parsed.attributes, children=parsed.blocks))


_FRONT_ENDS = {".xml": parse_xml, ".json": parse_json, ".yaml": parse_yaml, ".yml": parse_yaml}


def read_source(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        SourceError: It cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SourceError(f"the file cannot be read: {reason}", where=str(path)) from None


def _of_block(block: Block) -> Record:
    """The record of a block with all below it, without recursion."""
    done: dict[int, Record] = {}
    todo = [(block, False)]
    while todo:
        item, ready = todo.pop()
        if not ready:
            todo.append((item, True))
            todo.extend((child, False) for child in item.children)
            continue
        below = [done[id(child)] for child in item.children]
        done[id(item)] = Record(item.kind, item.text, dict(item.attributes), below)
    return done[id(block)]


def record_of_nodes(nodes: Sequence[TreeNode], *, ids: bool = False) -> Record:
    """The record of a node and all below it.

    Args:
        nodes: The nodes in pre-order.
        ids: Keep the ids.

    Example:
        >>> record_of_nodes([TreeNode("d", "Plan", "d"), TreeNode("x", "Day", "d", "d")]).size
        2
    """
    children: dict[str, list[Record]] = {}
    for node in reversed(nodes):
        below = children.pop(node.id, [])
        record = Record(
            node.kind, node.text, dict(node.attributes), tuple(reversed(below)), node.labels,
            node.id if ids else None,
        )  # fmt: skip
        children.setdefault(node.parent or "", []).append(record)
        top = record
    return top
