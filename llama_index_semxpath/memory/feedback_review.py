"""Which answers were probably bad, and what can be learned from those that were reviewed."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.memory.evidence import content_stems
from llama_index_semxpath.memory.feedback import FeedbackEntry, Trial
from llama_index_semxpath.memory.packing import token_count

#: Document and text of a node by its id.
Passage = Callable[[str], tuple[str, str] | None]


@dataclass(frozen=True, slots=True)
class ReviewPolicy:
    """When an answer is taken for a bad case.

    Args:
        shortest: Tokens under which an answer is too short, >= 0.
        lowest_score: Score under which the best result is too weak, in [0, 1].
        asked_again: Time in which the same question is one that was asked again.
        alike: Share of content words that two questions have in common when they are the same, in
            (0, 1].
    """

    shortest: int = 3
    lowest_score: float = 0.3
    asked_again: dt.timedelta = dt.timedelta(minutes=10)
    alike: float = 0.6


@dataclass(frozen=True, slots=True)
class BadCase:
    """An entry that should be looked at.

    Args:
        entry: The entry.
        reasons: Why: ``disliked``, ``no answer``, ``short answer``, ``no results``, ``low score``,
            ``no citation``, ``asked again``.
    """

    entry: FeedbackEntry
    reasons: tuple[str, ...]


def bad_cases(
    entries: Sequence[FeedbackEntry], policy: ReviewPolicy | None = None
) -> list[BadCase]:
    """Entries that nobody has labelled yet and that look bad, those with most reasons first.

    Args:
        entries: Entries in order of time.
        policy: When an answer is taken for a bad case.

    Example:
        >>> entry = FeedbackEntry("Is tea served?", "", session="a", rating=-1)
        >>> bad_cases([entry])[0].reasons
        ('disliked', 'no answer', 'no results')
    """
    policy = policy or ReviewPolicy()
    again = _asked_again(entries, policy)
    found = []
    for place, entry in enumerate(entries):
        reasons = tuple(_reasons(entry, policy)) + (("asked again",) if place in again else ())
        if reasons and not entry.verdict and entry.rating <= 0:
            found.append(BadCase(entry, reasons))
    return sorted(found, key=lambda case: ("disliked" not in case.reasons, -len(case.reasons)))


def evaluation_rows(
    entries: Iterable[FeedbackEntry], *, passage: Passage | None = None
) -> list[dict[str, Any]]:
    """Reviewed entries as rows of an evaluation set, as :mod:`evaluation` reads them.

    Kept are questions whose right nodes, query or answer are known: those that were corrected, and
    good ones with what they cited. A row holds ``id``, ``query`` (the question), ``gold`` (passages
    with ``document`` and ``text``), ``gold_ids``, and of ``answer``, ``semxpath`` and ``intent``
    what is known.

    Args:
        entries: Entries of a log.
        passage: Document and text of a node by its id; ``None`` where there is none any more.

    Example:
        >>> entry = FeedbackEntry("Tea?", "Yes.", id="e1", verdict="good", citations=("n1",))
        >>> evaluation_rows([entry], passage=lambda id_: ("menu", "Tea at four"))[0]["gold"]
        [{'document': 'menu', 'text': 'Tea at four'}]
    """
    rows = []
    for entry in entries:
        good = entry.verdict == "good"
        if not good and entry.verdict != "corrected":
            continue
        ids = list(entry.expected or (entry.citations if good else ()))
        query = entry.corrected_query or (entry.query if good else "")
        answer = entry.corrected_answer or (entry.answer if good else "")
        if not (ids or query or answer):
            continue
        passages = [found for id_ in ids if passage and (found := passage(id_)) is not None]
        row: dict[str, Any] = {"id": entry.id, "query": entry.question, "gold_ids": ids}
        row["gold"] = [{"document": document, "text": text} for document, text in passages]
        row |= {"answer": answer} if answer else {}
        row |= {"semxpath": query} if query else {}
        rows.append(row | ({"intent": entry.intent} if entry.intent else {}))
    return rows


def training_pairs(entries: Iterable[FeedbackEntry]) -> list[dict[str, str]]:
    """Pairs of question and accepted query or intent, each once, for fine-tuning a small model.

    A question whose reviewers accepted several queries gives its latest one.

    Example:
        >>> entry = FeedbackEntry("Is tea served?", query="//Tea", verdict="good", intent="concept")
        >>> training_pairs([entry])
        [{'question': 'Is tea served?', 'query': '//Tea', 'intent': 'concept'}]
    """
    pairs: dict[str, dict[str, str]] = {}
    for entry in entries:
        good = entry.verdict == "good" or (entry.rating > 0 and entry.verdict == "")
        query = entry.corrected_query or (entry.query if good else "")
        intent = entry.intent if good else ""
        if query or intent:
            pair = {"question": entry.question}
            pair |= {"query": query} if query else {}
            pair |= {"intent": intent} if intent else {}
            pairs[" ".join(entry.question.split()).casefold()] = pair
    return list(pairs.values())


def write_rows(rows: Sequence[dict[str, Any]], path: str | Path) -> int:
    """Write rows as JSON Lines, whole or not at all.

    Returns:
        How many rows were written.

    Raises:
        SemXPathError: The file cannot be written.
    """
    target = Path(path)
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    try:
        part = target.with_name(target.name + ".part")
        part.write_text(text, encoding="utf-8")
        part.replace(target)
    except OSError as error:
        raise SemXPathError(f"cannot write: {error.strerror or error}", where=str(path)) from error
    return len(rows)


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One reviewed question, tried again.

    Args:
        row: The evaluation row.
        passed: Whether it is right now.
        was_right: Whether it was right when it was logged.
        missing: Expected ids that were not found.
        error: What the system raised, ``""`` if nothing.
    """

    row: dict[str, Any]
    passed: bool
    was_right: bool
    missing: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Regression:
    """Reviewed questions, tried again.

    Args:
        cases: One result a question.
    """

    cases: tuple[CaseResult, ...]

    @property
    def broken(self) -> tuple[CaseResult, ...]:
        """Right once, wrong now."""
        return tuple(one for one in self.cases if one.was_right and not one.passed)

    @property
    def mended(self) -> tuple[CaseResult, ...]:
        """Wrong once, right now."""
        return tuple(one for one in self.cases if one.passed and not one.was_right)

    def to_dict(self) -> dict[str, Any]:
        """Counts, and the questions that are not right.

        Example:
            >>> Regression(()).to_dict()["passed"]
            0
        """
        wrong = [one for one in self.cases if not one.passed]
        return {
            "cases": len(self.cases),
            "passed": len(self.cases) - len(wrong),
            "broken": [one.row["query"] for one in self.broken],
            "mended": [one.row["query"] for one in self.mended],
            "wrong": [
                {"id": one.row["id"], "question": one.row["query"],
                 "missing": list(one.missing), "error": one.error}
                for one in wrong
            ],
        }  # fmt: skip


