"""Time expressions: what they mean on a given day, in a given zone."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llama_index_semxpath.memory.times import find_times

WEDNESDAY = dt.datetime(2026, 3, 18, 9, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("text", "first", "end"),
    [
        ("today", "2026-03-18", "2026-03-19"),
        ("the day before yesterday", "2026-03-16", "2026-03-17"),
        ("last night", "2026-03-17", "2026-03-18"),
        ("last week", "2026-03-09", "2026-03-16"),
        ("this weekend", "2026-03-21", "2026-03-23"),
        ("last month", "2026-02-01", "2026-03-01"),
        ("last quarter", "2025-10-01", "2026-01-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("last Friday", "2026-03-13", "2026-03-14"),
        ("last Wednesday", "2026-03-11", "2026-03-12"),
        ("next Monday", "2026-03-23", "2026-03-24"),
        ("two days ago", "2026-03-16", "2026-03-17"),
        ("a few weeks ago", "2026-02-23", "2026-03-02"),
        ("two weekends ago", "2026-03-07", "2026-03-09"),
        ("past 3 days", "2026-03-15", "2026-03-19"),
        ("27 March, 2022", "2022-03-27", "2022-03-28"),
        ("March 27th, 2022", "2022-03-27", "2022-03-28"),
        ("in 2022", "2022-01-01", "2023-01-01"),
        ("July 2023", "2023-07-01", "2023-08-01"),
        ("in July", "2025-07-01", "2025-08-01"),
        ("on March 5", "2026-03-05", "2026-03-06"),
        ("2026-02-28", "2026-02-28", "2026-03-01"),
        ("昨天", "2026-03-17", "2026-03-18"),
        ("大前天", "2026-03-15", "2026-03-16"),
        ("上周", "2026-03-09", "2026-03-16"),
        ("上周五", "2026-03-13", "2026-03-14"),
        ("下星期三", "2026-03-25", "2026-03-26"),
        ("上个月", "2026-02-01", "2026-03-01"),
        ("三天前", "2026-03-15", "2026-03-16"),
        ("3周前", "2026-02-23", "2026-03-02"),
        ("最近三天", "2026-03-15", "2026-03-19"),
        ("去年5月", "2025-05-01", "2025-06-01"),
        ("前年的三月", "2024-03-01", "2024-04-01"),
        ("2024年", "2024-01-01", "2025-01-01"),
        ("2026年3月1日", "2026-03-01", "2026-03-02"),
        ("3月5日", "2026-03-05", "2026-03-06"),
    ],
)
def test_expression(text: str, first: str, end: str) -> None:
    (mention,) = find_times(f"What happened {text}?", WEDNESDAY)
    (period,) = mention.periods
    assert (str(period.start.date()), str(period.end.date())) == (first, end)


@pytest.mark.parametrize("text", ["I may march on", "the last of us", "第二天", "31 June 2022 "])
def test_no_day_is_named(text: str) -> None:
    named = [m.text for m in find_times(text, WEDNESDAY)]
    assert named in ([], ["June 2022"])


def test_days_begin_at_midnight_of_the_zone() -> None:
    late = dt.datetime(2026, 3, 17, 23, 30, tzinfo=dt.UTC)
    shanghai = late.astimezone(ZoneInfo("Asia/Shanghai"))  # already the 18th there
    (there,) = find_times("昨天", shanghai)[0].periods
    (here,) = find_times("yesterday", late)[0].periods
    assert there.start == dt.datetime(2026, 3, 16, 16, tzinfo=dt.UTC)
    assert here.start == dt.datetime(2026, 3, 16, tzinfo=dt.UTC)
    assert there.holds(late) is False


def test_a_date_without_year_may_lie_in_any_given_year() -> None:
    (mention,) = find_times("in July", WEDNESDAY, years=range(2022, 2025))
    assert [p.start.year for p in mention.periods] == [2022, 2023, 2024]


@given(st.text(max_size=200))
def test_any_text_is_read_without_error(text: str) -> None:
    for mention in find_times(text, WEDNESDAY):
        assert text[mention.start : mention.end] == mention.text
        assert all(period.start < period.end for period in mention.periods)
