"""From lines and the headings found in them to blocks: paragraphs, lists, contents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from llama_index_semxpath.node_parser.blocks import Block
from llama_index_semxpath.node_parser.contents import contents_lines, is_contents_title
from llama_index_semxpath.node_parser.headings import Heading, heading_block
from llama_index_semxpath.node_parser.lines import Line
from llama_index_semxpath.node_parser.numbering import Number, number_attributes, split_number
from llama_index_semxpath.node_parser.titles import label_of

_BULLET = re.compile(r"([-*+•·‣▪●○◦–—])\s+")
_ENDED = re.compile(r"[。！？；：.!?:;…][\"'”’」』)）]*$")
#: Styles that items of a list are numbered in; a bare "10" before a word is no marker.
_ITEM_STYLES = re.compile(r"\(?[1AaIi一①](?:[.)、]|$)")
_MAX_DEPTH = 50


@dataclass(slots=True)
class _Item:
    block: Block
    key: str
    indent: int
    number: Number | None


@dataclass(slots=True)
class _State:
    """What is open while the lines go by."""

    out: list[Block] = field(default_factory=list)
    paragraph: list[Line] = field(default_factory=list)
    items: list[_Item] = field(default_factory=list)
    top: Block | None = None


def blocks_from_lines(
    lines: Sequence[Line], headings: Sequence[Heading], *, titles: int = 0
) -> list[Block]:
    """Blocks of a text.

    Args:
        lines: Its lines.
        headings: The headings in them.
        titles: How many lines at the start are the title of the document; they become a
            paragraph with ``@role`` ``title``.

    Example:
        >>> [b.kind for b in blocks_from_lines([Line("Parts:"), Line("- a"), Line("- b")], [])]
        ['Paragraph', 'List']
    """
    state = _State()
    starts = {heading.line: heading for heading in headings}
    contents = contents_lines(lines) - set(starts)
    i = 0
    if titles:
        title = _paragraph(lines[:titles])
        title.attributes["role"] = "title"
        state.out.append(title)
        i = titles
    while i < len(lines):
        line = lines[i]
        if i in starts:
            i = _take_heading(state, lines, starts[i])
            continue
        if line.block is not None:
            _flush(state)
            state.out.append(line.block)
        elif i in contents:
            i = _take_contents(state, lines, i, contents)
            continue
        elif not _take_item(state, lines, i, starts):
            _take_text(state, line)
        i += 1
    _flush(state)
    return state.out


def _take_heading(state: _State, lines: Sequence[Line], heading: Heading) -> int:
    _flush(state)
    line = lines[heading.line]
    after = heading.line + heading.lines
    if not heading.rest:
        end = lines[after - 1].end if heading.lines > 1 else line.end
        state.out.append(heading_block(heading, line, end))
        return after
    state.out.append(heading_block(heading, line, line.start + len(heading.title)))
    rest = line.text[heading.rest :]
    state.paragraph.append(
        Line(rest, line.start + heading.rest, line.end, line.chunk, line.indent, line.page)
    )
    return after


def _take_contents(state: _State, lines: Sequence[Line], i: int, contents: set[int]) -> int:
    if state.paragraph and is_contents_title(state.paragraph[-1].text):
        _flush(state)
        state.out[-1].attributes["role"] = "contents"
    _flush(state)
    listing = Block("List", attributes={"role": "contents"}, page=lines[i].page)
    first = i
    while i in contents:
        item = Block("ListItem", lines[i].text, span=(lines[i].start, lines[i].end))
        item.page = lines[i].page
        listing.children.append(item)
        i += 1
    listing.span = (lines[first].start, lines[i - 1].end)
    state.out.append(listing)
    return i


def _take_text(state: _State, line: Line) -> None:
    if state.items and not state.paragraph and line.indent > state.items[-1].indent:
        # An indented paragraph after an item belongs to the item.
        state.items[-1].block.children.append(_paragraph([line]))
        return
    if state.paragraph and not _same_paragraph(state.paragraph[-1], line):
        _flush(state)
    if state.items:
        _flush(state)
    state.paragraph.append(line)


def _same_paragraph(line: Line, after: Line) -> bool:
    if line.chunk != after.chunk or line.page != after.page:
        return False
    facts = [label_of(item.text) for item in (line, after)]
    return all(facts) or not _ENDED.search(line.text)


def _paragraph(lines: Sequence[Line]) -> Block:
    text = "\n".join(line.text for line in lines)
    block = Block("Paragraph", text, span=(lines[0].start, lines[-1].end), page=lines[0].page)
    if len(lines) == 1 and re.match(r"[\dA-Z第§]", text):
        number = split_number(text)
        measure = number is not None and number.rest[:1].islower()
        clause = number is not None and (len(number.parts) > 1 or not number.style[0].isascii())
        if clause and not measure:
            block.attributes |= number_attributes(text)
    return block


def _flush(state: _State) -> None:
    if state.paragraph:
        state.out.append(_paragraph(state.paragraph))
        state.paragraph = []
    state.items, state.top = [], None


def _take_item(state: _State, lines: Sequence[Line], i: int, starts: dict[int, Heading]) -> bool:
    line = lines[i]
    bullet = _BULLET.match(line.text)
    number = None if bullet else _item_number(line.text)
    if bullet is None and (number is None or not _in_list(state, lines, i, number, starts)):
        return False
    if state.paragraph:
        _flush(state)
    key = bullet[1] if bullet else (number.style if number else "")
    text = line.text[bullet.end() :] if bullet else line.text
    start = line.start + (bullet.end() if bullet else 0)
    block = Block("ListItem", text, span=(start, line.end), page=line.page)
    if number is not None:
        block.attributes |= number_attributes(line.text) or {"number": number.written}
        if number.n is not None:
            block.attributes["n"] = number.n
    _nest(state, _Item(block, key, line.indent, number))
    return True


def _item_number(text: str) -> Number | None:
    number = split_number(text)
    if number is None or not number.rest or len(number.parts) != 1:
        return None
    return number if _ITEM_STYLES.match(number.style) and number.style != "1" else None


def _in_list(
    state: _State, lines: Sequence[Line], i: int, number: Number, starts: dict[int, Heading]
) -> bool:
    """Whether a numbered line is an item: it starts at one, or follows or is followed by one."""
    if number.n == 1 and number.style[0] not in "AI":
        return True
    for item in reversed(state.items):
        if item.number is not None and item.number.style == number.style:
            return True
    if i + 1 < len(lines) and i + 1 not in starts and lines[i + 1].block is None:
        after = _item_number(lines[i + 1].text)
        return after is not None and after.style == number.style and after.n == (number.n or 0) + 1
    return False


def _nest(state: _State, item: _Item) -> None:
    """Hang an item below the one it belongs to, by indent for bullets and by style for numbers."""
    items = state.items
    while items and not _inside(items[-1], item) and not _sibling(items[-1], item):
        items.pop()
    if items and _sibling(items[-1], item):
        items.pop()
    if len(items) >= _MAX_DEPTH:
        items.pop()
    if not items:
        if state.top is None:
            state.top = Block("List", page=item.block.page, span=item.block.span)
            state.out.append(state.top)
        parent = state.top
    else:
        above = items[-1].block
        if not above.children or above.children[-1].kind != "List":
            above.children.append(Block("List", page=item.block.page, span=item.block.span))
        parent = above.children[-1]
    parent.children.append(item.block)
    if parent.span and item.block.span:
        parent.span = (parent.span[0], item.block.span[1])
    items.append(item)


def _sibling(last: _Item, item: _Item) -> bool:
    if item.number is not None:
        return last.key == item.key
    return (
        last.number is None
        and abs(last.indent - item.indent) < 2
        and (last.key == item.key or item.indent <= last.indent)
    )


def _inside(last: _Item, item: _Item) -> bool:
    if item.indent > last.indent + 1:
        return True
    if last.key == item.key or item.indent < last.indent:
        return False
    # At one indent a new style that starts at one opens a level; a bullet below a number does.
    return item.number.n == 1 if item.number is not None else last.number is not None
