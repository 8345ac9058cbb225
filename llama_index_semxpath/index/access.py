"""Access labels: which are in force where, and what a principal may read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from llama_index_semxpath.errors import AccessError
from llama_index_semxpath.tree.node import TreeNode

#: Who asks, as the labels they carry; ``None`` carries none.
Principal = Iterable[str] | None
DefaultAccess = Literal["deny", "allow"]
#: Labels in force on a node; ``None`` for none at all.
Labels = frozenset[str] | None


def effective_labels(nodes: Sequence[TreeNode], inherited: Labels = None) -> list[Labels]:
    """The labels in force on each node: its own, else those of its parent.

    Args:
        nodes: The nodes of a document, or of a subtree, in pre-order.
        inherited: The labels in force on the parent of the first node.

    Example:
        >>> d = TreeNode("d", "Document", "d", labels=frozenset({"staff"}))
        >>> p = TreeNode("p", "Paragraph", "d", parent="d")
        >>> effective_labels([d, p]) == [frozenset({"staff"})] * 2
        True
    """
    above: dict[str | None, Labels] = {nodes[0].parent: inherited} if nodes else {}
    result = []
    for node in nodes:
        labels = node.labels if node.labels is not None else above[node.parent]
        above[node.id] = labels
        result.append(labels)
    return result


def reads_too(one: Labels, other: Labels) -> bool:
    """Whether everybody who may read a node labelled ``one`` may read one labelled ``other``.

    What is kept of a node for searching, its vector and its words, holds text of others only where
    this is so; else a reader could tell from a score what stands in a node that is hidden.

    Example:
        >>> staff, both = frozenset({"staff"}), frozenset({"staff", "board"})
        >>> reads_too(staff, both), reads_too(both, staff), reads_too(staff, None)
        (True, False, False)
    """
    return one == other or (one is not None and other is not None and one <= other)


def principal_labels(principal: Principal) -> frozenset[str]:
    """The labels of a principal.

    Raises:
        AccessError: It is a bare string (its letters are no labels) or holds something else.

    Example:
        >>> sorted(principal_labels(["staff", "board"]))
        ['board', 'staff']
    """
    if principal is None:
        return frozenset()
    if isinstance(principal, (str, bytes)):
        raise AccessError(
            "a principal is a collection of labels, not a string", hint="write [label]"
        )
    labels = frozenset(principal)
    if not all(isinstance(label, str) for label in labels):
        raise AccessError("a principal's labels must be strings")
    return labels


def visible_codes(
    label_sets: Sequence[frozenset[str] | None],
    principal: frozenset[str],
    default: DefaultAccess = "deny",
) -> list[bool]:
    """For each set of labels, whether the principal may read a node that carries it.

    A store that holds labels denies nodes without any, unless its default says otherwise; an empty
    set of labels admits nobody.

    Args:
        label_sets: The sets in force somewhere; ``None`` stands for nodes without labels.
        principal: The labels of who asks.
        default: What holds for nodes without labels.

    Example:
        >>> visible_codes([frozenset({"staff"}), frozenset({"board"}), None], frozenset({"staff"}))
        [True, False, False]
    """
    return [
        default == "allow" if labels is None else not principal.isdisjoint(labels)
        for labels in label_sets
    ]
