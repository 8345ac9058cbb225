"""Rows of the past: revisions, and what node rows were until one of them replaced them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.codec import check_text
from llama_index_semxpath.index.connection import Connection

_FIELDS = (
    "id, doc, parent, kind, order_key, level, text, attributes, tokens, labels, access, vector"
)
#: Moves rows into history; followed by a condition, its first parameter the ending revision.
KEEP_ROW = (
    f"INSERT INTO node_history ({_FIELDS}, from_revision, to_revision) "
    f"SELECT {_FIELDS}, since, ? FROM nodes WHERE"
)


@dataclass(frozen=True, slots=True)
class Signature:
    """Who makes a change, and why.

    Args:
        author: Name of who writes.
        reason: Why, in the author's words.
        what: What is done, in a few words.
        time: When, with a time zone; ``None`` for now.
    """

    author: str = ""
    reason: str = ""
    what: str = ""
    time: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Revision:
    """One write to the store.

    Args:
        seq: Its number, 1 and up, the store's version after it.
        time: When it was made; never before the time of an earlier one.
        author: Who made it.
        reason: Why.
        what: What was done, in a few words.
    """

    seq: int
    time: dt.datetime
    author: str = ""
    reason: str = ""
    what: str = ""


def write_revision(connection: Connection, seq: int, signature: Signature) -> None:
    """Writes down a revision; a clock that ran backward is held at the last revision's time."""
    for name in ("author", "reason", "what"):
        check_text(getattr(signature, name), f"a change's {name}", str(seq))
    time = time_text(signature.time or dt.datetime.now(dt.UTC))
    last = connection.execute("SELECT max(time) FROM revisions").fetchone()[0]
    connection.execute(
        "INSERT INTO revisions (seq, time, author, reason, what) VALUES (?, ?, ?, ?, ?)",
        (seq, max(time, last or ""), signature.author, signature.reason, signature.what),
    )


def keep_rows(
    connection: Connection, revision: int, condition: str, values: Sequence[object]
) -> None:
    """Keeps the node rows that a condition names, as the revision is about to delete them."""
    connection.execute(f"{KEEP_ROW} {condition} AND since < ?", (revision, *values, revision))


def time_text(time: dt.datetime) -> str:
    """A time in UTC, in a form whose texts sort as the times do.

    Raises:
        StoreError: The time has no time zone.

    Example:
        >>> time_text(dt.datetime(2031, 3, 1, tzinfo=dt.UTC))
        '2031-03-01T00:00:00.000000+00:00'
    """
    if time.tzinfo is None:
        raise StoreError("a time without a time zone", where=time.isoformat())
    return time.astimezone(dt.UTC).isoformat(timespec="microseconds")


def read_revision(row: Sequence[object]) -> Revision:
    """A revision from its row."""
    seq, time, author, reason, what = row
    assert isinstance(seq, int)
    parsed = dt.datetime.fromisoformat(str(time))
    return Revision(seq, parsed, str(author), str(reason), str(what))
