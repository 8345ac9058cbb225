"""A question that states conditions on table rows or documents, as a path to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from llama_index_semxpath.retrievers.reading import build
from llama_index_semxpath.retrievers.reading.conditions import conditions
from llama_index_semxpath.retrievers.reading.fields import FieldConditions, field_conditions
from llama_index_semxpath.retrievers.reading.nouns import Noun
from llama_index_semxpath.retrievers.reading.result import COUNT, Reading, topic_words
from llama_index_semxpath.retrievers.reading.scan import Mark, Scanner
from llama_index_semxpath.retrievers.reading.vocabulary import Vocabulary
from llama_index_semxpath.retrievers.words import search_words
from llama_index_semxpath.xpath import to_text


def read_fields(question: str, scanner: Scanner) -> Reading | None:
    """Conditions on table rows or documents, where the question states enough of them.

    Args:
        question: What is asked.
        scanner: Marks the question.
    """
    vocabulary = scanner.vocabulary
    marks = scanner.marks(question)
    found = field_conditions(question, marks, vocabulary)
    if found is None:
        return None
    topic = _left_over(question, marks, found)
    if topic and found.kind != "Row":
        # Values that name a document beside a question about something in it.
        return None
    noun = Noun(found.kind, 0, values=found.values, bounds=found.bounds)
    query = to_text(build.path(build.descend(found.kind, *conditions(noun, vocabulary))))
    said = [f"{test.attribute} = {test.values[0]}" for test in found.values]
    said += [f"{name} {mark.payload.op} {mark.payload.value}" for name, mark in found.bounds]
    return Reading(
        query,
        (f"it asks for a {found.kind} with {', '.join(said)}",),
        topic,
        counts=COUNT.search(question) is not None,
        wider=_from_then_on(noun, vocabulary),
    )


def _left_over(question: str, marks: Sequence[Mark], found: FieldConditions) -> tuple[str, ...]:
    """Words of the question that are no value, bound, field or name of a table."""
    rest = question
    for mark in marks:
        if mark.type in ("value", "bound", "field", "count", "wh"):
            rest = f"{rest[: mark.start]}{' ' * (mark.end - mark.start)}{rest[mark.end :]}"
    said = [test.attribute for test in found.values] + [name for name, _ in found.bounds]
    known = search_words(*said, *found.said)
    for test in found.values:
        known.update(search_words(*test.values))
    left = (word for word in topic_words(rest) if not search_words(word).keys() & known.keys())
    return tuple(word for word in left if len(word) > 1)


def _from_then_on(noun: Noun, vocabulary: Vocabulary) -> tuple[str, str] | None:
    """“After 2024” may mean from 2024 on: tried where nothing is later."""
    loose = [
        (name, Mark(mark.type, mark.payload.from_then_on(), mark.start, mark.end))
        for name, mark in noun.bounds
    ]
    if [mark.payload for _, mark in loose] == [mark.payload for _, mark in noun.bounds]:
        return None
    other = replace(noun, bounds=loose)
    query = to_text(build.path(build.descend(noun.kind, *conditions(other, vocabulary))))
    return query, "nothing is later than that period; from its first day on"