def rerun(entries: Iterable[FeedbackEntry], ask: Callable[[str], Trial]) -> Regression:
    """Ask the reviewed questions again and compare.

    A question passes when all its expected nodes are found; where only a query or an answer is
    known, when the query is the same, or when the answer holds all the words of the known one.

    Args:
        entries: Entries of a log; those without a label that says what is right are passed over.
        ask: Answers one question. An error of this package counts as a failure.

    Example:
        >>> entry = FeedbackEntry("Is tea served?", id="e1", verdict="corrected", expected=("n1",))
        >>> rerun([entry], lambda question: Trial(ids=("n1",))).to_dict()["mended"]
        ['Is tea served?']
    """
    entries = list(entries)
    right = {entry.id: entry.verdict == "good" for entry in entries}
    cases = []
    for row in evaluation_rows(entries):
        try:
            trial = ask(row["query"])
        except SemXPathError as error:
            cases.append(CaseResult(row, False, right[row["id"]], error=str(error)))
            continue
        found = {*trial.ids, *trial.citations}
        missing = tuple(one for one in row["gold_ids"] if one not in found)
        cases.append(CaseResult(row, _passes(row, trial, missing), right[row["id"]], missing))
    return Regression(tuple(cases))


def _passes(row: dict[str, Any], trial: Trial, missing: Sequence[str]) -> bool:
    if row["gold_ids"]:
        return not missing
    if row.get("semxpath"):
        return bool(row["semxpath"] == trial.query)
    return set(content_stems(row["answer"])) <= set(content_stems(trial.answer))


def _reasons(entry: FeedbackEntry, policy: ReviewPolicy) -> Iterable[str]:
    if entry.rating < 0:
        yield "disliked"
    if not entry.answer.strip():
        yield "no answer"
    elif token_count(entry.answer) < policy.shortest and not entry.citations:
        yield "short answer"
    if not entry.results:
        yield "no results"
    elif max(score for _, score in entry.results) < policy.lowest_score:
        yield "low score"
    if entry.answer.strip() and entry.results and not entry.citations:
        yield "no citation"


def _asked_again(entries: Sequence[FeedbackEntry], policy: ReviewPolicy) -> set[int]:
    """Places of entries whose question came again in the same session soon after."""
    found = set()
    for place, entry in enumerate(entries):
        mine = set(content_stems(entry.question))
        for later in entries[place + 1 :]:
            if entry.time is None or later.time is None or later.session != entry.session:
                continue
            if later.time - entry.time > policy.asked_again:
                break
            theirs = set(content_stems(later.question))
            union = mine | theirs
            if union and len(mine & theirs) / len(union) >= policy.alike:
                found.add(place)
                break
    return found
