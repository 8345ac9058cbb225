"""The catalog's keyword index as engines use it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from llama_index_semxpath.engines.bm25 import KeywordIndex
from llama_index_semxpath.index.catalog import Catalog
from llama_index_semxpath.tree.columns import Floats
from llama_index_semxpath.tree.table import TreeTable

#: BM25 at which the normalised score is one half.
_HALF = 4.0


class RankedKeywords(Protocol):
    """Ranks nodes by the words of a text."""

    def ranked(self, query: str, limit: int | None) -> list[tuple[str, float]]:
        """Ids and scores in [0, 1] of the nodes with a word of the query, best first."""


class TableKeywords:
    """Keyword relevance over the texts of a table that no full-text index stands beside.

    Args:
        table: The table.
    """

    def __init__(self, table: TreeTable) -> None:
        self._table = table

    @cached_property
    def _texts(self) -> list[str]:
        return self._table.texts(np.arange(len(self._table), dtype=np.int32))

    @cached_property
    def _index(self) -> KeywordIndex:
        return KeywordIndex(self._texts)

    def ranked(self, query: str, limit: int | None) -> list[tuple[str, float]]:
        """Ids and scores of the nodes with a word of the query, best first."""
        scores = np.clip(self._index.scores(query, self._texts), 0.0, 1.0)
        rows = np.argsort(-scores, kind="stable")[: limit if limit is not None else len(scores)]
        return [(self._table.ids[row], float(scores[row])) for row in rows.tolist() if scores[row]]

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
