"""Conformance suite of a query engine: subclass it, give it an engine, run it with pytest.

class TestMyEngine(EngineConformance):
    def make_engine(self, dataset): ...     # an engine over the dataset

The cases are data, in ``engine_cases/*.json``: one file a group of constructs, each with a tree and
its queries. Expected are ids in order, and scores where the query grades; or a value; or an error.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from llama_index_semxpath import errors
from llama_index_semxpath.engines.base import Dataset, Engine, Scorer, Targets
from llama_index_semxpath.engines.result import Evaluation, Group
from llama_index_semxpath.tree.columns import Floats, number_text
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.order import assign_order
from llama_index_semxpath.tree.table import Edge, TreeTable

#: The moment at which every case is asked.
CLOCK = dt.datetime(2026, 3, 15, 12, 0, tzinfo=dt.UTC)
_OUTCOMES = ("ids", "scores", "value", "groups", "error")
_FOLDER = files("llama_index_semxpath.testing") / "engine_cases"


@dataclass(frozen=True)
class EngineCase:
    """One query and what it gives.

    Args:
        name: Group, number and query, for the test report.
        tree: Name of the tree.
        query: The query.
        expected: ``ids`` and perhaps ``scores``; or ``value``; or ``groups``; or ``error``.
        params: Values of ``$name``.
        reader: Labels of the reader; ``None`` for no access control.
    """

    name: str
    tree: str
    query: str
    expected: dict[str, Any]
    params: dict[str, Any] = field(default_factory=dict)
    reader: list[str] | None = None


class TableScorer(Scorer):
    """Grades from a table of phrase, node id and score; 0 for what is not in it."""

    def __init__(self, grades: dict[str, dict[str, float]]) -> None:
        self.grades = grades

    @property
    def name(self) -> str:
        """``table``."""
        return "table"

    def grade(self, phrase: str, targets: Targets) -> Floats:
        """Scores from the table; of an attribute: 1 when it holds the phrase."""
        if targets.field is not None:
            return np.array([float(phrase in text) for text in targets.texts()])
        known = self.grades.get(phrase, {})
        return np.array([known.get(node_id, 0.0) for node_id in targets.ids])


def engine_cases() -> Iterator[EngineCase]:
    """All cases."""
    for file in sorted(_FOLDER.iterdir(), key=lambda path: path.name):
        if file.name == "trees.json" or not file.name.endswith(".json"):
            continue
        group = json.loads(file.read_text(encoding="utf-8"))
        for place, case in enumerate(group["cases"]):
            expected = {key: case[key] for key in _OUTCOMES if key in case}
            yield EngineCase(
                f"{file.name[:-5]}-{place:02d} {case['query']}",
                case.get("tree", group["tree"]),
                case["query"],
                expected,
                case.get("params", {}),
                case.get("reader"),
            )


def case_dataset(name: str) -> Dataset:
    """The tree of that name, its scorer, and a clock that stands still."""
    trees = json.loads((_FOLDER / "trees.json").read_text(encoding="utf-8"))
    tree = trees[name]
    nodes: list[TreeNode] = []
    for place, document in enumerate(tree["documents"]):
        own = list(_nodes(document, None, document["id"]))
        nodes += assign_order(own, f"a{place}")
    for place, entity in enumerate(tree.get("entities", ())):
        nodes.append(
            TreeNode(
                entity["id"], entity["kind"], "", attributes=_typed(entity), order=f"~a{place}"
            )
        )
    edges = [Edge(*edge) for edge in tree.get("edges", ())]
    table = TreeTable.from_nodes(nodes, edges)
    return Dataset(table, scorer=TableScorer(tree.get("grades", {})), clock=lambda: CLOCK)


def _nodes(given: dict[str, Any], parent: str | None, doc: str) -> Iterator[TreeNode]:
    """A node and those below it: ``@name`` its attributes, ``in`` its children."""
    labels = given.get("labels")
    yield TreeNode(
        given["id"],
        given["kind"],
        doc,
        parent,
        given.get("text", ""),
        _typed(given),
        labels=None if labels is None else frozenset(labels),
    )
    for child in given.get("in", ()):
        yield from _nodes(child, given["id"], doc)


def _typed(given: dict[str, Any]) -> dict[str, Any]:
    """Attributes, where ``{"date": "2026-01-02"}`` stands for a date."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        if not name.startswith("@"):
            continue
        if isinstance(value, dict):
            text = value.get("date") or value["datetime"]
            parse = dt.date if "date" in value else dt.datetime
            value = parse.fromisoformat(text)
        found[name[1:]] = value
    return found


class EngineConformance:
    """What every :class:`Engine` must do."""

    def make_engine(self, dataset: Dataset) -> Engine:
        """An engine over a dataset."""
        raise NotImplementedError

    @pytest.fixture(scope="class")
    @classmethod
    def engines(cls) -> dict[str, tuple[Engine, Dataset]]:
        """One engine a tree, made when first asked for."""
        return {}

    @pytest.mark.parametrize("case", list(engine_cases()), ids=lambda case: case.name)
    def test_case(self, engines: dict[str, tuple[Engine, Dataset]], case: EngineCase) -> None:
        """A query gives just what the case says."""
        if case.tree not in engines:
            dataset = case_dataset(case.tree)
            engines[case.tree] = self.make_engine(dataset), dataset
        engine, dataset = engines[case.tree]
        visible = None
        if case.reader is not None:
            visible = dataset.table.visible_to(case.reader)
        if "error" in case.expected:
            with pytest.raises(getattr(errors, case.expected["error"])):
                engine.run(case.query, params=case.params, visible=visible)
            return
        result = engine.run(case.query, params=case.params, visible=visible)
        check_result(result, case.expected, dataset.table)


def check_result(result: Evaluation, expected: dict[str, Any], table: TreeTable) -> None:
    """Compares a result with a case."""
    if "ids" in expected:
        assert [table.ids[row] for row in result.positions] == expected["ids"]
    if "scores" in expected:
        assert result.scores.tolist() == pytest.approx(expected["scores"], abs=1e-6)
    if "groups" in expected:
        assert isinstance(result.value, list)
        groups = [group for group in result.value if isinstance(group, Group)]
        found = [[g.key, g.count, [table.ids[row] for row in g.positions]] for g in groups]
        assert found == expected["groups"]
    if "value" in expected:
        value = plain(result.value)
        wanted = expected["value"]
        assert value == (pytest.approx(wanted) if isinstance(wanted, float) else wanted)


def plain(value: Any) -> Any:
    """A value as JSON has it: dates as ISO text, NaN and infinity as XPath prints them."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return number_text(value)
    return value.isoformat() if isinstance(value, dt.date) else value
