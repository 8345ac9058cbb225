"""Typed values from the strings of cells and ``key: value`` lines."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from dataclasses import dataclass

from llama_index_semxpath.tree.node import Value

_MAX_LENGTH = 60
_CODES = "USD EUR GBP CNY RMB JPY CHF HKD INR KRW CAD AUD"
_CURRENCY = {
    "$": "USD",
    "US$": "USD",
    "€": "EUR",
    "£": "GBP",
    "¥": "CNY",
    "￥": "CNY",
    "₹": "INR",
    "₩": "KRW",
    "元": "CNY",
    "人民币": "CNY",
    "美元": "USD",
    "欧元": "EUR",
    "英镑": "GBP",
    "日元": "JPY",
    "港元": "HKD",
}
_CURRENCY |= {code: code for code in _CODES.split()}
_CURRENCY["RMB"] = "CNY"
_SIGNS = "|".join(sorted(map(re.escape, _CURRENCY), key=len, reverse=True))
_SCALE = {
    "万": 1e4,
    "亿": 1e8,
    "千": 1e3,
    "百万": 1e6,
    "千万": 1e7,
    "thousand": 1e3,
    "million": 1e6,
    "billion": 1e9,
    "trillion": 1e12,
}
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d{1,3}(?: \d{3})+|\d+)"
_NUMBER = re.compile(
    r"(?P<open>\()?(?P<sign>[+\-−–])?\s?"
    rf"(?P<before>{_SIGNS})?\s?"
    rf"(?P<sign2>[+\-−–])?(?P<digits>{_DIGITS}(?:\.\d+)?|\.\d+)(?P<exp>[eE][+-]?\d{{1,3}})?"
    rf"\s?(?P<scale>{'|'.join(sorted(_SCALE, key=len, reverse=True))})?"
    rf"\s?(?P<after>{_SIGNS}|%|‰)?"
    r"(?P<close>\))?"
)
_ISO = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
)
_YMD = re.compile(r"(\d{4})\s?[/.年]\s?(\d{1,2})\s?[/.月]\s?(\d{1,2})\s?日?")
_DMY = re.compile(r"(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})")
_MONTH_NAMES = (
    "january february march april may june july august september october november december"
)
_MONTHS = {name[:3]: number for number, name in enumerate(_MONTH_NAMES.split(), start=1)}
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY_MONTH = re.compile(rf"(\d{{1,2}})(?:st|nd|rd|th)?\s{_MONTH},?\s(\d{{4}})", re.IGNORECASE)
_MONTH_DAY = re.compile(rf"{_MONTH}\s(\d{{1,2}})(?:st|nd|rd|th)?,?\s(\d{{4}})", re.IGNORECASE)
# Words that a figure or a date may start with.
_STARTS = re.compile(
    rf"{_MONTH}\s\d|(?:{_SIGNS})\s?[\d+\-]",
    re.IGNORECASE,
)
_SHORTEST_DATE = len("2024年3月1")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with the unit it was written with.

    Args:
        value: The number; 12.5 for ``12.5%``.
        unit: ``%``, ``‰``, an ISO 4217 code (``USD``), or nothing.
    """

    value: int | float
    unit: str = ""


def typed_value(text: str) -> Value:
    """The value that a cell or field holds, typed where its form leaves no doubt.

    Percentages keep the figure a reader sees (``12.5%`` is 12.5), amounts drop their currency
    sign, thousands separators go, ``(5.2)`` in accounts is -5.2. Codes with leading zeros, phone
    numbers and dates whose day and month cannot be told apart (``03/04/2024``) stay text.

    Args:
        text: What the cell shows.

    Example:
        >>> [typed_value(text) for text in ("1,337", "12.5%", "$5.20", "007", "true", "1.5亿元")]
        [1337, 12.5, 5.2, '007', True, 150000000.0]
        >>> typed_value("2024年3月1日")
        datetime.date(2024, 3, 1)
    """
    plain = " ".join(text.split())
    if not plain or len(plain) > _MAX_LENGTH:
        return plain
    # Most cells are plain words or plain integers: settle them before the patterns are tried.
    first = plain[0]
    if first.isalpha() and not _STARTS.match(plain):
        return plain if plain.lower() not in ("true", "false") else plain.lower() == "true"
    if plain.isascii() and plain.isdigit() and len(plain) <= 18:
        return int(plain) if first != "0" or plain == "0" else plain
    found = parse_date(plain) if len(plain) >= _SHORTEST_DATE else None
    if found is not None:
        return found
    quantity = parse_quantity(plain)
    return plain if quantity is None else quantity.value


