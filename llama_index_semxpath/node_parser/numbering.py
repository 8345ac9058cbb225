"""Numbers that headings and items start with: ``3.2``, ``Appendix B``, ``第十二条``, ``（一）``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from llama_index_semxpath.node_parser.numerals import (
    CHINESE_NUMERAL_CHARS,
    letter_to_int,
    numeral_to_int,
    roman_to_int,
)
from llama_index_semxpath.tree.node import Value

# Full-width forms are read as ASCII; the mapping keeps lengths, so offsets stay true.
_NARROW = {0xFF01 + i: 0x21 + i for i in range(0x5E)} | {0x3000: 0x20, 0xA0: 0x20, 0x3002: 0x3002}

_ZH = f"[{CHINESE_NUMERAL_CHARS}]{{1,12}}|\\d{{1,4}}"
_ZH_UNITS = "分编|分編|编|編|部分|章|节|節|条|條|款|项|項|目|篇|卷|回|讲|课|单元|册"
_EN_UNITS = (
    "chapter|part|section|article|appendix|annex|schedule|book|volume|unit|lesson|title|exhibit"
    "|module|phase|clause|rule|division|subpart|subchapter|attachment|addendum"
)
_ONE_TO_TWENTY = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
_WORDS = {word: value for value, word in enumerate(_ONE_TO_TWENTY.split(), start=1)}
# After a unit word a part may be padded: "Section 1.01".
_DECIMAL = r"(?:0|[1-9]\d{0,2})(?:\.\d{1,3}){0,8}"

_LEGAL = re.compile(rf"第\s{{0,2}}({_ZH})\s{{0,2}}({_ZH_UNITS})(?:之({_ZH}))?")
_ANNEX = re.compile(rf"(附\s{{0,4}}[则則录錄件表])\s?((?:{_ZH}|[A-Z])(?![A-Za-z]))?")
_WORD = re.compile(
    rf"({_EN_UNITS})\s{{1,3}}({_DECIMAL}|[A-Z](?:\.\d{{1,3}})+|[IVXLCDM]+\b|[A-Z]\b"
    rf"|(?:{'|'.join(_WORDS)})\b)",
    re.IGNORECASE,
)
_SIGN = re.compile(rf"(§{{1,2}}|Art\.|Sec\.|Ch\.)\s?({_DECIMAL})(?![\d%])([a-z]\b)?")
_ZH_ENUM = re.compile(rf"([{CHINESE_NUMERAL_CHARS}]{{1,5}})([、.](?!\d))")
_BRACKET = re.compile(rf"\(\s?({_ZH}|[A-Za-z]|[ivxIVX]{{1,6}})\s?\)")
_DOTTED = re.compile(r"([1-9]\d{0,2}|[A-Z]|0)((?:\.(?:0|[1-9]\d{0,2})){1,8})\.?(?![\d.%])")
_SINGLE = re.compile(r"(\d{1,3})([.)、:](?![\d.])|(?=\s|$))")
_LETTER = re.compile(r"([A-Z]|[a-z]|[IVXLC]{2,7}|[ivx]{2,6})([.)])(?![\w.)])")
_CIRCLED = re.compile(r"[①-⑳⑴-⒇⒈-⒛㉑-㉟㊱-㊿❶-❿➀-➓]")

# What a number that begins with a letter begins with: most titles are settled by this alone.
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_LETTERED_START = re.compile(
    rf"[A-Za-z][.)]|[IVXLCivx]{{2,7}}[.)]|Art\.|Sec\.|Ch\.|(?i:{_EN_UNITS})\s"
)

# What may part a number from its title.
_SEPARATOR = re.compile(r"[\s:.、,\-–—·]*")
# A decimal number followed by one of these measures something.
_MEASURE = re.compile(
    r"\s?[%‰°℃]|[亿万億萬千百元个個年月日号倍米吨人次岁天小时分秒]|\s?(?:[cmk]?m|kg|g|l|s|[kMGT]?(?:B|Hz|W|V)|mA|dB|°)\b"
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number at the start of a line.

    Args:
        written: The number as written, without the punctuation that closes it (``3.2``,
            ``第五条``, ``Appendix B``, ``（一）``).
        parts: Its components as integers, outermost first; empty for one without value (附则).
        style: How it is written: numbers of one series share it (``条``, ``chapter``, ``1.1``,
            ``1.``, ``(1)``, ``A.``, ``一、`` …).
        rest: What follows, without the separator.
        end: Offset of ``rest`` in the line.
        sub: The 之一 of 第十二条之一, as an integer.
        spaced: Whether white space, a bracket, a colon or the line's end follows the number.
    """

    written: str
    parts: tuple[int, ...]
    style: str
    rest: str
    end: int
    sub: int | None = None
    spaced: bool = True

    @property
    def n(self) -> int | None:
        """Last component, the value that ``@n`` holds."""
        return self.parts[-1] if self.parts else None

    @property
    def depth(self) -> int:
        """How many components the number has."""
        return max(1, len(self.parts))

    def other_reading(self) -> Number | None:
        """The number with a lone ``I``, ``V``, ``X`` read as a letter, not as Roman, or back."""
        core = self.written.strip("()（）")
        if self.style.startswith(("I", "i", "(I", "(i")) and len(core) == 1:
            letter = letter_to_int(core)
            style = self.style.replace("I", "A").replace("i", "a")
            return None if letter is None else replace(self, parts=(letter,), style=style)
        roman = roman_to_int(core)
        if self.style.startswith(("A", "a", "(A", "(a")) and roman is not None:
            style = self.style.replace("A", "I").replace("a", "i")
            return replace(self, parts=(roman,), style=style)
        return None


