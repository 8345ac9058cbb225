"""The schema of a tree, read off its columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from llama_index_semxpath.schema import AttributeInfo, KindInfo, RelationInfo, Schema
from llama_index_semxpath.tree.columns import Column, Rows, ValueType
from llama_index_semxpath.tree.table import TreeTable

_TYPE_NAMES: dict[ValueType, Literal["string", "number", "boolean", "date", "datetime", "list"]] = {
    ValueType.STRING: "string",
    ValueType.NUMBER: "number",
    ValueType.BOOLEAN: "boolean",
    ValueType.DATE: "date",
    ValueType.DATETIME: "datetime",
    ValueType.STRINGS: "list",
}
_EXAMPLES = 5
_EXAMPLE_CHARACTERS = 60
#: Values looked at for examples; more would not show more.
_LOOKED_AT = 2000


def schema_of(table: TreeTable) -> Schema:
    """Kinds, attributes and relations of a tree, with counts, types and example values.

    Give a reader's view of the table to get a schema in which nothing hidden shows.

    Args:
        table: The tree.

    Example:
        >>> from llama_index_semxpath.tree.node import TreeNode
        >>> day = TreeNode("d", "Day", "d", attributes={"index": 3})
        >>> schema_of(TreeTable.from_nodes([day])).kinds["Day"].attributes["index"].type
        'number'
    """
    counts = np.bincount(table.kind, minlength=len(table.kinds)).astype(np.int32)
    attributes: dict[int, dict[str, AttributeInfo]] = {}
    for name in sorted(table.columns):
        for code, info in _attribute(table, table.columns[name], counts).items():
            attributes.setdefault(code, {})[name] = info
    children, roots = _children(table)
    kinds = {
        name: KindInfo(name, int(counts[code]), attributes.get(code, {}), children.get(code, {}))
        for name, code in sorted(table.kind_codes.items())
        if counts[code]
    }
    relations = {}
    for name in table.relations:
        sources, targets = table.relation_pairs(name)
        if len(sources):
            relations[name] = RelationInfo(
                name, len(sources), _kind_counts(table, sources), _kind_counts(table, targets)
            )
    return Schema(kinds, relations, roots)


def _attribute(table: TreeTable, column: Column, counts: Rows) -> dict[int, AttributeInfo]:
    """What each kind code has of one attribute."""
    if column.about is not None and column.about[0] == table.kinds:
        return {
            code: replace(info, share=info.count / int(counts[code]))
            for code, info in column.about[1].items()
        }
    kinds = table.kind[column.rows]
    infos = {}
    for code in np.flatnonzero(np.bincount(kinds)).tolist():
        places = np.flatnonzero(kinds == code).astype(np.int32)
        types = np.flatnonzero(np.bincount(column.types[places]))
        name = _TYPE_NAMES[ValueType(int(types[0]))] if len(types) == 1 else "mixed"
        share = len(places) / int(counts[code])
        examples = _examples(column, places)
        infos[code] = AttributeInfo(column.name, name, len(places), share, examples)
    column.about = (table.kinds, infos)
    return infos


def _examples(column: Column, places: Rows) -> tuple[str, ...]:
    """The commonest values, ties in document order; of numbers, values over their whole range."""
    looked = places[:_LOOKED_AT]
    kind = column.uniform
    values: Any = column.numbers if kind == ValueType.NUMBER else column.codes
    if kind not in (ValueType.NUMBER, ValueType.STRING) or column.exact:
        values = np.arange(len(column))  # lists, dates and mixtures: value by value
    _, first, counts = np.unique(values[looked], return_index=True, return_counts=True)
    if kind == ValueType.NUMBER and len(first) > _EXAMPLES and not column.exact:
        picks = np.linspace(0, len(first) - 1, _EXAMPLES).astype(int)
        return tuple(column.text(place)[:_EXAMPLE_CHARACTERS] for place in looked[first[picks]])
    seen: dict[str, int] = {}
    for at in np.argsort(first).tolist():
        text = column.text(int(looked[first[at]]))[:_EXAMPLE_CHARACTERS]
        seen[text] = seen.get(text, 0) + int(counts[at])
    ranked = sorted(seen, key=lambda text: -seen[text])
    if len(ranked) > _EXAMPLES and kind == ValueType.NUMBER:
        ordered = sorted(ranked, key=float)
        picks = np.linspace(0, len(ordered) - 1, _EXAMPLES).astype(int)
        return tuple(ordered[pick] for pick in picks)
    return tuple(ranked[:_EXAMPLES])


def _children(table: TreeTable) -> tuple[dict[int, dict[str, int]], dict[str, int]]:
    """Kinds of children by the parent's kind code, and those of the root."""
    parent = table.parent[1:]
    child = table.kind[1:]
    if table.orphan is not None:
        kept = ~table.orphan[1:]
        parent, child = parent[kept], child[kept]
    width = len(table.kinds)
    pairs, numbers = np.unique(
        table.kind[parent].astype(np.int64) * width + child, return_counts=True
    )
    found: dict[int, dict[str, int]] = {}
    for pair, number in zip(pairs.tolist(), numbers.tolist(), strict=True):
        above, below = divmod(pair, width)
        found.setdefault(above, {})[table.kinds[below]] = number
    return found, found.pop(0, {})


def _kind_counts(table: TreeTable, rows: Rows) -> dict[str, int]:
    codes, numbers = np.unique(table.kind[rows], return_counts=True)
    return {
        table.kinds[code]: number
        for code, number in zip(codes.tolist(), numbers.tolist(), strict=True)
    }
