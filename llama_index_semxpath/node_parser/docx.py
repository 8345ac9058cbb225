"""Word documents: levels, lists and tables as the file itself has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llama_index_semxpath.node_parser.archive import Archive, relations
from llama_index_semxpath.node_parser.blocks import Block, Font, Parsed
from llama_index_semxpath.node_parser.inline import figure
from llama_index_semxpath.node_parser.numbering import number_attributes
from llama_index_semxpath.node_parser.options import ParseOptions
from llama_index_semxpath.node_parser.properties import core_properties
from llama_index_semxpath.node_parser.recovery import implicit_articles, recover_headings
from llama_index_semxpath.node_parser.tables import Cell, join_tables, table_block
from llama_index_semxpath.node_parser.word_styles import (
    Numbering,
    Style,
    Styles,
    W,
    font_size,
    is_on,
    number,
    read_numbering,
    value,
)

if TYPE_CHECKING:
    from lxml import etree

_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
# Text that a reader does not see: deleted, moved away, field codes, properties, comments.
_UNSEEN_NAMES = "del moveFrom instrText pPr rPr tblPr tcPr trPr sectPr delText sdtPr"
_UNSEEN = frozenset(W + name for name in _UNSEEN_NAMES.split()) | {_MC + "Fallback"}
_BODY_TEXT = 9
_LARGER = 1.15


def parse_docx(source: bytes | str, options: ParseOptions) -> Parsed:
    """Blocks of a Word document.

    Levels come from the outline level of a paragraph or its style, whatever the style is called;
    headings are guessed only where the document has no outline at all. Automatic numbers are
    counted and stand before headings, as on the printed page.

    Args:
        source: The file.
        options: How to parse.

    Raises:
        SourceError: The file is no Word document, is protected, damaged or a bomb.
    """
    archive = Archive(source if isinstance(source, bytes) else source.encode(), "DOCX")
    if "word/document.xml" not in archive:
        raise archive.broken("it holds no Word document")
    reader = _Reader(archive)
    blocks = reader.read(archive.xml("word/document.xml"))
    attributes = core_properties(archive)
    if not any(block.kind == "Heading" for block in blocks):
        _mark_larger(blocks)
        blocks = recover_headings(blocks, options.heading_hook)
    else:
        blocks = implicit_articles(blocks)
    titles = [block.text for block in blocks if block.attributes.get("role") == "title"]
    if titles:
        attributes["title"] = " ".join(" ".join(titles).split())
    return Parsed(join_tables(blocks), attributes, "docx")


def _mark_larger(blocks: Sequence[Block]) -> None:
    """Counts short paragraphs set larger than the body as set apart, as bold ones are."""
    sizes: Counter[float] = Counter()
    for block in blocks:
        if block.font is not None and block.font.size:
            sizes[block.font.size] += len(block.text)
    body = sizes.most_common(1)[0][0] if len(sizes) > 1 else 0.0
    for block in blocks:
        font = block.font
        if body and font is not None and font.size >= body * _LARGER and len(block.text) <= 100:
            font.bold = True


# An automatic number: as printed, its value, the level of its list.
_Label = tuple[str, int | None, int]


@dataclass(slots=True)
class _Item:
    level: int
    list_block: Block


@dataclass(slots=True)
class _Text:
    """What a paragraph shows."""

    parts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    figures: list[Block] = field(default_factory=list)
    boxes: list[etree._Element] = field(default_factory=list)
    bold: int = 0
    plain: int = 0
    size: float = 0.0

    @property
    def text(self) -> str:
        return "".join(self.parts).strip()


class _Reader:
    def __init__(self, archive: Archive) -> None:
        self.styles = Styles(archive.optional_xml("word/styles.xml"))
        self.numbering = Numbering(archive.optional_xml("word/numbering.xml"))
        self.notes = _notes(archive)
        self.parts = relations(archive, "word/document.xml")
        self.out: list[Block] = []
        self.items: list[_Item] = []
        self.page: int | None = None

    def read(self, root: etree._Element) -> list[Block]:
        body = root.find(f"{W}body")
        # Page numbers are only known where Word has stored its last layout.
        if next(root.iter(f"{W}lastRenderedPageBreak"), None) is not None:
            self.page = 1
        if body is not None:
            self._content(body)
        return self.out

    def _content(self, parent: etree._Element) -> None:
        todo = [iter(parent)]
        while todo:
            element = next(todo[-1], None)
            if element is None:
                todo.pop()
            elif element.tag == f"{W}p":
                self._paragraph(element)
            elif element.tag == f"{W}tbl":
                self.items = []
                self.out.append(self._table(element))
            elif element.tag not in _UNSEEN:
                todo.append(iter(element))  # w:sdt, w:ins, w:customXml hold paragraphs

    def _paragraph(self, element: etree._Element) -> None:
        properties = element.find(f"{W}pPr")
        style = self.styles.get(
            value(None if properties is None else properties.find(f"{W}pStyle"))
        )
        shown = self._text(element, style)
        level = _outline(properties, style)
        label = self._label(properties, style)
        if shown.text:
            self._add(shown, style, level, label)
        for picture in shown.figures:
            self._append(picture)
        for note in shown.notes:
            self._append(Block("Paragraph", note, attributes={"role": "footnote"}))
        for box in shown.boxes:
            self._content(box)
        if self.page is not None:
            self.page += sum(1 for _ in element.iter(f"{W}lastRenderedPageBreak"))

    def _label(self, properties: etree._Element | None, style: Style) -> _Label | None:
        found = read_numbering(properties) or style.numbering
        if found is None:
            return None
        counted = self.numbering.label(*found)
        return None if counted is None else (*counted, found[1])

    def _add(
        self,
        shown: _Text,
        style: Style,
        level: int | None,
        label: _Label | None,
    ) -> None:
        text, role = shown.text, style.role
        if level is not None:
            title = " ".join(f"{label[0]} {text}".split() if label else text.split())
            block = Block("Heading", title, level=level + 1)
            block.attributes |= number_attributes(title)
            if label and label[0]:
                block.attributes |= {"number": label[0].rstrip(".、:： "), "n": label[1] or 0}
            self._append(block)
        elif role == "title":
            self._append(Block("Paragraph", text, attributes={"role": "title"}))
        elif role == "code":
            self._code(text)
        elif role == "quote":
            self._append(Block("Quote", children=[Block("Paragraph", text)]))
        elif role == "toc":
            self._list_item(text, 0, None, "contents")
        elif label is not None:
            self._list_item(text, label[2] or style.list_level, label, "")
        else:
            font = Font(shown.size, bold=shown.bold > 0 and shown.plain == 0)
            self._append(Block("Paragraph", text, font=font if font.bold or font.size else None))

    def _append(self, block: Block) -> None:
        self.items = []
        block.page = self.page
        self.out.append(block)

    def _code(self, text: str) -> None:
        last = self.out[-1] if self.out else None
        if last is not None and last.kind == "Code":
            last.text += "\n" + text
        else:
            self._append(Block("Code", text))

    def _list_item(self, text: str, level: int, label: _Label | None, role: str) -> None:
        """Hang an item into the list of its level, below the item before it when it is deeper."""
        while self.items and self.items[-1].level > level:
            self.items.pop()
        if self.items and self.items[-1].level == level:
            last = self.items[-1].list_block.children[-1]
            if not role and ("number" in last.attributes) != bool(label and label[0]):
                self.items.pop()  # bullets after numbers are another list
        if not self.items or self.items[-1].level < level:
            listing = Block("List", page=self.page)
            if role:
                listing.attributes["role"] = role
            if self.items:
                self.items[-1].list_block.children[-1].children.append(listing)
            else:
                self.out.append(listing)
            self.items.append(_Item(level, listing))
        item = Block("ListItem", text, page=self.page)
        if label is not None and label[0]:
            item.attributes["number"] = label[0].rstrip(".、:： ")
            if label[1] is not None:
                item.attributes["n"] = label[1]
        self.items[-1].list_block.children.append(item)

    def _table(self, element: etree._Element) -> Block:
        rows: list[list[Cell]] = []
        above: dict[int, tuple[int, int]] = {}  # grid column -> (row, index) of the open v-merge
        for row in element.iter(f"{W}tr"):
            if row.getparent() is not element and not _is_wrapped(row, element):
                continue  # a row of a table inside a cell
            rows.append(self._row(row, rows, above))
        return table_block(rows, page=self.page)

    def _row(
        self, row: etree._Element, rows: list[list[Cell]], above: dict[int, tuple[int, int]]
    ) -> list[Cell]:
        properties = row.find(f"{W}trPr")
        header = properties is not None and bool(is_on(properties.find(f"{W}tblHeader")))
        skipped = 0
        if properties is not None:
            skipped = min(number(value(properties.find(f"{W}gridBefore"))) or 0, 60)
        cells: list[Cell] = [Cell("")] * skipped
        column = skipped
        for cell in row.iter(f"{W}tc"):
            if next(cell.iterancestors(f"{W}tr")) is not row:
                continue
            info = cell.find(f"{W}tcPr")
            span = min(number(value(_child(info, "gridSpan"))) or 1, 1000)
            merge = _child(info, "vMerge")
            if merge is not None and value(merge) != "restart" and column in above:
                y, x = above[column]
                first = rows[y][x]
                rows[y][x] = Cell(first.text, first.colspan, first.rowspan + 1, first.header)
            else:
                above.pop(column, None)
                if merge is not None:
                    above[column] = (len(rows), len(cells))
                cells.append(Cell(self._cell_text(cell), max(1, span), header=header))
            column += max(1, span)
        return cells

    def _cell_text(self, cell: etree._Element) -> str:
        texts = []
        for paragraph in cell.iter(f"{W}p"):
            texts.append(self._text(paragraph, Style()).text)
        return "\n".join(filter(None, texts))

    def _text(self, element: etree._Element, style: Style) -> _Text:
        out = _Text()
        for node in _seen(element, out.boxes):
            name = str(node.tag).rpartition("}")[2]
            if node.tag == f"{W}t" or node.tag == f"{_MATH}t":
                self._run(node, style, out)
            elif node.tag == f"{W}tab":
                out.parts.append("\t")
            elif node.tag in (f"{W}br", f"{W}cr"):
                if value(node, "type") != "page":
                    out.parts.append("\n")
            elif name == "noBreakHyphen":
                out.parts.append("-")
            elif name in ("footnoteReference", "endnoteReference"):
                note = self.notes.get((name[0], value(node, "id") or ""))
                if note:
                    out.notes.append(note)
            elif node.tag == f"{_DRAWING}docPr":
                out.figures.append(self._picture(node))
        return out

    def _picture(self, info: etree._Element) -> Block:
        alt = info.get("descr") or info.get("title") or ""
        drawing = info.getparent()
        blip = None if drawing is None else next(drawing.iter(f"{_A}blip"), None)
        # A picture that is only linked is no part of the file, and links are not followed.
        _, source = self.parts.get("" if blip is None else blip.get(f"{_R}embed") or "", ("", ""))
        return figure(source, alt, None)

    def _run(self, node: etree._Element, style: Style, out: _Text) -> None:
        run = node.getparent()
        properties = None if run is None else run.find(f"{W}rPr")
        hidden = None if properties is None else is_on(properties.find(f"{W}vanish"))
        if hidden or (hidden is None and style.hidden) or not node.text:
            return
        out.parts.append(node.text)
        bold = None if properties is None else is_on(properties.find(f"{W}b"))
        if node.text.strip():
            out.size = max(out.size, font_size(properties) or style.size or 0.0)
            if bold if bold is not None else style.bold:
                out.bold += 1
            else:
                out.plain += 1


def _is_wrapped(row: etree._Element, table: etree._Element) -> bool:
    """Whether a row belongs to this table through w:sdt or w:ins rather than to an inner table."""
    return next(row.iterancestors(f"{W}tbl")) is table


def _child(element: etree._Element | None, name: str) -> etree._Element | None:
    return None if element is None else element.find(W + name)


def _outline(properties: etree._Element | None, style: Style) -> int | None:
    own = number(value(_child(properties, "outlineLvl")))
    level = own if own is not None else style.outline
    return level if level is not None and 0 <= level < _BODY_TEXT else None


def _seen(element: etree._Element, boxes: list[etree._Element]) -> Iterator[etree._Element]:
    """Descendants that show, in order; text boxes are put aside, they hold paragraphs."""
    todo = [iter(element)]
    while todo:
        node = next(todo[-1], None)
        if node is None:
            todo.pop()
        elif node.tag == f"{W}txbxContent":
            boxes.append(node)
        elif node.tag not in _UNSEEN:
            yield node
            todo.append(iter(node))


def _notes(archive: Archive) -> dict[tuple[str, str], str]:
    """Texts of footnotes (``f``) and endnotes (``e``) by id."""
    out: dict[tuple[str, str], str] = {}
    for name in ("footnotes", "endnotes"):
        root = archive.optional_xml(f"word/{name}.xml")
        for note in [] if root is None else root:
            if value(note, "type") in (None, "normal"):
                text = "".join(node.text or "" for node in note.iter(f"{W}t")).strip()
                out[name[0], value(note, "id") or ""] = text
    return out
