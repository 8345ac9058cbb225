"""What every projection that searches vectors must do, for authors of other stores.

Subclass :class:`VectorConformance` in a test module and give it an empty projection whose vectors
have ``DIMENSION`` components::

    class TestMyVectors(VectorConformance):
        @pytest.fixture
        def projection(self, tmp_path):
            made = MyVectors(tmp_path, dimension=DIMENSION)
            yield made
            made.close()
"""

from __future__ import annotations

from typing import Any

import numpy as np

from llama_index_semxpath.index.milvus_expr import All, AnyOf, Between, Compare, Contains, OneOf
from llama_index_semxpath.testing.hostile import hostile_strings, is_text
from llama_index_semxpath.testing.projection_suite import (
    HOSTILE_IDS,
    ProjectionConformance,
    projected,
)


def storable(text: str) -> bool:
    """Whether a string can be an id in every vector store: text of up to 65,535 bytes."""
    return bool(text) and is_text(text) and len(text.encode()) <= 65_535


class VectorConformance(ProjectionConformance):
    """The suite of all projections, and that of search and filters."""

    def test_every_value_is_data(self, projection: Any) -> None:
        """Values that look like code are compared as they are; an absent attribute never passes."""
        projection.upsert(
            [projected(f"n{i}", i, attributes={"tag": v}) for i, v in enumerate(HOSTILE_IDS)]
        )
        projection.upsert([projected("absent", 999, attributes={})])
        everyone = {f"n{i}" for i in range(len(HOSTILE_IDS))}
        for place, value in enumerate(HOSTILE_IDS):
            one = {f"n{place}"}
            assert set(projection.select(Compare("tag", "==", value))) == one
            assert set(projection.select(Compare("tag", "!=", value))) == everyone - one
            assert set(projection.select(OneOf("tag", (value, "nothing")))) == one

    def test_search_finds_within_a_range(self, projection: Any) -> None:
        """The nearest of all, and of a subtree, with exact cosines."""
        nodes = [projected(f"n{i:03}", i) for i in range(200)]
        projection.upsert(nodes)
        vector = np.frombuffer(nodes[42].vector or b"", np.float32)
        whole = projection.search(vector, All(()), 5)
        assert whole[0][0] == "n042"
        assert abs(whole[0][1] - 1) < 1e-4
        inside = projection.search(vector, Between("order_key", "a0.a00100", "a0.a00110"), 50)
        assert {id_ for id_, _ in inside} == {f"n{i:03}" for i in range(100, 110)}
        matrix = np.array([np.frombuffer(n.vector or b"", np.float32) for n in nodes[100:110]])
        exact = sorted(matrix @ vector, reverse=True)
        assert np.allclose([score for _, score in inside], exact, atol=1e-4)

    def test_every_key_is_data_in_a_filter(self, projection: Any) -> None:
        """As the name of an attribute."""
        projection.upsert(
            [projected(f"n{i}", i, attributes={key: i}) for i, key in enumerate(HOSTILE_IDS)]
        )
        for place, key in list(enumerate(HOSTILE_IDS))[::3]:
            assert projection.select(Compare(key, "==", place)) == [f"n{place}"]

    def test_the_hostile_corpus(self, projection: Any) -> None:
        """Over 500 strings as ids and values: back byte for byte, and each is only itself."""
        strings = [text for text in hostile_strings() if storable(text)]
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

    def test_typed_attributes(self, projection: Any) -> None:
        """A number is no string, a list no element of it."""
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

    def test_many_alternatives(self, projection: Any) -> None:
        """Ranges by the hundred; nothing meets none of them."""
        projection.upsert([projected(f"n{i:04}", i) for i in range(600)])
        ranges = [Between("order_key", f"a0.a{i:05}", f"a0.a{i:05}/") for i in range(0, 600, 2)]
        assert len(projection.select(AnyOf(tuple(ranges)))) == 300
        assert projection.select(AnyOf(())) == []
        assert projection.select(OneOf("kind", ())) == []
