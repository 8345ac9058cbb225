"""Bytes to text: byte order marks, declared encodings, UTF-8, and a clear error for the rest."""

from __future__ import annotations

import codecs
import re

from llama_index_semxpath.errors import SourceError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# A browser looks at the first 1,024 bytes for a declaration (HTML Standard, "prescan").
_PRESCAN = 1024
_DECLARED = re.compile(
    rb"""(?:<meta[^>]+charset|<\?xml[^>]+encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.I
)
# WHATWG Encoding Standard: these labels mean a wider encoding than they say.
_WIDER = {
    "iso-8859-1": "cp1252",
    "latin-1": "cp1252",
    "latin1": "cp1252",
    "ascii": "cp1252",
    "us-ascii": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "big5": "big5hkscs",
}
_PAIR = re.compile(rb"[\x81-\xfe][\x40-\xfe]", re.S)
# Letters and punctuation of Western European text in Windows-1252.
_WESTERN = re.compile("[À-ÖØ-öø-ÿŒœŠšŽžŸ€§°ß«»‘’“”–—…·¿¡ºª©®\xa0²³µ½¼£¥×]")
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_MAX_CONTROL_SHARE = 0.05
_ALLOWED_CONTROLS = 4
_SAMPLE = 65_536
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\v\x1b\b"))


def decode(data: bytes, *, where: str, html: bool = False) -> str:
    """The text of a source.

    Tried in turn: a byte order mark, the encoding that an HTML page declares, UTF-8, GB 18030 for
    what reads as Chinese in it, Windows-1252 for single letters of a Western language. NUL becomes
    U+FFFD, as CommonMark and HTML have it.

    Args:
        data: The bytes.
        where: Name of the source, for errors.
        html: Whether to look for ``<meta charset>``.

    Raises:
        SourceError: The bytes are binary or in no encoding that can be told.

    Example:
        >>> decode("caf\\u00e9".encode("utf-16"), where="a.txt") == "caf\\u00e9"
        True
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _strict(data, encoding, where)
    if _looks_binary(data):
        raise SourceError("the file is binary", where=where, hint="name its format, or remove it")
    if html and (declared := _DECLARED.search(data, 0, _PRESCAN)):
        label = declared[1].decode("ascii").lower()
        encoding = _WIDER.get(label, label)
        # A page that was read to see this label cannot be in UTF-16, whatever it says.
        if not encoding.startswith("utf") and _known(encoding):
            return clean(data.decode(encoding, "replace"))
    try:
        return clean(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        guess = _as_chinese(data) or _as_western(data)
        if guess is not None:
            return clean(guess)
        raise SourceError(
            f"the text is not UTF-8 at byte {error.start}",
            where=where,
            hint="convert it to UTF-8",
        ) from None


def _strict(data: bytes, encoding: str, where: str) -> str:
    try:
        return clean(data.decode(encoding))
    except UnicodeDecodeError as error:
        raise SourceError(
            f"the text is not {encoding.upper()} at byte {error.start}, though its mark says so",
            where=where,
            hint="convert it to UTF-8",
        ) from None


def _known(encoding: str) -> bool:
    try:
        return codecs.lookup(encoding)._is_text_encoding
    except LookupError:
        return False


def clean(text: str) -> str:
    """Text without NUL and lone surrogates, which have no place in Unicode text.

    Example:
        >>> clean("a\\0b\\ud800") == "a\\ufffdb\\ufffd"
        True
    """
    if text.isascii():
        return text.replace("\0", "\ufffd") if "\0" in text else text
    return _NO_TEXT.sub("\ufffd", text)


def _looks_binary(data: bytes) -> bool:
    sample = data[:_SAMPLE]
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return controls > max(_ALLOWED_CONTROLS, _MAX_CONTROL_SHARE * len(sample))


def _as_chinese(data: bytes) -> str | None:
    """The text as GB 18030, if nearly all of its non-ASCII characters are then Chinese."""
    try:
        text = data.decode("gb18030")
    except UnicodeDecodeError:
        return None
    # Common characters are those of GB 2312, with two high bytes; a Latin letter with an accent
    # is one high byte, before any other.
    pairs = _PAIR.findall(data)
    if sum(pair[0] >= 0xA1 and pair[1] >= 0xA1 for pair in pairs) < 0.6 * len(pairs):
        return None
    # Its first level holds the characters that make up nearly all of any text.
    characters = [pair[0] for pair in pairs if pair[0] >= 0xB0]
    if sum(lead <= 0xD7 for lead in characters) < 0.6 * len(characters):
        return None
    wide = [char for char in text if char > "\x7f"]
    chinese = sum("一" <= char <= "鿿" or "　" <= char <= "〿" or char > "＀" for char in wide)
    return text if chinese >= 0.9 * len(wide) else None


def _as_western(data: bytes) -> str | None:
    """The text with each byte that is no UTF-8 as Windows-1252, if those are letters in words.

    So a file of either encoding is read, and one that was put together from both.
    """
    text = data.decode("utf-8", _WESTERN_BYTES)
    strays = [char for char in text if "\ue080" <= char <= "\ue0ff"]
    if len(strays) * 4 > len(text):
        return None
    for char in set(strays):
        letter = bytes([ord(char) & 0xFF]).decode("cp1252", "replace")
        if not _WESTERN.match(letter):
            return None
        text = text.replace(char, letter)
    return text


def _marked_bytes(error: UnicodeError) -> tuple[str, int]:
    """Stands in for bytes that are no UTF-8: a private character that tells which they were."""
    assert isinstance(error, UnicodeDecodeError)
    bad = error.object[error.start : error.end]
    return "".join(chr(0xE000 + byte) for byte in bad), error.end


_WESTERN_BYTES = "semxpath-western"
codecs.register_error(_WESTERN_BYTES, _marked_bytes)
