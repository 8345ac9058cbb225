"""What a route finds: a node, or a part of its text, with the scores that speak for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from llama_index_semxpath.index.match import Match

#: Labels that a reader holds; ``None`` holds none.
Principal = Sequence[str] | frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A node, or an excerpt of it, that may answer a question.

    Args:
        match: The node in its place.
        score: In [0, 1].
        why: Scores by route.
        start: Where the excerpt begins in the node's text.
        end: Where it ends; ``None`` for the whole text.
        exact: Whether the question named this very node.
        also: Ids of nodes that say the same and were folded into this one.
    """

    match: Match
    score: float
    why: Mapping[str, float | None] = field(default_factory=dict)
    start: int = 0
    end: int | None = None
    exact: bool = False
    also: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Node id, with the excerpt's start where it is one; fusion goes by it."""
        return self.match.id if self.end is None else f"{self.match.id}#{self.start}"

    @property
    def text(self) -> str:
        """The excerpt."""
        return self.match.text[self.start : self.end].strip()

    def scored(self, score: float, why: Mapping[str, float | None]) -> Evidence:
        """The same evidence with other scores."""
        return replace(self, score=score, why=why)


@dataclass(frozen=True, slots=True)
class Found:
    """What one route says to a question.

    Args:
        evidence: Best first.
        query: The SemXPath that found it, where it was one.
        reasons: What the route read in the question.
        topic: Words of the question that the route's query says nothing about.
        titled: Whether the query rests on titles said without any sign that they are places.
        missing: Places that the question names and the documents do not have.
        coverage: Share of the question's words that the best evidence holds, in [0, 1].
        problem: Why the route could not answer; the others still do.
        decisive: Whether the question is answered by this route alone, be it by nothing.
        value: What the question asks to be counted, where it does.
        notes: What was done on the way, for people.
    """

    evidence: Sequence[Evidence] = ()
    query: str | None = None
    reasons: tuple[str, ...] = ()
    topic: tuple[str, ...] = ()
    titled: bool = False
    missing: tuple[str, ...] = ()
    coverage: float = 1.0
    problem: str | None = None
    decisive: bool = False
    value: float | None = None
    notes: tuple[str, ...] = ()


def whole(matches: Sequence[Match], route: str, *, exact: bool = False) -> list[Evidence]:
    """Matches as evidence of one route."""
    return [Evidence(one, one.score, {route: one.score}, exact=exact) for one in matches]


def without_headings(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Evidence without bare headings of sections that it quotes: every path says them already."""
    told = {
        (one.match.document, one.match.path[: depth + 1])
        for one in evidence
        if one.match.kind != "Section"
        for depth in range(len(one.match.path))
    }
    return [
        one
        for one in evidence
        if one.exact
        or one.match.kind != "Section"
        or (one.match.document, one.match.path) not in told
    ]
