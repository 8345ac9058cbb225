"""Fusion of ranked lists by node id.

A node that two routes find is one result, and what each route said stays readable in ``why``.
Nothing here looks at text or at a content hash: equal words in two places stay two results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from llama_index_semxpath.errors import SemXPathError

#: What a route returns: node id and its score; ``None`` where the route gives none.
Ranked = Sequence[tuple[str, float | None]]

#: The constant of reciprocal rank fusion, as in the paper.
RRF_K = 60.0


@dataclass(slots=True)
class Fused:
    """One node after fusion.

    Args:
        id: Node id.
        score: Fused score in [0, 1].
        why: The score that each route gave (``None`` where it gave a rank only).
    """

    id: str
    score: float
    why: dict[str, float | None] = field(default_factory=dict)


def reciprocal_rank_fusion(
    routes: Mapping[str, Ranked],
    weights: Mapping[str, float] | None = None,
    *,
    k: float = RRF_K,
) -> list[Fused]:
    """Weighted reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009).

    The score of a node is ``sum(w / (k + rank)) * (k + 1) / sum(w)`` with ranks from 1, so a node
    that leads every route has 1.0. Ties keep the order of the routes, then that within a route.

    Args:
        routes: Route name to its ranked list. A list is read by score where it has scores (stable,
            a score of ``None`` sorts last); a node named twice counts at its first place.
        weights: Route name to weight, 0 or more; 1.0 where a route is not named. A route of
            weight 0 adds nothing, not even its nodes.
        k: Smoothing constant, > 0; the larger, the flatter.

    Returns:
        Nodes, best first.

    Raises:
        SemXPathError: A weight is negative or not a number, or ``k`` is not positive.

    Example:
        >>> lists = {"a": [("A", None), ("B", None)], "b": [("D", None), ("A", None)]}
        >>> [hit.id for hit in reciprocal_rank_fusion(lists)]
        ['A', 'D', 'B']
        >>> [hit.id for hit in reciprocal_rank_fusion(lists, {"b": 0})]
        ['A', 'B']
    """
    if not k > 0:
        raise SemXPathError("k of reciprocal rank fusion must be above 0", where=str(k))

    def gain(rank: int, score: float | None) -> float:
        return (k + 1.0) / (k + rank)

    return _fuse(routes, weights, gain)


def score_fusion(
    routes: Mapping[str, Ranked], weights: Mapping[str, float] | None = None
) -> list[Fused]:
    """Weighted mean of calibrated scores (CombSUM, Fox and Shaw 1994, over comparable scores).

    Args:
        routes: Route name to its ranked list; scores lie in [0, 1], ``None`` counts as 0.
        weights: As in :func:`reciprocal_rank_fusion`.

    Returns:
        Nodes, best first.

    Raises:
        SemXPathError: A weight is negative or not a number.

    Example:
        >>> [(hit.id, hit.score) for hit in score_fusion({"a": [("A", 0.8)], "b": [("A", 0.4)]})]
        [('A', 0.6)]
    """

    def gain(rank: int, score: float | None) -> float:
        return 0.0 if score is None else min(max(score, 0.0), 1.0)

    return _fuse(routes, weights, gain)


def _fuse(
    routes: Mapping[str, Ranked],
    weights: Mapping[str, float] | None,
    gain: Callable[[int, float | None], float],
) -> list[Fused]:
    shares = {name: _weight(name, weights) for name in routes}
    total = sum(shares.values())
    fused: dict[str, Fused] = {}
    for name, ranked in routes.items():
        if shares[name] == 0.0:
            continue
        for rank, (node, score) in enumerate(_first_places(ranked), start=1):
            hit = fused.setdefault(node, Fused(node, 0.0))
            hit.score += shares[name] * gain(rank, score)
            hit.why[name] = score
    for hit in fused.values():
        # Rounding makes a + b and b + a one number, so that ties are ties on every machine.
        hit.score = round(hit.score / total, 12)
    return sorted(fused.values(), key=lambda hit: -hit.score)


def _first_places(ranked: Ranked) -> list[tuple[str, float | None]]:
    best: dict[str, float | None] = {}
    for node, score in ranked:
        best.setdefault(node, None if score is not None and math.isnan(score) else score)
    return sorted(best.items(), key=lambda item: math.inf if item[1] is None else -item[1])


def _weight(name: str, weights: Mapping[str, float] | None) -> float:
    weight = 1.0 if weights is None else float(weights.get(name, 1.0))
    if not (weight >= 0.0 and math.isfinite(weight)):
        raise SemXPathError(
            "a route's weight must be a number of 0 or more", where=f"{name}={weight}"
        )
    return weight


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node stands, for telling ancestor from descendant.

    Args:
        order: Order key of the node.
        tokens: Tokens of its whole subtree.
    """

    order: str
    tokens: int


def resolve_overlap(
    hits: Sequence[Fused], places: Mapping[str, Place], *, fill: float = 0.6, largest: int = 300
) -> list[Fused]:
    """Keeps one of an ancestor and its descendants.

    The smaller hit wins, since it says more per token, unless the hits below an ancestor already
    fill it: then the whole ancestor reads better than its shreds.

    Args:
        hits: Nodes, best first.
        places: Order key and subtree tokens by node id; a hit without one is kept as it is.
        fill: Share of an ancestor's tokens, in (0, 1], that its hits must hold for it to win.
        largest: Tokens of the largest ancestor that may win: more would starve other hits.

    Returns:
        The remaining nodes, best first; the survivor of a pair takes the better score and the
        scores by route that only the other one had.

    Example:
        >>> places = {"s": Place("a0.a1", 100), "p": Place("a0.a1.a0", 20)}
        >>> hits = [Fused("s", 0.9), Fused("p", 0.8)]
        >>> [hit.id for hit in resolve_overlap(hits, places)]
        ['p']
        >>> [hit.id for hit in resolve_overlap(hits, places, fill=0.1)]
        ['s']
    """
    found = [hit for hit in hits if hit.id in places]
    below = {hit.id: _inside(hit, found, places) for hit in found}
    gone: set[str] = set()
    # Outermost first, so that an ancestor that stays swallows everything below it at once.
    for hit in sorted(found, key=lambda item: places[item.id].order):
        inner = [other for other in below[hit.id] if other.id not in gone]
        if hit.id in gone or not inner:
            continue
        # Only the outermost of the inner hits count, lest a nested one counts twice.
        outer = [one for one in inner if not any(one in below[two.id] for two in inner)]
        share = sum(places[one.id].tokens for one in outer) / max(1, places[hit.id].tokens)
        if share >= fill and places[hit.id].tokens <= largest:
            gone.update(other.id for other in inner)
            _merge(hit, inner)
        else:
            gone.add(hit.id)
            _merge(max(outer, key=lambda one: one.score), [hit])
    rest = [hit for hit in hits if hit.id not in gone]
    return sorted(rest, key=lambda hit: -hit.score)


def _inside(hit: Fused, found: Sequence[Fused], places: Mapping[str, Place]) -> list[Fused]:
    prefix = places[hit.id].order + "."
    return [other for other in found if places[other.id].order.startswith(prefix)]


def _merge(keeper: Fused, others: Sequence[Fused]) -> None:
    for other in others:
        keeper.score = max(keeper.score, other.score)
        for route, score in other.why.items():
            keeper.why.setdefault(route, score)
