"""Markdown (CommonMark with the GitHub extensions) to blocks, on pulldown-cmark's events."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyromark
from pyromark import Options
from pyromark.event import Range

from llama_index_semxpath.node_parser.blocks import Block, Parsed
from llama_index_semxpath.node_parser.frontmatter import split_front_matter
from llama_index_semxpath.node_parser.html_names import HTML_NAMES
from llama_index_semxpath.node_parser.inline import SOFT_BREAK, Inline, add_blocks
from llama_index_semxpath.node_parser.offsets import Offsets
from llama_index_semxpath.node_parser.options import ParseOptions
from llama_index_semxpath.node_parser.tables import table_block
from llama_index_semxpath.tree.node import Value

EXTENSIONS = (
    Options.ENABLE_TABLES
    | Options.ENABLE_FOOTNOTES
    | Options.ENABLE_STRIKETHROUGH
    | Options.ENABLE_TASKLISTS
    | Options.ENABLE_MATH
    | Options.ENABLE_GFM
    | Options.ENABLE_DEFINITION_LIST
)
_ANCHOR = re.compile(r"\s*\{#([^\s{}]+)\}$")
_TAG = re.compile(r"</?\s*([A-Za-z][A-Za-z0-9-]*)")
_ATTRIBUTE = re.compile(r"""\b(id|name|alt|src)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))""", re.I)
_FENCE = re.compile(r"(?:`{4,}|~{3,})[^\n]*")
_TEX = re.compile(r"[\\^_{}=]|^[^\s*]{1,3}$")
_HIDDEN = frozenset({"script", "style", "template", "noscript"})
#: Deepest nesting of quotes and lists; what is nested deeper is added to the block at this depth.
_MAX_DEPTH = 60


def parse_markdown(source: str | bytes, options: ParseOptions) -> Parsed:
    """Blocks of a Markdown source.

    Args:
        source: The text; bytes are taken as UTF-8.
        options: Not used: Markdown says everything itself.

    Example:
        >>> parsed = parse_markdown("Oil\\n---\\n*Two* litres", ParseOptions())
        >>> [(block.kind, block.text) for block in parsed.blocks]
        [('Heading', 'Oil'), ('Paragraph', 'Two litres')]
    """
    text = source.decode("utf-8", "replace") if isinstance(source, bytes) else source
    attributes, start = split_front_matter(text)
    walker = _Walker(text[start:], start)
    return Parsed(walker.walk(), attributes, "markdown")


class _Walker:
    """Turns the flat stream of events into nested blocks; one method for each kind of event."""

    def __init__(self, source: str, shift: int) -> None:
        self._source = source
        self._offsets = Offsets(source, shift)
        self._root = Block("Document")
        self._open: list[Block] = [self._root]
        self._too_deep = 0
        self._idle = Inline()
        self._inline = self._idle
        self._rows: list[list[str]] = []
        self._row_spans: list[tuple[int, int] | None] = []
        self._row_attributes: list[dict[str, Value]] = []
        self._cells: Inline | None = None
        self._html: list[str] = []
        self._html_span: tuple[int, int] | None = None
        self._anchor: str | None = None
        # The run that a script or style interrupts; its text goes to a run that nobody reads.
        self._interrupted: Inline | None = None
        # Line breaks of the run: parts before it, where in bytes it stands, and whether the line
        # before it has text that is not bold.
        self._lines: list[tuple[int, int, int, bool]] = []
        self._start = 0
        self._end = 0
        self._on_start: dict[str, Callable[[Any], None]] = {
            "Paragraph": self._begin_text,
            "Heading": self._begin_text,
            "BlockQuote": self._begin_quote,
            "CodeBlock": self._begin_text,
            "List": self._begin_list,
            "Item": self._begin_item,
            "FootnoteDefinition": self._begin_footnote,
            "Table": self._begin_table,
            "TableRow": self._begin_row,
            "TableHead": self._begin_row,
            "TableCell": self._begin_cell,
            "Link": self._begin_link,
            "Image": self._begin_link,
            "Strong": self._begin_strong,
            "DefinitionList": self._begin_definitions,
            "DefinitionListTitle": self._begin_item,
            "DefinitionListDefinition": self._begin_definition,
        }
        self._on_end: dict[str, Callable[[Any], None]] = {
            "Paragraph": self._end_paragraph,
            "Heading": self._end_heading,
            "BlockQuote": self._pop,
            "CodeBlock": self._end_code,
            "List": self._pop,
            "Item": self._end_item,
            "FootnoteDefinition": self._end_footnote,
            "Table": self._end_table,
            "TableRow": self._end_row,
            "TableHead": self._end_row,
            "TableCell": self._end_cell,
            "Link": self._end_link,
            "Image": self._end_image,
            "Strong": self._end_strong,
            "DefinitionList": self._pop,
            "DefinitionListTitle": self._end_term,
            "DefinitionListDefinition": self._end_definition,
        }
        self._on_leaf: dict[str, Callable[[Any], None]] = {
            "Html": self._html_line,
            "InlineHtml": self._inline_html,
            "InlineMath": self._inline_math,
            "DisplayMath": lambda tex: self._text(f"$${tex}$$"),
            "FootnoteReference": lambda name: self._text(f"[{name}]"),
            "TaskListMarker": self._task,
        }
        self._fence = ""

    def walk(self) -> list[Block]:
        """All blocks of the source."""
        handlers = {"Start": self._on_start, "End": self._on_end}
        leaves = self._on_leaf
        event: Any
        place: Range
        for event, place in pyromark.events_with_range(
            self._source, options=EXTENSIONS, merge_text=True
        ):
            if event.__class__ is str:
                self._break(event, place)
                continue
            ((key, value),) = event.items()
            # Text is a third of all events: it is dealt with here.
            if key == "Text" or key == "Code":
                inline = self._inline
                inline.parts.append(value)
                if not inline.plain and not inline.bold:
                    inline.plain = not value.isspace()
                continue
            data = None
            if key in handlers:
                if value.__class__ is not str:
                    ((value, data),) = value.items()
                handler = handlers[key].get(value)
                if handler is None:
                    continue
                if self._html and value != "HtmlBlock":
                    self._flush_html()
            else:
                handler, data = leaves[key], value
            self._start, self._end = place["start"], place["end"]
            handler(data)
        self._flush_html()
        return self._root.children

    # Containers ---------------------------------------------------------------------------------

    def _push(self, block: Block) -> None:
        self._flush_item()
        # Text hangs on an item, so the deepest block is never the list itself.
        if len(self._open) > _MAX_DEPTH and self._open[-1].kind != "List":
            self._too_deep += 1
            return
        self._open[-1].children.append(block)
        self._open.append(block)

    def _pop(self, _: object = None) -> None:
        self._flush_item()
        if self._too_deep:
            self._too_deep -= 1
        else:
            self._open.pop()

    def _begin_quote(self, kind: str | None) -> None:
        attributes: dict[str, Value] = {"alert": kind.lower()} if kind else {}
        self._push(Block("Quote", attributes=attributes, span=self._span()))

    def _begin_list(self, start: int | None) -> None:
        attributes: dict[str, Value] = {} if start is None else {"ordered": True}
        if start not in (None, 1):
            attributes["start"] = start
        self._push(Block("List", attributes=attributes, span=self._span()))

    def _begin_definitions(self, _: object) -> None:
        self._push(Block("List", attributes={"type": "definition"}, span=self._span()))

    def _begin_item(self, _: object) -> None:
        self._push(Block("ListItem", span=self._span()))
        self._inline = Inline()

    def _end_item(self, _: object) -> None:
        self._pop()

    def _end_term(self, _: object) -> None:
        # The definitions that follow are children of the term.
        self._pop()

    def _begin_definition(self, _: object) -> None:
        terms = self._open[-1].children
        if not self._too_deep and terms:
            self._open.append(terms[-1])
        else:
            self._too_deep += 1
        self._inline = Inline()

    def _end_definition(self, _: object) -> None:
        self._end_paragraph()
        if self._too_deep:
            self._too_deep -= 1
        else:
            self._open.pop()

    def _begin_footnote(self, name: str) -> None:
        self._push(Block("Footnote", attributes={"footnote": name}, span=self._span()))

    def _end_footnote(self, _: object) -> None:
        note = self._open[-1]
        too_deep = self._too_deep
        self._pop()
        if too_deep:
            return
        # A note is its paragraphs, marked with its name, where it stands in the source.
        for child in note.children:
            child.attributes["footnote"] = note.attributes["footnote"]
        self._open[-1].children[-1:] = note.children

    # Text ---------------------------------------------------------------------------------------

    def _begin_text(self, data: Any) -> None:
        self._flush_item()
        self._inline = Inline()
        self._lines = []
        self._anchor = None
        self._fence = data["Fenced"] if data.__class__ is dict and "Fenced" in data else ""

    def _text(self, text: str) -> None:
        self._inline.add(text)

    def _break(self, kind: str, place: Range) -> None:
        inline = self._inline
        if kind == "Rule":
            return
        if len(self._open) == 1:
            self._lines.append((len(inline.parts), place["start"], place["end"], inline.plain))
            inline.plain = False
        inline.parts.append(SOFT_BREAK if kind == "SoftBreak" else "\n")

    def _take(self) -> Inline:
        """The run of text that ends here."""
        inline = self._interrupted or self._inline
        self._interrupted = None
        if inline is self._idle:
            # Text that follows a block in a tight list item is announced by no event.
            self._idle = Inline()
        self._inline = self._idle
        return inline

    def _end_paragraph(self, _: object = None) -> None:
        inline = self._take()
        if not inline.parts and not inline.images:
            return
        span = self._span()
        if inline.parts and inline.parts[0].startswith("$$"):
            tex = "".join(inline.parts)
            if tex.endswith("$$") and tex.count("$$") == 2:
                block = Block("Formula", tex[2:-2].strip(), span=span)
                self._open[-1].children.append(block)
                return
        if not self._lines:
            self._place(inline.blocks("Paragraph", span))
            return
        lines, self._lines = self._lines, []
        plain = [line[3] for line in lines]
        last = inline.plain
        inline.plain = last or any(plain)
        if inline.plain and not (last and all(plain)) and not inline.links and not inline.images:
            self._split_bold_lines(inline, lines, last)
        else:
            self._place(inline.blocks("Paragraph", span))

    def _split_bold_lines(
        self, inline: Inline, breaks: list[tuple[int, int, int, bool]], last: bool
    ) -> None:
        """Lines all in bold are paragraphs of their own: authors write headings so."""
        begin, first = self._start, 0
        lines = [*breaks, (len(inline.parts), self._end, self._end, last)]
        for place, (count, stop, after, plain) in enumerate(lines):
            if place + 1 < len(lines) and plain and lines[place + 1][3]:
                continue
            piece = Inline()
            piece.parts, piece.plain = inline.parts[first:count], plain
            self._place(piece.blocks("Paragraph", self._offsets.span(begin, stop)))
            begin, first = after, count + 1

    def _place(self, blocks: list[Block]) -> None:
        add_blocks(self._open[-1], blocks)

    def _flush_item(self) -> None:
        """Takes the bare text of a tight list item, which no event closes."""
        if self._inline.parts and self._open[-1].kind == "ListItem":
            inline = self._take()
            self._place(inline.blocks("Paragraph", self._open[-1].span))

    def _end_heading(self, level: str) -> None:
        inline = self._take()
        text, attributes = inline.text.replace("\n", " "), inline.attributes
        match = _ANCHOR.search(text)
        if match and _says_anchor(self._source_text(), match[0].strip()):
            text, self._anchor = text[: match.start()], match[1]
        if self._anchor:
            attributes["anchor"] = self._anchor
        if text:
            block = Block("Heading", text, int(level[1]), [], attributes, self._span())
            self._open[-1].children.append(block)

    def _end_code(self, _: object) -> None:
        inline = self._take()
        lines = "".join(inline.parts).replace("\r\n", "\n")
        text = lines.removesuffix("\n")
        attributes: dict[str, Value] = {}
        words = self._fence.split()
        if words and (language := words[0].strip("{}.,")):
            attributes["language"] = language
        raw = self._source_text()
        fence = _FENCE.match(raw)
        if fence:
            # Such a fence is chosen because of what the code holds (Markdown, fences): it belongs
            # to what is shown.
            close = re.match(r"[`~]+", raw)
            inner = f"{text}\n" if lines else ""
            text = f"{fence[0].rstrip()}\n{inner}{close[0] if close else ''}"
        if text.strip():
            self._place([Block("Code", text, None, [], attributes, self._span())])

    def _task(self, done: bool) -> None:
        self._open[-1].attributes["checked"] = done

    def _begin_strong(self, _: object) -> None:
        self._inline.bold += 1

    def _end_strong(self, _: object) -> None:
        self._inline.bold -= 1

    def _begin_link(self, data: dict[str, str]) -> None:
        self._inline.open_link(data["dest_url"])

    def _end_link(self, _: object) -> None:
        self._inline.close_link()

    def _end_image(self, _: object) -> None:
        self._inline.close_image()

    # Tables -------------------------------------------------------------------------------------

    def _begin_table(self, _: object) -> None:
        self._flush_item()
        self._rows, self._row_spans, self._row_attributes = [], [], []

    def _begin_row(self, _: object) -> None:
        self._rows.append([])
        self._row_attributes.append({})

    def _begin_cell(self, _: object) -> None:
        self._inline = Inline()

    def _end_cell(self, _: object) -> None:
        inline = self._take()
        self._rows[-1].append(inline.text)
        if inline.links:
            self._row_attributes[-1].update(inline.attributes)

    def _end_row(self, _: object) -> None:
        self._row_spans.append(self._span())

    def _end_table(self, _: object) -> None:
        width = len(self._rows[0])
        rows = [row[:width] for row in self._rows]
        block = table_block(rows, header_rows=1, span=self._span(), row_spans=self._row_spans)
        for row, attributes in zip(block.children, self._row_attributes[1:], strict=False):
            for key, value in attributes.items():
                row.attributes.setdefault(key, value)
        self._place([block])

    # Embedded HTML ------------------------------------------------------------------------------

    def _html_line(self, line: str) -> None:
        if not self._html:
            self._flush_item()
            self._html_span = self._span()
        self._html.append(line)

    def _flush_html(self) -> None:
        if not self._html:
            return
        source, self._html = "".join(self._html), []
        first = _TAG.match(source.lstrip())
        if first and first[1].lower() not in HTML_NAMES:
            # A placeholder such as <bucket-name>, which a browser would swallow.
            self._place([Block("Paragraph", source.strip(), span=self._html_span)])
            return
        from llama_index_semxpath.node_parser.html import parse_fragment

        blocks = parse_fragment(source)
        for block in blocks:
            block.span = self._html_span
        self._place(blocks)

    def _inline_math(self, tex: str) -> None:
        if not _TEX.search(tex):
            # "$HOME and $PATH" is no formula: what is between is Markdown like the rest.
            event: Any
            parts: list[str] = []
            for event in pyromark.events(tex.strip(), options=EXTENSIONS & ~Options.ENABLE_MATH):
                if event.__class__ is dict:
                    parts.append(event.get("Text") or event.get("Code") or "")
            tex = "".join(parts)
        self._text(f"${tex}$")

    def _inline_html(self, tag: str) -> None:
        match = _TAG.match(tag)
        name = match[1].lower() if match else ""
        if match is None:
            return
        if name not in HTML_NAMES:
            self._text(tag)
        elif name in _HIDDEN:
            if tag[1] != "/" and self._interrupted is None:
                self._interrupted, self._inline = self._inline, Inline()
            elif tag[1] == "/" and self._interrupted is not None:
                self._inline, self._interrupted = self._interrupted, None
        elif name == "br":
            self._inline.parts.append("\n")
        elif name in ("a", "img", "span"):
            found = {k.lower(): a or b or c for k, a, b, c in _ATTRIBUTE.findall(tag)}
            self._anchor = found.get("id") or found.get("name") or self._anchor
            if name == "img":
                alternative = found.get("alt", "")
                self._text(alternative)
                self._inline.add_image(found.get("src", ""), alternative)

    # Places -------------------------------------------------------------------------------------

    def _span(self) -> tuple[int, int]:
        return self._offsets.span(self._start, self._end)

    def _source_text(self) -> str:
        start, end = self._offsets.local(self._start), self._offsets.local(self._end)
        return self._source[start:end]


def _says_anchor(source: str, anchor: str) -> bool:
    """Whether a heading ends in ``{#id}`` itself, not in an escaped form of it."""
    bare = source.rstrip("# \t\r\n=-")
    return bare.endswith(anchor) and not bare.endswith("\\" + anchor)
