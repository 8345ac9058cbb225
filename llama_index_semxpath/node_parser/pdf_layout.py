"""Pages of a PDF as lines in reading order, with their fonts, and the rules drawn on them."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from llama_index_semxpath.errors import SourceError

if TYPE_CHECKING:
    from pdfminer.pdfdocument import PDFDocument

#: Most pages that are read of one file.
MAX_PAGES = 5_000
_BOLD = re.compile(
    r"bold|black|heavy|semibd|demi|hei(?:ti)?(?:$|[-,_ ])|simhei|黑体", re.IGNORECASE
)
# What stands in front of an item of a list.
_MARK = re.compile(r"[•·▪●○◦■□‣–]|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)]")
_GLYPH = re.compile(r"\(cid:\d+\)")
_THIN = 2.5
# Widest space inside a line, as a share of the font size.
_GAP = 1.3
_LEAST_COLUMN_LINES = 3
# Marks times lines of a page that are compared.
_MOST_PAIRS = 4_000_000


@dataclass(slots=True)
class PdfLine:
    """A line of text on a page, in points from the bottom left.

    Args:
        text: What it shows.
        x0: Left edge.
        x1: Right edge.
        y0: Bottom edge.
        y1: Top edge.
        size: Font size.
        bold: Whether all of it is bold.
        page: 1-based page.
        words: Its words as (text, left edge, right edge).
    """

    text: str
    x0: float
    x1: float
    y0: float
    y1: float
    size: float
    bold: bool
    page: int
    words: list[tuple[str, float, float]] = field(default_factory=list)

    @property
    def middle(self) -> float:
        """Height of its middle."""
        return (self.y0 + self.y1) / 2


@dataclass(slots=True)
class PdfPage:
    """A page.

    Args:
        number: 1-based.
        width: In points.
        lines: Its lines, top down.
        rules: Horizontal and vertical strokes as (x0, y0, x1, y1).
    """

    number: int
    width: float
    lines: list[PdfLine] = field(default_factory=list)
    rules: list[tuple[float, float, float, float]] = field(default_factory=list)


def open_pdf(data: bytes) -> PDFDocument:
    """The document, its structure read.

    Raises:
        SourceError: It is no PDF, is damaged, or asks for a password.
    """
    from pdfminer.pdfdocument import PDFDocument, PDFEncryptionError, PDFPasswordIncorrect
    from pdfminer.pdfparser import PDFParser

    if b"%PDF-" not in data[:1024]:
        raise SourceError("the file is no PDF", hint="its first bytes are not those of a PDF")
    try:
        return PDFDocument(PDFParser(io.BytesIO(data)))
    except (PDFPasswordIncorrect, PDFEncryptionError):
        raise SourceError(
            "the PDF is encrypted", hint="save it without a password and parse that file"
        ) from None
    except Exception as error:  # pdfminer raises whatever a damaged file leads it into
        raise _damaged(error) from None


def _damaged(error: Exception) -> SourceError:
    return SourceError(
        f"the PDF is damaged ({type(error).__name__})", hint="open it in a viewer and save it again"
    )


def read_pages(document: PDFDocument) -> Iterator[PdfPage]:
    """Pages with their lines, one at a time.

    Raises:
        SourceError: The file is damaged or has more than ``MAX_PAGES`` pages.
    """
    from pdfminer.converter import PDFPageAggregator
    from pdfminer.layout import LAParams
    from pdfminer.pdfinterp import PDFPageInterpreter, PDFResourceManager
    from pdfminer.pdfpage import PDFPage

    resources = PDFResourceManager()
    # Grouping boxes into a reading order is cubic in pdfminer: lines are ordered here.
    device = PDFPageAggregator(resources, laparams=LAParams(boxes_flow=None, all_texts=True))
    interpreter = PDFPageInterpreter(resources, device)
    try:
        for number, page in enumerate(PDFPage.create_pages(document), start=1):
            if number > MAX_PAGES:
                raise SourceError(
                    f"the PDF has more than {MAX_PAGES:,} pages", hint="split it into parts"
                )
            interpreter.process_page(page)
            yield _read_page(device.get_result(), number)
    except SourceError:
        raise
    except Exception as error:  # see open_pdf
        raise _damaged(error) from None


def _read_page(layout: Any, number: int) -> PdfPage:
    from pdfminer.layout import LTCurve, LTTextLine

    page = PdfPage(number, float(layout.width))
    todo = [layout]
    while todo:
        item = todo.pop()
        if isinstance(item, LTTextLine):
            page.lines.extend(_read_line(item, number))
        elif isinstance(item, LTCurve):
            page.rules.extend(_strokes(item))
        elif hasattr(item, "__iter__"):
            todo.extend(item)
    page.lines.sort(key=lambda line: (-line.y1, line.x0))
    page.lines = _with_marks(page.lines)
    return page


def _with_marks(lines: list[PdfLine]) -> list[PdfLine]:
    """Lines with the bullet or number that is drawn apart in front of them."""
    marks = [line for line in lines if _MARK.fullmatch(line.text)]
    if not marks or len(marks) * len(lines) > _MOST_PAIRS:
        return lines
    taken: set[int] = set()
    for mark in marks:
        beside = [
            line
            for line in lines
            if 0 <= line.x0 - mark.x1 <= 4 * line.size
            and abs(line.middle - mark.middle) < 0.7 * line.size
            and not _MARK.fullmatch(line.text)
        ]
        if beside and id(beside[0]) not in taken:
            item = min(beside, key=lambda line: line.x0)
            item.text = f"{mark.text} {item.text}"
            item.words = [*mark.words, *item.words]
            item.x0 = mark.x0
            taken |= {id(mark), id(item)}
    kept = {id(mark) for mark in marks} & taken
    return [line for line in lines if id(line) not in kept]


def _read_line(item: Any, number: int) -> Iterator[PdfLine]:
    """The pieces of a line: it is cut where a gap is too wide for a space."""
    from pdfminer.layout import LTChar

    words: list[tuple[list[Any], bool]] = []
    open_word = False
    for char in item:
        if not isinstance(char, LTChar) or not char.get_text().strip():
            open_word = False
        elif open_word:
            words[-1][0].append(char)
        else:
            wide = bool(words) and char.x0 - words[-1][0][-1].x1 > float(char.size) * _GAP
            words.append(([char], wide))
            open_word = True
    start = 0
    for end in range(1, len(words) + 1):
        if end == len(words) or words[end][1]:
            yield _line([chars for chars, _ in words[start:end]], item, number)
            start = end


def _line(words: list[list[Any]], item: Any, number: int) -> PdfLine:
    chars = [char for word in words for char in word]
    texts = [(_plain(word), float(word[0].x0), float(word[-1].x1)) for word in words]
    sizes = sorted(round(float(char.size), 1) for char in chars)
    bold = all(_BOLD.search(str(char.fontname)) for char in chars)
    return PdfLine(
        text=" ".join(text for text, _, _ in texts),
        x0=texts[0][1],
        x1=texts[-1][2],
        y0=float(item.y0),
        y1=float(item.y1),
        size=sizes[len(sizes) // 2],
        bold=bold,
        page=number,
        words=texts,
    )


def _plain(word: list[Any]) -> str:
    text = "".join(char.get_text() for char in word).replace("\x00", "")
    if "(cid:" in text:
        # A glyph without a character; alone it is nearly always a bullet.
        text = "•" if _GLYPH.fullmatch(text) else _GLYPH.sub("\ufffd", text)
    return text


def _strokes(item: Any) -> list[tuple[float, float, float, float]]:
    """The straight horizontal and vertical strokes of a drawn shape."""
    x0, y0, x1, y1 = (float(value) for value in item.bbox)
    width, height = x1 - x0, y1 - y0
    if width <= _THIN or height <= _THIN:
        return [(x0, y0, x1, y1)] if max(width, height) > 4 else []
    if len(getattr(item, "pts", ())) in (4, 5) and getattr(item, "stroke", False):
        return [(x0, y0, x1, y0), (x0, y1, x1, y1), (x0, y0, x0, y1), (x1, y0, x1, y1)]
    return []


def reading_order(page: PdfPage, lines: Sequence[PdfLine]) -> list[PdfLine]:
    """Lines in the order a person reads them: two columns one after the other.

    Lines that cross the middle of the page part it into bands; a band with several lines on
    either side of the middle and none across is set in columns.
    """
    out: list[PdfLine] = []
    band: list[PdfLine] = []
    middle = page.width / 2
    for line in sorted(lines, key=lambda line: (-round(line.middle), line.x0)):
        if line.x0 < middle - 6 and line.x1 > middle + 6:
            out.extend(_columns(band, middle))
            out.append(line)
            band = []
        else:
            band.append(line)
    out.extend(_columns(band, middle))
    return out


def _columns(band: list[PdfLine], middle: float) -> list[PdfLine]:
    left, right = columns_of(band, middle + 6)
    return left + right if left else band


def columns_of(lines: Sequence[PdfLine], edge: float) -> tuple[list[PdfLine], list[PdfLine]]:
    """Lines left and right of an edge, where they are two columns of prose; else nothing."""
    left = [line for line in lines if line.x1 <= edge]
    right = [line for line in lines if line.x1 > edge]
    # Short fragments side by side are a form or a table, not columns of prose.
    prose = all(
        len(side) >= _LEAST_COLUMN_LINES
        and sum(line.x1 - line.x0 for line in side) / len(side) > edge * 0.44
        for side in (left, right)
    )
    across = any(line.x0 < edge - 12 for line in right)
    return (left, right) if prose and not across else ([], [])