def split_number(line: str) -> Number | None:
    """Read the number that a heading or item starts with.

    Whether the line *is* a heading is not decided here; see ``headings``.

    Args:
        line: One line, without leading white space.

    Returns:
        The number, or ``None`` when the line starts with none. Dates, times, IP addresses,
        percentages and figures with leading zeros are none.

    Example:
        >>> [split_number(line).written for line in
        ...  ("3.2 Install", "第十二条之一 有", "Appendix B: Forms", "（一）逾期", "IV. Results")]
        ['3.2', '第十二条之一', 'Appendix B', '（一）', 'IV']
        >>> split_number("第十一条 用户").n, split_number("2.10 Torque").parts
        (11, (2, 10))
        >>> split_number("12.05.2031 is a date") is None
        True
    """
    plain = line[:120]
    if not plain.isascii():
        plain = plain.translate(_NARROW)
    if not plain or (plain[0] in _LETTERS and not _LETTERED_START.match(plain)):
        return None
    for reader in (_read_legal, _read_annex, _read_word, _read_sign, _read_enum, _read_decimal):
        found = reader(plain)
        if found is not None:
            return _finish(found, line, plain)
    return None


def number_attributes(title: str) -> dict[str, Value]:
    """``@number`` and ``@n`` of a heading.

    Example:
        >>> number_attributes("第五条 年假")
        {'number': '第五条', 'n': 5}
        >>> number_attributes("Install")
        {}
    """
    number = split_number(title.strip())
    if number is None or (not number.spaced and number.style in _UNIT_STYLES):
        return {}
    attributes: dict[str, Value] = {"number": number.written}
    if number.n is not None:
        attributes["n"] = number.n
    return attributes


@dataclass(frozen=True, slots=True)
class _Found:
    end: int
    parts: tuple[int, ...]
    style: str
    keep: int
    sub: int | None = None


# Traditional forms of the unit words.
_SIMPLE = str.maketrans("編節條項則錄", "编节条项则录")
_UNIT_STYLES = frozenset(_ZH_UNITS.split("|"))


def _finish(found: _Found, line: str, plain: str) -> Number:
    separator = _SEPARATOR.match(plain, found.end)
    end = separator.end() if separator else found.end
    after = plain[found.end : found.end + 1]
    return Number(
        written=re.sub(r"\s+", " ", line[: found.keep].strip()),
        parts=found.parts,
        style=found.style,
        rest=line[end:].strip(),
        end=end,
        sub=found.sub,
        spaced=found.end > found.keep or after == "" or after in " \t:([【〔「《-–—.、",
    )


def _read_legal(plain: str) -> _Found | None:
    match = _LEGAL.match(plain)
    if match is None:
        return None
    value = numeral_to_int(match[1])
    if value is None:
        return None
    unit = match[2].translate(_SIMPLE)
    sub = numeral_to_int(match[3]) if match[3] else None
    return _Found(match.end(), (value,), unit, match.end(), sub)


def _read_annex(plain: str) -> _Found | None:
    match = _ANNEX.match(plain)
    if match is None:
        return None
    name = re.sub(r"\s", "", match[1]).translate(_SIMPLE)
    if match[2] is None:
        # 附件 and 附录 also start sentences; alone or before a separator they are headings.
        bare = plain[match.end() :].strip()
        if bare and not plain[match.end() : match.end() + 1].isspace() and bare[0] not in ":(":
            return None
        return _Found(match.end(), (), name, match.end())
    value = numeral_to_int(match[2]) or letter_to_int(match[2])
    return None if value is None else _Found(match.end(), (value,), name, match.end())


