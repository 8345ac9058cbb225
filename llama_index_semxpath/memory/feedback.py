"""What was asked and answered, kept so that bad cases can be found, labelled and tried again.

Keeping such a log is opt-in: nothing is written unless a :class:`FeedbackLog` is opened and handed
entries. Texts pass a redactor on their way in; what it removes is never on disk.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import sqlite3
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from llama_index_semxpath.errors import SemXPathError, StoreError

Verdict = Literal["good", "bad", "corrected", "ignore"]
VERDICTS: tuple[Verdict, ...] = ("good", "bad", "corrected", "ignore")
#: Changes a text before it is written.
Redactor = Callable[[str], str]

_FORMAT = 1
_PRIVATE: Sequence[tuple[str, re.Pattern[str]]] = (
    ("email", re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6}")),
    ("card", re.compile(r"(?<!\d)(?:\d[ -]?){13,18}\d(?![\d])")),
    ("id", re.compile(r"(?<!\d)\d{17}[\dXx](?!\d)")),
    ("phone", re.compile(r"(?<![\w.])\+?\d[\d ()–-]{6,16}\d(?![\w.])")),
    ("key", re.compile(r"\b(?:sk|pk|ghp|xox[bp])[-_][A-Za-z0-9_-]{12,}\b")),
)


@dataclass(frozen=True, slots=True)
class FeedbackEntry:
    """One question and what came of it.

    Args:
        question: As asked.
        answer: As given.
        query: The SemXPath that was run, ``""`` when none was.
        intent: Class of the question, as the selector named it.
        plan: The plan as text.
        results: Id and score of each result, best first.
        citations: Ids that the answer cites.
        seconds: Time taken, >= 0.
        session: Whose conversation it belongs to.
        rating: 1 liked, -1 disliked, 0 not said.
        comment: What the person said about it.
        time: When; the log sets it where it is ``None``.
        id: Set by the log.
        verdict: A reviewer's label.
        expected: Ids that should have been found, from the reviewer.
        corrected_query: The query that should have been run.
        corrected_answer: The answer that should have been given.
        note: The reviewer's remark.
    """

    question: str
    answer: str = ""
    query: str = ""
    intent: str = ""
    plan: str = ""
    results: tuple[tuple[str, float], ...] = ()
    citations: tuple[str, ...] = ()
    seconds: float = 0.0
    session: str = ""
    rating: int = 0
    comment: str = ""
    time: dt.datetime | None = None
    id: str = ""
    verdict: Verdict | Literal[""] = ""
    expected: tuple[str, ...] = ()
    corrected_query: str = ""
    corrected_answer: str = ""
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The entry as JSON holds it.

        Example:
            >>> FeedbackEntry("why?").to_dict()["question"]
            'why?'
        """
        values = asdict(self)
        values["time"] = self.time.isoformat() if self.time else None
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> FeedbackEntry:
        """The entry that :meth:`to_dict` gave.

        Raises:
            SemXPathError: It is no such entry.
        """
        try:
            known = {one.name for one in fields(cls)}
            kept = {key: value for key, value in values.items() if key in known}
            kept["results"] = tuple((str(i), float(s)) for i, s in kept.get("results", ()))
            kept["citations"] = tuple(map(str, kept.get("citations", ())))
            kept["expected"] = tuple(map(str, kept.get("expected", ())))
            time = kept.get("time")
            kept["time"] = dt.datetime.fromisoformat(time) if isinstance(time, str) else time
            return cls(**kept)
        except (TypeError, ValueError) as error:
            raise SemXPathError(f"no feedback entry: {error}", hint="see FeedbackEntry") from error


def redact(text: str) -> str:
    """The text without e-mail addresses, phone, card and identity numbers, and keys.

    Example:
        >>> redact("mail ann@example.com or +44 20 7946 0958")
        'mail <email> or <phone>'
    """
    for name, pattern in _PRIVATE:
        text = pattern.sub(f"<{name}>", text)
    return text


