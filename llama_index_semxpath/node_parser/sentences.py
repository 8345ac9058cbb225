"""Cuts long text where its meaning pauses: sentences, then clauses, words and, last, characters.

Sentence ends are found by rule, in one pass: terminal marks of English and Chinese with the quotes
and brackets that close after them, except after abbreviations, initials, decimals and list numbers
(the error classes that Kiss and Strunk, "Unsupervised Multilingual Sentence Boundary Detection",
2006, name as the hard ones). Pieces are then packed evenly below a token limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain

#: Counts the tokens of a text.
Counter = Callable[[str], int]
#: Offsets in a text where it may be cut, ascending, without 0 and its length.
Cutter = Callable[[str], Iterator[int]]

_CLOSERS = "\"'”’»›)\\]}）】」』》〉〕］"
_END = re.compile(rf"([.!?]+|[。！？｡…；]+[!?]*)[{_CLOSERS}]*")
_CLAUSE = re.compile(rf"(?:[,;:](?=\s)|[，、：—]+|\s[-–—](?=\s))[{_CLOSERS}]*")
_WORD_GAP = re.compile(r"\s+")
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
# Never the end of a sentence.
_NAMES = (
    "mr mrs ms dr prof rev hon gen col lt sgt capt st mt vs cf e.g i.e viz approx ca ed eds al "
    "resp incl excl dept tel"
)
_TITLES = frozenset(_NAMES.split())
_NUMBERED_NAMES = "fig figs eq eqs sec secs ch chap vol vols no nos art arts p pp para"
# Never the end of a sentence before a number: "No. 5", but "He said no."
_NUMBERED = frozenset(_NUMBERED_NAMES.split())
_TOKEN_BEFORE = re.compile(r"[^\s(\[{\"'“‘（]*$")
# Characters for each token of the limit in a first cut of a text without any gap.
_CHARACTERS = 8
_LONGEST_ABBREVIATION = 12
_LIST_NUMBER = re.compile(r"\d{1,3}|[A-Za-z]|[ivxIVX]{1,5}")


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, white space around them removed.

    Args:
        text: One paragraph.

    Example:
        >>> split_sentences("Dr. Lee paid 3.5 credits. “Why?” Nobody knew.")
        ['Dr. Lee paid 3.5 credits.', '“Why?”', 'Nobody knew.']
        >>> split_sentences("他说：“走吧。”大家都走了！")
        ['他说：“走吧。”', '大家都走了！']
    """
    return [
        piece
        for start, end in _spans(text, sentence_ends(text))
        if (piece := text[start:end].strip())
    ]


def sentence_ends(text: str) -> Iterator[int]:
    """Offsets right after each sentence but the last."""
    start, length = 0, len(text)
    for match in _END.finditer(text):
        end = match.end()
        if end >= length:
            return
        if match[1][0] in ".!?" and not _ends_sentence(text, start, match):
            continue
        yield end
        start = end


