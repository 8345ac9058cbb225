"""Trees to Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from llama_index_semxpath.node_parser.build import is_caption_text
from llama_index_semxpath.node_parser.export_html import HtmlWriter, is_caption
from llama_index_semxpath.node_parser.links import Mark, marks
from llama_index_semxpath.node_parser.outline import DERIVED, Outline, TableGrid
from llama_index_semxpath.tree.node import TreeNode

_DEEPEST = 6
_ALERTS = frozenset({"note", "tip", "important", "warning", "caution"})
# Characters that begin a construct wherever they stand.
_SPECIAL = re.compile(r"[\\`*\[\]<>&$~|]")
_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
# What begins a block only at the start of a line.
_LINE_START = re.compile(r"(#{1,6}(?=\s|$)|[-+](?=\s|$)|:|=+\s*$|-+\s*$|\+{3,}\s*$)")
_NUMBER_START = re.compile(r"(\d{1,9})([.)])(?=\s|$)")
_HASHES = re.compile(r"(^|\s)(#+)(?=\s|$)")
_INTERRUPTS = re.compile(r"(?:[-*]|1[.)]) \S")
_LANGUAGE = re.compile(r"[\w+#.-]+")
_FENCED = re.compile(r"(`{4,}|~{3,})(?P<info>[^\n`]*)\n(?:.*\n)?(`{4,}|~{3,})", re.DOTALL)
_ANCHOR = re.compile(r"[^\s{}\\]+")


class MarkdownWriter:
    """Writes a document as Markdown.

    What Markdown has no form for (merged cells, definition lists, deep headings) is written as
    HTML, which Markdown may hold.

    Args:
        outline: The document.
    """

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._html = HtmlWriter(outline)
        self._writers: dict[str, Callable[[TreeNode], str]] = {
            "Paragraph": self._paragraph,
            "Table": self._table,
            "Code": self._code,
            "Quote": self._quote,
            "Figure": self._figure,
            "Formula": lambda node: f"$$\n{node.text}\n$$",
        }

    def document(self) -> str:
        """The whole file."""
        parts = [self._front_matter()]
        if self._outline.root.text:
            parts.append(escape_text(self._outline.root.text))
        for place, blocks in self._outline.sections():
            if place.kind == "Section":
                parts.append(self._heading(place, place.level or 1))
            parts.append(self._blocks(blocks))
        return "\n\n".join(part for part in parts if part) + "\n"

    def _front_matter(self) -> str:
        import yaml

        attributes = {
            name: value
            for name, value in self._outline.root.attributes.items()
            if name not in DERIVED and not (name == "title" and self._outline.title_is_derived())
        }
        if not attributes:
            return ""
        text = yaml.safe_dump(attributes, allow_unicode=True, sort_keys=False, width=10_000)
        return f"---\n{text}---"

    def _heading(self, node: TreeNode, level: int) -> str:
        text = _marked(node, _escape_heading)
        anchor = node.attributes.get("anchor")
        if level > _DEEPEST or not node.text or (anchor and not _ANCHOR.fullmatch(str(anchor))):
            if "object" in node.attributes:
                return f'<div role="heading" aria-level="{level}">{self._html.heading(node)}</div>'
            return self._html.heading(node)
        return f"{'#' * level} {text}" + (f" {{#{anchor}}}" if anchor else "")

    def _blocks(self, nodes: Sequence[TreeNode]) -> str:
        parts: list[str] = []
        lists = 0
        for place, node in enumerate(nodes):
            following = nodes[place + 1] if place + 1 < len(nodes) else None
            if node.kind == "List":
                # Neighbouring lists are told apart by their markers.
                parts.append(self._list(node, lists))
                lists += 1
                continue
            lists = 0
            caption = following is not None and is_caption(node, following)
            if not (caption and following is not None and self._as_html_table(following)):
                writer = self._writers.get(node.kind)
                parts.append(writer(node) if writer else self._other(node))
        return "\n\n".join(part for part in parts if part)

    def _paragraph(self, node: TreeNode) -> str:
        level = node.attributes.get("heading")
        if isinstance(level, int):
            return self._heading(node, level)
        note = node.attributes.get("footnote")
        return (f"[^{note}]: " if note else "") + _marked(node, escape_text)

    def _list(self, node: TreeNode, turn: int) -> str:
        if node.attributes.get("type") == "definition":
            return _one_line(self._html.block(node))
        items = self._outline.children(node)
        start = node.attributes.get("start", 1)
        number = start if isinstance(start, int) else 1
        if number < 0 or any(item.kind != "ListItem" for item in items):
            return _one_line(self._html.block(node))
        written = []
        loose = False
        for place, item in enumerate(items):
            if node.attributes.get("ordered"):
                marker = f"{number + place}{'.' if turn % 2 == 0 else ')'} "
            else:
                marker = "- " if turn % 2 == 0 else "* "
            text = self._item(item)
            loose = loose or "\n\n" in text
            written.append((marker + _indent(text, len(marker))).rstrip(" "))
        return ("\n\n" if loose else "\n").join(written)

    def _item(self, item: TreeNode) -> str:
        checked = item.attributes.get("checked")
        box = "" if checked is None else f"[{'x' if checked else ' '}] "
        inner = self._outline.children(item)
        text = box + _marked(item, escape_text)
        if not inner:
            return text
        nested = self._blocks(inner)
        # Only such a list can follow a paragraph without a blank line between them.
        tight = len(inner) == 1 and _INTERRUPTS.match(nested) and "\n\n" not in nested
        return (text + ("\n" if tight else "\n\n") + nested) if text else nested

    def _as_html_table(self, node: TreeNode) -> bool:
        rows = [row for row in self._outline.children(node) if row.kind == "Row"]
        caption = node.attributes.get("caption")
        if caption and not is_caption_text(str(caption)):
            return True
        return not TableGrid(node, rows).simple

    def _table(self, node: TreeNode) -> str:
        if self._as_html_table(node):
            return _one_line(self._html.table(node))
        rows = [row for row in self._outline.children(node) if row.kind == "Row"]
        grid = TableGrid(node, rows)
        lines = [_row([_cell(name) for name in grid.header[0]]), _row(["---"] * len(grid.columns))]
        for row, cells in zip(rows, grid.body, strict=True):
            found = marks(row.text, row.attributes)
            written, offset = [], 0
            for text, _, _ in cells:
                end = offset + len(text)
                inside = [_moved(m, offset) for m in found if offset <= m.start and m.end <= end]
                written.append(_with_marks(text, inside, _cell))
                offset = end + 3
            lines.append(_row(written))
        return "\n".join(lines)

    def _code(self, node: TreeNode) -> str:
        language = str(node.attributes.get("language", ""))
        fenced = _FENCED.fullmatch(node.text)
        if fenced and fenced[1] == fenced[3] and fenced["info"].strip() == language:
            return node.text
        if "```" in node.text or (language and not _LANGUAGE.fullmatch(language)):
            return self._html.code(node)
        return f"```{language}\n{node.text}\n```"

    def _quote(self, node: TreeNode) -> str:
        alert = str(node.attributes.get("alert", ""))
        first = f"[!{alert.upper()}]\n" if alert in _ALERTS else ""
        text = _marked(node, escape_text) if node.text else ""
        inner = self._blocks(self._outline.children(node))
        body = first + "\n\n".join(part for part in (text, inner) if part)
        return "\n".join(f"> {line}".rstrip() for line in body.split("\n"))

    def _figure(self, node: TreeNode) -> str:
        source = str(node.attributes.get("src", ""))
        if "caption" in node.attributes or "\n" in source:
            return _one_line(self._html.figure(node))
        image = f"![{escape_text(str(node.attributes.get('alt', '')))}]({_target(source)})"
        links = node.attributes.get("links")
        return f"[{image}]({_target(links[0])})" if isinstance(links, list) and links else image

    def _other(self, node: TreeNode) -> str:
        """A node of another kind (records): its text, then its children."""
        text = _marked(node, escape_text) if node.text else ""
        inner = self._blocks(self._outline.children(node))
        return "\n\n".join(part for part in (text, inner) if part)


def escape_text(text: str) -> str:
    """Text that Markdown shows as it is.

    Example:
        >>> print(escape_text("1. *not* a list_item"))
        1\\. \\*not\\* a list_item
    """
    lines = []
    for line in text.split("\n"):
        line = _UNDERSCORE.sub(r"\\_", _SPECIAL.sub(r"\\\g<0>", line))
        line = _NUMBER_START.sub(r"\1\\\2", line, count=1) if line[:1].isdigit() else line
        lines.append(f"\\{line}" if _LINE_START.match(line) else line)
    # A backslash before the line break makes it one that is shown.
    return "\\\n".join(lines)


def _escape_heading(text: str) -> str:
    text = _UNDERSCORE.sub(r"\\_", _SPECIAL.sub(r"\\\g<0>", text.replace("\n", " ")))
    text = text.replace("{#", "\\{#")
    return _HASHES.sub(lambda match: match[1] + "\\#" * len(match[2]), text)


def _cell(text: str) -> str:
    return _UNDERSCORE.sub(r"\\_", _SPECIAL.sub(r"\\\g<0>", text))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _target(target: str) -> str:
    return "<" + re.sub(r"[<>&\\]", r"\\\g<0>", target) + ">"


def _moved(mark: Mark, offset: int) -> Mark:
    inner = [_moved(image, offset) for image in mark.inner]
    return Mark(mark.start - offset, mark.end - offset, mark.target, mark.image, inner)


def _marked(node: TreeNode, escape: Callable[[str], str]) -> str:
    return _with_marks(node.text, marks(node.text, node.attributes), escape)


def _with_marks(text: str, found: Sequence[Mark], escape: Callable[[str], str]) -> str:
    if not found:
        return escape(text)
    # Escaping sees the whole text at once, since it depends on neighbours: marks are put in after.
    parts: list[str] = []
    cursor = 0
    for mark in found:
        parts.append(escape(text[cursor : mark.start]) if mark.start > cursor else "")
        label = text[mark.start : mark.end]
        inner = [_moved(image, mark.start) for image in mark.inner]
        parts.append("!" if mark.image else "")
        parts.append(f"[{_with_marks(label, inner, escape)}]({_target(mark.target)})")
        cursor = mark.end
    parts.append(escape(text[cursor:]) if cursor < len(text) else "")
    return "".join(parts)


def _one_line(html: str) -> str:
    # A blank line would end a block of HTML.
    return html.replace("\n", "&#10;")


def _indent(text: str, width: int) -> str:
    return "\n".join(
        line if place == 0 or not line else " " * width + line
        for place, line in enumerate(text.split("\n"))
    )
