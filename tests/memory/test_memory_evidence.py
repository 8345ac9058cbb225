"""Evidence for a question in long conversations."""

from __future__ import annotations

import datetime as dt

import numpy as np

from llama_index_semxpath.memory.evidence import EvidenceIndex, EvidenceWeights, Utterance
from llama_index_semxpath.memory.packing import fill, token_count


def at(day: int, month: int = 5) -> dt.datetime:
    return dt.datetime(2026, month, day, 12, tzinfo=dt.UTC)


TURNS = [
    Utterance("1", "What instrument do you play?", "s1", "Ann", at(1)),
    Utterance("2", "The cello, since school.", "s1", "Bo", at(1)),
    Utterance("3", "Lovely. I went hiking yesterday.", "s1", "Ann", at(1)),
    Utterance("4", "My sister visited me with her dog.", "s2", "Bo", at(20)),
    Utterance("5", "I saw a play at the theatre.", "s2", "Ann", at(20)),
    Utterance("6", "昨天我和客户签了合同。", "s3", "Bo", at(1, 7)),
]


def best(question: str, **more) -> str:
    index = EvidenceIndex(TURNS)
    return index.ids[index.grade(question, **more).best()[0]]


def test_the_answer_stands_beside_the_words_of_the_question() -> None:
    index = EvidenceIndex(TURNS)
    assert {index.ids[row] for row in index.grade("Which instrument does Bo play?").best()[:2]} == {
        "1",
        "2",
    }


def test_who_is_named_spoke() -> None:
    assert best("What did Ann do outdoors, hiking?") == "3"


def test_a_turn_tells_of_the_day_before() -> None:
    assert best("What happened on 30 April?") == "3"
    assert best("Bo 在 6月30日做了什么？") == "6"


def test_relative_times_count_from_the_given_moment() -> None:
    assert best("What did Bo tell two weeks ago?", now=at(3, 6)) == "4"
    assert best("Bo 上个月说了什么？", now=at(3, 8)) == "6"


def test_meaning_counts_for_a_turn_and_the_next_one() -> None:
    vectors = np.zeros((6, 2), np.float32)
    vectors[:, 0] = 1.0
    vectors[3] = (0.0, 1.0)
    found = EvidenceIndex(TURNS).grade(
        "xyz", vectors=lambda rows: vectors[rows], question_vector=np.array([0, 1], np.float32)
    )
    assert found.best()[:2] == [3, 4]
    off = EvidenceIndex(TURNS).grade("xyz", weights=EvidenceWeights(meaning=0))
    assert not off.scores.any()


def test_turns_added_later_give_the_same_grades() -> None:
    whole, parts = EvidenceIndex(TURNS), EvidenceIndex(TURNS[:2])
    parts.grade("cello")
    parts.extend(TURNS[2:])
    question = "Who signed the 合同?"
    assert np.allclose(whole.grade(question).scores, parts.grade(question).scores)


def test_nothing_to_find() -> None:
    assert EvidenceIndex().grade("anything").best() == []
    assert not EvidenceIndex(TURNS).grade("").scores.any()
    assert not EvidenceIndex([Utterance("1", "", "s")]).grade("tea").scores.any()


def test_budget() -> None:
    prices = [token_count(turn.text) for turn in TURNS]
    assert sum(prices[row] for row in fill(range(6), prices, 20)) <= 20
    assert fill(range(6), prices, 0) == []
    assert token_count("年假15天, ok") == 6
