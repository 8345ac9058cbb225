"""Places that a question names: numbers of parts, quoted titles, documents by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from llama_index_semxpath.node_parser.numbering import split_number
from llama_index_semxpath.node_parser.references import parse_references
from llama_index_semxpath.retrievers.intent import quoted_words
from llama_index_semxpath.retrievers.reading import build
from llama_index_semxpath.retrievers.reading.vocabulary import Titled, Vocabulary, fold, title_words
from llama_index_semxpath.xpath import ast

_NAMED = re.compile(
    r"\b(?:the|our|in|of)\s+((?:[\w'-]+\s+){1,5}?)(guide|manual|chapter|section|appendix|handbook|policy|"
    r"page|glossary|faq|document|readme|changelog|contract|report|tutorial|reference)\b",
    re.IGNORECASE,
)
_GENERIC_WORDS = """
guide manual chapter section appendix handbook page document part
"""
#: Words that name a kind of place rather than one place.
_GENERIC = frozenset(_GENERIC_WORDS.split())
#: Different spellings of one place that a query names at most.
_MOST_SPELLINGS = 20


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a document that the question names.

    Args:
        said: The words of the question.
        start: Where they begin in the question.
        end: Where they end.
        condition: Test of the nodes meant; ``None`` when the corpus has no such place.
        rows: Rows of the nodes meant.
        kind: Their kind, ``*`` when they differ.
    """

    said: str
    start: int
    end: int
    condition: ast.Expr | None
    rows: frozenset[int]
    kind: str = "*"


def find_places(question: str, vocabulary: Vocabulary, *, titles: bool = False) -> list[Place]:
    """All places that a question names, in the order said.

    Args:
        question: What is asked.
        vocabulary: Names of the tree that is asked.
        titles: Whether a title counts that the question says without any sign that it is one.

    Returns:
        Places; one that the tree does not hold has no condition.
    """
    found = list(_numbers(question, vocabulary))
    taken = [(place.start, place.end) for place in found]
    said = _verbatim(fold(question), question, vocabulary) if titles or found else ()
    for place in (*_quoted(question, vocabulary), *_named(question, vocabulary), *said):
        if not any(place.start < end and start < place.end for start, end in taken):
            found.append(place)
            taken.append((place.start, place.end))
    return sorted(found, key=lambda place: place.start)


def _numbers(question: str, vocabulary: Vocabulary) -> Iterable[Place]:
    for reference in parse_references(question):
        hits = [
            (row, written)
            for row, written in vocabulary.numbered.get(reference.n, [])
            if reference.matches(written)
        ]
        rows = frozenset(row for row, _ in hits)
        written = list(dict.fromkeys(text for _, text in hits))
        condition = build.equals("number", written[:_MOST_SPELLINGS]) if written else None
        yield Place(
            reference.text,
            reference.start,
            reference.end,
            condition,
            rows,
            _common_kind(rows, vocabulary),
        )


def _quoted(question: str, vocabulary: Vocabulary) -> Iterable[Place]:
    for said in quoted_words(question):
        start = question.find(said)
        titled = _by_title(said, vocabulary, exact=True)
        if titled:
            yield _titled(said, start, start + len(said), titled)


def _named(question: str, vocabulary: Vocabulary) -> Iterable[Place]:
    """“the install guide”, and any title of two words or more that the question says."""
    for match in _NAMED.finditer(question):
        said = f"{match.group(1)}{match.group(2)}"
        titled = _by_title(said, vocabulary)
        if titled:
            yield _titled(said, match.start(1), match.end(2), titled)


def _verbatim(folded: str, question: str, vocabulary: Vocabulary) -> Iterable[Place]:
    if len(folded) != len(question):
        return
    spoken: dict[str, list[Titled]] = {}
    for titled in vocabulary.titles:
        number = split_number(titled.title)
        name = fold(number.rest if number is not None and number.rest else titled.title)
        if len(titled.words) >= 2 and name in folded:
            spoken.setdefault(name, []).append(titled)
    for name, same in sorted(spoken.items(), key=lambda item: -len(item[0])):
        start = folded.find(name)
        yield _titled(question[start : start + len(name)], start, start + len(name), same)


def _by_title(said: str, vocabulary: Vocabulary, *, exact: bool = False) -> list[Titled]:
    """Titles that hold the words said, those with the most of them and the fewest others."""
    asked = set(title_words(said))
    specific = asked - _GENERIC
    if not specific:
        return []
    best: list[Titled] = []
    least = (2, 2 if exact else 4)
    for titled in vocabulary.titles:
        if not all(_holds(titled, word) for word in specific):
            continue
        held = sum(_holds(titled, word) for word in asked)
        rank = (len(asked) - held, len(titled.words) - held)
        if rank < least:
            best, least = [], rank
        if rank == least:
            best.append(titled)
    return best


def _holds(titled: Titled, word: str) -> bool:
    """Whether a title has a word, or one that begins alike ("install", "installation")."""
    if word in titled.words:
        return True
    return len(word) >= 5 and any(other.startswith(word) for other in titled.words)


def _titled(said: str, start: int, end: int, titled: Sequence[Titled]) -> Place:
    titles = list(dict.fromkeys(one.title for one in titled))
    kinds = {one.kind for one in titled}
    return Place(
        said,
        start,
        end,
        build.equals("title", titles[:_MOST_SPELLINGS]),
        frozenset(one.row for one in titled),
        kinds.pop() if len(kinds) == 1 else "*",
    )


def _common_kind(rows: frozenset[int], vocabulary: Vocabulary) -> str:
    kinds = {vocabulary.table.kind_name(row) for row in rows}
    return kinds.pop() if len(kinds) == 1 else "*"
