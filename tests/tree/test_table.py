"""The columnar tree: building, bytes, changes, views."""

from __future__ import annotations

import datetime as dt
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llama_index_semxpath.errors import AttributeValueError, StoreError
from llama_index_semxpath.tree.columns import Column, ValueType, concat_columns
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.order import assign_order, component
from llama_index_semxpath.tree.packing import pack, unpack
from llama_index_semxpath.tree.stats import schema_of
from llama_index_semxpath.tree.table import Edge, TreeTable

VALUES = (
    *("x", "é", "", "a\0b", "\ud800", 0, -1, 2.5, 2**60, -(2**70), True, False),
    *(float("inf"), 1e-300, dt.date(2026, 1, 2), dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)),
    *(["a", "b"], [], ["a\0"]),
)


def document(seed: int, doc: str, place: int) -> list[TreeNode]:
    """A random document with attributes of all types, labels and order keys."""
    rng = random.Random(seed)
    nodes = [TreeNode(doc, "Document", doc, attributes={"title": doc})]
    stack = [doc]
    for number in range(rng.randint(0, 25)):
        while len(stack) > 1 and rng.random() < 0.4:
            stack.pop()
        node = TreeNode(
            f"{doc}/{number}",
            rng.choice(("Section", "Paragraph", "制度")),
            doc,
            stack[-1],
            f"text {number}",
            {name: rng.choice(VALUES) for name in ("a", "b", "c") if rng.random() < 0.5},
            level=rng.choice((None, 1, 2)),
            labels=rng.choice((None, None, frozenset(("x",)), frozenset(("y", "z")))),
        )
        nodes.append(node)
        stack.append(node.id)
    return list(assign_order(nodes, component(place)))


def facts(table: TreeTable) -> list[tuple[object, ...]]:
    """Everything a table says about its nodes."""
    texts = table.texts(np.arange(len(table), dtype=np.int32))
    return [
        (
            table.ids[row],
            table.kind_name(row),
            table.ids[table.parent[row]] if row else None,
            int(table.end[row]),
            int(table.depth[row]),
            table.docs[table.doc[row]] if table.doc[row] >= 0 else "",
            texts[row],
            dict(sorted(table.attributes(row).items())),
            table.labels(row),
            (table.orders or [])[row],
        )
        for row in range(len(table))
    ]


SEEDS = st.integers(0, 2**32)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_columns_keep_what_the_nodes_say(seed: int) -> None:
    nodes = document(seed, "d", 0)
    table = TreeTable.from_nodes(nodes)
    labels: dict[str | None, frozenset[str] | None] = {None: None}
    for row, node in enumerate(nodes, start=1):
        labels[node.id] = node.labels if node.labels is not None else labels[node.parent]
        extra = {} if node.level is None else {"level": node.level}
        assert table.attributes(row) == node.attributes | extra
        assert table.labels(row) == labels[node.id]
        assert table.kind_name(row) == node.kind
        assert table.position(node.id) == row
        below = [n for n in nodes if (n.order + ".").startswith(node.order + ".")]
        assert table.end[row] - row == len(below)
    assert len(table) == len(nodes) + 1


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.booleans())
def test_bytes_give_the_same_table(seed: int, with_texts: bool) -> None:
    nodes = document(seed, "d", 0)
    table = TreeTable.from_nodes(nodes, [Edge("d", "R", nodes[-1].id)])
    data = table.to_bytes(texts=with_texts)
    again = TreeTable.from_bytes(memoryview(data), None if with_texts else table.texts)
    assert facts(again) == facts(table)
    assert again.relations == ["R"]
    assert again.to_bytes(texts=with_texts) == data


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(1, 5), st.data())
def test_a_changed_corpus_equals_one_built_anew(seed: int, count: int, data: st.DataObject) -> None:
    documents = {f"d{i}": document(seed + i, f"d{i}", i) for i in range(count)}
    entity = TreeNode("e", "Person", "", attributes={"name": "Ann"}, order="~a0")
    every = [node for nodes in documents.values() for node in nodes]
    table = TreeTable.from_nodes([*every, entity], [Edge("d0", "R", "e")])
    removed = data.draw(st.sets(st.sampled_from(sorted(documents))))
    changed = {doc: document(seed + 99, doc, int(doc[1:])) for doc in sorted(removed)[::2]}
    fresh = document(seed + 5, "new", count)
    incoming = [node for nodes in (*changed.values(), fresh) for node in nodes]
    result = table.replace_documents(removed, incoming)
    kept = {doc: nodes for doc, nodes in documents.items() if doc not in removed} | changed
    wanted = [node for nodes in kept.values() for node in nodes] + fresh + [entity]
    assert facts(result) == facts(TreeTable.from_nodes(wanted))
    again = result.replace_documents({"e"}, [])
    assert again.position("e") is None
    assert len(again) == len(result) - 1


def test_many_changes_do_not_pile_up() -> None:
    table = TreeTable.from_nodes(document(1, "d0", 0) + document(2, "d1", 1))
    for seed in range(50):
        table = table.replace_documents({"d0"}, document(seed, "d0", 0))
    assert facts(table) == facts(TreeTable.from_nodes(document(49, "d0", 0) + document(2, "d1", 1)))


