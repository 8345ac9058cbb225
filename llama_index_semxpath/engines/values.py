"""The values of expressions for many contexts at once, and XPath's conversions between them.

An array of length 1 stands for the same value in every context.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from llama_index_semxpath.engines.result import Group
from llama_index_semxpath.engines.sets import Longs, NodeSet, ValueSet, group_starts
from llama_index_semxpath.engines.wording import string_values
from llama_index_semxpath.tree.columns import (
    Column,
    Floats,
    Mask,
    Rows,
    ValueType,
    epoch,
    from_epoch,
    number_text,
    value_text,
)
from llama_index_semxpath.tree.table import TreeTable

_NUMBER = re.compile(r"[ \t\r\n]*-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[ \t\r\n]*\Z")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?\Z", re.ASCII)


@dataclass(slots=True)
class Numbers:
    """A number in each context."""

    values: Floats


@dataclass(slots=True)
class Booleans:
    """A truth value in each context."""

    values: Mask


@dataclass(slots=True)
class Scores:
    """A grade in [0, 1] in each context."""

    values: Floats


@dataclass(slots=True)
class Strings:
    """A string in each context, as an index into distinct strings."""

    codes: Rows
    vocab: Sequence[str]

    def map(self, function: Callable[[str], Any], dtype: Any) -> np.ndarray[Any, Any]:
        """A function of each string, computed once a distinct string."""
        table = np.empty(len(self.vocab), dtype=dtype)
        # Sorting many codes to find the few in use costs more than asking about every string.
        few = len(self.vocab) <= len(self.codes)
        used = range(len(self.vocab)) if few else np.unique(self.codes).tolist()
        for code in used:
            table[code] = function(self.vocab[code])
        return table[self.codes]

    def texts(self) -> list[str]:
        """The strings."""
        return [self.vocab[code] for code in self.codes.tolist()]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Strings:
        """Strings as given, one a context."""
        return cls(np.arange(len(texts), dtype=np.int32), texts)


@dataclass(slots=True)
class Dates:
    """A moment in each context, in epoch seconds; ``date_only`` when it is a day."""

    values: Floats
    date_only: bool


@dataclass(slots=True)
class Period:
    """A length of time, the same in every context."""

    amount: float
    unit: str


@dataclass(slots=True)
class Listed:
    """Several values, of which any may fit (the right side of ``in``, a bound list)."""

    values: list[Value]


@dataclass(slots=True)
class Groups:
    """The rows of ``group()``."""

    groups: list[Group]


Scalar = Numbers | Booleans | Scores | Strings | Dates
Value = Scalar | Period | Listed | Groups | NodeSet | ValueSet


def constant(value: Any) -> Value:
    """A Python value as the same value in every context."""
    if isinstance(value, bool | np.bool_):
        return Booleans(np.array([bool(value)]))
    if isinstance(value, int | float | np.integer | np.floating):
        return Numbers(np.array([_float(value)]))
    if isinstance(value, str):
        return Strings.of([value])
    if isinstance(value, dt.datetime):
        return Dates(np.array([epoch(value)]), date_only=False)
    if isinstance(value, dt.date):
        return Dates(np.array([epoch(value)]), date_only=True)
    return Listed([constant(item) for item in value])


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def parse_number(text: str) -> float:
    """XPath's ``number("…")``: NaN for anything that is not a plain decimal.

    Example:
        >>> parse_number(" -3.5 "), parse_number("1e3"), parse_number("")
        (-3.5, nan, nan)
    """
    return float(text) if _NUMBER.match(text) else float("nan")


def parse_date(text: str) -> float:
    """Epoch seconds of an ISO 8601 date or time, NaN for other text.

    Example:
        >>> parse_date("1970-01-02"), parse_date("1970-01-01T00:01:00Z"), parse_date("soon")
        (86400.0, 60.0, nan)
    """
    text = text.strip()
    if not _DATE.match(text):
        return float("nan")
    try:
        if len(text) == 10:
            return epoch(dt.date.fromisoformat(text))
        return epoch(dt.datetime.fromisoformat(text))
    except ValueError:
        return float("nan")


# -- sets to scalars --------------------------------------------------------------------------


def first_places(found: NodeSet | ValueSet, count: int) -> Longs:
    """Place of the first entry of each context, -1 for a context without."""
    if found.owner is None:
        return np.array([0 if len(found.rows) else -1])
    places = np.full(count, -1, dtype=np.int64)
    starts = group_starts(found.owner)
    places[found.owner[starts]] = starts
    return places


def exists(found: NodeSet | ValueSet, count: int) -> Mask:
    """Whether each context has an entry."""
    if found.owner is None:
        return np.array([len(found.rows) > 0])
    mask = np.zeros(count, dtype=np.bool_)
    mask[found.owner] = True
    return mask


def counts(found: NodeSet | ValueSet, count: int) -> Floats:
    """Entries of each context."""
    if found.owner is None:
        return np.array([float(len(found.rows))])
    return np.bincount(found.owner, minlength=count).astype(np.float64)


def to_booleans(table: TreeTable, value: Value, count: int) -> Mask:
    """XPath's ``boolean()``."""
    if isinstance(value, NodeSet | ValueSet):
        return exists(value, count)
    if isinstance(value, Booleans):
        return value.values
    if isinstance(value, Strings):
        mask: Mask = value.map(bool, np.bool_)
        return mask
    if isinstance(value, Dates):
        return ~np.isnan(value.values)
    if isinstance(value, Numbers | Scores):
        nonzero: Mask = (value.values != 0) & ~np.isnan(value.values)
        return nonzero
    if isinstance(value, Listed):
        return np.array([bool(value.values)])
    return np.array([True])


