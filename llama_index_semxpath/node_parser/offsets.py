"""UTF-8 byte offsets to character offsets."""

from __future__ import annotations


class Offsets:
    """Translates the byte ranges of a parser into character spans of the whole source.

    Args:
        text: What was parsed.
        shift: Characters of the source before ``text``.

    Example:
        >>> Offsets("\u4e00\u4e8c\\n", 10).span(3, 7)
        (11, 12)
    """

    __slots__ = ("_characters", "_shift", "_text")

    def __init__(self, text: str, shift: int = 0) -> None:
        self._text = text
        self._shift = shift
        self._characters = None if text.isascii() else _character_at(text)

    def local(self, byte: int) -> int:
        """Character offset in the parsed text."""
        return byte if self._characters is None else int(self._characters[byte])

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Span in the source without the white space at its end."""
        if self._characters is not None:
            start, end = int(self._characters[start]), int(self._characters[end])
        text = self._text
        while end > start and text[end - 1] in " \t\r\n":
            end -= 1
        return start + self._shift, end + self._shift


def _character_at(text: str) -> memoryview[int]:
    """For each byte of the UTF-8 form, the characters that begin before it."""
    import numpy as np

    data = np.frombuffer(text.encode("utf-8"), dtype=np.uint8)
    begins = np.empty(len(data) + 1, dtype=np.int32)
    begins[0] = 0
    # A byte of the form 10xxxxxx goes on with the character before it.
    np.cumsum((data & 0xC0) != 0x80, out=begins[1:])
    return memoryview(begins)  # type: ignore[arg-type]
