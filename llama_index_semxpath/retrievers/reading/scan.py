"""From a question to marks: each word told apart by what it does in the question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from llama_index_semxpath.retrievers.reading import lexicon
from llama_index_semxpath.retrievers.reading.bounds import Bound, chinese_number, find_bounds
from llama_index_semxpath.retrievers.reading.vocabulary import Vocabulary, fold, spoken
from llama_index_semxpath.retrievers.words import words as search_words
from llama_index_semxpath.xpath import ast

MarkType = Literal[
    "kind", "thing", "value", "field", "bound", "position", "number", "every", "not", "except",
    "have", "in", "before", "after", "between", "count", "wh", "and", "or", "stop", "word",
]  # fmt: skip

_TOKEN = re.compile(
    r"[A-Za-z][A-Za-z'’]*|\d+(?:,\d{3})*(?:\.\d+)?(?:st|nd|rd|th)?|[\u3400-\u9fff]|[^\s\w]|_"
)
_STOPS = frozenset(",.;:?!，。；：？！、")
_LONGEST = 14
#: Words that stand between a Chinese number and what is counted.
_MEASURES = "个條条項项份家名位"
#: What a person says for a state, beside the words that the records use.
_STATES = (
    ("done", "finished", "completed", "complete", "closed", "完成", "已完成", "做完"),
    ("todo", "to do", "open", "pending", "not started", "待办", "未开始"),
    ("in progress", "ongoing", "doing", "started", "underway", "进行中"),
    ("high", "urgent", "高"),
)
#: Kinds of documents as people call them.
_DOCUMENT_WORDS = {
    "Section": ("section", "chapter", "章节"),
    "Paragraph": ("paragraph", "段落"),
    "Table": ("table", "表格", "表"),
    "Row": ("row", "行"),
    "Code": ("code", "code block", "code example", "snippet", "代码", "代码块"),
    "Figure": ("figure", "image", "picture", "图片"),
    "List": ("bullet list", "列表"),
    "ListItem": ("list item", "bullet", "列表项"),
    "Quote": ("quote", "引文"),
}


@dataclass(frozen=True, slots=True)
class Mark:
    """A word or phrase of the question and what it does.

    Args:
        type: What it does.
        payload: A kind, the values, a field name, a bound, a position, a number, or the word.
        start: Where it begins in the question.
        end: Where it ends.
    """

    type: MarkType
    payload: Any
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    end: int


Phrases = Mapping[tuple[str, ...], tuple[MarkType, Any]]


class Scanner:
    """Marks questions about one tree.

    Args:
        vocabulary: Names of the tree.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    @cached_property
    def _phrases(self) -> Phrases:
        return phrase_table(self.vocabulary)

    def marks(self, question: str) -> list[Mark]:
        """Marks of a question, fillers left out.

        Args:
            question: What is asked, or a part of it.
        """
        return scan(question, self.vocabulary, self._phrases)


def scan(question: str, vocabulary: Vocabulary, phrases: Phrases) -> list[Mark]:
    """Marks of a question, fillers left out.

    Args:
        question: What is asked.
        vocabulary: Names of the tree that is asked.
        phrases: What :func:`phrase_table` made of it.
    """
    marks: list[Mark] = []
    bounds = {bound.start: bound for bound in find_bounds(question)}
    tokens = [_Token(match.group(), *match.span()) for match in _TOKEN.finditer(question)]
    # “Show …” at the beginning is an order, whatever kinds there are.
    place = 1 if len(tokens) > 1 and tokens[0].text.lower() in lexicon.ORDERS else 0
    while place < len(tokens):
        mark, used = _next(tokens, place, bounds, phrases)
        if mark is not None:
            marks.append(mark)
        place += used
    marks = _counts(marks, question)
    return _join_words(_values_in_phrases(marks, question), question)


def phrase_table(vocabulary: Vocabulary) -> Phrases:
    """Every phrase that means something in one tree, by its words; names of the tree come first."""
    table: dict[tuple[str, ...], tuple[MarkType, Any]] = {}

    def add(phrase: str, type_: MarkType, payload: Any) -> None:
        key = _key(phrase)
        if key and len(key) <= _LONGEST:
            table.setdefault(key, (type_, payload))

    for kind in vocabulary.record_kinds:
        add(spoken(kind), "kind", kind)
    for kind in vocabulary.record_kinds if vocabulary.only_records else ():
        # Beside documents a word such as 天 is more often a word of theirs.
        for said in _also_called(spoken(kind)):
            add(said, "kind", kind)
    for folded, values in vocabulary.values.items():
        if folded not in lexicon.FILLER and folded not in lexicon.EVERY:
            add(folded, "value", values)
    for state in _STATES:
        for phrase in state:
            known = next(
                (vocabulary.values[word] for word in state if word in vocabulary.values), None
            )
            if known is not None:
                add(phrase, "value", known)
    for name in vocabulary.fields:
        add(spoken(name), "field", name)
    for name in vocabulary.fields:
        for other in _also_called(spoken(name)):
            add(other, "field", name)
    for kind, phrases in _DOCUMENT_WORDS.items():
        for phrase in phrases:
            if kind in vocabulary.kinds:
                add(phrase, "kind", kind)
    if vocabulary.items:
        for phrase in (*lexicon.THINGS, *lexicon.ZH_THINGS):
            add(phrase, "thing", "*")
    _closed_classes(add)
    return table


