"""Automatic numbers of an OpenDocument text, counted as the paragraphs go by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llama_index_semxpath.node_parser.word_styles import format_count

if TYPE_CHECKING:
    from lxml import etree

_NS = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
_TEXT, _STYLE = _NS % "text", _NS % "style"
#: ODF 1.3, 20.330 style:num-format.
_FORMATS = {
    "1": "decimal",
    "A": "upperLetter",
    "a": "lowerLetter",
    "I": "upperRoman",
    "i": "lowerRoman",
}


@dataclass(frozen=True, slots=True)
class _Level:
    format: str = ""
    prefix: str = ""
    suffix: str = ""
    shown: int = 1
    start: int = 1


@dataclass(slots=True)
class Counters:
    """Where the counting of one list or of the headings has come to.

    Args:
        levels: How each level is numbered, by its number from 1.
    """

    levels: Mapping[int, _Level]
    counts: dict[int, int] = field(default_factory=dict)

    def label(self, level: int, start: int | None = None) -> tuple[str, int | None]:
        """Counts the next paragraph of a level.

        Args:
            level: 1 and up.
            start: Number that the paragraph itself asks for.

        Returns:
            Its label as printed and its value; ``("", None)`` where the level has no numbers.
        """
        info = self.levels.get(level, _Level())
        before = self.counts.get(level)
        count = start if start is not None else info.start if before is None else before + 1
        self.counts[level] = count
        for deeper in [key for key in self.counts if key > level]:
            del self.counts[deeper]
        if not info.format:
            return "", None
        first = max(1, level - info.shown + 1)
        parts = [self._printed(at) for at in range(first, level + 1)]
        return info.prefix + ".".join(filter(None, parts)) + info.suffix, count

    def _printed(self, level: int) -> str:
        info = self.levels.get(level, _Level())
        if not info.format:
            return ""
        style = "chineseCounting" if info.format[0] in "一壹" else _FORMATS.get(info.format, "")
        return format_count(self.counts.get(level, info.start), style)


class OdtNumbering:
    """The list styles and the numbering of headings of a document.

    Args:
        roots: ``content.xml`` and ``styles.xml``, where the file has them.
    """

    def __init__(self, *roots: etree._Element | None) -> None:
        self._styles: dict[str, dict[int, _Level]] = {}
        self._lists: dict[str, Counters] = {}
        outline: dict[int, _Level] = {}
        for root in roots:
            for style in [] if root is None else root.iter(f"{_TEXT}list-style"):
                self._styles.setdefault(style.get(f"{_STYLE}name") or "", _levels(style))
            for style in [] if root is None else root.iter(f"{_TEXT}outline-style"):
                outline = _levels(style)
        self.headings = Counters(outline)

    def open(self, style: str, *, goes_on: bool) -> Counters:
        """Counters of a list of this style, those of the last one where it goes on."""
        if not goes_on or style not in self._lists:
            self._lists[style] = Counters(self._styles.get(style, {}))
        return self._lists[style]


def _levels(style: etree._Element) -> dict[int, _Level]:
    out: dict[int, _Level] = {}
    for level in style:
        if not isinstance(level.tag, str) or "bullet" in level.tag:
            continue
        place, shown, start = (
            _whole(level.get(f"{_TEXT}{name}"))
            for name in ("level", "display-levels", "start-value")
        )
        out[place] = _Level(
            level.get(f"{_STYLE}num-format") or "",
            level.get(f"{_STYLE}num-prefix") or "",
            level.get(f"{_STYLE}num-suffix") or "",
            shown,
            start,
        )
    return out


def _whole(text: str | None) -> int:
    return int(text) if text and text.isdigit() and len(text) < 9 else 1
