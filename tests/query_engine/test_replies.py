import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llama_index_semxpath.query_engine.replies import parse_choices

CASE = json.loads(
    (Path(__file__).parents[1] / "cases/retrieval/55-router-bad-model-replies/case.json").read_text(
        "utf-8"
    )
)
CHOICES = CASE["operation"]["choices"]


@pytest.mark.parametrize(
    ("reply", "expected"),
    list(zip(CASE["operation"]["replies"], CASE["expected"]["routes_in_reply_order"], strict=True)),
)
def test_case_55_replies(reply: str, expected: str) -> None:
    parsed = parse_choices(reply, CHOICES)
    chosen = [CHOICES[choice.index] for choice in parsed.choices]
    if expected.endswith("by default"):
        assert chosen == []
        assert parsed.problems
    elif expected.endswith("or fallback"):
        assert chosen in ([], ["semantic"])
    else:
        assert chosen == [expected]


@pytest.mark.parametrize(
    "reply",
    [
        '{"choice": true}',
        '{"choice": 1.5}',
        '{"choice": null}',
        '{"choice": [1]}',
        "[[1]]",
        "[" * 5000,
        '{"choice": "٣"}',
    ],
)
def test_odd_values_choose_nothing(reply: str) -> None:
    assert parse_choices(reply, CHOICES).choices == ()


def test_several_routes_keep_their_order_and_reasons() -> None:
    parsed = parse_choices(
        '[{"choice": 3, "reason": "a"}, {"choice": 9}, {"choice": "1"}]', CHOICES
    )
    assert [(choice.index, choice.reason) for choice in parsed.choices] == [(2, "a"), (0, "")]
    assert parsed.problems == ("choice 9 is not among 1 to 3",)


@given(st.text(max_size=80))
def test_any_text_is_read_without_an_error(reply: str) -> None:
    assert all(0 <= choice.index < 3 for choice in parse_choices(reply, CHOICES).choices)
