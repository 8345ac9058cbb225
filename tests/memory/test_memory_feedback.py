"""The log of questions and answers: kept, reviewed, exported, run again."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest

from llama_index_semxpath.errors import SemXPathError, StoreError
from llama_index_semxpath.evaluation.dataset import Dataset
from llama_index_semxpath.memory.feedback import FeedbackEntry, FeedbackLog, Trial, entry_of
from llama_index_semxpath.memory.feedback_review import (
    bad_cases,
    evaluation_rows,
    rerun,
    training_pairs,
    write_rows,
)

NOON = dt.datetime(2031, 1, 1, 12, tzinfo=dt.UTC)


def good(question: str = "Is tea served?", **more) -> FeedbackEntry:
    values = {
        "answer": "Yes, from four o'clock.", "results": (("n1", 0.9),), "citations": ("n1",),
        "query": "//Tea", "intent": "concept", "session": "a", "time": NOON,
    }  # fmt: skip
    return FeedbackEntry(question, **(values | more))


def test_entries_survive_a_reopening(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "feedback.db"
    with FeedbackLog(path) as log:
        entry = log.add(good())
        log.rate(entry.id, -1, comment="cold")
        log.label(entry.id, "corrected", expected=["n2"], query="//Coffee", note="wrong drink")
    with FeedbackLog(path) as log:
        (read,) = log.entries()
        assert (read.rating, read.comment, read.verdict) == (-1, "cold", "corrected")
        assert (read.expected, read.corrected_query, read.note) == (
            ("n2",),
            "//Coffee",
            "wrong drink",
        )
        assert read.time == NOON
        assert log.entries(verdict="") == []
        assert log.remove([read.id]) == 1
        assert log.entries() == []


def test_private_data_never_reaches_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "f.db"
    with FeedbackLog(path) as log:
        entry = log.add(
            good("Call 13812345678 or ann@example.com", answer="key sk-abcdefghijklmnop")
        )
        log.rate(entry.id, 1, comment="my card 4111 1111 1111 1111")
    raw = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    for secret in (b"13812345678", b"ann@example", b"4111", b"sk-abc"):
        assert secret not in raw
    with FeedbackLog(tmp_path / "g.db", redactor=None) as log:
        assert "13812345678" in log.add(good("Call 13812345678")).question


def test_bad_input_is_one_clear_error(tmp_path: Path) -> None:
    log = FeedbackLog(":memory:")
    entry = log.add(good())
    for call in (
        lambda: log.add(FeedbackEntry("  ")),
        lambda: log.rate(entry.id, 5),
        lambda: log.rate("nope", 1),
        lambda: log.label(entry.id, "fine"),
        lambda: log.label(entry.id, "corrected"),
        lambda: FeedbackEntry.from_dict({"answer": 3, "results": 5}),
    ):
        with pytest.raises(SemXPathError):
            call()
    (tmp_path / "no.db").write_text("this is no database, but long enough to be read as one" * 50)
    with pytest.raises(StoreError):
        FeedbackLog(tmp_path / "no.db")
    with pytest.raises(SemXPathError):
        write_rows([{"a": 1}], tmp_path / "no" / "such" / "folder.jsonl")


@pytest.mark.parametrize(
    ("entry", "reasons"),
    [
        (good(rating=-1), {"disliked"}),
        (good(answer=""), {"no answer"}),
        (good(answer="Yes", citations=()), {"short answer", "no citation"}),
        (good(results=()), {"no results"}),
        (good(results=(("n1", 0.1),)), {"low score"}),
        (good(citations=()), {"no citation"}),
        (good(), set()),
        (good(rating=1, results=()), set()),
        (good(answer="", verdict="ignore"), set()),
    ],
)
def test_bad_case(entry: FeedbackEntry, reasons: set[str]) -> None:
    found = bad_cases([entry])
    assert {reason for case in found for reason in case.reasons} == reasons


def test_a_question_asked_again_soon_is_a_bad_case() -> None:
    minute = dt.timedelta(minutes=1)
    entries = [
        good("When is tea served?", time=NOON),
        good("Is coffee good?", time=NOON + minute),
        good("When is the tea served, please?", time=NOON + 2 * minute),
        good("When is tea served?", time=NOON + 3 * minute, session="b"),
        good("Is coffee good?", time=NOON + 60 * minute),
    ]
    assert [case.entry.time for case in bad_cases(entries)] == [NOON]


def test_exports(tmp_path: Path) -> None:
    corrected = good("Is coffee served?", id="2", verdict="corrected", corrected_query="//Coffee")
    entries = [
        good(id="1", verdict="good"),
        corrected,
        good("Why?", id="3", verdict="bad"),
        good("So?"),
    ]
    rows = evaluation_rows(entries)
    assert [(row["id"], row["query"], row["gold_ids"], row["semxpath"]) for row in rows] == [
        ("1", "Is tea served?", ["n1"], "//Tea"),
        ("2", "Is coffee served?", [], "//Coffee"),
    ]
    assert training_pairs(entries) == [
        {"question": "Is tea served?", "query": "//Tea", "intent": "concept"},
        {"question": "Is coffee served?", "query": "//Coffee"},
    ]
    with_texts = evaluation_rows(entries[:1], passage=lambda id_: ("menu", "Tea at four"))
    target = tmp_path / "set.jsonl"
    write_rows(with_texts, target)
    (question,) = Dataset.load(target).questions
    assert (question.query, question.gold[0][0].text) == ("Is tea served?", "Tea at four")
    assert write_rows(rows, target) == 2
    assert [json.loads(line)["id"] for line in target.read_text().splitlines()] == ["1", "2"]


def test_regression_run() -> None:
    entries = [
        good(id="1", verdict="good"),
        good("Is coffee served?", id="2", verdict="corrected", expected=("n7", "n8")),
        good("Why?", id="3", verdict="corrected", corrected_answer="Because of tea"),
        good("Who?", id="4", verdict="good"),
    ]

    def ask(question: str) -> Trial:
        if question == "Who?":
            raise SemXPathError("store is gone")
        if question == "Why?":
            return Trial(answer="It is because of the tea.")
        return Trial(ids=("n1", "n7"))

    report = rerun(entries, ask)
    assert [case.passed for case in report.cases] == [True, False, True, False]
    assert report.to_dict()["broken"] == ["Who?"]
    assert report.to_dict()["mended"] == ["Why?"]
    assert report.cases[1].missing == ("n8",)
    assert "store is gone" in report.cases[3].error


def test_an_answer_of_the_command_line_is_an_entry() -> None:
    answer = {
        "answer": "Yes [1].", "intent": {"kind": "concept"}, "query": "//Tea",
        "results": [{"id": "n1", "score": 0.8}], "citations": [{"id": "n1", "number": 1}],
    }  # fmt: skip
    entry = entry_of("Is tea served?", answer, session="a", seconds=0.2)
    assert (entry.intent, entry.citations, entry.results) == ("concept", ("n1",), (("n1", 0.8),))
