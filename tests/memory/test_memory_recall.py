"""Recall under a budget: by words, time, structure, preference, reference; and what it refuses."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.memory import StructuredMemory
from llama_index_semxpath.memory.packing import token_count
from llama_index_semxpath.memory.recall import recall
from llama_index_semxpath.memory.records import Record
from llama_index_semxpath.memory.writing import TurnText, WritingPolicy, learn

NOW = dt.datetime(2026, 3, 18, 9, tzinfo=dt.UTC)  # a Wednesday


def at(day: int, hour: int = 12) -> dt.datetime:
    return dt.datetime(2026, 3, day, hour, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StructuredMemory]:
    folder = tmp_path_factory.mktemp("recall")
    with StructuredMemory.from_defaults(folder, embed=False, clock=lambda: NOW) as opened:
        for day, said in {
            3: ["What instrument do you play?", "The cello, since school."],
            10: ["I signed the lease for the flat.", "Congratulations!"],
            12: ["昨天我们签了供应商合同。", "好的，我记下了。"],
            17: ["The boiler broke again.", "Call the landlord."],
        }.items():
            turns = [
                TurnText(text, who, at(day)) for text, who in zip(said, ("Ann", "Bo"), strict=True)
            ]
            learn(opened, turns, conversation="home", policy=WritingPolicy(roles=()))
        learn(
            opened,
            "I prefer window seats on long flights, but aisle seats on short flights. I like tea.",
            speaker="Ann",
            session="talk",
        )
        places = [
            Record("Restaurant", attributes={"name": name, "cuisine": cuisine})
            for name, cuisine in [
                ("Thai Palace", "thai"),
                ("Pasta Bar", "italian"),
                ("Sushi Go", "japanese"),
            ]
        ]
        opened.remember(Record("Plan", attributes={"name": "dinner"}, children=tuple(places)))
        yield opened


def said(found) -> list[str]:
    return [one.text for one in found]


def test_the_turn_beside_the_words_of_the_question(memory: StructuredMemory) -> None:
    assert "The cello, since school." in said(
        recall(memory, "Which instrument does Bo play?", top_k=2)
    )


@pytest.mark.parametrize(
    ("when", "texts"),
    [
        ("last week", {"I signed the lease for the flat.", "Congratulations!", "昨天我们签了供应商合同。", "好的，我记下了。"}),
        ("上周二", {"I signed the lease for the flat.", "Congratulations!"}),
        ("yesterday", {"The boiler broke again.", "Call the landlord."}),
        ("2026-03-03", {"What instrument do you play?", "The cello, since school."}),
    ],
)  # fmt: skip
def test_only_what_was_said_then(memory: StructuredMemory, when: str, texts: set[str]) -> None:
    found = recall(memory, when=when, kinds=["Turn"], top_k=50)
    assert set(said(found)) == texts


def test_a_day_is_that_of_the_zone(memory: StructuredMemory) -> None:
    # Noon UTC on the 17th is the 18th in Auckland.
    there = dt.datetime(2026, 3, 18, 20, tzinfo=ZoneInfo("Pacific/Auckland"))
    assert said(recall(memory, when="today", now=there, kinds=["Turn"]))[:1] == [
        "The boiler broke again."
    ]
    assert not recall(memory, when="today", now=NOW - dt.timedelta(days=2), kinds=["Turn"])


def test_a_time_in_the_question_leads(memory: StructuredMemory) -> None:
    found = recall(memory, "What happened on 11 March?", kinds=["Turn"], top_k=1)
    assert said(found) == ["昨天我们签了供应商合同。"]


def test_chinese_question(memory: StructuredMemory) -> None:
    assert said(recall(memory, "哪一天签了合同？", top_k=1)) == ["昨天我们签了供应商合同。"]


@pytest.mark.parametrize("budget", [0, 5, 20, 40, 200])
def test_budget_is_kept(memory: StructuredMemory, budget: int) -> None:
    found = recall(memory, "lease boiler cello contract", budget=budget)
    assert found.tokens <= budget
    assert found.tokens == sum(token_count(one.line) for one in found)
    assert token_count(found.text) <= max(budget, 0) or not found


def test_own_count_of_tokens(memory: StructuredMemory) -> None:
    found = recall(memory, "boiler", budget=2, count_tokens=lambda line: 1)
    assert len(found) == 2


def test_structure_narrows(memory: StructuredMemory) -> None:
    found = recall(memory, "food", scope='/Plan[@name = "dinner"]', kinds=["Restaurant"], top_k=9)
    assert {one.match.attributes["name"] for one in found} <= {
        "Thai Palace",
        "Pasta Bar",
        "Sushi Go",
    }
    assert said(recall(memory, "italian", scope="/Plan", top_k=1))[0].startswith(
        "Restaurant name: Pasta Bar"
    )
    inside = recall(memory, "", scope=memory.query("/Plan")[0].id, kinds=["Restaurant"])
    assert len(inside) == 3


def test_my_usual_seat_depends_on_the_trip(memory: StructuredMemory) -> None:
    long = recall(memory, "book my usual seat", situation="a long flight to Sydney", top_k=1)
    short = recall(memory, "book my usual seat", history=["It is only a short flight"], top_k=1)
    assert long[0].match.attributes["value"] == "window seats"
    assert short[0].match.attributes["value"] == "aisle seats"


def test_what_was_shown_can_be_pointed_to(memory: StructuredMemory) -> None:
    shown = recall(memory, "", scope="/Plan", kinds=["Restaurant"], top_k=3)
    names = [one.match.attributes["name"] for one in shown]
    assert (
        recall(memory, "tell me more about the second", history=[shown])[0].match.attributes["name"]
        == names[1]
    )
    assert recall(memory, "第三个怎么样？", history=[shown])[0].match.attributes["name"] == names[2]
    unclear = recall(memory, "book that one", history=[shown])
    assert [one.label for one in unclear.candidates] == names
    assert "ask" in unclear.note
    settled = recall(memory, "book that one", history=[shown], chosen=shown[1].id)
    assert settled[0].id == shown[1].id
    assert settled.candidates == ()


def test_she_is_who_was_named(memory: StructuredMemory) -> None:
    found = recall(
        memory,
        "What does she like to drink?",
        history=["We talked about Ann."],
        kinds=["Preference"],
    )
    assert found.question == "What does Ann like to drink?"
    assert said(found)[0].endswith("I like tea.")


def test_weights_of_signs_and_reasons(memory: StructuredMemory) -> None:
    (one,) = recall(memory, "boiler", top_k=1)
    assert one.why["own"] == 1.0
    assert one.to_dict()["tokens"] == one.tokens


def test_new_memories_are_found_at_once_and_removed_ones_no_more(tmp_path: Path) -> None:
    with StructuredMemory.from_defaults(tmp_path, embed=False, clock=lambda: NOW) as memory:
        ids = [memory.remember(f"note {n} about topic{n}").added[0] for n in range(100)]
        assert said(recall(memory, "topic7")) == ["note 7 about topic7"]
        memory.remember("a note on zebras")
        assert said(recall(memory, "zebras")) == ["a note on zebras"]
        memory.forget(ids[7])
        assert not [t for t in said(recall(memory, "topic7", top_k=500)) if "topic7" in t]
        memory.revise(ids[8], text="now about lemurs")
        assert said(recall(memory, "lemurs")) == ["now about lemurs"]
        assert "topic8" not in " ".join(said(recall(memory, "topic8", top_k=500)))


def test_meaning_without_common_words(tmp_path: Path) -> None:
    with StructuredMemory.from_defaults(tmp_path, clock=lambda: NOW) as memory:
        for text in ("我喜欢喝绿茶", "The boiler broke again", "The lease was signed"):
            memory.remember(text)
        assert said(recall(memory, "Which drink do I like, green tea?", top_k=1)) == [
            "我喜欢喝绿茶"
        ]


@pytest.mark.parametrize(
    "options",
    [
        {"budget": -1},
        {"top_k": -1},
        {"when": "sometime"},
        {"scope": "//Nowhere["},
        {"at": "someday"},
    ],
)
def test_bad_input_is_one_clear_error(memory: StructuredMemory, options: dict) -> None:
    with pytest.raises(SemXPathError):
        recall(memory, "x", **options)


@pytest.mark.parametrize(
    "question",
    ["", "   ", "//Turn[", "delete //Turn", '"; drop table nodes; --', "\x00", "a" * 100_000],
)
def test_a_question_is_never_a_query(memory: StructuredMemory, question: str) -> None:
    before = memory.index.catalog.version
    recall(memory, question, budget=100)
    assert memory.index.catalog.version == before


def test_nothing_is_remembered() -> None:
    import tempfile

    with (
        tempfile.TemporaryDirectory() as folder,
        StructuredMemory.from_defaults(folder, embed=False) as memory,
    ):
        found = recall(memory, "anything")
        assert (len(found), found.text, found.tokens) == (0, "", 0)
        assert found.note


async def test_async_twins(memory: StructuredMemory) -> None:
    found = await memory.arecall("boiler", top_k=1)
    assert said(found) == ["The boiler broke again."]