def _ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether an ASCII mark ends the sentence that began at ``start``."""
    end = match.end()
    following = text[end]
    if not following.isspace():
        # A full-width neighbour needs no space: "Version 2.好的".
        return match[1][0] in "!?" and bool(_WIDE.match(following))
    if match[1] != ".":
        return not _next_is_lower(text, end)
    low = max(start, match.start() - _LONGEST_ABBREVIATION)
    found = _TOKEN_BEFORE.search(text, low, match.start())
    word = found[0] if found else ""
    if word.lower() in _TITLES or (len(word) == 1 and word.isupper()):
        return False
    if word.lower() in _NUMBERED and text[end : end + 8].lstrip()[:1].isdigit():
        return False
    if _LIST_NUMBER.fullmatch(word) and not text[start : match.start() - len(word)].strip():
        return False
    return not _next_is_lower(text, end)


def _next_is_lower(text: str, place: int) -> bool:
    while place < len(text) and not text[place].isalnum():
        if text[place] == "\n":
            return False
        place += 1
    return place < len(text) and text[place].islower()


def line_ends(text: str) -> Iterator[int]:
    """Offsets right after each line break."""
    return (match.end() for match in re.finditer("\n", text))


def blank_line_ends(text: str) -> Iterator[int]:
    """Offsets right after each run of blank lines."""
    return (match.end() for match in re.finditer(r"\n[ \t]*(?:\n[ \t]*)*\n", text))


def clause_ends(text: str) -> Iterator[int]:
    """Offsets right after each clause."""
    return (match.end() for match in _CLAUSE.finditer(text))


def word_ends(text: str) -> Iterator[int]:
    """Offsets where white space begins, and between words where a script writes no space."""
    for match in re.finditer(r"\S+", text):
        yield from _ends_in_word(match[0], match.start())
        yield match.end()


def _ends_in_word(word: str, offset: int) -> Iterator[int]:
    if len(word) < 2 or not _WIDE.search(word):
        return
    import rjieba

    for piece in rjieba.cut(word):
        offset += len(piece)
        yield offset


def character_ends(text: str) -> Iterator[int]:
    """Every offset: for a "word" that alone is over the limit, such as base64."""
    return iter(range(1, len(text)))


#: Where prose may be cut, best first.
PROSE: tuple[Cutter, ...] = (line_ends, sentence_ends, clause_ends, word_ends, character_ends)
#: Where code may be cut, best first; never inside a line.
LINES: tuple[Cutter, ...] = (blank_line_ends, line_ends)


def split_text(
    text: str, limit: int, count: Counter, cutters: tuple[Cutter, ...] = PROSE
) -> list[tuple[int, int]]:
    """Ranges of the text, each at most ``limit`` tokens and about equally long.

    A piece is only over the limit where the last cutter cannot cut it. Time is linear.

    Args:
        text: What to cut.
        limit: Most tokens of a piece, 1 and up.
        count: Counts tokens.
        cutters: Where a cut may be, best first; a worse one is asked only inside a piece that the
            better ones leave too long.

    Returns:
        Adjoining ``(start, end)`` ranges that cover the text.

    Example:
        >>> text = "One two. Three four. Five six."
        >>> [text[a:b] for a, b in split_text(text, 4, lambda t: len(t.split()))]
        ['One two. Three four.', ' Five six.']
    """
    total = count(text)
    if total <= limit:
        return [(0, len(text))]
    atoms = _atoms(text, 0, limit, count, cutters)
    return list(_pack(atoms, limit, total))


def _atoms(
    text: str, offset: int, limit: int, count: Counter, cutters: tuple[Cutter, ...]
) -> Iterator[tuple[int, int, int]]:
    """Ranges with their tokens, each within the limit as far as the cutters go."""
    if cutters == (character_ends,):
        yield from _even_cuts(text, offset, limit, count)
        return
    for start, end in _spans(text, cutters[0](text)):
        piece = text[start:end]
        tokens = count(piece)
        if tokens <= limit or len(cutters) == 1:
            yield offset + start, offset + end, tokens
        else:
            yield from _atoms(piece, offset + start, limit, count, cutters[1:])


def _even_cuts(
    text: str, offset: int, limit: int, count: Counter
) -> Iterator[tuple[int, int, int]]:
    """Halves of a text, halved again until each is within the limit.

    Long texts are cut to a few limits first: counting a word costs more than its length.
    """
    step = max(1, _CHARACTERS * limit)
    todo = [(at, min(at + step, len(text))) for at in range(0, len(text), step)][::-1]
    while todo:
        start, end = todo.pop()
        tokens = count(text[start:end])
        if tokens <= limit or end - start == 1:
            yield offset + start, offset + end, tokens
        else:
            middle = (start + end) // 2
            todo += [(middle, end), (start, middle)]


def _pack(
    atoms: Iterator[tuple[int, int, int]], limit: int, total: int
) -> Iterator[tuple[int, int]]:
    """Joins neighbours up to an even share of the whole, and never beyond the limit."""
    share = total / -(-total // limit)
    begin, stop, size = 0, 0, 0
    for start, end, tokens in atoms:
        if size and (size + tokens > limit or size >= share):
            yield begin, start
            begin, size = start, 0
        stop, size = end, size + tokens
    if size:
        yield begin, stop


def _spans(text: str, ends: Iterator[int]) -> Iterator[tuple[int, int]]:
    start = 0
    for end in chain(ends, (len(text),)):
        if end > start:
            yield start, end
            start = end


def glue(before: str, after: str) -> str:
    """What stood between two pieces of one paragraph: nothing between full-width characters.

    Example:
        >>> glue("一。", "二"), glue("One.", "Two.")
        ('', ' ')
    """
    wide = before and after and _WIDE.match(before[-1]) and _WIDE.match(after[0])
    return "" if wide else " "
