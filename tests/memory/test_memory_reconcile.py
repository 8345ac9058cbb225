"""What a new fact does to the known ones."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llama_index_semxpath.memory.facts import Fact, FactSchema, same_value
from llama_index_semxpath.memory.reconcile import (
    ConflictPolicy,
    confirmed,
    reconcile,
    reconcile_all,
)


def day(number: int, month: int = 1) -> dt.datetime:
    return dt.datetime(2031, month, number, tzinfo=dt.UTC)


def fact(subject: str, attribute: str, value: str, when: dt.datetime | None = None, **more) -> Fact:
    return Fact(subject, attribute, value, valid_from=when, **more)


@pytest.mark.parametrize(
    ("new", "known", "action"),
    [
        # newer of one value at a time
        (fact("rio", "commutes_by", "bicycle", day(1, 6)), fact("rio", "commutes_by", "bus", day(1)), "replace"),
        # told later of something earlier
        (fact("rio", "commutes_by", "tram", day(1)), fact("rio", "commutes_by", "bus", day(1, 6)), "history"),
        # same words, same day, same source: nothing new
        (fact("rio", "lives_in", "Oslo", day(1), source="t"), fact("rio", "lives_in", "Oslo", day(1), source="t"), "ignore"),
        # said again later
        (fact("rio", "lives_in", "oslo ", day(2)), fact("Rio", "lives_in", "Oslo", day(1)), "confirm"),
        # other subject, other attribute: nothing to do with each other
        (fact("Pia", "lives_in", "Turin", day(2)), fact("Ben", "lives_in", "Oslo", day(1)), "add"),
        (fact("Pia", "lives_in", "Turin", day(2)), fact("Pia's dog", "lives_in", "Oslo", day(1)), "add"),
        (fact("Pia", "lives_in", "Turin", day(2)), fact("Pia", "works_for", "Oslo", day(1)), "add"),
        # several values side by side
        (fact("Pia", "likes", "tea", day(2)), fact("Pia", "likes", "coffee", day(1)), "add"),
        (fact("Pia", "hobby", "golf", day(2)), fact("Pia", "hobby", "chess", day(1)), "add"),
        # the contrary of the same value
        (fact("Pia", "dislikes", "tea", day(2)), fact("Pia", "likes", "tea", day(1)), "replace"),
        # a condition tells two preferences apart
        (fact("a", "seat", "aisle", day(2), condition="on short flights"), fact("a", "seat", "window", day(1), condition="on long flights"), "add"),
        # heavier sources win, older or not
        (fact("a", "age", "30", day(2), weight=0.5), fact("a", "age", "31", day(1), weight=2.0), "history"),
        (fact("a", "age", "30", day(1), weight=4.0), fact("a", "age", "31", day(2), weight=1.0), "replace"),
        # no reason to prefer either
        (fact("a", "age", "30", day(1)), fact("a", "age", "31", day(1)), "conflict"),
        # it held at another time
        (fact("a", "lives_in", "Rome", day(1), valid_until=day(5)), fact("a", "lives_in", "Oslo", day(6)), "add"),
        # ends
        (fact("a", "works_for", "Lumo", day(2), negated=True), fact("a", "works_for", "Lumo", day(1)), "end"),
        (fact("a", "works_for", "Acme", day(2), negated=True), fact("a", "works_for", "Lumo", day(1)), "ignore"),
    ],
)  # fmt: skip
def test_decision(new: Fact, known: Fact, action: str) -> None:
    schema = FactSchema.of(single_valued=["seat"])
    decision = reconcile(new, [known], schema=schema)
    assert decision.action == action
    assert decision.known == (() if action in ("add",) or not decision.known else (known,))


def test_only_the_rival_is_named_among_many() -> None:
    known = [
        fact("Pia", "lives_in", "Oslo", day(1)),
        fact("Ben", "lives_in", "Oslo", day(1)),
        fact("Pia", "works_for", "Lumo", day(1)),
        fact("Lumo", "office_in", "Oslo", day(1)),
        fact("Pia's dog", "lives_in", "Oslo", day(1)),
        fact("Turin", "has", "tram", day(1)),
    ]
    decision = reconcile(fact("Pia", "lives_in", "Turin", day(1, 2)), known)
    assert (decision.action, decision.known) == ("replace", (known[0],))


def test_contrary_statements_of_one_turn_are_not_applied() -> None:
    known = [fact("a", "age", "29", day(1))]
    both = [fact("a", "age", "30", day(2)), fact("a", "age", "31", day(2))]
    decisions = reconcile_all([*both, fact("a", "likes", "tea", day(2))], known)
    assert [d.action for d in decisions] == ["conflict", "conflict", "add"]


def test_a_judge_decides_where_several_values_may_stand() -> None:
    known = [fact("rio", "habit", "takes the bus to work", day(1))]
    new = fact("rio", "habit", "cycles to work, never the bus now", day(2))
    assert reconcile(new, known).action == "add"
    assert reconcile(new, known, judge=lambda a, b: "contradicts").action == "replace"
    assert reconcile(new, known, judge=lambda a, b: "same").action == "confirm"
    assert reconcile(new, known, judge=lambda a, b: None).action == "add"


@given(st.floats(0.01, 1.0), st.floats(0.01, 1.0))
def test_repetition_never_lowers_confidence(first: float, second: float) -> None:
    known, again = fact("a", "b", "c", confidence=first), fact("a", "b", "c", confidence=second)
    assert confirmed(known, again) >= first
    assert confirmed(known, again, ConflictPolicy(merge_confidence=False)) == max(first, second)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2031-01-02", "2 January 2031", True),
        ("2031年1月2日", "2031-01-02", True),
        ("1,000", "1000", True),
        ("138-1234-5678", "13812345678", True),
        ("the aisle seat", "Aisle seats", True),
        ("10 km", "10 miles", False),
        ("12A", "12B", False),
        ("", "Oslo", False),
        ("上海", "上海市", False),
    ],
)
def test_same_value(one: str, other: str, same: bool) -> None:
    assert same_value(one, other) is same
