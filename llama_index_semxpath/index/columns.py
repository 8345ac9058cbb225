"""The catalog as one columnar tree, kept up to date and kept on disk between processes."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.index.catalog import Catalog
from llama_index_semxpath.index.codec import query_attributes
from llama_index_semxpath.index.merged import merged_entities
from llama_index_semxpath.tree.columns import Rows
from llama_index_semxpath.tree.edges import EdgeTable
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.table import TreeTable

#: Below this many nodes a table is built as fast as a snapshot is read.
_SNAPSHOT_NODES = 2_000
#: Beyond this many, all own texts are read in one scan rather than by id.
_SCAN_SHARE = 0.2
_MAGIC = b"SXPcols1"
#: Versions of documents, by id: tells which of them changed.
Versions = dict[str, int]


def load_table(catalog: Catalog, snapshot: Path | None) -> tuple[TreeTable, Versions]:
    """The table of the whole store, from its snapshot and what changed since.

    Must be called within ``catalog.moment()``.

    Args:
        catalog: The catalog.
        snapshot: The snapshot file; ``None`` keeps none.
    """
    versions = {document.id: document.version for document in catalog.documents()}
    found = None if snapshot is None else _read_snapshot(snapshot, catalog)
    if found is None:
        table = _build(catalog)
    else:
        stored, table, old = found
        if stored == catalog.version:
            return table, versions
        table = update_table(catalog, table, old, versions)
    if snapshot is not None and len(table) > _SNAPSHOT_NODES:
        _write_snapshot(snapshot, catalog, table, versions)
    return table, versions


def update_table(catalog: Catalog, table: TreeTable, old: Versions, new: Versions) -> TreeTable:
    """The table with changed documents, all relations and all entities read anew."""
    changed = [doc for doc, version in new.items() if old.get(doc) != version]
    if len(changed) > max(8, len(new) // 4):
        return _build(catalog)
    gone = [doc for doc in old if new.get(doc) != old[doc]]
    # Entities stand in no document; they are few beside the nodes and are put in afresh.
    first = int(table.tree_starts[table.doc[table.tree_starts] < 0].min(initial=len(table)))
    gone.extend(table.ids[first:])
    nodes = (node for doc in changed for node in _flat(catalog.walk(doc)))
    edges = EdgeTable.from_edges(catalog.edges())
    updated = table.replace_documents(gone, [*nodes, *_entity_nodes(catalog)], edges)
    updated.texts = _texts_by_id(catalog, updated)
    return updated


def _build(catalog: Catalog) -> TreeTable:
    nodes = [*_flat(catalog.walk(text=False)), *_entity_nodes(catalog)]
    table = TreeTable.from_nodes(nodes, catalog.edges(), texts=lambda rows: [""] * len(rows))
    table.texts = _texts_by_id(catalog, table)
    return table


def _flat(nodes: Iterable[TreeNode]) -> Iterator[TreeNode]:
    for node in nodes:
        node.attributes = query_attributes(node.attributes)
        yield node


def _entity_nodes(catalog: Catalog) -> Iterator[TreeNode]:
    for entity in merged_entities(catalog):
        attributes = {"name": entity.name, **query_attributes(entity.properties)}
        if entity.aliases:
            attributes.setdefault("aliases", list(entity.aliases))
        yield TreeNode(entity.id, entity.label, "", None, entity.name, attributes, entity.order)


def _texts_by_id(catalog: Catalog, table: TreeTable) -> Callable[[Rows], list[str]]:
    """Reads own texts from the catalog, in the moment that the reading thread is in."""

    def read(rows: Rows) -> list[str]:
        ids = table.ids
        wanted = [ids[row] for row in rows.tolist()]
        if len(wanted) > max(2_000, _SCAN_SHARE * len(ids)):
            texts = catalog.all_texts()
            return [texts.get(id_, "") for id_ in wanted]
        found = catalog.texts(wanted)
        for place in [place for place, text in enumerate(found) if not text]:
            row = int(rows[place])
            if table.doc[row] < 0 and row:
                found[place] = str(table.attributes(row).get("name", ""))
        return found

    return read


def _read_snapshot(path: Path, catalog: Catalog) -> tuple[int, TreeTable, Versions] | None:
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
    table.texts = _texts_by_id(catalog, table)
    return head["version"], table, head["documents"]


def _write_snapshot(path: Path, catalog: Catalog, table: TreeTable, versions: Versions) -> None:
    body = table.to_bytes()
    about = {
        "store": catalog.identity,
        "version": catalog.version,
        "documents": versions,
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
