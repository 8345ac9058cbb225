"""Slides: one section a slide, lists by their levels, tables with merged cells, notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from llama_index_semxpath.node_parser.archive import Archive, relations
from llama_index_semxpath.node_parser.blocks import Block, Parsed
from llama_index_semxpath.node_parser.inline import figure
from llama_index_semxpath.node_parser.numbering import number_attributes
from llama_index_semxpath.node_parser.options import ParseOptions
from llama_index_semxpath.node_parser.properties import core_properties
from llama_index_semxpath.node_parser.tables import Cell, table_block

if TYPE_CHECKING:
    from lxml import etree

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_P14 = "{http://schemas.microsoft.com/office/powerpoint/2010/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_TITLES = frozenset({"title", "ctrTitle"})
# Date, slide number and the like repeat on every slide.
_RUNNING = frozenset({"dt", "ftr", "sldNum", "hdr"})
_LISTS = frozenset({"body", "obj", ""})


def parse_pptx(source: bytes | str, options: ParseOptions) -> Parsed:
    """Blocks of a presentation.

    Slides are sections in the order shown, below the presentation's own sections where it has
    some; ``@page`` is the number of the slide. Notes are paragraphs with ``@role`` ``notes``.

    Args:
        source: The file.
        options: How to parse.

    Raises:
        SourceError: The file is no presentation, is protected, damaged or a bomb.
    """
    archive = Archive(source if isinstance(source, bytes) else source.encode(), "PPTX")
    if "ppt/presentation.xml" not in archive:
        raise archive.broken("it holds no presentation")
    root = archive.xml("ppt/presentation.xml")
    parts = relations(archive, "ppt/presentation.xml")
    sections = _sections(root)
    attributes = core_properties(archive)
    blocks: list[Block] = []
    for page, item in enumerate(root.iter(f"{_P}sldId"), start=1):
        name = sections.get(item.get("id") or "")
        if name is not None:
            blocks.append(Block("Heading", name, level=1, page=page))
        _, path = parts.get(item.get(f"{_R}id") or "", ("", ""))
        if path in archive:
            blocks.extend(_slide(archive, path, page, 2 if sections else 1))
    return Parsed(blocks, attributes, "pptx")


def _sections(root: etree._Element) -> dict[str, str]:
    """Names of the presentation's sections by the id of their first slide."""
    out: dict[str, str] = {}
    for section in root.iter(f"{_P14}section"):
        first = next(section.iter(f"{_P14}sldId"), None)
        if first is not None and (section.get("name") or "").strip():
            out[first.get("id") or ""] = " ".join((section.get("name") or "").split())
    return out


def _slide(archive: Archive, path: str, page: int, level: int) -> list[Block]:
    root = archive.xml(path)
    parts = relations(archive, path)
    title = ""
    blocks: list[Block] = []
    for shape in _shapes(root):
        placeholder = next(shape.iter(f"{_P}ph"), None)
        kind = None if placeholder is None else placeholder.get("type", "")
        if kind in _RUNNING:
            continue
        if kind in _TITLES and not title:
            title = " ".join(_text(shape).split())
        else:
            blocks.extend(_shape(shape, kind, parts))
    for target in (path for kind, path in parts.values() if kind == "diagramData"):
        if target in archive:
            blocks.extend(_diagram(archive.xml(target)))
    for target in (path for kind, path in parts.values() if kind == "notesSlide"):
        if target in archive:
            blocks.extend(_notes(archive.xml(target)))
    heading = Block("Heading", title or f"Slide {page}", level=level)
    heading.attributes |= number_attributes(title)
    if not title:
        heading.confidence = 0.5
    if root.get("show") in ("0", "false"):
        heading.attributes["hidden"] = True
    todo = [heading, *blocks]
    while todo:
        block = todo.pop()
        block.page = page
        todo.extend(block.children)
    return [heading, *blocks] if title or blocks else []


def _shapes(root: etree._Element) -> Iterator[etree._Element]:
    """Shapes, tables and pictures of a slide, groups taken apart, in drawing order."""
    tree = next(root.iter(f"{_P}spTree"), None)
    todo = [] if tree is None else [iter(tree)]
    while todo:
        shape = next(todo[-1], None)
        if shape is None:
            todo.pop()
        elif shape.tag == f"{_P}grpSp":
            todo.append(iter(shape))
        elif shape.tag in (f"{_P}sp", f"{_P}graphicFrame", f"{_P}pic"):
            yield shape


