"""Places that a question names: 第三章第五条, "section 2.1", "article 5", "the third chapter"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from llama_index_semxpath.node_parser.numbering import split_number
from llama_index_semxpath.node_parser.numerals import (
    CHINESE_NUMERAL_CHARS,
    int_to_chinese,
    letter_to_int,
    numeral_to_int,
)

# Units of the two languages that name the same thing, by the name that a Reference carries.
_UNITS: dict[str, tuple[str, ...]] = {
    "book": ("book", "编", "篇"),
    "volume": ("volume", "卷", "册"),
    "part": ("part", "部分", "编", "篇"),
    "chapter": ("chapter", "章"),
    "section": ("section", "节", "§"),
    "article": ("article", "条", "§"),
    "clause": ("clause",),
    "rule": ("rule",),
    "paragraph": ("款",),
    "item": ("项",),
    "appendix": ("appendix", "附录", "annex"),
    "annex": ("annex", "附件", "附录", "appendix"),
    "schedule": ("schedule", "附表"),
    "unit": ("unit", "单元"),
    "lesson": ("lesson", "课"),
}
_OF_CHINESE = {
    "分编": "division",
    "编": "book",
    "篇": "part",
    "部分": "part",
    "章": "chapter",
    "节": "section",
    "小节": "section",
    "条": "article",
    "款": "paragraph",
    "项": "item",
    "卷": "volume",
    "册": "volume",
    "单元": "unit",
    "课": "lesson",
    "附录": "appendix",
    "附件": "annex",
    "附表": "schedule",
}
_SHORT = {"art": "article", "sec": "section", "ch": "chapter", "chap": "chapter", "app": "appendix"}
_CARDINALS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
_VALUES = {
    word: value
    for words in (_CARDINALS, _ORDINALS)
    for value, word in enumerate(words.split(), start=1)
}

_ENGLISH = "|".join(unit for unit in _UNITS if unit not in ("paragraph", "item")) + "|division"
_NUMERAL = f"[{CHINESE_NUMERAL_CHARS}]{{1,12}}"
_PATTERN = re.compile(
    rf"第\s?(?P<zh>{_NUMERAL}|[\d０-９]+(?:\.\d+)*|[（(]{_NUMERAL}[）)])\s?"
    r"(?P<zh_unit>分编|编|篇|部分|章|小节|节|条|款|项|卷|册|单元|课)(?:之(?P<zh_sub>[一二三四五六七八九十]+))?"
    rf"|(?P<annex>附录|附件|附表)\s?(?P<annex_n>{_NUMERAL}|\d{{1,3}}|[A-Z](?![A-Za-z]))"
    r"|(?<![\d.])(?P<dec>\d{1,3}(?:\.\d{1,3})+)\s?(?P<dec_unit>小节|节|章|条)"
    rf"|\b(?P<en>{_ENGLISH}|art|sec|ch|chap|app)(?:s\b|\.)?\s?(?:no\.?\s?)?"
    r"(?P<en_n>\d{1,3}(?:\.\d{1,3})*|[A-Z](?:\.\d{1,3})+|(?-i:[A-Z])\b|[ivxlc]+\b"
    rf"|(?:{_CARDINALS.replace(' ', '|')})\b)"
    r"|§{1,2}\s?(?P<sign>\d{1,3}(?:\.\d{1,3})*)"
    rf"|\b(?P<ord>{_ORDINALS.replace(' ', '|')}|\d{{1,2}}(?:st|nd|rd|th))"
    rf"\s(?P<ord_unit>{_ENGLISH})\b"
    r"|\b(?:in|under|see|of|point|item|heading|paragraph)\s(?P<bare>[1-9]\d?(?:\.\d{1,2})+)"
    r"(?![\d.]*\d|\s?(?:%|percent|million|billion|thousand|[kmgt]b\b|km\b|mm\b|kg\b))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reference:
    """A place that a text points at by its number.

    Args:
        unit: ``chapter``, ``section``, ``article``, ``appendix`` …, or ``""`` for a bare number.
        parts: Components of the number: (3, 2) for "section 3.2".
        text: As it stands in the question.
        start: Offset of ``text``.
        end: Offset after it.
        sub: The 之一 of 第十二条之一.
    """

    unit: str
    parts: tuple[int, ...]
    text: str
    start: int
    end: int
    sub: int | None = None

    @property
    def n(self) -> int:
        """Last component, to be compared with ``@n``."""
        return self.parts[-1]

    def matches(self, number: str) -> bool:
        """Whether an ``@number`` as written names this place.

        Units of the two languages meet (第五条 and "article 5"), and a heading that is numbered
        without a unit (``3``, ``3.2``, ``A``) is reached with one.

        Example:
            >>> reference = parse_references("What does article 5 say?")[0]
            >>> [reference.matches(number) for number in ("第五条", "Article V", "5", "第五章")]
            [True, True, True, False]
        """
        found = split_number(number)
        if found is None:
            # "A" and "Ⅱ" alone are numbers only because a heading carries them.
            value = numeral_to_int(number) or letter_to_int(number)
            return value is not None and (value,) == self.parts and self.unit not in _INNER
        if found.parts != self.parts or (found.sub or None) != self.sub:
            return False
        bare = found.style not in _UNIT_STYLES
        if bare or not self.unit:
            return self.unit not in _INNER or not bare
        return found.style in _UNITS.get(self.unit, (self.unit,))

    def spellings(self) -> list[str]:
        """Ways in which a source may write the number, for tests of ``@number`` by equality.

        Example:
            >>> parse_references("第五条")[0].spellings()
            ['Article 5', 'ARTICLE 5', '第五条', '第5条', '§ 5', '§5', '5', '五']
        """
        dotted = ".".join(map(str, self.parts))
        out: list[str] = []
        for style in _UNITS.get(self.unit, (self.unit,) if self.unit else ()):
            if style.isascii():
                names = [dotted]
                if style in ("appendix", "annex", "schedule") and len(self.parts) == 1:
                    names = [_letter(self.n), dotted]
                out += [
                    f"{case} {name}" for name in names for case in (style.title(), style.upper())
                ]
            elif style == "§":
                out += [f"§ {dotted}", f"§{dotted}"]
            elif len(self.parts) == 1:
                zh = int_to_chinese(self.n)
                sub = f"之{int_to_chinese(self.sub)}" if self.sub else ""
                if style.startswith("附"):
                    out += [f"{style}{zh}", f"{style}{self.n}", f"{style}{_letter(self.n)}"]
                else:
                    out += [f"第{zh}{style}{sub}", f"第{self.n}{style}{sub}"]
        if self.unit not in _INNER and self.sub is None:
            out.append(dotted)
            if len(self.parts) == 1:
                out.append(int_to_chinese(self.n))
        return [spelling for spelling in dict.fromkeys(out) if spelling]


# Units inside a provision: a plain "3" somewhere is not "item 3".
_INNER = frozenset({"paragraph", "item"})
_UNIT_STYLES = frozenset(style for styles in _UNITS.values() for style in styles) | {"division"}


def _letter(value: int) -> str:
    return chr(ord("A") + value - 1) if 1 <= value <= 26 else ""


def parse_references(text: str) -> list[Reference]:
    """Places that a question names, in the order of the text.

    Neighbours such as 第三章第五条 come as two references; the outer one need not come first in
    English ("article 5 of chapter 3"), so a caller orders them by unit.

    Example:
        >>> [(r.unit, r.parts) for r in parse_references("第三章第五条和 section 2.1")]
        [('chapter', (3,)), ('article', (5,)), ('section', (2, 1))]
        >>> [(r.unit, r.n) for r in parse_references("the second chapter, Appendix B")]
        [('chapter', 2), ('appendix', 2)]
    """
    out = []
    for match in _PATTERN.finditer(text[:20_000]):
        found = _reference(match)
        if found is not None:
            out.append(found)
    return out


def _reference(match: re.Match[str]) -> Reference | None:
    unit, parts, sub = _unit_and_parts(match)
    if not parts:
        return None
    return Reference(unit, parts, match[0], match.start(), match.end(), sub)


def _unit_and_parts(match: re.Match[str]) -> tuple[str, tuple[int, ...], int | None]:
    if match["zh"]:
        sub = numeral_to_int(match["zh_sub"]) if match["zh_sub"] else None
        return _OF_CHINESE[match["zh_unit"]], _parts(match["zh"]), sub
    if match["annex"]:
        return _OF_CHINESE[match["annex"]], _parts(match["annex_n"]), None
    if match["dec"]:
        return _OF_CHINESE[match["dec_unit"]], _parts(match["dec"]), None
    if match["en"]:
        unit = match["en"].lower()
        return _SHORT.get(unit, unit), _english(unit, match["en_n"]), None
    if match["sign"]:
        return "article", _parts(match["sign"]), None
    if match["ord"]:
        word = match["ord"].lower()
        value = _VALUES.get(word) or int(re.sub(r"\D", "", word))
        return match["ord_unit"].lower(), (value,), None
    return "", _parts(match["bare"]), None


def _english(unit: str, text: str) -> tuple[int, ...]:
    if text.lower() in _VALUES:
        return (_VALUES[text.lower()],)
    # The reader of headings knows when a letter counts and when it is Roman.
    found = split_number(f"{_SHORT.get(unit, unit).title()} {text.upper()}")
    return found.parts if found is not None else ()


def _parts(text: str) -> tuple[int, ...]:
    values = [numeral_to_int(part) or letter_to_int(part) for part in text.split(".")]
    return tuple(value for value in values if value is not None)
