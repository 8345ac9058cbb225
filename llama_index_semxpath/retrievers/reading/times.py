"""Times of day that a question states, as a test of fields whose values begin with a time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from llama_index_semxpath.retrievers.reading import build
from llama_index_semxpath.tree.columns import ValueType
from llama_index_semxpath.tree.table import TreeTable
from llama_index_semxpath.xpath import ast
from llama_index_semxpath.xpath.operators import combine

_BEGINS_WITH_TIME = re.compile(r"\s*\d{1,2}:\d\d")
_CLOCK = r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s*(?P<half>[ap]\.?m\.?\b)?"
_AT = re.compile(
    rf"\b(?P<word>before|until|by|after|from|since|at)\s+(?:{_CLOCK}|(?P<named>noon|midday))"
    r"(?!\s*[-/\d%])",
    re.IGNORECASE,
)
_PARTS = (
    (re.compile(r"\bmornings?\b|早上|上午|早晨", re.IGNORECASE), 5, 12),
    (re.compile(r"\bafternoons?\b|下午", re.IGNORECASE), 12, 17),
    (re.compile(r"\b(?:evenings?|nights?)\b|晚上|晚间|傍晚|夜里", re.IGNORECASE), 17, 24),
)
#: Hours that a meal is commonly taken between: what is before or after it by the clock.
MEALS = {
    "breakfast": (8, 10), "lunch": (12, 13), "dinner": (18, 20),
    "早餐": (8, 10), "早饭": (8, 10), "午餐": (12, 13), "午饭": (12, 13), "晚餐": (18, 20),
    "晚饭": (18, 20),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hours:
    """A span of the day.

    Args:
        first: First hour, 0 to 23.
        end: Hour that it ends before, 1 to 24.
        start: Where its words begin in the question.
        stop: Where they end.
    """

    first: int
    end: int
    start: int
    stop: int


def find_hours(question: str) -> list[Hours]:
    """Parts of the day and times that a question states.

    Example:
        >>> [(one.first, one.end) for one in find_hours("in the morning or after 5 PM")]
        [(17, 24), (5, 12)]
    """
    found = []
    for match in _AT.finditer(question):
        hour = _hour(match)
        if hour is not None:
            found.append(_span(match["word"].lower(), hour, match))
    for pattern, first, end in _PARTS:
        found.extend(Hours(first, end, *match.span()) for match in pattern.finditer(question))
    return found


def time_fields(table: TreeTable, kinds: Iterable[str]) -> list[str]:
    """Attributes of some kinds whose values begin with a time of day."""
    codes = {table.kind_codes[kind] for kind in kinds if kind in table.kind_codes}
    fields = []
    for name, column in table.columns.items():
        texts = [
            column.text(place)
            for place, row in enumerate(column.rows[:200].tolist())
            if column.types[place] == ValueType.STRING and int(table.kind[row]) in codes
        ]
        if texts and all(_BEGINS_WITH_TIME.match(text) for text in texts):
            fields.append(name)
    return fields


def begins_within(fields: Iterable[str], first: int, end: int) -> ast.Expr:
    """Whether a field begins with a time in ``[first, end)`` hours, on either clock."""
    hours = [hour for hour in range(24) if first <= hour < end]
    am = {hour % 12 or 12 for hour in hours if hour < 12}
    pm = {hour % 12 or 12 for hour in hours if hour >= 12}
    # With "AM" or "PM" behind it an hour means another than without.
    forms = [
        rf"0?(?:{'|'.join(map(str, sorted(some)))}):\d\d\s*{half}"
        for some, half in ((set(hours), r"(?:[^\sAaPp\d]|$)"), (am, "[Aa]"), (pm, "[Pp]"))
        if some
    ]
    pattern = r"^\s*(?:" + "|".join(forms) + ")"
    return combine(
        "or", [ast.Call("matches", (build.attribute(name), ast.Str(pattern))) for name in fields]
    )


def _hour(match: re.Match[str]) -> int | None:
    if match["named"]:
        return 12
    hour = int(match["hour"])
    half = (match["half"] or "").lower()
    if not half and match["minute"] is None:
        # "before 5" may be anything; a time says so.
        return None
    if half and 1 <= hour <= 12:
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    return hour if hour < 24 else None


def _span(word: str, hour: int, match: re.Match[str]) -> Hours:
    if word in ("before", "until", "by"):
        return Hours(0, max(1, hour), *match.span())
    if word == "at":
        return Hours(hour, hour + 1, *match.span())
    return Hours(hour, 24, *match.span())
