"""Trees to HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from llama_index_semxpath.node_parser.links import Mark, marks
from llama_index_semxpath.node_parser.outline import DERIVED, Outline, TableGrid
from llama_index_semxpath.node_parser.serialize import json_value
from llama_index_semxpath.node_parser.values import typed_value
from llama_index_semxpath.tree.node import TreeNode, Value

_DEEPEST = 6


class HtmlWriter:
    """Writes a document, or one block of it, as HTML.

    Args:
        outline: The document.
    """

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._writers: dict[str, Callable[[TreeNode], str]] = {
            "Paragraph": self._paragraph,
            "List": self._list,
            "Table": self.table,
            "Code": self.code,
            "Quote": self._quote,
            "Figure": self.figure,
            "Formula": lambda node: f'<math display="block">{escape(node.text)}</math>',
        }

    def document(self) -> str:
        """The whole page."""
        root = self._outline.root
        language = root.attributes.get("lang")
        lang = f' lang="{escape(str(language))}"' if language else ""
        lines = [f"<!DOCTYPE html>\n<html{lang}>\n<head>", '<meta charset="utf-8">']
        title = root.attributes.get("title")
        if title and not self._outline.title_is_derived():
            lines.append(f"<title>{escape(str(title))}</title>")
        for name, value in root.attributes.items():
            if name not in ("title", "lang") and name not in DERIVED:
                lines += [
                    _meta(name, item) for item in (value if isinstance(value, list) else [value])
                ]
        lines.append("</head>\n<body>")
        # Sections are closed in order without recursion: they may nest deeply.
        stack: list[TreeNode | str] = [*reversed(self._outline.children(root))]
        if root.text:
            lines.append(f"<p>{_text(root.text)}</p>")
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                lines.append(node)
                continue
            if node.kind == "Section":
                lines.append(self.heading(node))
                if "object" in node.attributes:
                    stack.append("</dd></dl>")
                stack += reversed(self._outline.children(node))
            else:
                following = stack[-1] if stack else None
                if not (isinstance(following, TreeNode) and is_caption(node, following)):
                    lines.append(self.block(node))
        return "\n".join([*lines, "</body>\n</html>\n"])

    def block(self, node: TreeNode) -> str:
        """One block with all that it holds."""
        writer = self._writers.get(node.kind)
        return writer(node) if writer else self._other(node)

    def blocks(self, nodes: Sequence[TreeNode]) -> str:
        """Neighbouring blocks."""
        written = []
        for place, node in enumerate(nodes):
            following = nodes[place + 1] if place + 1 < len(nodes) else None
            if following is None or not is_caption(node, following):
                written.append(self.block(node))
        return "".join(written)

    def heading(self, node: TreeNode) -> str:
        """A heading; one of a described object opens a list that the caller closes."""
        text = _marked(node)
        anchor = node.attributes.get("anchor")
        identity = f' id="{escape(str(anchor))}"' if anchor else ""
        level = node.level or 1
        if kind := node.attributes.get("object"):
            return f'<dl class="{escape(str(kind))}"><dt class="sig"{identity}>{text}</dt><dd>'
        if level <= _DEEPEST:
            return f"<h{level}{identity}>{text}</h{level}>"
        return f'<div role="heading" aria-level="{level}"{identity}>{text}</div>'

    def _paragraph(self, node: TreeNode) -> str:
        level = node.attributes.get("heading")
        if isinstance(level, int) and level <= _DEEPEST:
            return f"<h{level}>{_marked(node)}</h{level}>"
        return f"<p>{_marked(node)}</p>"

    def _list(self, node: TreeNode) -> str:
        items = self._outline.children(node)
        if node.attributes.get("type") == "definition":
            inner = "".join(f"<dt>{_marked(item)}</dt>" + self._definition(item) for item in items)
            return f"<dl>{inner}</dl>"
        tag = "ol" if node.attributes.get("ordered") else "ul"
        start = node.attributes.get("start")
        begin = f' start="{start}"' if isinstance(start, int) else ""
        return f"<{tag}{begin}>{''.join(map(self._item, items))}</{tag}>"

    def _definition(self, item: TreeNode) -> str:
        inner = self._outline.children(item)
        return f"<dd>{self.blocks(inner)}</dd>" if inner else ""

    def _item(self, node: TreeNode) -> str:
        if node.kind != "ListItem":
            return f"<li>{self.block(node)}</li>"
        checked = node.attributes.get("checked")
        box = "" if checked is None else f'<input type="checkbox"{" checked" if checked else ""}>'
        text = (
            f"<p>{_marked(node)}</p>"
            if node.text and self._outline.children(node)
            else _marked(node)
        )
        return f"<li>{box}{text}{self.blocks(self._outline.children(node))}</li>"

    def table(self, node: TreeNode) -> str:
        """A table with its caption and the spans of its cells."""
        rows = [row for row in self._outline.children(node) if row.kind == "Row"]
        grid = TableGrid(node, rows)
        header = grid.header_rows() if node.text else []
        caption = node.attributes.get("caption")
        parts = [f'<table data-header-rows="{len(header)}">']
        if caption:
            parts.append(f"<caption>{escape(str(caption))}</caption>")
        for cells in header:
            parts.append(f"<tr>{''.join(_cell('th', cell) for cell in cells)}</tr>")
        for row, cells in zip(rows, grid.body, strict=True):
            parts.append(f"<tr>{''.join(_row_cells(row, cells))}</tr>")
        return "".join([*parts, "</table>"])

    def code(self, node: TreeNode) -> str:
        """A code block, verbatim."""
        language = node.attributes.get("language")
        kind = f' class="language-{escape(str(language))}"' if language else ""
        return f"<pre><code{kind}>{escape(node.text, quote=False)}\n</code></pre>"

    def _quote(self, node: TreeNode) -> str:
        inner = (f"<p>{_marked(node)}</p>" if node.text else "") + self.blocks(
            self._outline.children(node)
        )
        if alert := node.attributes.get("alert"):
            return f'<div class="admonition {escape(str(alert))}">{inner}</div>'
        return f"<blockquote>{inner}</blockquote>"

    def figure(self, node: TreeNode) -> str:
        """A picture with its caption."""
        source = escape(str(node.attributes.get("src", "")))
        alternative = escape(str(node.attributes.get("alt", "")))
        caption = node.attributes.get("caption")
        note = f"<figcaption>{_text(str(caption))}</figcaption>" if caption else ""
        return f'<figure><img src="{source}" alt="{alternative}">{note}</figure>'

    def _other(self, node: TreeNode) -> str:
        """A node of another kind (records): its text, then its children."""
        text = f"<p>{_marked(node)}</p>" if node.text else ""
        return text + self.blocks(self._outline.children(node))


def is_caption(node: TreeNode, following: TreeNode) -> bool:
    """Whether a paragraph is the caption of the table after it."""
    return (
        node.kind == "Paragraph"
        and following.kind == "Table"
        and following.attributes.get("caption") == node.text
    )


def _meta(name: str, value: Value) -> str:
    text = str(json_value(value))
    # Text that would be read as a number or date is marked as text.
    kind = "" if typed_value(text) == value else ' data-type="text"'
    return f'<meta name="{escape(name)}" content="{escape(text)}"{kind}>'


def _row_cells(row: TreeNode, cells: Sequence[tuple[str, int, int]]) -> list[str]:
    found = marks(row.text, row.attributes)
    written = []
    offset = 0
    for cell in cells:
        end = offset + len(cell[0])
        inside = [m for m in found if offset <= m.start and m.end <= end]
        for mark in inside:
            mark.start, mark.end = mark.start - offset, mark.end - offset
        written.append(_cell("td", cell, inside))
        offset = end + 3
    return written


def _cell(tag: str, cell: tuple[str, int, int], found: Sequence[Mark] = ()) -> str:
    text, width, height = cell
    spans = (f' colspan="{width}"' if width > 1 else "") + (
        f' rowspan="{height}"' if height > 1 else ""
    )
    return f"<{tag}{spans}>{_with_marks(text, found)}</{tag}>"


def _marked(node: TreeNode) -> str:
    return _with_marks(node.text, marks(node.text, node.attributes))


def _with_marks(text: str, found: Sequence[Mark]) -> str:
    parts = []
    cursor = 0
    for mark in found:
        parts.append(_text(text[cursor : mark.start]))
        label = text[mark.start : mark.end]
        if mark.image:
            parts.append(f'<img src="{escape(mark.target)}" alt="{escape(label)}">')
        else:
            for inner in mark.inner:
                inner.start, inner.end = inner.start - mark.start, inner.end - mark.start
            parts.append(f'<a href="{escape(mark.target)}">{_with_marks(label, mark.inner)}</a>')
        cursor = mark.end
    parts.append(_text(text[cursor:]))
    return "".join(parts)


def _text(text: str) -> str:
    return escape(text, quote=False).replace("\n", "<br>")
