"""Cases drawn from reports of people who do this job."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from llama_index_semxpath.engines.base import Dataset
from llama_index_semxpath.engines.memory import MemoryEngine
from llama_index_semxpath.errors import SemXPathSyntaxError
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.table import Edge, TreeTable

CASES = Path(__file__).parent.parent / "cases"


def load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CASES / name / "case.json").read_text(encoding="utf-8"))
    return found


def tree_nodes(given: dict[str, Any], parent: str | None = None) -> Iterator[TreeNode]:
    title = given["title"]
    yield TreeNode(title, given["type"], "Book", parent, attributes={"title": title})
    for child in given["children"]:
        yield from tree_nodes(child, title)


POSITIONS = load("query/51-query-position-after-descendant")
LITERALS = load("query/53-query-literals-quotes-hyphens")


@pytest.mark.parametrize("query", POSITIONS["expected"]["results"])
def test_positions_after_descendant(query: str) -> None:
    engine = MemoryEngine(Dataset(TreeTable.from_nodes(tree_nodes(POSITIONS["data"]["tree"]))))
    found = [engine.dataset.table.ids[row] for row in engine.run(query).positions]
    assert found == POSITIONS["expected"]["results"][query]


@pytest.fixture(scope="module")
def literals() -> MemoryEngine:
    nodes = [TreeNode("d", "Document", "d")]
    for given in LITERALS["data"]["nodes"]:
        attributes = {name: value for name, value in given.items() if name != "id"}
        nodes.append(TreeNode(given["id"], "Section", "d", "d", attributes=attributes))
    return MemoryEngine(Dataset(TreeTable.from_nodes(nodes)))


@pytest.mark.parametrize("query", LITERALS["expected"]["results"])
def test_literals(literals: MemoryEngine, query: str) -> None:
    found = [literals.dataset.table.ids[row] for row in literals.run(query).positions]
    assert found == LITERALS["expected"]["results"][query]


@pytest.mark.parametrize("query", LITERALS["expected"]["errors"])
def test_broken_literals(literals: MemoryEngine, query: str) -> None:
    with pytest.raises(SemXPathSyntaxError):
        literals.run(query)


def test_a_hidden_parent_hides_all_but_what_is_readable() -> None:
    # permissions/57: a reader of the staff sees one section of a board paper.
    labels = {"p": {"board"}, "c1": {"staff", "board"}, "c2": {"board"}}
    titles = {"p": "Board", "c1": "Agenda", "c2": "Salaries"}
    nodes = [
        TreeNode(
            node_id, "section", "p", None if node_id == "p" else "p",
            attributes={"title": titles[node_id]}, labels=frozenset(labels[node_id]),
        )
        for node_id in labels
    ]  # fmt: skip
    entity = TreeNode("budget", "Entity", "", labels=frozenset({"staff"}))
    edges = [
        Edge("c1", "NEXT_TO", "c2"),
        Edge("budget", "MENTIONED_IN", "c1"),
        Edge("budget", "MENTIONED_IN", "c2"),
    ]
    engine = MemoryEngine(Dataset(TreeTable.from_nodes([*nodes, entity], edges)))
    visible = engine.dataset.table.visible_to({"staff"})

    def ids(query: str) -> list[str]:
        result = engine.run(query, visible=visible)
        return [engine.dataset.table.ids[row] for row in result.positions]

    assert ids("//section") == ["c1"]
    assert engine.run("count(//section)", visible=visible).value == 1
    assert ids("//section[@title='Agenda']/..") == []
    assert ids("//section[@title='Agenda']/following-sibling::*") == []
    assert ids("//Entity/rel::MENTIONED_IN") == ["c1"]
    assert "Salaries" not in repr(engine.schema(visible))
    nobody = engine.dataset.table.visible_to(None)
    assert engine.run("//*", visible=nobody).positions.tolist() == []
    assert np.array_equal(engine.run("//section").positions, [1, 2, 3])
