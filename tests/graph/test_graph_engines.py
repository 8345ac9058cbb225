"""Graph engines against the reference engine."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graph_corpora import LABELS, Corpus, Queries

from llama_index_semxpath.engines.base import Dataset
from llama_index_semxpath.engines.graph_engine import GraphEngine
from llama_index_semxpath.engines.ladybug import LadybugEngine
from llama_index_semxpath.engines.memory import MemoryEngine
from llama_index_semxpath.engines.nebula import NebulaEngine
from llama_index_semxpath.engines.ngql import vertex_id
from llama_index_semxpath.errors import QueryError
from llama_index_semxpath.index.graph_ladybug import LadybugGraph
from llama_index_semxpath.testing.hostile import hostile_strings, is_text
from llama_index_semxpath.tree.columns import Mask
from llama_index_semxpath.tree.edges import Edge
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.order import assign_order
from llama_index_semxpath.tree.table import TreeTable


def outcome(
    engine: Any, query: str, params: Mapping[str, Any], visible: Mask | None
) -> tuple[Any, ...]:
    try:
        found = engine.run(query, params=params, visible=visible)
    except QueryError as error:
        return (type(error).__name__, str(error))
    value = "nan" if found.value != found.value else found.value
    return (found.positions.tolist(), found.scores.tolist(), value, found.graded)


def masks(rng: random.Random, table: TreeTable) -> list[Mask | None]:
    seen = table.visible_to(rng.sample(LABELS, rng.randint(0, 2)))
    chosen = np.array([rng.random() < 0.7 for _ in range(len(table))])
    chosen[0] = True
    return [None, seen, chosen]


@pytest.mark.parametrize("seed", range(12))
def test_ladybug_gives_what_the_reference_gives(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    corpus = Corpus(rng, labelled=seed % 2 == 0)
    graph = LadybugGraph(tmp_path / "g")
    corpus.fill(graph)
    dataset = Dataset(corpus.table)
    reference = MemoryEngine(dataset, check_names=False)
    engine = LadybugEngine(dataset, graph.rows, check_names=False)
    queries, pushed = Queries(rng), 0
    for _ in range(60):
        query, params = queries.query(), queries.params()
        for visible in masks(rng, corpus.table):
            expected = outcome(reference, query, params, visible)
            assert outcome(engine, query, params, visible) == expected, (query, params)
        pushed += any(s.pushed for s in _steps(engine, query, params))
    assert pushed >= 20, "the database takes part"
    graph.close()


def _steps(engine: GraphEngine, query: str, params: Mapping[str, Any]) -> list[Any]:
    try:
        return engine.explain(query, params=params).steps
    except QueryError:
        return []


def small() -> tuple[TreeTable, list[TreeNode]]:
    nodes = list(
        assign_order(
            [
                TreeNode("d", "Document", "d"),
                TreeNode("s", "Section", "d", "d", attributes={"n": 1}),
                TreeNode("r", "Row", "d", "s", attributes={"price": 5, "unit": "kg"}),
            ]
        )
    )
    return TreeTable.from_nodes(nodes, [Edge("r", "SIGNED_BY", "d")]), nodes


class Recorder:
    """Answers nothing and remembers what it was asked."""

    def __init__(self, rows: list[tuple[str, str]]) -> None:
        self.rows = rows
        self.asked: list[tuple[str, Mapping[str, Any]]] = []

    def __call__(self, text: str, parameters: Mapping[str, Any]) -> list[tuple[str, str]]:
        self.asked.append((text, parameters))
        return self.rows


def test_explain_shows_the_statement_with_its_parameters() -> None:
    table, nodes = small()
    ask = Recorder([(node.id, node.order) for node in nodes])
    engine = LadybugEngine(Dataset(table), ask)
    plan = engine.explain('//Section[@n = 1]/Row[@unit = "kg" and @price > 2]/rel::SIGNED_BY')
    texts = [step.pushed.text for step in plan.steps if step.pushed]
    assert len(texts) == 3
    assert "kg" not in "".join(texts)
    assert plan.steps[1].pushed.parameters == {
        "p0": "Row", "p1": "a0.a0", "p2": "a0.a0/", "p3": "unit", "p4": "kg", "p5": "price",
        "p6": 2.0,
    }  # fmt: skip
    assert "Ladybug: MATCH (n:Node)" in str(plan)
    assert {step.engine for step in plan.steps if step.pushed} == {"ladybug"}


def test_what_cypher_cannot_hold_stays_with_the_reference() -> None:
    table, nodes = small()
    ask = Recorder([(node.id, node.order) for node in nodes])
    engine = LadybugEngine(Dataset(table), ask)
    for query in ("//Section[1]", "//*", "count(//Row)", "//Row | //Section", "(//Row)[1]"):
        reference = MemoryEngine(Dataset(table)).run(query)
        found = engine.run(query)
        assert found.positions.tolist() == reference.positions.tolist()
        assert found.value == reference.value
    plan = engine.explain("//Section/Row[1]")
    assert [step.engine for step in plan.steps] == ["ladybug", "memory"]


def test_a_trace_comes_from_the_reference() -> None:
    table, _ = small()
    ask = Recorder([])
    found = LadybugEngine(Dataset(table), ask).run("//Section/Row", trace=True)
    assert found.trace is not None
    assert ask.asked == []


def test_nebula_statements() -> None:
    table, nodes = small()
    ask = Recorder([(node.id, node.order) for node in nodes])
    properties = frozenset(["s_756e6974", "n_7072696365"])
    engine = NebulaEngine(Dataset(table), ask, properties=properties)
    engine.run('//Row[@unit = "kg" and @price > 2]/rel::SIGNED_BY{1,2}')
    assert ask.asked[0] == (
        "MATCH (n:SemNode) WHERE n.SemNode.kind == $p0 AND n.SemNode.s_756e6974 == $p1 AND "
        "n.SemNode.n_7072696365 > $p2 RETURN n.SemNode.id, n.SemNode.order_key",
        {"p0": "Row", "p1": "kg", "p2": 2.0},
    )
    assert ask.asked[1] == (
        f'GO FROM "{vertex_id("r")}" OVER SemRelation WHERE SemRelation.name == '
        "$relation YIELD DISTINCT $$.SemNode.id AS id, $$.SemNode.order_key AS order_key",
        {"relation": "SIGNED_BY"},
    )


@pytest.mark.parametrize("make", [LadybugEngine, NebulaEngine])
def test_no_text_of_a_user_is_in_a_statement(make: type[GraphEngine]) -> None:
    table, _ = small()
    asked = Recorder([])
    engine = make(Dataset(table), asked, check_names=False)
    hostile = [text for text in hostile_strings() if is_text(text)]
    for text in hostile:
        engine.run("//Row[@unit = $v][@a < $v]", params={"v": text})
    assert len(asked.asked) == len(hostile)
    assert len({text for text, _ in asked.asked}) == 1, "the text is the same for every value"
