"""Makes tables: from nodes, from other tables, from parts of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.tree.columns import Column, Rows, concat_columns
from llama_index_semxpath.tree.edges import EdgeTable
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.table import TextSource, TreeTable

_FIELDS = ("level", "page", "tokens")


def table_from_nodes(
    nodes: Iterable[TreeNode], edges: EdgeTable, texts: TextSource | None
) -> TreeTable:
    """See :meth:`TreeTable.from_nodes`."""
    ordered = list(nodes)
    if all(node.order for node in ordered):
        ordered.sort(key=lambda node: node.order)
    parent = _parents(ordered)
    kinds, kind = _coded(["", *(node.kind for node in ordered)])
    docs, doc = _coded([node.doc for node in ordered if node.doc], (n.doc for n in ordered))
    label_sets, label = _coded(
        [n.labels for n in ordered if n.labels is not None], (n.labels for n in ordered)
    )
    own_texts = ["", *(node.text for node in ordered)]
    return TreeTable.from_columns(
        ids=["", *(node.id for node in ordered)],
        kinds=kinds,
        kind=kind,
        parent=parent,
        doc=np.concatenate([[-1], doc]).astype(np.int32),
        docs=docs,
        columns=_columns(ordered),
        texts=texts or StoredTexts(own_texts),
        orders=["", *(node.order for node in ordered)],
        label=np.concatenate([[-1], label]).astype(np.int32),
        label_sets=label_sets,
        edges=edges,
    )


class StoredTexts:
    """Own texts kept in memory."""

    __slots__ = ("texts",)

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts

    def __call__(self, rows: Rows) -> list[str]:
        """Own texts of rows."""
        texts = self.texts
        return [texts[row] for row in rows.tolist()]


def measure(parent: Rows) -> tuple[Rows, Rows]:
    """End (row after the last descendant) and depth of each row, from parents in document order.

    Raises:
        StoreError: A parent that does not stand before its child.
    """
    count = len(parent)
    parents = parent.tolist()
    depth = [0] * count
    size = [1] * count
    for row in range(1, count):
        above = parents[row]
        if not 0 <= above < row:
            raise StoreError("rows are not in document order", where=f"row {row}")
        depth[row] = depth[above] + 1
    for row in range(count - 1, 0, -1):
        size[parents[row]] += size[row]
    end = np.arange(count, dtype=np.int32) + np.array(size, dtype=np.int32)
    # In document order each subtree is one run of rows, so a child ends within its parent.
    if count > 1 and bool((end[1:] > end[parent[1:]]).any()):
        raise StoreError("rows are not in document order", where="a subtree is not contiguous")
    return end, np.array(depth, dtype=np.int32)


def inherit_labels(label: Rows, end: Rows) -> Rows:
    """Effective label code of each row: its own, else that of the nearest ancestor with one."""
    effective = np.full(len(label), -1, dtype=np.int32)
    for row in np.flatnonzero(label >= 0).tolist():
        # Ancestors come first, so a deeper node's own labels overwrite what it inherited.
        effective[row : end[row]] = label[row]
    return effective


def concat_tables(tables: Sequence[TreeTable], edges: EdgeTable | None) -> TreeTable:
    """See :meth:`TreeTable.concat`."""
    shifts = np.concatenate([[0], np.cumsum([len(table) - 1 for table in tables])]).tolist()
    total = shifts[-1] + 1

    def rows(name: str, root: int) -> Rows:
        parts = [np.array([root], dtype=np.int32)]
        for table, shift in zip(tables, shifts, strict=False):
            part = getattr(table, name)[1:]
            if name == "end":
                part = part + np.int32(shift)
            elif name == "parent":
                part = np.where(part > 0, part + np.int32(shift), part)
            parts.append(part)
        return np.concatenate(parts).astype(np.int32, copy=False)

    columns: dict[str, list[tuple[int, Column]]] = {}
    for table, shift in zip(tables, shifts, strict=False):
        for name, column in table.columns.items():
            columns.setdefault(name, []).append((shift, column))
    kinds, kind = _merged([t.kinds for t in tables], [t.kind[1:] for t in tables], [""])
    docs, doc = _merged([t.docs for t in tables], [t.doc[1:] for t in tables], [])
    label_sets, label = _merged(
        [list(t.label_sets) for t in tables], [t.label[1:] for t in tables], []
    )
    keyed = all(table.orders is not None for table in tables)
    return TreeTable(
        kinds=kinds,
        kind=np.concatenate([[0], kind]).astype(np.int32),
        parent=rows("parent", -1),
        end=rows("end", total),
        depth=rows("depth", 0),
        doc=np.concatenate([[-1], doc]).astype(np.int32),
        docs=docs,
        ids=["", *(node_id for table in tables for node_id in table.ids[1:])],
        columns={name: concat_columns(name, parts) for name, parts in columns.items()},
        texts=JoinedTexts(tables, shifts),
        orders=["", *(key for t in tables for key in (t.orders or [])[1:])] if keyed else None,
        label=np.concatenate([[-1], label]).astype(np.int32),
        label_sets=label_sets,
        edges=edges if edges is not None else _all_edges(tables),
    )


class JoinedTexts:
    """Own texts of concatenated tables, each read from its own source."""

    __slots__ = ("parts", "starts")

    def __init__(self, tables: Sequence[TreeTable], shifts: Sequence[int]) -> None:
        self.parts: list[tuple[TextSource, int]] = []
        starts: list[int] = []
        for table, shift in zip(tables, shifts, strict=False):
            if len(table) == 1:
                continue
            source, offset = table.texts, -shift
            # Flat, so that a corpus changed a thousand times is not a thousand sources deep.
            while isinstance(source, SlicedTexts):
                offset += source.offset
                source = source.source
            self.parts.append((source, offset))
            starts.append(shift + 1)
        self.starts = np.array(starts, dtype=np.int32)

    def __call__(self, rows: Rows) -> list[str]:
        """Own texts of rows."""
        part_of = np.searchsorted(self.starts, rows, side="right") - 1
        found = [""] * len(rows)
        for part in np.unique(part_of).tolist():
            if part < 0:
                continue
            source, offset = self.parts[part]
            places = np.flatnonzero(part_of == part)
            for place, text in zip(
                places.tolist(), source(rows[places] + np.int32(offset)), strict=True
            ):
                found[place] = text
        return found


class SlicedTexts:
    """Own texts of a run of rows of another table."""

    __slots__ = ("offset", "source")

    def __init__(self, source: TextSource, offset: int) -> None:
        self.source = source
        self.offset = offset

    def __call__(self, rows: Rows) -> list[str]:
        """Own texts of rows."""
        return self.source(rows + np.int32(self.offset))


def slice_table(table: TreeTable, start: int, stop: int) -> TreeTable:
    """A table of the whole trees in the rows ``start`` to ``stop - 1``, without relations."""
    shift = np.int32(start - 1)

    def cut(array: Rows, root: int) -> Rows:
        return np.concatenate([[root], array[start:stop]]).astype(np.int32)

    parent = cut(table.parent, -1)
    parent[1:] = np.where(parent[1:] > 0, parent[1:] - shift, 0)
    end = cut(table.end, stop)
    columns = {}
    for name, column in table.columns.items():
        a, b = np.searchsorted(column.rows, [start, stop])
        if a < b:
            keep = np.zeros(len(column), dtype=np.bool_)
            keep[a:b] = True
            columns[name] = column.take(keep, column.rows[a:b] - shift)
    used = np.unique(table.doc[start:stop])
    used = used[used >= 0]
    docs = np.full(len(table.docs) + 1, -1, dtype=np.int32)
    docs[used] = np.arange(len(used), dtype=np.int32)
    return TreeTable(
        kinds=table.kinds,
        kind=cut(table.kind, 0),
        parent=parent,
        end=end - shift,
        depth=cut(table.depth, 0),
        doc=docs[cut(table.doc, -1)],
        docs=[table.docs[code] for code in used.tolist()],
        ids=["", *table.ids[start:stop]],
        columns=columns,
        texts=SlicedTexts(table.texts, int(shift)),
        orders=None if table.orders is None else ["", *table.orders[start:stop]],
        label=cut(table.label, -1),
        label_sets=table.label_sets,
    )


def replace_documents(
    table: TreeTable,
    removed: Collection[str],
    nodes: Iterable[TreeNode],
    edges: EdgeTable | None,
) -> TreeTable:
    """See :meth:`TreeTable.replace_documents`."""
    fresh: dict[str, list[TreeNode]] = {}
    for node in nodes:
        # An entity belongs to no document and is a tree of its own.
        fresh.setdefault(node.doc or node.id, []).append(node)
    parts = [table_from_nodes(part, EdgeTable([], [], []), None) for part in fresh.values()]
    incoming = sorted(parts, key=_first_key)
    gone = {*removed, *fresh}
    starts = table.tree_starts.tolist()
    pieces: list[TreeTable] = []
    run = 1  # first row of the kept trees that are not yet in pieces
    for start, stop in zip(starts, [*starts[1:], len(table)], strict=True):
        key = "" if table.orders is None else table.orders[start]
        before = [part for part in incoming if key and _first_key(part) < key]
        doc = int(table.doc[start])
        leaves = (table.docs[doc] if doc >= 0 else table.ids[start]) in gone
        if before or leaves:
            if run < start:
                pieces.append(slice_table(table, run, start))
            pieces.extend(before)
            incoming = incoming[len(before) :]
            run = stop if leaves else start
    if run < len(table):
        pieces.append(slice_table(table, run, len(table)))
    pieces.extend(incoming)
    return concat_tables(pieces or [slice_table(table, 1, 1)], edges or table.edges)


def _first_key(table: TreeTable) -> str:
    return (table.orders or ["", ""])[1]


def _parents(nodes: list[TreeNode]) -> Rows:
    places: dict[str, int] = {}
    parent = np.empty(len(nodes) + 1, dtype=np.int32)
    parent[0] = -1
    for row, node in enumerate(nodes, start=1):
        if node.id in places or not node.id:
            raise StoreError("node id is empty or used twice", where=node.id)
        above = 0 if node.parent is None else places.get(node.parent)
        if above is None:
            raise StoreError("parent does not come before its child", where=node.id)
        parent[row] = above
        places[node.id] = row
    return parent


def _columns(nodes: list[TreeNode]) -> dict[str, Column]:
    found: dict[str, tuple[list[int], list[Any]]] = {}
    for row, node in enumerate(nodes, start=1):
        for name, value in column_values(node):
            rows, values = found.setdefault(name, ([], []))
            rows.append(row)
            values.append(value)
    return {name: Column.from_values(name, rows, values) for name, (rows, values) in found.items()}


def column_values(node: TreeNode) -> Iterator[tuple[str, Any]]:
    """What ``@name`` reads of a node: its attributes, and those of its fields that it has."""
    for name, value in node.attributes.items():
        if value is not None:
            yield name, value
    for name in _FIELDS:
        value = getattr(node, name)
        # 0 tokens is the field's "not counted"; an attribute of that name wins.
        if value is None or name in node.attributes or (name == "tokens" and not value):
            continue
        yield name, value


def _coded(values: Iterable[Any], stream: Iterable[Any] | None = None) -> tuple[list[Any], Rows]:
    """Distinct values in order of appearance, and the code of each (-1 for one not among them)."""
    values = list(values)
    codes: dict[Any, int] = {}
    for value in values:
        codes.setdefault(value, len(codes))
    stream = values if stream is None else stream
    return list(codes), np.array([codes.get(value, -1) for value in stream], dtype=np.int32)


def _merged(
    names: Sequence[Sequence[Any]], codes: Sequence[Rows], first: list[Any]
) -> tuple[list[Any], npt.NDArray[np.int32]]:
    """One code space of several; -1 stays -1."""
    merged: dict[Any, int] = {name: code for code, name in enumerate(first)}
    parts: list[Rows] = [np.empty(0, dtype=np.int32)]
    for own, part in zip(names, codes, strict=True):
        recode = np.array([*(merged.setdefault(n, len(merged)) for n in own), -1], dtype=np.int32)
        parts.append(recode[part])
    return list(merged), np.concatenate(parts)


def _all_edges(tables: Sequence[TreeTable]) -> EdgeTable:
    return EdgeTable(
        [name for table in tables for name in table.edges.names],
        [source for table in tables for source in table.edges.sources],
        [target for table in tables for target in table.edges.targets],
    )
