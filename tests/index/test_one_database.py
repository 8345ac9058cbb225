"""Vectors in the catalog's own database: the same contract, the same answers."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest
from store_fixtures import HashEmbedder, catalog_only, document

from llama_index_semxpath.errors import EmbeddingMismatchError, StoreError
from llama_index_semxpath.index.base import SemXPathIndex
from llama_index_semxpath.index.catalog import Catalog
from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.index.milvus_expr import All, ExpressionError, OneOf
from llama_index_semxpath.index.sqlite_vectors import add_vector_functions, cosine_distance
from llama_index_semxpath.index.vector_table import TableVectors
from llama_index_semxpath.testing.projection_suite import DIMENSION, projected
from llama_index_semxpath.testing.vector_suite import VectorConformance

SECTIONS = {
    f"Section {s}": [f"plan {s} {p} of the {['red', 'blue'][p % 2]} team" for p in range(9)]
    for s in range(5)
}
LABELS = {"d1": ["staff"], "d2": ["staff", "board"], "Section 3": ["board"]}


class TestSqliteVectors(VectorConformance):
    @pytest.fixture
    def projection(self, tmp_path):
        catalog = Catalog(tmp_path / "catalog.db", create=True)
        yield TableVectors(catalog.database, dimension=DIMENSION)
        catalog.close()

    def test_another_dimension_is_refused(self, projection):
        with pytest.raises(EmbeddingMismatchError, match=str(DIMENSION)):
            TableVectors(projection._database, dimension=DIMENSION + 1)

    def test_what_no_filter_holds_is_refused(self, projection):
        for value in (float("nan"), "a\x00b", "\ud800", None):
            with pytest.raises(ExpressionError):
                projection.select(OneOf("kind", (value,)))

    def test_a_zero_vector_is_like_nothing(self, projection):
        projection.upsert([projected("zero", 1, vector=bytes(4 * DIMENSION)), projected("one", 2)])
        one = np.frombuffer(projected("one", 2).vector, np.float32)
        (first, near), (second, far) = projection.search(one, All(()), 5)
        assert (first, second, far) == ("one", "zero", 0.0)
        assert near == pytest.approx(1)
        assert np.allclose(projection.get(["one", "nope"])["one"], one)
        assert projection.count() == 2


class TestPgvector(TestSqliteVectors):
    @pytest.fixture
    def projection(self, pgvector_server):
        catalog = Catalog(pgvector_server.url, create=True, schema=pgvector_server.schema())
        yield TableVectors(catalog.database, dimension=DIMENSION)
        catalog.close()


def test_a_server_without_pgvector_is_named(postgres_server, tmp_path):
    config = StoreConfig(
        tmp_path, catalog_url=postgres_server.url, catalog_schema=postgres_server.schema(),
        vectors="catalog", graph="none",
    )  # fmt: skip
    with SemXPathIndex(config, embed_model=HashEmbedder()) as index:
        if "vector" in _extensions(index):
            pytest.skip("this server has pgvector")
        with pytest.raises(StoreError, match="no extension 'vector'"):
            index.insert_tree(document("d", {"A": ["x"]}))
        assert index.documents() == []


def _extensions(index):
    with index.catalog.database.read() as connection:
        return {r[0] for r in connection.execute("SELECT name FROM pg_available_extensions")}


@pytest.fixture(params=["sqlite", "postgres"])
def one_database(request, tmp_path):
    options = {"vectors": "catalog", "graph": "none", "exact_limit": 5}
    if request.param == "postgres":
        server = request.getfixturevalue("pgvector_server")
        options |= {"catalog_url": server.url, "catalog_schema": server.schema()}
    return StoreConfig(tmp_path / "one", **options)


def test_it_finds_what_the_exact_search_finds(one_database, tmp_path):
    with (
        SemXPathIndex(one_database, embed_model=HashEmbedder()) as one,
        SemXPathIndex(catalog_only(tmp_path / "b"), embed_model=HashEmbedder()) as exact,
    ):
        for index in one, exact:
            for doc in "d1", "d2", "d3":
                index.insert_tree(document(doc, SECTIONS, labels=LABELS))
            index.delete_ref_doc("d3")
        for who in (), ("staff",), ("board",), ("staff", "board"), ("guests",):
            for scope in None, "/Document[1]", '//Section[@title = "Section 2"]':
                for kinds in None, ["Paragraph"], ["Nope"]:
                    options = {"limit": 300, "scope": scope, "kinds": kinds, "principal": who}
                    got = one.semantic_search("plan of the red team", **options)
                    want = exact.semantic_search("plan of the red team", **options)
                    assert {m.id for m in got} == {m.id for m in want}
                    scores = [m.score for m in want]
                    assert [m.score for m in got] == pytest.approx(scores, abs=1e-4)
        query = '/Document[2]//Paragraph[. =~ "plan 2 3 of the blue team"]'
        found, want = (index.query(query, principal=["staff", "board"]) for index in (one, exact))
        assert [m.id for m in found] == [m.id for m in want]
        plan = str(one.explain(query, principal=["staff", "board"]))
        assert "exact search" in plan
        assert "SELECT id" in plan
        assert one.check().counts == {}
        with one.catalog.database.write() as connection:
            connection.execute("DELETE FROM vector_rows WHERE kind = 'Section'")
            connection.execute("UPDATE vector_rows SET labels = '' WHERE doc = 'd1'")
        report = one.check(repair=True)
        assert {"vectors missing", "vectors stale"} == set(report.counts)
        assert one.check().counts == {}


def test_numpy_and_sqlite_vec_agree():
    connection = sqlite3.connect(":memory:")
    add_vector_functions(connection)
    choice = np.random.default_rng(1)
    for _ in range(50):
        one, other = (v.astype(np.float32).tobytes() for v in choice.normal(size=(2, 64)))
        sql = "SELECT vec_distance_cosine(?, ?)"
        (found,) = connection.execute(sql, (one, other)).fetchone()
        assert found == pytest.approx(cosine_distance(one, other), abs=1e-5)
