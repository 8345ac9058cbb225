"""A store whose vectors are on a Milvus server: searches are pushed down and give the same."""

from __future__ import annotations

import html

import numpy as np
import pytest
from store_fixtures import HashEmbedder, catalog_only, document

from llama_index_semxpath import SemXPathIndex
from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.index.milvus import MilvusProjection
from llama_index_semxpath.index.milvus_expr import to_expression
from llama_index_semxpath.index.vector_search import VectorSearch

pytestmark = pytest.mark.server
SECTIONS = {
    f"Section {s}": [f"plan {s} {p} of the {['red', 'blue'][p % 2]} team" for p in range(9)]
    for s in range(5)
}
LABELS = {"d1": ["staff"], "d2": ["staff", "board"], "Section 3": ["board"]}


@pytest.fixture(scope="module")
def stores(tmp_path_factory, milvus_server):
    tmp_path = tmp_path_factory.mktemp("stores")
    config = StoreConfig(
        tmp_path / "a", milvus_uri=milvus_server, collection="searched", graph="none", exact_limit=5
    )
    with (
        SemXPathIndex(config, embed_model=HashEmbedder()) as server,
        SemXPathIndex(catalog_only(tmp_path / "b"), embed_model=HashEmbedder()) as exact,
    ):
        for index in server, exact:
            for doc in "d1", "d2":
                index.insert_tree(document(doc, SECTIONS, labels=LABELS))
        yield server, exact


@pytest.mark.parametrize("who", [(), ("staff",), ("board",), ("staff", "board"), ("guests",)])
@pytest.mark.parametrize("scope", [None, "/Document[1]", '//Section[@title = "Section 2"]'])
def test_it_finds_what_the_exact_search_finds(stores, monkeypatch, who, scope):
    server, exact = stores
    asked = []
    search = VectorSearch.search

    def watched(*args):
        asked.append(search(*args))
        return asked[-1]

    monkeypatch.setattr(VectorSearch, "search", watched)
    server.insert_tree(document("d3", {"A": [str(who), str(scope)]}, labels={"d3": ["none"]}))
    for kinds in None, ["Paragraph"], ["Section"], ["Nope"]:
        options = {"limit": 300, "scope": scope, "kinds": kinds, "principal": who}
        got = server.semantic_search("plan of the red team", **options)
        want = exact.semantic_search("plan of the red team", **options)
        assert {m.id for m in got} == {m.id for m in want}
        assert [m.score for m in got] == pytest.approx([m.score for m in want], abs=1e-4)
    # Nothing was declined.
    assert asked
    assert None not in asked


def test_a_server_that_went_away_is_done_without(stores, monkeypatch):
    server, exact = stores

    def gone(*_: object, **__: object) -> None:
        raise StoreError("Milvus cannot be searched")

    monkeypatch.setattr(MilvusProjection, "search", gone)
    who = ["staff"]
    assert {m.id for m in server.semantic_search("plan", limit=99, principal=who)} == {
        m.id for m in exact.semantic_search("plan", limit=99, principal=who)
    }


def test_a_mask_that_is_not_of_labels_is_searched_exactly(stores):
    server, _ = stores

    def only_one(table):
        mask = np.zeros(len(table), bool)
        mask[table.rows_of("Paragraph")[5]] = True
        return mask

    vector = server.reader.embeddings.query_vector("plan")
    hits = server.reader.nearest(vector, 50, only_one, principal=["staff", "board"])
    assert len(hits) == 1


@pytest.mark.parametrize("who", [("staff",), ("staff", "board")])
def test_the_plan_shows_the_filter_as_it_was_sent(stores, monkeypatch, who):
    server, exact = stores
    sent = []
    ask = MilvusProjection.search

    def watched(self, vector, condition, limit):
        sent.append((to_expression(condition), limit))
        return ask(self, vector, condition, limit)

    monkeypatch.setattr(MilvusProjection, "search", watched)
    server.insert_tree(document("d9", {"Z": [str(who)]}, labels={"d9": ["none"]}))
    query = '/Document[2]//Paragraph[. =~ "plan 2 3 of the blue team"]'
    plan = server.explain(query, principal=who)
    step = next(step for _, step in plan.walk() if step.operation == "search")
    assert (step.pushed.text, step.pushed.parameters["limit"]) == sent[-1]
    assert step.engine == "vectors"
    assert "approximate search" in step.method
    for part in 'order_key >= "', 'kind in ["Paragraph"]', "labels in [":
        assert part in str(plan)
        assert html.escape(part) in plan._repr_html_()
    assert "limit = 16384" in str(plan)
    assert "limit = 16384" in plan._repr_html_()
    # What the server is asked and what the matrix says agree.
    found, want = (index.query(query, principal=who) for index in (server, exact))
    assert [m.id for m in found] == [m.id for m in want]


def test_the_plan_says_why_the_server_was_not_asked(stores, monkeypatch):
    server, exact = stores
    query = '//Paragraph[. =~ "plan"]'
    assert "search only above 50,000" in str(exact.explain(query, principal=["staff"]))

    def gone(*_: object, **__: object) -> None:
        raise StoreError("Milvus cannot be searched")

    monkeypatch.setattr(MilvusProjection, "search", gone)
    plan = server.explain(query, principal=["staff", "board"])
    step = next(step for _, step in plan.walk() if step.operation == "grade")
    assert (step.engine, step.pushed) == ("memory", None)
    assert "exact search of the matrix: the vector store did not answer" in step.method
