"""LlamaIndex property graph stores over our graphs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from llama_index.core.graph_stores.types import (
    LabelledNode,
    PropertyGraphStore,
    Relation,
    Triplet,
)
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import VectorStoreQuery

from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.entity_names import canonical_key
from llama_index_semxpath.index.graph_convert import (
    DOCUMENT_KEYS,
    llama_node_to_vertex,
    node_to_vertex,
    relation_to_link,
    vertex_to_llama_node,
    vertex_to_node,
)
from llama_index_semxpath.index.graph_ladybug import LadybugGraph
from llama_index_semxpath.index.graph_memory import MemoryGraph
from llama_index_semxpath.index.graph_model import (
    CONTAINS,
    NEXT,
    Criteria,
    Direction,
    Graph,
    Link,
    Vertex,
    holds,
)

_T = TypeVar("_T")


class GraphPropertyGraphStore(PropertyGraphStore):
    """A LlamaIndex ``PropertyGraphStore`` over any :class:`Graph`.

    What differs from LlamaIndex' own stores, on purpose: deleting never touches a neighbour, and
    deleting what is not there deletes nothing; an empty list or a missing value never matches
    everything; an entity lives as long as one of the chunks that mention it; ``0``, ``False`` and
    ``""`` are values; several relations between one pair stand side by side. Embeddings are not
    kept: vectors live in the vector store alone.

    Args:
        graph: The back end.
    """

    supports_structured_queries = False
    supports_vector_queries = False

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @property
    def client(self) -> Graph:
        """The graph below."""
        return self.graph

    def get(
        self,
        properties: Mapping[str, Any] | None = None,
        ids: Sequence[str] | None = None,
        *,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[LabelledNode]:
        """Nodes in order of id; without a condition, all.

        An id that no node has is looked up as an entity's name or alias, since LlamaIndex' own
        entities are keyed by their name.

        Args:
            properties: Values that all must be equal, type included; ``ref_doc_id`` (also
                ``doc_id``, ``document_id``) is the document.
            ids: Ids of nodes; an empty list gives none.
            after: Only ids greater than this one (the last of the page before).
            limit: At most so many, 1 and up; ``None`` for all.
        """
        criteria = _criteria(properties, ids)
        found = self.graph.select(criteria, after=after, limit=limit)
        if ids:
            missing = set(ids) - {vertex.id for vertex in found}
            if missing and properties is None and after is None:
                known = {vertex.id for vertex in found}
                found += [v for v in self._named(missing) if v.id not in known]
        return [vertex_to_node(vertex) for vertex in found[:limit]]

    def get_triplets(
        self,
        entity_names: Sequence[str] | None = None,
        relation_names: Sequence[str] | None = None,
        properties: Mapping[str, Any] | None = None,
        ids: Sequence[str] | None = None,
    ) -> list[Triplet]:
        """Triplets that meet every condition given; without a condition, none.

        Args:
            entity_names: Id, name or alias of one end.
            relation_names: Name of the relation.
            properties: Values that one of source, relation and target has, all of them.
            ids: Id of one end.
        """
        if not any((entity_names, relation_names, properties, ids)):
            return []
        ends: set[str] | None = None
        if entity_names is not None:
            ends = set(entity_names) | {vertex.id for vertex in self._named(entity_names)}
        if ids is not None:
            # Both conditions name an end, not necessarily the same one: the second one filters.
            ends = set(ids) if ends is None else ends
        links = self._links_at(ends, relation_names)
        if ids is not None:
            links = [link for link in links if link.source in ids or link.target in ids]
        return self._triplets(links, properties)

    def get_rel_map(
        self,
        graph_nodes: Sequence[LabelledNode],
        depth: int = 2,
        limit: int = 30,
        ignore_rels: Sequence[str] | None = None,
    ) -> list[Triplet]:
        """Triplets within so many steps of the nodes, in either direction, nearest first.

        Args:
            graph_nodes: Where to start.
            depth: Number of steps, 0 and up.
            limit: At most so many triplets.
            ignore_rels: Names of relations that are neither followed nor returned.
        """
        ignored = set(ignore_rels or ())
        seen = {node.id for node in graph_nodes}
        frontier, found = sorted(seen), dict[tuple[str, str, str, str], Link]()
        for _ in range(depth):
            if not frontier or len(found) >= limit:
                break
            reached: set[str] = set()
            for link in self._links_at(frontier, None):
                if link.name not in ignored:
                    found.setdefault((link.source, link.name, link.target, link.variant), link)
                    reached |= {link.source, link.target}
            frontier = sorted(reached - seen)
            seen |= reached
        return self._triplets(list(found.values())[: max(limit, 0)], None)

    def get_llama_nodes(self, node_ids: Sequence[str]) -> list[BaseNode]:
        """Chunks and tree nodes as LlamaIndex nodes, metadata typed as it was."""
        found = self.graph.vertices(node_ids)
        return [
            vertex_to_llama_node(found[id_])
            for id_ in dict.fromkeys(node_ids)
            if id_ in found and found[id_].type != "entity"
        ]

    def upsert_nodes(self, nodes: Sequence[LabelledNode]) -> None:
        """Inserts nodes or replaces them.

        An entity keeps what other chunks (``triplet_source_id``) said about it.

        Raises:
            AttributeValueError: A value that cannot be kept, by name; nothing is written.
            StoreError: An entity has the id of a chunk.
        """
        with self.graph.write():
            known = self.graph.vertices([node.id for node in nodes])
            for node in nodes:
                known[node.id] = node_to_vertex(node, known.get(node.id))
            self.graph.put([known[id_] for id_ in dict.fromkeys(node.id for node in nodes)])

    def upsert_llama_nodes(self, llama_nodes: Sequence[BaseNode]) -> None:
        """Inserts chunks or replaces them.

        Raises:
            AttributeValueError: A metadata value that cannot be kept, by name; nothing is written.
        """
        with self.graph.write():
            known = self.graph.vertices([node.node_id for node in llama_nodes])
            self.graph.put([llama_node_to_vertex(n, known.get(n.node_id)) for n in llama_nodes])

    def upsert_relations(self, relations: Sequence[Relation]) -> None:
        """Inserts relations or replaces them; an end that is not there becomes an entity.

        Raises:
            AttributeValueError: A value that cannot be kept, by name; nothing is written.
        """
        links = [relation_to_link(relation) for relation in relations]
        with self.graph.write():
            known = self.graph.vertices({end for li in links for end in (li.source, li.target)})
            changed: dict[str, Vertex] = {}
            for link in links:
                for end in (link.source, link.target):
                    vertex = known.get(end)
                    if vertex is None:
                        vertex = Vertex(
                            end, "entity", "entity", name=end, origins={link.origin: {}}
                        )
                    elif not vertex.origins or link.origin in vertex.origins:
                        continue
                    # A relation supports its ends: they live as long as its chunk does.
                    vertex.origins.setdefault(link.origin, {})
                    known[end] = changed[end] = vertex
            self.graph.put(list(changed.values()))
            self.graph.put_links(links)

    def delete(
        self,
        entity_names: Sequence[str] | None = None,
        relation_names: Sequence[str] | None = None,
        properties: Mapping[str, Any] | None = None,
        ids: Sequence[str] | None = None,
    ) -> None:
        """Deletes nodes by id, name or properties, and relations by name; neighbours stay.

        Args:
            entity_names: Exact names of entities.
            relation_names: Names of relations; their ends stay.
            properties: Values that all must be equal; an empty mapping matches nothing.
            ids: Exact ids.
        """
        with self.graph.write():
            doomed = set(ids or ())
            wanted = set(entity_names or ())
            doomed |= {vertex.id for vertex in self._named(wanted) if vertex.name in wanted}
            if properties:
                doomed |= {vertex.id for vertex in self.graph.select(_criteria(properties, None))}
            if relation_names:
                links = self.graph.links(None, names=relation_names)
                self.graph.remove_links([link.key for link in links])
            self.graph.remove(sorted(doomed))

    def delete_llama_nodes(
        self, node_ids: Sequence[str] | None = None, ref_doc_ids: Sequence[str] | None = None
    ) -> None:
        """Deletes chunks, and of entities and relations what only those chunks said.

        Args:
            node_ids: Ids of chunks.
            ref_doc_ids: Ids of documents, with all of their chunks.
        """
        documents = frozenset(ref_doc_ids or ()) - {""}
        with self.graph.write():
            chunks = set(node_ids or ()) | documents
            if documents:
                chunks |= {v.id for v in self.graph.select(Criteria(docs=documents))}
            if not chunks:
                return
            said = self.graph.links(None, origins=sorted(chunks))
            self.graph.remove_links([link.key for link in said])
            doomed = {v.id for v in self.graph.vertices(chunks).values() if v.type != "entity"}
            for vertex in self.graph.select(Criteria(origins=frozenset(chunks))):
                living = {o: p for o, p in vertex.origins.items() if o not in chunks}
                if living:
                    vertex.origins = living
                    self.graph.put([vertex])
                else:
                    doomed.add(vertex.id)
            self.graph.remove(sorted(doomed))

    def structured_query(self, query: str, param_map: Mapping[str, Any] | None = None) -> Any:
        """Not offered by this back end."""
        raise StoreError(
            "this graph store takes no query text", hint="use LadybugPropertyGraphStore"
        )

    def vector_query(
        self, query: VectorStoreQuery, **kwargs: Any
    ) -> tuple[list[LabelledNode], list[float]]:
        """Not offered: vectors live in the vector store alone."""
        raise StoreError("the graph store keeps no vectors", hint="ask the vector index")

    def get_schema(self, refresh: bool = False) -> dict[str, list[str]]:
        """Kinds of nodes and names of relations that occur."""
        kinds = sorted({vertex.kind for vertex in self.graph.scan()})
        names = sorted({link.name for link in self.graph.links(None)} - {CONTAINS, NEXT})
        return {"kinds": kinds, "relations": [CONTAINS, NEXT, *names]}

    def close(self) -> None:
        """Releases the graph below."""
        self.graph.close()

    async def aget(self, *args: Any, **kwargs: Any) -> list[LabelledNode]:
        """As :meth:`get`."""
        return await _thread(self.get, *args, **kwargs)

    async def aget_triplets(self, *args: Any, **kwargs: Any) -> list[Triplet]:
        """As :meth:`get_triplets`."""
        return await _thread(self.get_triplets, *args, **kwargs)

    async def aget_rel_map(self, *args: Any, **kwargs: Any) -> list[Triplet]:
        """As :meth:`get_rel_map`."""
        return await _thread(self.get_rel_map, *args, **kwargs)

    async def aget_llama_nodes(self, node_ids: Sequence[str]) -> list[BaseNode]:
        """As :meth:`get_llama_nodes`."""
        return await _thread(self.get_llama_nodes, node_ids)

    async def aupsert_nodes(self, nodes: Sequence[LabelledNode]) -> None:
        """As :meth:`upsert_nodes`."""
        await _thread(self.upsert_nodes, nodes)

    async def aupsert_relations(self, relations: Sequence[Relation]) -> None:
        """As :meth:`upsert_relations`."""
        await _thread(self.upsert_relations, relations)

    async def adelete(self, *args: Any, **kwargs: Any) -> None:
        """As :meth:`delete`."""
        await _thread(self.delete, *args, **kwargs)

    async def adelete_llama_nodes(self, *args: Any, **kwargs: Any) -> None:
        """As :meth:`delete_llama_nodes`."""
        await _thread(self.delete_llama_nodes, *args, **kwargs)

    async def astructured_query(
        self, query: str, param_map: Mapping[str, Any] | None = None
    ) -> Any:
        """As :meth:`structured_query`."""
        return await _thread(self.structured_query, query, param_map)

    async def aget_schema(self, refresh: bool = False) -> Any:
        """As :meth:`get_schema`."""
        return await _thread(self.get_schema, refresh)

    def _named(self, names: Iterable[str]) -> list[Vertex]:
        keys = frozenset(canonical_key(name) for name in names) - {""}
        return self.graph.select(Criteria(keys=keys)) if keys else []

    def _links_at(self, ids: Iterable[str] | None, names: Sequence[str] | None) -> list[Link]:
        if ids is None:
            return self.graph.links(None, names=names)
        ends = sorted(ids)
        directions: tuple[Direction, Direction] = ("out", "in")
        both = [link for way in directions for link in self.graph.links(ends, way, names=names)]
        return list({link.key: link for link in both}.values())

    def _triplets(
        self, links: Sequence[Link], properties: Mapping[str, Any] | None
    ) -> list[Triplet]:
        """One triplet a relation, its properties merged from all origins."""
        merged: dict[tuple[str, str, str, str], dict[str, Any]] = {}
        for link in links:
            key = (link.source, link.name, link.target, link.variant)
            merged.setdefault(key, {}).update(link.properties)
        ends = self.graph.vertices({end for key in merged for end in (key[0], key[2])})
        triplets = []
        for (source, name, target, _), values in merged.items():
            one, other = vertex_to_node(ends[source]), vertex_to_node(ends[target])
            parts = (one.properties, values, other.properties)
            if not properties or any(holds(part, properties) for part in parts):
                relation = Relation(
                    label=name, source_id=source, target_id=target, properties=values
                )
                triplets.append((one, relation, other))
        return triplets


class MemoryPropertyGraphStore(GraphPropertyGraphStore):
    """A property graph store in memory.

    Example:
        >>> from llama_index.core.graph_stores.types import EntityNode, Relation
        >>> store = MemoryPropertyGraphStore()
        >>> store.upsert_nodes([EntityNode(name="Mira"), EntityNode(name="pier")])
        >>> store.upsert_relations([Relation(label="SERVES", source_id="Mira", target_id="pier")])
        >>> store.delete(ids=["Mira"])
        >>> [node.name for node in store.get()]
        ['pier']
    """

    def __init__(self, graph: MemoryGraph | None = None) -> None:
        super().__init__(graph or MemoryGraph())


class LadybugPropertyGraphStore(GraphPropertyGraphStore):
    """A property graph store in one Ladybug file.

    Args:
        graph: The graph, or the path of its file.
        read_only: With a path: open for reading beside a writer in another process.

    Raises:
        StoreLockedError: Another process holds the file for writing.
        StoreVersionError: The file was written by another version of this format.
    """

    supports_structured_queries = True

    def __init__(self, graph: LadybugGraph | str | Path, *, read_only: bool = False) -> None:
        if not isinstance(graph, LadybugGraph):
            graph = LadybugGraph(graph, read_only=read_only)
        self._ladybug = graph
        super().__init__(graph)

    def structured_query(
        self, query: str, param_map: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """Rows of a reading Cypher statement over ``Node`` and ``Relation``.

        It sees the whole graph: no access labels are applied to query text.

        Args:
            query: Cypher; a statement that writes is refused.
            param_map: Values of its ``$names``.

        Raises:
            StoreError: The statement is wrong, or it writes.
        """
        return self._ladybug.query(query, param_map or {})

    def get_schema_str(self, refresh: bool = False) -> str:
        """The schema as a language model needs it to write Cypher."""
        found = self.get_schema(refresh)
        return (
            "One node table Node(id, kind, name, text, doc, parent, order_key, level) and one "
            "relationship table Relation(name, origin) from Node to Node.\n"
            f"Values of Node.kind: {', '.join(found['kinds'])}\n"
            f"Values of Relation.name: {', '.join(found['relations'])}\n"
            "An attribute: list_any_value(map_extract(n.strings, 'key')), numbers likewise."
        )

    def persist(self, persist_path: str, fs: Any = None) -> None:
        """Writes the log into the database file; the store is on disk already."""
        self._ladybug.checkpoint()


def _criteria(properties: Mapping[str, Any] | None, ids: Sequence[str] | None) -> Criteria:
    equal = dict(properties or {})
    documents = [equal.pop(key) for key in DOCUMENT_KEYS if key in equal]
    if any(not isinstance(doc, str) or doc != documents[0] for doc in documents):
        return Criteria(ids=frozenset())
    return Criteria(
        ids=None if ids is None else frozenset(ids),
        docs=frozenset(documents) if documents else None,
        equal=equal or None,
    )


async def _thread(call: Callable[..., _T], *args: Any, **kwargs: Any) -> _T:
    return await asyncio.to_thread(call, *args, **kwargs)
