"""Bounds that a question sets: "over 100,000", "2024年之后", "before March 2026"."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass

from llama_index_semxpath.node_parser.numerals import chinese_to_int
from llama_index_semxpath.xpath import ast

_AMOUNT = (
    r"(?P<amount>[$€£¥]?\s*\d[\d,]*(?:\.\d+)?)\s*"
    r"(?P<scale>thousand|million|billion|k|m|万元|万|亿元|亿|千)?"
)
_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_DATE = (
    r"(?P<date>\d{4}-\d{1,2}-\d{1,2}|\d{4}\s*年(?:\s*\d{1,2}\s*月(?:\s*\d{1,2}\s*[日号])?)?"
    rf"|(?:{'|'.join(month[:3] + '[a-z]*' for month in _MONTHS)})\.?\s+"
    r"(?:\d{1,2},?\s+)?\d{4}|(?:19|20)\d\d)(?!\d)"
)
_AFTER = r"after|since|from|later than|starting(?: in| from)?"
_BEFORE = r"before|until|earlier than|up to|by"
_MORE = (
    r"over|above|more than|greater than|exceeding|exceeds|exceed"
    r"|larger than|higher than|>|超过|大于|高于|多于"
)
_LESS = (
    r"under|below|less than|fewer than|smaller than|lower than|<"
    r"|小于|低于|少于|不足|不到"
)
_LEAST = r"at least|no less than|minimum of|>=|≥|至少|不少于|不低于"
_MOST = r"at most|no more than|up to|maximum of|<=|≤|至多|最多|不超过|不高于"

_DATES = (
    re.compile(rf"\b(?P<word>{_AFTER}|{_BEFORE}|in|during|on)\s+{_DATE}", re.IGNORECASE),
    re.compile(rf"{_DATE}\s*(?P<word>之后|以后|以来|起|后|之前|以前|前|之内|内|当年)?"),
    re.compile(rf"(?P<word>晚于|早于)\s*{_DATE}"),
)
_NUMBERS = tuple(
    (
        re.compile(
            rf"(?:\b|(?<=\W)|^|(?<=[\u3400-\u9fff]))(?:{words})\s*(?:[A-Z]{{3}}\s*)?{_AMOUNT}",
            re.IGNORECASE,
        ),
        op,
    )
    for words, op in ((_LEAST, ">="), (_MOST, "<="), (_MORE, ">"), (_LESS, "<"))
)
_NUMBERS_ZH = (
    (re.compile(rf"{_AMOUNT}\s*(?:元|天|个|次|人|条|年|%)?\s*(?:以上|及以上)"), ">="),
    (re.compile(rf"{_AMOUNT}\s*(?:元|天|个|次|人|条|年|%)?\s*(?:以下|以内|及以下)"), "<="),
)
_SCALES = {
    "thousand": 1e3, "k": 1e3, "million": 1e6, "m": 1e6, "billion": 1e9,
    "千": 1e3, "万": 1e4, "万元": 1e4, "亿": 1e8, "亿元": 1e8,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound on a value.

    Args:
        op: How the value compares with ``value``.
        value: A number, or a date.
        start: Where its words begin in the question.
        end: Where they end.
        until: For a period (a year, a month): with ``op`` ``=`` its last day, with ``>`` its first.
    """

    op: ast.Operator
    value: float | int | dt.date
    start: int
    end: int
    until: dt.date | None = None

    def from_then_on(self) -> Bound:
        """“After 2024” read as from 2024 on; any other bound is as it was."""
        if self.op != ">" or self.until is None:
            return self
        return Bound(">=", self.until, self.start, self.end)


def find_bounds(question: str) -> list[Bound]:
    """All bounds of a question, in order.

    Example:
        >>> [(b.op, b.value) for b in find_bounds("contracts over 100,000 signed after 2024-05-01")]
        [('>', 100000), ('>', datetime.date(2024, 5, 1))]
        >>> [(b.op, b.value) for b in find_bounds("2024年之后生效")]
        [('>', datetime.date(2024, 12, 31))]
    """
    found: list[Bound] = []
    for pattern in _DATES:
        for match in pattern.finditer(question):
            bound = _date_bound(match)
            if bound is not None and not _overlaps(bound, found):
                found.append(bound)
    for pattern, op in (*_NUMBERS, *_NUMBERS_ZH):
        for match in pattern.finditer(question):
            value = _number(match["amount"], match["scale"])
            bound = Bound(op, value, *match.span())  # type: ignore[arg-type]
            if not _overlaps(bound, found):
                found.append(bound)
    return sorted(found, key=lambda bound: bound.start)


def _date_bound(match: re.Match[str]) -> Bound | None:
    period = _period(match["date"])
    if period is None:
        return None
    first, last = period
    word = (match["word"] or "").lower()
    if word in ("after", "later than", "之后", "以后", "后", "晚于"):
        return Bound(">", last, *match.span(), until=None if first == last else first)
    if word in ("since", "from", "starting", "starting in", "starting from", "以来", "起"):
        return Bound(">=", first, *match.span())
    if word in ("before", "earlier than", "之前", "以前", "前", "早于"):
        return Bound("<", first, *match.span())
    if word in ("until", "up to", "by"):
        return Bound("<=", last, *match.span())
    # A bare four-digit number is a year only where a word says so.
    if not word and match["date"].isdigit():
        return None
    return Bound("=", first, *match.span(), until=last)


def _period(text: str) -> tuple[dt.date, dt.date] | None:
    """First and last day of a date, month or year."""
    numbers = [int(part) for part in re.findall(r"\d+", text)]
    month = next((place for place, name in enumerate(_MONTHS, 1) if name[:3] in text.lower()), None)
    if month is not None:
        numbers = [numbers[-1], month, *numbers[:-1]]
    try:
        if len(numbers) == 3:
            day = dt.date(*numbers)
            return day, day
        if len(numbers) == 2:
            year, at = numbers
            after = dt.date(year + at // 12, at % 12 + 1, 1)
            return dt.date(year, at, 1), after - dt.timedelta(days=1)
        return dt.date(numbers[0], 1, 1), dt.date(numbers[0], 12, 31)
    except (ValueError, IndexError):
        return None


def _number(amount: str, scale: str | None) -> float | int:
    value = float(re.sub(r"[^\d.]", "", amount)) * _SCALES.get((scale or "").lower(), 1)
    return int(value) if value.is_integer() else value


def _overlaps(bound: Bound, found: list[Bound]) -> bool:
    return any(bound.start < other.end and other.start < bound.end for other in found)


def chinese_number(text: str) -> int | None:
    """A number in digits or Chinese numerals.

    Example:
        >>> chinese_number("十二"), chinese_number("3")
        (12, 3)
    """
    return int(text) if text.isascii() and text.isdigit() else chinese_to_int(text)
