"""Text helpers that every room shares: normal form, words, safe display."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Protocol, cast

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_WORD = re.compile(r"\w+")


def nfc(text: str) -> str:
    """Unicode normal form C, in which names and strings are compared (Unicode Annex 15).

    Example:
        >>> nfc("e\\u0301") == "\\u00e9"
        True
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text)


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


class _Segmenter(Protocol):
    def cut_for_search(self, text: str, hmm: bool = ...) -> list[str]: ...


@lru_cache(maxsize=1)
def _segmenter() -> _Segmenter:
    import rjieba  # its dictionary costs 0.1 s and many a process never needs it

    return cast(_Segmenter, rjieba)
