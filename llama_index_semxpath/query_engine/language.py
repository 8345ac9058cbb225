"""Which language a question is asked in, as far as its letters tell."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

#: Name of a script in Unicode's character names to what we call it.
_SCRIPTS = {
    "CJK": "han", "HIRAGANA": "kana", "KATAKANA": "kana", "HANGUL": "hangul", "LATIN": "latin",
    "CYRILLIC": "cyrillic", "ARABIC": "arabic", "GREEK": "greek", "HEBREW": "hebrew",
    "DEVANAGARI": "devanagari", "THAI": "thai",
}  # fmt: skip
_LANGUAGES = {"han": "Chinese", "kana": "Japanese", "hangul": "Korean"}
_ENGLISH = re.compile(
    r"\b(?:the|is|are|what|how|who|when|where|why|which|does|do|did|can|of|in|for|and|a|an)\b", re.I
)
_MOST_READ = 2000


def script_of(text: str) -> str:
    """The script of most letters of a text; ``""`` where it has none.

    Japanese is told from Chinese by its kana. A Chinese or Japanese text often holds Latin names;
    one letter of its own script counts as much as three of Latin.

    Example:
        >>> [script_of(text) for text in ("How many?", "VPN 怎么设置", "オイル交換", "7")]
        ['latin', 'han', 'kana', '']
    """
    counts: Counter[str] = Counter()
    for char in text[:_MOST_READ]:
        if not char.isalpha():
            continue
        name = unicodedata.name(char, "").split(" ")[0].split("-")[0]
        counts[_SCRIPTS.get(name, "other")] += 1
    if not counts:
        return ""
    if counts["kana"] and counts["kana"] * 4 >= counts["han"]:
        counts["kana"] += counts.pop("han", 0)
    for name in ("han", "kana", "hangul"):
        counts[name] *= 3
    return counts.most_common(1)[0][0]


def language_of(question: str) -> str:
    """The language to answer in, as a prompt names it.

    Example:
        >>> language_of("年假几天？"), language_of("What is it?"), language_of("Wie viele Tage?")
        ('Chinese', 'English', 'the language of the question')
    """
    script = script_of(question)
    if script == "latin" and _ENGLISH.search(question):
        return "English"
    return _LANGUAGES.get(script, "the language of the question")


def in_language_of(text: str, question: str) -> bool:
    """Whether a text is written in the question's script, as far as both have letters.

    Example:
        >>> in_language_of("It is blue.", "泵是什么颜色？"), in_language_of("42", "几个？")
        (False, True)
    """
    asked, said = script_of(question), script_of(text)
    return not asked or not said or asked == said
