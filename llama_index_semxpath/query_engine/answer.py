"""Answers made of the sources' own words: the best spans, each with its citation. No model."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from llama_index_semxpath.retrievers.words import content_words, is_cjk, sentences, words

#: Below this share of the question's weight, no span says enough to be an answer.
MIN_COVERAGE = 0.34
#: Similarity in meaning that answers a question asked in another language than the documents'.
MIN_MEANING = 0.35
#: What a heading's word counts against one in the text itself.
HEADING_SHARE = 0.6

_NUMBER_ASKED = re.compile(
    r"\bhow\s+(?:many|much|long|old|often|far|large|big)\b|\bwhat\s+(?:\w+\s+){0,3}"
    r"(?:number|amount|size|rate|ratio|price|cost|value|limit|maximum|minimum|percentage)\b"
    r"|多少|几(?:个|天|次|年|条|项|人)|多大|多久|多长",
    re.IGNORECASE,
)
_TIME_ASKED = re.compile(
    r"\bwhen\b|\bwhat\s+(?:time|date|year|day|month)\b|何时|什么时候|哪(?:年|天|月|一年)|时间|日期|几月",
    re.IGNORECASE,
)
_COMPARING = re.compile(
    r"\b(?:compar\w*|differ\w*|between|versus|vs|contrast|same|similar\w*)\b|比较|对比|区别|差别|不同|相比",
    re.IGNORECASE,
)
_HAS_NUMBER = re.compile(r"\d|[一二三四五六七八九十百千万]+\s*(?:天|个|次|年|元|日|月|条|人|%)")
_HAS_TIME = re.compile(
    r"\b(?:19|20)\d\d\b|\d{1,2}:\d\d|\d+\s*(?:年|月|日|点)"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a source that an answer may quote.

    Args:
        source: 0-based place of the source that a citation leads to.
        text: Own text of the piece.
        kind: Kind of the node.
        path: Titles of the enclosing sections, outermost first.
        score: Retrieval score in [0, 1].
        columns: Header cells, for a table row.
        cells: Cells of a table row as text, in the order of ``columns``.
        exact: Whether the question named this very place, so that no overlap of words is needed.
        meaning: Similarity in meaning to the question, in [0, 1]; 0 where it was not asked.
    """

    source: int
    text: str
    kind: str = "Paragraph"
    path: tuple[str, ...] = ()
    score: float = 0.0
    columns: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    exact: bool = False
    meaning: float = 0.0


@dataclass(slots=True)
class Extract:
    """An extractive answer.

    Args:
        text: The answer; citations are ``[n]``, numbered from 1 by first use.
        cited: Number of a citation to the 0-based place of its source.
        found: Whether the documents hold an answer.
        confidence: Share of the question's weight that the answer covers, in [0, 1].
    """

    text: str
    cited: dict[int, int] = field(default_factory=dict)
    found: bool = True
    confidence: float = 0.0


@dataclass(slots=True)
class _Span:
    passage: Passage
    text: str
    place: int
    covers: frozenset[str]
    score: float = 0.0


def not_found(question: str) -> str:
    """What is said when the documents hold no answer, in the question's language.

    Example:
        >>> not_found("年假几天")
        '文档中没有找到相关内容。'
    """
    return "文档中没有找到相关内容。" if is_cjk(question) else "This is not in the documents."


