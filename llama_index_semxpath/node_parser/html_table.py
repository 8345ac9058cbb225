"""HTML tables: data tables to rows, layout tables told from them."""

from __future__ import annotations

from collections.abc import Iterator

from llama_index_semxpath.node_parser.blocks import Block
from llama_index_semxpath.node_parser.html_prune import Element
from llama_index_semxpath.node_parser.tables import Cell, table_block
from llama_index_semxpath.tree.node import Value

_BREAK_NAMES = "address article blockquote br dd div dl dt li ol p pre section table td th tr ul"
_BREAKS = frozenset(_BREAK_NAMES.split())
_GROUP_ORDER = {"thead": 0, "tr": 1, "tbody": 1, "tfoot": 2}


def is_layout(table: Element) -> bool:
    """Whether a table only places things on the page.

    So it is when it says so, holds another table, or has one column and no header.
    """
    if table.get("role") in ("presentation", "none"):
        return True
    if next(table.iterdescendants("table"), None) is not None:
        return True
    widths = {sum(1 for _ in row.iterchildren("td", "th")) for row in _rows(table)}
    marked = next(table.iter("th", "caption"), None) is not None
    return (not widths or max(widths) <= 1) and not marked


def table_blocks(table: Element) -> list[Block]:
    """A data table as a block, after its caption as a paragraph.

    Example:
        >>> from lxml import html
        >>> table = html.fromstring("<table><tr><th>Item<th>Price<tr><td>Bolt<td>3</table>")
        >>> table_blocks(table)[0].children[0].attributes
        {'Item': 'Bolt', 'Price': 3}
    """
    rows = list(_rows(table))
    grid = [[_cell(cell) for cell in row.iterchildren("td", "th")] for row in rows]
    element = next(table.iterchildren("caption"), None)
    caption = _text(element)[0] if element is not None else ""
    kept = [place for place, row in enumerate(grid) if any(cell.text for cell in row)]
    if not kept:
        return [Block("Paragraph", caption)] if caption else []
    told = table.get("data-header-rows") or ""
    header_rows = int(told) if told.isdigit() and len(told) < 4 else None
    block = table_block([grid[y] for y in kept], caption=caption, header_rows=header_rows)
    _add_links(block, [rows[place] for place in kept])
    caption = str(block.attributes.get("caption", ""))
    return [Block("Paragraph", caption), block] if caption else [block]


def _rows(table: Element) -> Iterator[Element]:
    """Rows in the order in which a browser shows them: the foot last."""
    groups = [child for child in table if child.tag in _GROUP_ORDER]
    for group in sorted(groups, key=lambda child: _GROUP_ORDER[child.tag]):
        if group.tag == "tr":
            yield group
        else:
            yield from group.iterchildren("tr")


def _cell(element: Element) -> Cell:
    return Cell(
        _text(element)[0],
        _span(element.get("colspan"), 1),
        _span(element.get("rowspan"), 0),
        element.tag == "th" or element.getparent().getparent().tag == "thead",
    )


def _span(text: str | None, least: int) -> int:
    # HTML Standard: colspan is at most 1,000, rowspan at most 65,534.
    return min(max(int(text), least), 1000) if text and text.isdigit() and len(text) < 7 else 1


def _text(element: Element) -> tuple[str, list[str]]:
    """Text of a cell, blocks in it set apart by blanks, and the targets of its links."""
    if not len(element):
        return " ".join((element.text or "").split()), []
    from lxml import etree

    parts: list[str] = []
    links: list[str] = []
    for event, inner in etree.iterwalk(element, events=("start", "end")):
        if event == "start":
            if inner.tag in _BREAKS:
                parts.append(" ")
            elif inner.tag == "img":
                parts.append(inner.get("alt") or "")
            elif inner.tag == "a" and (target := inner.get("href")) and target[0] != "#":
                links.append(target)
            parts.append(inner.text or "")
        else:
            if inner.tag in _BREAKS:
                parts.append(" ")
            if inner is not element:
                parts.append(inner.tail or "")
    return " ".join("".join(parts).split()), links


def _add_links(table: Block, rows: list[Element]) -> None:
    # The header rows come first; rows of the body keep their order.
    for block, row in zip(reversed(table.children), reversed(rows), strict=False):
        links: Value = [
            link for cell in row.iterchildren("td", "th") if len(cell) for link in _text(cell)[1]
        ]
        if links and "links" not in block.attributes:
            block.attributes["links"] = links
