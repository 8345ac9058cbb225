"""The catalog's keyword index as engines use it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from llama_index_semxpath.index.catalog import Catalog
from llama_index_semxpath.tree.columns import Floats

#: BM25 at which the normalised score is one half.
_HALF = 4.0


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
