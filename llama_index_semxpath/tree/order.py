"""Order keys: strings that sort in document order, where a subtree is one range.

A key is a path of components joined by ``.``, one a level, as in Dewey order labels (Tatarinov et
al., SIGMOD 2002). A component is a fractional index (the idea behind Greenspan's "Implementing
fractional indexing"): between any two there is always a third, so an insert never rewrites the key
of another node. All characters are ASCII and sort bytewise: ``.`` < ``/`` < digits < letters, so

- a node sorts before its descendants and those before its next sibling;
- the subtree of ``key`` is ``key <= k < key + "/"`` in every store that can compare strings;
- the ancestors of a node are the prefixes of its key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from llama_index_semxpath.tree.node import TreeNode

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_VALUE = {digit: value for value, digit in enumerate(_DIGITS)}
_BASE = len(_DIGITS)
SEPARATOR = "."
_AFTER_SEPARATOR = "/"
#: First component of the keys of graph entities: they stand after every document.
ENTITY_PREFIX = "~"


def component(index: int) -> str:
    """The component for a whole-number place; ``component(i) < component(j)`` when ``i < j``.

    Example:
        >>> component(0), component(61), component(62), component(-1)
        ('a0', 'az', 'b00', 'Zz')
    """
    length, offset = 1, 0
    place = index if index >= 0 else -index - 1
    while place >= offset + _BASE**length:
        offset += _BASE**length
        length += 1
    place -= offset
    if index < 0:
        place = _BASE**length - 1 - place
    digits = ""
    for _ in range(length):
        place, digit = divmod(place, _BASE)
        digits = _DIGITS[digit] + digits
    head = chr(ord("a") + length - 1) if index >= 0 else chr(ord("Z") - length + 1)
    return head + digits


def component_between(before: str | None, after: str | None) -> str:
    """A component strictly between two siblings.

    Args:
        before: Component of the sibling before, ``None`` for the start.
        after: Component of the sibling after, ``None`` for the end.

    Returns:
        A component ``c`` with ``before < c < after``.

    Raises:
        ValueError: ``before`` does not sort before ``after``.

    Example:
        >>> component_between("a0", "a1"), component_between("a5", None)
        ('a0V', 'a6')
    """
    if before is not None and after is not None and before >= after:
        raise ValueError(f"{before!r} does not sort before {after!r}")
    if before is None and after is None:
        return component(0)
    if before is None:
        assert after is not None
        index, fraction = _split(after)
        return component(index) if fraction else component(index - 1)
    low, low_fraction = _split(before)
    if after is None:
        return component(low + 1)
    high, high_fraction = _split(after)
    if high - low >= 2:
        return component((low + high) // 2)
    if high == low:
        return component(low) + _midpoint(low_fraction, high_fraction)
    if high_fraction:
        return component(high)
    return component(low) + _midpoint(low_fraction, None)


def child_key(parent: str, part: str) -> str:
    """Key of a child from its parent's key (``""`` for the corpus root) and its component."""
    return f"{parent}{SEPARATOR}{part}" if parent else part


def parent_key(key: str) -> str:
    """Key of the parent, ``""`` for a document.

    Example:
        >>> parent_key("a0.a1.a2"), parent_key("a0")
        ('a0.a1', '')
    """
    return key.rpartition(SEPARATOR)[0]


def subtree_range(key: str) -> tuple[str, str]:
    """Half-open range ``[low, high)`` of the keys of a node and its descendants.

    Example:
        >>> subtree_range("a0.a1")
        ('a0.a1', 'a0.a1/')
    """
    return key, key + _AFTER_SEPARATOR


def ancestor_keys(key: str) -> list[str]:
    """Keys of the ancestors, outermost first.

    Example:
        >>> ancestor_keys("a0.a1.a2")
        ['a0', 'a0.a1']
    """
    parts = key.split(SEPARATOR)
    return [SEPARATOR.join(parts[: i + 1]) for i in range(len(parts) - 1)]


def assign_order(nodes: Iterable[TreeNode], document_part: str = "a0") -> Iterator[TreeNode]:
    """Sets ``order`` on the nodes of one document, given in document order, root first.

    Args:
        nodes: Nodes in pre-order; a parent comes before its children.
        document_part: Component of the document among its siblings.

    Yields:
        The same nodes, each with its key.

    Example:
        >>> nodes = [TreeNode("d", "Document", "d"), TreeNode("s", "Section", "d", parent="d")]
        >>> [n.order for n in assign_order(nodes)]
        ['a0', 'a0.a0']
    """
    keys: dict[str, str] = {}
    counts: dict[str, int] = {}
    for node in nodes:
        if node.parent is None:
            node.order = document_part
        else:
            place = counts.get(node.parent, 0)
            counts[node.parent] = place + 1
            node.order = child_key(keys[node.parent], component(place))
        keys[node.id] = node.order
        yield node


def _split(part: str) -> tuple[int, str]:
    """The whole-number place of a component, and its fraction digits."""
    head = part[0]
    length = ord(head) - ord("a") + 1 if head >= "a" else ord("Z") - ord(head) + 1
    place = 0
    for digit in part[1 : length + 1]:
        place = place * _BASE + _VALUE[digit]
    offset = sum(_BASE**n for n in range(1, length))
    if head >= "a":
        return place + offset, part[length + 1 :]
    return -(_BASE**length - place + offset), part[length + 1 :]


def _midpoint(low: str, high: str | None) -> str:
    """The shortest fraction between two; no fraction ends in the zero digit."""
    digits = ""
    place = 0
    while True:
        a = _VALUE[low[place]] if place < len(low) else 0
        b = _BASE if high is None else (_VALUE[high[place]] if place < len(high) else 0)
        if a == b:
            digits += _DIGITS[a]
        elif b - a > 1:
            return digits + _DIGITS[(a + b) // 2]
        elif high is not None and place + 1 < len(high):
            return digits + _DIGITS[b]
        else:
            digits += _DIGITS[a]
            high = None
        place += 1
