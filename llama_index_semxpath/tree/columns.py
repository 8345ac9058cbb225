"""Typed attribute columns: sparse over rows, one type tag a value, strings dictionary-encoded."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from llama_index_semxpath.errors import AttributeValueError
from llama_index_semxpath.text import nfc
from llama_index_semxpath.tree.node import Value

Rows = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EXACT = 2**53
#: Up to so many runs, copying them one by one beats a mask over all values.
_FEW_RUNS = 64
_NO_ROWS: Rows = np.empty(0, dtype=np.int32)


class ValueType(IntEnum):
    """Type of one attribute value."""

    STRING = 0
    NUMBER = 1
    BOOLEAN = 2
    DATE = 3
    DATETIME = 4
    STRINGS = 5


# Plain numbers: to look a member of an enumeration up costs more than to read a value.
_STRING, _, _BOOLEAN, _DATE, _DATETIME, _STRINGS = map(int, ValueType)


def epoch(value: dt.date) -> float:
    """Seconds since 1970-01-01 UTC; a date is its midnight, a naive time is read as UTC.

    Example:
        >>> epoch(dt.date(1970, 1, 2))
        86400.0
    """
    if not isinstance(value, dt.datetime):
        return (value.toordinal() - 719163) * 86400.0
    if value.tzinfo is None:
        value = value.replace(tzinfo=dt.UTC)
    return (value - _EPOCH) / dt.timedelta(seconds=1)


def from_epoch(seconds: float, *, date_only: bool) -> dt.date:
    """The inverse of :func:`epoch`; times come back in UTC."""
    value = _EPOCH + dt.timedelta(seconds=seconds)
    return value.date() if date_only else value


def number_text(value: float) -> str:
    """A number as XPath 1.0 prints it: no exponent, no trailing zeros.

    Example:
        >>> number_text(3.0), number_text(-0.0), number_text(1e21), number_text(0.1)
        ('3', '0', '1000000000000000000000', '0.1')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == int(value):
        return str(int(value))
    text = repr(float(value))
    if "e" in text:
        text = np.format_float_positional(value, trim="-")
    return text


