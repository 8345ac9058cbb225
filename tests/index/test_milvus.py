"""Milvus as a projection: embedded, and on a real server that the tests start."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from llama_index_semxpath.errors import EmbeddingMismatchError, StoreError
from llama_index_semxpath.index.milvus import MilvusProjection
from llama_index_semxpath.index.milvus_expr import (
    All,
    Compare,
    Contains,
    ExpressionError,
    OneOf,
    literal,
    to_expression,
)
from llama_index_semxpath.testing.projection_suite import (
    DIMENSION,
    HOSTILE_IDS,
    projected,
)
from llama_index_semxpath.testing.vector_suite import VectorConformance

CASES = Path(__file__).parent.parent / "cases" / "stores"
VALUES = json.loads((CASES / "45-filter-values-quotes-backslashes" / "case.json").read_text())[
    "data"
]["values"]


class MilvusTests(VectorConformance):
    """The suite that all vector stores pass, and what Milvus does beyond it."""

    @pytest.fixture(autouse=True)
    def small_pages(self, monkeypatch):
        monkeypatch.setattr("llama_index_semxpath.index.milvus._PAGE", 700)

    def test_every_value_is_data_in_a_filter(self, projection):
        values = list(dict.fromkeys([*VALUES, *HOSTILE_IDS[::4]]))
        projection.upsert(
            [projected(f"n{i}", i, attributes={"tag": v}) for i, v in enumerate(values)]
        )
        projection.upsert([projected("absent", 999, attributes={})])
        everyone = {f"n{i}" for i in range(len(values))}
        for place, value in enumerate(values):
            one = {f"n{place}"}
            assert set(projection.select(Compare("tag", "==", value))) == one
            assert set(projection.select(Compare("tag", "!=", value))) == everyone - one
            assert set(projection.select(OneOf("tag", (value, "nothing")))) == one

    def test_it_reopens(self, projection, reopen):
        projection.upsert([projected("a", 1)])
        again = reopen(projection)
        assert [row.id for row in again.scan()] == ["a"]
        assert again.search(np.frombuffer(projected("a", 1).vector, np.float32), All(()), 1)
        again.close()

    def test_another_dimension_is_refused(self, projection):
        with pytest.raises(EmbeddingMismatchError, match=str(DIMENSION)):
            MilvusProjection(
                projection.uri, dimension=DIMENSION + 1, collection=projection.collection
            )


class TestMilvusLite(MilvusTests):
    @pytest.fixture
    def projection(self, tmp_path, collection):
        made = MilvusProjection(str(tmp_path / "m.db"), dimension=DIMENSION, collection=collection)
        yield made
        made.close()

    @pytest.fixture
    def reopen(self):
        def again(projection):
            projection.close()
            return MilvusProjection(
                projection.uri, dimension=DIMENSION, collection=projection.collection
            )

        return again


@pytest.mark.server
class TestMilvusServer(MilvusTests):
    @pytest.fixture
    def projection(self, milvus_server, collection):
        made = MilvusProjection(milvus_server, dimension=DIMENSION, collection=collection)
        yield made
        made.close()

    @pytest.fixture
    def reopen(self):
        def again(projection):
            return MilvusProjection(
                projection.uri, dimension=DIMENSION, collection=projection.collection
            )

        return again


def test_a_foreign_collection_is_refused(tmp_path):
    from pymilvus import MilvusClient

    client = MilvusClient(str(tmp_path / "m.db"))
    client.create_collection("theirs", dimension=DIMENSION)
    with pytest.raises(StoreError, match="something else"):
        MilvusProjection(str(tmp_path / "m.db"), dimension=DIMENSION, collection="theirs")


def test_a_server_that_is_not_there_is_named():
    with pytest.raises(StoreError, match=r"127\.0\.0\.1:9"):
        MilvusProjection("http://127.0.0.1:9", dimension=DIMENSION, timeout=1.0)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 2**70, "a\x00b", "\ud800", None, b"x", object()]
)
def test_what_no_expression_holds_is_refused(value):
    for condition in Compare("k", "==", value), OneOf("k", ("ok", value)), Contains("k", value):
        with pytest.raises(ExpressionError):
            to_expression(condition)


def test_no_text_escapes_its_literal():
    """A literal ends where it should, for random text of the characters that matter."""
    choice = random.Random(3)
    for _ in range(2_000):
        text = "".join(choice.choice("\"'\\ab \n\t\r%{}[]()") for _ in range(choice.randrange(9)))
        printed = literal(text)
        assert printed[0] == printed[-1] == '"'
        inner, at = printed[1:-1], 0
        while at < len(inner):
            assert inner[at] not in '"\n\r'
            at += 2 if inner[at] == "\\" else 1
        assert at == len(inner), "a back-slash takes the closing quote away"


def test_an_unknown_operator_is_refused():
    with pytest.raises(ExpressionError):
        to_expression(Compare("k", "or true or", 1))  # type: ignore[arg-type]
