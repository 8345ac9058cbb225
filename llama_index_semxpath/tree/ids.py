"""Deterministic node ids: same document id, same place, same content, same id."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

_ID_BYTES = 16


def node_id(doc_id: str, parent_id: str, kind: str, content: str, occurrence: int = 0) -> str:
    """Id of a node from its place and content.

    The place is the parent's id, not the position among siblings: an insert before a node must not
    change its id. Equal siblings are told apart by ``occurrence``.

    Args:
        doc_id: Id of the document.
        parent_id: Id of the parent node.
        kind: Kind of the node.
        content: What identifies the node among its siblings: its own text; a section's title; for a
            node without text of its own (list, table) its caption or nothing.
        occurrence: 0-based count of earlier siblings with the same kind and content.

    Returns:
        32 hexadecimal characters.

    Example:
        >>> node_id("d", "d", "Section", "Setup") == node_id("d", "d", "Section", "Setup")
        True
        >>> node_id("d", "d", "Section", "Setup") == node_id("d", "d", "Section", "Setup", 1)
        False
    """
    return ChildIds(doc_id, parent_id).id(kind, content, occurrence)


class ChildIds:
    """Ids of the children of one node: :func:`node_id` with the place hashed once for all.

    Args:
        doc_id: Id of the document.
        parent_id: Id of the parent node.

    Example:
        >>> ChildIds("d", "s").id("Paragraph", "Oil") == node_id("d", "s", "Paragraph", "Oil")
        True
    """

    __slots__ = ("_place",)

    def __init__(self, doc_id: str, parent_id: str) -> None:
        self._place = blake2b(_framed(doc_id) + _framed(parent_id), digest_size=_ID_BYTES)

    def id(self, kind: str, content: str, occurrence: int = 0) -> str:
        """Id of one child; see :func:`node_id`."""
        digest = self._place.copy()
        digest.update(_framed_word(kind) + _framed(content) + _framed_word(str(occurrence)))
        return digest.hexdigest()


def _framed(part: str) -> bytes:
    data = part.encode("utf-8", "surrogatepass")
    # A length before each part keeps ("ab", "c") apart from ("a", "bc").
    return len(data).to_bytes(8, "big") + data


# Kinds and occurrences are the same few words in every document.
_framed_word = lru_cache(maxsize=4096)(_framed)
