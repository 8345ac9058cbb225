"""Plain text: paragraphs, lists, simple tables, and the headings that nobody marked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from llama_index_semxpath.node_parser.assemble import blocks_from_lines
from llama_index_semxpath.node_parser.blocks import Block, Parsed
from llama_index_semxpath.node_parser.contents import running_lines
from llama_index_semxpath.node_parser.headings import find_outline
from llama_index_semxpath.node_parser.lines import Line, read_lines, unwrap
from llama_index_semxpath.node_parser.options import ParseOptions
from llama_index_semxpath.node_parser.tables import table_block
from llama_index_semxpath.node_parser.titles import label_of

_RULE = re.compile(r"[\s|+:=\-─━│┼├┤┬┴┌┐└┘]+")
_GAP = re.compile(r"\t+| {2,}|　{1,}")
_LEAST_ROWS = 3


def parse_text(source: str | bytes, options: ParseOptions) -> Parsed:
    """Blocks of a plain text.

    Args:
        source: The text, decoded.
        options: How to parse.

    Example:
        >>> parsed = parse_text("Water act\\n\\n第一条 水免费。\\n\\n第二条 完。", ParseOptions())
        >>> [(block.kind, block.text) for block in parsed.blocks][:2]
        [('Paragraph', 'Water act'), ('Heading', '第一条')]
    """
    text = source if isinstance(source, str) else source.decode("utf-8", "replace")
    lines = _lines(text)
    outline = find_outline(lines, options.heading_hook)
    blocks = blocks_from_lines(lines, outline.headings, titles=outline.titles)
    parsed = Parsed(blocks, format="text")
    if outline.titles:
        parsed.attributes["title"] = " ".join(line.text for line in lines[: outline.titles])
    return parsed


def text_blocks(text: str) -> list[Block]:
    """Blocks of a text that is a part of something else, so has no title and no headings.

    Example:
        >>> [block.kind for block in text_blocks("Hello\\n\\n- one\\n- two")]
        ['Paragraph', 'List']
    """
    return blocks_from_lines(_lines(text), [])


def _lines(text: str) -> list[Line]:
    lines = read_lines(text)
    running = running_lines(lines)
    kept = [line for i, line in enumerate(lines) if i not in running] if running else lines
    return unwrap(with_tables(kept))


def with_tables(lines: Sequence[Line]) -> list[Line]:
    """Put a ``Table`` block in the place of lines that are laid out as a table.

    Piped rows, ruled boxes, and at least three lines with the same number of columns set apart by
    tabs or two blanks are tables.

    Example:
        >>> lines = read_lines("Name   Size\\nBolt   3\\nNut    4\\n")
        >>> [row.attributes for row in with_tables(lines)[0].block.children]
        [{'Name': 'Bolt', 'Size': 3}, {'Name': 'Nut', 'Size': 4}]
    """
    out: list[Line] = []
    i = 0
    while i < len(lines):
        end = _table_end(lines, i)
        if end - i >= _LEAST_ROWS:
            out.append(_table_line(lines[i:end]))
            i = end
        else:
            out.append(lines[i])
            i += 1
    return out


def _table_end(lines: Sequence[Line], start: int) -> int:
    width = len(_cells(lines[start].text))
    if width < 2 and not _is_rule(lines[start].text):
        return start
    end = start
    while end < len(lines) and lines[end].chunk == lines[start].chunk:
        text = lines[end].text
        if not _is_rule(text):
            columns = len(_cells(text))
            width = width if width > 1 else columns
            if columns != width or columns < 2:
                break
        end += 1
    rows = [line for line in lines[start:end] if not _is_rule(line.text)]
    return end if len(rows) >= (2 if end - start > len(rows) else _LEAST_ROWS) else start


def _is_rule(text: str) -> bool:
    return len(text) >= 3 and bool(_RULE.fullmatch(text)) and any(c in text for c in "-=─━")


def _cells(text: str) -> list[str]:
    if text[0] in "|│" or text.count("|") >= 2:
        return [cell.strip() for cell in re.split(r"[|│]", text.strip("|│ "))]
    cells = _GAP.split(text)
    # Several "key: value" pairs on one line are a form, not a row.
    if any(label_of(cell) for cell in cells) or len(cells[0]) > 60 or text[0] in "-*•":
        return [text]
    return cells


def _table_line(lines: Sequence[Line]) -> Line:
    kept = [line for line in lines if not _is_rule(line.text)]
    first, last = lines[0], lines[-1]
    block: Block = table_block(
        [list(_cells(line.text)) for line in kept],
        span=(first.start, last.end),
        page=first.page,
        row_spans=[(line.start, line.end) for line in kept],
    )
    return Line(
        first.text, first.start, last.end, first.chunk, first.indent, first.page, block=block
    )
