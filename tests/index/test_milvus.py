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
    AnyOf,
    Between,
    Compare,
    Contains,
    ExpressionError,
    OneOf,
    literal,
    to_expression,
)
from llama_index_semxpath.testing.hostile import hostile_strings
from llama_index_semxpath.testing.projection_suite import (
    DIMENSION,
    HOSTILE_IDS,
    ProjectionConformance,
    projected,
)

CASES = Path(__file__).parent.parent / "cases" / "stores"
VALUES = json.loads((CASES / "45-filter-values-quotes-backslashes" / "case.json").read_text())[
    "data"
]["values"]


def _storable(text: str) -> bool:
    surrogate = any("\ud800" <= char <= "\udfff" for char in text)
    return bool(text) and "\x00" not in text and not surrogate and len(text.encode()) <= 65_535


class MilvusTests(ProjectionConformance):
    """The suite that all projections pass, and what Milvus does beyond it."""

    @pytest.fixture(autouse=True)
    def small_pages(self, monkeypatch):
        monkeypatch.setattr("llama_index_semxpath.index.milvus._PAGE", 700)

    def test_search_finds_within_a_range(self, projection):
        nodes = [projected(f"n{i:03}", i) for i in range(200)]
        projection.upsert(nodes)
        vector = np.frombuffer(nodes[42].vector, np.float32)
        whole = projection.search(vector, All(()), 5)
        assert whole[0][0] == "n042"
        assert whole[0][1] == pytest.approx(1, abs=1e-4)
        inside = projection.search(vector, Between("order_key", "a0.a00100", "a0.a00110"), 50)
        assert {id_ for id_, _ in inside} == {f"n{i:03}" for i in range(100, 110)}
        matrix = np.array([np.frombuffer(n.vector, np.float32) for n in nodes[100:110]])
        exact = sorted(matrix @ vector, reverse=True)
        assert [score for _, score in inside] == pytest.approx(exact, abs=1e-4)

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

    def test_every_key_is_data_in_a_filter(self, projection):
        projection.upsert(
            [projected(f"n{i}", i, attributes={key: i}) for i, key in enumerate(HOSTILE_IDS)]
        )
        for place, key in list(enumerate(HOSTILE_IDS))[::3]:
            assert projection.select(Compare(key, "==", place)) == [f"n{place}"]

    def test_the_hostile_corpus(self, projection):
        """Over 500 strings as ids and values: back byte for byte, and each is only itself."""
        strings = [text for text in hostile_strings() if _storable(text)]
        assert len(strings) > 480
        projection.upsert(
            [projected(text, i, attributes={"v": text}) for i, text in enumerate(strings)]
        )
        assert {row.id for row in projection.scan()} == set(strings)
        short = [text for text in strings if len(text) < 900]
        for text in short[::30]:
            assert projection.select(OneOf("id", (text,))) == [text]
            assert projection.select(Compare("v", "==", text)) == [text]
        projection.delete(strings[::2])
        assert {row.id for row in projection.scan()} == set(strings[1::2])

    def test_typed_attributes(self, projection):
        projection.upsert(
            [
                projected("a", 1, attributes={"n": 5, "ok": True, "tags": ["ice", "fish"]}),
                projected("b", 2, attributes={"n": 5.5, "ok": False, "size.h": 4}),
                projected("c", 3, attributes={"n": "5"}),
            ]
        )
        select = projection.select
        assert select(Compare("n", "==", 5)) == ["a"]
        assert set(select(Compare("n", ">", 4))) == {"a", "b"}
        assert select(Compare("ok", "==", True)) == ["a"]
        assert select(Contains("tags", "ice")) == ["a"]
        assert select(Compare("tags", "==", "ice")) == []
        assert select(Compare("size.h", "==", 4)) == ["b"]

    def test_many_alternatives(self, projection):
        projection.upsert([projected(f"n{i:04}", i) for i in range(600)])
        ranges = [Between("order_key", f"a0.a{i:05}", f"a0.a{i:05}/") for i in range(0, 600, 2)]
        assert len(projection.select(AnyOf(tuple(ranges)))) == 300
        assert projection.select(AnyOf(())) == []
        assert projection.select(OneOf("kind", ())) == []

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
