"""Answers of an engine as what callers are given: matches and plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from llama_index_semxpath.engines.result import Evaluation, Group
from llama_index_semxpath.errors import AttributeValueError
from llama_index_semxpath.index.match import Match, NodeView
from llama_index_semxpath.index.places import Places
from llama_index_semxpath.tree.columns import Mask, Rows
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.table import TreeTable


def matches_of(
    table: TreeTable,
    mask: Mask | None,
    read: Callable[[Sequence[str]], Mapping[str, TreeNode]],
    rows: Rows,
    scores: Any,
    why: Mapping[str, Any],
) -> list[Match]:
    """Rows as matches.

    Args:
        table: The table as the reader sees it.
        mask: The rows that may be read; ``None`` for all.
        read: Reads nodes by id; entities are made from the table.
        rows: The rows, each of which may be read.
        scores: One score a row.
        why: Parts of the scores by name, NaN where there is none.
    """
    places = Places(table, mask)
    ids = [table.ids[row] for row in rows.tolist()]
    nodes = read(ids)
    matches = []
    for at, (row, id_) in enumerate(zip(rows.tolist(), ids, strict=True)):
        if id_ in nodes:
            parent = int(table.parent[row])
            hidden = mask is not None and parent > 0 and not mask[parent]
            node = replace(nodes[id_], parent=None) if hidden else nodes[id_]
        else:
            node = _entity(table, row)
        reasons = {name: float(part[at]) for name, part in why.items() if not np.isnan(part[at])}
        view = NodeView(node, places.path(row), places.xpath(row))
        matches.append(Match(view, float(scores[at]), reasons))
    return matches


def value_of(table: TreeTable, found: Evaluation) -> Any:
    """The value of a query that does not end in nodes; groups as dictionaries."""
    value = found.value
    if isinstance(value, list) and value and isinstance(value[0], Group):
        return [
            {
                "key": group.key,
                "count": group.count,
                "nodes": [table.ids[row] for row in group.positions.tolist()],
            }
            for group in value
            if isinstance(group, Group)
        ]
    return value


def check_question(text: object, limit: object) -> None:
    """Refuses by name what is no question."""
    if not isinstance(text, str):
        raise AttributeValueError(f"a {type(text).__name__} is no text to search for")
    if not isinstance(limit, int) or isinstance(limit, bool):
        raise AttributeValueError(f"a limit must be a whole number, not a {type(limit).__name__}")


def _entity(table: TreeTable, row: int) -> TreeNode:
    attributes = table.attributes(row)
    name = str(attributes.get("name", ""))
    order = "" if table.orders is None else table.orders[row]
    return TreeNode(table.ids[row], table.kind_name(row), "", None, name, dict(attributes), order)
