"""The catalog's keyword index as engines use it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from llama_index_semxpath.engines.bm25 import KeywordIndex
from llama_index_semxpath.index.catalog import Catalog
from llama_index_semxpath.index.keywords import query_words
from llama_index_semxpath.index.words import bm25, rarity
from llama_index_semxpath.tree.columns import Floats, Mask
from llama_index_semxpath.tree.table import TreeTable

#: BM25 at which the normalised score is one half.
_HALF = 4.0


class RankedKeywords(Protocol):
    """Ranks nodes by the words of a text."""

    def ranked(self, query: str, limit: int | None) -> list[tuple[str, float]]:
        """Ids and scores in [0, 1] of the nodes with a word of the query, best first."""

    def bm25(
        self, query: str, ids: Sequence[str] | None, limit: int | None
    ) -> tuple[list[str], Floats]:
        """The same as two columns; see ``engines.base.KeywordSource``."""


class TableKeywords:
    """Keyword relevance over the texts of a table that no full-text index stands beside.

    Args:
        table: The table.
        visible: The rows that may be read; ``None`` for all.
    """

    def __init__(self, table: TreeTable, visible: Mask | None = None) -> None:
        self._table = table
        rows = np.arange(len(table), dtype=np.int32)
        self._rows = rows if visible is None else rows[visible]

    @cached_property
    def _texts(self) -> list[str]:
        return self._table.texts(self._rows)

    @cached_property
    def _index(self) -> KeywordIndex:
        return KeywordIndex(self._texts)

    def ranked(self, query: str, limit: int | None) -> list[tuple[str, float]]:
        """Ids and scores of the nodes with a word of the query, best first."""
        scores = np.clip(self._index.scores(query, self._texts), 0.0, 1.0)
        best = np.argsort(-scores, kind="stable")[: limit if limit is not None else len(scores)]
        ids, rows = self._table.ids, self._rows
        return [(ids[rows[at]], float(scores[at])) for at in best.tolist() if scores[at]]

    def bm25(
        self, query: str, ids: Sequence[str] | None, limit: int | None
    ) -> tuple[list[str], Floats]:
        """Ids and scores in [0, 1], best first; see ``engines.base.KeywordSource``."""
        hits = self.ranked(query, None)
        if ids is not None:
            wanted = frozenset(ids)
            hits = [(id_, score) for id_, score in hits if id_ in wanted]
        hits = hits[: limit if limit is not None else len(hits)]
        return [id_ for id_, _ in hits], np.array([score for _, score in hits], np.float64)


class CatalogKeywords:
    """BM25 from the catalog's full-text index, normalised as ``s / (s + 4)``.

    Args:
        catalog: The catalog.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def ranked(self, query: str, limit: int | None) -> list[tuple[str, float]]:
        """Ids and scores of the nodes with a word of the query, best first."""
        return [
            (id_, score / (score + _HALF)) for id_, score in self._catalog.keyword(query, limit)
        ]

    def bm25(
        self, query: str, ids: Sequence[str] | None, limit: int | None
    ) -> tuple[list[str], Floats]:
        """Ids and scores in [0, 1], best first; see ``engines.base.KeywordSource``."""
        hits = self._catalog.keyword(query, limit, ids)
        scores = np.array([score / (score + _HALF) for _, score in hits], np.float64)
        return [id_ for id_, _ in hits], scores


class VisibleKeywords:
    """:class:`CatalogKeywords` as if the catalog held nothing but what a reader may read.

    How rare a word is, and how long a text usually is, are counted over that part: else a score
    would tell how often a word stands in what is hidden.

    Args:
        catalog: The catalog, in the moment of the table.
        table: The whole table.
        visible: The rows that may be read.
    """

    def __init__(self, catalog: Catalog, table: TreeTable, visible: Mask) -> None:
        self._catalog = catalog
        self._table = table
        self._visible = visible

    @cached_property
    def _sizes(self) -> dict[int, int]:
        """Counts of words by row, of the visible nodes in the index."""
        database = self._catalog.database
        with database.read() as connection:
            sizes = ((self._table.position(i), n) for i, n in database.words.sizes(connection))
            return {row: n for row, n in sizes if row is not None and self._visible[row]}

    def ranked(self, query: str, limit: int | None) -> list[tuple[str, float]]:
        """Ids and scores of the visible nodes with a word of the query, best first."""
        scores = self._scores(query)
        best = sorted(scores, key=lambda row: (-scores[row], row))[:limit]
        ids = self._table.ids
        return [(ids[row], scores[row] / (scores[row] + _HALF)) for row in best]

    def bm25(
        self, query: str, ids: Sequence[str] | None, limit: int | None
    ) -> tuple[list[str], Floats]:
        """Ids and scores in [0, 1], best first; see ``engines.base.KeywordSource``."""
        hits = self.ranked(query, None)
        if ids is not None:
            wanted = frozenset(ids)
            hits = [(id_, score) for id_, score in hits if id_ in wanted]
        hits = hits[:limit]
        return [id_ for id_, _ in hits], np.array([score for _, score in hits], np.float64)

    def _scores(self, query: str) -> dict[int, float]:
        words, sizes = query_words(query), self._sizes
        if not words or not sizes:
            return {}
        database = self._catalog.database
        mean = sum(sizes.values()) / len(sizes)
        scores: dict[int, float] = {}
        with database.read() as connection:
            for term in database.words.terms(words):
                places = (
                    (self._table.position(id_), count)
                    for id_, count in database.words.postings(connection, term)
                )
                found = {row: count for row, count in places if row in sizes}
                weight = rarity(len(sizes), len(found))
                for row, count in found.items():
                    part = weight * bm25(count, sizes[row], mean)
                    scores[row] = scores.get(row, 0.0) + part
        return scores
