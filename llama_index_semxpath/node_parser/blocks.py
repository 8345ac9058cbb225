"""The neutral blocks that every front end makes and the tree builder nests into sections."""

from __future__ import annotations

from dataclasses import dataclass, field

from llama_index_semxpath.tree.node import Value


@dataclass(slots=True)
class Font:
    """How a line is set, where the source knows it.

    Args:
        size: Height in points, > 0.
        bold: Whether the whole line is bold.
        name: Name of the face, for telling body from headings.
    """

    size: float
    bold: bool = False
    name: str = ""


@dataclass(slots=True)
class Block:
    """A piece of a source, in source order.

    Args:
        kind: ``Heading``, ``Paragraph``, ``List``, ``ListItem``, ``Table``, ``Row``, ``Code``,
            ``Quote``, ``Figure``, ``Formula``, or the kind of a record.
        text: Own text as a reader sees it (no markup), without that of ``children``.
        level: Level of a ``Heading``, 1 and up; ``None`` asks heading recovery to find it.
        children: Nested blocks (items of a list, rows of a table, content of a quote).
        attributes: Attributes of the node that the block becomes.
        span: ``[start, end)`` character offsets in the source text.
        page: 1-based page.
        font: How the block is set, where known.
        confidence: How sure the front end is of the block's kind and level, 0 to 1.
    """

    kind: str
    text: str = ""
    level: int | None = None
    children: list[Block] = field(default_factory=list)
    attributes: dict[str, Value] = field(default_factory=dict)
    span: tuple[int, int] | None = None
    page: int | None = None
    font: Font | None = None
    confidence: float = 1.0


@dataclass(slots=True)
class Parsed:
    """What a front end makes of one source.

    Args:
        blocks: Top-level blocks in source order; headings are not nested yet.
        attributes: Attributes of the ``Document`` (front matter, properties, ``title``).
        format: Name of the front end (``markdown``, ``html``, ``text``, ``docx`` …).
        root: Kind of the root: ``Document``, or the top element of a record.
    """

    blocks: list[Block]
    attributes: dict[str, Value] = field(default_factory=dict)
    format: str = "text"
    root: str = "Document"
