"""Ranking of packs: which documents first, then which places in them.

A question names its document with some words and the place in it with others. Words that stand
all over a document do not tell its places apart, so a place is weighed twice: against all
candidates and against its own document, by BM25 with the rarity of each word there (Robertson and
Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009). Documents are chosen to
cover the question's words: a comparison of two companies needs both, though one may score better
everywhere.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from llama_index_semxpath.retrievers.packs import DocumentPacks, Pack

_K1, _B = 1.2, 0.75
#: A further document is chosen when it adds this share of the question's weight.
_ADDS = 0.1
_MOST_DOCUMENTS = 6
#: What a rare word is worth that does not recur.
_SAID_ONCE = 0.2
#: The documents of so many best places are chosen beside a lone one, whatever words they lack.
_BEST_PLACES = 3
#: Share of the best one's gain from which a document holds the question's words as well.
_ALIKE = 0.95
#: What standing in a chosen document is worth; above what any place can score by itself.
_CHOSEN = 3.0


@dataclass(frozen=True, slots=True)
class Ranked:
    """A pack with its score.

    Args:
        document: The document it stands in.
        pack: The pack.
        score: In [0, 1], 1 for the best.
        held: Words of the question that the pack or its document's head holds.
    """

    document: str
    pack: Pack
    score: float
    held: frozenset[str]


class Bm25:
    """BM25 over a few word counts.

    Args:
        texts: Word counts of each text.
        asked: The words that will be asked for.

    Example:
        >>> bm25 = Bm25([Counter(a=1, b=1), Counter(b=1)], ["a"])
        >>> [score > 0 for score in bm25.scores()]
        [True, False]
    """

    def __init__(self, texts: Sequence[Counter[str]], asked: Sequence[str]) -> None:
        self.texts = texts
        self.asked = asked
        self.lengths = [text.total() for text in texts]
        self.mean = max(1.0, sum(self.lengths) / max(1, len(texts)))
        self.holding = {word: sum(word in text for text in texts) for word in asked}

    def idf(self, word: str) -> float:
        """Rarity of a word among the texts, > 0."""
        held = self.holding.get(word, 0)
        return math.log(1.0 + (len(self.texts) - held + 0.5) / (held + 0.5))

    def scores(self) -> list[float]:
        """One score a text, 0 where it has none of the words."""
        rarity = {word: self.idf(word) for word in self.asked if self.holding[word]}
        scores = []
        for text, length in zip(self.texts, self.lengths, strict=True):
            norm = _K1 * (1.0 - _B + _B * length / self.mean)
            score = 0.0
            for word, idf in rarity.items():
                count = text.get(word, 0)
                if count:
                    score += idf * count * (_K1 + 1.0) / (count + norm)
            scores.append(score)
        return scores


def rank_packs(asked: Sequence[str], documents: Sequence[DocumentPacks]) -> list[Ranked]:
    """Packs of some candidate documents, best first.

    Args:
        asked: Search words of the question, each once.
        documents: The candidates, the likeliest first.

    Returns:
        All packs that share a word with the question or stand in a chosen document.
    """
    packs = [(document, pack) for document in documents for pack in document.packs]
    if not packs or not asked:
        return []
    among_all = Bm25([pack.full for _, pack in packs], asked)
    overall = _normal(among_all.scores())
    whole = _documents(asked, documents, packs, overall)
    chosen = _cover(asked, documents, whole)
    if len(chosen) == 1:
        # One document holds all the words, perhaps by chance: other signs are heard as well.
        chosen += [0, *_of_best(documents, overall)]
    scores: list[float] = []
    at = 0
    for place, document in enumerate(documents):
        local = _within(asked, document)
        for inner in local:
            bonus = _CHOSEN if place in chosen else 0.0
            scores.append(overall[at] + inner + whole[place] + bonus)
            at += 1
    best = max(scores)
    ranked = [
        Ranked(document.id, pack, score / best, frozenset(asked) & pack.full.keys())
        for (document, pack), score, first in zip(packs, scores, overall, strict=True)
        if score >= _CHOSEN or first > 0.0
    ]
    return sorted(ranked, key=lambda one: -one.score)


def _within(asked: Sequence[str], document: DocumentPacks) -> list[float]:
    """How well each pack of a document fits, by the words that do not name the document."""
    rest = [word for word in asked if word not in document.head] or asked
    return _normal(Bm25([pack.body for pack in document.packs], rest).scores())


def _naming(word: str, documents: Sequence[DocumentPacks]) -> float:
    holding = [document.recurrence(word) for document in documents if word in document.body]
    if not holding:
        return 0.0
    rarity = math.log(1.0 + (len(documents) - len(holding) + 0.5) / (len(holding) + 0.5))
    return rarity * min(1.0, _SAID_ONCE + sum(holding) / len(holding))


def _of_best(documents: Sequence[DocumentPacks], overall: Sequence[float]) -> list[int]:
    """Documents that the best places stand in."""
    owner = [place for place, document in enumerate(documents) for _ in document.packs]
    best = sorted(range(len(overall)), key=lambda at: -overall[at])
    return [owner[at] for at in best[:_BEST_PLACES]]


def _documents(
    asked: Sequence[str],
    documents: Sequence[DocumentPacks],
    packs: Sequence[tuple[DocumentPacks, Pack]],
    overall: Sequence[float],
) -> list[float]:
    """One score a document in [0, 1]: how well it and its best place fit."""
    fits = _normal(Bm25([document.body for document in documents], asked).scores())
    best: dict[str, float] = {}
    for (document, _), score in zip(packs, overall, strict=True):
        best[document.id] = max(score, best.get(document.id, 0.0))
    return [(fit + best.get(one.id, 0.0)) / 2 for fit, one in zip(fits, documents, strict=True)]


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


def _normal(scores: Sequence[float]) -> list[float]:
    best = max(scores, default=0.0)
    return [score / best if best else 0.0 for score in scores]
