"""Whether a source says what a statement says: overlap of words, figures, negation, meaning."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from llama_index_semxpath.node_parser.numerals import chinese_to_int
from llama_index_semxpath.retrievers.words import STOPWORDS, content_words, is_cjk, sentences, words

#: Two texts to their similarity in meaning, in [0, 1].
Similarity = Callable[[str, str], float]
#: Support from which a citation stands.
SUPPORTED = 0.5
#: Overlap from which similarity in meaning may speak for a paraphrase, and how much it must be.
_PARAPHRASE = (0.25, 0.55)
#: Similarity that stands for a statement in another language than its source's.
_TRANSLATED = 0.35
_FIGURE = re.compile(r"\d+(?:[,，]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_CJK_FIGURE = re.compile(
    r"[〇零一二三四五六七八九十百千万两]+(?=\s*[天个次年元日月条人%件份项倍级台周小])"
)
# "one" is a pronoun as often as a figure.
_WORDS = "two three four five six seven eight nine ten eleven twelve"
_SMALL = {word: str(value) for value, word in enumerate(_WORDS.split(" "), start=2)}
_BOUND = re.compile(
    r"\b(?:no|not)\s+(?:more|less|fewer|later|earlier)\s+than\b|不(?:超过|少于|低于|高于|晚于|得超过|多于)",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\b(?:not|never|cannot|without|neither|nor|none|nobody|prohibited|forbidden)\b|n['’]t\b"
    r"|\bno\b(?!\.)|不|没有|未|无需|无须|禁止|严禁",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SourceText:
    """A source as statements are held against it.

    Args:
        text: All that it says, table rows with their headers.
        heading: Document and heading path.
    """

    text: str
    heading: str = ""


class Support:
    """Grades how far sources support a statement.

    The grade is the share of the statement's content words that the source holds. A figure of the
    statement that the source lacks, or a negation on one side only, cuts it below what counts. A
    paraphrase, or a statement in another language, is judged by meaning as well, where a
    similarity is given; without one, a statement in another language rests on its figures.

    Args:
        similarity: Similarity in meaning of two texts, or an entailment model's probability.

    Example:
        >>> source = SourceText("Senior staff get 15 days of leave.", "Leave")
        >>> grade = Support().grade
        >>> grade("Seniors get 15 days.", [source]) >= SUPPORTED
        True
        >>> grade("Seniors get 20 days.", [source]) < SUPPORTED
        True
        >>> grade("Senior staff do not get 15 days of leave.", [source]) < SUPPORTED
        True
    """

    def __init__(self, similarity: Similarity | None = None) -> None:
        self._similarity = similarity

    def grade(self, statement: str, sources: Sequence[SourceText]) -> float:
        """Support of a statement by some sources together, in [0, 1]; 0 without sources."""
        if not sources:
            return 0.0
        text = "\n".join(source.text for source in sources)
        heading = " ".join(source.heading for source in sources)
        if is_cjk(statement) != is_cjk(text):
            grade = self._translated(statement, sources)
        else:
            grade = overlap(statement, text, heading)
            enough, alike = _PARAPHRASE
            if enough <= grade < SUPPORTED and self._alike(statement, sources) >= alike:
                grade = SUPPORTED
        if not figures(statement) <= figures(f"{text}\n{heading}"):
            grade *= 0.4
        if grade >= SUPPORTED and _contradicts(statement, text):
            grade *= 0.4
        return grade

    def _translated(self, statement: str, sources: Sequence[SourceText]) -> float:
        if self._similarity is None:
            return 0.6 if figures(statement) else SUPPORTED
        alike = self._alike(statement, sources)
        return min(1.0, SUPPORTED * alike / _TRANSLATED)

    def _alike(self, statement: str, sources: Sequence[SourceText]) -> float:
        if self._similarity is None:
            return 0.0
        parts = [part for source in sources for part in source.text.split("\n") if part.strip()]
        return max((self._similarity(statement, part) for part in parts[:40]), default=0.0)


def overlap(statement: str, text: str, heading: str = "") -> float:
    """Share of a statement's content words that a text or its heading holds.

    Example:
        >>> overlap("The pump is loud.", "A loud pump has air in the pipe.")
        1.0
    """
    wanted = content_words(_FIGURE.sub(" ", statement))
    if not wanted:
        return 1.0 if figures(statement) else SUPPORTED
    held = _held(text) | _held(heading)
    return sum(_stem(word) in held for word in wanted) / len(wanted)


def says_little(statement: str) -> bool:
    """Whether a statement has too little in it to be held against a source ("Yes.", "好的").

    Example:
        >>> says_little("Yes."), says_little("The pump is blue.")
        (True, False)
    """
    told = [word for word in words(statement, pairs=False) if word not in STOPWORDS]
    return len(told) < 2 and not figures(statement)


def figures(text: str) -> set[str]:
    """Numbers in a text, however they are written.

    Example:
        >>> sorted(figures("two pumps, 1,200.0 credits; 十五天"))
        ['1200', '15', '2']
    """
    text = unicodedata.normalize("NFKC", text).lower()
    found = set()
    for match in _FIGURE.findall(text):
        plain = match.replace(",", "").replace("，", "")
        whole, _, fraction = plain.partition(".")
        fraction = fraction.rstrip("0")
        whole = whole.lstrip("0") or "0"
        found.add(f"{whole}.{fraction}" if fraction else whole)
    for match in _CJK_FIGURE.findall(text):
        value = chinese_to_int(match)
        if value is not None:
            found.add(str(value))
    found.update(_SMALL[word] for word in re.findall(r"[a-z]+", text) if word in _SMALL)
    return found


@lru_cache(maxsize=512)
def _held(text: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in words(text))


def _stem(word: str) -> str:
    """English endings cut roughly: "drained" and "drains" meet, "carry" and "carried" do."""
    if not word.isascii() or len(word) < 5:
        return word
    for ending in ("ation", "ing", "ied", "ed", "es", "er", "ly", "y", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _contradicts(statement: str, text: str) -> bool:
    """Whether all sentences that say about the same differ from the statement in a negation."""
    said = _negated(statement)
    # Only a sentence that says about the same can deny it: overlap counts both ways.
    near = [
        one
        for one in sentences(text)
        if overlap(statement, one) >= 0.6 and overlap(one, statement) >= 0.6
    ]
    return bool(near) and all(_negated(one) != said for one in near)


def _negated(text: str) -> bool:
    return _NEGATION.search(_BOUND.sub("", text)) is not None
