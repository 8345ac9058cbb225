"""Nearest known names, for "did you mean"."""

from __future__ import annotations

from collections.abc import Iterable

#: Longer names are compared by their beginning.
_LONGEST = 64
#: Most names whose distance is worked out: an error must not take longer than the query.
_COMPARED = 500


def nearest(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """The known names nearest to a mistyped one, best first.

    Nearness is the edit distance with transpositions (Damerau 1964, restricted form), case folded,
    at most a third of the longer name (at least 1), and never the whole name; a name that contains
    the other also counts.

    Args:
        name: The name as typed.
        known: Names that exist.
        limit: Most names to return, at least 1.

    Returns:
        At most ``limit`` names.

    Example:
        >>> nearest("Sektion", ["Section", "Paragraph", "Selection"])
        ['Section', 'Selection']
    """
    wanted = name.casefold()[:_LONGEST]
    letters = set(wanted)
    ranked: list[tuple[float, str]] = []
    likely: list[tuple[int, str, str, int]] = []
    for other in known:
        folded = other.casefold()[:_LONGEST]
        longer = max(len(wanted), len(folded))
        allowed = max(1, longer // 3)
        if wanted == folded:
            ranked.append((-1.0, other))
            continue
        if min(len(wanted), len(folded)) >= 2 and (wanted in folded or folded in wanted):
            ranked.append((allowed + 1.0, other))
        # Letters that only one of them has bound the distance from below, at a tenth of its cost.
        others = set(folded)
        least = max(len(letters - others), len(others - letters), abs(len(wanted) - len(folded)))
        if least <= min(allowed, longer - 1):
            likely.append((least, other, folded, min(allowed, longer - 1)))
    likely.sort()
    for _, other, folded, allowed in likely[:_COMPARED]:
        distance = _distance(wanted, folded, allowed)
        if distance <= allowed:
            ranked.append((float(distance), other))
    ranked.sort()
    return list(dict.fromkeys(other for _, other in ranked))[:limit]


def _distance(a: str, b: str, bound: int) -> int:
    """Optimal string alignment distance; anything over ``bound`` is ``bound + 1``."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, char in enumerate(a, 1):
        older, before, row = before, row, [i] + [0] * len(b)
        for j, other in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (char != other))
            if i > 1 and j > 1 and char == b[j - 2] and a[i - 2] == other:
                cost = min(cost, older[j - 2] + 1)
            row[j] = cost
        if min(row) > bound:
            return bound + 1
    return row[-1]
