"""What the outbox asks of a projection: a store that the catalog can rebuild at any time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from llama_index_semxpath.index.codec import encode_attributes
from llama_index_semxpath.tree.node import Value
from llama_index_semxpath.tree.table import Edge


@dataclass(frozen=True, slots=True)
class ProjectedNode:
    """A node as the projections take it over.

    Args:
        previous: Id of the sibling before it.
        attributes: Flat typed attributes (see ``codec.query_attributes``).
        labels: Labels in force, sorted; ``None`` for none at all.
        weight: Source weight of its document, > 0.
        fingerprint: Changes whenever anything that a projection holds of the node changes.
        vector: Float32 bytes of its embedding, where it has one and the target wants it.
    """

    id: str
    doc: str
    parent: str | None
    previous: str | None
    kind: str
    order: str
    level: int | None
    text: str
    attributes: Mapping[str, Value]
    labels: tuple[str, ...] | None
    weight: float
    fingerprint: str
    vector: bytes | None = None


@dataclass(frozen=True, slots=True)
class ProjectedRow:
    """What a projection holds of a node, as far as a check compares it."""

    id: str
    doc: str
    order: str
    labels: tuple[str, ...] | None
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity of the property graph, merged from all documents that support it.

    Args:
        id: Entity id.
        label: Label, the kind that SemXPath tests.
        name: Display name: the first spelling seen.
        aliases: Other spellings.
        properties: Typed properties.
        order: Order key, after those of all documents.
        fingerprint: Changes whenever anything above changes.
    """

    id: str
    label: str
    name: str
    aliases: tuple[str, ...]
    properties: Mapping[str, Any]
    order: str
    fingerprint: str


@runtime_checkable
class Projection(Protocol):
    """A store that mirrors the catalog's nodes. Every call is idempotent.

    ``upsert`` writes rows whole; it never reads what was there. Deleting what is not there is no
    error and changes nothing.
    """

    name: str

    def upsert(self, nodes: Sequence[ProjectedNode]) -> None:
        """Writes the nodes, replacing rows of the same id."""
        ...

    def delete(self, ids: Sequence[str]) -> None:
        """Deletes nodes by id."""
        ...

    def scan(self) -> Iterator[ProjectedRow]:
        """Every node row of the store, in any order, in bounded memory."""
        ...

    def flush(self) -> None:
        """Makes everything written so far durable and visible to strong reads."""
        ...

    def close(self) -> None:
        """Releases the store."""
        ...


#: Source, name, target, the document that says it (``""`` for the tree itself), and properties.
Incoming = tuple[str, str, str, str, str]


@runtime_checkable
class GraphTarget(Projection, Protocol):
    """A projection that also holds relations and entities.

    ``upsert`` replaces a node's incoming ``CONTAINS`` (from ``parent``) and ``NEXT`` (from
    ``previous``).
    """

    def delete_document(self, doc: str) -> None:
        """Deletes the document's nodes, and the relations that it alone says."""
        ...

    def replace_relations(self, doc: str, edges: Sequence[Edge]) -> None:
        """Replaces all relations whose source is the document."""
        ...

    def incoming(self, ids: Sequence[str]) -> Iterator[Incoming]:
        """The relations that reach some nodes, ``CONTAINS`` and ``NEXT`` among them.

        Properties are JSON text, their keys sorted; see :func:`sorted_properties`.
        """
        ...

    def upsert_entities(self, entities: Sequence[Entity]) -> None:
        """Writes the entities, replacing those of the same id."""
        ...

    def delete_entities(self, ids: Sequence[str]) -> None:
        """Deletes entities by id, with the relations at them."""
        ...


def sorted_properties(properties: Mapping[str, Any]) -> str:
    """Properties of a relation as one text, the same for the same properties.

    Example:
        >>> sorted_properties({"b": 1, "a": None})
        '{"a":null,"b":1}'
    """
    return encode_attributes(dict(sorted(properties.items())), "relation")
