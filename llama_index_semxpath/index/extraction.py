"""Entities and relations by LlamaIndex' extractors, under our ids and with their provenance."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from llama_index.core.graph_stores.types import (
    KG_NODES_KEY,
    KG_RELATIONS_KEY,
    EntityNode,
    Relation,
)
from llama_index.core.schema import BaseNode, TransformComponent

from llama_index_semxpath.index import facts
from llama_index_semxpath.index.entities import EntityResolver, KnownEntity, Mention
from llama_index_semxpath.index.rows import EntitySource
from llama_index_semxpath.node_parser.convert import to_llama
from llama_index_semxpath.node_parser.facts import Fact
from llama_index_semxpath.node_parser.named import relation_name
from llama_index_semxpath.tree.edges import Edge
from llama_index_semxpath.tree.node import Value

if TYPE_CHECKING:
    from llama_index_semxpath.index.base import SemXPathIndex

#: Relation from a node to an entity that its text names.
MENTIONS = "MENTIONS"
#: Kinds of nodes whose text is given to the extractors.
KINDS = ("Paragraph", "ListItem", "Row", "Quote")


@dataclass(slots=True)
class Extracted:
    """What extractors found.

    Args:
        entities: Count of entities that the documents name.
        mentions: Count of places that name one.
        relations: Count of relations between entities.
    """

    entities: int = 0
    mentions: int = 0
    relations: int = 0


@dataclass(slots=True)
class _Found:
    """What one document says."""

    entities: dict[str, EntitySource] = field(default_factory=dict)
    mentions: list[Edge] = field(default_factory=list)
    relations: list[Fact] = field(default_factory=list)


def extract(
    index: SemXPathIndex,
    extractors: Sequence[TransformComponent],
    *,
    documents: Iterable[str] | None = None,
    kinds: Sequence[str] = KINDS,
    confidence: float = 0.5,
    accept: bool = False,
) -> Extracted:
    """Runs extractors over the nodes of documents; see :meth:`SemXPathIndex.extract`."""
    totals = Extracted()
    chosen = documents if documents is not None else [d.id for d in index.catalog.documents()]
    for doc in chosen:
        index.catalog.document(doc)
        nodes = [node for node in index.catalog.walk(doc) if node.parent is None or node.text]
        llama = [node for node in to_llama(nodes) if node.metadata["kind"] in kinds]
        before = {node.node_id: dict(node.metadata) for node in llama}
        for extractor in extractors:
            llama = list(extractor(llama))
        found = _read(llama, before, _resolver(index), doc, confidence)
        _write(index, doc, found, accept)
        totals.entities += len(found.entities)
        totals.mentions += len(found.mentions)
        totals.relations += len(found.relations)
    return totals


def _resolver(index: SemXPathIndex) -> EntityResolver:
    known: dict[str, KnownEntity] = {}
    for _, source in index.catalog.entity_sources():
        entity = known.setdefault(
            source.entity, KnownEntity(source.entity, source.label, source.context)
        )
        entity.names += [
            name for name in (source.name, *source.aliases) if name not in entity.names
        ]
        entity.properties.update(source.properties)
    return EntityResolver(known.values())


def _read(
    nodes: Sequence[BaseNode],
    before: dict[str, dict[str, Any]],
    resolver: EntityResolver,
    doc: str,
    confidence: float,
) -> _Found:
    found = _Found()
    for node in nodes:
        own = before.get(node.node_id)
        if own is None:
            continue  # not one of ours: an extractor that makes nodes has no place to name
        ids: dict[str, str] = {}
        for entity in node.metadata.get(KG_NODES_KEY) or ():
            if isinstance(entity, EntityNode) and entity.name.strip():
                ids[entity.id] = _take(entity, own, resolver, doc, found)
        found.mentions += [Edge(node.node_id, MENTIONS, id_) for id_ in dict.fromkeys(ids.values())]
        for relation in node.metadata.get(KG_RELATIONS_KEY) or ():
            fact = _fact(relation, ids, node.node_id, confidence)
            if fact is not None:
                found.relations.append(fact)
    return found


def _take(
    entity: EntityNode,
    own: dict[str, Any],
    resolver: EntityResolver,
    doc: str,
    found: _Found,
) -> str:
    """Id of the entity; extractors copy the metadata of the node into its properties."""
    name = " ".join(entity.name.split())
    said = {k: _value(v) for k, v in entity.properties.items() if k not in own and v is not None}
    id_, _ = resolver.resolve(Mention(name, entity.label, properties=said))
    known = found.entities.get(id_)
    aliases = set(known.aliases) | {known.name, name} if known else {name}
    first = known.name if known else name
    properties = {**known.properties, **said} if known else said
    found.entities[id_] = EntitySource(
        id_, doc, entity.label, first, properties, tuple(sorted(aliases - {first}))
    )
    return id_


def _fact(relation: Relation, ids: dict[str, str], node: str, confidence: float) -> Fact | None:
    source, target = ids.get(relation.source_id), ids.get(relation.target_id)
    if source is None or target is None or source == target:
        return None
    name = relation_name(relation.label)
    return Fact(source, name, target, relation.target_id, facts.MODEL, confidence, evidence=node)


def _value(value: Any) -> Value:
    if isinstance(value, (str, bool, int, float)):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _write(index: SemXPathIndex, doc: str, found: _Found, accept: bool) -> None:
    with index.writer.turn(), index.writer.transaction() as writer:
        writer.replace_entities(doc, found.entities.values())
        kept = [edge for edge in index.catalog.edges(doc) if edge.name != MENTIONS]
        others = [edge for edge in kept if facts.FACT not in edge.properties]
        facts.keep_found(writer, doc, found.relations, accept=accept)
        facts.relate(writer, doc, [*others, *found.mentions])
