"""The catalog as one columnar tree, kept up to date and kept on disk between processes."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.index.catalog import Catalog
from llama_index_semxpath.index.codec import query_attributes
from llama_index_semxpath.index.history import History
from llama_index_semxpath.index.merged import merged_entities
from llama_index_semxpath.index.projection import Entity
from llama_index_semxpath.tree.columns import Rows
from llama_index_semxpath.tree.edges import EdgeTable
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.patch import Patch, patch_table
from llama_index_semxpath.tree.table import TextSource, TreeTable

#: Below this many nodes a table is built as fast as a snapshot is read.
_SNAPSHOT_NODES = 2_000
_MAGIC = b"SXPcols1"


def load_table(catalog: Catalog, snapshot: Path | None) -> TreeTable:
    """The table of the whole store, from its snapshot and what changed since.

    Must be called within ``catalog.moment()``.

    Args:
        catalog: The catalog.
        snapshot: The snapshot file; ``None`` keeps none.
    """
    found = None if snapshot is None else _read_snapshot(snapshot, catalog)
    if found is None:
        table = _build(catalog)
    else:
        stored, table = found
        if stored == catalog.version:
            return table
        table = update_table(catalog, table, stored).table
    if snapshot is not None and len(table) > _SNAPSHOT_NODES:
        _write_snapshot(snapshot, catalog, table)
    return table


@dataclass(frozen=True, slots=True)
class Update:
    """A table brought up to date.

    Args:
        table: The new table.
        patch: How its rows came from those of the old one; ``None`` where it was built anew.
    """

    table: TreeTable
    patch: Patch | None = None


def update_table(catalog: Catalog, table: TreeTable, version: int) -> Update:
    """The table as it stands now, from the table of an earlier version of the store.

    Args:
        catalog: The catalog, in the moment to bring the table to.
        table: The table of an earlier version.
        version: That version.
    """
    difference = History(catalog).since(version)
    if difference is None or len(difference.nodes) > max(64, len(table) // 2):
        return Update(_build(catalog))
    nodes = {node.id: node for node in difference.nodes}
    # Pages stand in a document's layout, and an edit may shift them in every node behind it.
    for doc in catalog.placed_since(version):
        nodes.update((node.id, node) for node in catalog.walk(doc, text=False))
    gone, edges = set(difference.gone), None
    if int(catalog.meta("relations") or 0) > version:
        edges = EdgeTable.from_edges(catalog.edges())
        # Entities stand in no document; they are few beside the nodes and are put in afresh.
        first = int(table.tree_starts[table.doc[table.tree_starts] < 0].min(initial=len(table)))
        gone.update(table.ids[first:])
        nodes.update((node.id, node) for node in _entity_nodes(catalog))
    return _patched(catalog.texts, table, gone, nodes.values(), edges)


def past_table(catalog: Catalog, table: TreeTable, revision: int) -> Update:
    """The table of a past revision, from the table of the present.

    Relations and entities are those of the present, where the past holds what they join.

    Args:
        catalog: The catalog, in the moment of the table.
        table: The table of the present.
        revision: The revision to go back to.
    """
    difference = History(catalog).before(revision)
    own = {node.id: node.text for node in difference.nodes}

    def texts(ids: Sequence[str]) -> list[str]:
        now = dict(zip(ids, catalog.texts(ids), strict=True))
        return [own.get(id_, now[id_]) for id_ in ids]

    return _patched(texts, table, difference.gone, difference.nodes, None)


def _patched(
    texts: Callable[[Sequence[str]], list[str]],
    table: TreeTable,
    gone: Collection[str],
    nodes: Iterable[TreeNode],
    edges: EdgeTable | None,
) -> Update:
    patch = patch_table(table, gone, _flat(nodes), lambda rows: [""] * len(rows), edges)
    patch.table.texts = _texts_by_id(texts, patch.table)
    return Update(patch.table, patch)


def _build(catalog: Catalog) -> TreeTable:
    nodes = [*_flat(catalog.walk(text=False)), *_entity_nodes(catalog)]
    table = TreeTable.from_nodes(nodes, catalog.edges(), texts=lambda rows: [""] * len(rows))
    table.texts = _texts_of(catalog, table)
    return table


def _flat(nodes: Iterable[TreeNode]) -> Iterator[TreeNode]:
    for node in nodes:
        node.attributes = query_attributes(node.attributes)
        yield node


def _entity_nodes(catalog: Catalog) -> Iterator[TreeNode]:
    return map(entity_node, merged_entities(catalog))


def entity_node(entity: Entity) -> TreeNode:
    """An entity as a node of the tree."""
    attributes = {"name": entity.name, **query_attributes(entity.properties)}
    if entity.aliases:
        attributes.setdefault("aliases", list(entity.aliases))
    return TreeNode(entity.id, entity.label, "", None, entity.name, attributes, entity.order)


def with_entities(table: TreeTable, entities: Iterable[Entity]) -> TreeTable:
    """The table with some of its entities described otherwise; every row stays in its place."""
    nodes = [entity_node(entity) for entity in entities]
    other = patch_table(table, (), nodes, table.texts).table
    names = {other.position(node.id): node.text for node in nodes}

    def texts(rows: Rows) -> list[str]:
        own = table.texts(rows)
        return [names.get(row, text) for row, text in zip(rows.tolist(), own, strict=True)]

    other.texts = texts
    return other


def _texts_of(catalog: Catalog, table: TreeTable) -> TextSource:
    """Own texts of the present, read in the moment that the reading thread is in."""
    return _texts_by_id(catalog.texts, table)


def _texts_by_id(texts: Callable[[Sequence[str]], list[str]], table: TreeTable) -> TextSource:
    """Reads own texts by id; an entity's is its name."""

    def read(rows: Rows) -> list[str]:
        ids = table.ids
        found = texts([ids[row] for row in rows.tolist()])
        for place in [place for place, text in enumerate(found) if not text]:
            row = int(rows[place])
            if table.doc[row] < 0 and row:
                found[place] = str(table.attributes(row).get("name", ""))
        return found

    return read


