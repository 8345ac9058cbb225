"""Documents that unstructured or docling have already taken apart."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from llama_index_semxpath.errors import SourceError
from llama_index_semxpath.node_parser.blocks import Block, Parsed
from llama_index_semxpath.node_parser.numbering import number_attributes
from llama_index_semxpath.node_parser.recovery import recover_headings
from llama_index_semxpath.node_parser.tables import Cell, table_block

# Running heads, feet and page marks are not text.
_DROPPED = frozenset({"Header", "Footer", "PageNumber", "PageBreak", "page_header", "page_footer"})
_PARAGRAPHS = frozenset({"NarrativeText", "Text", "UncategorizedText", "Address", "EmailAddress"})


def from_unstructured(elements: Iterable[Any]) -> Parsed:
    """Blocks of a document partitioned by ``unstructured``.

    Headings keep ``category_depth`` where it tells levels apart; where all have the same one,
    levels are recovered from their numbers.

    Args:
        elements: ``unstructured.documents.elements.Element`` objects in document order.

    Raises:
        SourceError: Something in the list is no element.
    """
    blocks: list[Block] = []
    depths: set[int | None] = set()
    for element in elements:
        category = getattr(element, "category", None)
        if not isinstance(category, str):
            raise SourceError(f"{type(element).__name__} is no unstructured element")
        if category in _DROPPED:
            continue
        text = str(getattr(element, "text", "") or "").strip()
        metadata = getattr(element, "metadata", None)
        page = getattr(metadata, "page_number", None)
        if category == "Title":
            depths.add(getattr(metadata, "category_depth", None))
        _append(blocks, _element(category, text, metadata), page)
    if len(depths) < 2:
        for block in blocks:
            block.level = None
        blocks = recover_headings(blocks)
    return Parsed(blocks, {}, "unstructured")


def _append(blocks: list[Block], block: Block | None, page: int | None) -> None:
    if block is None:
        return
    block.page = page
    if block.kind == "ListItem":
        if not blocks or blocks[-1].kind != "List":
            blocks.append(Block("List", page=page))
        blocks[-1].children.append(block)
    elif block.kind == "Code" and blocks and blocks[-1].kind == "Code":
        blocks[-1].text += "\n" + block.text
    else:
        blocks.append(block)


def _element(category: str, text: str, metadata: Any) -> Block | None:
    if category == "Table":
        return _html_table(getattr(metadata, "text_as_html", None), text)
    if category == "Title" and text:
        depth = getattr(metadata, "category_depth", None) or 0
        title = " ".join(text.split())
        return Block("Heading", title, level=depth + 1, attributes=number_attributes(title))
    if category in ("Image", "Picture", "Figure"):
        return Block("Figure", text, attributes={"alt": text} if text else {})
    if not text:
        return None
    kinds = {"ListItem": "ListItem", "CodeSnippet": "Code", "Formula": "Formula"}
    return Block(kinds.get(category, "Paragraph"), text)


def _html_table(html: str | None, text: str) -> Block | None:
    from llama_index_semxpath.node_parser.html import parse_fragment

    if html:
        for block in parse_fragment(html):
            if block.kind == "Table":
                block.span = None
                return block
    return Block("Paragraph", text) if text else None


def from_docling(document: Any) -> Parsed:
    """Blocks of a ``DoclingDocument``.

    Args:
        document: The document; only its public ``iterate_items()`` is used.

    Raises:
        SourceError: The object is no docling document.
    """
    items = getattr(document, "iterate_items", None)
    if items is None:
        raise SourceError(f"{type(document).__name__} is no docling document")
    blocks: list[Block] = []
    for item, _ in items():
        label = str(getattr(getattr(item, "label", ""), "value", getattr(item, "label", "")))
        if label in _DROPPED:
            continue
        provenance = getattr(item, "prov", None) or []
        page = getattr(provenance[0], "page_no", None) if provenance else None
        _append(blocks, _docling_item(item, label), page)
    levels = {block.level for block in blocks if block.kind == "Heading"}
    if len(levels) < 2:
        for block in blocks:
            block.level = None
        blocks = recover_headings(blocks)
    return Parsed(blocks, {"title": str(getattr(document, "name", "") or "")}, "docling")


def _docling_item(item: Any, label: str) -> Block | None:
    text = str(getattr(item, "text", "") or "").strip()
    if label == "table":
        return _docling_table(item)
    if label in ("title", "section_header") and text:
        level = 1 if label == "title" else int(getattr(item, "level", 1) or 1) + 1
        return Block("Heading", text, level=level, attributes=number_attributes(text))
    if label in ("picture", "chart"):
        return Block("Figure", text)
    if not text:
        return None
    kinds = {"list_item": "ListItem", "code": "Code", "formula": "Formula"}
    return Block(kinds.get(label, "Paragraph"), text)


def _docling_table(item: Any) -> Block | None:
    cells = getattr(getattr(item, "data", None), "table_cells", None) or []
    rows: dict[int, list[tuple[int, Cell]]] = {}
    for cell in cells:
        made = Cell(
            str(cell.text or ""),
            int(getattr(cell, "col_span", 1) or 1),
            int(getattr(cell, "row_span", 1) or 1),
            bool(getattr(cell, "column_header", False)),
        )
        rows.setdefault(int(cell.start_row_offset_idx), []).append(
            (int(cell.start_col_offset_idx), made)
        )
    if not rows:
        return None
    grid = [
        [cell for _, cell in sorted(rows.get(y, []), key=lambda pair: pair[0])]
        for y in range(max(rows) + 1)
    ]
    return table_block(grid)