def to_numbers(table: TreeTable, value: Value, count: int) -> Floats:
    """XPath's ``number()``; a date is its epoch seconds."""
    if isinstance(value, Numbers | Scores | Dates):
        return value.values
    if isinstance(value, Booleans):
        return value.values.astype(np.float64)
    if isinstance(value, Strings):
        numbers: Floats = value.map(parse_number, np.float64)
        return numbers
    if isinstance(value, NodeSet | ValueSet):
        places = first_places(value, count)
        found = np.full(len(places), np.nan)
        some = places >= 0
        found[some] = item_numbers(table, value, places[some])
        return found
    return np.array([np.nan])


def to_strings(table: TreeTable, value: Value, count: int) -> Strings:
    """XPath's ``string()``."""
    if isinstance(value, Strings):
        return value
    if isinstance(value, Booleans):
        return Strings(value.values.astype(np.int32), ["false", "true"])
    if isinstance(value, Numbers | Scores):
        distinct, codes = np.unique(value.values, return_inverse=True)
        return Strings(codes.astype(np.int32), [number_text(number) for number in distinct])
    if isinstance(value, Dates):
        return Strings.of([date_text(number, value.date_only) for number in value.values])
    if isinstance(value, NodeSet | ValueSet):
        places = first_places(value, count)
        some = places >= 0
        strings = item_strings(table, value, places[some])
        numbered: Rows = np.full(len(places), len(strings.vocab), dtype=np.int32)
        numbered[some] = strings.codes
        return Strings(numbered, [*strings.vocab, ""])
    if isinstance(value, Listed):
        texts = [to_strings(table, item, 1).texts()[0] for item in value.values]
        return Strings.of([" ".join(texts)])
    return Strings.of([""])


def date_text(seconds: float, date_only: bool) -> str:
    """ISO 8601 text of epoch seconds, empty for NaN and for moments outside the calendar."""
    try:
        return "" if np.isnan(seconds) else from_epoch(seconds, date_only=date_only).isoformat()
    except OverflowError:
        return ""


# -- entries of sets --------------------------------------------------------------------------


def item_strings(table: TreeTable, found: NodeSet | ValueSet, places: Longs) -> Strings:
    """String value of the entries at ``places``."""
    rows = found.rows[places]
    if isinstance(found, NodeSet):
        distinct, codes = np.unique(rows, return_inverse=True)
        return Strings(codes.astype(np.int32), string_values(table, distinct))
    if found.which is None:
        return column_strings(table, found.columns[0], rows)
    texts = np.empty(len(places), dtype=object)
    which = found.which[places]
    for index, column in enumerate(found.columns):
        mine = np.flatnonzero(which == index)
        if len(mine):
            texts[mine] = np.array(column_strings(table, column, rows[mine]).texts(), dtype=object)
    return Strings.of(texts.tolist())


def column_strings(table: TreeTable, column: Column | None, rows: Rows) -> Strings:
    """String value of an attribute (``None``: the own text) at rows that have it."""
    if column is None:
        distinct, codes = np.unique(rows, return_inverse=True)
        return Strings(codes.astype(np.int32), table.texts(distinct))
    places = column.slots(len(table))[rows]
    if column.uniform == ValueType.STRING:
        return Strings(column.codes[places], column.vocab)
    if column.uniform == ValueType.NUMBER and not column.exact:
        return to_strings(table, Numbers(column.numbers[places]), len(rows))
    distinct, codes = np.unique(places, return_inverse=True)
    texts = [value_text(column.value(place)) for place in distinct.tolist()]
    return Strings(codes.astype(np.int32), texts)


def item_numbers(table: TreeTable, found: NodeSet | ValueSet, places: Longs) -> Floats:
    """Number value of the entries at ``places``."""
    if isinstance(found, NodeSet):
        return to_numbers(table, item_strings(table, found, places), len(places))
    numbers = np.empty(len(places))
    rows = found.rows[places]
    which = np.zeros(len(places), np.int32) if found.which is None else found.which[places]
    for index, column in enumerate(found.columns):
        mine = which == index
        if mine.any():
            numbers[mine] = column_numbers(table, column, rows[mine])
    return numbers


def column_numbers(table: TreeTable, column: Column | None, rows: Rows) -> Floats:
    """Number value of an attribute (``None``: the own text) at rows that have it."""
    if column is None or not len(column.numbers):
        return to_numbers(table, column_strings(table, column, rows), len(rows))
    places = column.slots(len(table))[rows]
    numbers = column.numbers[places].copy()
    coded = np.isin(column.types[places], (ValueType.STRING, ValueType.STRINGS))
    if coded.any():
        numbers[coded] = to_numbers(table, column_strings(table, column, rows[coded]), 0)
    return numbers
