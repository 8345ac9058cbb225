"""The axes over order keys are those over columns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llama_index_semxpath.engines.axes import NodeTest, step_set
from llama_index_semxpath.engines.keys import ROOT_KEY, key_ranges, on_axis
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.order import assign_order, component
from llama_index_semxpath.tree.table import TreeTable

AXES = [
    "child", "descendant", "descendant-or-self", "self", "parent", "ancestor", "ancestor-or-self",
    "following-sibling", "preceding-sibling", "following", "preceding",
]  # fmt: skip


def corpus(shapes: list[list[int]]) -> TreeTable:
    """Documents whose i-th node hangs below an earlier one."""
    nodes = []
    for place, parents in enumerate(shapes):
        doc = f"d{place}"
        made = [TreeNode(doc, "Document", doc)]
        for number, parent in enumerate(parents, start=1):
            above = made[parent % number].id
            made.append(TreeNode(f"{doc}-{number}", "Section", doc, parent=above))
        # Pre-order, as a parser gives them.
        below: dict[str, list[TreeNode]] = {}
        for node in made[1:]:
            below.setdefault(node.parent or "", []).append(node)
        stack, ordered = [made[0]], []
        while stack:
            ordered.append(stack.pop())
            stack += reversed(below.get(ordered[-1].id, []))
        nodes += assign_order(ordered, component(place))
    return TreeTable.from_nodes(nodes)


@pytest.mark.parametrize("axis", AXES)
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 9), max_size=9), min_size=1, max_size=3),
    st.sets(st.integers(0, 29), min_size=1, max_size=5),
)
def test_keys_and_columns_agree(axis: str, shapes: list[list[int]], chosen: set[int]) -> None:
    table = corpus(shapes)
    assert table.orders is not None
    context = np.array(sorted({row % len(table) for row in chosen}), dtype=np.int32)
    if axis not in ("child", "descendant", "descendant-or-self"):
        context = context[context > 0]
    if not len(context):
        return
    expected = step_set(table, axis, context, NodeTest())
    orders = [ROOT_KEY, *table.orders[1:]]
    keys = [orders[row] for row in context]
    ranges = key_ranges(axis, keys)
    is_on = on_axis(axis, keys)
    found = [
        row
        for row in range(1, len(table))
        if is_on(orders[row])
        and (not ranges or any(low <= orders[row] < high for low, high in ranges))
    ]
    assert found == expected.tolist()