def _shape(
    shape: etree._Element, placeholder: str | None, parts: Mapping[str, tuple[str, str]]
) -> list[Block]:
    if shape.tag == f"{_P}pic":
        info = next(shape.iter(f"{_P}cNvPr"), None)
        alt = "" if info is None else (info.get("descr") or info.get("title") or "")
        blip = next(shape.iter(f"{_A}blip"), None)
        _, source = parts.get("" if blip is None else blip.get(f"{_R}embed") or "", ("", ""))
        return [figure(source, alt, None)]
    if shape.tag == f"{_P}graphicFrame":
        return [_table(table) for table in shape.iter(f"{_A}tbl")]
    paragraphs = [
        (_level(paragraph), _text(paragraph).strip(), _is_plain(paragraph))
        for paragraph in shape.iter(f"{_A}p")
    ]
    paragraphs = [item for item in paragraphs if item[1]]
    listed = placeholder in _LISTS and placeholder is not None and len(paragraphs) > 1
    out: list[Block] = []
    stack: list[tuple[int, Block]] = []
    for level, text, plain in paragraphs:
        if (not listed and level == 0) or plain:
            stack = []
            out.append(Block("Paragraph", text))
            continue
        while stack and stack[-1][0] > level:
            stack.pop()
        if not stack or stack[-1][0] < level:
            listing = Block("List")
            (stack[-1][1].children[-1].children if stack else out).append(listing)
            stack.append((level, listing))
        stack[-1][1].children.append(Block("ListItem", text))
    return out


def _level(paragraph: etree._Element) -> int:
    properties = paragraph.find(f"{_A}pPr")
    raw = "0" if properties is None else properties.get("lvl", "0")
    return int(raw) if raw.isdigit() else 0


def _is_plain(paragraph: etree._Element) -> bool:
    properties = paragraph.find(f"{_A}pPr")
    return properties is not None and properties.find(f"{_A}buNone") is not None


def _text(element: etree._Element) -> str:
    parts = []
    for node in element.iter(f"{_A}t", f"{_A}br", f"{_A}p"):
        if node.tag == f"{_A}t":
            parts.append(node.text or "")
        elif parts:
            parts.append("\n")
    return "".join(parts)


def _table(table: etree._Element) -> Block:
    rows = []
    properties = table.find(f"{_A}tblPr")
    header = properties is not None and properties.get("firstRow") in ("1", "true")
    for y, row in enumerate(table.iterfind(f"{_A}tr")):
        cells = []
        for cell in row.iterfind(f"{_A}tc"):
            if cell.get("hMerge") in ("1", "true") or cell.get("vMerge") in ("1", "true"):
                continue
            spans = [cell.get(name, "1") for name in ("gridSpan", "rowSpan")]
            wide, tall = (int(span) if span.isdigit() else 1 for span in spans)
            cells.append(Cell(_text(cell), max(1, wide), max(1, tall), header and y == 0))
        rows.append(cells)
    spanned = any(cell.colspan > 1 or cell.rowspan > 1 for cell in (rows[0] if rows else []))
    if spanned:  # a merged head goes on below its first row
        rows = [[Cell(cell.text, cell.colspan, cell.rowspan) for cell in row] for row in rows]
    return table_block(rows)


def _diagram(root: etree._Element) -> list[Block]:
    texts = [_text(point).strip() for point in root.iter(f"{_A}p")]
    items = [Block("ListItem", text) for text in texts if text]
    return [Block("List", children=items)] if items else []


def _notes(root: etree._Element) -> list[Block]:
    out = []
    for shape in _shapes(root):
        placeholder = next(shape.iter(f"{_P}ph"), None)
        if placeholder is not None and placeholder.get("type") == "body":
            for paragraph in shape.iter(f"{_A}p"):
                text = _text(paragraph).strip()
                if text:
                    out.append(Block("Paragraph", text, attributes={"role": "notes"}))
    return out
