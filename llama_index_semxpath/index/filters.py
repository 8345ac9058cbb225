"""LlamaIndex metadata filters on the columns of the store; an unknown filter is refused."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import numpy as np
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)

from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.codec import printable
from llama_index_semxpath.tree.columns import Mask
from llama_index_semxpath.tree.node import Value
from llama_index_semxpath.tree.table import TreeTable

_ORDERED: dict[FilterOperator, Callable[[Any, Any], bool]] = {
    FilterOperator.GT: lambda a, b: a > b,
    FilterOperator.LT: lambda a, b: a < b,
    FilterOperator.GTE: lambda a, b: a >= b,
    FilterOperator.LTE: lambda a, b: a <= b,
}
_DOCUMENT_KEYS = frozenset({"doc", "doc_id", "ref_doc_id", "document_id"})
_LIST_OPERATORS = frozenset(
    {FilterOperator.IN, FilterOperator.NIN, FilterOperator.ANY, FilterOperator.ALL}
)


def filter_mask(table: TreeTable, filters: MetadataFilters) -> Mask:
    """Rows that meet the filters.

    A key is an attribute of the node, else one of its document (as LlamaIndex copies a document's
    metadata to its nodes), or ``kind`` or ``doc``. A node without it meets no comparison, also not
    ``!=`` or ``nin``.

    Args:
        table: The whole table.
        filters: Filters, nested at will.

    Raises:
        StoreError: A filter that has no meaning here; it is never dropped.
    """
    masks = [
        filter_mask(table, part) if isinstance(part, MetadataFilters) else _one(table, part)
        for part in filters.filters
    ]
    if not masks:
        return np.ones(len(table), bool)
    stacked = np.stack(masks)
    if filters.condition == FilterCondition.OR:
        return np.asarray(stacked.any(axis=0))
    if filters.condition == FilterCondition.NOT:
        return np.asarray(~stacked.any(axis=0))
    if filters.condition in (FilterCondition.AND, None):
        return np.asarray(stacked.all(axis=0))
    raise StoreError(f"unknown filter condition '{filters.condition}'")


def _one(table: TreeTable, item: MetadataFilter) -> Mask:
    test = _test(item)
    values = _values(table, item.key)
    if item.operator == FilterOperator.IS_EMPTY:
        return np.array([value is None or value in ("", []) for value in values])
    known: dict[Any, bool] = {}
    mask = np.zeros(len(table), bool)
    for row, value in enumerate(values):
        if value is None:
            continue
        key = (type(value), tuple(value) if isinstance(value, list) else value)
        if key not in known:
            known[key] = test(value)
        mask[row] = known[key]
    return mask


def _values(table: TreeTable, key: str) -> list[Value | None]:
    if key == "kind":
        return [table.kinds[code] for code in table.kind.tolist()]
    if key in _DOCUMENT_KEYS and table.attribute(key) is None:
        return [table.docs[code] if code >= 0 else None for code in table.doc.tolist()]
    column = table.attribute(key)
    if column is None:
        return [None] * len(table)
    slots = column.slots(len(table)).tolist()
    own = [column.value(slot) if slot >= 0 else None for slot in slots]
    roots = np.zeros(len(table), np.int64)
    starts = table.tree_starts
    if len(starts):
        roots[starts] = starts
        roots = np.maximum.accumulate(roots)
    return [
        value if value is not None else own[root]
        for value, root in zip(own, roots.tolist(), strict=True)
    ]


def _test(item: MetadataFilter) -> Callable[[Value], bool]:
    wanted, operator = item.value, item.operator
    if operator == FilterOperator.IS_EMPTY:
        return lambda value: False
    if wanted is None:
        raise StoreError(
            "a filter without a value", where=printable(item.key),
            hint="use the operator is_empty to ask for nodes without it",
        )  # fmt: skip
    if operator in _LIST_OPERATORS:
        if not isinstance(wanted, list):
            raise StoreError(f"'{operator.value}' needs a list", where=printable(item.key))
        return _list_test(operator, wanted)
    if operator == FilterOperator.EQ:
        return lambda value: _equal(value, wanted)
    if operator == FilterOperator.NE:
        return lambda value: not _equal(value, wanted)
    if operator in _ORDERED:
        return lambda value: _ordered(value, wanted, _ORDERED[operator])
    if operator == FilterOperator.CONTAINS:
        return lambda value: isinstance(value, list) and str(wanted) in value
    if operator == FilterOperator.TEXT_MATCH:
        return lambda value: isinstance(value, str) and str(wanted) in value
    if operator == FilterOperator.TEXT_MATCH_INSENSITIVE:
        return lambda value: isinstance(value, str) and str(wanted).lower() in value.lower()
    raise StoreError(f"unknown filter operator '{operator.value}'", where=printable(item.key))


def _list_test(operator: FilterOperator, wanted: list[Any]) -> Callable[[Value], bool]:
    texts = {str(item) for item in wanted}
    if operator == FilterOperator.IN:
        return lambda value: any(_equal(value, item) for item in wanted)
    if operator == FilterOperator.NIN:
        return lambda value: not any(_equal(value, item) for item in wanted)
    if operator == FilterOperator.ANY:
        return lambda value: isinstance(value, list) and not texts.isdisjoint(value)
    return lambda value: isinstance(value, list) and texts <= set(value)


def _equal(value: Value, wanted: Any) -> bool:
    if isinstance(value, dt.date) and isinstance(wanted, str):
        return value.isoformat() == wanted
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if isinstance(value, (int, float)) != isinstance(wanted, (int, float)):
        return False
    return bool(value == wanted)


def _ordered(value: Value, wanted: Any, compare: Callable[[Any, Any], bool]) -> bool:
    if isinstance(value, dt.date):
        value, wanted = value.isoformat(), str(wanted)
    same = isinstance(value, str) == isinstance(wanted, str)
    return same and not isinstance(value, list) and compare(value, wanted)
