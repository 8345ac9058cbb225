"""Citations of a generated answer: checked against the sources, numbered by first use."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

# A bracket is a citation when it holds numbers only and does not follow a word or a closing
# bracket of code, as `array[5]` does. CJK has no blank before a citation: only ASCII words count.
_NUMBERS = re.compile(r"(?<![A-Za-z0-9_)])\[\s*(\d{1,4}(?:\s*[,;，、]\s*\d{1,4})*)\s*\]")
# Models also cite by label, as in `[Summary of 80b5]`: such a one points to nothing.
_LABEL = re.compile(
    r"(?<![A-Za-z0-9_)\]!])\[\s*(?:summary of|source|sources|doc|document|context|来源|文档|摘要)"
    r"\b[^\[\]\n]{0,80}\](?!\()",
    re.IGNORECASE,
)
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

    Code in back-quotes and brackets that follow a word (``array[5]``) are left alone.

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
        for part in re.findall(r"\d+", match.group(1)):
            source = int(part)
            if 1 <= source <= sources:
                number = numbers.setdefault(source, len(numbers) + 1)
                if str(number) not in kept:
                    kept.append(str(number))
            else:
                cited.removed.append(f"[{part}]")
        return f"[{', '.join(kept)}]" if kept else ""

    def drop(match: re.Match[str]) -> str:
        cited.removed.append(match.group(0))
        return ""

    parts = []
    for place, part in enumerate(_FENCE.split(text)):
        if place % 2:
            parts.append(part)
            continue
        changed = _NUMBERS.sub(renumber, _LABEL.sub(drop, part))
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


def _tidy(text: str) -> str:
    return re.sub(r"(?<=\S) {2,}", " ", _SPACE_BEFORE_STOP.sub(r"\1", text))
