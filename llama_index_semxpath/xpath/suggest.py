"""Nearest known names, for "did you mean"."""

from __future__ import annotations

from collections.abc import Iterable


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
    wanted = name.casefold()[:64]
    ranked: list[tuple[float, str]] = []
    for other in known:
        folded = other.casefold()[:64]
        allowed = max(1, max(len(wanted), len(folded)) // 3)
        if wanted == folded:
            ranked.append((-1.0, other))
        elif abs(len(wanted) - len(folded)) <= allowed and (
            (distance := _distance(wanted, folded, allowed)) <= allowed
            and distance < max(len(wanted), len(folded))
        ):
            ranked.append((float(distance), other))
        elif min(len(wanted), len(folded)) >= 2 and (wanted in folded or folded in wanted):
            ranked.append((allowed + 1.0, other))
    return [other for _, other in sorted(ranked)[:limit]]


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