class FeedbackLog:
    """A log of questions and answers in one SQLite file.

    Args:
        path: The file; ``":memory:"`` keeps nothing.
        redactor: Applied to every text; ``None`` keeps texts as they are.
        clock: Gives the time, with a zone.

    Raises:
        StoreError: The file cannot be opened, or is no such log.

    Example:
        >>> log = FeedbackLog(":memory:")
        >>> entry = log.add(FeedbackEntry("Is tea served?", "Yes.", session="a"))
        >>> log.rate(entry.id, -1, comment="that is coffee")
        >>> [one.rating for one in log.entries()]
        [-1]
    """

    def __init__(
        self,
        path: str | Path,
        *,
        redactor: Redactor | None = redact,
        clock: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
    ) -> None:
        self.path = str(path)
        self._redact = redactor or (lambda text: text)
        self._clock = clock
        self._lock = threading.Lock()
        with self._errors():
            if self.path != ":memory:":
                Path(self.path).parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._create()

    def _create(self) -> None:
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version > _FORMAT:
            raise StoreError("this log was written by a newer version", where=self.path)
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS feedback (id TEXT PRIMARY KEY, at TEXT NOT NULL,"
            " session TEXT NOT NULL, rating INTEGER NOT NULL, verdict TEXT NOT NULL,"
            " body TEXT NOT NULL)"
        )
        self._db.execute("CREATE INDEX IF NOT EXISTS feedback_at ON feedback (at)")
        self._db.execute(f"PRAGMA user_version = {_FORMAT}")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"feedback log: {error}", where=self.path) from error

    def add(self, entry: FeedbackEntry) -> FeedbackEntry:
        """Write an entry.

        Returns:
            It as written: redacted, with its id and time.

        Raises:
            SemXPathError: The question is empty.
        """
        if not entry.question.strip():
            raise SemXPathError("a feedback entry needs a question")
        entry = self._redacted(entry)
        entry = replace(
            entry, id=entry.id or uuid.uuid4().hex[:12], time=entry.time or self._clock()
        )
        self._write(entry)
        return entry

    def rate(self, entry_id: str, rating: int, *, comment: str = "") -> None:
        """Note what the person thought of an answer.

        Args:
            entry_id: The entry.
            rating: 1 liked, -1 disliked, 0 takes it back.
            comment: What the person said.

        Raises:
            SemXPathError: There is no such entry, or the rating is none of these.
        """
        if rating not in (-1, 0, 1):
            raise SemXPathError(f"rating {rating} is none of -1, 0, 1")
        entry = self.get(entry_id)
        self._write(replace(entry, rating=rating, comment=self._redact(comment) or entry.comment))

    def label(
        self,
        entry_id: str,
        verdict: Verdict,
        *,
        expected: Sequence[str] | None = None,
        query: str | None = None,
        answer: str | None = None,
        note: str | None = None,
    ) -> FeedbackEntry:
        """Note a reviewer's judgement.

        Args:
            entry_id: The entry.
            verdict: ``good``, ``bad``, ``corrected`` (with what would have been right), ``ignore``.
            expected: Ids of the nodes that should have been found.
            query: The query that should have been run.
            answer: The answer that should have been given.
            note: A remark.

        Raises:
            SemXPathError: There is no such entry or verdict, or a correction without content.
        """
        if verdict not in VERDICTS:
            raise SemXPathError(
                f"unknown verdict '{verdict}'", hint=f"one of {', '.join(VERDICTS)}"
            )
        if verdict == "corrected" and not (expected or query or answer):
            raise SemXPathError("a correction needs expected nodes, a query or an answer")
        entry = self.get(entry_id)
        entry = replace(
            entry,
            verdict=verdict,
            expected=entry.expected if expected is None else tuple(expected),
            corrected_query=entry.corrected_query if query is None else query,
            corrected_answer=(entry.corrected_answer if answer is None else self._redact(answer)),
            note=entry.note if note is None else self._redact(note),
        )
        self._write(entry)
        return entry

    def get(self, entry_id: str) -> FeedbackEntry:
        """One entry by its id.

        Raises:
            SemXPathError: There is none.
        """
        with self._lock, self._errors():
            row = self._db.execute("SELECT body FROM feedback WHERE id = ?", (entry_id,)).fetchone()
        if row is None:
            raise SemXPathError(
                "no such feedback entry", where=entry_id, hint="see 'semxpath feedback list'"
            )
        return FeedbackEntry.from_dict(json.loads(row[0]))

    def entries(
        self,
        *,
        since: dt.datetime | None = None,
        session: str | None = None,
        verdict: str | None = None,
    ) -> list[FeedbackEntry]:
        """Entries in order of time.

        Args:
            since: Only those from this moment on.
            session: Only those of one session.
            verdict: Only those with this label; ``""`` those without one.
        """
        with self._lock, self._errors():
            rows = self._db.execute("SELECT body FROM feedback ORDER BY at, rowid").fetchall()
        found = (FeedbackEntry.from_dict(json.loads(body)) for (body,) in rows)
        return [
            one
            for one in found
            if (since is None or (one.time is not None and one.time >= since))
            and (session is None or one.session == session)
            and (verdict is None or one.verdict == verdict)
        ]

    def remove(self, entry_ids: Iterable[str]) -> int:
        """Delete entries for good.

        Returns:
            How many there were.
        """
        with self._lock, self._errors():
            cursor = self._db.executemany(
                "DELETE FROM feedback WHERE id = ?", [(one,) for one in entry_ids]
            )
            return max(0, cursor.rowcount)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> FeedbackLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _redacted(self, entry: FeedbackEntry) -> FeedbackEntry:
        return replace(
            entry,
            question=self._redact(entry.question),
            answer=self._redact(entry.answer),
            query=self._redact(entry.query),
            plan=self._redact(entry.plan),
            comment=self._redact(entry.comment),
            corrected_answer=self._redact(entry.corrected_answer),
            note=self._redact(entry.note),
        )

    def _write(self, entry: FeedbackEntry) -> None:
        body = json.dumps(entry.to_dict(), ensure_ascii=False)
        body = body.encode("utf-8", "backslashreplace").decode()
        at = entry.time.astimezone(dt.UTC).isoformat() if entry.time else ""
        with self._lock, self._errors():
            self._db.execute(
                "INSERT INTO feedback (id, at, session, rating, verdict, body)"
                " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
                " rating = excluded.rating, verdict = excluded.verdict, body = excluded.body",
                (entry.id, at, entry.session, entry.rating, entry.verdict, body),
            )


