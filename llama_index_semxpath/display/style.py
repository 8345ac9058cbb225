"""Widths, wrapping and colours of a terminal."""

from __future__ import annotations

import os
import re
import shutil
import sys
import unicodedata
from typing import TextIO

_CODES = {"bold": "1", "dim": "2", "blue": "34", "green": "32", "yellow": "33", "red": "31"}
# Control characters of a document must not reach the terminal: they could forge output.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


class Style:
    """How to write for one stream.

    Args:
        color: Whether to use colours.
        width: Columns of the terminal, 40 or more.

    Example:
        >>> Style(color=False).paint("x", "bold")
        'x'
    """

    def __init__(self, *, color: bool = False, width: int = 100) -> None:
        self.color = color
        self.width = max(40, width)

    @classmethod
    def of(cls, stream: TextIO | None = None) -> Style:
        """The style that a stream can show: colours for a terminal unless ``NO_COLOR`` is set."""
        stream = stream or sys.stdout
        color = (
            stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        )
        return cls(color=color, width=min(shutil.get_terminal_size((100, 24)).columns, 120))

    def paint(self, text: str, *names: str) -> str:
        """The text in a style (``bold dim blue green yellow red``), plain without colours."""
        if not self.color or not text:
            return text
        return f"\033[{';'.join(_CODES[name] for name in names)}m{text}\033[0m"

    def wrap(self, text: str, indent: str = "", lines: int = 3) -> list[str]:
        """A text in at most so many lines of this width; ``…`` marks what is left out."""
        room = self.width - width_of(indent)
        rest = clean(text)
        wrapped: list[str] = []
        while rest and len(wrapped) < lines:
            cut = fit(rest, room)
            if cut < len(rest) and not _breakable(rest, cut):
                space = rest.rfind(" ", 0, cut)
                cut = space + 1 if space > cut // 2 else cut
            wrapped.append(rest[:cut].rstrip())
            rest = rest[cut:].lstrip()
        if rest and wrapped:
            last = wrapped[-1]
            wrapped[-1] = last[: fit(last, room - 2)].rstrip() + " …"
        return [indent + line for line in wrapped]


def clean(text: str) -> str:
    """A text on one line, without control characters.

    Example:
        >>> clean("a\\n b\\x1b[31m")
        'a b[31m'
    """
    return _CONTROL.sub("", " ".join(text.split()))


def clean_lines(text: str) -> str:
    """A text with its line ends and tabs, without other control characters."""
    return _CONTROL.sub("", text)


def width_of(text: str) -> int:
    """Columns that a text takes; a full-width character takes two.

    Example:
        >>> width_of("ab年")
        4
    """
    return sum(_columns(char) for char in text)


def fit(text: str, columns: int) -> int:
    """How many characters of a text fit in so many columns, at least one.

    Example:
        >>> fit("年假 leave", 5)
        3
    """
    used = 0
    for place, char in enumerate(text):
        used += _columns(char)
        if used > columns:
            return max(1, place)
    return len(text)


def cut(text: str, columns: int) -> str:
    """A text cut to so many columns, with ``…`` where it was cut."""
    text = clean(text)
    return text if width_of(text) <= columns else text[: fit(text, columns - 1)].rstrip() + "…"


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _breakable(text: str, place: int) -> bool:
    before, after = text[place - 1], text[place]
    return " " in (before, after) or _columns(before) == 2 or _columns(after) == 2
