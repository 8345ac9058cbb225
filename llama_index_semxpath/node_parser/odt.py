"""OpenDocument text: outline levels, lists, tables and notes as the file has them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from llama_index_semxpath.errors import SourceError
from llama_index_semxpath.node_parser.archive import Archive
from llama_index_semxpath.node_parser.blocks import Block, Parsed
from llama_index_semxpath.node_parser.inline import figure
from llama_index_semxpath.node_parser.numbering import number_attributes
from llama_index_semxpath.node_parser.odt_numbering import Counters, OdtNumbering
from llama_index_semxpath.node_parser.options import ParseOptions
from llama_index_semxpath.node_parser.properties import core_properties
from llama_index_semxpath.node_parser.recovery import implicit_articles, recover_headings
from llama_index_semxpath.node_parser.tables import MAX_COLUMNS, Cell, table_block

if TYPE_CHECKING:
    from lxml import etree

_NS = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
_TEXT, _TABLE, _OFFICE = _NS % "text", _NS % "table", _NS % "office"
_DRAW, _STYLE = _NS % "drawing", _NS % "style"
_SVG = _NS % "svg-compatible"
_XLINK = "{http://www.w3.org/1999/xlink}"
# Not part of the text that a reader sees in place.
_UNSEEN = frozenset(
    {
        f"{_TEXT}tracked-changes",
        f"{_TEXT}note",
        f"{_OFFICE}annotation",
        f"{_OFFICE}forms",
        f"{_TEXT}sequence-decls",
        f"{_DRAW}frame",
    }
)
_MAX_NESTING = 60


def parse_odt(source: bytes | str, options: ParseOptions) -> Parsed:
    """Blocks of an OpenDocument text.

    Args:
        source: The file.
        options: How to parse.

    Raises:
        SourceError: The file is no OpenDocument text, is protected, damaged or a bomb.
    """
    archive = Archive(source if isinstance(source, bytes) else source.encode(), "ODT")
    manifest = archive.optional_xml("META-INF/manifest.xml")
    if manifest is not None and any("encryption-data" in str(node.tag) for node in manifest.iter()):
        raise SourceError(
            "the ODT file is protected by a password", hint="save it without a password"
        )
    if "content.xml" not in archive:
        raise archive.broken("it holds no text")
    root = archive.xml("content.xml")
    styles = archive.optional_xml("styles.xml")
    reader = _Reader(_paragraph_styles(root, styles), OdtNumbering(root, styles))
    body = root.find(f"{_OFFICE}body/{_OFFICE}text")
    blocks = [] if body is None else reader.blocks(body)
    attributes = core_properties(archive, "meta.xml")
    if not any(block.kind == "Heading" for block in blocks):
        blocks = recover_headings(blocks, options.heading_hook)
    else:
        blocks = implicit_articles(blocks)
    titles = [block.text for block in blocks if block.attributes.get("role") == "title"]
    if titles:
        attributes["title"] = " ".join(" ".join(titles).split())
    return Parsed(blocks, attributes, "odt")


def _paragraph_styles(*roots: etree._Element | None) -> dict[str, tuple[str, str, int]]:
    """Display name, parent and default outline level of each paragraph style."""
    out: dict[str, tuple[str, str, int]] = {}
    for root in roots:
        for style in [] if root is None else root.iter(f"{_STYLE}style"):
            name = style.get(f"{_STYLE}name") or ""
            level = style.get(f"{_STYLE}default-outline-level") or "0"
            shown = style.get(f"{_STYLE}display-name") or name
            parent = style.get(f"{_STYLE}parent-style-name") or ""
            out.setdefault(name, (shown, parent, int(level) if level.isdigit() else 0))
    return out


class _Reader:
    def __init__(self, styles: dict[str, tuple[str, str, int]], numbering: OdtNumbering) -> None:
        self.styles = styles
        self.numbering = numbering
        # Lists that are open, outermost first; a list without a style has that of the one around.
        self.open: list[tuple[str, Counters]] = []
        self.notes: list[str] = []
        self.figures: list[Block] = []

    def blocks(self, parent: etree._Element, depth: int = 0) -> list[Block]:
        out: list[Block] = []
        for element in parent:
            if element.tag in (f"{_TEXT}h", f"{_TEXT}p"):
                out.extend(self._paragraph(element))
            elif element.tag == f"{_TEXT}list":
                out.extend(self._list(element, depth))
            elif element.tag == f"{_TABLE}table":
                out.append(self._table(element))
            elif element.tag == f"{_TEXT}table-of-content":
                out.extend(self._contents(element))
            elif element.tag not in _UNSEEN and depth < _MAX_NESTING:
                out.extend(self.blocks(element, depth + 1))  # sections, soft page breaks
        return out

    def _paragraph(self, element: etree._Element) -> list[Block]:
        text = self._text(element).strip()
        out: list[Block] = []
        level = self._level(element)
        if text and level:
            out.append(self._heading(element, text, level))
        elif text:
            out.append(self._styled(text, element.get(f"{_TEXT}style-name") or ""))
        out.extend(self.figures)
        out.extend(Block("Paragraph", note, attributes={"role": "footnote"}) for note in self.notes)
        self.figures, self.notes = [], []
        return out

    def _heading(self, element: etree._Element, text: str, level: int) -> Block:
        label: tuple[str, int | None] = ("", None)
        if element.get(f"{_TEXT}is-list-header") != "true" and not self.open:
            asked = element.get(f"{_TEXT}start-value") or ""
            start = int(asked) if asked.isdigit() and len(asked) < 9 else None
            label = self.numbering.headings.label(level, start)
        return numbered_heading(text, level, label)

    def _level(self, element: etree._Element) -> int:
        if element.tag == f"{_TEXT}h":
            raw = element.get(f"{_TEXT}outline-level") or "1"
            return max(1, int(raw)) if raw.isdigit() else 1
        name = element.get(f"{_TEXT}style-name") or ""
        for _ in range(20):  # a chain of parents may be a ring in a damaged file
            _, parent, level = self.styles.get(name, ("", "", 0))
            if level or not parent:
                return level
            name = parent
        return 0

    def _styled(self, text: str, style: str) -> Block:
        names = {style}
        for _ in range(20):
            shown, parent, _ = self.styles.get(style, ("", "", 0))
            names |= {shown, parent}
            style = parent
        if "Title" in names:
            return Block("Paragraph", text, attributes={"role": "title"})
        if names & {"Preformatted_20_Text", "Preformatted Text", "Source Code"}:
            return Block("Code", text)
        if names & {"Quotations"}:
            return Block("Quote", children=[Block("Paragraph", text)])
        return Block("Paragraph", text)

    def _list(self, element: etree._Element, depth: int) -> list[Block]:
        """A list; one that only numbers headings, as programs write it, gives those."""
        listing = Block("List")
        headings: list[Block] = []
        self._open_list(element)
        for item in element:
            if item.tag not in (f"{_TEXT}list-item", f"{_TEXT}list-header"):
                continue
            label: tuple[str, int | None] = ("", None)
            nests = len(item) > 0 and item[0].tag == f"{_TEXT}list"
            if item.tag == f"{_TEXT}list-item" and not nests:
                asked = item.get(f"{_TEXT}start-value") or ""
                start = int(asked) if asked.isdigit() and len(asked) < 9 else None
                label = self.open[-1][1].label(len(self.open), start)
            inner = self.blocks(item, depth + 1) if depth < _MAX_NESTING else []
            if any(block.kind == "Heading" for block in inner):
                if inner[0].kind == "Heading" and label[0]:
                    inner[0] = numbered_heading(inner[0].text, inner[0].level or 1, label)
                headings.extend(inner)
                continue
            first = inner[0] if inner and inner[0].kind == "Paragraph" else None
            block = Block("ListItem", first.text if first else "")
            block.children = inner[1:] if first else inner
            if label[0]:
                block.attributes["number"] = label[0].rstrip(".、:： ")
                block.attributes["n"] = label[1] or 0
            if block.text or block.children:
                listing.children.append(block)
        self.open.pop()
        return [*headings, *([listing] if listing.children else [])]

    def _open_list(self, element: etree._Element) -> None:
        style = element.get(f"{_TEXT}style-name") or ""
        if self.open and (not style or style == self.open[-1][0]):
            self.open.append(self.open[-1])
            return
        goes_on = (
            element.get(f"{_TEXT}continue-numbering") == "true"
            or element.get(f"{_TEXT}continue-list") is not None
        )
        self.open.append((style, self.numbering.open(style, goes_on=goes_on)))

    def _contents(self, element: etree._Element) -> list[Block]:
        body = element.find(f"{_TEXT}index-body")
        texts = [self._text(p).strip() for p in ([] if body is None else body.iter(f"{_TEXT}p"))]
        items = [Block("ListItem", text) for text in texts if text]
        return [Block("List", children=items, attributes={"role": "contents"})] if items else []

    def _table(self, element: etree._Element) -> Block:
        rows: list[list[Cell]] = []
        for row in element.iter(f"{_TABLE}table-row"):
            if next(row.iterancestors(f"{_TABLE}table")) is not element:
                continue
            header = next(row.iterancestors()).tag == f"{_TABLE}table-header-rows"
            cells: list[Cell] = []
            for cell in row.iterchildren(f"{_TABLE}table-cell"):
                wide, tall, repeat = (
                    _count(cell, name)
                    for name in (
                        "number-columns-spanned",
                        "number-rows-spanned",
                        "number-columns-repeated",
                    )
                )
                made = Cell(self._cell(cell), wide, tall, header)
                # Empty squares to the right edge of the sheet are stored as one repeated cell.
                repeat = repeat if made.text else min(repeat, 50)
                cells.extend(replace(made) for _ in range(repeat))
            rows.append(cells[:MAX_COLUMNS])
        return table_block(rows)

    def _cell(self, cell: etree._Element) -> str:
        texts = [self._text(p).strip() for p in cell.iter(f"{_TEXT}p", f"{_TEXT}h")]
        return "\n".join(filter(None, texts))

    def _text(self, element: etree._Element) -> str:
        parts = [element.text or ""]
        todo = [iter(element)]
        stack: list[etree._Element] = []
        while todo:
            node = next(todo[-1], None)
            if node is None:
                todo.pop()
                if stack:
                    parts.append(stack.pop().tail or "")
                continue
            parts.append(self._sign(node))
            if node.tag in _UNSEEN:
                self._aside(node)
                parts.append(node.tail or "")
            else:
                parts.append(node.text or "")
                stack.append(node)
                todo.append(iter(node))
        return "".join(parts)

    @staticmethod
    def _sign(node: etree._Element) -> str:
        if node.tag == f"{_TEXT}s":
            raw = node.get(f"{_TEXT}c") or "1"
            return " " * (min(int(raw), 200) if raw.isdigit() else 1)
        return {f"{_TEXT}tab": "\t", f"{_TEXT}line-break": "\n"}.get(str(node.tag), "")

    def _aside(self, node: etree._Element) -> None:
        """Footnotes and pictures in a paragraph: kept, but not inside its text."""
        if node.tag == f"{_TEXT}note":
            body = node.find(f"{_TEXT}note-body")
            text = "" if body is None else " ".join("".join(body.itertext()).split())
            if text:
                self.notes.append(text)
        elif node.tag == f"{_DRAW}frame":
            found = [node.findtext(f"{_SVG}{name}") for name in ("title", "desc")]
            alt = " ".join(filter(None, found)).strip()
            boxed = [self._text(p).strip() for p in node.iter(f"{_TEXT}p")]
            text = "\n".join(filter(None, [alt, *boxed]))
            image = next(node.iter(f"{_DRAW}image"), None)
            source = "" if image is None else image.get(f"{_XLINK}href") or ""
            block = figure(source.removeprefix("./"), alt, None)
            block.text = text
            self.figures.append(block)


def numbered_heading(text: str, level: int, label: tuple[str, int | None]) -> Block:
    """A heading with its automatic number before it, as on the printed page."""
    title = " ".join(f"{label[0]} {text}".split())
    block = Block("Heading", title, level=level)
    block.attributes |= number_attributes(title)
    if label[0]:
        block.attributes |= {"number": label[0].strip().rstrip(".、:："), "n": label[1] or 0}
    return block


def _count(cell: etree._Element, name: str) -> int:
    raw = cell.get(f"{_TABLE}{name}") or "1"
    return max(1, min(int(raw), MAX_COLUMNS)) if raw.isdigit() else 1
