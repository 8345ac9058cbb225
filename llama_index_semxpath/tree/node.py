"""The neutral node that front ends make, the catalog keeps and the columns are built from."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

#: What an attribute may hold: one scalar, or a list of strings.
Value = str | int | float | bool | dt.date | dt.datetime | list[str]

#: Kinds that every document tree may hold; records and memory declare their own.
DOCUMENT_KINDS = (
    "Document",
    "Section",
    "Paragraph",
    "List",
    "ListItem",
    "Table",
    "Row",
    "Cell",
    "Figure",
    "Code",
    "Quote",
    "Formula",
)


@dataclass(slots=True)
class TreeNode:
    """One node of a tree, with its parent named by id.

    Args:
        id: Deterministic id, the primary key of the node in every store.
        kind: Element name of the language (``Section``, ``Row``, ``Contract`` …).
        doc: Id of the document that the node belongs to (a document's own id for its root).
        parent: Id of the parent, ``None`` for the root of a document.
        text: The node's own text, without that of its descendants. A ``Section``'s own text is its
            heading as a reader sees it, so it equals ``attributes["title"]``.
        attributes: Everything that ``@name`` reads, except the fields below.
        order: Order key (see ``tree.order``); keys sort in document order.
        level: Heading level of a ``Section`` (1 and up), 0 for a ``Document``, else ``None``.
        tokens: Token count of ``text``.
        page: 1-based page in the source, where it has pages.
        span: ``[start, end)`` character offsets in the source, where the source is text.
        labels: Access labels set on this node itself; ``None`` inherits those of the parent.

    Example:
        >>> TreeNode(id="d", kind="Document", doc="d").is_root
        True
    """

    id: str
    kind: str
    doc: str
    parent: str | None = None
    text: str = ""
    attributes: dict[str, Value] = field(default_factory=dict)
    order: str = ""
    level: int | None = None
    tokens: int = 0
    page: int | None = None
    span: tuple[int, int] | None = None
    labels: frozenset[str] | None = None

    @property
    def is_root(self) -> bool:
        """Whether the node is the root of its document."""
        return self.parent is None

    @property
    def title(self) -> str | None:
        """The heading as a reader sees it, number included."""
        value = self.attributes.get("title")
        return value if isinstance(value, str) else None

    @property
    def number(self) -> str | None:
        """The number as written (``3.2``, ``第五条``, ``Appendix B``)."""
        value = self.attributes.get("number")
        return value if isinstance(value, str) else None