def _read_snapshot(path: Path, catalog: Catalog) -> tuple[int, TreeTable] | None:
    """A snapshot saves time and nothing else, so one that cannot be read is passed over."""
    try:
        with path.open("rb") as file:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        size = int.from_bytes(data[8:16], "big")
        if bytes(data[:8]) != _MAGIC:
            return None
        head = json.loads(bytes(data[16 : 16 + size]))
        if head["store"] != catalog.identity:
            return None
        body = data[_aligned(16 + size) :]
        if zlib.crc32(body) != head["crc"]:
            return None
        table = TreeTable.from_bytes(body, lambda rows: [""] * len(rows))
    except (OSError, ValueError, KeyError, SemXPathError):
        return None
    table.texts = _texts_of(catalog, table)
    return head["version"], table


def _write_snapshot(path: Path, catalog: Catalog, table: TreeTable) -> None:
    body = table.to_bytes()
    about = {
        "store": catalog.identity,
        "version": catalog.version,
        "crc": zlib.crc32(body),
    }
    head = json.dumps(about).encode()
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    # A store on a read-only disk is read without one.
    with contextlib.suppress(OSError):
        with draft.open("wb") as file:
            file.write(_MAGIC + len(head).to_bytes(8, "big") + head)
            file.write(bytes(_aligned(16 + len(head)) - 16 - len(head)))
            file.write(body)
        draft.replace(path)


def _aligned(offset: int) -> int:
    return (offset + 63) // 64 * 64


def rows_in_ranges(table: TreeTable, ranges: Iterable[tuple[int, int]]) -> Rows:
    """All rows of half-open ranges."""
    parts = [np.arange(low, high, dtype=np.int32) for low, high in ranges]
    return np.concatenate(parts) if parts else np.empty(0, np.int32)
