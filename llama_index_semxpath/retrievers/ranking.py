"""Ranking of packs: which documents first, then which places in them.

A question names its document with some words and the place in it with others. Words that stand
all over a document do not tell its places apart, so a place is weighed twice: against all
candidates and against its own document, by BM25 with the rarity of each word there (Robertson and
Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009). Documents are chosen to
cover the question's words: a comparison of two companies needs both, though one may score better
everywhere. Within a chosen document the words that name the chosen ones count little, a place that
holds the kind of thing that is asked for (a date, a number) counts a little more, and so does one
that is near in meaning.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from llama_index_semxpath.retrievers.packs import DocumentPacks, Pack

_K1, _B = 1.2, 0.75
#: A further document is chosen when it adds this share of the question's weight.
_ADDS = 0.1
_MOST_DOCUMENTS = 6
#: What a rare word is worth that does not recur.
_SAID_ONCE = 0.2
#: The documents of so many best places are chosen, whatever words they lack.
_BEST_PLACES = 3
#: Share of the best one's gain from which a document holds the question's words as well.
_ALIKE = 0.95
#: What standing in a chosen document is worth; above what any place can score by itself.
_CHOSEN = 3.0
#: A word that stands in more of a chosen document's packs names the document, not a place in it,
#: and is worth this share within the chosen documents.
_NAMES, _NAME_SHARE = 0.5, 0.05
#: What a date, a number, nearness in meaning are worth to a place, against 1 for its words.
_DATED, _COUNTED, _MEANT = 0.2, 0.15, 0.7

_DATE_ASKED = re.compile(
    r"\bwhen\b|\bwhat\s+(?:time|date|year|month|day)\b|\bdates?\b|\bearlier\b|\blater\b"
    r"|何时|什么时候|时间|日期|哪年|哪天|几月|更早|更晚|最早|最晚",
    re.IGNORECASE,
)
_NUMBER_ASKED = re.compile(
    r"\bhow\s+(?:many|much|long|old|large|far|often)\b|\bamount\b|\bnumber\s+of\b|\bpercentage\b"
    r"|\btotal\b|\blonger\b|\bhigher\b|\blarger\b"
    r"|多少|几|金额|数额|比例|总额|多大|多长|更长|更高|更多|更大",
    re.IGNORECASE,
)

#: What a title is worth that says just what is asked.
_TITLED = 2.0

#: Nearness in meaning to the question, in [0, 1], by node id, for nodes of some documents.
Nearness = Callable[[Sequence[str]], Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A pack with its score.

    Args:
        document: The document it stands in.
        place: Its place among the packs of the document.
        score: In [0, 1], 1 for the best.
    """

    document: DocumentPacks
    place: int
    score: float

    @property
    def pack(self) -> Pack:
        """The pack."""
        return self.document.packs[self.place]

    def holds(self, word: str) -> bool:
        """Whether the pack or its document's head holds a search word."""
        if word in self.document.head:
            return True
        return any(place == self.place for place, _ in self.document.postings.get(word, ()))


