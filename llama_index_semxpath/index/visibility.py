"""What one principal may read of a moment of the store: nodes, entities and relations.

Nodes carry labels. Entities and relations do not; they are known from documents, so what they may
be shown to follows from what the principal may read of those, and fails closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from llama_index_semxpath.index.catalog import Catalog
from llama_index_semxpath.tree.columns import Mask
from llama_index_semxpath.tree.edges import EdgeTable
from llama_index_semxpath.tree.table import TreeTable

#: Document, source, name and target of a relation.
Relation = tuple[str, str, str, str]


def visible_part(
    catalog: Catalog, table: TreeTable, principal: frozenset[str], default_access: str
) -> tuple[TreeTable, Mask | None]:
    """The table as a principal may read it: a mask over its rows, and only visible relations.

    A relation is visible when a document says it that the principal may read as a whole, or when
    one of its ends is a visible node of that document. An entity is visible when such a relation
    leads to it, or when a wholly visible document speaks of it.

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
    named = {source.entity for _, source in catalog.entity_sources() if source.doc in whole}
    for _, source, _, target in kept:
        named.update((source, target))
    for id_ in named:
        row = table.position(id_)
        if row is not None and entities[row]:
            mask[row] = True
    return _with_relations(table, kept), mask


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
