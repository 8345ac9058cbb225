"""Citations of a generated answer: checked against the sources, numbered by first use."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

# A bracket is a citation when it holds numbers only, whatever the model's habit ("[1]", "[^1]",
# "【1】", "[1-3]", "[Source 1]", "[1](http…)"), and does not follow a word or a closing bracket of
# code, as `array[5]` does. CJK has no blank before a citation: only ASCII words count.
_NAMES = (
    r"summary of|sources?|docs?|documents?|contexts?|passages?|references?|refs?"
    r"|来源|文档|资料|引用|参考|摘要"
)
_NUMBERS = re.compile(
    rf"(?:(?<![A-Za-z0-9_)])\[|[【［])\s*\^?\s*(?:(?:{_NAMES})\s*[#:：.]?\s*)?"
    r"(\d{1,4}(?:\s*(?:[,;，；、&–—~-]|and|和)\s*\^?\d{1,4})*)\s*[\]】］]"
    r"(?:\((?:https?:|#|www\.)[^()\s]*\))?",
    re.IGNORECASE,
)
_RANGE = re.compile(r"(\d+)\s*[–—~-]\s*(\d+)")
_WIDEST_RANGE = 20
# Models also cite by label, as in `[Summary of 80b5]`: such a one points to nothing.
_LABEL = re.compile(
    rf"(?<![A-Za-z0-9_)\]!])[\[【](?:\s*(?:{_NAMES})(?![A-Za-z])[^\[\]【】\n]{{0,80}})[\]】](?!\()",
    re.IGNORECASE,
)
# The list of sources that a model appends says nothing that the citations do not.
_APPENDIX = re.compile(
    r"\n+[#*\s]*(?:sources?|references?|citations?|来源|参考(?:资料|文献)?|引用)[*\s]*[:：][*\s]*\n?"
    r"(?:\s*(?:[-*]\s*)?[\[【［]?\^?\d{1,4}[\]】］.)].*(?:\n|$))+\s*$",
    re.IGNORECASE,
)
# "[[1]]" is a habit of some models, "[1" the end of one that was cut off.
_DOUBLE = re.compile(r"\[(\[\s*\d{1,4}(?:\s*[,;]\s*\d{1,4})*\s*\])\](?!\()")
_CUT_OFF = re.compile(r"\s?\[\d{1,4}(?:\s*,\s*\d*)*\Z")
_REPEATED = re.compile(r"(\[\d+(?:, \d+)*\])(?:\s?\1)+")
_FENCE = re.compile(r"(```.*?```|~~~.*?~~~|`[^`\n]*`)", re.DOTALL)
_SPACE_BEFORE_STOP = re.compile(r"[ \t]+([.,;:!?。，；：！？])")


@dataclass(slots=True)
class CitedText:
    """An answer whose citations all exist.

    Args:
        text: The answer with citations numbered from 1 in order of first use.
        references: New number to the 0-based place of the source among those given.
        removed: Citations that pointed to no source, as the model wrote them.
    """

    text: str
    references: dict[int, int] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)


def renumber_citations(text: str, sources: int) -> CitedText:
    """Removes citations that point nowhere and renumbers the others by first use.

    Code in back-quotes and brackets that follow a word (``array[5]``) are left alone; ranges
    (``[1-3]``), footnotes (``[^1]``), ``【1】`` and ``[Source 1]`` are read as what they mean, and
    a list of sources at the end is cut off.

    Args:
        text: What a model wrote; ``[n]`` names the n-th source, from 1.
        sources: How many sources it was given, 0 or more.

    Returns:
        The corrected text, where each number leads, and what was removed.

    Example:
        >>> cited = renumber_citations("Blue [5]. Heavy [2][5]. Loud [9]. See array[5].", sources=6)
        >>> cited.text
        'Blue [1]. Heavy [2][1]. Loud. See array[5].'
        >>> cited.references, cited.removed
        ({1: 4, 2: 1}, ['[9]'])
    """
    cited = CitedText("")
    numbers: dict[int, int] = {}

    def renumber(match: re.Match[str]) -> str:
        kept: list[str] = []
        for source in _cited(match.group(1)):
            if 1 <= source <= sources:
                number = numbers.setdefault(source, len(numbers) + 1)
                if str(number) not in kept:
                    kept.append(str(number))
            else:
                cited.removed.append(f"[{source}]")
        return f"[{', '.join(kept)}]" if kept else ""

    def drop(match: re.Match[str]) -> str:
        cited.removed.append(match.group(0))
        return ""

    parts = []
    for place, part in enumerate(_FENCE.split(_CUT_OFF.sub("", _APPENDIX.sub("", text)))):
        if place % 2:
            parts.append(part)
            continue
        changed = _LABEL.sub(drop, _NUMBERS.sub(renumber, _DOUBLE.sub(r"\1", part)))
        changed = _REPEATED.sub(r"\1", changed)
        parts.append(_tidy(changed) if changed != part else part)
    cited.text = "".join(parts)
    cited.references = {number: source - 1 for source, number in numbers.items()}
    return cited


def cited_sources(text: str, sources: int) -> Sequence[int]:
    """0-based places of the sources that a text cites, in order of first use.

    Example:
        >>> cited_sources("a [2], b [1][2]", sources=2)
        [1, 0]
    """
    return list(renumber_citations(text, sources).references.values())


def _cited(numbers: str) -> list[int]:
    """The numbers in a bracket, ranges written out."""

    def spread(match: re.Match[str]) -> str:
        low, high = int(match[1]), int(match[2])
        if low < high <= low + _WIDEST_RANGE:
            return ",".join(map(str, range(low, high + 1)))
        return f"{low},{high}"

    return [int(part) for part in re.findall(r"\d+", _RANGE.sub(spread, numbers))]


def _tidy(text: str) -> str:
    return re.sub(r"(?<=\S) {2,}", " ", _SPACE_BEFORE_STOP.sub(r"\1", text))
