"""Facts from what people say, by rules and given attributes, without a model.

English and Chinese. What is asked, supposed or wished is no fact and is passed over. A sentence is
data: nothing of it is run, looked up or put into a pattern.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import replace

from llama_index_semxpath.memory import chinese, english
from llama_index_semxpath.memory.facts import Fact, FactSchema, at_subject, folded, same_subject
from llama_index_semxpath.memory.times import find_times
from llama_index_semxpath.text import has_han

#: Characters of a turn that are read; a person's statement about himself stands near its start.
MAX_CHARS = 20_000
#: Characters of a sentence that are read: what runs on for longer is no statement.
_LONGEST = 1_000
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[\"“‘(A-Z])|(?<=[。！？!?])|\n+")
_QUESTION = re.compile(r"[?？]\s*[\"”’)）]*$|[吗呢么][。?？]?$")
_QUOTED = re.compile(r"[\"“「『][^\"”」』]*[\"”」』]")
_CLAUSE = re.compile(r"[，,;；]\s*(?:and |but )?|\s(?:and|but)\s(?=I\b|(?:my|the)\b)")
_UNTIL = re.compile(
    r"\b(?:valid|good|holds?|runs?) (?:until|till|through|to)\b|\bexpir(?:es?|ing) (?:on )?"
    r"|有效期[至到]|[截至]止?(?:日期)?[为到至]?",
    re.IGNORECASE,
)


def extract_facts(
    text: str,
    *,
    speaker: str = "",
    time: dt.datetime | None = None,
    source: str = "",
    schema: FactSchema | None = None,
    weight: float = 1.0,
) -> list[Fact]:
    """The facts that a turn states.

    Args:
        text: What was said; of more than 20,000 characters the first ones are read.
        speaker: Who said it: the subject of "I", "my", "我". ``""`` is ``user``.
        time: When: the start of validity, and what "yesterday" counts from.
        source: Id of the turn.
        schema: Attributes that are known; their labels are found in "my <label> is …".
        weight: How much the source counts, > 0.

    Returns:
        Facts in order, none twice.

    Example:
        >>> for fact in extract_facts("My name is Ann and I live in Oslo. I don't like fish."):
        ...     print(fact.subject, fact.attribute, fact.value)
        user name Ann
        user lives_in Oslo
        user dislikes fish
        >>> for fact in extract_facts("我叫李雷，电话13812345678，住在上海"):
        ...     print(fact.subject, fact.attribute, fact.value)
        user name 李雷
        user phone 13812345678
        user lives_in 上海
        >>> extract_facts("What is my name?"), extract_facts("If I lived in Oslo, I would ski.")
        ([], [])
    """
    schema = schema or FactSchema()
    found: list[Fact] = []
    for sentence in sentences(text):
        stated = list(_of_sentence(sentence, schema))
        for fact in stated:
            fact = at_subject(fact, speaker)
            fact = replace(
                fact,
                text=_clause(sentence, fact.value) if len(stated) > 1 else sentence,
                source=source,
                weight=weight,
                valid_from=fact.valid_from or time,
                valid_until=fact.valid_until or _until(sentence, time),
            )
            if not any(_is_twin(fact, other) for other in found):
                found.append(fact)
    return found


def sentences(text: str) -> Iterator[str]:
    """The statements of a text: no questions, no suppositions; quotations are cut out.

    Example:
        >>> list(sentences("I moved. Did you? Maybe I will."))
        ['I moved.']
    """
    for part in _SENTENCE.split(_QUOTED.sub(_unquoted, text[:MAX_CHARS])):
        sentence = part.strip()[:_LONGEST]
        if not sentence or _QUESTION.search(sentence):
            continue
        if not (chinese if has_han(sentence) else english).is_supposed(sentence):
            yield sentence


def _of_sentence(sentence: str, schema: FactSchema) -> Iterator[Fact]:
    if has_han(sentence):
        yield from chinese.facts_of(sentence, schema)
        return
    found = list(english.facts_of(sentence, schema))
    if not found and sentence[0].islower():
        # Notes on a person leave the subject out: "takes the bus to work".
        found = list(english.facts_of(f"I {sentence}", schema))
    yield from found


def _clause(sentence: str, value: str) -> str:
    """The part of a sentence that states a value, so that each fact has its own words."""
    for clause in _CLAUSE.split(sentence):
        if value in clause and len(clause) > len(value) + 1:
            return clause.strip(" .。")
    return sentence


def _unquoted(match: re.Match[str]) -> str:
    # A quoted name is a name; a quoted sentence was said by somebody else.
    inner = match[0][1:-1]
    return inner if len(inner) <= 40 and not re.search(r"\b(?:I|my|i'm)\b|[我，。]", inner) else " "


def _until(sentence: str, time: dt.datetime | None) -> dt.datetime | None:
    """The moment after the last day on which the statement is said to hold."""
    marker = _UNTIL.search(sentence)
    if marker is None:
        return None
    now = time or dt.datetime.now(dt.UTC)
    for mention in find_times(
        sentence, now, years=() if time is None else (now.year, now.year + 1)
    ):
        if 0 <= mention.start - marker.end() <= 6:
            ahead = [period.end for period in mention.periods if period.end > now]
            return min(ahead, default=mention.periods[0].end)
    return None


def _is_twin(one: Fact, other: Fact) -> bool:
    return (
        same_subject(one.subject, other.subject)
        and one.attribute == other.attribute
        and folded(one.value) == folded(other.value)
        and folded(one.condition) == folded(other.condition)
        and one.negated == other.negated
    )
