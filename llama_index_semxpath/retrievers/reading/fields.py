"""Conditions on table rows and documents: "contracts over 100,000 approved by Wang Min"."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from llama_index_semxpath.retrievers.reading.nouns import ValueTest
from llama_index_semxpath.retrievers.reading.scan import Mark
from llama_index_semxpath.retrievers.reading.vocabulary import FieldValue, Vocabulary, spoken
from llama_index_semxpath.retrievers.words import is_cjk, search_words
from llama_index_semxpath.tree.columns import ValueType
from llama_index_semxpath.tree.table import TreeTable

#: How far from a value or bound a field's name may stand, in characters.
_NEAR = 40
_KINDS = ("Row", "Document", "Section", "Paragraph")
#: A part of a name that more values have names none of them.
_MOST_PARTIAL = 3
_TYPES = {True: (ValueType.DATE, ValueType.DATETIME), False: (ValueType.NUMBER,)}


@dataclass(slots=True)
class FieldConditions:
    """What a question demands of nodes of one kind.

    Args:
        kind: The kind.
        values: Values that fields must have.
        bounds: Field and mark of each bound.
        named: How many of the conditions name their field.
        said: Titles, captions and columns around the nodes that fit.
    """

    kind: str
    values: list[ValueTest]
    bounds: list[tuple[str, Mark]]
    named: int = 0
    said: tuple[str, ...] = ()

    @property
    def strength(self) -> int:
        """Conditions, those that name their field counted twice."""
        return len(self.values) + len(self.bounds) + self.named


def field_conditions(
    question: str, marks: Sequence[Mark], vocabulary: Vocabulary
) -> FieldConditions | None:
    """The kind of document part that the question's values and bounds fit best.

    Returns:
        ``None`` where they are too few to be meant as conditions: one value alone is a word.
    """
    kinds = {kind for field in vocabulary.fields.values() for kind in field.kinds if kind in _KINDS}
    found = [_conditions(question, marks, vocabulary, kind) for kind in sorted(kinds)]
    fitting = [one for one in found if one.strength >= 2 and _rows(one, vocabulary)]
    best = max(fitting, key=lambda one: one.strength, default=None)
    if best is not None:
        table = vocabulary.table
        around = {int(table.parent[row]) for row in _rows(best, vocabulary)[:200]}
        best.said = tuple(said for row in around for said in _said_around(table, row))
    return best


def field_for(
    kind: str, question: str, mark: Mark, vocabulary: Vocabulary, rows: Sequence[int] | None = None
) -> tuple[str, bool] | None:
    """The field that a bound speaks of, and whether the question names it.

    A field named near the bound decides; else the only one of its type; else, among those that the
    given rows have, the one whose values are of the bound's magnitude.
    """
    dated = not isinstance(mark.payload.value, int | float)
    fields = [
        name
        for name, known in vocabulary.fields.items()
        if known.type in _TYPES[dated] and (kind in known.kinds or kind == "*")
    ]
    near = question[max(0, mark.start - _NEAR) : mark.end + _NEAR].casefold()
    scored = max(((likeness(name, near), name) for name in fields), default=(0, ""))
    if scored[0]:
        return scored[1], True
    if len(fields) == 1:
        return fields[0], False
    if rows is None or dated:
        return None
    close = [(_distance(name, mark.payload.value, vocabulary, rows), name) for name in fields]
    best = min(close, default=(math.inf, ""))
    return (best[1], False) if best[0] < math.inf else None


def likeness(name: str, text: str) -> int:
    """How much of a field's name stands in a text: whole words, or pairs of Chinese characters.

    Example:
        >>> likeness("生效日期", "2024年之后生效"), likeness("approved_by", "approved by wang")
        (1, 1)
    """
    if is_cjk(name):
        return sum(name[at : at + 2] in text for at in range(len(name) - 1))
    said = set("".join(char if char.isalpha() else " " for char in text).split())
    long = [word for word in spoken(name).split() if len(word) > 3]
    return sum(any(word[:5] == other[:5] for other in said if len(other) > 3) for word in long)


def _conditions(
    question: str, marks: Sequence[Mark], vocabulary: Vocabulary, kind: str
) -> FieldConditions:
    found = FieldConditions(kind, [], [])
    for mark in marks:
        if mark.type != "value":
            continue
        readings: list[FieldValue] = [one for one in mark.payload if kind in one.kinds]
        if not readings:
            continue
        near = question[max(0, mark.start - _NEAR) : mark.end + _NEAR].casefold()
        best = max(readings, key=lambda one: likeness(one.attribute, near))
        found.named += bool(likeness(best.attribute, near))
        values = [one.value for one in readings if one.attribute == best.attribute]
        found.values.append(ValueTest(best.attribute, list(dict.fromkeys(values))))
    found.values.extend(_partial(question, marks, vocabulary, kind))
    rows = _rows(found, vocabulary) if found.values else _of_tables(question, vocabulary, kind)
    for mark in marks:
        if mark.type == "bound":
            field = field_for(kind, question, mark, vocabulary, rows)
            if field is not None:
                found.bounds.append((field[0], mark))
                # A table that the question names ("contracts over …") makes a bound a condition.
                found.named += field[1] or (not found.values and bool(rows))
    return found


def _partial(
    question: str, marks: Sequence[Mark], vocabulary: Vocabulary, kind: str
) -> list[ValueTest]:
    """“approved by Wang”: a name said in part, right after the name of its field."""
    tests = []
    for mark in marks:
        if mark.type != "word" or not str(mark.payload)[:1].isupper():
            continue
        before = question[max(0, mark.start - 20) : mark.start].casefold()
        for name, field in vocabulary.fields.items():
            column = vocabulary.table.attribute(name)
            if kind not in field.kinds or column is None or not likeness(name, before):
                continue
            word = re.compile(rf"(?<!\w){re.escape(str(mark.payload))}(?!\w)", re.IGNORECASE)
            values = [value for value in column.vocab if word.search(value)]
            if 0 < len(values) <= _MOST_PARTIAL:
                tests.append(ValueTest(name, values))
                break
    return tests


def _of_tables(question: str, vocabulary: Vocabulary, kind: str) -> list[int]:
    """Rows of the tables whose columns or headings the question names."""
    if kind != "Row":
        return []
    table = vocabulary.table
    asked = set(search_words(question))
    rows = []
    named: dict[int, bool] = {}
    for row in table.rows_of(kind).tolist():
        parent = int(table.parent[row])
        if parent not in named:
            named[parent] = bool(asked & set(search_words(*_said_around(table, parent))))
        if named[parent]:
            rows.append(row)
    return rows


def _said_around(table: TreeTable, row: int) -> list[str]:
    """Columns, caption and title of a table, a section or a document, and titles above it."""
    said = _columns(table, row)
    for name in ("caption", "title"):
        column = table.attribute(name)
        at = row
        while column is not None and at > 0:
            slot = int(column.slots(len(table))[at])
            said += [column.text(slot)] if slot >= 0 else []
            at = int(table.parent[at])
    return said


def _columns(table: TreeTable, row: int) -> list[str]:
    column = table.attribute("columns")
    slot = -1 if column is None else int(column.slots(len(table))[row])
    value = column.value(slot) if column is not None and slot >= 0 else []
    return [str(name) for name in value] if isinstance(value, list) else []


def _rows(found: FieldConditions, vocabulary: Vocabulary) -> list[int]:
    """Rows of the kind that have all the values, and the fields of all bounds."""
    table = vocabulary.table
    kept = set(table.rows_of(found.kind).tolist())
    for name, _ in found.bounds:
        bounded = table.attribute(name)
        kept &= set() if bounded is None else set(bounded.rows.tolist())
    for test in found.values:
        column = table.attribute(test.attribute)
        if column is None:
            return []
        codes = [code for code, value in enumerate(column.vocab) if value in test.values]
        holding = set(column.rows[np.isin(column.codes, codes)].tolist()) if codes else set()
        kept &= holding
    return sorted(kept)


def _distance(name: str, value: float, vocabulary: Vocabulary, rows: Sequence[int]) -> float:
    """How far the values of a field are from a bound, in powers of ten."""
    column = vocabulary.table.attribute(name)
    if column is None or not len(rows):
        return math.inf
    slots = column.slots(len(vocabulary.table))[list(rows)]
    numbers = np.abs(column.numbers[slots[slots >= 0]]) if len(column.numbers) else np.empty(0)
    if not len(numbers):
        return math.inf
    return abs(math.log10(float(np.median(numbers)) + 1.0) - math.log10(abs(value) + 1.0))
