"""HTML, semantic or not, to blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from llama_index_semxpath.node_parser.blocks import Block, Parsed
from llama_index_semxpath.node_parser.html_inline import FLOW, inline_of, one_line, target_of
from llama_index_semxpath.node_parser.html_prune import Element, page_attributes, read_page
from llama_index_semxpath.node_parser.html_table import is_layout, table_blocks
from llama_index_semxpath.node_parser.inline import Inline, add_blocks, figure, tidy
from llama_index_semxpath.node_parser.locate import locate
from llama_index_semxpath.node_parser.options import ParseOptions
from llama_index_semxpath.tree.node import Value

HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LIST_TYPES = {"ul": False, "menu": False, "dir": False, "ol": True}
_LANGUAGE = re.compile(
    r"(?:^|\s)(?:highlight|language|lang|brush:?|sourceCode|code)[- ]([\w+#.-]+)"
)
_NO_LANGUAGE = frozenset({"notranslate", "default", "none", "source", "block"})
_OBJECT = re.compile(r"(?:^|\s)sig(?:\s|$)")
_BLANK_LINES = re.compile(r"\n\s*\n\s*")
#: Deepest nesting of blocks; what is nested deeper is added to the block at this depth.
_MAX_DEPTH = 60

_Leave = Callable[[], None]


def parse_html(source: str | bytes, options: ParseOptions) -> Parsed:
    """Blocks of an HTML page.

    Args:
        source: The page, decoded; bytes are taken as UTF-8.
        options: Not used: the page says everything itself.

    Raises:
        SourceError: There is no element in the page.

    Example:
        >>> page = "<h1>Oil</h1><nav>Home</nav><div>Two <b>litres</b>.</div>"
        >>> [(block.kind, block.text) for block in parse_html(page, ParseOptions()).blocks]
        [('Heading', 'Oil'), ('Paragraph', 'Two litres.')]
    """
    text = source.decode("utf-8", "replace") if isinstance(source, bytes) else source
    root = read_page(text)
    blocks = _Walker(root).walk()
    locate(blocks, text)
    return Parsed(blocks, page_attributes(root), "html")


def parse_fragment(source: str) -> list[Block]:
    """Blocks of a piece of HTML, as it stands inside Markdown.

    Example:
        >>> [(block.kind, block.level) for block in parse_fragment('<h2 id="dep">Deposit</h2>')]
        [('Heading', 2)]
    """
    return _Walker(read_page(f"<html><body>{source}</body></html>")).walk()


class _Walker:
    """Walks the elements in document order with a stack of its own: pages nest without bound."""

    def __init__(self, root: Element) -> None:
        self._root = root
        self._top = Block("Document")
        self._open: list[Block] = [self._top]
        self._too_deep = 0
        self._inline = Inline()
        self._level = 0
        self._holds_blocks, self._dissolved = _survey(root)
        self._enter: dict[str, Callable[[Element], _Leave | None]] = {
            "a": self._enter_link,
            "b": self._enter_strong,
            "strong": self._enter_strong,
            "br": self._enter_break,
            "img": self._enter_image,
            "q": self._enter_quotation,
            "math": self._enter_math,
            "p": self._enter_flow,
            "pre": self._enter_code,
            "table": self._enter_table,
            "figure": self._enter_figure,
            "blockquote": self._enter_blockquote,
            "div": self._enter_div,
            "li": self._enter_item,
            "dl": self._enter_definitions,
            "dt": self._enter_term,
            "dd": self._enter_definition,
            "head": self._skip,
            "textarea": self._skip,
            **dict.fromkeys(_LIST_TYPES, self._enter_list),
            **dict.fromkeys(HEADINGS, self._enter_heading),
        }

    def walk(self) -> list[Block]:
        """All blocks of the page."""
        enter, parts_of = self._enter, self._add_text
        stack: list[tuple[Iterator[Element], _Leave | None, str | None]] = [
            (iter((self._root,)), None, None)
        ]
        while stack:
            children, leave, tail = stack[-1]
            for child in children:
                tag = child.tag
                handler = enter.get(tag)
                if handler is None:
                    handler = self._enter_flow if tag in FLOW else self._enter_inline
                done = handler(child)
                if done is _SKIPPED:
                    if child.tail:
                        parts_of(child.tail)
                    continue
                if child.text:
                    parts_of(child.text)
                if len(child):
                    stack.append((iter(child), done, child.tail))
                    break
                if done is not None:
                    done()
                if child.tail:
                    parts_of(child.tail)
            else:
                stack.pop()
                if leave is not None:
                    leave()
                if tail:
                    parts_of(tail)
        self._flush()
        return self._top.children

    # Text ---------------------------------------------------------------------------------------

    def _add_text(self, text: str) -> None:
        inline = self._inline
        if not inline.parts and text.isspace():
            return  # between two blocks
        inline.parts.append(one_line(text) if "\n" in text or "\r" in text else text)
        if not inline.bold and not inline.plain:
            inline.plain = not text.isspace()

    def _flush(self) -> None:
        """Ends the run of text: it becomes a paragraph, or the text of the item it is first in."""
        inline = self._inline
        if not inline.parts:
            return
        self._inline = Inline()
        self._inline.bold = inline.bold
        blocks = inline.blocks("Paragraph", None)
        if len(blocks) == 1 and "\n\n" in blocks[0].text:
            blocks = _split_paragraph(blocks[0])
        self._place(blocks)

    def _place(self, blocks: list[Block]) -> None:
        parent = self._open[-1]
        if parent.kind == "List" and blocks:
            # Text or a block straight in a list: browsers show it inside the item before it.
            if not parent.children:
                parent.children.append(Block("ListItem"))
            parent = parent.children[-1]
        add_blocks(parent, blocks)

    def _push(self, block: Block) -> _Leave:
        self._flush()
        if len(self._open) > _MAX_DEPTH:
            return self._flush
        self._place([block])
        self._open.append(block)
        return self._pop

    def _pop(self) -> None:
        self._flush()
        self._open.pop()

    # Inline elements ----------------------------------------------------------------------------

    def _enter_inline(self, element: Element) -> _Leave | None:
        if element.get("role") == "heading":
            return self._enter_heading(element)
        if element in self._holds_blocks:
            return self._enter_flow(element)
        return None

    def _enter_link(self, element: Element) -> _Leave | None:
        if element in self._holds_blocks:
            return self._enter_flow(element)
        self._inline.open_link(target_of(element))
        return self._close_link

    def _close_link(self) -> None:
        self._inline.close_link()

    def _enter_strong(self, element: Element) -> _Leave | None:
        if element in self._holds_blocks:
            return self._enter_flow(element)
        self._inline.bold += 1
        return self._leave_strong

    def _leave_strong(self) -> None:
        self._inline.bold -= 1

    def _enter_break(self, element: Element) -> _Leave | None:
        self._inline.parts.append("\n")
        return None

    def _enter_quotation(self, element: Element) -> _Leave | None:
        self._inline.add("“")
        return lambda: self._inline.add("”")

    def _enter_image(self, element: Element) -> _Leave | None:
        alternative = tidy(element.get("alt") or "")
        self._inline.add(alternative)
        self._inline.add_image((element.get("src") or "").strip(), alternative)
        return None

    def _enter_math(self, element: Element) -> _Leave | None:
        notes = element.xpath(".//*[local-name()='annotation' and contains(@encoding, 'tex')]")
        tex = " ".join("".join(notes[0].itertext()).split()) if notes else ""
        text = tex or " ".join("".join(element.itertext()).split())
        if element.get("display") == "block" and text:
            self._flush()
            self._place([Block("Formula", text)])
        elif text:
            self._inline.add(f"${text}$" if tex else text)
        return _SKIPPED

    # Blocks -------------------------------------------------------------------------------------

    def _skip(self, element: Element) -> _Leave | None:
        return _SKIPPED

    def _enter_flow(self, element: Element) -> _Leave | None:
        self._flush()
        return self._flush

    def _enter_div(self, element: Element) -> _Leave | None:
        if element.get("role") == "heading":
            return self._enter_heading(element)
        kind = element.get("class") or ""
        if "admonition" in kind.split():
            names = [name for name in kind.split() if name != "admonition"]
            return self._push(Block("Quote", attributes={"alert": names[0] if names else "note"}))
        return self._enter_flow(element)

    def _enter_heading(self, element: Element) -> _Leave | None:
        self._flush()
        level = HEADINGS.get(element.tag) or _level(element.get("aria-level"))
        inline = inline_of(element)
        text = inline.text.replace("\n", " ")
        attributes = inline.attributes
        if anchor := _anchor(element):
            attributes["anchor"] = anchor
        if text:
            if self._open[-1].kind in ("Document", "Section"):
                self._level = level
            self._place([Block("Heading", text, level, [], attributes)])
        elif inline.images:
            self._place(inline.blocks("Paragraph", None))
        return _SKIPPED

    def _enter_code(self, element: Element) -> _Leave | None:
        if any(True for _ in element.iter("p", "table", "ul", "ol", *HEADINGS)):
            return self._enter_flow(element)
        self._flush()
        for line_break in element.iter("br"):
            line_break.text = "\n"
        text = "".join(element.itertext()).replace("\r\n", "\n").replace("\xa0", " ")
        # The parser takes one line break after <pre> away, as the standard says; more are meant.
        text = text.removesuffix("\n")
        if text.strip():
            attributes: dict[str, Value] = {}
            if language := _language(element):
                attributes["language"] = language
            self._place([Block("Code", text, None, [], attributes)])
        return _SKIPPED

    def _enter_table(self, element: Element) -> _Leave | None:
        if element in self._dissolved or is_layout(element):
            return self._enter_flow(element)
        self._flush()
        self._place(table_blocks(element))
        return _SKIPPED

    def _enter_figure(self, element: Element) -> _Leave | None:
        images = list(element.iter("img"))
        if not images or any(True for _ in element.iter("table", "pre", "blockquote", *HEADINGS)):
            return self._enter_flow(element)
        self._flush()
        caption_element = next(element.iter("figcaption"), None)
        caption = inline_of(caption_element) if caption_element is not None else Inline()
        for place, image in enumerate(images):
            block = figure(
                (image.get("src") or "").strip(),
                tidy(image.get("alt") or ""),
                None,
                caption=caption.text.replace("\n", " ") if place == 0 else "",
                links=[target for target, _ in caption.links or ()] if place == 0 else None,
            )
            self._place([block])
        return _SKIPPED

    def _enter_blockquote(self, element: Element) -> _Leave | None:
        return self._push(Block("Quote"))

    # Lists --------------------------------------------------------------------------------------

    def _enter_list(self, element: Element) -> _Leave | None:
        if element in self._dissolved:
            return self._enter_flow(element)
        attributes: dict[str, Value] = {}
        if _LIST_TYPES[element.tag]:
            attributes["ordered"] = True
            start = element.get("start") or "1"
            if start.lstrip("-").isdigit() and len(start) < 10 and int(start) != 1:
                attributes["start"] = int(start)
        return self._push(Block("List", attributes=attributes))

    def _enter_item(self, element: Element) -> _Leave | None:
        self._flush()
        if self._open[-1].kind != "List" or element in self._dissolved:
            return self._enter_flow(element)
        return self._push_item(element)

    def _push_item(self, element: Element) -> _Leave:
        if len(self._open) > _MAX_DEPTH:
            return self._flush
        item = Block("ListItem")
        box = next(
            (c for c in element[:1] if c.tag == "input" and c.get("type") == "checkbox"), None
        )
        if box is not None and not (element.text or "").strip():
            item.attributes["checked"] = box.get("checked") is not None
        self._open[-1].children.append(item)
        self._open.append(item)
        return self._pop

    def _enter_definitions(self, element: Element) -> _Leave | None:
        if element in self._dissolved:
            return self._enter_flow(element)
        term = next(element.iterchildren("dt"), None)
        if term is not None and _OBJECT.search(term.get("class") or ""):
            return self._enter_object(element)
        return self._push(Block("List", attributes={"type": "definition"}))

    def _enter_term(self, element: Element) -> _Leave | None:
        self._flush()
        if self._open[-1].kind == "Section" and _OBJECT.search(element.get("class") or ""):
            return self._enter_signature(element)
        if self._open[-1].kind != "List":
            return self._enter_flow(element)
        return self._push_item(element)

    def _enter_definition(self, element: Element) -> _Leave | None:
        self._flush()
        parent = self._open[-1]
        if parent.kind != "List" or not parent.children or len(self._open) > _MAX_DEPTH:
            return self._enter_flow(element)
        term = parent.children[-1]
        if not term.text and not term.children:
            return self._enter_flow(element)
        self._open.append(term)
        return self._pop

    # Described objects: functions, classes, options ---------------------------------------------

    def _enter_object(self, element: Element) -> _Leave | None:
        """An entry of a reference manual as a section of its own.

        Sphinx lists such objects in its table of contents among the sections
        (``toc_object_entries``); what follows the entry belongs to the section around it.
        """
        kinds = [name for name in (element.get("class") or "").split() if name != "simple"]
        level = self._level + 1
        section = Block(
            "Section", level=level, attributes={"object": kinds[-1] if kinds else "object"}
        )
        leave = self._push(section)
        if leave == self._flush:
            return leave
        self._level = level

        def close() -> None:
            leave()
            self._level = level - 1

        return close

    def _enter_signature(self, element: Element) -> _Leave | None:
        section = self._open[-1]
        inline = inline_of(element)
        text = inline.text.replace("\n", " ")
        if not section.text and not section.children:
            section.text = text
            section.attributes.update(inline.attributes)
            if anchor := element.get("id"):
                section.attributes["anchor"] = anchor
        elif text:
            # Further signatures of one object (overloads) are text of its section.
            self._place([Block("Paragraph", text, None, [], inline.attributes)])
        return _SKIPPED


def _SKIPPED() -> None:  # noqa: N802 - a constant that is told from every other handler
    """Tells that an element is dealt with, children and all."""


def _survey(root: Element) -> tuple[set[Element], set[Element]]:
    """Inline elements that hold blocks, and lists and tables that only lay out sections.

    Ancestors are walked up to the first that is marked already, so time is linear.
    """
    holders: set[Element] = set()
    for element in root.iter(*FLOW):
        parent = element.getparent()
        while parent is not None and parent.tag not in FLOW and parent not in holders:
            holders.add(parent)
            parent = parent.getparent()
    dissolved: set[Element] = set()
    for heading in root.iter(*HEADINGS):
        parent = heading.getparent()
        while parent is not None and parent not in dissolved and parent.tag != "blockquote":
            dissolved.add(parent)
            parent = parent.getparent()
    return holders, dissolved


def _split_paragraph(block: Block) -> list[Block]:
    """Two line breaks in a row end a paragraph on pages that know no other way."""
    texts = [text for text in _BLANK_LINES.split(block.text) if text]
    first = Block("Paragraph", texts[0], None, [], block.attributes, font=block.font)
    return [first, *(Block("Paragraph", text) for text in texts[1:])]


def _level(text: str | None) -> int:
    # WAI-ARIA: a heading without a level is of level 2.
    return int(text) if text and text.isdigit() and 0 < int(text[:4]) < 1000 else 2


def _anchor(element: Element) -> str:
    """Id by which a link reaches a heading: its own, or that of the section it begins."""
    if own := element.get("id"):
        return str(own)
    parent = element.getparent()
    if parent is not None and parent.tag in ("section", "article", "div") and parent[0] is element:
        return parent.get("id") or ""
    return ""


def _language(pre: Element) -> str:
    """Programming language of a code block, from the classes around it."""
    inner = next(iter(pre), None)
    around = [pre, pre.getparent()]
    if around[1] is not None:
        around.append(around[1].getparent())
    if inner is not None and inner.tag == "code":
        around.insert(0, inner)
    for element in around:
        if element is None:
            continue
        if match := _LANGUAGE.search(element.get("class") or ""):
            language = str(match[1])
            if language not in _NO_LANGUAGE:
                return language
    return ""
