"""Text helpers that every room shares: normal form, names of the language, words, safe display."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Protocol, cast

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_WORD = re.compile(r"\w+")
_START = (
    "A-Z_a-z\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff"
    "\u200c\u200d\u2070-\u218f\u2c00-\u2fef\u3005-\u3007\u3021-\u302f\u3031-\u303c\u3041-\ud7ff"
    "\uf900-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc\uff21-\uff3a\uff3f\uff41-\uff5a\uff66-\uffdc"
    "\U00010000-\U000effff"
)
#: The characters of such a name, as the inside of a character class.
NAME_CHARS = _START + "\\-0-9\u00b7\u0300-\u036f\u203f\u2040\uff10-\uff19"
#: Regular expression of a name that needs no back-quotes: XML's NCName without the CJK and
#: full-width punctuation that XML lets in, so that a bracket typed on a Chinese keyboard is one.
NAME = f"[{_START}][{NAME_CHARS}]*+(?:\\.[{NAME_CHARS}]++)*+"
_PLAIN_NAME = re.compile(NAME)


def nfc(text: str) -> str:
    """Unicode normal form C, in which names and strings are compared (Unicode Annex 15).

    Example:
        >>> nfc("e\\u0301") == "\\u00e9"
        True
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def is_plain_name(text: str) -> bool:
    """Whether a name stands in a query without back-quotes.

    Example:
        >>> is_plain_name("owner-team"), is_plain_name("制度"), is_plain_name("Sales Order")
        (True, True, False)
    """
    return _PLAIN_NAME.fullmatch(text) is not None


def name_text(name: str) -> str:
    """A name as it stands in a query, in back-quotes where it needs them.

    Example:
        >>> name_text("owner-team"), name_text("Sales Order")
        ('owner-team', '`Sales Order`')
    """
    return name if is_plain_name(name) else "`" + name.replace("`", "``") + "`"


def string_text(value: str) -> str:
    """A string literal; the quote that needs no doubling is preferred.

    Example:
        >>> string_text("it's"), string_text('6" pipe')
        ('"it\\'s"', '\\'6" pipe\\'')
    """
    if '"' in value and "'" not in value:
        return f"'{value}'"
    return '"' + value.replace('"', '""') + '"'


def has_han(text: str) -> bool:
    """Whether a text holds a Chinese character.

    Example:
        >>> has_han("年假 leave"), has_han("leave")
        (True, False)
    """
    return not text.isascii() and _HAN.search(text) is not None


def words(text: str) -> list[str]:
    """The words of a text for keyword search: case-folded, NFKC, Chinese segmented.

    Chinese is cut in search mode, so that a compound gives its parts as well.

    Example:
        >>> words("The Install-Guide"), words("合同管理")
        (['the', 'install', 'guide'], ['合同', '管理'])
    """
    if text.isascii():
        return _WORD.findall(text.lower())
    text = unicodedata.normalize("NFKC", text).casefold()
    if not has_han(text):
        return _WORD.findall(text)
    found: list[str] = []
    for piece in _segmenter().cut_for_search(text):
        found.extend(_WORD.findall(piece))
    return found


def shown(text: str, limit: int = 40) -> str:
    """A text fit for one line of a message: cut, with control characters and surrogates escaped.

    Example:
        >>> shown("a\\x00b"), shown("x" * 50, limit=5)
        ('a\\\\x00b', 'xxxxx…')
    """
    cut = text if len(text) <= limit else text[:limit] + "…"
    if cut.isprintable():
        return cut
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in cut)


def width(text: str) -> int:
    """Columns that a text takes in a terminal: wide characters take two, marks none.

    Example:
        >>> width("ab"), width("年假")
        (2, 4)
    """
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) != 0 for char in text)


def cut(text: str, columns: int) -> str:
    """The beginning of a text that fits into a number of terminal columns; ``…`` marks a cut.

    Example:
        >>> cut("annual leave", 7), cut("年假的规定", 6), cut("年假", 4)
        ('annual…', '年假…', '年假')
    """
    if width(text) <= columns:
        return text
    kept, used = [], 1
    for char in text:
        used += width(char)
        if used > columns:
            break
        kept.append(char)
    return "".join(kept).rstrip() + "…"


def padded(text: str, columns: int) -> str:
    """A text filled with spaces to a number of terminal columns.

    Example:
        >>> padded("年假", 6) + "|"
        '年假  |'
    """
    return text + " " * max(0, columns - width(text))


class _Segmenter(Protocol):
    def cut_for_search(self, text: str, hmm: bool = ...) -> list[str]: ...


@lru_cache(maxsize=1)
def _segmenter() -> _Segmenter:
    import rjieba  # its dictionary costs 0.1 s and many a process never needs it

    return cast(_Segmenter, rjieba)
