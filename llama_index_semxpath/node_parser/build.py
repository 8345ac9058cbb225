"""Blocks to a tree: sections nested, ids and order keys set, long leaves split."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from llama_index_semxpath.node_parser.blocks import Block, Parsed
from llama_index_semxpath.node_parser.numbering import number_attributes
from llama_index_semxpath.node_parser.options import ParseOptions
from llama_index_semxpath.node_parser.paths import fit_path
from llama_index_semxpath.node_parser.sentences import LINES, PROSE, Counter, glue, split_text
from llama_index_semxpath.node_parser.tokens import token_counter
from llama_index_semxpath.tree.ids import ChildIds
from llama_index_semxpath.tree.node import TreeNode, Value
from llama_index_semxpath.tree.order import SEPARATOR, component

#: Deepest nesting of nodes; what is nested deeper hangs on the node at this depth.
MAX_DEPTH = 64
_SPLIT = {"Paragraph": PROSE, "ListItem": PROSE, "Code": LINES}
_CAPTION = re.compile(
    r"(?:(?i:table|tab\.|tbl\.)\s*(?:\d|[A-Z]\b)|表格?\s*[\dA-Z一二三四五六七八九十])"
)
_FIGURE_CAPTION = re.compile(
    r"(?:(?i:figure|fig\.)\s*(?:\d|[A-Z]\b)|(?:示意|插)?图\s*[\dA-Z一二三四五六七八九十])"
)
_LONGEST_CAPTION = 300
# The same few components are asked for in every section of every document.
_components: list[str] = []


class _Place:
    """A node that children can be hung on."""

    __slots__ = ("budget", "count", "depth", "id", "ids", "level", "order", "path", "seen")

    def __init__(self, node: TreeNode, path: list[str], level: int, depth: int) -> None:
        self.id = node.id
        self.ids = ChildIds(node.doc, node.id)
        self.order = node.order
        self.path = path
        self.level = level
        self.depth = depth
        self.count = 0
        self.seen: dict[tuple[str, str], int] = {}
        self.budget: int | None = None


def build_tree(parsed: Parsed, doc_id: str, options: ParseOptions) -> list[TreeNode]:
    """The tree of one source.

    A heading opens a section below the nearest earlier heading of a smaller level; levels stay as
    the source has them, also where one is skipped. Time is linear in the number of blocks.

    Args:
        parsed: What a front end made.
        doc_id: Id of the document, which is the id of the root.
        options: Token limit and tokenizer.

    Returns:
        Nodes in document order, the root first.

    Example:
        >>> blocks = [Block("Heading", "Oil", level=2), Block("Paragraph", "Two litres.")]
        >>> tree = build_tree(Parsed(blocks), "engine.md", ParseOptions())
        >>> [(node.kind, node.text, node.order) for node in tree[1:]]
        [('Section', 'Oil', 'a0.a0'), ('Paragraph', 'Two litres.', 'a0.a0.a0')]
    """
    return _Builder(parsed, doc_id, options).nodes


class _Builder:
    def __init__(self, parsed: Parsed, doc_id: str, options: ParseOptions) -> None:
        self.doc = doc_id
        self.limit = options.max_tokens
        self.count: Counter = token_counter(options)
        attributes = {**parsed.attributes, "format": parsed.format}
        root = TreeNode(doc_id, parsed.root, doc_id, None, "", attributes, component(0), level=0)
        self.nodes = [root]
        self._sections = [_Place(root, [], 0, 0)]
        _bind_captions(parsed.blocks)
        for block in parsed.blocks:
            if block.kind == "Heading":
                self._open_section(block)
            elif block.children:
                self._hang(self._sections[-1], block)
            else:
                self._add(self._sections[-1], block)

    def _open_section(self, block: Block) -> None:
        level = block.level or 1
        sections = self._sections
        while len(sections) > 1 and sections[-1].level >= level:
            sections.pop()
        if len(block.text) > self.limit and self.count(block.text) > self.limit:
            # A whole page set as a heading is none: it is split as text is.
            self._add(sections[-1], replace(block, kind="Paragraph", level=None))
            return
        sections.append(self._section(sections[min(len(sections), MAX_DEPTH) - 1], block))
        for child in block.children:
            self._hang(sections[-1], child)

    def _section(self, parent: _Place, block: Block) -> _Place:
        attributes: dict[str, Value] = {"title": block.text, **number_attributes(block.text)}
        attributes.update(block.attributes)
        node = self._node(parent, "Section", block.text, attributes, block)
        node.level = block.level or 1
        return _Place(node, [*parent.path, block.text], node.level, parent.depth + 1)

    def _hang(self, place: _Place, block: Block) -> None:
        """Adds a block and what it holds, without recursion: sources nest thousands deep."""
        todo: list[tuple[_Place, Iterator[Block]]] = [(place, iter((block,)))]
        while todo:
            parent, blocks = todo[-1]
            for current in blocks:
                inner = self._add(parent, current)
                if current.children:
                    _bind_captions(current.children)
                    todo.append((inner, iter(current.children)))
                    break
            else:
                todo.pop()

    def _add(self, parent: _Place, block: Block) -> _Place:
        """Adds the node or, for a split block, the nodes; returns where its children go."""
        kind, attributes, text = block.kind, block.attributes, block.text
        if kind == "Section":
            return self._section(parent, block)
        if kind == "Heading":
            # A heading inside a quote, list or cell is no section of the document.
            kind, attributes = "Paragraph", {**attributes, "heading": block.level or 1}
        tokens = self.count(text) if text else 0
        if tokens > self.limit // 2 and kind in _SPLIT:
            limit = self._budget(parent)
            if tokens > limit:
                return self._add_pieces(parent, block, limit)
        node = self._node(parent, kind, text, attributes, block, tokens)
        return self._place(parent, node) if block.children else parent

    def _add_pieces(self, parent: _Place, block: Block, limit: int) -> _Place:
        """A block over the limit as sibling nodes with ``@part`` 1, 2 …; see ``glue``."""
        pieces = list(_pieces(block, limit, self.count))
        first = self._piece(parent, block.kind, block, pieces[0], 1)
        place = parent
        if block.kind == "ListItem":
            parent = place = self._place(parent, first)
        kind = "Paragraph" if block.kind == "ListItem" else block.kind
        for part, piece in enumerate(pieces[1:], 2):
            self._piece(parent, kind, block, piece, part)
        return place

    def _piece(
        self, parent: _Place, kind: str, block: Block, piece: tuple[int, int, str | None], part: int
    ) -> TreeNode:
        start, end, joint = piece
        text = block.text[start:end]
        attributes: dict[str, Value] = (
            {**block.attributes, "part": part} if part == 1 else {"part": part}
        )
        if part > 1 and "language" in block.attributes:
            attributes["language"] = block.attributes["language"]
        if joint is not None:
            attributes["joint"] = joint
        node = self._node(parent, kind, text, attributes, block)
        if block.span and block.span[1] - block.span[0] == len(block.text):
            node.span = (block.span[0] + start, block.span[0] + end)
        return node

    def _node(
        self,
        parent: _Place,
        kind: str,
        text: str,
        attributes: dict[str, Value],
        block: Block,
        tokens: int | None = None,
    ) -> TreeNode:
        content = (kind, text)
        occurrence = parent.seen.get(content, 0)
        parent.seen[content] = occurrence + 1
        if block.confidence < 1:
            attributes["confidence"] = block.confidence
        place = parent.count
        parent.count = place + 1
        while place >= len(_components):
            _components.append(component(len(_components)))
        node = TreeNode(
            parent.ids.id(kind, text, occurrence),
            kind,
            self.doc,
            parent.id,
            text,
            attributes,
            f"{parent.order}{SEPARATOR}{_components[place]}",
            None,
            self.count(text) if tokens is None else tokens,
            block.page,
            block.span,
        )
        self.nodes.append(node)
        return node

    def _place(self, parent: _Place, node: TreeNode) -> _Place:
        if parent.depth >= MAX_DEPTH:
            return parent
        return _Place(node, parent.path, parent.level, parent.depth + 1)

    def _budget(self, place: _Place) -> int:
        """Tokens left for text below the heading path."""
        if place.budget is None:
            place.budget = self.limit - fit_path(place.path, self.limit, self.count)[1]
        return place.budget


def _pieces(block: Block, limit: int, count: Counter) -> Iterator[tuple[int, int, str | None]]:
    """Ranges of a block's text without the white space between them, and what joined them.

    The joint is given only where ``glue`` would not tell it.
    """
    text, end_before = block.text, 0
    code = block.kind == "Code"
    for start, end in split_text(text, limit, count, _SPLIT[block.kind]):
        if code:
            yield start, end - (text[end - 1] == "\n" and end < len(text)), None
            continue
        while start < end and text[start].isspace():
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        if start == end:
            continue
        between = text[end_before:start]
        known = not end_before or between == glue(text[:end_before][-1:], text[start])
        yield start, end, None if known else between
        end_before = end


def _bind_captions(blocks: Sequence[Block]) -> None:
    """Gives tables and figures the paragraph beside them that names them as ``@caption``.

    "Table 4. …" stands before its table, "Figure 4. …" after its figure, rarely before; the
    paragraph stays where it is.
    """
    for one, two in pairwise(blocks):
        if two.kind == "Table" and _is_caption(one, _CAPTION):
            two.attributes.setdefault("caption", one.text)
        elif one.kind == "Figure" and _is_caption(two, _FIGURE_CAPTION):
            one.attributes.setdefault("caption", two.text)
    for one, two in pairwise(blocks):
        if two.kind == "Figure" and _is_caption(one, _FIGURE_CAPTION):
            two.attributes.setdefault("caption", one.text)


def _is_caption(block: Block, pattern: re.Pattern[str]) -> bool:
    return (
        block.kind == "Paragraph"
        and len(block.text) <= _LONGEST_CAPTION
        and pattern.match(block.text) is not None
    )


def is_caption_text(text: str) -> bool:
    """Whether a paragraph reads like the caption of a table.

    Example:
        >>> is_caption_text("Table 4. Lots on hand"), is_caption_text("Tables are fine.")
        (True, False)
    """
    return len(text) <= _LONGEST_CAPTION and _CAPTION.match(text) is not None
