"""Time expressions in questions and turns: "last week", "on 27 March", "上周五", "三天前"."""

# ruff: noqa: E501 - a rule of a table reads best on one line

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from llama_index_semxpath.node_parser.numerals import CHINESE_NUMERAL_CHARS, chinese_to_int

Days = tuple[dt.date, dt.date]
_Rule = tuple[re.Pattern[str], Callable[[re.Match[str], dt.date], Days]]

_DAY = dt.timedelta(days=1)
_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_WEEKDAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)}
_WEEKDAYS_ZH = dict(zip("一二三四五六日天", (0, 1, 2, 3, 4, 5, 6, 6), strict=True))
_COUNTS = {
    word: number
    for number, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
        ]
    )
}
_COUNTS |= {"a": 1, "an": 1, "a couple of": 2, "couple of": 2, "a few": 3, "few": 3, "几": 3}
#: "may" and "march" are verbs as well: a month alone needs a capital.
_MONTH = (
    "(January|February|March|April|May|June|July|August|September|October|November|December"
    "|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
)
_NUM = r"(\d{1,4}|a couple of|couple of|a few|few|an?|" + "|".join(list(_COUNTS)[1:13]) + ")"
_NUM_ZH = rf"(\d{{1,4}}|几|[{CHINESE_NUMERAL_CHARS}]{{1,4}})"
_WEEKDAY = "(" + "|".join(_WEEKDAYS) + ")"


@dataclass(frozen=True, slots=True)
class Period:
    """A half-open stretch of time.

    Args:
        start: First moment, with a time zone.
        end: First moment after it.
    """

    start: dt.datetime
    end: dt.datetime

    def holds(self, moment: dt.datetime) -> bool:
        """Whether a moment lies in it."""
        return self.start <= moment < self.end


@dataclass(frozen=True, slots=True)
class TimeMention:
    """A time expression in a text.

    Args:
        text: As written.
        start: Its first character.
        end: The character after it.
        periods: What it may mean; several when it names no year.
    """

    text: str
    start: int
    end: int
    periods: tuple[Period, ...]


def find_times(text: str, now: dt.datetime, *, years: Collection[int] = ()) -> list[TimeMention]:
    """The time expressions of a text, resolved against a moment.

    Days begin at midnight in the time zone of ``now``; weeks begin on Monday. A date without a
    year means the latest one that is not after ``now``, or one in each of the given years.

    Args:
        text: English or Chinese text.
        now: What "today" means, with a time zone.
        years: Years that a date without one may lie in.

    Returns:
        The mentions in order; of overlapping readings the longest.

    Example:
        >>> now = dt.datetime(2026, 3, 18, 9, tzinfo=dt.timezone.utc)
        >>> [(m.text, str(m.periods[0].start.date()), str(m.periods[0].end.date()))
        ...  for m in find_times("What did I say last week, or 前天?", now)]
        [('last week', '2026-03-09', '2026-03-16'), ('前天', '2026-03-16', '2026-03-17')]
    """
    found: list[TimeMention] = []
    for pattern, reading in _RULES:
        for match in pattern.finditer(text):
            days = _read(reading, match, now.date())
            if days:
                found.append(_mention(match, [days], now))
    for match in _YEARLESS.finditer(text):
        all_days = [
            days
            for year in (sorted(years) or [now.year, now.year - 1])
            if (days := _yearless(match, year)) and (years or days[0] <= now.date())
        ]
        if all_days:
            found.append(_mention(match, all_days if years else all_days[:1], now))
    return _longest(found)


def day_bounds(first: dt.date, end: dt.date, zone: dt.tzinfo | None) -> Period:
    """The period from a day's midnight to another's, in a time zone.

    Example:
        >>> str(day_bounds(dt.date(2026, 1, 1), dt.date(2026, 1, 2), dt.timezone.utc).end)
        '2026-01-02 00:00:00+00:00'
    """
    midnight = dt.time(tzinfo=zone)
    return Period(dt.datetime.combine(first, midnight), dt.datetime.combine(end, midnight))


def _mention(match: re.Match[str], days: Sequence[Days], now: dt.datetime) -> TimeMention:
    periods = tuple(day_bounds(first, end, now.tzinfo) for first, end in days)
    return TimeMention(match[0], match.start(), match.end(), periods)


def _read(
    reading: Callable[[re.Match[str], dt.date], Days], match: re.Match[str], today: dt.date
) -> Days | None:
    try:
        return reading(match, today)
    except (ValueError, OverflowError):
        return None  # 31 February, or a year that the calendar does not have


def _longest(found: list[TimeMention]) -> list[TimeMention]:
    kept: list[TimeMention] = []
    for one in sorted(found, key=lambda m: (m.start - m.end, m.start)):
        if all(one.end <= other.start or other.end <= one.start for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda m: m.start)


def _count(word: str) -> int:
    word = word.lower()
    if word.isdigit():
        return int(word)
    value = _COUNTS.get(word)
    if value is None:
        value = chinese_to_int(word)
    if value is None:
        raise ValueError(word)
    return value


