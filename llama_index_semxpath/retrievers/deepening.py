"""The effort ``deep``: what else is tried when the first look found little."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from llama_index_semxpath.retrievers.evidence import Found

#: Asks some routes, by name, a question of its own.
Again = Callable[[str, Sequence[str]], Mapping[str, Found]]


class Expander(Protocol):
    """Says a question in other words."""

    def parts(self, question: str) -> list[str]:
        """Simpler questions whose answers make up the answer; none where it is simple."""
        ...

    def supposed(self, question: str) -> str:
        """A passage as one that would answer the question; "" where there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Step:
    """One further look.

    Args:
        name: What it is called in the scores.
        said: What was done, for people.
        routes: What each route found.
        weight: What a place in its ranking is worth, against 1 for the question's own.
    """

    name: str
    said: str
    routes: Mapping[str, Found]
    weight: float


def deepen(
    question: str, again: Again, expander: Expander | None, *, enough: bool
) -> Iterator[Step]:
    """Further looks, one after the other.

    Args:
        question: What was asked.
        again: Asks routes.
        expander: A model's words for the question; ``None`` for what can be done without.
        enough: Whether the first look found plenty; then only the parts of the question are asked.
    """
    parts = [] if expander is None else expander.parts(question)
    for at, part in enumerate(parts, 1):
        yield Step(f"part {at}", f"asked “{part}”", again(part, ["tree"]), 0.7)
    if enough:
        yield Step("none", "the first look found enough", {}, 0.0)
        return
    yield Step(
        "wide", "meaning was asked too, in all documents", again(question, ["semantic"]), 0.5
    )
    passage = "" if expander is None else expander.supposed(question)
    if passage:
        # Hypothetical document embeddings (Gao et al., ACL 2023).
        found = again(passage, ["semantic"])
        yield Step("supposed", "looked for passages like one that would answer it", found, 0.5)
