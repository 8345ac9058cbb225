"""Runs of text as a reader sees them: markup gone, links kept aside, line breaks mended."""

from __future__ import annotations

import re

from llama_index_semxpath.node_parser.blocks import Block, Font
from llama_index_semxpath.tree.node import Value

#: A line break of the source that is no line break for a reader.
SOFT_BREAK = "\r"
#: Size of a font that is not known.
UNKNOWN_SIZE = 0.0

_SPACES = re.compile(r"[ \t\f\v\xa0]+")
_SPACE = re.compile(r"\s+")
_AROUND_BREAK = re.compile(r" *\n *")
_WIDE = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")
_ENDED = re.compile(r"[。！？；：…][”’」』）】》\"]?$")
# "Label: …", 【…】, an item or a numbered clause: a line that begins on purpose.
_BEGINS = re.compile(
    r"[【〔［（(•·●◆■①-⑳]|[-–—*+]\s|\d+[.)、]\s?|第[\d一二三四五六七八九十百零〇]+[章节条款]"
    r"|[一二三四五六七八九十]{1,3}、|[^\s:：，。,.]{1,16}：|[\w][\w /()&'-]{0,40}:(?:\s|$)"
)
# Shorter lines are not broken for want of room.
_LEAST_WRAP = 40


def tidy(text: str) -> str:
    """Prose with its white space as a browser would show it.

    Example:
        >>> tidy(" One  two\\xa0three ")
        'One two three'
    """
    if "\r" in text:
        text = _mend(text)
    if "\t" in text or "\xa0" in text:
        text = _SPACES.sub(" ", text)
    while "  " in text:
        text = text.replace("  ", " ")
    if "\n" in text:
        text = _AROUND_BREAK.sub("\n", text)
    return text.strip()


def _mend(text: str) -> str:
    """Joins the lines of a wrapped paragraph and keeps the breaks that an author meant.

    A break is a wrap when the line before it is long and unfinished and the next begins no item or
    label. Between wide characters a wrap leaves no space (CSS Text Level 3, "Segment Break
    Transformation Rules").
    """
    lines = text.split(SOFT_BREAK)
    joined = [lines[0].strip(" \t")]
    for line in lines[1:]:
        before, line = joined[-1], line.strip(" \t")
        width = (
            len(before) + len(_WIDE.findall(before)) if len(before) < _LEAST_WRAP else len(before)
        )
        if width < _LEAST_WRAP or _ENDED.search(before) or _BEGINS.match(line):
            joined += ["\n", line]
        elif before and line and _WIDE.match(before[-1]) and _WIDE.match(line):
            joined.append(line)
        else:
            joined += [" ", line]
    return "".join(joined)


class Inline:
    """Collects one run of text with its links and images.

    Text is added piece by piece; ``text`` gives the run tidied.
    """

    __slots__ = ("_open", "bold", "images", "links", "parts", "plain")

    def __init__(self) -> None:
        self.parts: list[str] = []
        #: Targets and texts; most runs have none.
        self.links: list[tuple[str, str]] | None = None
        self.images: list[tuple[str, str]] | None = None
        self.bold = 0
        self.plain = False
        self._open: list[tuple[str, int]] | None = None

    def add(self, text: str) -> None:
        """Adds visible text."""
        self.parts.append(text)
        if not self.bold and not self.plain:
            self.plain = not text.isspace()

    def open_link(self, target: str) -> None:
        """Starts a link or an image."""
        if self._open is None:
            self._open = []
        self._open.append((target, len(self.parts)))

    def close_link(self) -> None:
        """Ends the innermost link; one without a target leads nowhere."""
        target, text = self._close()
        if target:
            self.links = self.links or []
            self.links.append((target, text))

    def close_image(self) -> None:
        """Ends the innermost image; its alternative text stays in the run."""
        self.add_image(*self._close())

    def add_image(self, target: str, alternative: str) -> None:
        """Notes an image whose alternative text is already in the run."""
        self.images = self.images or []
        self.images.append((target, alternative))

    def _close(self) -> tuple[str, str]:
        if not self._open:
            return "", ""
        target, start = self._open.pop()
        return target, tidy("".join(self.parts[start:]))

    @property
    def text(self) -> str:
        """The run as a reader sees it."""
        parts = self.parts
        return tidy(parts[0] if len(parts) == 1 else "".join(parts)) if parts else ""

    @property
    def attributes(self) -> dict[str, Value]:
        """``links`` and ``images`` (targets) with the texts that carry them."""
        found: dict[str, Value] = {}
        if self.links:
            found["links"] = [target for target, _ in self.links]
            found["link_texts"] = [text for _, text in self.links]
        if self.images:
            found["images"] = [target for target, _ in self.images]
            found["image_texts"] = [text for _, text in self.images]
        return found

    def _image_text(self) -> str:
        return _SPACE.sub("", "".join(text for _, text in self.images or ()))

    def blocks(self, kind: str, span: tuple[int, int] | None) -> list[Block]:
        """The run as a block, or as figures when it holds nothing but images."""
        text = self.text
        if not text and not self.images:
            return []
        if self.images and _SPACE.sub("", text) == self._image_text():
            links = [target for target, _ in self.links or ()]
            return [figure(source, text, span, links=links) for source, text in self.images]
        attributes = self.attributes if self.links or self.images else {}
        block = Block(kind, text, None, [], attributes, span)
        if not self.plain:
            block.font = Font(UNKNOWN_SIZE, bold=True)
        return [block]


def figure(
    source: str,
    alternative: str,
    span: tuple[int, int] | None,
    *,
    caption: str = "",
    links: list[str] | None = None,
) -> Block:
    """A ``Figure`` block; its text is the caption, or else the alternative text."""
    attributes: dict[str, Value] = {"src": source} if source else {}
    if alternative:
        attributes["alt"] = alternative
    if caption:
        attributes["caption"] = caption
    if links:
        attributes["links"] = links
    return Block("Figure", caption or alternative, attributes=attributes, span=span)


def add_blocks(parent: Block, blocks: list[Block]) -> None:
    """Adds blocks to another; the first paragraph of a list item is the item's own text.

    Example:
        >>> item = Block("ListItem")
        >>> add_blocks(item, [Block("Paragraph", "a"), Block("Paragraph", "b")])
        >>> item.text, [block.text for block in item.children]
        ('a', ['b'])
    """
    if parent.kind == "ListItem" and not parent.text and not parent.children and blocks:
        first = blocks[0]
        if first.kind == "Paragraph":
            parent.text, parent.font = first.text, first.font
            parent.attributes.update(first.attributes)
            blocks = blocks[1:]
    parent.children += blocks