def _one_day(day: dt.date) -> Days:
    return day, day + _DAY


def _month(year: int, month: int) -> Days:
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    last = calendar.monthrange(year, month)[1]
    return dt.date(year, month, 1), dt.date(year, month, last) + _DAY


def _year(year: int) -> Days:
    return dt.date(year, 1, 1), dt.date(year + 1, 1, 1)


def _quarter(today: dt.date, steps: int) -> Days:
    first = (today.month - 1) // 3 * 3 + 1 + 3 * steps
    return _month(today.year, first)[0], _month(today.year, first + 2)[1]


def _week(today: dt.date, steps: int) -> Days:
    monday = today - today.weekday() * _DAY + steps * 7 * _DAY
    return monday, monday + 7 * _DAY


def _weekend(today: dt.date, steps: int) -> Days:
    monday, after = _week(today, steps)
    return monday + 5 * _DAY, after


def _unit(unit: str, today: dt.date, steps: int) -> Days:
    """The calendar unit that lies some steps from today's."""
    if unit in ("day", "天", "日"):
        return _one_day(today + steps * _DAY)
    if unit in ("weekend", "周末"):
        return _weekend(today, steps)
    if unit in ("week", "周", "星期", "礼拜"):
        return _week(today, steps)
    if unit in ("month", "月"):
        return _month(today.year, today.month + steps)
    if unit in ("quarter", "季度"):
        return _quarter(today, steps)
    return _year(today.year + steps)


def _back(unit: str, today: dt.date, count: int) -> Days:
    """The stretch of some units up to and with today."""
    if unit in ("day", "天", "日"):
        return today - count * _DAY, today + _DAY
    if unit in ("week", "周", "星期", "礼拜"):
        return today - 7 * count * _DAY, today + _DAY
    months = count * (12 if unit in ("year", "年") else 1)
    year, month = divmod(today.year * 12 + today.month - 1 - months, 12)
    day = min(today.day, calendar.monthrange(year, month + 1)[1])
    return dt.date(year, month + 1, day), today + _DAY


def _weekday(today: dt.date, weekday: int, which: str) -> Days:
    """ "last Friday" is the latest one before today, "next Friday" the first one after it."""
    ahead = (weekday - today.weekday()) % 7
    if which == "next":
        return _one_day(today + (ahead or 7) * _DAY)
    if which == "this":
        return _one_day(_week(today, 0)[0] + weekday * _DAY)
    return _one_day(today - ((today.weekday() - weekday - 1) % 7 + 1) * _DAY)


_STEP = {"last": -1, "past": -1, "previous": -1, "this": 0, "current": 0, "next": 1}
_STEP_ZH = {"上上": -2, "上": -1, "这": 0, "本": 0, "今": 0, "下": 1, "下下": 2}
_RELATIVE_DAYS = {
    "today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0, "this evening": 0,
    "yesterday": -1, "last night": -1, "the day before yesterday": -2, "tomorrow": 1,
    "the day after tomorrow": 2, "今天": 0, "今日": 0, "今早": 0, "今晚": 0, "昨天": -1, "昨日": -1,
    "昨晚": -1, "前天": -2, "大前天": -3, "明天": 1, "明日": 1, "明早": 1, "后天": 2, "大后天": 3,
}  # fmt: skip
_YEARS_ZH = {"去年": -1, "今年": 0, "前年": -2, "明年": 1}
_UNITS = "(day|weekend|week|month|quarter|year)"
_UNITS_ZH = "(天|日|周末|周|星期|礼拜|月|季度|年)"
_CALENDAR_ZH = "(周末|周|星期|礼拜|月|季度)"


def _rule(
    pattern: str, reading: Callable[[re.Match[str], dt.date], Days], flags: int = re.I
) -> _Rule:
    return re.compile(pattern, flags), reading


