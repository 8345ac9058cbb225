"""The property graph as a projection of the catalog: what the outbox writes and ``check`` reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from llama_index_semxpath.index.codec import digest, encode_attributes
from llama_index_semxpath.index.graph_model import (
    CONTAINS,
    NEXT,
    Criteria,
    Graph,
    Link,
    LinkKey,
    Vertex,
)
from llama_index_semxpath.index.projection import (
    Entity,
    Incoming,
    ProjectedNode,
    ProjectedRow,
    sorted_properties,
)
from llama_index_semxpath.tree.edges import Edge


class PropertyGraphProjection:
    """Writes the catalog's nodes, relations and entities into a :class:`Graph`.

    Each call is one transaction and may be repeated: a second time changes nothing.

    Args:
        graph: The back end; :meth:`close` closes it.

    Example:
        >>> from llama_index_semxpath.index.graph_memory import MemoryGraph
        >>> projection = PropertyGraphProjection(MemoryGraph())
        >>> projection.upsert_entities([Entity("e", "Boat", "Mira", (), {}, "~a0", "f")])
        >>> [row.id for row in projection.scan()]
        ['e']
    """

    name = "graph"

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def upsert(self, nodes: Sequence[ProjectedNode]) -> None:
        """Writes nodes with their incoming ``CONTAINS`` and ``NEXT``.

        Raises:
            StoreError: A parent or previous sibling is neither in the graph nor among the nodes.
        """
        links = []
        for node in nodes:
            if node.parent:
                links.append(Link(node.parent, CONTAINS, node.id))
            if node.previous:
                links.append(Link(node.previous, NEXT, node.id))
        with self.graph.write():
            # A node that is new has no links yet to compare with.
            known = self.graph.put([_vertex(node) for node in nodes])
            self._replace(self._structure(sorted(known)), links)

    def delete(self, ids: Sequence[str]) -> None:
        """Deletes nodes with the links at them."""
        self.graph.remove(ids)

    def delete_document(self, doc: str) -> None:
        """Deletes the nodes of a document and the relations that only it states."""
        if not doc:
            return  # entities belong to no document
        with self.graph.write():
            self.replace_relations(doc, ())
            found = self.graph.select(Criteria(docs=frozenset([doc])))
            self.graph.remove([vertex.id for vertex in found])

    def replace_relations(self, doc: str, edges: Sequence[Edge]) -> None:
        """Replaces all relations that the document states.

        Raises:
            StoreError: A relation has an end that is not in the graph.
        """
        links: dict[LinkKey, Link] = {}
        for edge in edges:
            link = Link(edge.source, edge.name, edge.target, doc, dict(edge.properties))
            if link.key in links and links[link.key].properties != link.properties:
                link.variant = digest(encode_attributes(link.properties, doc)).hex()
            links[link.key] = link
        with self.graph.write():
            self._replace(self.graph.links(None, origins=[doc]), list(links.values()))

    def incoming(self, ids: Sequence[str]) -> Iterator[Incoming]:
        """The relations that reach some nodes."""
        for link in self.graph.links(ids, "in"):
            properties = sorted_properties(link.properties)
            yield link.source, link.name, link.target, link.origin, properties

    def upsert_entities(self, entities: Sequence[Entity]) -> None:
        """Writes entities; relations at an entity that is there already stay."""
        self.graph.put(
            [
                Vertex(
                    id=entity.id,
                    kind=entity.label,
                    type="entity",
                    name=entity.name,
                    aliases=entity.aliases,
                    order=entity.order,
                    attributes=dict(entity.properties),
                    fingerprint=entity.fingerprint,
                )
                for entity in entities
            ]
        )

    def delete_entities(self, ids: Sequence[str]) -> None:
        """Deletes entities with the relations at them."""
        self.graph.remove(ids)

    def scan(self) -> Iterator[ProjectedRow]:
        """Every row of the graph, entities included, in order of id and in bounded memory."""
        for vertex in self.graph.scan():
            yield ProjectedRow(
                vertex.id, vertex.doc, vertex.order, vertex.labels, vertex.fingerprint
            )

    def flush(self) -> None:
        """Every call has committed already."""

    def close(self) -> None:
        """Releases the graph."""
        self.graph.close()

    def _structure(self, ids: Sequence[str]) -> list[Link]:
        return self.graph.links(ids, "in", names=[CONTAINS, NEXT], origins=[""])

    def _replace(self, old: Sequence[Link], new: Sequence[Link]) -> None:
        """Removes and writes only what differs."""
        before = {link.key: link.properties for link in old}
        after = {link.key for link in new}
        self.graph.remove_links([key for key in before if key not in after])
        self.graph.put_links([link for link in new if before.get(link.key) != link.properties])


def _vertex(node: ProjectedNode) -> Vertex:
    return Vertex(
        id=node.id,
        kind=node.kind,
        text=node.text,
        doc=node.doc,
        parent=node.parent or "",
        order=node.order,
        level=node.level,
        labels=node.labels,
        attributes=dict(node.attributes),
        fingerprint=node.fingerprint,
    )
