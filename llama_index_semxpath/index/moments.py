"""The states of a store that a reader works on, each seen whole, and what a principal may read."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from llama_index_semxpath.engines.base import Dataset, Scorer
from llama_index_semxpath.engines.memory import MemoryEngine
from llama_index_semxpath.engines.scoring import default_scorer
from llama_index_semxpath.index.access import Principal, principal_labels
from llama_index_semxpath.index.catalog import Catalog
from llama_index_semxpath.index.columns import load_table, update_table
from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.index.keyword_source import (
    CatalogKeywords,
    RankedKeywords,
    VisibleKeywords,
)
from llama_index_semxpath.index.vectors import Embeddings, NodeVectors, RemoteSearch
from llama_index_semxpath.index.visibility import visible_part
from llama_index_semxpath.tree.columns import Mask
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.table import TreeTable

if TYPE_CHECKING:
    from llama_index_semxpath.index.vector_search import VectorSearch

#: Principals whose views are kept at a time.
_PRINCIPALS = 64


@dataclass(slots=True)
class Moment:
    """One state of the store, as columns and vectors."""

    version: int
    table: TreeTable
    vectors: NodeVectors
    engine: MemoryEngine
    parts: dict[frozenset[str], tuple[MemoryEngine, Mask | None]] = field(default_factory=dict)


class Moments:
    """Brings a store's columns and vectors up to date, and keeps the views of principals.

    Args:
        config: The store's configuration.
        catalog: Its catalog.
        embeddings: Its vectors.
        scorer: Grades ``=~``; ``None`` for calibrated embeddings and words.
    """

    def __init__(
        self,
        config: StoreConfig,
        catalog: Catalog,
        embeddings: Embeddings,
        scorer: Scorer | None = None,
    ) -> None:
        self.config = config
        self.catalog = catalog
        self.embeddings = embeddings
        self.scorer = scorer
        self._remote = self._remote_search()
        self._lock = threading.Lock()
        self._moment: Moment | None = None

    def _read_nodes(self, ids: Sequence[str]) -> dict[str, TreeNode]:
        return self.catalog.nodes(ids)

    def _keywords(self, moment: Moment, mask: Mask | None) -> RankedKeywords:
        if mask is None:
            return CatalogKeywords(self.catalog)
        return VisibleKeywords(self.catalog, moment.table, mask)

    @contextmanager
    def _now(self) -> Iterator[Moment]:
        """The present state; all reads within see the same one."""
        with self.catalog.moment():
            yield self._refreshed()

    def _refreshed(self) -> Moment:
        version = self.catalog.version
        with self._lock:
            moment = self._moment
            if moment is None:
                table = load_table(self.catalog, self.config.columns)
                vectors = NodeVectors(self.embeddings, table, self._search)
            elif moment.version == version:
                return moment
            elif moment.version > version:
                # A thread whose moment is older, and so knows nothing of what changed since: it
                # reads that moment by itself, and others keep the newer one.
                table = load_table(self.catalog, None)
                vectors = NodeVectors(self.embeddings, table)
            else:
                update = update_table(self.catalog, moment.table, moment.version)
                table = update.table
                if update.patch is None:
                    vectors = NodeVectors(self.embeddings, table, self._search)
                else:
                    vectors = moment.vectors.carried(update.patch, self._search)
            moment = self._make_moment(version, table, vectors)
            # A thread that reads an older state must not put back what others have moved on from.
            if self._moment is None or self._moment.version < version:
                self._moment = moment
            return moment

    def _make_moment(self, version: int, table: TreeTable, vectors: NodeVectors) -> Moment:
        keywords = CatalogKeywords(self.catalog)
        scorer = self.scorer or default_scorer(vectors, keywords)
        limit = self.config.exact_limit
        dataset = Dataset(
            table,
            scorer=scorer,
            keywords=keywords,
            exact_limit=limit,
            # Relations that are there can be walked, whether or not a graph holds them too.
            has_graph=self._has_graph(table),
        )
        engine = MemoryEngine(dataset)
        return Moment(version, table, vectors, engine)

    @property
    def _search(self) -> RemoteSearch | None:
        return None if self._remote is None else self._remote.search

    def _remote_search(self) -> VectorSearch | None:
        """A server searches large stores; an embedded Milvus is slower than the matrix."""
        config = self.config
        if not config.has_vectors or config.is_lite or config.vectors == "given":
            return None
        from llama_index_semxpath.index.stores import open_vectors
        from llama_index_semxpath.index.vector_search import VectorSearch

        return VectorSearch(lambda: open_vectors(self.config, self.embeddings, create=False))

    def _mask(self, moment: Moment, principal: Principal) -> Mask | None:
        return self._part(moment, principal)[1]

    def _part(self, moment: Moment, principal: Principal) -> tuple[MemoryEngine, Mask | None]:
        """What the principal may read: an engine over it, and a mask over the rows."""
        labels = principal_labels(principal)
        part = moment.parts.get(labels)
        if part is None:
            table, mask = self._view(moment, labels)
            engine = moment.engine
            if mask is not None:
                # Nothing hidden may count for a score, so words and vectors are those of the view.
                keywords = self._keywords(moment, mask)
                seen_vectors = moment.vectors.seen(table, mask)
                scorer = self.scorer or default_scorer(seen_vectors, keywords)
                whole = engine.dataset
                seen = replace(
                    whole,
                    table=table,
                    scorer=scorer,
                    keywords=keywords,
                    has_graph=self._has_graph(table),
                )
                engine = MemoryEngine(seen)
            if len(moment.parts) >= _PRINCIPALS:
                moment.parts.clear()
            part = moment.parts[labels] = (engine, mask)
        return part

    def _has_graph(self, table: TreeTable) -> bool:
        return self.config.graph != "none" or len(table.edges) > 0

    def _view(self, moment: Moment, labels: frozenset[str]) -> tuple[TreeTable, Mask | None]:
        """The table as somebody with these labels may read it."""
        default = self.config.default_access
        return visible_part(self.catalog, moment.table, labels, default)
