"""Where the text of blocks stands in HTML source, whose parser tells no offsets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import unescape
from typing import Any

from llama_index_semxpath.node_parser.blocks import Block
from llama_index_semxpath.node_parser.tables import CELL_SEPARATOR

_REFERENCE = re.compile(r"&#?\w{1,32};?")
# How far behind the last place a text is looked for, in visible characters.
_WINDOW = 200_000
_RULED = ("Table", "Row")


def locate(blocks: Sequence[Block], source: str) -> None:
    """Sets the spans of blocks, from their first visible character to the last.

    The visible characters of the source are laid out once, with the offset of each; blocks are in
    source order, so each is looked for behind the one before it. A block whose text the source
    does not have as such (alternative texts, added quotation marks) keeps no span. A block spans
    what it holds. Time is linear.

    Args:
        blocks: Blocks in source order, without spans.
        source: The source.

    Example:
        >>> block = Block("Paragraph", "Two litres & more.")
        >>> locate([block], "<h1>Oil</h1><p>Two <b>litres</b> &amp; more.</p>")
        >>> block.span
        (15, 44)
    """
    visible, offsets = _visible(source)
    cursor = 0
    seen: list[Block] = []
    for block in _in_order(blocks):
        seen.append(block)
        text = block.text.replace(CELL_SEPARATOR, " ") if block.kind in _RULED else block.text
        bare = "".join(text.split())
        if not bare:
            continue
        place = visible.find(bare, cursor, cursor + len(bare) + _WINDOW)
        if place >= 0:
            cursor = place + len(bare)
            block.span = (offsets[place], offsets[cursor - 1] + 1)
    for block in reversed(seen):
        if block.children:
            spans = [inner.span for inner in (block, *block.children) if inner.span is not None]
            if spans:
                block.span = (min(start for start, _ in spans), max(end for _, end in spans))


def _in_order(blocks: Sequence[Block]) -> Iterator[Block]:
    todo = list(reversed(blocks))
    while todo:
        block = todo.pop()
        yield block
        todo += reversed(block.children)


def _visible(source: str) -> tuple[str, Sequence[int]]:
    """The characters of a page that are neither markup nor white space, and where each stands."""
    import numpy as np

    # Two bytes a character where that is enough: the arrays below are passed over many times.
    wide = not source.isascii() and max(source) > "\uffff"
    encoding, dtype = ("utf-32-le", "<u4") if wide else ("utf-16-le", "<u2")
    codes = np.frombuffer(source.encode(encoding, "surrogatepass"), dtype=dtype)
    # Markup runs from a "<" before a name to the next ">": where that is wrong (a ">" in an
    # attribute), text that is not there is laid out, and only the block it falls in stays without
    # a span.
    opens = np.flatnonzero(codes[:-1] == ord("<"))
    after = codes[opens + 1]
    opens = opens[(after > ord("9")) | (after == ord("/")) | (after == ord("!"))]
    closes = np.flatnonzero(codes == ord(">")) + 1
    ends = np.append(closes, len(codes))[np.searchsorted(closes, opens, side="right")]
    # Of two that end together the second stands inside the first.
    first = np.append(True, ends[1:] != ends[:-1])[: len(ends)]
    # How many stretches of markup each character is inside of: one, or two for a reference.
    edges = np.zeros(len(codes) + 1, dtype=np.int8)
    edges[opens[first]] = 1
    edges[ends[first]] -= 1
    if "&" in source:
        codes = codes.copy()
        _resolve(source, codes, edges)
    inside = np.cumsum(edges[:-1], dtype=np.int8)
    spaces = (codes <= 32) | (codes == 160) | (codes == 133) | (codes == 0x3000)
    places = np.flatnonzero((inside == 0) & ~spaces)
    visible = codes[places].tobytes().decode(encoding, "replace" if wide else "surrogatepass")
    return visible, memoryview(places)  # type: ignore[arg-type]


def _resolve(source: str, codes: Any, edges: Any) -> None:
    """Writes the one character that a reference stands for in the place of its ampersand."""
    for match in _REFERENCE.finditer(source):
        character = unescape(match[0])
        if len(character) == 1 and (codes.itemsize > 2 or character <= "\uffff"):
            start, end = match.span()
            codes[start] = ord(character)
            edges[start + 1] += 1
            edges[end] -= 1