def rank_packs(
    asked: Sequence[str],
    documents: Sequence[DocumentPacks],
    *,
    question: str = "",
    nearness: Nearness | None = None,
    titled: Mapping[str, float] | None = None,
) -> list[Ranked]:
    """Packs of some candidate documents, best first.

    Args:
        asked: Search words of the question, each once.
        documents: The candidates, the likeliest first.
        question: The question itself, for the kind of thing it asks for.
        nearness: Tells what is near in meaning; asked for the chosen documents only.
        titled: How far the titles of sections say what is asked, in [0, 1], by order key.

    Returns:
        All packs that share a word with the question or stand in a chosen document.
    """
    documents = [document for document in documents if document.packs]
    if not documents or not asked:
        return []
    overall = _overall(asked, documents)
    whole = _documents(asked, documents, overall)
    # A document may hold all the words by chance: the likeliest candidate and those of the best
    # places are heard as well.
    chosen = {*_cover(asked, documents, whole), 0, *_of_best(overall)}
    titled = titled or {}
    if titled:
        chosen |= {
            place
            for place, one in enumerate(documents)
            if any(pack.section in titled for pack in one.packs)
        }
    names = {word for place in chosen for word in asked if _names(word, documents[place])}
    near = nearness([documents[place].id for place in sorted(chosen)]) if nearness else {}
    dated = _DATED if _DATE_ASKED.search(question) else 0.0
    counted = _COUNTED if _NUMBER_ASKED.search(question) else 0.0
    rarity = _rarity(asked, documents)
    found: list[tuple[float, int, int]] = []
    for at, document in enumerate(documents):
        if at in chosen:
            among = _among_all(asked, document, rarity, names)
            within = _within(asked, document, names)
            meant = _meant(document, near)
        else:
            among = overall[at]
            within = _within([w for w in asked if w not in document.head] or asked, document, ())
            meant = {}
        base = whole[at] + (_CHOSEN if at in chosen else 0.0)
        for place, pack in enumerate(document.packs):
            if at not in chosen and not among.get(place):
                continue
            score = base + among.get(place, 0.0) + within.get(place, 0.0) + meant.get(place, 0.0)
            score += _TITLED * titled.get(pack.section, 0.0)
            score += (dated if pack.dated else 0.0) + (counted if pack.counted else 0.0)
            found.append((score, at, place))
    found.sort(key=lambda one: (-one[0], one[1], one[2]))
    best = found[0][0] if found else 1.0
    return [Ranked(documents[at], place, score / best) for score, at, place in found]


def _names(word: str, document: DocumentPacks) -> bool:
    """Whether a word stands for the document rather than for a place in it."""
    return document.recurrence(word) > _NAMES


def _bm25(
    postings: Iterable[tuple[float, Iterable[tuple[int, int]]]],
    lengths: Sequence[int],
    mean: float,
) -> dict[int, float]:
    """BM25 of the texts that hold any of some words, by their place.

    Args:
        postings: Rarity of each word with the places and counts of it.
        lengths: Length of each text.
        mean: Their mean.
    """
    scores: dict[int, float] = {}
    for idf, places in postings:
        for place, count in places:
            norm = _K1 * (1.0 - _B + _B * lengths[place] / mean)
            scores[place] = scores.get(place, 0.0) + idf * count * (_K1 + 1.0) / (count + norm)
    return scores


def _idf(texts: int, holding: int) -> float:
    return math.log(1.0 + (texts - holding + 0.5) / (holding + 0.5))


def _rarity(asked: Sequence[str], documents: Sequence[DocumentPacks]) -> dict[str, float]:
    """Rarity of each word among all packs; a word of a document's head stands in all its packs."""
    total = sum(len(document.packs) for document in documents)
    held = {
        word: sum(len(one.packs) if word in one.head else one.spread(word) for one in documents)
        for word in asked
    }
    return {word: _idf(total, count) for word, count in held.items() if count}


def _overall(asked: Sequence[str], documents: Sequence[DocumentPacks]) -> list[dict[int, float]]:
    """How well each pack fits among all, in [0, 1], the head of its document counted to it."""
    rarity = _rarity(asked, documents)
    lengths = [
        [length + document.head.total() for length in document.lengths] for document in documents
    ]
    packs = sum(len(one) for one in lengths)
    mean = sum(sum(one) for one in lengths) / packs
    scores = []
    for document, length in zip(documents, lengths, strict=True):
        postings = []
        for word in rarity:
            in_head = document.head.get(word, 0)
            places = document.postings.get(word, [])
            if in_head:
                counts = dict.fromkeys(range(len(document.packs)), in_head)
                counts.update((place, count + in_head) for place, count in places)
                places = list(counts.items())
            postings.append((rarity[word], places))
        scores.append(_bm25(postings, length, mean))
    best = max((score for one in scores for score in one.values()), default=0.0)
    return [{place: score / best for place, score in one.items()} for one in scores]


