"""PDF from its text layer: paragraphs, headings by bookmarks, numbers and fonts, tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from llama_index_semxpath.errors import SourceError
from llama_index_semxpath.node_parser.assemble import blocks_from_lines
from llama_index_semxpath.node_parser.blocks import Parsed
from llama_index_semxpath.node_parser.contents import contents_lines
from llama_index_semxpath.node_parser.headings import Heading, Outline, find_outline
from llama_index_semxpath.node_parser.lines import Line
from llama_index_semxpath.node_parser.numbering import split_number
from llama_index_semxpath.node_parser.options import ParseOptions
from llama_index_semxpath.node_parser.pdf_layout import (
    open_pdf,
    read_pages,
)
from llama_index_semxpath.node_parser.pdf_lines import text_lines
from llama_index_semxpath.node_parser.tables import join_tables
from llama_index_semxpath.node_parser.values import parse_date
from llama_index_semxpath.tree.node import Value

if TYPE_CHECKING:
    from pdfminer.pdfdocument import PDFDocument

_INFO = {
    "Title": "title",
    "Author": "author",
    "Subject": "subject",
    "Keywords": "keywords",
    "CreationDate": "created",
    "ModDate": "modified",
}
_PDF_DATE = re.compile(r"D?:?(\d{4})(\d\d)?(\d\d)?(?:(\d\d)(\d\d)(\d\d)?)?")
_LARGER = 1.08
# Confidence of headings that name their unit (章, Article): they need no font of their own.
_SURE = 0.95
_MAX_BOOKMARKS = 20_000


def parse_pdf(source: bytes | str, options: ParseOptions) -> Parsed:
    """Blocks of a PDF that has a text layer.

    Headings come from the bookmarks where there are any, else from numbers and fonts. Running
    heads and feet and page numbers are left out; every block knows its page.

    Args:
        source: The file.
        options: How to parse.

    Raises:
        SourceError: The file is no PDF, is damaged or encrypted, or holds no text (a scan).
    """
    document = open_pdf(
        source if isinstance(source, bytes) else source.encode("latin-1", "replace")
    )
    pages = list(read_pages(document))
    if not any(page.lines for page in pages):
        raise SourceError(
            f"the PDF has no text on its {len(pages)} page(s): it is a scan or only pictures",
            hint="run text recognition (OCR) over it and parse the result",
        )
    lines = text_lines(pages)
    marked = _bookmarked(document, lines)
    outline = Outline(marked) if marked else _by_fonts(lines)
    headings = outline.headings
    attributes = _information(document)
    if headings and "title" not in attributes and headings[0].line == 0:
        attributes["title"] = headings[0].title
    if outline.titles:
        attributes.setdefault("title", " ".join(line.text for line in lines[: outline.titles]))
    blocks = blocks_from_lines(lines, headings, titles=outline.titles)
    todo = list(blocks)
    while todo:
        block = todo.pop()
        block.span = None  # offsets into a text layer lead nowhere
        todo.extend(block.children)
    return Parsed(join_tables(blocks), attributes, "pdf")


def _bookmarked(document: PDFDocument, lines: Sequence[Line]) -> list[Heading]:
    """Headings that the bookmarks name, found again in the text in their order."""
    marks = _bookmarks(document)
    if not marks:
        return []
    places: dict[str, list[int]] = {}
    skip = contents_lines(lines)
    for i, line in enumerate(lines):
        if line.block is None and i not in skip and len(line.text) <= 300:
            for key in _keys(line.text):
                places.setdefault(key, []).append(i)
    out: dict[int, Heading] = {}
    after = -1
    for level, title in marks:
        found = [i for key in _keys(title) for i in places.get(key, []) if i not in out]
        at = next((i for i in sorted(found) if i > after), None)
        if at is not None:
            out[at] = Heading(at, level, lines[at].text)
            after = at
    found_share = len(out) / len(marks)
    return [out[i] for i in sorted(out)] if found_share >= 0.5 else []


def _bookmarks(document: PDFDocument) -> list[tuple[int, str]]:
    out: list[tuple[int, str]] = []
    try:
        for level, title, *_ in document.get_outlines():
            if isinstance(title, str) and title.strip():
                out.append((int(level), title))
            if len(out) >= _MAX_BOOKMARKS:
                break
    except Exception:  # no outlines, or broken ones: pdfminer raises many kinds
        return out if len(out) > 1 else []
    return out


def _keys(text: str) -> list[str]:
    """Folded forms under which a heading and its bookmark meet: with and without the number."""
    number = split_number(text.strip())
    forms = [text] if number is None or not number.rest else [text, number.rest]
    return [folded for form in forms if (folded := re.sub(r"\W+", "", form).casefold())]


def _by_fonts(lines: Sequence[Line]) -> Outline:
    """Headings by numbers and by fonts that differ from the body's."""
    body = _body_font(lines)
    loud = {
        i
        for i, line in enumerate(lines)
        if line.block is None and _is_loud(line, body) and len(line.text) <= 200
    }
    skip = contents_lines(lines)
    if not loud:
        return find_outline(lines)
    marked = [replace(line, bold=i in loud and i not in skip) for i, line in enumerate(lines)]
    numbered = [
        heading
        for heading in find_outline(marked).headings
        if split_number(lines[heading.line].text) is not None
    ]
    # Where numbered headings are set apart, a number in body type counts items or measures.
    weak = [heading for heading in numbered if heading.confidence < _SURE]
    if weak and sum(heading.line in loud for heading in weak) * 2 >= len(weak):
        numbered = [h for h in numbered if h.confidence >= _SURE or h.line in loud]
    return Outline(_with_levels(lines, numbered, sorted(loud - skip)))


