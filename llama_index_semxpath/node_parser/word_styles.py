"""Styles and automatic numbers of a Word document."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from llama_index_semxpath.node_parser.numerals import int_to_chinese, int_to_roman

if TYPE_CHECKING:
    from lxml import etree

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# Names of the built-in heading styles in files that other programs or languages write.
_HEADING = re.compile(
    r"(?:heading|标题|標題|überschrift|titre|título|titolo|titulo|заголовок|見出し|제목|kop|rubrik"
    r"|nagłówek|otsikko|overskrift|nadpis|címsor|başlık)\s*([1-9])",
    re.IGNORECASE,
)
_TITLE = re.compile(r"(?:title|标题|標題|titel|表題)", re.IGNORECASE)
_CODE = re.compile(
    r"(?:source\s?code|code|html preformatted|macro text|plain text|代码)", re.IGNORECASE
)
_QUOTE = re.compile(r"(?:intense\s)?quote|block text|引用|明显引用", re.IGNORECASE)
_TOC = re.compile(r"(?:toc|目录|目錄|verzeichnis)\s*[1-9]", re.IGNORECASE)
_LIST = re.compile(
    r"(?:list (?:bullet|number|continue)|列表(?:项目符号|编号))\s*([2-5])", re.IGNORECASE
)
_MAX_CHAIN = 20


@dataclass(slots=True)
class Style:
    """What a paragraph takes from its style.

    Args:
        name: Name of the style.
        based_on: Id of the style it is based on.
        outline: Outline level as stored, 0 to 9 (9 is body text), or ``None``.
        numbering: (numId, ilvl) of its automatic number, or ``None``.
        bold: Whether it sets bold, or ``None`` when it does not say.
        hidden: Whether its text is hidden.
        size: Font size in points, or ``None`` when it does not say.
    """

    name: str = ""
    based_on: str = ""
    outline: int | None = None
    numbering: tuple[str, int] | None = None
    bold: bool | None = None
    hidden: bool = False
    size: float | None = None

    @property
    def list_level(self) -> int:
        """Level of a list style by its name: "List Bullet 2" is of the second level, 1."""
        match = _LIST.fullmatch(self.name)
        return int(match[1]) - 1 if match else 0

    @property
    def role(self) -> str:
        """``title``, ``toc``, ``code``, ``quote``, ``caption`` or nothing, by the name."""
        for role, pattern in (("title", _TITLE), ("toc", _TOC), ("code", _CODE), ("quote", _QUOTE)):
            if pattern.fullmatch(self.name):
                return role
        return "caption" if self.name.lower() in ("caption", "题注") else ""


def value(element: etree._Element | None, name: str = "val") -> str | None:
    """Attribute of a word-processing element."""
    return None if element is None else element.get(W + name)


def is_on(element: etree._Element | None) -> bool | None:
    """State of a toggle such as ``w:b``: absent is ``None``, ``<w:b/>`` is on."""
    if element is None:
        return None
    return value(element) not in ("0", "false", "off")


def font_size(properties: etree._Element | None) -> float | None:
    """Font size in points of run properties, or ``None`` where they name none."""
    half_points = None if properties is None else number(value(properties.find(f"{W}sz")))
    return half_points / 2 if half_points else None


def number(text: str | None) -> int | None:
    """Integer of an attribute, or ``None``."""
    return int(text) if text is not None and re.fullmatch(r"-?\d{1,9}", text) else None


def read_numbering(properties: etree._Element | None) -> tuple[str, int] | None:
    """(numId, ilvl) of paragraph properties, or ``None`` where they name no list."""
    found = None if properties is None else properties.find(f"{W}numPr")
    if found is None:
        return None
    num_id = value(found.find(f"{W}numId"))
    if num_id is None:
        return None
    return num_id, number(value(found.find(f"{W}ilvl"))) or 0


class Styles:
    """Paragraph styles with what they inherit.

    Args:
        root: ``word/styles.xml``, or ``None`` where the file has none.
    """

    def __init__(self, root: etree._Element | None) -> None:
        self._styles: dict[str, Style] = {}
        self._resolved: dict[str, Style] = {}
        self.default = ""
        for element in [] if root is None else root.iterfind(f"{W}style"):
            style_id = value(element, "styleId") or ""
            if (
                element.get(W + "default") in ("1", "true")
                and value(element, "type") == "paragraph"
            ):
                self.default = style_id
            self._styles[style_id] = _read_style(element)

    def get(self, style_id: str | None) -> Style:
        """A style with the settings of the styles it is based on."""
        key = style_id or self.default
        if key not in self._resolved:
            self._resolved[key] = self._resolve(key)
        return self._resolved[key]

    def _resolve(self, style_id: str) -> Style:
        own = self._styles.get(style_id) or Style(name=style_id)
        out = replace(own)
        base = own.based_on
        for _ in range(_MAX_CHAIN):  # a chain may be a ring in a damaged file
            style = self._styles.get(base)
            if style is None:
                break
            if out.outline is None:
                out.outline = _outline(style)
            out.numbering = out.numbering or style.numbering
            out.bold = style.bold if out.bold is None else out.bold
            out.size = style.size if out.size is None else out.size
            base = style.based_on
        out.outline = _outline(own) if _outline(own) is not None else out.outline
        return out


def _outline(style: Style) -> int | None:
    if style.outline is not None:
        return style.outline
    match = _HEADING.fullmatch(style.name)
    return int(match[1]) - 1 if match else None


def _read_style(element: etree._Element) -> Style:
    paragraph, run = element.find(f"{W}pPr"), element.find(f"{W}rPr")
    return Style(
        name=value(element.find(f"{W}name")) or "",
        based_on=value(element.find(f"{W}basedOn")) or "",
        outline=None if paragraph is None else number(value(paragraph.find(f"{W}outlineLvl"))),
        numbering=read_numbering(paragraph),
        bold=None if run is None else is_on(run.find(f"{W}b")),
        hidden=run is not None and bool(is_on(run.find(f"{W}vanish"))),
        size=font_size(run),
    )


@dataclass(slots=True)
class _Level:
    format: str = "decimal"
    text: str = ""
    start: int = 1
    legal: bool = False


@dataclass(slots=True)
class _List:
    levels: dict[int, _Level] = field(default_factory=dict)
    counters: dict[int, int] = field(default_factory=dict)


class Numbering:
    """Automatic numbers, counted as the paragraphs go by.

    Args:
        root: ``word/numbering.xml``, or ``None`` where the file has none.
    """

    def __init__(self, root: etree._Element | None) -> None:
        self._lists: dict[str, _List] = {}
        self._of: dict[str, str] = {}
        self._starts: dict[tuple[str, int], int] = {}
        for element in [] if root is None else root.iterfind(f"{W}abstractNum"):
            levels = {
                number(value(level, "ilvl")) or 0: _read_level(level)
                for level in element.iterfind(f"{W}lvl")
            }
            self._lists[value(element, "abstractNumId") or ""] = _List(levels)
        for element in [] if root is None else root.iterfind(f"{W}num"):
            num_id = value(element, "numId") or ""
            self._of[num_id] = value(element.find(f"{W}abstractNumId")) or ""
            for override in element.iterfind(f"{W}lvlOverride"):
                start = number(value(override.find(f"{W}startOverride")))
                if start is not None:
                    self._starts[num_id, number(value(override, "ilvl")) or 0] = start

    def label(self, num_id: str, level: int) -> tuple[str, int | None] | None:
        """Count the next item of a list.

        Returns:
            Its label as printed and its value; the label of a bullet is ``""``. ``None`` when the
            list does not exist (numId 0 switches numbers off).
        """
        found = self._lists.get(self._of.get(num_id, ""))
        if found is None or num_id == "0":
            return None
        info = found.levels.get(level) or _Level()
        # A restart counts once: the first paragraph of a list that overrides its start.
        start = self._starts.pop((num_id, level), None)
        before = found.counters.get(level)
        count = start if start is not None else info.start if before is None else before + 1
        found.counters[level] = count
        for deeper in [key for key in found.counters if key > level]:
            del found.counters[deeper]
        if info.format in ("bullet", "none") or not info.text:
            return "", None
        return _print(found, level, info), count


def _read_level(element: etree._Element) -> _Level:
    start = number(value(element.find(f"{W}start")))
    return _Level(
        value(element.find(f"{W}numFmt")) or "decimal",
        value(element.find(f"{W}lvlText")) or "",
        1 if start is None else start,
        bool(is_on(element.find(f"{W}isLgl"))),
    )


def _print(found: _List, level: int, info: _Level) -> str:
    def part(match: re.Match[str]) -> str:
        index = int(match[1]) - 1
        other = found.levels.get(index) or _Level()
        count = found.counters.get(index, other.start)
        return format_count(count, "decimal" if info.legal and index < level else other.format)

    return re.sub(r"%([1-9])", part, info.text).strip()


def format_count(count: int, style: str) -> str:
    """A count in one of Word's number formats.

    Example:
        >>> [format_count(12, style) for style in ("decimal", "upperRoman", "chineseCounting")]
        ['12', 'XII', '十二']
    """
    if not 0 < count < 4000:
        return str(count)
    if style in ("upperRoman", "lowerRoman"):
        roman = int_to_roman(count)
        return roman if style == "upperRoman" else roman.lower()
    if style in ("upperLetter", "lowerLetter"):
        letter = chr(ord("A") + (count - 1) % 26) * ((count - 1) // 26 + 1)
        return letter if style == "upperLetter" else letter.lower()
    if style.startswith(("chinese", "ideographTraditional", "taiwanese", "japaneseCounting")):
        return int_to_chinese(count)
    if style == "decimalEnclosedCircle" and count <= 20:
        return chr(0x245F + count)
    return f"{count:02d}" if style == "decimalZero" else str(count)
