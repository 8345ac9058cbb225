"""Snapshots of a table as bytes: a catalog of a million nodes opens without reading its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.tree.build import StoredTexts
from llama_index_semxpath.tree.columns import Column, Rows
from llama_index_semxpath.tree.edges import EdgeTable
from llama_index_semxpath.tree.packing import Packable, pack, unpack
from llama_index_semxpath.tree.table import TextSource, TreeTable

_ARRAYS = ("kind", "parent", "end", "depth", "doc", "label")
_COLUMN_ARRAYS = ("rows", "types", "numbers", "codes", "list_ends", "list_codes")


def dump(table: TreeTable, *, texts: bool) -> bytes:
    """See :meth:`TreeTable.to_bytes`."""
    parts: dict[str, Packable] = {name: getattr(table, name) for name in _ARRAYS}
    parts |= {"ids": table.ids, "kinds": table.kinds, "docs": table.docs}
    if table.orders is not None:
        parts["orders"] = table.orders
    if texts:
        parts["texts"] = table.texts(np.arange(len(table), dtype=np.int32))
    exact: dict[str, dict[str, str]] = {}
    for index, (name, column) in enumerate(table.columns.items()):
        for array in _COLUMN_ARRAYS:
            parts[f"{index}.{array}"] = getattr(column, array)
        parts[f"{index}.vocab"] = column.vocab
        if column.exact:
            # As text: JSON readers may not keep big integers.
            exact[name] = {str(place): str(value) for place, value in column.exact.items()}
    edges = table.edges
    parts |= {"edge.names": edges.names, "edge.from": edges.sources, "edge.to": edges.targets}
    labels = [sorted(labels) for labels in table.label_sets]
    meta = {"columns": list(table.columns), "exact": exact, "labels": labels}
    return pack(parts, meta)


def load(data: bytes | memoryview, texts: TextSource | None) -> TreeTable:
    """See :meth:`TreeTable.from_bytes`."""
    parts, meta = unpack(data)
    try:
        columns = {
            name: _column(name, index, parts, meta["exact"].get(name, {}))
            for index, name in enumerate(meta["columns"])
        }
        if texts is None:
            texts = StoredTexts(parts["texts"]) if "texts" in parts else _no_texts
        return TreeTable(
            kinds=parts["kinds"],
            docs=parts["docs"],
            ids=parts["ids"],
            columns=columns,
            texts=texts,
            orders=parts.get("orders"),
            label_sets=[frozenset(labels) for labels in meta["labels"]],
            edges=EdgeTable(parts["edge.names"], parts["edge.from"], parts["edge.to"]),
            **{name: parts[name] for name in _ARRAYS},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError("tree snapshot lacks a part", where=str(error)) from error


def _column(name: str, index: int, parts: dict[str, Any], exact: dict[str, str]) -> Column:
    arrays = {array: parts[f"{index}.{array}"] for array in _COLUMN_ARRAYS}
    return Column(
        name,
        vocab=parts[f"{index}.vocab"],
        exact={int(place): int(value) for place, value in exact.items()},
        **arrays,
    )


def _no_texts(rows: Rows) -> list[str]:
    return [""] * len(rows)