class Column:
    """The values of one attribute: parallel arrays over the rows that have it.

    Args:
        name: Attribute name without ``@``.
        rows: Rows that have the attribute, ascending.
        types: :class:`ValueType` of each value.
        numbers: NUMBER, BOOLEAN (0 or 1), DATE and DATETIME (epoch seconds); empty when no value is
            of these types.
        codes: Index into ``vocab`` for a STRING, into the lists for STRINGS; empty when none is.
        vocab: The distinct strings.
        list_ends: End of each list in ``list_codes``.
        list_codes: Members of the lists, as indexes into ``vocab``.
        exact: Integers beyond 2**53 by place in ``rows``: they compare as floats, print exactly.

    Example:
        >>> column = Column.from_values("level", [1, 4], [2, "x"])
        >>> column.value(0), column.value(1)
        (2, 'x')
    """

    __slots__ = (
        "_code_of",
        "_nfc",
        "_slots",
        "about",
        "codes",
        "exact",
        "list_codes",
        "list_ends",
        "name",
        "numbers",
        "rows",
        "types",
        "vocab",
    )

    def __init__(
        self,
        name: str,
        rows: Rows,
        types: npt.NDArray[np.uint8],
        numbers: Floats,
        codes: Rows,
        vocab: list[str],
        list_ends: Rows = _NO_ROWS,
        list_codes: Rows = _NO_ROWS,
        exact: dict[int, int] | None = None,
    ) -> None:
        self.name = name
        self.rows = rows
        self.types = types
        self.numbers = numbers
        self.codes = codes
        self.vocab = vocab
        self.list_ends = list_ends
        self.list_codes = list_codes
        self.exact = exact or {}
        self._slots: Rows | None = None
        self._nfc: list[str] | None = None
        self._code_of: dict[str, int] | None = None
        #: What a schema says of the values, kept by whoever reads it off.
        self.about: Any = None

    @classmethod
    def from_values(cls, name: str, rows: Sequence[int], values: Sequence[Value]) -> Column:
        """A column from Python values.

        Args:
            name: Attribute name.
            rows: Rows, ascending.
            values: One value a row.

        Raises:
            AttributeValueError: A value of a type that an attribute cannot have.
        """
        builder = _Builder(name)
        for value in values:
            builder.add(value)
        return builder.column(np.asarray(rows, dtype=np.int32))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def uniform(self) -> ValueType | None:
        """The one type of all values, ``None`` when they differ (or there is none)."""
        if not len(self.types):
            return None
        first = self.types[0]
        return ValueType(int(first)) if bool((self.types == first).all()) else None

    def slots(self, size: int) -> Rows:
        """For every row of a table of ``size`` rows: the place of its value here, or -1."""
        if self._slots is None or len(self._slots) != size:
            slots = np.full(size, -1, dtype=np.int32)
            slots[self.rows] = np.arange(len(self.rows), dtype=np.int32)
            self._slots = slots
        return self._slots

    def nfc_vocab(self) -> list[str]:
        """The distinct strings in NFC."""
        if self._nfc is None:
            self._nfc = [nfc(text) for text in self.vocab]
        return self._nfc

    def members(self, place: int) -> list[str]:
        """The strings of a STRINGS value."""
        index = int(self.codes[place])
        start = int(self.list_ends[index - 1]) if index else 0
        return [self.vocab[code] for code in self.list_codes[start : self.list_ends[index]]]

    def value(self, place: int) -> Value:
        """The Python value at a place in ``rows``."""
        kind = int(self.types[place])
        if kind == _STRING:
            text: str = self.vocab[self.codes[place]]
            return text
        if kind == _STRINGS:
            return self.members(place)
        number = float(self.numbers[place])
        if kind == _BOOLEAN:
            return number != 0
        if kind in (_DATE, _DATETIME):
            return from_epoch(number, date_only=kind == _DATE)
        if place in self.exact:
            return self.exact[place]
        return int(number) if number.is_integer() else number

    def text(self, place: int) -> str:
        """The string value: what ``string(@name)`` gives."""
        value = self.value(place)
        if isinstance(value, str):
            return value
        return value_text(value)

    def take(self, keep: Mask, new_rows: Rows) -> Column:
        """The values at ``keep`` (a mask over ``rows``), now standing at ``new_rows``."""
        places = np.flatnonzero(keep)
        exact = {}
        if self.exact:
            moved = {int(place): new for new, place in enumerate(places)}
            exact = {moved[p]: value for p, value in self.exact.items() if p in moved}
        return Column(
            self.name,
            new_rows,
            self.types[places],
            self.numbers[places] if len(self.numbers) else self.numbers,
            self.codes[places] if len(self.codes) else self.codes,
            self.vocab,
            self.list_ends,
            self.list_codes,
            exact,
        )

    def at(self, rows: Rows) -> Column:
        """All the values, now standing at other rows in the same order."""
        column = Column(
            self.name, rows, self.types, self.numbers, self.codes, self.vocab,
            self.list_ends, self.list_codes, self.exact,
        )  # fmt: skip
        # The look-up goes with the newest column of a line: only there does it grow.
        column._code_of, self._code_of = self._code_of, None
        column.about = self.about
        return column

    def merged(self, other: Column) -> Column:
        """The values of this column and those of another, which has none of its rows.

        The cost beyond copies of the arrays depends on the other column only.
        """
        places = np.searchsorted(self.rows, other.rows)
        recode, vocab, code_of = self._recoded_vocab(other.vocab)

        def spliced(own: Any, theirs: Any, fill: float) -> Any:
            if not len(own) and not len(theirs):
                return own
            own = own if len(own) else np.full(len(self), fill, theirs.dtype)
            theirs = theirs if len(theirs) else np.full(len(other), fill, own.dtype)
            return inserted(own, places, theirs)

        shift = np.searchsorted(places, np.arange(len(self)), side="right") if self.exact else ()
        exact = {place + int(shift[place]): value for place, value in self.exact.items()}
        exact.update({int(places[at]) + at: value for at, value in other.exact.items()})
        column = Column(
            self.name,
            inserted(self.rows, places, other.rows),
            inserted(self.types, places, other.types),
            spliced(self.numbers, other.numbers, 0.0),
            spliced(self.codes, _recoded(other, recode, len(self.list_ends)), -1),
            vocab,
            np.concatenate([self.list_ends, other.list_ends + np.int32(len(self.list_codes))]),
            np.concatenate([self.list_codes, recode[other.list_codes]]),
            exact,
        )
        column._code_of = code_of
        return column

    def _recoded_vocab(self, texts: list[str]) -> tuple[Rows, list[str], dict[str, int]]:
        """Codes of the texts in this column's vocabulary, and that with those that are new."""
        code_of, self._code_of = self._code_of, None
        if code_of is None:
            code_of = {text: code for code, text in enumerate(self.vocab)}
        codes = np.array([code_of.setdefault(t, len(code_of)) for t in texts], np.int32)
        new = [t for t, code in zip(texts, codes.tolist(), strict=True) if code >= len(self.vocab)]
        return codes, [*self.vocab, *new] if new else self.vocab, code_of


def inserted(array: Any, places: Any, values: Any) -> Any:
    """:func:`numpy.insert`, by copies of whole runs where there are few of them."""
    if len(places) > _FEW_RUNS:
        return np.insert(array, places, values)
    pieces: list[Any] = []
    start = 0
    for at, place in enumerate(places.tolist()):
        pieces.extend((array[start:place], values[at : at + 1]))
        start = place
    return np.concatenate([*pieces, array[start:]])


