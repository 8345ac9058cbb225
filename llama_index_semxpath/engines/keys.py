"""XPath's axes over order keys alone, for stores that keep keys and no columns.

Every axis has two sides: :func:`key_ranges` gives ranges of keys that hold all of its nodes, to
be sent to a store, and :func:`on_axis` decides exactly which of the returned keys are on it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable

from llama_index_semxpath.engines.graph_query import MAX_RANGES, KeyRange
from llama_index_semxpath.tree.order import SEPARATOR, ancestor_keys, parent_key, subtree_range

#: The key of the corpus root, above all documents.
ROOT_KEY = ""
_EVERYWHERE: KeyRange = ("", "\U0010ffff")


def key_ranges(axis: str, context: Collection[str]) -> tuple[KeyRange, ...]:
    """Ranges that hold every node on an axis of the context; empty for anywhere.

    Args:
        axis: An axis of XPath.
        context: Keys of the context nodes, not empty; ``ROOT_KEY`` for the root.

    Example:
        >>> key_ranges("descendant", ["a0.a1", "a0.a1.a5", "a1"])
        (('a0.a1', 'a0.a1/'), ('a1', 'a1/'))
    """
    if ROOT_KEY in context and axis in ("child", "descendant", "descendant-or-self"):
        return ()
    ranges = merged(area for key in context if key for area in _RANGES[axis](key))
    if _EVERYWHERE in ranges:
        return ()
    if len(ranges) > MAX_RANGES:
        return ((ranges[0][0], ranges[-1][1]),)
    return tuple(ranges)


def on_axis(axis: str, context: Collection[str]) -> Callable[[str], bool]:
    """The exact test whether a key is on an axis of the context.

    Example:
        >>> is_child = on_axis("child", ["a0"])
        >>> is_child("a0.a1"), is_child("a0.a1.a1"), is_child("a0")
        (True, False, False)
    """
    return _TESTS[axis](context)


def merged(ranges: Iterable[KeyRange]) -> list[KeyRange]:
    """The same keys in the fewest ranges, ascending.

    Example:
        >>> merged([("b", "d"), ("a", "c"), ("x", "y")])
        [('a', 'd'), ('x', 'y')]
    """
    found: list[KeyRange] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return found


def _tree(key: str) -> str:
    """Key of the document or entity that a key stands in."""
    return key.partition(SEPARATOR)[0]


def _point(key: str) -> KeyRange:
    # No key lies between a key and its first descendant.
    return key, key + SEPARATOR


def _family(key: str) -> list[KeyRange]:
    parent = parent_key(key)
    return [subtree_range(parent)] if parent else [_EVERYWHERE]


_RANGES: dict[str, Callable[[str], list[KeyRange]]] = {
    "child": lambda key: [subtree_range(key)],
    "descendant": lambda key: [subtree_range(key)],
    "descendant-or-self": lambda key: [subtree_range(key)],
    "self": lambda key: [_point(key)],
    "parent": lambda key: [_point(parent_key(key))] if parent_key(key) else [],
    "ancestor": lambda key: [_point(above) for above in ancestor_keys(key)],
    "ancestor-or-self": lambda key: [_point(k) for k in (*ancestor_keys(key), key)],
    "following-sibling": _family,
    "preceding-sibling": _family,
    "following": lambda key: [subtree_range(_tree(key))],
    "preceding": lambda key: [subtree_range(_tree(key))],
}


def _child(context: Collection[str]) -> Callable[[str], bool]:
    parents = frozenset(context)
    return lambda key: parent_key(key) in parents


def _within(context: Collection[str], own: bool) -> Callable[[str], bool]:
    if ROOT_KEY in context:
        return lambda key: True
    outer = merged(map(subtree_range, context))
    lows = [low for low, _ in outer]
    # A context inside another one is a descendant of that one, so only outermost ones drop out.
    tops = frozenset() if own else frozenset(lows)

    def test(key: str) -> bool:
        place = bisect_right(lows, key) - 1
        return place >= 0 and key < outer[place][1] and key not in tops

    return test


def _among(keys: Iterable[str]) -> Callable[[str], bool]:
    allowed = frozenset(keys)
    return lambda key: key in allowed


def _best(
    context: Collection[str], group: Callable[[str], str], choose: Callable[[str, str], str]
) -> dict[str, str]:
    """For every group of context keys the one that decides for all of them."""
    found: dict[str, str] = {}
    for key in context:
        if key:
            name = group(key)
            found[name] = choose(found[name], key) if name in found else key
    return found


def _following_sibling(context: Collection[str]) -> Callable[[str], bool]:
    first = _best(context, parent_key, min)
    return lambda key: parent_key(key) in first and key > first[parent_key(key)]


def _preceding_sibling(context: Collection[str]) -> Callable[[str], bool]:
    last = _best(context, parent_key, max)
    return lambda key: parent_key(key) in last and key < last[parent_key(key)]


def _following(context: Collection[str]) -> Callable[[str], bool]:
    ends = _best([subtree_range(key)[1] for key in context if key], _tree_of_end, min)
    return lambda key: _tree(key) in ends and key >= ends[_tree(key)]


def _tree_of_end(end: str) -> str:
    return _tree(end[:-1])


def _preceding(context: Collection[str]) -> Callable[[str], bool]:
    last = _best(context, _tree, max)
    return lambda key: _tree(key) in last and subtree_range(key)[1] <= last[_tree(key)]


_TESTS: dict[str, Callable[[Collection[str]], Callable[[str], bool]]] = {
    "child": _child,
    "descendant": lambda context: _within(context, own=False),
    "descendant-or-self": lambda context: _within(context, own=True),
    "self": _among,
    "parent": lambda context: _among(parent_key(key) for key in context if key),
    "ancestor": lambda context: _among(above for key in context for above in ancestor_keys(key)),
    "ancestor-or-self": lambda context: _among(
        above for key in context for above in (*ancestor_keys(key), key)
    ),
    "following-sibling": _following_sibling,
    "preceding-sibling": _preceding_sibling,
    "following": _following,
    "preceding": _preceding,
}
