"""Conformance: tree, query, expected ids, values and scores. Data in ``conformance``.

The gold of ``structural.json`` was computed with lxml over the same tree, and one test does it
again; the other files were worked out by hand.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import etree
from outline import WordShare, read_outline

from llama_index_semxpath import errors
from llama_index_semxpath.engines.base import Dataset
from llama_index_semxpath.engines.memory import MemoryEngine
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.table import TreeTable

DATA = Path(__file__).parent / "conformance"
NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


@cache
def nodes_of(tree: str) -> list[TreeNode]:
    return read_outline((DATA / f"{tree}.txt").read_text(encoding="utf-8"))[0]


@cache
def engine_for(tree: str, check_names: bool) -> MemoryEngine:
    table = TreeTable.from_nodes(*read_outline((DATA / f"{tree}.txt").read_text(encoding="utf-8")))
    return MemoryEngine(Dataset(table, WordShare(), clock=lambda: NOW), check_names=check_names)


def rows(name: str) -> list[Any]:
    found = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return [pytest.param(row, id=f"{row['construct']}: {row['query']}") for row in found]


def same(expected: object, actual: object) -> bool:
    if isinstance(expected, str) and isinstance(actual, float):
        return repr(actual) == {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}[expected]
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(actual, float):
        return math.isclose(float(str(expected)), actual, rel_tol=1e-12)
    return expected == actual


@pytest.mark.parametrize("row", rows("structural"))
def test_structure(row: dict[str, Any]) -> None:
    engine = engine_for("library", check_names=False)
    result = engine.run(row["query"])
    if "value" in row:
        assert same(row["value"], result.value)
    elif "values" in row:
        assert isinstance(result.value, list)
        assert [f"{v:g}" if isinstance(v, float) else str(v) for v in result.value] == row["values"]
    else:
        assert [engine.dataset.table.ids[place] for place in result.positions] == row["ids"]
        assert (result.scores == 1).all()


@pytest.mark.parametrize("row", rows("structural"))
def test_gold_of_structure_is_what_lxml_says(row: dict[str, Any]) -> None:
    root, ids = as_lxml("library")
    found = root.xpath(row["query"])
    if isinstance(found, list):
        texts = [one for one in found if isinstance(one, str)]
        assert texts == row.get("values", [])
        assert [ids[one] for one in found if not isinstance(one, str)] == row.get("ids", [])
    else:
        assert same(row["value"], found)


@cache
def as_lxml(tree: str) -> tuple[Any, dict[Any, str]]:
    elements: dict[str, Any] = {}
    for node in nodes_of(tree):
        attributes = {name: str(value) for name, value in node.attributes.items()}
        parent = elements.get(node.parent or "")
        element = (
            etree.Element(node.kind, attributes)
            if parent is None
            else etree.SubElement(parent, node.kind, attributes)
        )
        element.text = node.text or None
        elements[node.id] = element
    root = elements[nodes_of(tree)[0].id].getroottree()
    return root, {element: id_ for id_, element in elements.items()}


@pytest.mark.parametrize("row", rows("semantic"))
def test_meaning_relations_and_types(row: dict[str, Any]) -> None:
    engine = engine_for("office", check_names=True)
    result = engine.run(row["query"], params=row.get("params"))
    ids = engine.dataset.table.ids
    if "groups" in row:
        assert isinstance(result.value, list)
        groups = [[g.key, [ids[place] for place in g.positions]] for g in result.value]  # type: ignore[union-attr]
        assert groups == row["groups"]
    elif "value" in row:
        assert same(row["value"], result.value)
    elif "values" in row:
        assert result.value == row["values"]
    else:
        assert [ids[place] for place in result.positions] == row["ids"]
        scores = row.get("scores", [1.0] * len(row["ids"]))
        np.testing.assert_allclose(result.scores, scores, atol=1e-7)


def test_enough_cases_of_every_construct() -> None:
    found = [row.values[0] for name in ("structural", "semantic") for row in rows(name)]
    constructs = {row["construct"] for row in found}
    assert len(found) >= 550
    assert len(constructs) >= 45


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("//Paragraph[. =~ 'x']", errors.QueryCapabilityError),
        ("//Person/rel::KNOWS", errors.QueryCapabilityError),
        ("//Nothing", errors.UnknownNameError),
        ("//Row[@rate > 'x']", errors.QueryTypeError),
        ("//Row[@rate > $x]", errors.ParameterError),
        ("//Row[", errors.SemXPathSyntaxError),
        ("//Row[matches(@city, '(')]", errors.QueryError),
    ],
)
def test_what_a_bare_index_refuses(query: str, error: type[errors.QueryError]) -> None:
    nodes = nodes_of("office")
    engine = MemoryEngine(Dataset(TreeTable.from_nodes(nodes), has_graph=False))
    with pytest.raises(error) as caught:
        engine.run(query)
    assert caught.value.query == query
