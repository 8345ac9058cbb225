"""What reading a question gives."""

from __future__ import annotations

import re
from dataclasses import dataclass

from llama_index_semxpath.retrievers.words import content_words

#: Questions that want a number of things.
COUNT = re.compile(
    r"\bhow\s+many\b|\b(?:the\s+)?number\s+of\b|\bcount\b|多少(?:个|条|份|项|次|种|人)|有几|几个",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A question as a query.

    Args:
        query: SemXPath text.
        reasons: What was read, in plain words.
        topic: Words of the question that the query says nothing about.
        places: Whether the query rests on places that the question names.
        titled: Whether these are titles that it says without any sign that they are places.
        graded: Whether a part of the query is decided by meaning.
        records: Whether it rests on kinds, fields and values, so that an empty result is an answer.
        counts: Whether the question asks how many there are.
        notes: What a person should know of the reading.
        wider: A query for the looser sense of a word, and what it takes it for.
    """

    query: str
    reasons: tuple[str, ...]
    topic: tuple[str, ...] = ()
    places: bool = False
    titled: bool = False
    graded: bool = False
    records: bool = False
    counts: bool = False
    notes: tuple[str, ...] = ()
    wider: tuple[str, str] | None = None


_SAID_OF_PLACES_WORDS = """
say says said about content contents read text 说
说了 内容 规定 讲 写 写了 包括 section chapter article mean
cover covers state states provide provides 哪里
怎么说 说什么 讲什么 是什么 具体
"""
#: What is said of a place that asks for nothing more than the place.
_SAID_OF_PLACES = frozenset(_SAID_OF_PLACES_WORDS.split())


def topic_words(rest: str) -> list[str]:
    """Words left over in a question that say more than that a place is asked for.

    Args:
        rest: The question without what was read.
    """
    return [word for word in content_words(rest) if word not in _SAID_OF_PLACES]
