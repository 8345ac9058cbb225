"""Pages of a PDF as the lines of a text: running heads out, paragraphs joined, tables in place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from llama_index_semxpath.node_parser.contents import running_lines
from llama_index_semxpath.node_parser.lines import Line
from llama_index_semxpath.node_parser.pdf_layout import PdfLine, PdfPage, columns_of, reading_order
from llama_index_semxpath.node_parser.pdf_tables import Found, column_tables, ruled_tables
from llama_index_semxpath.node_parser.series import read_candidate

# Gap inside a heading of several lines, as a share of its size.
_TIGHT = 0.4
# Gap from which lines are set apart rather than spaced out.
_WIDE = 0.8
_ENDED = re.compile(r"[。！？.!?:：;；][\"'”’」』)）]*$")
_ITEM = re.compile(
    r"[-•·▪●○◦*–]\s|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})[.)]\s|[（(][^()（）]{1,4}[)）]"
)


@dataclass(frozen=True, slots=True)
class _Setting:
    """How the body of a page is set: usual size, widest gap in a paragraph, right edges."""

    size: float
    leading: float
    right: float
    middle: float
    column: float

    def edge(self, line: PdfLine) -> float:
        """Right edge of the text around a line: of its column, where there are two."""
        return self.column if self.column and line.x1 <= self.middle else self.right


def text_lines(pages: Sequence[PdfPage]) -> list[Line]:
    """Lines of all pages in reading order.

    Args:
        pages: The pages; a line of text that continues the one above it is joined to it.

    Returns:
        One line for each paragraph, heading or item; a table is a line with a block.
    """
    tables = [ruled_tables(page) for page in pages]
    loose = [
        replace(page, lines=_without(page.lines, found))
        for page, found in zip(pages, tables, strict=True)
    ]
    edge = [Line(li.text, page=li.page, size=li.size) for page in loose for li in page.lines]
    running = running_lines(edge)
    out: list[Line] = []
    offset = chunk = 0
    for page, found in zip(loose, tables, strict=True):
        kept = [line for i, line in enumerate(page.lines, offset) if i not in running]
        offset += len(page.lines)
        chunk = _read_page(replace(page, lines=kept), found, out, chunk + 1)
    return out


def _without(lines: Sequence[PdfLine], tables: Sequence[Found]) -> list[PdfLine]:
    taken = {id(line) for _, members in tables for line in members}
    return [line for line in lines if id(line) not in taken]


def _read_page(page: PdfPage, ruled: Sequence[Found], out: list[Line], chunk: int) -> int:
    tables = [*ruled, *column_tables(page.lines, page)]
    starts = {id(members[0]): block for block, members in tables}
    lines = _without(page.lines, tables) + [members[0] for _, members in tables]
    setting = _setting(page)
    last: PdfLine | None = None
    for index, line in enumerate(reading_order(page, lines)):
        block = starts.get(id(line))
        if block is not None:
            chunk += 1
            out.append(Line(line.text, chunk=chunk, page=page.number, block=block))
            last = None
            continue
        turned = index == 0 or (last is not None and line.y0 > last.y1)  # a page or column on
        if (last is not None and _joins(last, line, setting)) or (
            turned and out and _goes_on(out[-1], line)
        ):
            _extend(out[-1], line)
        else:
            chunk += 1
            out.append(Line(line.text, 0, 0, chunk, 0, page.number, line.bold, line.size))
        last = line
    return chunk


def _setting(page: PdfPage) -> _Setting:
    lines = page.lines
    sizes = Counter(line.size for line in lines)
    usual = sizes.most_common(1)[0][0] if sizes else 0.0
    body = [line for line in lines if line.size == usual]
    gaps = sorted(gap / usual for a, b in pairwise(body) if 0 <= (gap := a.y0 - b.y1) < usual * 1.5)
    # The lower quarter is the distance inside paragraphs, also on a page of short ones.
    inside = gaps[len(gaps) // 4] if gaps else 0.3
    right = max((line.x1 for line in body), default=0.0)
    middle = page.width / 2 + 6
    left, _ = columns_of(body, middle)
    column = max((line.x1 for line in left), default=0.0)
    return _Setting(usual, inside + 0.25, right, middle, column)


def _joins(last: PdfLine, line: PdfLine, setting: _Setting) -> bool:
    """Whether a line goes on with the paragraph of the line above it."""
    if abs(last.size - line.size) > 0.6 or last.bold != line.bold:
        return False
    widest = line.size * (setting.leading if line.size <= setting.size else _TIGHT)
    if not -line.size * 1.5 <= last.y0 - line.y1 <= widest:
        return False
    if _ITEM.match(line.text) or read_candidate(0, line.text) is not None:
        return False
    if line.x0 - last.x0 >= line.size * 1.5:
        return False  # an indent opens a paragraph
    short = last.x1 < setting.edge(last) - line.size * 4
    heads = read_candidate(0, last.text)
    if short and ((heads is not None and heads.title) or last.y0 - line.y1 > line.size * _WIDE):
        return False  # a full line goes on, a short one is a heading or the end of something
    # A sentence that ends before the right edge closes its paragraph.
    return not (short and _ENDED.search(last.text))


def _goes_on(last: Line, line: PdfLine) -> bool:
    """Whether a paragraph goes on over a page break."""
    if last.block is not None or abs(last.size - line.size) > 0.6 or _ENDED.search(last.text):
        return False
    wide = ord(line.text[0]) > 0x2E7F and ord(last.text[-1]) > 0x2E7F
    if read_candidate(0, line.text) is not None or read_candidate(0, last.text) is not None:
        return False
    return line.text[0].islower() or (wide and len(last.text) > 15)


def _extend(line: Line, after: PdfLine) -> None:
    text = line.text
    if text.endswith("-") and len(text) > 1 and text[-2].isalpha() and after.text[0].islower():
        line.text = text[:-1] + after.text  # a word parted at the end of the line
        return
    wide = ord(text[-1]) > 0x2E7F and ord(after.text[0]) > 0x2E7F
    line.text = text + ("" if wide else " ") + after.text
