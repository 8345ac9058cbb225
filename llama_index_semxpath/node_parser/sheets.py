"""Spreadsheets and comma-separated values: one section a sheet, tables with typed rows."""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llama_index_semxpath.errors import SourceError
from llama_index_semxpath.node_parser.archive import Archive, relations
from llama_index_semxpath.node_parser.blocks import Block, Parsed
from llama_index_semxpath.node_parser.decode import decode
from llama_index_semxpath.node_parser.options import ParseOptions
from llama_index_semxpath.node_parser.properties import core_properties
from llama_index_semxpath.node_parser.tables import MAX_COLUMNS, Cell, table_block

if TYPE_CHECKING:
    from lxml import etree

_S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_DATE_FORMATS = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
_PERCENT_FORMATS = {9: 0, 10: 2}
_SAMPLE = 64 * 1024
# Most squares that merged ranges may cover in all.
_MAX_MERGED = 500_000
#: Most rows of a sheet that are read; a stray cell in the last row must not make a million rows.
MAX_ROWS = 1_048_576


def parse_csv(source: bytes | str, options: ParseOptions) -> Parsed:
    """One table from separated values; the separator is found.

    Args:
        source: The file; comma, semicolon, tab or bar part the cells.
        options: How to parse.

    Raises:
        SourceError: The file is binary or a quoted cell is never closed.

    Example:
        >>> parsed = parse_csv("name;price\\nbolt;1,5\\nnut;2", ParseOptions())
        >>> [row.attributes for row in parsed.blocks[0].children]
        [{'name': 'bolt', 'price': '1,5'}, {'name': 'nut', 'price': 2}]
    """
    text = source if isinstance(source, str) else decode(source, where="the CSV file")
    text = text.removeprefix("\ufeff")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text[:_SAMPLE]))
    try:
        rows = [row[:MAX_COLUMNS] for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise SourceError(
            f"cannot read the CSV file: {error}", hint="a quoted cell may be open"
        ) from None
    if not rows:
        raise SourceError("the CSV file holds no rows", hint="remove it or fill it")
    return Parsed([table_block(rows)], {}, "csv")


def _separator(sample: str) -> str:
    """The separator that gives the lines of the sample the most equal number of cells."""
    best, best_score = ",", 0.0
    for separator in ",;\t|":
        rows = list(csv.reader(sample.splitlines()[:50], delimiter=separator))
        widths = [len(row) for row in rows if row]
        if not widths or max(widths) < 2:
            continue
        usual = max(set(widths), key=widths.count)
        score = widths.count(usual) / len(widths) * (usual > 1) + min(usual, 50) / 1000
        if score > best_score:
            best, best_score = separator, score
    return best


def parse_xlsx(source: bytes | str, options: ParseOptions) -> Parsed:
    """Sheets as sections, each with the tables and notes on it; hidden sheets are left out.

    Values are those last calculated; dates, percentages and amounts read as the sheet shows them.

    Args:
        source: The file.
        options: How to parse.

    Raises:
        SourceError: The file is no workbook, is protected, damaged or a bomb.
    """
    archive = Archive(source if isinstance(source, bytes) else source.encode(), "XLSX")
    if "xl/workbook.xml" not in archive:
        raise archive.broken("it holds no workbook")
    book = _Book(archive)
    blocks: list[Block] = []
    for name, path in book.sheets():
        sheet = book.read(path)
        if sheet.cells:
            blocks.append(Block("Heading", name, level=1))
            blocks.extend(_sheet_blocks(sheet))
    return Parsed(blocks, core_properties(archive), "xlsx")


@dataclass(slots=True)
class _Sheet:
    cells: dict[int, dict[int, str]] = field(default_factory=dict)
    merged: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    bold: set[int] = field(default_factory=set)


class _Book:
    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        root = archive.xml("xl/workbook.xml")
        info = root.find(f"{_S}workbookPr")
        self._epoch = dt.datetime(1899, 12, 30)
        if info is not None and info.get("date1904") in ("1", "true"):
            self._epoch = dt.datetime(1904, 1, 1)
        self._root = root
        self._parts = relations(archive, "xl/workbook.xml")
        self._strings = _shared_strings(archive)
        self._formats, self._bold = _cell_formats(archive)

    def sheets(self) -> Iterator[tuple[str, str]]:
        for sheet in self._root.iter(f"{_S}sheet"):
            kind, path = self._parts.get(sheet.get(f"{_R}id") or "", ("", ""))
            visible = sheet.get("state", "visible") == "visible"
            if kind == "worksheet" and visible and path in self.archive:
                yield " ".join((sheet.get("name") or "Sheet").split()), path

    def read(self, path: str) -> _Sheet:
        from lxml import etree

        out = _Sheet()
        stream = self.archive.stream(path)
        row = column = 0
        try:
            for _, element in etree.iterparse(
                stream, tag=(f"{_S}row", f"{_S}mergeCell"), resolve_entities=False, no_network=True
            ):
                if element.tag == f"{_S}mergeCell":
                    _merge(out, element.get("ref") or "")
                    continue
                row = int(element.get("r") or row + 1)
                column = 0
                for cell in element.iterfind(f"{_S}c"):
                    column = _column(cell.get("r") or "") or column + 1
                    text = self._value(cell)
                    if text and row <= MAX_ROWS and column <= MAX_COLUMNS:
                        out.cells.setdefault(row, {})[column] = text
                        if int(cell.get("s") or 0) in self._bold:
                            out.bold.add(row)
                element.clear()
        except (etree.XMLSyntaxError, ValueError):
            raise self.archive.broken(f"its part {path} is damaged") from None
        return out

    def _value(self, cell: etree._Element) -> str:
        kind = cell.get("t") or "n"
        if kind == "inlineStr":
            return _strings_of(cell).strip()
        raw = cell.findtext(f"{_S}v") or ""
        if kind == "s":
            at = int(raw) if raw.isdigit() else -1
            return self._strings[at].strip() if 0 <= at < len(self._strings) else ""
        if kind == "b":
            return "TRUE" if raw == "1" else "FALSE"
        if kind == "n" and raw:
            return self._number(raw, int(cell.get("s") or 0))
        return raw.strip()

    def _number(self, raw: str, style: int) -> str:
        try:
            value = float(raw)
        except ValueError:
            return raw
        kind, detail = self._formats[style] if style < len(self._formats) else ("", "")
        if kind == "date" and 0 <= value < 2_958_466:
            return self._date(value)
        if kind == "percent":
            return f"{value * 100:.{int(detail)}f}%"
        if kind == "currency":
            return f"{detail}{value:,.2f}".replace(".00", "")
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"

    def _date(self, value: float) -> str:
        stamp = self._epoch + dt.timedelta(seconds=round(value * 86_400))
        if value < 1:
            return stamp.strftime("%H:%M:%S").removesuffix(":00")
        if stamp.time() == dt.time():
            return stamp.date().isoformat()
        return stamp.isoformat(sep=" ", timespec="seconds")


def _shared_strings(archive: Archive) -> list[str]:
    root = archive.optional_xml("xl/sharedStrings.xml")
    return [] if root is None else [_strings_of(item) for item in root.iterfind(f"{_S}si")]


def _strings_of(element: etree._Element) -> str:
    """Text of a string item; readings (``rPh``) of Japanese names are not part of it."""
    return "".join(
        node.text or ""
        for node in element.iter(f"{_S}t")
        if (parent := node.getparent()) is None or parent.tag != f"{_S}rPh"
    )


def _cell_formats(archive: Archive) -> tuple[list[tuple[str, str]], set[int]]:
    """For each cell style its kind of value, and which styles are bold."""
    root = archive.optional_xml("xl/styles.xml")
    if root is None:
        return [], set()
    codes = {
        int(item.get("numFmtId") or 0): item.get("formatCode") or ""
        for item in root.iter(f"{_S}numFmt")
    }
    fonts = [font.find(f"{_S}b") is not None for font in root.iterfind(f"{_S}fonts/{_S}font")]
    formats: list[tuple[str, str]] = []
    bold: set[int] = set()
    for index, style in enumerate(root.iterfind(f"{_S}cellXfs/{_S}xf")):
        number = int(style.get("numFmtId") or 0)
        formats.append(_format_kind(number, codes.get(number, "")))
        font = int(style.get("fontId") or 0)
        if font < len(fonts) and fonts[font]:
            bold.add(index)
    return formats, bold


def _format_kind(number: int, code: str) -> tuple[str, str]:
    if number in _DATE_FORMATS:
        return "date", ""
    if number in _PERCENT_FORMATS:
        return "percent", str(_PERCENT_FORMATS[number])
    first = code.split(";")[0]
    money = re.search(r"\[\$([^\]\-]+)(?:-[^\]]*)?\]|\"?([$€£¥￥₹])\"?", first)
    bare = re.sub(r'"[^"]*"|\\.|\[[^\]]*\]', "", first)
    if "%" in bare:
        return "percent", str(len(re.findall(r"\.(0+)", bare)[0]) if "." in bare else 0)
    if money:
        return "currency", (money[1] or money[2]).strip()
    return (
        ("date", "") if re.search(r"[ymdhs]", bare, re.IGNORECASE) and "0" not in bare else ("", "")
    )


def _column(reference: str) -> int:
    value = 0
    for char in reference:
        if not "A" <= char <= "Z":
            break
        value = value * 26 + ord(char) - 64
    return value


def _merge(sheet: _Sheet, reference: str) -> None:
    match = re.fullmatch(r"([A-Z]+)(\d+):([A-Z]+)(\d+)", reference)
    if match:
        left, top = _column(match[1]), int(match[2])
        sheet.merged[top, left] = (int(match[4]) - top + 1, _column(match[3]) - left + 1)


def _covered(sheet: _Sheet) -> dict[int, set[int]]:
    """Columns of each row that a merged cell of another square covers; clips the ranges."""
    last_row = max(sheet.cells)
    last_column = max(column for row in sheet.cells.values() for column in row)
    out: dict[int, set[int]] = {}
    area = 0
    for (top, left), (tall, wide) in list(sheet.merged.items()):
        tall, wide = min(tall, last_row - top + 1), min(wide, last_column - left + 1)
        area += max(0, tall) * max(0, wide)
        if tall < 1 or wide < 1 or area > _MAX_MERGED:
            del sheet.merged[top, left]
            continue
        sheet.merged[top, left] = (tall, wide)
        for row in range(top, top + tall):
            out.setdefault(row, set()).update(range(left, left + wide))
        out[top].discard(left)
    return out


def _sheet_blocks(sheet: _Sheet) -> list[Block]:
    """Tables and notes of a sheet: blank rows part them, a lone cell is a note or a caption."""
    out: list[Block] = []
    rows = sorted(sheet.cells)
    start = 0
    covered = _covered(sheet)
    for end in range(1, len(rows) + 1):
        parted = end == len(rows) or (
            rows[end] > rows[end - 1] + 1 and rows[end - 1] + 1 not in covered
        )
        if parted:
            out.extend(_region(sheet, rows[start:end], covered))
            start = end
    return out


def _region(sheet: _Sheet, rows: Sequence[int], covered: dict[int, set[int]]) -> list[Block]:
    lone = 0
    while lone < len(rows) and len(sheet.cells[rows[lone]]) == 1:
        lone += 1
    texts = [next(iter(sheet.cells[row].values())) for row in rows]
    if lone == len(rows):
        if lone == 1:
            return [Block("Paragraph", texts[0])]
        return [table_block([[text] for text in texts])]
    out = [Block("Paragraph", text) for text in texts[:lone]]
    body = rows[lone:]
    columns = sorted({column for row in body for column in sheet.cells[row]})
    left, right = columns[0], columns[-1]
    header = _header_rows(sheet, body)
    grid = [
        _grid_row(sheet, row, (left, right), covered.get(row, set()), row - body[0] < header)
        for row in range(body[0], body[-1] + 1)
        if row in sheet.cells or row in covered
    ]
    caption = texts[lone - 1] if lone else ""
    return [*out, table_block(grid, caption=caption)]


def _header_rows(sheet: _Sheet, body: Sequence[int]) -> int:
    """Rows at the top that are bold as against the row below them."""
    count = 0
    while count < min(len(body) - 1, 4) and body[count] in sheet.bold:
        count += 1
    return count if count and body[count] not in sheet.bold else 0


def _grid_row(
    sheet: _Sheet, row: int, columns: tuple[int, int], covered: set[int], header: bool
) -> list[Cell]:
    left, right = columns
    cells = sheet.cells.get(row, {})
    out: list[Cell] = []
    for column in range(left, right + 1):
        if column not in covered:
            tall, wide = sheet.merged.get((row, column), (1, 1))
            out.append(Cell(cells.get(column, ""), wide, tall, header))
    return out
