"""The rows that the catalog, its writers and its readers hand to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from llama_index_semxpath.tree.node import TreeNode


@dataclass(frozen=True, slots=True)
class Source:
    """Where a document came from, as far as it tells whether the source changed.

    Args:
        path: Absolute path or URL.
        size: Size in bytes.
        mtime: Time of the last change, in nanoseconds.
        hash: 16-byte digest of the bytes.
    """

    path: str
    size: int = -1
    mtime: int = -1
    hash: bytes = b""


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as the catalog lists it.

    Args:
        id: Document id, which is also the id of its root node.
        part: Component of the document in the order keys of its nodes.
        version: Number of the store's write that made it as it is, 1 and up.
        nodes: Count of its nodes, the root included.
        hash: Digest of everything in it.
        weight: Source weight, > 0.
        source: Where it came from, if known.
        updated: Time of the last change, ISO 8601 in UTC.
    """

    id: str
    part: str
    version: int
    nodes: int
    hash: bytes
    weight: float
    source: Source | None
    updated: str


@dataclass(frozen=True, slots=True)
class StoredNode:
    """The part of a node's row that a diff needs."""

    pk: int
    id: str
    parent: str | None
    order: str
    access: int
    hash: bytes
    vector: bytes | None


@dataclass(slots=True)
class PreparedNode:
    """A node ready to be written: everything computed, nothing stored yet.

    Args:
        node: The node, with its final order key.
        attributes: Its attributes as JSON text.
        path: Titles of the sections around it, joined by ``" > "``.
        hash: Digest of all that the row holds besides keys and labels.
        embed: The text to embed, ``None`` where the kind is not embedded at index time.
        vector: Digest of ``embed``.
    """

    node: TreeNode
    attributes: str
    path: str
    hash: bytes
    embed: str | None = None
    vector: bytes | None = None


@dataclass(frozen=True, slots=True)
class EntitySource:
    """What one document says about one entity of the property graph.

    Args:
        entity: Id of the entity.
        doc: Id of the document.
        label: Label, the kind that SemXPath tests.
        name: The spelling that the document uses.
        properties: Typed properties.
        aliases: Other spellings.
        context: What tells it from namesakes of the same label.
    """

    entity: str
    doc: str
    label: str
    name: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    context: str = ""