@pytest.mark.parametrize(
    "nodes",
    [
        [TreeNode("a", "A", "a"), TreeNode("a", "A", "a")],
        [TreeNode("a", "A", "a", "missing")],
        [TreeNode("b", "B", "a", "a"), TreeNode("a", "A", "a")],
        [TreeNode("", "A", "a")],
        [
            TreeNode("a", "A", "a"),
            TreeNode("b", "B", "a", "a"),
            TreeNode("c", "C", "a", "a"),
            TreeNode("d", "D", "a", "b"),
        ],
    ],
    ids=["twice", "no parent", "child first", "no id", "subtree torn apart"],
)
def test_wrong_nodes_are_refused(nodes: list[TreeNode]) -> None:
    with pytest.raises(StoreError):
        TreeTable.from_nodes(nodes)


@pytest.mark.parametrize("value", [object(), {"a": 1}, [1, 2], b"x", ["a", 1], 1j])
def test_wrong_values_are_refused(value: object) -> None:
    with pytest.raises(AttributeValueError, match="bad key"):
        Column.from_values("bad key", [1], [value])  # type: ignore[list-item]


@pytest.mark.parametrize("cut", [0, 3, 8, 20, 100, -1])
def test_damaged_bytes_are_one_error(cut: int) -> None:
    data = TreeTable.from_nodes(document(3, "d", 0)).to_bytes()
    with pytest.raises(StoreError):
        TreeTable.from_bytes(data[:cut])
    with pytest.raises(StoreError):
        TreeTable.from_bytes(b"????" + data[4:])


def test_a_snapshot_without_a_part_is_one_error() -> None:
    parts, meta = unpack(TreeTable.from_nodes(document(3, "d", 0)).to_bytes())
    del parts["parent"]
    with pytest.raises(StoreError):
        TreeTable.from_bytes(pack(parts, meta))


def test_structure_is_small() -> None:
    table = TreeTable.from_nodes(document(1, "d", 0))
    assert table.nbytes / len(table) <= 64
    table.rows_of("Section"), table.child_lists
    assert table.nbytes / len(table) <= 64


def test_access_is_the_reader_s_labels() -> None:
    nodes = [
        TreeNode("d", "Document", "d", labels=frozenset(("all",))),
        TreeNode("s", "Section", "d", "d", labels=frozenset(("board",))),
        TreeNode("p", "Paragraph", "d", "s"),
        TreeNode("q", "Paragraph", "d", "s", labels=frozenset(("all", "board"))),
        TreeNode("bare", "Document", "bare"),
    ]
    table = TreeTable.from_nodes(nodes)

    def seen(principal: set[str] | None, default: str = "deny") -> list[str]:
        mask = table.visible_to(principal, default_access=default)
        assert mask is not None
        return [table.ids[row] for row in np.flatnonzero(mask)[1:]]

    assert seen({"all"}) == ["d", "q"]
    assert seen({"board"}) == ["s", "p", "q"]
    assert seen(None) == []
    assert seen(set(), "allow") == ["bare"]
    assert TreeTable.from_nodes([TreeNode("d", "D", "d")]).visible_to(None) is None


@settings(max_examples=60, deadline=None)
@given(SEEDS, SEEDS)
def test_a_view_holds_what_is_visible_and_nothing_else(seed: int, mask_seed: int) -> None:
    nodes = document(seed, "d", 0) + document(seed + 1, "e", 1)
    table = TreeTable.from_nodes(nodes)
    visible = np.random.default_rng(mask_seed).random(len(table)) < 0.6
    view = table.view(visible)
    rows = [row for row in range(len(table)) if visible[row] or row == 0]
    assert view.ids == [table.ids[row] for row in rows]
    assert view.base_rows is not None
    assert view.base_rows.tolist() == rows
    assert view.orphan is not None
    for place, row in enumerate(rows[1:], start=1):
        above = int(table.parent[row])
        assert view.orphan[place] == (above != 0 and not visible[above])
        while above and not visible[above]:
            above = int(table.parent[above])
        assert view.ids[view.parent[place]] == table.ids[above]
        inside = [r for r in rows if row <= r < table.end[row]]
        assert view.end[place] - place == len(inside)
        assert view.attributes(place) == table.attributes(row)
        assert view.labels(place) == table.labels(row)
    texts = view.texts(np.arange(len(view), dtype=np.int32))
    assert texts == table.texts(np.array(rows, dtype=np.int32))
    hidden = {node.id for node in nodes} - set(view.ids)
    assert all(view.position(node_id) is None for node_id in hidden)
    names = {name for row in rows[1:] for name in table.attributes(row)}
    assert set(view.columns) == names
    schema = schema_of(view)
    assert sum(kind.count for kind in schema.kinds.values()) == len(rows) - 1


def test_columns_of_different_types_join() -> None:
    first = Column.from_values("v", [1, 2], ["x", 2**60])
    second = Column.from_values("v", [1, 3], [["x", "y"], True])
    joined = concat_columns("v", [(0, first), (5, second)])
    assert joined.rows.tolist() == [1, 2, 6, 8]
    assert [joined.value(place) for place in range(4)] == ["x", 2**60, ["x", "y"], True]
    assert joined.uniform is None
    assert Column.from_values("v", [1], [1.5]).uniform == ValueType.NUMBER
