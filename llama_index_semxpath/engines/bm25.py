"""Keyword relevance: BM25 (Robertson and Zaragoza, 2009) as a share of what could be had."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from llama_index_semxpath.engines.base import Dataset, Scorer, Targets
from llama_index_semxpath.engines.wording import node_texts
from llama_index_semxpath.text import words
from llama_index_semxpath.tree.columns import Floats, Rows
from llama_index_semxpath.tree.table import TreeTable

#: Saturation of repeats, and how much a long text is marked down: Robertson's usual values.
K1 = 1.2
B = 0.75
#: Rows whose words give the corpus its document frequencies.
_SAMPLE = 20_000


class KeywordIndex:
    """Word statistics of a tree: how many texts hold a word, and how long a text is.

    Args:
        texts: Texts of the corpus.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.frequency: dict[str, int] = {}
        lengths = []
        for text in texts:
            tokens = words(text)
            lengths.append(len(tokens))
            for token in set(tokens):
                self.frequency[token] = self.frequency.get(token, 0) + 1
        self.count = len(texts)
        self.mean = max(1.0, float(np.mean(lengths))) if lengths else 1.0

    def weight(self, word: str) -> float:
        """Inverse document frequency, as Lucene smooths it (never negative)."""
        known = self.frequency.get(word, 0)
        return float(np.log1p((self.count - known + 0.5) / (known + 0.5)))

    def scores(self, phrase: str, texts: Sequence[str]) -> Floats:
        """Relevance of texts in [0, 1].

        1 is what a text of average length gets that holds every word of the phrase once, so a
        score is the share of the phrase, weighted by rarity, that the text covers.
        """
        wanted = dict.fromkeys(words(phrase))
        weights = {word: self.weight(word) for word in wanted}
        whole = sum(weights.values())
        if not whole:
            return np.zeros(len(texts))
        return np.array([self._score(text, weights) for text in texts]) / whole

    def _score(self, text: str, weights: dict[str, float]) -> float:
        tokens = words(text)
        length = 1 - B + B * len(tokens) / self.mean
        total = 0.0
        for word, weight in weights.items():
            times = tokens.count(word)
            if times:
                # (k1 + 1) makes one occurrence in an average text worth exactly its weight.
                total += weight * min(1.0, times * (K1 + 1) / (times + K1 * length))
        return total


class KeywordScorer(Scorer):
    """Grades by BM25 over the tree's own texts.

    Args:
        index: Word statistics.
    """

    def __init__(self, index: KeywordIndex) -> None:
        self.index = index

    @classmethod
    def of(cls, dataset: Dataset, table: TreeTable) -> Scorer:
        """The dataset's keyword source, or one over the texts that the reader sees."""
        if dataset.keywords is not None:
            return SourceScorer(dataset)
        index = table.__dict__.get("_keyword_index")
        if index is None:
            index = table.__dict__["_keyword_index"] = KeywordIndex(
                node_texts(table, _sampled(table), 4000)
            )
        return cls(index)

    @property
    def name(self) -> str:
        """``bm25``."""
        return "bm25"

    def grade(self, phrase: str, targets: Targets) -> Floats:
        """See :meth:`Scorer.grade`."""
        return self.index.scores(phrase, targets.texts())


class SourceScorer(Scorer):
    """Grades nodes by the dataset's keyword index, attributes by their own words.

    Args:
        dataset: Holds the keyword source.
    """

    def __init__(self, dataset: Dataset) -> None:
        assert dataset.keywords is not None
        self.source = dataset.keywords

    @property
    def name(self) -> str:
        """``bm25 index``."""
        return "bm25 index"

    def grade(self, phrase: str, targets: Targets) -> Floats:
        """See :meth:`Scorer.grade`."""
        if targets.field is not None:
            texts = targets.texts()
            return KeywordIndex(texts).scores(phrase, texts)
        ids, scores = self.source.bm25(phrase, targets.ids, None)
        found = dict(zip(ids, scores.tolist(), strict=True))
        return np.array([found.get(node_id, 0.0) for node_id in targets.ids])


def _sampled(table: TreeTable) -> Rows:
    rows = table.all_rows
    step = max(1, len(rows) // _SAMPLE)
    return rows[::step]
