"""Lines of a plain text: read with their offsets, hard wraps undone."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from llama_index_semxpath.node_parser.blocks import Block

_BREAKS = re.compile(r"\r\n|[\n\r\v\x85\u2028\u2029]")
_CLOSED = re.compile(r"[。！？；：.!?:;…][\"'”’」』)）]*$")
_BULLET = re.compile(r"[-*+•·‣▪●○◦–—]\s+(?=\S)")
_MARKED = re.compile(r"\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)]\s|[（(][^()（）]{1,4}[)）]|[①-⑳]")
_LEADER = re.compile(r"(?:[.·…․‥]{3,}|(?:\s\.){3,})\s*\d{1,4}$")
_MAX_WRAP_WIDTH = 160


@dataclass(slots=True)
class Line:
    """A line of a source, or a block that stands for itself.

    Args:
        text: Without white space at its ends.
        start: Offset of ``text`` in the source.
        end: Offset after it.
        chunk: Number of the paragraph that it belongs to: a blank line starts the next.
        indent: Columns of white space before it.
        page: 1-based page, where the source has pages.
        bold: Whether it is bold as a whole.
        size: Font size in points, 0 where unknown.
        block: A block of a richer source in the place of text.
    """

    text: str
    start: int = 0
    end: int = 0
    chunk: int = 0
    indent: int = 0
    page: int | None = None
    bold: bool = False
    size: float = 0.0
    block: Block | None = None

    @property
    def bullet(self) -> bool:
        """Whether it starts with a bullet."""
        return bool(_BULLET.match(self.text))


def read_lines(text: str) -> list[Line]:
    """Lines that are not blank, with their offsets; a form feed starts a page.

    Example:
        >>> [(line.text, line.start, line.chunk) for line in read_lines("One\\n two\\n\\nThree")]
        [('One', 0, 0), ('two', 5, 0), ('Three', 10, 1)]
    """
    lines: list[Line] = []
    chunk, open_chunk = -1, False
    page = 1 if "\f" in text else None
    for start, end in _spans(text):
        raw = text[start:end]
        if page is not None and "\f" in raw:
            page += raw.count("\f")
            open_chunk = False
        body = raw.strip()
        if not body:
            open_chunk = False
            continue
        if not open_chunk:
            chunk, open_chunk = chunk + 1, True
        left = start + len(raw) - len(raw.lstrip())
        indent = display_width(raw[: left - start].expandtabs(4).replace("\f", ""))
        lines.append(Line(body, left, left + len(body), chunk, indent, page))
    return lines


def _spans(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _BREAKS.finditer(text):
        yield start, match.start()
        start = match.end()
    yield start, len(text)


def display_width(text: str) -> int:
    """Columns that a text takes in a terminal: Chinese characters take two.

    Example:
        >>> display_width("ab中文")
        6
    """
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def unwrap(lines: Sequence[Line]) -> list[Line]:
    """Join lines that were broken only because the line was full.

    A break is a hard wrap when the first word of the next line would not have fitted. No space
    comes between two Chinese characters, a hyphen at a break joins the halves of a word.

    Example:
        >>> lines = read_lines("The quick brown fox jumps over\\nthe lazy dog and then it sleeps\\n"
        ...                    "for a while.\\nNext.")
        >>> [line.text for line in unwrap(lines)]
        ['The quick brown fox jumps over the lazy dog and then it sleeps for a while.', 'Next.']
    """
    width = _wrap_width(lines)
    out: list[Line] = []
    parts: list[str] = []
    last: Line | None = None
    for line in lines:
        if last is not None and _wrapped(last, line, width, first=len(parts) == 1):
            parts.append(line.text)
            out[-1].end = line.end
        else:
            _close(out, parts)
            out.append(replace(line))
            parts = [line.text]
        last = line
    _close(out, parts)
    return out


def _close(out: list[Line], parts: list[str]) -> None:
    if len(parts) > 1:
        text = parts[0]
        pieces = [text]
        for part in parts[1:]:
            pieces.append(_glue(text, part))
            pieces.append(part)
            text = part
        out[-1].text = "".join(pieces)


def _glue(left: str, right: str) -> str:
    wide = ord(left[-1]) > 0x2E7F and ord(right[0]) > 0x2E7F
    return "" if wide else " "


def _wrap_width(lines: Sequence[Line]) -> int:
    """Column at which the source breaks its lines; 0 when it does not."""
    pairs = [(a, b) for a, b in pairwise(lines) if a.chunk == b.chunk]
    if not pairs:
        return 0
    broken = [line.indent + display_width(line.text) for line, _ in pairs]
    ends = [line.indent + display_width(line.text) for _, line in pairs]
    # The widest lines may hold an unbreakable address, so look a little below the maximum.
    widths = sorted(broken + ends)
    width = widths[int(len(widths) * 0.95)] if len(widths) >= 20 else widths[-1]
    full = sum(width * 0.75 <= item <= width for item in broken)
    usable = 30 <= width <= _MAX_WRAP_WIDTH and full * 3 >= len(broken)
    return width if usable else 0


def _wrapped(line: Line, after: Line, width: int, *, first: bool) -> bool:
    if not width or line.chunk != after.chunk or after.bullet or _MARKED.match(after.text):
        return False
    if _LEADER.search(line.text):
        return False  # a line of a table of contents
    if after.text[0].islower() and not _CLOSED.search(line.text) and not line.text.endswith(":"):
        return True
    deeper = after.indent - line.indent
    if deeper < -8 or (deeper < -1 and not first) or (deeper > 0 and not _is_item(line)):
        return False  # an indented line starts a paragraph; only its first line stands in
    wide = ord(after.text[0]) > 0x2E7F
    if wide and _CLOSED.search(line.text):
        return False  # a Chinese line that ends a sentence is a paragraph more often than full
    word = 2 if wide else len(after.text.split(" ", 1)[0]) + 1
    return line.indent + display_width(line.text) + word > width - (2 if wide else 0)


def _is_item(line: Line) -> bool:
    return line.bullet or bool(_MARKED.match(line.text))
