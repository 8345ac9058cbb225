"""Calendar arithmetic: ``today() - 3mo``, ``@due + 2w``."""

from __future__ import annotations

import calendar
import datetime as dt

import numpy as np

from llama_index_semxpath.engines.values import Dates, Period
from llama_index_semxpath.tree.columns import epoch

_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_MONTHS = {"mo": 1, "y": 12}
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def shift_dates(dates: Dates, period: Period, sign: int) -> Dates:
    """Dates moved by a period; months and years keep the day, cut to the month's end.

    A day moved by hours, minutes or seconds is a moment. What leaves the calendar is NaN.

    Example:
        >>> day = Dates(np.array([epoch(dt.date(2026, 3, 31))]), date_only=True)
        >>> float(shift_dates(day, Period(1, "mo"), -1).values[0]) == epoch(dt.date(2026, 2, 28))
        True
    """
    if period.unit in _SECONDS:
        seconds = sign * period.amount * _SECONDS[period.unit]
        return Dates(dates.values + seconds, dates.date_only and seconds % 86400 == 0)
    months = sign * period.amount * _MONTHS[period.unit]
    return Dates(np.array([_add_months(v, months) for v in dates.values]), dates.date_only)


def add_period(left: Period, right: Period, op: str) -> Period:
    """The sum or difference of two periods of fixed length."""
    sign = -1 if op == "-" else 1
    if left.unit == right.unit:
        return Period(left.amount + sign * right.amount, left.unit)
    seconds = [p.amount * _SECONDS.get(p.unit, float("nan")) for p in (left, right)]
    return Period(seconds[0] + sign * seconds[1], "s")


def _add_months(seconds: float, months: float) -> float:
    try:
        moment = _EPOCH + dt.timedelta(seconds=seconds)
        year, month = divmod(moment.year * 12 + moment.month - 1 + int(months), 12)
        day = min(moment.day, calendar.monthrange(year, month + 1)[1])
        return epoch(moment.replace(year=year, month=month + 1, day=day))
    except (ValueError, OverflowError):
        return float("nan")