_RULES: Sequence[_Rule] = (
    _rule(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b", lambda m, _: _one_day(_date(m[1], m[2], m[3]))),
    _rule(r"(\d{4})\s?[年/.]\s?(\d{1,2})\s?[月/.]\s?(\d{1,2})\s?[日号]?",
          lambda m, _: _one_day(_date(m[1], m[2], m[3]))),
    _rule(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}\.?,? (\d{{4}})\b",
          lambda m, _: _one_day(_date(m[3], _month_number(m[2]), m[1]))),
    _rule(rf"\b{_MONTH}\.? (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}})\b",
          lambda m, _: _one_day(_date(m[3], _month_number(m[1]), m[2]))),
    _rule(rf"\b{_MONTH}\.?,?(?: of)? (\d{{4}})\b", lambda m, _: _month(int(m[2]), _month_number(m[1]))),
    _rule(r"(\d{4})\s?年\s?(\d{1,2})\s?月(?!\s?\d)", lambda m, _: _month(int(m[1]), _in_year(m[2]))),
    _rule(r"\b(?:in|of|since|during|year) ((?:19|20)\d\d)\b(?!-)", lambda m, _: _year(int(m[1]))),
    _rule(r"((?:19|20)\d\d)\s?年(?!\s?\d)", lambda m, _: _year(int(m[1]))),
    _rule(rf"\b({'|'.join(k for k in _RELATIVE_DAYS if k.isascii())})\b",
          lambda m, today: _one_day(today + _RELATIVE_DAYS[m[1].lower()] * _DAY)),
    _rule("(大前天|大后天|今天|今日|今早|今晚|昨天|昨日|昨晚|前天|明天|明日|明早|后天)",
          lambda m, today: _one_day(today + _RELATIVE_DAYS[m[1]] * _DAY)),
    _rule(rf"\b(last|past|previous|this|current|next) {_UNITS}\b(?! (?:of|in)\b)",
          lambda m, today: _unit(m[2].lower(), today, _STEP[m[1].lower()])),
    _rule(rf"(上上|上|这|本|下下|下)个?{_CALENDAR_ZH}(?![一二三四五六日天\d])",
          lambda m, today: _unit(m[2], today, _STEP_ZH[m[1]])),
    _rule(rf"\b(last|past|previous|this|next) {_WEEKDAY}\b",
          lambda m, today: _weekday(today, _WEEKDAYS[m[2].lower()], _which(m[1]))),
    _rule(rf"\bon {_WEEKDAY}\b", lambda m, today: _weekday(today, _WEEKDAYS[m[1].lower()], "last")),
    _rule("(上上|上|这|本|下下|下)个?(?:周|星期|礼拜)([一二三四五六日天])",
          lambda m, today: _one_day(_week(today, _STEP_ZH[m[1]])[0] + _WEEKDAYS_ZH[m[2]] * _DAY)),
    _rule(rf"\b{_NUM} {_UNITS}s? ago\b", lambda m, today: _ago(m[2].lower(), today, _count(m[1]))),
    _rule(rf"{_NUM_ZH}\s?个?{_UNITS_ZH}(?:之|以)?前", lambda m, today: _ago(m[2], today, _count(m[1]))),
    _rule(rf"\bin {_NUM} {_UNITS}s?\b", lambda m, today: _ago(m[2].lower(), today, -_count(m[1]))),
    _rule(rf"{_NUM_ZH}\s?个?{_UNITS_ZH}(?:之|以)?后", lambda m, today: _ago(m[2], today, -_count(m[1]))),
    _rule(rf"\b(?:past|last|previous) {_NUM} (day|week|month|year)s?\b",
          lambda m, today: _back(m[2].lower(), today, _count(m[1]))),
    _rule(rf"(?:最近|过去|近)(?:的)?{_NUM_ZH}\s?个?(天|日|周|星期|礼拜|月|年)",
          lambda m, today: _back(m[2], today, _count(m[1]))),
    _rule(r"(去年|今年|前年|明年)(?:的)?(?:(\d{1,2}|[一二三四五六七八九十]{1,2})月)?",
          lambda m, today: _year_zh(m, today)),
)  # fmt: skip

#: Dates that name no year.
_YEARLESS = re.compile(
    rf"\b(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<m1>{_MONTH})\b(?!,? \d{{4}})"
    rf"|\b(?P<m2>{_MONTH}) (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!,? \d{{4}})"
    rf"|\b(?P<m3>{_MONTH})\b(?!,? \d)"
    r"|(?<![\d年])(?P<m4>\d{1,2})\s?月\s?(?P<d4>\d{1,2})\s?[日号]|(?<![\d年个])(?P<m5>\d{1,2})\s?月(?!\s?\d)"
)


def _yearless(match: re.Match[str], year: int) -> Days | None:
    month = next(match[name] for name in ("m1", "m2", "m3", "m4", "m5") if match[name])
    day = match["d1"] or match["d2"] or match["d4"]
    number = int(month) if month.isdigit() else _month_number(month)
    try:
        return _one_day(dt.date(year, number, int(day))) if day else _month(year, _in_year(number))
    except ValueError:
        return None


def _date(year: str | int, month: str | int, day: str | int) -> dt.date:
    return dt.date(int(year), int(month), int(day))


def _month_number(name: str) -> int:
    return _MONTHS[name.lower()]


def _in_year(month: str | int) -> int:
    if not 1 <= int(month) <= 12:
        raise ValueError(month)
    return int(month)


def _which(word: str) -> str:
    word = word.lower()
    return word if word in ("this", "next") else "last"


def _ago(unit: str, today: dt.date, count: int) -> Days:
    """ "Two days ago" is a day, "two weeks ago" the week around it, and so on."""
    return _unit(unit, today, -count)


def _year_zh(match: re.Match[str], today: dt.date) -> Days:
    year = today.year + _YEARS_ZH[match[1]]
    return _month(year, _in_year(_count(match[2]))) if match[2] else _year(year)
