"""Checks a document's nodes and computes what their rows hold, before anything is written."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.access import Labels, effective_labels
from llama_index_semxpath.index.codec import check_text, digest, encode_attributes, printable
from llama_index_semxpath.index.embedding_text import Title, embedding_texts, heading_paths
from llama_index_semxpath.index.rows import PreparedNode
from llama_index_semxpath.tree.node import TreeNode

#: The longest id, in UTF-8 bytes: what a Milvus primary key holds.
MAX_ID_BYTES = 65_535


def prepare_nodes(nodes: Sequence[TreeNode]) -> list[PreparedNode]:
    """Everything about a document's rows that does not depend on the store.

    Args:
        nodes: All nodes of one document in pre-order, the root first.

    Returns:
        One prepared node each, in the same order.

    Raises:
        StoreError: The nodes are no tree of one document, or two have the same id.
        AttributeValueError: A text or value that cannot be stored; the message names it.

    Example:
        >>> [p.path for p in prepare_nodes([TreeNode("d", "Document", "d")])]
        ['']
    """
    check_tree(nodes)
    return prepare_subtree(nodes)


def prepare_subtree(
    nodes: Sequence[TreeNode], around: Sequence[Title] = (), inherited: Labels = None
) -> list[PreparedNode]:
    """:func:`prepare_nodes` for a node with all that is below it, of a tree that was checked.

    Args:
        nodes: The nodes in pre-order.
        around: Titles of the nodes around the first one, outermost first.
        inherited: The access labels in force on its parent.
    """
    for node in nodes:
        check_strings(node)
    labels = effective_labels(nodes, inherited)
    paths = heading_paths(nodes, around, labels)
    embeds = embedding_texts(nodes, paths, labels)
    prepared = []
    for node, path, embed in zip(nodes, paths, embeds, strict=True):
        attributes = encode_attributes(node.attributes, node.id)
        hash_ = digest(
            node.kind, str(node.level), str(node.tokens), path, node.text, attributes,
            "" if node.labels is None else repr(sorted(node.labels)),
        )  # fmt: skip
        vector = None if embed is None else digest(embed)
        prepared.append(PreparedNode(node, attributes, path, hash_, embed, vector))
    return prepared


def check_tree(nodes: Sequence[TreeNode]) -> None:
    """Checks that the nodes are one document's tree in pre-order.

    Raises:
        StoreError: They are not.
    """
    if not nodes:
        raise StoreError("a document without nodes cannot be stored")
    for node in nodes:
        if not isinstance(node, TreeNode):
            raise StoreError(f"a {type(node).__name__} is no node of a tree")
    root = nodes[0]
    if root.parent is not None or root.id != root.doc:
        raise StoreError(
            "the first node of a document must be its root, with the document's id",
            where=printable(root.id),
        )
    seen: set[str] = set()
    for node in nodes:
        fault = ""
        if node.id in seen:
            fault = "two nodes of a document have the same id"
        elif node.doc != root.doc:
            fault = f"the node belongs to document {printable(node.doc)}"
        elif node is not root and node.parent not in seen:
            fault = "the node's parent does not come before it"
        if fault:
            raise StoreError(fault, where=printable(node.id))
        seen.add(node.id)


def check_strings(node: TreeNode) -> None:
    """Checks that every store can hold the strings of a node.

    Raises:
        StoreError: Its id is empty or too long.
        AttributeValueError: An id, kind, label or text that cannot be stored.
    """
    check_text(node.id, "id", node.id)
    if not node.id or len(node.id.encode()) > MAX_ID_BYTES:
        raise StoreError(f"an id must have 1 to {MAX_ID_BYTES} bytes", where=printable(node.id))
    check_text(node.kind, "kind", node.id)
    check_text(node.text, "text", node.id)
    for label in node.labels or ():
        check_text(label, "access label", node.id)
