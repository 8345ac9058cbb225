"""Handed cases of queries, run end to end: positions after ``//``, literals and hyphens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from llama_index_semxpath.engines.base import Dataset
from llama_index_semxpath.engines.memory import MemoryEngine
from llama_index_semxpath.errors import SemXPathSyntaxError
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.order import assign_order
from llama_index_semxpath.tree.table import TreeTable

CASES = Path(__file__).parent.parent / "cases" / "query"


def read(name: str) -> dict[str, Any]:
    (path,) = CASES.glob(f"{name}-*/case.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def engine_over(nodes: list[TreeNode]) -> MemoryEngine:
    return MemoryEngine(Dataset(TreeTable.from_nodes(list(assign_order(nodes)))))


def section_nodes(tree: dict[str, Any]) -> list[TreeNode]:
    nodes: list[TreeNode] = []
    waiting: list[tuple[dict[str, Any], str | None]] = [(tree, None)]
    while waiting:
        part, parent = waiting.pop()
        title = part["title"]
        attributes = {"title": title}
        nodes.append(TreeNode(title, part["type"], "Book", parent, title, attributes))
        waiting.extend((child, title) for child in reversed(part["children"]))
    return nodes


POSITIONS = read("51")
LITERALS = read("53")


@pytest.mark.parametrize(("query", "titles"), POSITIONS["expected"]["results"].items())
def test_positions_after_descendants(query: str, titles: list[str]) -> None:
    engine = engine_over(section_nodes(POSITIONS["data"]["tree"]))
    found = engine.run(query).positions
    assert [engine.dataset.table.ids[place] for place in found] == titles


@pytest.fixture(scope="module")
def literals() -> MemoryEngine:
    nodes = [TreeNode("d", "Document", "d")]
    for record in LITERALS["data"]["nodes"]:
        attributes = {name: value for name, value in record.items() if name != "id"}
        nodes.append(TreeNode(record["id"], "Section", "d", "d", record["title"], attributes))
    return engine_over(nodes)


@pytest.mark.parametrize(("query", "ids"), LITERALS["expected"]["results"].items())
def test_literals_and_hyphens(literals: MemoryEngine, query: str, ids: list[str]) -> None:
    found = literals.run(query).positions
    assert [literals.dataset.table.ids[place] for place in found] == ids


@pytest.mark.parametrize("query", LITERALS["expected"]["errors"])
def test_bad_literals_are_syntax_errors_with_a_place(literals: MemoryEngine, query: str) -> None:
    with pytest.raises(SemXPathSyntaxError) as caught:
        literals.run(query)
    assert caught.value.expected
    assert "^" in str(caught.value)