def extract_answer(
    question: str,
    passages: Sequence[Passage],
    *,
    limit: int = 4,
    characters: int = 1200,
    comparison: bool = False,
) -> Extract:
    """Picks the spans that say most of what the question asks.

    A span is a sentence, a list item, a table row or a code block. Its score is the share of the
    question's words it holds, each word weighted by its rarity among the spans and a word
    of its headings counting less, plus the retrieval score, plus a little where a number or a
    time is asked and the span has one. Spans are taken greedily, each judged by what it adds
    (maximal marginal relevance, Carbonell and Goldstein, SIGIR 1998).

    Args:
        question: What is asked.
        passages: Pieces of the sources, best first.
        limit: Most spans in the answer, 1 or more.
        characters: Most characters in the answer, over and above the first span.
        comparison: Set side by side what is compared: of a table the rows that the question
            names, of several places what each says.

    Returns:
        The answer with its citations; ``found`` is false when no span covers enough of it.

    Example:
        >>> facts = [Passage(0, "Staff get 15 days of annual leave. The office is in Berlin.")]
        >>> extract_answer("How many days of annual leave?", facts).text
        'Staff get 15 days of annual leave. [1]'
        >>> extract_answer("Who is the king of France?", facts).found
        False
    """
    told = [passage for passage in passages if passage.kind not in ("Section", "Document")]
    spans = [span for passage in told or passages for span in _spans(question, passage)]
    wanted = content_words(_COMPARING.sub(" ", question) if comparison else question)
    if any(span.passage.exact for span in spans):
        return _render(question, _in_order_of_place(spans, characters), 1.0)
    weights = _weights(wanted, spans)
    total = sum(weights.values())
    if not spans or not total:
        return Extract(not_found(question), found=False)
    for span in spans:
        span.score = _score(question, span, weights, total)
    best = max(_coverage(span, weights) / total for span in spans)
    if best < MIN_COVERAGE:
        near = _other_language(question, spans)
        if near:
            return _render(question, near, near[0].passage.meaning)
        return Extract(not_found(question), found=False, confidence=round(best, 3))
    chosen = _choose(spans, weights, total, limit, characters)
    if comparison:
        chosen = _named_rows(question, spans, chosen)
    covered = frozenset().union(*(_all_words(span) for span in chosen))
    share = sum(weights[word] for word in wanted if word in covered) / total
    return _render(question, chosen, min(1.0, share), side_by_side=comparison)


def _spans(question: str, passage: Passage) -> Iterable[_Span]:
    whole = passage.kind in ("Row", "Code", "Table", "Formula") or passage.cells
    texts = [passage.text] if whole else sentences(passage.text)
    asked = set(content_words(question))
    for place, text in enumerate(texts):
        body = text if not passage.columns else f"{' '.join(passage.columns)} {text}"
        yield _Span(passage, text, place, frozenset(asked & set(words(body))))


def _other_language(question: str, spans: Sequence[_Span]) -> list[_Span]:
    """Spans nearest in meaning, where question and documents share no words to go by."""
    foreign = [
        span
        for span in spans
        if span.passage.meaning >= MIN_MEANING and is_cjk(span.text) != is_cjk(question)
    ]
    best = max((span.passage.meaning for span in foreign), default=0.0)
    return [span for span in foreign if span.passage.meaning >= 0.9 * best][:2]


def _weights(wanted: Sequence[str], spans: Sequence[_Span]) -> dict[str, float]:
    """Rarity of each word of the question among the spans, bounded where there are few of them."""
    counts = Counter(word for span in spans for word in _all_words(span))
    return {word: math.log(1.0 + (len(spans) + 1) / (counts[word] + 1)) for word in wanted}


def _all_words(span: _Span) -> frozenset[str]:
    return span.covers | frozenset(word for title in span.passage.path for word in words(title))


def _coverage(span: _Span, weights: dict[str, float]) -> float:
    heading = {word for title in span.passage.path for word in words(title)}
    return sum(
        weight * (1.0 if word in span.covers else HEADING_SHARE)
        for word, weight in weights.items()
        if word in span.covers or word in heading
    )


def _score(question: str, span: _Span, weights: dict[str, float], total: float) -> float:
    score = _coverage(span, weights) / total + 0.3 * span.passage.score
    if _NUMBER_ASKED.search(question) and _HAS_NUMBER.search(span.text):
        score += 0.12
    if _TIME_ASKED.search(question) and _HAS_TIME.search(span.text):
        score += 0.12
    # A heading or a fragment such as "Note:" answers nothing by itself.
    return score - (0.3 if len(span.text) < 12 or span.text.endswith((":", "：")) else 0.0)


def _choose(
    spans: Sequence[_Span], weights: dict[str, float], total: float, limit: int, characters: int
) -> list[_Span]:
    chosen: list[_Span] = []
    said: set[str] = set()
    length = 0
    rest = list(spans)
    top = max(span.score for span in rest)
    while rest and len(chosen) < limit:
        best = max(rest, key=lambda span: _marginal(span, said, weights, total))
        gain = _marginal(best, said, weights, total)
        if chosen and (gain < 0.55 * top or length + len(best.text) > characters):
            break
        chosen.append(best)
        said |= best.covers
        length += len(best.text)
        texts = {span.text for span in chosen}
        rest = [span for span in rest if span.text not in texts]
    return chosen


