"""Fading, expiry and archiving of memories: pure functions of a moment that is passed in.

An expiry date is a hard deadline: from the day after, the memory is hidden. Fading is soft: it
lowers the rank, and hides nothing. What has faded for long is archived before it is ever deleted.
The curve is exponential forgetting (Ebbinghaus, "Über das Gedächtnis", 1885, as half-lives).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class DecayPolicy:
    """How memories fade.

    Args:
        half_lives: Days in which the strength of a kind halves, > 0; kinds not named do not fade.
        growth: Factor by which each use lengthens the half-life, >= 1 (1: not at all).
        archive_below: Strength under which a memory is archived, in [0, 1).
        keep_archived: Days that an archived or expired memory can be read by id before a purge
            removes it, >= 0.

    Example:
        >>> DecayPolicy().half_lives["Task"]
        90.0
    """

    half_lives: Mapping[str, float] = field(default_factory=lambda: {"Note": 365.0, "Task": 90.0})
    growth: float = 1.0
    archive_below: float = 0.0001
    keep_archived: float = 0.0


@dataclass(frozen=True, slots=True)
class Vitality:
    """What the strength of a memory depends on.

    Args:
        kind: Its kind.
        created: When it was written.
        weight: Strength at the start: weight of its source times confidence, > 0.
        half_life: Days of its own, before those of its kind; ``None`` takes the kind's.
        pinned: Whether it never fades.
        expires: Last day on which it holds.
        uses: How often it was recalled, >= 0.
        last_used: When it was recalled last.
    """

    kind: str
    created: dt.datetime
    weight: float = 1.0
    half_life: float | None = None
    pinned: bool = False
    expires: dt.date | None = None
    uses: int = 0
    last_used: dt.datetime | None = None


def strength(memory: Vitality, now: dt.datetime, policy: DecayPolicy | None = None) -> float:
    """Strength of a memory at a moment.

    It starts at the memory's weight, halves with each half-life since the last use, and is back
    at the start after a use. A clock that runs backward never strengthens anything.

    Args:
        memory: What is known of it.
        now: The moment, with a time zone.
        policy: Half-lives.

    Example:
        >>> start = dt.datetime(2031, 2, 1, tzinfo=dt.timezone.utc)
        >>> page = Vitality("Note", start, half_life=1.0)
        >>> strength(page, start + dt.timedelta(days=10)) == 1 / 1024
        True
    """
    policy = policy or DecayPolicy()
    half_life = memory.half_life or policy.half_lives.get(memory.kind)
    if memory.pinned or half_life is None:
        return memory.weight
    since = max(memory.created, memory.last_used or memory.created)
    age = max(0.0, (now - since).total_seconds() / _DAY)
    exponent = age / (half_life * float(policy.growth**memory.uses))
    return float(memory.weight * 0.5**exponent)


def is_expired(expires: dt.date | None, now: dt.datetime) -> bool:
    """Whether the last day on which a memory holds is over; the day itself still counts.

    The day ends at midnight in the time zone of ``now``.

    Example:
        >>> zone = dt.timezone.utc
        >>> [is_expired(dt.date(2031, 1, 31), dt.datetime(2031, *day, tzinfo=zone))
        ...  for day in [(1, 31, 23, 59), (2, 1, 0, 0)]]
        [False, True]
    """
    return expires is not None and now.date() > expires


def should_archive(memory: Vitality, now: dt.datetime, policy: DecayPolicy | None = None) -> bool:
    """Whether a memory has faded so far that it goes to the archive.

    Example:
        >>> start = dt.datetime(2031, 1, 1, tzinfo=dt.timezone.utc)
        >>> note = Vitality("Note", start, half_life=1.0)
        >>> should_archive(note, start + dt.timedelta(days=9)), should_archive(
        ...     note, start + dt.timedelta(days=14))
        (False, True)
    """
    policy = policy or DecayPolicy()
    if memory.pinned:
        return False
    return strength(memory, now, policy) < policy.archive_below * memory.weight


def vitality_of(
    kind: str,
    attributes: Mapping[str, Any],
    created: dt.datetime,
    uses: int = 0,
    last_used: dt.datetime | None = None,
) -> Vitality:
    """The vitality of a node from its attributes.

    Read are ``weight``, ``confidence``, ``half_life_days``, ``pinned`` and ``expires``; a value
    of the wrong type counts as absent.

    Example:
        >>> day = dt.datetime(2031, 1, 1, tzinfo=dt.timezone.utc)
        >>> vitality_of("Note", {"expires": dt.date(2031, 1, 31), "weight": 2}, day).weight
        2.0
    """
    expires = attributes.get("expires")
    if isinstance(expires, dt.datetime):
        expires = expires.date()
    half_life = _positive(attributes.get("half_life_days"))
    weight = _positive(attributes.get("weight")) or 1.0
    confidence = _positive(attributes.get("confidence")) or 1.0
    return Vitality(
        kind=kind,
        created=created,
        weight=weight * min(1.0, confidence),
        half_life=half_life,
        pinned=attributes.get("pinned") is True,
        expires=expires if isinstance(expires, dt.date) else None,
        uses=uses,
        last_used=last_used,
    )


def _positive(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        return None
    return float(value)
