"""Which evidence is kept: weights of sources, repeated texts folded, variety."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from llama_index_semxpath.retrievers.evidence import Evidence
from llama_index_semxpath.retrievers.words import words

#: Texts of fewer words repeat by chance ("none", a label): they are never folded.
_LEAST_WORDS = 12
#: Share of common words from which two texts say the same.
_SAME = 0.9


def weigh_sources(evidence: Sequence[Evidence], weights: Mapping[str, float]) -> list[Evidence]:
    """Evidence by score times the weight of its document: a rule outranks a note.

    Args:
        evidence: Of one route, best first.
        weights: Weight of each document, > 0; 1.0 where it has none. Where all weigh the same
            nothing changes.
    """
    found = [weights.get(one.match.document, 1.0) for one in evidence]
    heaviest = max(found, default=1.0)
    if heaviest <= 0.0 or all(weight == heaviest for weight in found):
        return list(evidence)
    weighed = [
        one.scored(one.score * max(0.0, weight) / heaviest, one.why)
        for one, weight in zip(evidence, found, strict=True)
    ]
    return sorted(weighed, key=lambda one: -one.score)


def fold_repeats(evidence: Sequence[Evidence], *, across: bool = True) -> list[Evidence]:
    """Evidence without texts that repeat a better one, word for word or nearly so.

    The kept one names the others in ``also``: nothing is lost to who must cite every place.

    Args:
        evidence: Best first.
        across: Whether a text of another document is a repetition; a comparison of documents
            needs what both say.

    Returns:
        The evidence that says something new; nodes that the question named are always kept.
    """
    kept: list[Evidence] = []
    said: list[frozenset[str]] = []
    for one in evidence:
        new = frozenset(words(one.text, pairs=False))
        twin = None
        if not one.exact and len(new) >= _LEAST_WORDS:
            twin = next(
                (
                    place
                    for place, (other, old) in enumerate(zip(kept, said, strict=True))
                    if _alike(new, old)
                    and one.match.id != other.match.id
                    and (across or one.match.document == other.match.document)
                ),
                None,
            )
        if twin is None:
            kept.append(one)
            said.append(new)
        else:
            kept[twin] = replace(kept[twin], also=(*kept[twin].also, one.match.id))
    return kept


def diversify(evidence: Sequence[Evidence], variety: float) -> list[Evidence]:
    """Evidence reordered so that each piece adds to those before it.

    Maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998) with shared words as
    likeness.

    Args:
        evidence: Best first.
        variety: 0 keeps the order, 1 looks at what is new alone.
    """
    if variety <= 0.0 or len(evidence) < 3:
        return list(evidence)
    rest = [(one, frozenset(words(one.text, pairs=False))) for one in evidence]
    chosen: list[tuple[Evidence, frozenset[str]]] = []
    likeness = dict.fromkeys(range(len(rest)), 0.0)
    while likeness:
        best = max(
            likeness, key=lambda at: (1 - variety) * rest[at][0].score - variety * likeness[at]
        )
        del likeness[best]
        chosen.append(rest[best])
        for at in likeness:
            likeness[at] = max(likeness[at], _share(rest[at][1], rest[best][1]))
    return [one for one, _ in chosen]


def _alike(one: frozenset[str], two: frozenset[str]) -> bool:
    if min(len(one), len(two)) < _SAME * max(len(one), len(two)):
        return False
    return one == two or _share(one, two) >= _SAME


def _share(one: frozenset[str], two: frozenset[str]) -> float:
    """Common words of all words (Jaccard)."""
    together = len(one | two)
    return len(one & two) / together if together else 0.0


def unique(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Evidence with each node, or excerpt of it, once."""
    found: dict[str, Evidence] = {}
    for one in evidence:
        found.setdefault(one.key, one)
    return list(found.values())