def parse_quantity(text: str) -> Quantity | None:
    """Number and unit of a figure, or ``None`` when the text is more than one figure.

    Example:
        >>> parse_quantity("¥ 1,200.50"), parse_quantity("-3 %"), parse_quantity("5 apples")
        (Quantity(value=1200.5, unit='CNY'), Quantity(value=-3, unit='%'), None)
    """
    plain = unicodedata.normalize("NFKC", text).strip()
    match = _NUMBER.fullmatch(plain) if len(plain) <= _MAX_LENGTH else None
    if match is None or bool(match["open"]) != bool(match["close"]):
        return None
    if (match["sign"] and match["sign2"]) or (match["before"] and match["after"] in _CURRENCY):
        return None
    digits = re.sub(r"[, ]", "", match["digits"])
    # 007 and 0123 are codes; 0 and 0.5 are figures.
    if digits[0] == "0" and len(digits) > 1 and digits[1] != ".":
        return None
    # Longer runs of digits are ids: floats would lose their last figures.
    if len(digits.replace(".", "")) > 18:
        return None
    value = _figure(digits, match["exp"], match["scale"])
    minus = (match["sign"] or match["sign2"] or "+") in "-−–" or match["open"]
    unit = match["before"] or match["after"] or ""
    return Quantity(-value if minus else value, _CURRENCY.get(unit, unit))


def _figure(digits: str, exponent: str | None, scale: str | None) -> int | float:
    if "." not in digits and not exponent and not scale:
        return int(digits)
    # Through decimal text, so that 1.5 × 10⁸ is exact where a product of floats is not.
    factor = round(_SCALE[scale]) if scale else 1
    whole, _, part = digits.partition(".")
    if exponent:
        return float(digits + exponent) * factor
    value: float = int((whole or "0") + part) * factor / 10 ** len(part)
    return value


def parse_date(text: str) -> dt.date | dt.datetime | None:
    """Date or time stamp in a form that reads one way only, or ``None``.

    Example:
        >>> [str(parse_date(text)) for text in ("2024-03-01", "1 March 2024", "12.05.2031")]
        ['2024-03-01', '2024-03-01', '2031-05-12']
        >>> parse_date("03/04/2024") is None
        True
    """
    plain = unicodedata.normalize("NFKC", text).strip()
    try:
        if match := _ISO.fullmatch(plain):
            if match[4] is None:
                return dt.date(int(match[1]), int(match[2]), int(match[3]))
            return _timestamp(match)
        if match := _YMD.fullmatch(plain):
            return dt.date(int(match[1]), int(match[2]), int(match[3]))
        if match := _DMY.fullmatch(plain):
            return dt.date(int(match[3]), int(match[2]), int(match[1]))
        if match := _DAY_MONTH.fullmatch(plain):
            return dt.date(int(match[3]), _MONTHS[match[2].lower()], int(match[1]))
        if match := _MONTH_DAY.fullmatch(plain):
            return dt.date(int(match[3]), _MONTHS[match[1].lower()], int(match[2]))
    except ValueError:
        return None
    return None


def _timestamp(match: re.Match[str]) -> dt.datetime:
    year, month, day, hour, minute = (int(match[i]) for i in range(1, 6))
    stamp = dt.datetime(year, month, day, hour, minute, int(match[6] or 0))
    zone = match[7]
    if zone is None:
        return stamp
    if zone == "Z":
        return stamp.replace(tzinfo=dt.UTC)
    sign = -1 if zone[0] == "-" else 1
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    return stamp.replace(tzinfo=dt.timezone(sign * dt.timedelta(hours=hours, minutes=minutes)))
