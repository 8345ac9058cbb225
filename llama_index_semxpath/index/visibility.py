"""What one principal may read of a moment of the store: nodes, entities and relations.

Nodes carry labels. Entities and relations do not; they are known from documents, so what they may
be shown to follows from what the principal may read of those, and fails closed. What an entity is
comes from those documents alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

import numpy as np

from llama_index_semxpath.index.catalog import Catalog
from llama_index_semxpath.index.columns import with_entities
from llama_index_semxpath.index.merged import merge_all
from llama_index_semxpath.index.projection import Entity
from llama_index_semxpath.index.rows import EntitySource
from llama_index_semxpath.tree.columns import Mask
from llama_index_semxpath.tree.edges import EdgeTable
from llama_index_semxpath.tree.order import ENTITY_PREFIX, component
from llama_index_semxpath.tree.table import TreeTable

#: Document, source, name and target of a relation.
Relation = tuple[str, str, str, str]


def visible_part(
    catalog: Catalog, table: TreeTable, principal: frozenset[str], default_access: str
) -> tuple[TreeTable, Mask | None]:
    """The table as a principal may read it: a mask over its rows, and only visible relations.

    A relation is visible when both its ends are, and a document says it that the principal may read
    as a whole, or one of its ends is a visible node of that document. An entity is visible when a
    wholly visible document speaks of it, or one that relates a visible node of its own to it.

    Args:
        catalog: The catalog, in the moment of the table.
        table: The whole table.
        principal: Labels of who asks.
        default_access: Whether nodes without labels are readable: ``deny`` or ``allow``.

    Returns:
        The table itself and ``None`` where everybody may read everything.
    """
    mask = table.visible_to(principal, default_access=default_access)
    if mask is None:
        return table, None
    entities = table.doc < 0
    mask &= ~entities
    mask[0] = True
    whole = _whole_documents(table, mask)
    rows = catalog.relations()
    kept = [row for row in rows if row[0] in whole or _anchored(table, mask, row)]
    described = _described(catalog.entity_sources(), whole, kept)
    for entity in described:
        row = table.position(entity.id)
        if row is not None:
            mask[row] = True
    named = [row for row in kept if _seen(table, mask, row[1]) and _seen(table, mask, row[3])]
    shown = with_entities(table, described) if described else table
    return _with_relations(shown, named), mask


def _described(
    sources: Sequence[tuple[int, EntitySource]], whole: set[str], kept: Sequence[Relation]
) -> list[Entity]:
    """The entities that may be seen, as what may be read says they are.

    A document that is visible as a whole says all it does. Another one, of which a visible node
    stands in a relation, says what that relation needs: the name.
    """
    related = {(doc, end) for doc, source, _, target in kept for end in (source, target)}
    said, first = [], dict[str, int]()
    for place, source in sources:
        first.setdefault(source.entity, place)
        if source.doc in whole:
            said.append((place, source))
        elif (source.doc, source.entity) in related:
            said.append((place, replace(source, properties={}, aliases=())))
    # Keys are those of the whole store, so that rows stay where they are.
    keys = {id_: ENTITY_PREFIX + component(place) for id_, place in first.items()}
    return [replace(entity, order=keys[entity.id]) for entity in merge_all(said)]


def _seen(table: TreeTable, mask: Mask, id_: str) -> bool:
    row = table.position(id_)
    return row is not None and bool(mask[row])


def _whole_documents(table: TreeTable, mask: Mask) -> set[str]:
    hidden = np.bincount(table.doc[~mask & (table.doc >= 0)], minlength=len(table.docs))
    present = np.bincount(table.doc[table.doc >= 0], minlength=len(table.docs))
    pairs = zip(table.docs, hidden, present, strict=True)
    return {doc for doc, gone, all_ in pairs if all_ and not gone}


def _anchored(table: TreeTable, mask: Mask, relation: Relation) -> bool:
    doc, source, _, target = relation
    code = table.docs.index(doc) if doc in table.docs else -1
    rows = [row for row in (table.position(source), table.position(target)) if row is not None]
    return any(mask[row] and table.doc[row] == code >= 0 for row in rows)


def _with_relations(table: TreeTable, relations: Sequence[Relation]) -> TreeTable:
    if len(relations) == len(table.edges):
        return table
    names = [name for _, _, name, _ in relations]
    sources = [source for _, source, _, _ in relations]
    targets = [target for _, _, _, target in relations]
    other = copy(table)
    other.edges = EdgeTable(names, sources, targets)
    for cached in ("_pairs", "_adjacency"):
        other.__dict__.pop(cached, None)
    return other