def _read_word(plain: str) -> _Found | None:
    match = _WORD.match(plain)
    if match is None or not match[1][0].isupper():
        return None
    parts = _word_parts(match[1].lower(), match[2])
    if parts is None or plain[match.end() : match.end() + 1].isalnum():
        return None
    return _Found(match.end(), parts, match[1].lower(), match.end())


def _word_parts(unit: str, text: str) -> tuple[int, ...] | None:
    if text[0].isdigit():
        return tuple(int(part) for part in text.split("."))
    head, *tail = text.split(".")
    if head.lower() in _WORDS:
        return (_WORDS[head.lower()],)
    if head != head.upper():
        return None
    # "Appendix C" counts letters, "Part II" counts in Roman; a lone I is Roman one everywhere.
    letters_first = len(head) == 1 and (unit in _LETTERED or head not in "IVX") and head != "I"
    value = letter_to_int(head) if letters_first else roman_to_int(head)
    if value is None:
        value = letter_to_int(head)
    return None if value is None else (value, *(int(part) for part in tail))


_LETTERED = frozenset({"appendix", "annex", "schedule", "exhibit", "attachment", "addendum"})


def _read_sign(plain: str) -> _Found | None:
    match = _SIGN.match(plain)
    if match is None:
        return None
    parts = tuple(int(part) for part in match[2].split("."))
    style = {"§": "§", "A": "article", "S": "section", "C": "chapter"}[match[1][0]]
    sub = letter_to_int(match[3]) if match[3] else None
    return _Found(match.end(), parts, style, match.end(), sub)


def _read_enum(plain: str) -> _Found | None:
    if match := _ZH_ENUM.match(plain):
        value = numeral_to_int(match[1])
        return None if value is None else _Found(match.end(), (value,), "一、", match.end(1))
    if match := _BRACKET.match(plain):
        return _bracketed(match)
    if match := _CIRCLED.match(plain):
        value = _circled_value(match[0])
        return None if value is None else _Found(1, (value,), "①", 1)
    if match := _LETTER.match(plain):
        core, close = match[1], match[2]
        roman = len(core) > 1 or core in "IVXivx"
        value = roman_to_int(core) if roman else letter_to_int(core)
        case = ("I" if roman else "A") if core.isupper() else ("i" if roman else "a")
        return None if value is None else _Found(match.end(), (value,), case + close, match.end(1))
    return None


def _bracketed(match: re.Match[str]) -> _Found | None:
    core = match[1]
    if core[0] in CHINESE_NUMERAL_CHARS:
        value, style = numeral_to_int(core), "(一)"
    elif core.isdigit():
        value, style = (int(core) if len(core) <= 3 else None), "(1)"
    else:
        roman = len(core) > 1 or core in "ivxIVX"
        value = roman_to_int(core) if roman else letter_to_int(core)
        style = ("(I)" if roman else "(A)") if core.isupper() else ("(i)" if roman else "(a)")
    return None if value is None else _Found(match.end(), (value,), style, match.end())


def _circled_value(char: str) -> int | None:
    code = ord(char)
    for first, base in (
        (0x2460, 1),
        (0x2474, 1),
        (0x2488, 1),
        (0x3251, 21),
        (0x32B1, 36),
        (0x2776, 1),
        (0x2780, 1),
    ):
        if first <= code < first + 20:
            return code - first + base
    return None


def _read_decimal(plain: str) -> _Found | None:
    if match := _DOTTED.match(plain):
        if _MEASURE.match(plain, match.end()) or plain[match.end() : match.end() + 1] in tuple(
            "/-"
        ):
            return None
        following = plain[match.end() : match.end() + 1]
        if following.isascii() and following.isalnum():
            return None
        return _dotted(match)
    if match := _SINGLE.match(plain):
        if match[1] != "0" and match[1].startswith("0"):
            return None
        close = match[2]
        return _Found(match.end(), (int(match[1]),), "1" + close, match.end(1))
    return None


def _dotted(match: re.Match[str]) -> _Found:
    head = match[1]
    first = int(head) if head.isdigit() else (letter_to_int(head) or 0)
    parts = (first, *(int(part) for part in match[2].split(".")[1:]))
    # "1.0 Introduction" stands at the level of 1, not below it.
    if parts[-1] == 0 and len(parts) == 2:
        parts = parts[:1]
    lettered = "" if head.isdigit() else "A"
    style = lettered + ".".join("1" * len(parts))
    return _Found(match.end(), parts, style, match.end(2))
