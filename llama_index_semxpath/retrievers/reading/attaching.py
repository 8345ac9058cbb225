"""What stands beside the things of a question (fields, hours, neighbours, bounds), put to them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from llama_index_semxpath.retrievers.reading import build
from llama_index_semxpath.retrievers.reading.fields import field_for
from llama_index_semxpath.retrievers.reading.lexicon import NONE_OF
from llama_index_semxpath.retrievers.reading.nouns import SIDES, Noun, word_runs
from llama_index_semxpath.retrievers.reading.scan import Mark
from llama_index_semxpath.retrievers.reading.times import MEALS, begins_within, find_hours
from llama_index_semxpath.retrievers.reading.vocabulary import Vocabulary
from llama_index_semxpath.xpath import ast

_AT_ONCE = re.compile(r"\b(?:right|just|immediately|directly|next)\b|紧接|紧挨", re.IGNORECASE)


def shift_of(question: str, marks: Sequence[Mark]) -> int:
    """“right before X” asks for the sibling before, “what comes after X” for the one after.

    Where things are asked for by name ("tasks before X") all of them on that side are meant.
    """
    things = any(mark.type in ("kind", "thing") for mark in marks)
    if things and not _AT_ONCE.search(question):
        return 0
    for at, mark in enumerate(marks[:-1]):
        if mark.type in ("before", "after") and marks[at + 1].type == "value":
            return -1 if mark.type == "before" else 1
    return 0


def attach_fields(
    marks: Sequence[Mark], nouns: Sequence[Noun], target: Noun, vocabulary: Vocabulary
) -> None:
    """“tasks with a note”, “without a note”: the field is there, or not."""
    for at, mark in enumerate(marks):
        before = marks[at - 1] if at else None
        after = marks[at + 1].type if at + 1 < len(marks) else "stop"
        if mark.type != "field" or before is None or after in ("value", "bound", "not", "in"):
            continue
        known = vocabulary.fields[mark.payload]
        holder = next(
            (one for one in (target, *nouns) if one.kind in known.kinds or one.kind == "*"),
            None,
        )
        if holder is None:
            continue
        if before.type == "have":
            holder.tests.append(build.attribute(mark.payload))
        elif before.type == "not" and before.payload in NONE_OF:
            holder.tests.append(build.negated(build.attribute(mark.payload)))


def without_hours(question: str, marks: list[Mark]) -> list[Mark]:
    """Marks but for those of times of day."""
    spans = [(one.start, one.stop) for one in find_hours(question)]
    return [
        mark
        for mark in marks
        if mark.type in ("kind", "value")
        or not any(start < mark.end and mark.start < stop for start, stop in spans)
    ]


def join_names(marks: list[Mark], vocabulary: Vocabulary) -> list[Mark]:
    """Words after “before”, “after” or “between” that are a part of one name, as that name."""
    found = list(marks)
    for start, end in reversed(word_runs(marks)):
        before = marks[start - 1].type if start else "stop"
        text = " ".join(mark.payload for mark in marks[start:end])
        proper = end - start > 1 or text[:1].isupper() or not text.isascii()
        if before in ("before", "after", "between", "and") and proper:
            values = vocabulary.holding(text)
            if values:
                found[start:end] = [Mark("value", values, marks[start].start, marks[end - 1].end)]
    return found


def attach_hours(question: str, marks: Sequence[Mark], target: Noun, times: Sequence[str]) -> bool:
    """Times of day as a condition; a meal has its hour where no record speaks of it.

    Args:
        question: What is asked.
        marks: Its marks.
        target: The thing that is asked for.
        times: Fields that begin with a time of day.

    Returns:
        Whether the question says when.
    """
    if not times:
        return False
    # “Night” in the name of a show is no time of day.
    names = [(mark.start, mark.end) for mark in marks if mark.type == "value"]
    found = [
        one
        for one in find_hours(question)
        if not any(start <= one.start < end for start, end in names)
    ]
    for one in found:
        target.tests.append(begins_within(times, one.first, one.end))
    for at, (axis, test) in enumerate(target.sides):
        meal = next((hours for name, hours in MEALS.items() if _says(test, name)), None)
        if meal is not None:
            first, end = (0, meal[0]) if axis == "following-sibling" else (meal[1], 24)
            clock = begins_within(times, first, end)
            other = build.beside(axis, test)
            target.tests.append(ast.Binary("or", other, clock))
            del target.sides[at]
            break
    return bool(found or target.tests)


def _says(test: ast.Expr, word: str) -> bool:
    """Whether a test by meaning is about a word."""
    return (
        isinstance(test, ast.Binary)
        and isinstance(test.right, ast.Str)
        and (word in test.right.value.casefold())
    )


def attach_sides(marks: Sequence[Mark], nouns: list[Noun], target: Noun, shift: int) -> None:
    """“between A and B”, “tasks that come before A”: siblings on one side or both."""
    for at, mark in enumerate(marks):
        beside = [
            (place, one) for place, one in enumerate(marks[at + 1 :], at + 1) if one.type == "value"
        ]
        if mark.type == "between" and len(beside) >= 2:
            axes: tuple[ast.Axis, ...] = ("preceding-sibling", "following-sibling")
            for axis, (place, one) in zip(axes, beside[:2], strict=True):
                _stand(axis, place, one, nouns, target)
        elif mark.type in SIDES and beside and beside[0][0] == at + 1 and not shift:
            _stand(SIDES[mark.type], *beside[0], nouns, target)


def _stand(axis: ast.Axis, at: int, mark: Mark, nouns: list[Noun], target: Noun) -> None:
    """A value names a sibling, not the thing that is asked for."""
    values = mark.payload
    name = values[0].attribute
    wanted = [one.value for one in values if one.attribute == name]
    target.sides.append((axis, build.equals(name, wanted)))
    for noun in (*nouns, target):
        for test in noun.values:
            if test.attribute == name:
                test.values = [value for value in test.values if value not in wanted]
        noun.values = [test for test in noun.values if test.values]
    for noun in [one for one in nouns if one.implied and not one.values and one is not target]:
        nouns.remove(noun)


def attach_bounds(
    question: str,
    marks: Sequence[Mark],
    nouns: Sequence[Noun],
    target: Noun,
    vocabulary: Vocabulary,
) -> None:
    """Bounds, each to the first thing that has a field for it."""
    for mark in marks:
        if mark.type != "bound":
            continue
        for noun in (target, *nouns):
            field = field_for(noun.kind, question, mark, vocabulary)
            if field is not None:
                noun.bounds.append((field[0], mark))
                break
