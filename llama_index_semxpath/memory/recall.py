"""What a memory holds on a question, within a token budget.

Structure, meaning, time, validity and strength decide together: see :mod:`evidence` for how
relevance is graded, :mod:`decay` for strength. What is recalled is data; nothing in a question or
in a memory is ever run as a query.
"""

from __future__ import annotations

import datetime as dt
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.index.access import Principal, principal_labels
from llama_index_semxpath.index.history import When, moment_of
from llama_index_semxpath.memory.corpus import Corpus
from llama_index_semxpath.memory.decay import DecayPolicy
from llama_index_semxpath.memory.evidence import Evidence, EvidenceWeights, content_stems
from llama_index_semxpath.memory.packing import token_count
from llama_index_semxpath.memory.recalled import Recall, Recalled
from llama_index_semxpath.memory.references import (
    Reference,
    resolve_references,
    with_labels,
    with_names,
)
from llama_index_semxpath.memory.selecting import select
from llama_index_semxpath.memory.times import Period, find_times
from llama_index_semxpath.memory.usage import UsageLog

if TYPE_CHECKING:
    from llama_index_semxpath.memory.store import StructuredMemory

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]

#: Results where neither a number nor a budget is given.
DEFAULT_TOP_K = 10
#: Characters of a question that are read.
_LONGEST = 4_000
#: Signs at which a memory counts as found: words of its own or near it, its time, its meaning.
_MEANING_STANDS_OUT = 0.5
#: Memories so few that all may be of use.
_FEW = 20
#: What strength adds at most: as much as all words of a question.
_STRENGTH = 1.0
#: Results that are put in order, where no more are asked for.
_READ = 2_000
#: Misses after which nothing smaller is looked for to fill a budget.
_MISSES = 200
#: Principals whose corpora are kept ready.
_CORPORA = 8
_USUAL = re.compile(
    r"\b(?:my|the|our|his|her|their) (?:usual|preferred|favou?rite|regular)\b"
    r"|\bas (?:usual|always)\b"
    r"|老样子|照旧|惯常|平时的|平常的|常用的|喜欢的|偏好",
    re.IGNORECASE,
)


@dataclass
class _Ready:
    """What is kept between the questions to one memory."""

    usage: UsageLog
    lock: threading.RLock = field(default_factory=threading.RLock)
    corpora: dict[frozenset[str] | None, Corpus] = field(default_factory=dict)


_READY: WeakKeyDictionary[Any, _Ready] = WeakKeyDictionary()
_READY_LOCK = threading.Lock()