def _also_called(name: str) -> tuple[str, ...]:
    """Other words for a kind or field, in English and Chinese."""
    return next((group for group in lexicon.ALSO_CALLED if name in group), ())


def _closed_classes(add: Any) -> None:
    groups: tuple[tuple[Iterable[str], MarkType], ...] = (
        (lexicon.EXCEPT, "except"),
        (("除了", "除"), "except"),
        (lexicon.BEFORE, "before"),
        (("紧接着之前", "之前", "前面"), "before"),
        (lexicon.AFTER, "after"),
        (("之后", "后面"), "after"),
        (lexicon.BETWEEN, "between"),
        (lexicon.EVERY, "every"),
        (lexicon.ZH_EVERY, "every"),
        (lexicon.NEGATIONS, "not"),
        (lexicon.ZH_NOT, "not"),
        (lexicon.HAVE, "have"),
        (("包含", "包括", "含有"), "have"),
        (lexicon.INSIDE, "in"),
        (lexicon.WH, "wh"),
        (("and", "和", "以及", "与"), "and"),
        (("or", "或", "或者"), "or"),
    )
    for phrases, type_ in groups:
        for phrase in phrases:
            add(phrase, type_, phrase)
    for phrase in (*lexicon.FILLER, *lexicon.WHOLE, *lexicon.ZH_FILLER):
        add(phrase, "word", None)


def _next(
    tokens: Sequence[_Token], place: int, bounds: Mapping[int, Bound], phrases: Phrases
) -> tuple[Mark | None, int]:
    """The mark that begins at a token (``None`` for a filler), and how many tokens it takes."""
    token = tokens[place]
    if token.start in bounds:
        bound = bounds[token.start]
        used = sum(1 for other in tokens[place:] if other.start < bound.end)
        return Mark("bound", bound, bound.start, bound.end), used
    quantity = _quantity(tokens, place)
    if quantity is not None:
        payload, used = quantity
        return Mark("count", payload, token.start, tokens[place + used - 1].end), used
    position = _position(tokens, place)
    if position is not None:
        where, used = position
        return Mark("position", where, token.start, tokens[place + used - 1].end), used
    for size in range(min(_LONGEST, len(tokens) - place), 0, -1):
        key = tuple(_fold(other.text) for other in tokens[place : place + size])
        found = phrases.get(key)
        if found is not None:
            type_, payload = found
            end = tokens[place + size - 1].end
            filler = type_ == "word" and payload is None
            return (None if filler else Mark(type_, payload, token.start, end)), size
    if token.text in _STOPS:
        return Mark("stop", token.text, token.start, token.end), 1
    if token.text[0].isdigit():
        digits = re.sub(r"[^\d.]", "", token.text)
        return Mark("number", float(digits or 0), token.start, token.end), 1
    if not (token.text[0].isalnum()):
        return None, 1
    return Mark("word", token.text, token.start, token.end), 1


def _quantity(tokens: Sequence[_Token], place: int) -> tuple[tuple[str, int], int] | None:
    """“more than two”, “至少三” as a comparison, and how many tokens it takes."""
    words = [token.text.lower() for token in tokens[place : place + 4]]
    for phrases, op in lexicon.QUANTITIES:
        for phrase in phrases:
            said = phrase.split() if phrase.isascii() else list(phrase)
            if words[: len(said)] != said:
                continue
            count, more = _count(tokens, place + len(said))
            if more and (count or tokens[place + len(said)].text == "0"):
                return (op, count), len(said) + more
    return None