def _among_all(
    asked: Sequence[str],
    document: DocumentPacks,
    rarity: Mapping[str, float],
    names: Iterable[str],
) -> dict[int, float]:
    """How well the packs of a chosen document fit by words that are rare among all."""
    mean = sum(document.lengths) / len(document.lengths)
    return _normal(
        _bm25(
            (
                (rarity[word] * (_NAME_SHARE if word in names else 1.0), document.postings[word])
                for word in asked
                if word in document.postings
            ),
            document.lengths,
            mean,
        )
    )


def _within(
    asked: Sequence[str], document: DocumentPacks, names: Iterable[str]
) -> dict[int, float]:
    """How well each pack of a document fits by words that are rare in the document."""
    mean = sum(document.lengths) / len(document.lengths)
    packs = len(document.packs)
    return _normal(
        _bm25(
            (
                (
                    _idf(packs, document.spread(word)) * (_NAME_SHARE if word in names else 1.0),
                    document.postings[word],
                )
                for word in asked
                if word in document.postings
            ),
            document.lengths,
            mean,
        )
    )


def _meant(document: DocumentPacks, near: Mapping[str, float]) -> dict[int, float]:
    """What nearness in meaning adds to the packs of a document."""
    if not near:
        return {}
    scores: dict[int, float] = {}
    for place, pack in enumerate(document.packs):
        best = 0.0
        for piece in pack.pieces:
            score = near.get(piece.match.id, 0.0)
            if score > best:
                best = score
        scores[place] = best
    return {place: _MEANT * score for place, score in _normal(scores).items()}


def _naming(word: str, documents: Sequence[DocumentPacks]) -> float:
    holding = [document.recurrence(word) for document in documents if word in document.body]
    if not holding:
        return 0.0
    rarity = _idf(len(documents), len(holding))
    return rarity * min(1.0, _SAID_ONCE + sum(holding) / len(holding))


def _of_best(overall: Sequence[Mapping[int, float]]) -> list[int]:
    """Documents that the best places stand in."""
    places = [(score, at) for at, one in enumerate(overall) for score in one.values()]
    return [at for _, at in sorted(places, key=lambda one: -one[0])[:_BEST_PLACES]]


def _documents(
    asked: Sequence[str],
    documents: Sequence[DocumentPacks],
    overall: Sequence[Mapping[int, float]],
) -> list[float]:
    """One score a document in [0, 1]: how well it and its best place fit."""
    lengths = [max(1, document.body.total()) for document in documents]
    postings = []
    for word in asked:
        places = [(at, one.body[word]) for at, one in enumerate(documents) if word in one.body]
        postings.append((_idf(len(documents), len(places)), places))
    fits = _normal(_bm25(postings, lengths, sum(lengths) / len(lengths)))
    return [
        (fits.get(at, 0.0) + max(places.values(), default=0.0)) / 2
        for at, places in enumerate(overall)
    ]


def _cover(
    asked: Sequence[str], documents: Sequence[DocumentPacks], scores: Sequence[float]
) -> list[int]:
    """Documents that together hold the question's words, the best first (greedy set cover).

    A word that recurs in the few documents that hold it names them; one that is said once in
    passing does not, rare as it may be.
    """
    left = {word: weight for word in asked if (weight := _naming(word, documents))}
    total = sum(left.values())
    chosen: list[int] = []
    while left and len(chosen) < _MOST_DOCUMENTS:
        gains = {
            place: sum(weight for word, weight in left.items() if word in document.body)
            for place, document in enumerate(documents)
            if place not in chosen
        }
        if not gains:
            break
        best = max(gains, key=lambda place: gains[place] + 0.5 * total * scores[place])
        if chosen and gains[best] < _ADDS * total:
            break
        # Documents that hold the same words cannot be told apart by them: all are chosen.
        alike = sorted(
            (place for place in gains if gains[place] >= _ALIKE * gains[best]),
            key=lambda place: -scores[place],
        )
        chosen.extend(alike[: _MOST_DOCUMENTS - len(chosen)])
        left = {w: weight for w, weight in left.items() if w not in documents[best].body}
    return chosen


def _normal(scores: Mapping[int, float]) -> dict[int, float]:
    best = max(scores.values(), default=0.0)
    return {place: score / best for place, score in scores.items()} if best else {}