def _body_font(lines: Sequence[Line]) -> tuple[float, bool]:
    weights: Counter[tuple[float, bool]] = Counter()
    for line in lines:
        if line.block is None:
            weights[round(line.size, 1), line.bold] += len(line.text)
    return weights.most_common(1)[0][0] if weights else (0.0, False)


def _is_loud(line: Line, body: tuple[float, bool]) -> bool:
    if line.size > body[0] * _LARGER:
        return True
    return line.bold and not body[1] and line.size >= body[0] * 0.95


def _with_levels(
    lines: Sequence[Line], numbered: Sequence[Heading], loud: Sequence[int]
) -> list[Heading]:
    """Levels of all headings: numbers count where there are some, fonts for the rest."""
    known = {heading.line: heading for heading in numbered}
    fonts = {i: (round(lines[i].size, 1), lines[i].bold) for i in loud}
    if not known:
        order = sorted(set(fonts.values()), reverse=True)
        return [Heading(i, order.index(fonts[i]) + 1, lines[i].text, confidence=0.8) for i in loud]
    top = max(fonts.get(i, (0.0, False)) for i, h in known.items())
    first = min(known)
    above = sorted({fonts[i] for i in loud if i not in known and fonts[i] > top}, reverse=True)
    # A title in the type of the headings stands before the first number, at the very start.
    titled = bool(loud) and loud[0] == 0 and 0 not in known and not above and first > 0
    offset = len(above) + titled
    of_font: dict[tuple[float, bool], int] = {}
    for i, heading in known.items():
        font = fonts.get(i)
        if font is not None:
            of_font[font] = min(of_font.get(font, 99), heading.level + offset)
    out: list[Heading] = []
    for i in sorted({*known, *loud}):
        if i in known:
            out.append(replace(known[i], level=known[i].level + offset))
        elif titled and i == 0:
            out.append(Heading(0, 1, lines[0].text, confidence=0.8))
        else:
            level = above.index(fonts[i]) + 1 if fonts[i] in above else of_font.get(fonts[i])
            if level is None:
                level = (out[-1].level if out and out[-1].line in known else offset) + 1
            out.append(Heading(i, level, lines[i].text, confidence=0.8))
    return out


def _information(document: PDFDocument) -> dict[str, Value]:
    from pdfminer.pdftypes import resolve1
    from pdfminer.utils import decode_text

    out: dict[str, Value] = {}
    for info in document.info:
        for key, name in _INFO.items():
            raw = resolve1(info.get(key))
            text = decode_text(raw).strip() if isinstance(raw, bytes) else ""
            if not text or text.lower().strip("()") in ("untitled", "anonymous", "unspecified"):
                continue
            if name in ("created", "modified"):
                match = _PDF_DATE.match(text)
                found = match and parse_date("-".join(part or "01" for part in match.groups()[:3]))
                if found:
                    out[name] = found
            else:
                out[name] = text
    return out