def recall(
    memory: StructuredMemory,
    question: str = "",
    *,
    budget: int | None = None,
    top_k: int | None = None,
    scope: str | None = None,
    kinds: Sequence[str] | None = None,
    when: str | None = None,
    at: When | None = None,
    now: dt.datetime | None = None,
    principal: Principal = None,
    history: Sequence[Recall | str] = (),
    chosen: str | None = None,
    situation: str = "",
    weights: EvidenceWeights | None = None,
    decay: DecayPolicy | None = None,
    count_tokens: Callable[[str], int] = token_count,
    touch: bool = True,
) -> Recall:
    """What the memory holds on a question.

    Args:
        memory: The memory.
        question: A question or phrase, English or Chinese, of which 4,000 characters are read;
            ``""`` for the strongest memories.
        budget: Tokens that the lines of the result may cost together, >= 0.
        top_k: Most results; without it and a budget, 10.
        scope: SemXPath, or a node id: only what it selects and what stands below.
        kinds: Only these kinds.
        when: Only what was said in this time: "last week", "上周", "2026-03-01".
        at: What held at this moment, as is known now; other memories as they were then.
        now: What "last week" counts from, in its time zone; by default the memory's clock.
        principal: Labels of who asks; by default the memory's.
        history: The turns before, oldest first: what was shown, or said; "the second" points there.
        chosen: Id of what was spoken of last, for "it" and "the other one".
        situation: What the question is about besides, for preferences that depend on it ("a
            14-hour flight").
        weights: How much each sign counts.
        decay: How memories fade.
        count_tokens: Price of a line.
        touch: Count the results as used, which brings their strength back.

    Raises:
        SemXPathError: A budget or number below 0, a time that says nothing, or a wrong scope.

    Example:
        >>> import tempfile
        >>> from llama_index_semxpath.memory import StructuredMemory
        >>> folder = tempfile.TemporaryDirectory()
        >>> memory = StructuredMemory.from_defaults(folder.name, embed=False)
        >>> change = memory.remember("Rio likes green tea")
        >>> change = memory.remember("The office closes at six")
        >>> [one.text for one in recall(memory, "Which tea does Rio like?", top_k=1)]
        ['Rio likes green tea']
        >>> memory.close(); folder.cleanup()
    """
    if (budget is not None and budget < 0) or (top_k is not None and top_k < 0):
        raise SemXPathError("a budget and a number of results are 0 or more")
    question = question[:_LONGEST]
    who = memory.principal if principal is None else principal_labels(principal)
    now = now or memory.now()
    moment = now if at is None else _moment_at(memory, at).astimezone(now.tzinfo)
    ready = ready_for(memory)
    with ready.lock:
        corpus = _corpus(memory, ready, who) if at is None else _past(memory, at, who)
        asked, references, chosen_ids = _understood(question, history, chosen, corpus)
        evidence = _graded(corpus, asked, moment, weights)
        strengths = corpus.strengths(moment, decay or DecayPolicy(), ready.usage.uses)
        total = evidence.scores + _STRENGTH * np.log2(strengths.clip(2**-10, 2**10)) / 10
        total += _usual(asked, [*_texts(history), situation], corpus)
        wanted = corpus.holding(moment) & _filtered(memory, corpus, scope, kinds, when, now, who)
        pointed = _pointed(corpus, chosen_ids)
        found = pointed | (wanted & _found(asked, evidence, wanted))
        total[pointed] += total.max(initial=0.0) + 1.0
        rows = _best(total, found, max(_READ, top_k or 0, (budget or 0) // 4))
        entries = _packed(
            memory, corpus, rows, total, evidence, who, at, budget, top_k, count_tokens
        )
        if touch and at is None and entries:
            ready.usage.touch((one.id for one in entries), now)
    note = "" if entries else "nothing is remembered on this"
    if any(one.ambiguous for one in references):
        note = "it is not clear what is meant; ask with the candidates"
    return Recall(tuple(entries), asked, tuple(references), note)


def _best(total: Floats, found: Mask, most: int) -> list[int]:
    """So many rows that were found, best first, equal ones in order of speech."""
    rows = np.flatnonzero(found)
    if len(rows) > most:
        rows = np.sort(rows[np.argpartition(-total[rows], most)[:most]])
    best: list[int] = rows[np.argsort(-total[rows], kind="stable")].tolist()
    return best


def ready_for(memory: StructuredMemory) -> _Ready:
    """What is kept between the questions to a memory."""
    with _READY_LOCK:
        if memory not in _READY:
            _READY[memory] = _Ready(UsageLog(memory.index.config.store))
        return _READY[memory]


def corpus_of(memory: StructuredMemory, who: frozenset[str] | None) -> Corpus:
    """What a principal can recall now."""
    ready = ready_for(memory)
    with ready.lock:
        return _corpus(memory, ready, who)


def _corpus(memory: StructuredMemory, ready: _Ready, who: frozenset[str] | None) -> Corpus:
    corpus = ready.corpora.get(who)
    if corpus is None:
        if len(ready.corpora) >= _CORPORA:
            ready.corpora.clear()
        corpus = ready.corpora[who] = Corpus(memory.reader, who)
    corpus.refresh()
    return corpus


def _past(memory: StructuredMemory, at: When, who: frozenset[str] | None) -> Corpus:
    """Facts as they are known now, which tell when they held; all else as it was then."""
    corpus = Corpus(memory.reader, who)
    present = [match.node for match in select(memory, "//*[@valid_from]", who)]
    then = [match.node for match in select(memory.at(at), "//*", who)]
    corpus.add_all([*(node for node in then if "valid_from" not in node.attributes), *present])
    return corpus


def _moment_at(memory: StructuredMemory, at: When) -> dt.datetime:
    return memory.history_reader.revision(at).time if isinstance(at, int) else moment_of(at)


def _understood(
    question: str, history: Sequence[Recall | str], chosen: str | None, corpus: Corpus
) -> tuple[str, list[Reference], list[str]]:
    """The question with what it points to, the references, and the ids that it points to."""
    shown = next((one.shown for one in reversed(history) if isinstance(one, Recall) and one), ())
    references = resolve_references(question, shown, chosen=chosen)
    asked = with_labels(question, references)
    asked = with_names(asked, _texts(history), corpus.index.speakers)
    return asked, references, [target.id for one in references for target in one.targets]


def _texts(history: Sequence[Recall | str]) -> list[str]:
    return [one if isinstance(one, str) else one.question for one in history]


def _graded(
    corpus: Corpus, asked: str, now: dt.datetime, weights: EvidenceWeights | None
) -> Evidence:
    if not asked.strip():
        return Evidence(np.zeros(len(corpus.nodes)), {})
    vector = corpus.question_vector(asked) if corpus.has_vectors() else None
    return corpus.index.grade(
        asked, now=now, vectors=corpus.vectors, question_vector=vector, weights=weights
    )


def _found(asked: str, evidence: Evidence, wanted: Mask) -> Mask:
    """Rows for which anything speaks; of few memories, all where no word tells them apart."""
    everything = np.ones(len(evidence.scores), bool)
    if not asked.strip() or not evidence.parts:
        return everything
    parts = evidence.parts
    by_words: Mask = (parts["own"] > 0) | (parts["nearby"] > 0) | (parts["date"] > 0)
    by_words |= (parts["session"] > 0) | (parts["speaker"] > 0)
    if "meaning" in parts:
        by_words = by_words | (parts["meaning"] >= _MEANING_STANDS_OUT)
        if not (by_words & wanted).any() and int(wanted.sum()) <= _FEW:
            return everything
    return by_words


def _filtered(
    memory: StructuredMemory,
    corpus: Corpus,
    scope: str | None,
    kinds: Sequence[str] | None,
    when: str | None,
    now: dt.datetime,
    who: frozenset[str] | None,
) -> Mask:
    kept = np.ones(len(corpus.nodes), bool)
    if kinds is not None:
        allowed = set(kinds)
        kept &= np.array([node.kind in allowed for node in corpus.nodes], bool)
    if scope is not None:
        inside = _inside(memory, scope, who)
        kept &= np.array([node.id in inside for node in corpus.nodes], bool)
    if when is not None:
        times = corpus.index.times
        kept &= np.any([_within(times, period) for period in _periods(when, now)], axis=0)
    return kept


def _periods(when: str, now: dt.datetime) -> list[Period]:
    mentions = find_times(when, now)
    if not mentions:
        raise SemXPathError("no time is named", where=when[:60], hint="such as 'last week' or 上周")
    return [period for mention in mentions for period in mention.periods]


def _within(times: Floats, period: Period) -> Mask:
    inside: Mask = (times >= period.start.timestamp()) & (times < period.end.timestamp())
    return inside


def _inside(memory: StructuredMemory, scope: str, who: frozenset[str] | None) -> set[str]:
    """Ids of what a scope selects and of all that stands below."""
    reader = memory.reader
    if not scope.startswith(("/", "(", "id(")):
        return {match.id for match in reader.subtree(scope, who)}
    inside: set[str] = set()
    for match in reader.query(scope, principal=who):
        if match.id not in inside:
            inside.update(one.id for one in reader.subtree(match.id, who))
    return inside


def _usual(asked: str, situation: Sequence[str], corpus: Corpus) -> Floats:
    """What "my usual seat" adds to preferences, most to those whose condition fits."""
    bonus = np.zeros(len(corpus.nodes))
    if not _USUAL.search(asked):
        return bonus
    around = set(content_stems(" ".join([asked, *situation])))
    for row in corpus.alive.tolist():
        node = corpus.nodes[row]
        if node.kind != "Preference":
            continue
        condition = set(content_stems(str(node.attributes.get("condition") or "")))
        bonus[row] = 1.0 + (len(condition & around) / len(condition) if condition else 0.0)
    return bonus


def _pointed(corpus: Corpus, ids: Sequence[str]) -> Mask:
    pointed = np.zeros(len(corpus.nodes), bool)
    pointed[[corpus.rows[id_] for id_ in ids if id_ in corpus.rows]] = True
    return pointed


def _packed(
    memory: StructuredMemory,
    corpus: Corpus,
    rows: Sequence[int],
    total: Floats,
    evidence: Evidence,
    who: frozenset[str] | None,
    at: When | None,
    budget: int | None,
    top_k: int | None,
    count_tokens: Callable[[str], int],
) -> list[Recalled]:
    """The best rows that fit, as entries."""
    if budget is None and top_k is None:
        top_k = DEFAULT_TOP_K
    chosen: list[tuple[int, str, int]] = []
    seen: set[str] = set()
    misses = 0
    for row in rows:
        if (top_k is not None and len(chosen) >= top_k) or misses > _MISSES or budget == 0:
            break
        line = corpus.line(row)
        said = " ".join((corpus.nodes[row].text or line).split())
        if said in seen:
            continue  # a fact and the turn that said it cost twice what they tell
        price = count_tokens(line)
        if budget is not None:
            if price > budget:
                misses += 1
                continue
            budget -= price
        chosen.append((row, line, price))
        seen.add(said)
    reader = memory.reader if at is None else memory.at(at).reader
    ids = [corpus.nodes[row].id for row, _, _ in chosen]
    matches = {match.id: match for match in memory.reader.nodes(ids, who)}
    if at is not None:
        matches |= {match.id: match for match in reader.nodes(ids, who) if match.id not in matches}
    entries = []
    for row, line, price in chosen:
        match = matches.get(corpus.nodes[row].id)
        if match is None:
            continue
        why = {
            name: round(float(part[row]), 3) for name, part in evidence.parts.items() if part[row]
        }
        entries.append(Recalled(match, float(total[row]), why, line, price, corpus.time(row)))
    return entries
