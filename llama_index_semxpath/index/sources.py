"""LlamaIndex documents to trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

from llama_index.core.schema import Document

from llama_index_semxpath.errors import AttributeValueError, SourceError
from llama_index_semxpath.index.codec import check_text, printable
from llama_index_semxpath.node_parser.base import format_of
from llama_index_semxpath.node_parser.options import ParseOptions
from llama_index_semxpath.node_parser.registry import parse_bytes
from llama_index_semxpath.tree.node import TreeNode

#: Metadata key with the access labels of a document.
ACCESS_KEY = "acl"


def document_tree(document: Document, options: ParseOptions | None = None) -> list[TreeNode]:
    """The tree of a LlamaIndex document, under the document's id.

    Metadata become attributes of the root; the key ``acl`` holds access labels.

    Args:
        document: The document.
        options: How to parse.

    Raises:
        SourceError: It is no document, or its text cannot be parsed.
        AttributeValueError: ``acl`` is not a list of strings.
    """
    if not isinstance(document, Document):
        raise SourceError(f"a {type(document).__name__} is no LlamaIndex Document")
    metadata = dict(document.metadata)
    doc_id = check_text(document.doc_id, "id", document.doc_id)
    labels = access_labels(metadata.pop(ACCESS_KEY, None), doc_id)
    text = document.text or ""
    check_text(text, "text", doc_id)
    name = str(metadata.get("file_name") or metadata.get("file_path") or doc_id)
    if not text.strip():
        raise SourceError("the document has no text", where=printable(doc_id))
    nodes = parse_bytes(
        text, PurePath(name).name or doc_id, format_of(text, metadata),
        doc_id=doc_id, options=options,
    )  # fmt: skip
    nodes[0].attributes.update(metadata)
    nodes[0].labels = labels
    return nodes


def access_labels(value: Any, where: str) -> frozenset[str] | None:
    """Access labels as a writer gives them; ``None`` sets none.

    Raises:
        AttributeValueError: They are no collection of strings.

    Example:
        >>> sorted(access_labels(["staff", "board"], "d"))
        ['board', 'staff']
    """
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Iterable) or isinstance(value, Mapping):
        raise AttributeValueError(
            f"'{ACCESS_KEY}' must be a list of labels", where=printable(where)
        )
    labels = list(value)
    if not all(isinstance(label, str) for label in labels):
        raise AttributeValueError(
            f"'{ACCESS_KEY}' holds something other than a string", where=printable(where)
        )
    return frozenset(labels)
