"""What every graph back end of ours keeps, and the few primitives it has to offer.

A back end (memory, Ladybug, NebulaGraph) implements :class:`Graph`; the LlamaIndex interface
(``graph_store``) and the projection of the catalog (``graph_projection``) are written once on top.

A vertex has one id, that of the node in the catalog. What several documents say about an entity is
kept apart by *origin* (the document or chunk that says it) and merged on reading, so that removing
one source takes away exactly what that source said. Links carry their origin in their identity.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal

from llama_index_semxpath.errors import AttributeValueError
from llama_index_semxpath.index.codec import check_text, encode_attributes
from llama_index_semxpath.index.entity_names import canonical_key

#: Structure of the tree as links: parent to child, and child to next sibling.
CONTAINS = "CONTAINS"
NEXT = "NEXT"
#: Kinds of vertex: a node of a document's tree, a LlamaIndex chunk, an entity.
VertexType = Literal["node", "chunk", "entity"]
#: ``(source, name, target, origin, variant)``: what makes a link one link.
LinkKey = tuple[str, str, str, str, str]
Direction = Literal["out", "in"]


@dataclass(slots=True)
class Vertex:
    """A vertex of the property graph.

    Args:
        id: Primary key, the same as in the catalog and the vector store.
        kind: Kind of a node, label of an entity.
        type: Whether it is a tree node, a LlamaIndex chunk or an entity.
        name: Display name of an entity, ``""`` otherwise.
        aliases: Other spellings of the name.
        text: Own text.
        doc: Id of its document, ``""`` for entities.
        parent: Id of the parent in the tree, ``""`` at the top.
        order: Order key (see ``tree.order``), ``""`` when it has no place in a tree.
        level: Level of a section, 0 for a document, else ``None``.
        labels: Effective access labels, sorted; ``None`` when it carries none.
        attributes: Its properties. For an entity with origins they are the merge of those.
        origins: Origin to the properties it gave; ``""`` is an origin that no removal touches.
        payload: The rest of a LlamaIndex node as JSON, ``""`` when there is none.
        fingerprint: What the catalog compares in a check.

    Example:
        >>> Vertex("m", "Boat", "entity", origins={"d1": {"n": 1}, "d2": {"n": 2}}).merged()
        {'n': 2}
    """

    id: str
    kind: str
    type: VertexType = "node"
    name: str = ""
    aliases: tuple[str, ...] = ()
    text: str = ""
    doc: str = ""
    parent: str = ""
    order: str = ""
    level: int | None = None
    labels: tuple[str, ...] | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, dict[str, Any]] = field(default_factory=dict)
    payload: str = ""
    fingerprint: str = ""

    def keys(self) -> set[str]:
        """Canonical keys of the name and the aliases of an entity."""
        if self.type != "entity":
            return set()
        return {canonical_key(name) for name in (self.name, *self.aliases)}

    def merged(self) -> dict[str, Any]:
        """Properties as all living origins give them, a later origin over an earlier one."""
        if not self.origins:
            return self.attributes
        merged: dict[str, Any] = {}
        for properties in self.origins.values():
            merged.update(properties)
        return merged


@dataclass(slots=True)
class Link:
    """A relation between two vertices, as one origin states it.

    Args:
        source: Id of the vertex it leaves.
        name: Name of the relation.
        target: Id of the vertex it reaches.
        origin: Document or chunk that states it; ``""`` for none.
        properties: Its properties.
        variant: Tells apart relations of one name between one pair that the same origin states.

    Example:
        >>> Link("a", "KNOWS", "b", origin="d").key
        ('a', 'KNOWS', 'b', 'd', '')
    """

    source: str
    name: str
    target: str
    origin: str = ""
    properties: dict[str, Any] = field(default_factory=dict)
    variant: str = ""

    @property
    def key(self) -> LinkKey:
        """What makes this link one link."""
        return (self.source, self.name, self.target, self.origin, self.variant)


@dataclass(frozen=True, slots=True)
class Criteria:
    """Which vertices are meant: every field that is not ``None`` must hold.

    An empty collection matches nothing; a missing property never equals anything.

    Args:
        ids: The id is one of these.
        keys: The canonical key of an entity's name or of an alias is one of these.
        docs: The document is one of these.
        origins: At least one origin is one of these.
        equal: Property key to the value that it must have, type included (``True`` is not ``1``).

    Example:
        >>> Criteria(equal={"n": 0}).matches(Vertex("a", "P", attributes={"n": 0}))
        True
        >>> Criteria(equal={"n": 0}).matches(Vertex("a", "P", attributes={"n": False}))
        False
    """

    ids: frozenset[str] | None = None
    keys: frozenset[str] | None = None
    docs: frozenset[str] | None = None
    origins: frozenset[str] | None = None
    equal: Mapping[str, Any] | None = None

    @property
    def impossible(self) -> bool:
        """Whether nothing can match, since a set of allowed values is empty."""
        sets = (self.ids, self.keys, self.docs, self.origins)
        return any(allowed is not None and not allowed for allowed in sets)

    def matches(self, vertex: Vertex) -> bool:
        """Whether the vertex is meant."""
        return (
            (self.ids is None or vertex.id in self.ids)
            and (self.keys is None or not self.keys.isdisjoint(vertex.keys()))
            and (self.docs is None or vertex.doc in self.docs)
            and (self.origins is None or not self.origins.isdisjoint(vertex.origins))
            and (self.equal is None or holds(vertex.attributes, self.equal))
        )


class Graph(ABC):
    """The primitives of a back end. All writes are idempotent.

    Outside :meth:`write` every call is a transaction of its own.
    """

    @abstractmethod
    def write(self) -> AbstractContextManager[None]:
        """A transaction: all of its writes happen, or none. It may be nested."""

    @abstractmethod
    def put(self, vertices: Sequence[Vertex]) -> set[str]:
        """Inserts or replaces vertices; links at a replaced vertex stay.

        Returns:
            Ids of those that were there before.

        Raises:
            AttributeValueError: A value that cannot be kept, by name; nothing is written.
        """

    @abstractmethod
    def put_links(self, links: Sequence[Link]) -> None:
        """Inserts or replaces links.

        Raises:
            StoreError: A link has an end that is not in the graph.
        """

    @abstractmethod
    def remove(self, ids: Sequence[str]) -> None:
        """Removes vertices and their links, never a neighbour; unknown ids are no fault."""

    @abstractmethod
    def remove_links(self, keys: Sequence[LinkKey]) -> None:
        """Removes links, never a vertex; unknown links are no fault."""

    @abstractmethod
    def select(
        self, criteria: Criteria, *, after: str | None = None, limit: int | None = None
    ) -> list[Vertex]:
        """Matching vertices in order of id.

        Args:
            criteria: Which are meant.
            after: Only ids greater than this one (the last of the page before).
            limit: At most so many, 1 and up; ``None`` for all.
        """

    @abstractmethod
    def links(
        self,
        ids: Sequence[str] | None,
        direction: Direction = "out",
        *,
        names: Sequence[str] | None = None,
        origins: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[Link]:
        """Links in order of their keys.

        Args:
            ids: Only those that leave (``"out"``) or reach (``"in"``) these vertices; ``None``
                for all.
            direction: Which end ``ids`` names.
            names: Only relations of these names.
            origins: Only links of these origins.
            limit: At most so many, 1 and up; ``None`` for all.
        """

    @abstractmethod
    def scan(self) -> Iterator[Vertex]:
        """Every vertex in order of id, in bounded memory, without text, properties and payload."""

    @abstractmethod
    def counts(self) -> tuple[int, int]:
        """Number of vertices and of links."""

    @abstractmethod
    def close(self) -> None:
        """Releases the store; a second call does nothing."""

    def vertices(self, ids: Iterable[str]) -> dict[str, Vertex]:
        """The vertices that exist, by id."""
        wanted = frozenset(ids)
        return {v.id: v for v in self.select(Criteria(ids=wanted))} if wanted else {}


def holds(properties: Mapping[str, Any], equal: Mapping[str, Any]) -> bool:
    """Whether every wanted property is there with that value and type.

    Example:
        >>> holds({"a": ""}, {"a": ""}), holds({}, {"a": None}), holds({"a": None}, {"a": None})
        (True, False, True)
    """
    return all(key in properties and same(properties[key], value) for key, value in equal.items())


def same(one: Any, other: Any) -> bool:
    """Equality that keeps ``True`` apart from ``1`` and takes a NaN for itself.

    Example:
        >>> same(1, 1.0), same(True, 1), same(float("nan"), float("nan")), same([1], (1,))
        (True, False, True, True)
    """
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    if one != one and other != other:
        return isinstance(one, float) and isinstance(other, float)
    return bool(one == other)


def check_vertex(vertex: Vertex) -> Vertex:
    """The vertex itself, when every store can hold it.

    Raises:
        AttributeValueError: An empty id, or a value that cannot be kept, by name.
    """
    if not vertex.id:
        raise AttributeValueError("a graph node needs an id that is not empty")
    for what, text in (
        ("id", vertex.id),
        ("kind", vertex.kind),
        ("name", vertex.name),
        *(("alias", alias) for alias in vertex.aliases),
        ("text", vertex.text),
        ("document id", vertex.doc),
        ("parent id", vertex.parent),
        *(("access label", label) for label in vertex.labels or ()),
        *(("origin", origin) for origin in vertex.origins),
    ):
        check_text(text, what, vertex.id)
    encode_attributes(vertex.attributes, vertex.id)
    for properties in vertex.origins.values():
        encode_attributes(properties, vertex.id)
    return vertex


def check_link(link: Link) -> Link:
    """The link itself, when every store can hold it.

    Raises:
        AttributeValueError: No name, or a value that cannot be kept, by name.
    """
    where = f"{link.source} -> {link.target}"
    if not link.name:
        raise AttributeValueError("a relation needs a name", where=where)
    for what, text in (
        ("source id", link.source),
        ("relation name", link.name),
        ("target id", link.target),
        ("origin", link.origin),
        ("variant", link.variant),
    ):
        check_text(text, what, where)
    encode_attributes(link.properties, where)
    return link
