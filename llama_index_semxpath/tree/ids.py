"""Deterministic node ids: same document id, same place, same content, same id."""

from __future__ import annotations

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
    digest = blake2b(digest_size=_ID_BYTES)
    for part in (doc_id, parent_id, kind, content, str(occurrence)):
        data = part.encode("utf-8", "surrogatepass")
        # A length before each part keeps ("ab", "c") apart from ("a", "bc").
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()
