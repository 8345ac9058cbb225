"""Between the nodes of LlamaIndex and the vertices of our graphs."""

from __future__ import annotations

import json
from typing import Any

from llama_index.core.graph_stores.types import (
    TRIPLET_SOURCE_KEY,
    ChunkNode,
    EntityNode,
    LabelledNode,
    Relation,
)
from llama_index.core.schema import (
    BaseNode,
    MetadataMode,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict
from pydantic import Field

from llama_index_semxpath.errors import AttributeValueError, StoreError
from llama_index_semxpath.index.codec import encode_attributes
from llama_index_semxpath.index.graph_model import Link, Vertex

#: Names under which LlamaIndex keeps the document's id among a node's properties.
DOCUMENT_KEYS = ("ref_doc_id", "doc_id", "document_id")
_CONTENT, _TYPE = "_node_content", "_node_type"
_STRUCTURE = ("order_key", "level")


class GraphEntity(EntityNode):
    """An entity whose id is not its name: one that the catalog knows."""

    id_: str = Field(description="Id of the entity in every store.")
    aliases: list[str] = Field(default_factory=list, description="Other spellings of the name.")

    @property
    def id(self) -> str:
        """Id of the entity in every store."""
        return self.id_


def vertex_to_node(vertex: Vertex) -> LabelledNode:
    """A vertex as the property graph interface shows it."""
    properties = dict(vertex.attributes)
    if vertex.type == "entity":
        plain = EntityNode(name=vertex.name, label=vertex.kind, properties=properties)
        if plain.id == vertex.id and not vertex.aliases:
            return plain
        return GraphEntity(
            name=vertex.name,
            label=vertex.kind,
            properties=properties,
            id_=vertex.id,
            aliases=list(vertex.aliases),
        )
    if vertex.doc:
        properties.setdefault("ref_doc_id", vertex.doc)
    if vertex.order:
        properties.setdefault("order_key", vertex.order)
    if vertex.level is not None:
        properties.setdefault("level", vertex.level)
    return ChunkNode(text=vertex.text, id_=vertex.id, label=vertex.kind, properties=properties)


def node_to_vertex(node: LabelledNode, known: Vertex | None) -> Vertex:
    """A node of the property graph interface as a vertex.

    Args:
        node: An entity, a chunk, or a labelled node of another class.
        known: The vertex of the same id, as it is now.

    Raises:
        StoreError: An entity has the id of a chunk, or the other way round.
    """
    if isinstance(node, ChunkNode):
        return _chunk_to_vertex(node, known)
    if known is not None and known.type != "entity":
        raise StoreError(
            "an entity has the id of a chunk", where=node.id, hint="rename one of the two"
        )
    origin = _origin(node.properties, node.id)
    aliases = tuple(node.aliases) if isinstance(node, GraphEntity) else ()
    vertex = Vertex(
        id=node.id,
        kind=node.label,
        type="entity",
        name=getattr(node, "name", node.id),
        aliases=aliases,
        origins={origin: dict(node.properties)},
    )
    if known is not None:
        # One that came from the catalog has no origins of its own: what it held stays.
        before = known.origins or {"": known.attributes}
        vertex.origins = {**before, origin: dict(node.properties)}
        vertex.order, vertex.labels = known.order, known.labels
        vertex.aliases = aliases or known.aliases
    vertex.attributes = vertex.merged()
    return vertex


def llama_node_to_vertex(node: BaseNode, known: Vertex | None) -> Vertex:
    """A LlamaIndex node as a vertex; it keeps the place in a tree that it has already.

    Raises:
        AttributeValueError: A metadata value that cannot be kept, by name.
        StoreError: A chunk has the id of an entity.
    """
    encode_attributes(node.metadata, node.node_id)  # ours before anybody else's error
    dumped = node_to_metadata_dict(node, remove_text=True)
    content = json.loads(dumped[_CONTENT])
    content["metadata"] = {}
    vertex = Vertex(
        id=node.node_id,
        kind="text_chunk",
        type="chunk",
        text=node.get_content(metadata_mode=MetadataMode.NONE),
        doc=node.ref_doc_id or "",
        attributes=dict(node.metadata),
        payload=json.dumps({_CONTENT: json.dumps(content), _TYPE: dumped[_TYPE]}),
    )
    return _placed(vertex, known)


def vertex_to_llama_node(vertex: Vertex) -> BaseNode:
    """A chunk or tree node as a LlamaIndex node."""
    if vertex.payload:
        node = metadata_dict_to_node(json.loads(vertex.payload), vertex.text)
        node.metadata = dict(vertex.attributes)
        return node
    node = TextNode(id_=vertex.id, text=vertex.text, metadata=dict(vertex.attributes))
    if vertex.doc:
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=vertex.doc)
    if vertex.parent:
        node.relationships[NodeRelationship.PARENT] = RelatedNodeInfo(node_id=vertex.parent)
    return node


def relation_to_link(relation: Relation) -> Link:
    """A relation as a link; its ``triplet_source_id`` is the origin."""
    where = f"{relation.source_id} -> {relation.target_id}"
    return Link(
        relation.source_id,
        relation.label,
        relation.target_id,
        _origin(relation.properties, where),
        dict(relation.properties),
    )


def _chunk_to_vertex(node: ChunkNode, known: Vertex | None) -> Vertex:
    properties = dict(node.properties)
    documents = [properties.pop(key, None) for key in DOCUMENT_KEYS]
    doc = next((d for d in documents if isinstance(d, str) and d != "None"), "")
    payload = ""
    if _CONTENT in properties:  # as the base class writes LlamaIndex nodes
        payload = json.dumps({_CONTENT: properties.pop(_CONTENT), _TYPE: properties.pop(_TYPE, "")})
    if known is not None:
        for key in _STRUCTURE:  # read back from the view, not properties of the node
            if properties.get(key) == {"order_key": known.order, "level": known.level}[key]:
                properties.pop(key, None)
        payload = payload or known.payload
    vertex = Vertex(
        id=node.id,
        kind=node.label,
        type="chunk",
        text=node.text,
        doc=doc,
        attributes=properties,
        payload=payload,
    )
    return _placed(vertex, known)


def _placed(vertex: Vertex, known: Vertex | None) -> Vertex:
    """The vertex in the place that it has in a tree; its fingerprint tells that it changed."""
    if known is None:
        return vertex
    if known.type == "entity" and known.attributes.keys() - {TRIPLET_SOURCE_KEY}:
        raise StoreError(
            "a chunk has the id of an entity", where=vertex.id, hint="rename one of the two"
        )
    if known.type == "node":
        vertex.type, vertex.kind, vertex.doc = "node", known.kind, known.doc
    vertex.parent, vertex.order, vertex.level = known.parent, known.order, known.level
    vertex.labels = known.labels
    return vertex


def _origin(properties: dict[str, Any], where: str) -> str:
    origin = properties.get(TRIPLET_SOURCE_KEY, "")
    if not isinstance(origin, str):
        raise AttributeValueError(f"'{TRIPLET_SOURCE_KEY}' must be a string", where=where)
    return origin
