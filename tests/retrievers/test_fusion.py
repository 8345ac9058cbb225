import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.retrievers.fusion import (
    Fused,
    Place,
    reciprocal_rank_fusion,
    resolve_overlap,
    score_fusion,
)

CASE = json.loads(
    (
        Path(__file__).parents[1] / "cases/retrieval/59-rrf-weights-and-shared-ids/case.json"
    ).read_text("utf-8")
)


def _routes() -> dict[str, list[tuple[str, float | None]]]:
    return {
        f"route{place}": [(node, None) for node in ids]
        for place, ids in enumerate(CASE["operation"]["lists"])
    }


@pytest.mark.parametrize("key", list(CASE["expected"]["order"]))
def test_case_59_order(key: str) -> None:
    weights = {f"route{place}": float(weight) for place, weight in enumerate(key.split(","))}
    fused = reciprocal_rank_fusion(_routes(), weights, k=CASE["operation"]["k"])
    assert [hit.id for hit in fused] == CASE["expected"]["order"][key]


def test_case_59_scores_start_at_rank_one_up_to_one_factor() -> None:
    fused = {hit.id: hit.score for hit in reciprocal_rank_fusion(_routes())}
    assert fused["A"] / fused["D"] == pytest.approx((1 / 61 + 1 / 62) / (1 / 61))
    assert max(fused.values()) <= 1.0


def test_scores_of_every_route_are_kept_and_none_sorts_last() -> None:
    fused = reciprocal_rank_fusion({"a": [("X", None), ("Y", 0.2)], "b": [("Y", 0.9)], "c": []})
    assert fused[0].id == "Y"
    assert fused[0].why == {"a": 0.2, "b": 0.9}


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_impossible_weights_are_refused(weight: float) -> None:
    with pytest.raises(SemXPathError, match="weight"):
        reciprocal_rank_fusion({"a": [("A", 1.0)]}, {"a": weight})


def test_nothing_to_fuse_gives_nothing() -> None:
    assert reciprocal_rank_fusion({}) == []
    assert score_fusion({"a": [("A", 1.0)]}, {"a": 0.0}) == []


_LISTS = st.dictionaries(
    st.sampled_from("abc"),
    st.lists(st.tuples(st.sampled_from("ABCDEF"), st.none() | st.floats(0, 1))),
    max_size=3,
)


@given(_LISTS)
def test_fusion_is_repeatable_bounded_and_names_each_node_once(routes) -> None:
    fused = reciprocal_rank_fusion(routes)
    assert fused == reciprocal_rank_fusion(routes)
    assert {hit.id for hit in fused} == {node for ranked in routes.values() for node, _ in ranked}
    assert len({hit.id for hit in fused}) == len(fused)
    assert all(0.0 < hit.score <= 1.0 for hit in fused)
    assert [hit.score for hit in fused] == sorted((hit.score for hit in fused), reverse=True)


PLACES = {
    "s": Place("a0.a1", 100),
    "p1": Place("a0.a1.a0", 40),
    "p2": Place("a0.a1.a1", 40),
    "deep": Place("a0.a1.a1.a0", 30),
    "other": Place("a0.a10", 50),
}


def _hits(*ids: str) -> list[Fused]:
    return [Fused(node, 1.0 - place / 10, {node: 1.0}) for place, node in enumerate(ids)]


def test_the_smaller_hit_wins_and_takes_the_better_score() -> None:
    kept = resolve_overlap(_hits("s", "other", "p1"), PLACES)
    assert [(hit.id, hit.score) for hit in kept] == [("p1", 1.0), ("other", 0.9)]
    assert kept[0].why == {"p1": 1.0, "s": 1.0}


def test_siblings_that_fill_the_parent_give_the_parent() -> None:
    kept = resolve_overlap(_hits("p1", "s", "p2", "deep"), PLACES)
    assert [hit.id for hit in kept] == ["s"]
    assert kept[0].score == 1.0


def test_a_nested_hit_is_not_counted_twice() -> None:
    kept = resolve_overlap(_hits("s", "p2", "deep"), PLACES)
    assert [hit.id for hit in kept] == ["p2"]


def test_a_node_without_a_place_stays() -> None:
    assert [hit.id for hit in resolve_overlap(_hits("unknown", "p1"), PLACES)] == ["unknown", "p1"]