def _marginal(span: _Span, said: set[str], weights: dict[str, float], total: float) -> float:
    repeated = sum(weights[word] for word in span.covers & said) / total
    return span.score - 0.6 * repeated


def _in_order_of_place(spans: Sequence[_Span], characters: int) -> list[_Span]:
    chosen: list[_Span] = []
    length = 0
    for span in spans:
        if not span.passage.exact:
            continue
        if chosen and length + len(span.text) > characters:
            break
        chosen.append(span)
        length += len(span.text)
    return chosen


def _render(
    question: str, chosen: Sequence[_Span], confidence: float, *, side_by_side: bool = False
) -> Extract:
    """Spans of one source together, in document order; rows of one table as one table."""
    numbers: dict[int, int] = {}
    order = {span.passage.source: -place for place, span in reversed(list(enumerate(chosen)))}
    lines: list[str] = []
    for source in sorted(order, key=lambda one: -order[one]):
        numbers[source] = len(numbers) + 1
        mine = [span for span in chosen if span.passage.source == source]
        if any(not span.passage.exact for span in mine):
            mine.sort(key=lambda span: span.place)
        lines.extend(_blocks(question, mine, numbers[source]))
    prose = not any(span.passage.cells or span.passage.kind == "Code" for span in chosen)
    if side_by_side and prose and len(numbers) > 1:
        lines = [_places_table(question, chosen, numbers)]
    return Extract(
        "\n\n".join(lines),
        {number: source for source, number in numbers.items()},
        True,
        round(confidence, 3),
    )


def _blocks(question: str, spans: Sequence[_Span], number: int) -> list[str]:
    prose = [span for span in spans if not span.passage.cells and span.passage.kind != "Code"]
    blocks: list[str] = []
    if prose:
        blank = "" if is_cjk(question) and all(is_cjk(span.text) for span in prose) else " "
        blocks.append(f"{blank.join(span.text for span in prose)} [{number}]")
    tables: dict[tuple[str, ...], list[Passage]] = {}
    for span in spans:
        if span.passage.cells:
            tables.setdefault(span.passage.columns, []).append(span.passage)
        elif span.passage.kind == "Code":
            blocks.append(f"```\n{span.text.rstrip()}\n```\n[{number}]")
    blocks.extend(f"{_table(columns, rows)}\n[{number}]" for columns, rows in tables.items())
    return blocks


def _named_rows(question: str, spans: Sequence[_Span], chosen: Sequence[_Span]) -> list[_Span]:
    """What was chosen, with a table cut to the rows that the question names, all of them."""
    said = question.lower()

    def is_named(span: _Span) -> bool:
        cells = [cell.strip().lower() for cell in span.passage.cells]
        return any(len(cell) > 1 and not cell.isdigit() and cell in said for cell in cells)

    kept = list(chosen)
    for columns in dict.fromkeys(span.passage.columns for span in chosen if span.passage.cells):
        of_it = [span for span in spans if span.passage.cells and span.passage.columns == columns]
        named = [span for span in of_it if is_named(span)]
        if len(named) < 2:
            continue
        place = next(at for at, one in enumerate(kept) if one.passage.columns == columns)
        others = [one for one in kept if not (one.passage.cells and one.passage.columns == columns)]
        kept = [*others[:place], *named, *others[place:]]
    return kept


def _places_table(question: str, chosen: Sequence[_Span], numbers: dict[int, int]) -> str:
    """What each of several places says, one line a place."""
    head = ("出处", "内容") if is_cjk(question) else ("Place", "What it says")
    rows = []
    for source, number in numbers.items():
        mine = sorted((s for s in chosen if s.passage.source == source), key=lambda s: s.place)
        path = mine[0].passage.path
        told = " ".join(span.text for span in mine)
        cells = (" › ".join(path[-2:]), f"{told} [{number}]")
        rows.append(Passage(source, "", cells=cells))
    return _table(head, rows)


def _table(columns: tuple[str, ...], rows: Sequence[Passage]) -> str:
    def line(cells: Iterable[str]) -> str:
        return (
            "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
        )

    head = [line(columns), "| " + " | ".join("---" for _ in columns) + " |"] if columns else []
    return "\n".join([*head, *(line(row.cells) for row in rows)])
