"""The engine against two oracles: lxml for structure, a node-by-node evaluator for the rest."""

from __future__ import annotations

import hashlib
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import Naive
from random_queries import GradedQueries, RandomXml, XPathQueries

from llama_index_semxpath.engines.base import Dataset, Scorer, Targets
from llama_index_semxpath.engines.memory import MemoryEngine
from llama_index_semxpath.tree.columns import Floats
from llama_index_semxpath.tree.table import TreeTable
from llama_index_semxpath.xpath import parse
from llama_index_semxpath.xpath.check import check

SEEDS = st.integers(0, 2**48)
PER_TREE = 80
EXAMPLES = 250


def test_counts_of_examples() -> None:
    assert PER_TREE * EXAMPLES >= 20_000


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
@given(SEEDS)
def test_structure_is_xpath(seed: int) -> None:
    rng = random.Random(seed)
    xml = RandomXml(rng)
    engine = MemoryEngine(Dataset(TreeTable.from_nodes(xml.nodes)), check_names=False)
    ids = engine.dataset.table.ids
    queries = XPathQueries(rng)
    for _ in range(PER_TREE):
        query = queries.query()
        expected = xml.tree.xpath(query)
        result = engine.run(query)
        if isinstance(expected, list):
            assert [ids[row] for row in result.positions] == [xml.ids[e] for e in expected], query
        elif isinstance(expected, float) and math.isnan(expected):
            assert isinstance(result.value, float)
            assert math.isnan(result.value), query
        else:
            assert result.value == pytest.approx(expected), query


def toy_grade(phrase: str, node_id: str) -> float:
    digest = hashlib.blake2b(f"{phrase} {node_id}".encode(), digest_size=2).digest()
    return digest[0] % 11 / 10


class ToyScorer(Scorer):
    @property
    def name(self) -> str:
        return "toy"

    def grade(self, phrase: str, targets: Targets) -> Floats:
        return np.array([toy_grade(phrase, node_id) for node_id in targets.ids])


@settings(max_examples=120, deadline=None, derandomize=True)
@given(SEEDS, st.booleans())
def test_grades_positions_and_access(seed: int, masked: bool) -> None:
    rng = random.Random(seed)
    xml = RandomXml(rng)
    hidden = {n.id for n in xml.nodes if masked and rng.random() < 0.3}
    engine = MemoryEngine(
        Dataset(TreeTable.from_nodes(xml.nodes), scorer=ToyScorer()), check_names=False
    )
    table = engine.dataset.table
    visible = np.array([node_id not in hidden for node_id in table.ids]) if masked else None
    oracle = Naive(xml.nodes, toy_grade, hidden)
    queries = GradedQueries(rng)
    for _ in range(40):
        query = queries.query()
        checked = check(parse(query), None, {}, text=query)
        found = oracle.path(checked.expr, 0)  # type: ignore[arg-type]
        found.pop(0, None)
        order = sorted(found, key=lambda row: (-round(found[row], 12), row))
        if not checked.graded:
            order = sorted(found)
        result = engine.run(query, visible=visible)
        got = dict(zip(result.positions.tolist(), result.scores.tolist(), strict=True))
        assert got == pytest.approx(found, abs=1e-9), query
        if checked.graded:
            assert (np.diff(result.scores) <= 1e-12).all()
        else:
            assert result.positions.tolist() == order, query
        assert not hidden & {table.ids[row] for row in result.positions}
