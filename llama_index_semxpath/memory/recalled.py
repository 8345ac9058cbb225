"""What a recall gives back: memories, best first, as entries, as text for a prompt, as JSON."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, overload

from llama_index_semxpath.index.match import Match
from llama_index_semxpath.memory.corpus import statement
from llama_index_semxpath.memory.references import Reference, Shown


@dataclass(frozen=True, slots=True)
class Recalled:
    """One memory that was found.

    Args:
        match: The node, in its place.
        score: Relevance and strength together; only the order means something.
        why: The signs that spoke for it, each with its share of the score.
        line: The memory as one line of a prompt, with its time and speaker.
        tokens: Price of that line.
        time: When it was said or written.
    """

    match: Match
    score: float
    why: dict[str, float]
    line: str
    tokens: int
    time: dt.datetime | None = None

    @property
    def id(self) -> str:
        """Id of the node."""
        return self.match.id

    @property
    def text(self) -> str:
        """What it says."""
        return self.match.text or statement(self.match)

    def to_dict(self) -> dict[str, Any]:
        """The memory as JSON values."""
        return {
            **self.match.to_dict(),
            "score": self.score,
            "why": dict(self.why),
            "tokens": self.tokens,
            "time": self.time.isoformat() if self.time else None,
        }


@dataclass(frozen=True)
class Recall(Sequence[Recalled]):
    """Memories that were found, best first.

    Args:
        entries: The memories.
        question: The question as it was searched, with references resolved.
        references: What "that one" and the like in it point to.
        note: What a person should know of how the question was read, ``""`` when nothing.
    """

    entries: tuple[Recalled, ...]
    question: str = ""
    references: tuple[Reference, ...] = ()
    note: str = ""

    @overload
    def __getitem__(self, place: int) -> Recalled: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Recalled]: ...
    def __getitem__(self, place: int | slice) -> Recalled | Sequence[Recalled]:
        return self.entries[place]

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Recalled]:
        return iter(self.entries)

    @property
    def tokens(self) -> int:
        """Price of all lines together."""
        return sum(one.tokens for one in self.entries)

    @property
    def candidates(self) -> tuple[Shown, ...]:
        """What an unclear "that one" may point to: the person must be asked."""
        return next((one.candidates for one in self.references if one.ambiguous), ())

    @property
    def shown(self) -> tuple[Shown, ...]:
        """The memories as the next turn may point to them."""
        return tuple(Shown(one.id, name_of(one.match), one.match.kind) for one in self.entries)

    @property
    def text(self) -> str:
        """The memories for a prompt, in order of time, each time written once."""
        ordered = sorted(self.entries, key=lambda one: one.time or _NEVER)
        lines = []
        for head, group in groupby(ordered, key=lambda one: _head(one.time)):
            lines += [f"[{head}]"] if head else []
            lines += [_body(one.match) for one in group]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        return {
            "question": self.question,
            "results": [one.to_dict() for one in self.entries],
            "tokens": self.tokens,
            "candidates": [{"id": one.id, "label": one.label} for one in self.candidates],
            "note": self.note,
        }


_NEVER = dt.datetime(1, 1, 1, tzinfo=dt.UTC)


def _head(time: dt.datetime | None) -> str:
    return f"{time:%Y-%m-%d %H:%M}" if time else ""


def _body(match: Match) -> str:
    speaker = match.attributes.get("speaker") if match.kind == "Turn" else None
    text = " ".join((match.text or statement(match)).split())
    return f"{speaker}: {text}" if speaker else text


def name_of(match: Any) -> str:
    """What a person would call a node: its name, title or text.

    Example:
        >>> from llama_index_semxpath.tree.node import TreeNode
        >>> name_of(TreeNode("1", "POI", "d", attributes={"name": "Harbour"}))
        'Harbour'
    """
    for name in ("name", "title", "value"):
        value = match.attributes.get(name)
        if isinstance(value, str) and value:
            return value
    return str(match.text or statement(match))