@dataclass(frozen=True, slots=True)
class Trial:
    """What a system did with a question, in a regression run.

    Args:
        answer: Its answer.
        query: The query it ran.
        ids: Ids it found, best first.
        citations: Ids it cites.
    """

    answer: str = ""
    query: str = ""
    ids: tuple[str, ...] = ()
    citations: tuple[str, ...] = ()


def entry_of(
    question: str, answer: Any, *, session: str = "", seconds: float = 0.0
) -> FeedbackEntry:
    """The entry of an answer of ``semxpath ask`` or of a LlamaIndex response.

    Args:
        question: As asked.
        answer: A mapping like the one that ``ask --json`` prints, an object with ``to_dict``, or a
            LlamaIndex response with ``source_nodes``.
        session: Whose conversation.
        seconds: Time taken.

    Example:
        >>> entry_of("why?", {"answer": "so", "results": [{"id": "n1", "score": 0.5}]}).results
        (('n1', 0.5),)
    """
    if not isinstance(answer, Mapping):
        nodes = getattr(answer, "source_nodes", None)
        if nodes is not None:
            results = [{"id": one.node.node_id, "score": one.score or 0.0} for one in nodes]
            metadata = getattr(answer, "metadata", None) or {}
            answer = {"answer": str(answer), **metadata, "results": results}
        else:
            answer = answer.to_dict()
    intent = answer.get("intent", "")
    return FeedbackEntry(
        question=question,
        answer=str(answer.get("answer") or ""),
        query=str(answer.get("query") or ""),
        intent=str(intent.get("kind", "") if isinstance(intent, Mapping) else intent or ""),
        plan=str(answer.get("plan") or ""),
        results=tuple(
            (str(one["id"]), float(one.get("score", 0.0))) for one in answer.get("results", ())
        ),
        citations=tuple(
            str(one.get("id", "") if isinstance(one, Mapping) else one)
            for one in answer.get("citations", ())
        ),
        session=session,
        seconds=seconds,
    )
