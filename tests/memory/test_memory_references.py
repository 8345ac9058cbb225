"""What "that one", "第二个" and "she" point to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llama_index_semxpath.memory.references import (
    Shown,
    resolve_references,
    with_labels,
    with_names,
)

PLACES = [
    Shown("a", "Thai Palace", "Restaurant"),
    Shown("b", "Pasta Bar", "Restaurant"),
    Shown("c", "Old Harbour", "POI"),
]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("book the first one", "a"),
        ("the second, please", "b"),
        ("take the 3rd", "c"),
        ("option 2", "b"),
        ("#3 sounds good", "c"),
        ("the last one", "c"),
        ("the second to last", "b"),
        ("the second restaurant", "b"),
        ("the first POI", "c"),
        ("the Thai one", "a"),
        ("第二个", "b"),
        ("订第三家", "c"),
        ("倒数第二个", "b"),
        ("最后一个呢", "c"),
        ("all of them", "abc"),
        ("全部删除", "abc"),
    ],
)
def test_points_to(text: str, ids: str) -> None:
    (reference,) = resolve_references(text, PLACES)
    assert "".join(target.id for target in reference.targets) == ids


@pytest.mark.parametrize(
    ("text", "ids"),
    [("book that one", "abc"), ("删掉那个", "abc"), ("the fifth one", "abc"), ("the other one", "abc"), ("both", "abc"), ("that restaurant", "ab")],
)  # fmt: skip
def test_unclear_mentions_name_their_candidates(text: str, ids: str) -> None:
    (reference,) = resolve_references(text, PLACES)
    assert reference.ambiguous
    assert "".join(one.id for one in reference.candidates) == ids


@pytest.mark.parametrize(
    "text", ["the second day", "the first time we met", "that is fine", "", "Palace"]
)
def test_no_mention(text: str) -> None:
    assert resolve_references(text, PLACES) == []


def test_what_was_chosen_last_settles_it() -> None:
    assert resolve_references("book it", PLACES, chosen="b")[0].targets[0].id == "b"
    assert resolve_references("no, the other one", PLACES[:2], chosen="b")[0].targets[0].id == "a"
    assert resolve_references("it", PLACES[:1])[0].targets[0].id == "a"
    assert resolve_references("it", []) == []


def test_a_search_gets_the_labels() -> None:
    text = "when does the second close, and is 第三个 open?"
    assert (
        with_labels(text, resolve_references(text, PLACES))
        == "when does Pasta Bar close, and is Old Harbour open?"
    )


def test_persons() -> None:
    people = ["Pia", "Ben"]
    assert with_names("Is he home?", ["Ben called."], people) == "Is Ben home?"
    assert with_names("Is he home?", ["Ben called Pia."], people) == "Is he home?"
    assert with_names("Does she know Ben?", ["Pia called."], people) == "Does she know Ben?"
    assert with_names("What is his job?", ["Ben is here.", "ok"], people) == "What is Ben's job?"


@given(st.text(max_size=120))
def test_any_turn_is_read(text: str) -> None:
    for one in resolve_references(text, PLACES):
        assert text[one.start : one.end] == one.text
        assert bool(one.targets) != bool(one.candidates)
