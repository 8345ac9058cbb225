"""Entities as they are: merged from all documents that support them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from llama_index_semxpath.index.catalog import Catalog
from llama_index_semxpath.index.codec import digest, encode_attributes
from llama_index_semxpath.index.entities import merge_sources
from llama_index_semxpath.index.projection import Entity
from llama_index_semxpath.index.rows import EntitySource
from llama_index_semxpath.tree.order import ENTITY_PREFIX, component


def merged_entities(catalog: Catalog, ids: Sequence[str] | None = None) -> Iterator[Entity]:
    """Entities in the order they were first said, each with a key that others do not move.

    Args:
        catalog: The catalog.
        ids: Only these; ``None`` for all.
    """
    return merge_all(catalog.entity_sources(ids))


def merge_all(sources: Iterable[tuple[int, EntitySource]]) -> Iterator[Entity]:
    """Entities from what is said of them, each source with its place in time."""
    groups: dict[str, list[EntitySource]] = {}
    places: dict[str, int] = {}
    for place, source in sources:
        groups.setdefault(source.entity, []).append(source)
        places.setdefault(source.entity, place)
    for id_, rows in groups.items():
        label, name, properties, aliases = merge_sources(rows)
        order = ENTITY_PREFIX + component(places[id_])
        content = encode_attributes(properties, id_)
        fingerprint = digest(label, name, *aliases, content, order)[:8].hex()
        yield Entity(id_, label, name, aliases, properties, order, fingerprint)