def value_text(value: Value) -> str:
    """An attribute value as a string: XPath's for numbers and booleans, ISO 8601 for dates.

    Example:
        >>> value_text(True), value_text(2.50), value_text(["a", "b"])
        ('true', '2.5', 'a b')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number_text(value)
    if isinstance(value, list):
        # As XML Schema writes a list type.
        return " ".join(value)
    return value.isoformat()


def concat_columns(name: str, parts: Iterable[tuple[int, Column]]) -> Column:
    """One column from those of several tables, each with the row where its table now starts."""
    pieces = list(parts)
    if len(pieces) == 1:
        shift, column = pieces[0]
        return column if not shift else column.take(np.ones(len(column), bool), column.rows + shift)
    vocab: dict[str, int] = {}
    any_codes = any(len(column.codes) for _, column in pieces)
    any_numbers = any(len(column.numbers) for _, column in pieces)
    codes, numbers, list_ends, list_codes = [], [], [], []
    exact: dict[int, int] = {}
    lists = members = done = 0
    for _, column in pieces:
        recode = np.array([vocab.setdefault(text, len(vocab)) for text in column.vocab], np.int32)
        if any_codes:
            codes.append(_recoded(column, recode, lists))
        if any_numbers:
            numbers.append(column.numbers if len(column.numbers) else np.zeros(len(column)))
        list_ends.append(column.list_ends + members)
        list_codes.append(recode[column.list_codes] if len(recode) else column.list_codes)
        lists += len(column.list_ends)
        members += len(column.list_codes)
        exact.update({place + done: value for place, value in column.exact.items()})
        done += len(column)
    return Column(
        name,
        np.concatenate([column.rows + np.int32(shift) for shift, column in pieces]),
        np.concatenate([column.types for _, column in pieces]),
        np.concatenate(numbers) if any_numbers else np.empty(0),
        np.concatenate(codes) if any_codes else _NO_ROWS,
        list(vocab),
        np.concatenate(list_ends).astype(np.int32),
        np.concatenate(list_codes).astype(np.int32),
        exact,
    )


def _recoded(column: Column, recode: Rows, lists: int) -> Rows:
    if not len(column.codes):
        return np.full(len(column), -1, dtype=np.int32)
    codes = column.codes.copy()
    strings = column.types == ValueType.STRING
    codes[strings] = recode[codes[strings]]
    codes[column.types == ValueType.STRINGS] += lists
    return codes


class _Builder:
    """Collects Python values into the arrays of a column."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.types: list[int] = []
        self.numbers: list[float] = []
        self.codes: list[int] = []
        self.vocab: dict[str, int] = {}
        self.list_ends: list[int] = []
        self.list_codes: list[int] = []
        self.exact: dict[int, int] = {}

    def add(self, value: Any) -> None:
        kind, number, code = ValueType.NUMBER, 0.0, -1
        if isinstance(value, str):
            kind, code = ValueType.STRING, self._code(value)
        elif isinstance(value, bool | np.bool_):
            kind, number = ValueType.BOOLEAN, float(value)
        elif isinstance(value, int | np.integer):
            number = self._integer(int(value))
        elif isinstance(value, float | np.floating):
            number = float(value)
        elif isinstance(value, dt.datetime):
            kind, number = ValueType.DATETIME, epoch(value)
        elif isinstance(value, dt.date):
            kind, number = ValueType.DATE, epoch(value)
        elif isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            kind, code = ValueType.STRINGS, len(self.list_ends)
            self.list_codes.extend(self._code(item) for item in value)
            self.list_ends.append(len(self.list_codes))
        else:
            raise AttributeValueError(
                f"an attribute cannot hold a {type(value).__name__}",
                where=self.name,
                hint="use a string, number, boolean, date, or a list of strings",
            )
        self.types.append(kind)
        self.numbers.append(number)
        self.codes.append(code)

    def _code(self, text: str) -> int:
        return self.vocab.setdefault(text, len(self.vocab))

    def _integer(self, value: int) -> float:
        if abs(value) > _EXACT:
            self.exact[len(self.types)] = value
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf

    def column(self, rows: Rows) -> Column:
        types = np.array(self.types, dtype=np.uint8)
        coded = (types == ValueType.STRING) | (types == ValueType.STRINGS)
        return Column(
            self.name,
            rows,
            types,
            np.empty(0) if coded.all() else np.array(self.numbers, dtype=np.float64),
            np.array(self.codes, dtype=np.int32) if coded.any() else _NO_ROWS,
            list(self.vocab),
            np.array(self.list_ends, dtype=np.int32),
            np.array(self.list_codes, dtype=np.int32),
            self.exact,
        )