def _counts(marks: Sequence[Mark], question: str) -> list[Mark]:
    """A bound that stands before a kind says how many of it (“at least 2 done tasks”)."""
    found = list(marks)
    for at, mark in enumerate(found):
        if mark.type not in ("bound", "count"):
            continue
        after = at + 1
        while after < len(found) and found[after].type == "value":
            after += 1
        counts = after < len(found) and found[after].type in ("kind", "thing")
        if counts:
            # “超过10万的合同” is a bound on a value, “超过三个合同” a number of contracts.
            gap = question[mark.end : found[at + 1].start].strip()
            counts = not gap.strip(_MEASURES)
        if mark.type == "bound" and counts and isinstance(mark.payload.value, int):
            found[at] = Mark("count", (mark.payload.op, mark.payload.value), mark.start, mark.end)
        elif mark.type == "count" and not counts:
            found[at] = Mark("word", None, mark.start, mark.end)
    return [mark for mark in found if mark.type != "word" or mark.payload is not None]


def _position(tokens: Sequence[_Token], place: int) -> tuple[ast.Filter, int] | None:
    """“first”, “3rd”, “last two”, “第三”, “前两” as a filter, and how many tokens it takes."""
    for said, count in lexicon.FROM_END.items():
        if tuple(token.text.lower() for token in tokens[place : place + len(said)]) == said:
            return ast.Index(-count), len(said) + _measure(tokens, place + len(said))
    word = tokens[place].text.lower()
    after = tokens[place + 1].text.lower() if place + 1 < len(tokens) else ""
    if word in ("last", "final") or word + after == "最后":
        used = 2 if word == "最" else 1
        count, more = _count(tokens, place + used)
        wanted: ast.Filter = ast.Index(-1) if count <= 1 else ast.Slice(-count, None)
        return wanted, used + more
    if word == "前":
        count, more = _count(tokens, place + 1)
        return (ast.Slice(None, count), 1 + more) if count else None
    if word == "第":
        count, more = _count(tokens, place + 1)
        return (ast.Index(count), 1 + more) if count else None
    ordinal = lexicon.ORDINALS.get(word)
    if ordinal is None and re.fullmatch(r"\d{1,4}(?:st|nd|rd|th)", word):
        ordinal = int(word[:-2])
    if ordinal is None:
        return None
    count, more = _count(tokens, place + 1) if ordinal == 1 else (0, 0)
    return (ast.Slice(None, count), 1 + more) if count > 1 else (ast.Index(ordinal), 1)


def _count(tokens: Sequence[_Token], place: int) -> tuple[int, int]:
    """A whole number at a token, 0 when there is none, and how many tokens it takes."""
    word = tokens[place].text.lower() if place < len(tokens) else ""
    if word in lexicon.CARDINALS:
        return lexicon.CARDINALS[word], 1
    if word.isascii() and word.isdigit() and len(word) <= 6:
        return int(word), 1 + _measure(tokens, place + 1)
    run = ""
    while place + len(run) < len(tokens) and len(run) < 6:
        char = tokens[place + len(run)].text
        if char not in "零一二三四五六七八九十百千两" or not char:
            break
        run += char
    count = chinese_number(run) if run else None
    return (count, len(run) + _measure(tokens, place + len(run))) if count else (0, 0)


def _measure(tokens: Sequence[_Token], place: int) -> int:
    """Chinese measure words stand between number and noun and mean nothing here."""
    return int(place < len(tokens) and tokens[place].text in "个條条项項份")


def _values_in_phrases(marks: Sequence[Mark], question: str) -> list[Mark]:
    """A value that is part of a longer English phrase (“waterfront walk”) is a word of it."""

    def touches(one: Mark, two: Mark) -> bool:
        return two.type == "word" and question[one.end : two.start].strip() == ""

    kept = list(marks)
    for at, mark in enumerate(marks):
        said = question[mark.start : mark.end]
        if mark.type != "value" or not said.isascii() or " " in said:
            continue
        if at > 0 and marks[at - 1].type == "not":
            continue
        left = (
            at > 0
            and marks[at - 1].type == "word"
            and question[marks[at - 1].end : mark.start].isspace()
        )
        right = at + 1 < len(marks) and touches(mark, marks[at + 1])
        if left or right:
            kept[at] = Mark("word", said, mark.start, mark.end)
    return kept


def _join_words(marks: Sequence[Mark], question: str) -> list[Mark]:
    """Single Chinese characters that no phrase took become one word again."""
    joined: list[Mark] = []
    for mark in marks:
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.type == mark.type == "word"
            and last.end == mark.start
            and not mark.payload.isascii()
            and not last.payload.isascii()
        ):
            joined[-1] = Mark("word", last.payload + mark.payload, last.start, mark.end)
        else:
            joined.append(mark)
    return joined


def _key(phrase: str) -> tuple[str, ...]:
    return tuple(
        _fold(match.group()) for match in _TOKEN.finditer(fold(phrase)) if match.group() not in "-_"
    )


def _fold(token: str) -> str:
    word = token.casefold()
    if word.isascii() and word.isalpha():
        stems = search_words(word)
        return stems[0] if stems else word
    return word
