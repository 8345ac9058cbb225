"""The contract between engines, scorers and the stores that feed them."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from llama_index_semxpath.engines.result import Evaluation
from llama_index_semxpath.tree.columns import Floats, Mask, Rows
from llama_index_semxpath.tree.order import subtree_range
from llama_index_semxpath.tree.table import TreeTable
from llama_index_semxpath.xpath.plan import Pushed

Vectors = npt.NDArray[np.float32]


class Targets:
    """What a scorer grades: nodes, or one attribute of them.

    Args:
        table: The tree as the reader sees it.
        rows: Rows of ``table``, distinct.
        field: ``None`` to grade the node, else the name of the attribute that alone counts; all
            ``rows`` have it.

    Example:
        >>> from llama_index_semxpath.tree.node import TreeNode
        >>> table = TreeTable.from_nodes([TreeNode("d", "Document", "d", text="Leave")])
        >>> targets = Targets(table, table.all_rows)
        >>> targets.ids, targets.texts()
        (['d'], ['Leave'])
    """

    def __init__(self, table: TreeTable, rows: Rows, field: str | None = None) -> None:
        self.table = table
        self.rows = rows
        self.field = field

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def ids(self) -> list[str]:
        """Node ids, in the order of ``rows``."""
        ids = self.table.ids
        return [ids[row] for row in self.rows.tolist()]

    @property
    def base_rows(self) -> Rows:
        """Rows in the whole table, whatever the reader may see of it."""
        base = self.table.base_rows
        return self.rows if base is None else base[self.rows]

    def texts(self, limit: int = 4000) -> list[str]:
        """What is read: the attribute's value, or the node's text with that of its descendants.

        Args:
            limit: Most characters of one text.
        """
        from llama_index_semxpath.engines.wording import attribute_texts, node_texts

        if self.field is None:
            return node_texts(self.table, self.rows, limit)
        return attribute_texts(self.table, self.rows, self.field, limit)

    def subset(self, keep: Rows) -> Targets:
        """The targets at the given places."""
        return Targets(self.table, self.rows[keep], self.field)


class Scorer(ABC):
    """Grades targets by how well a phrase describes them.

    A score is a probability-like figure in [0, 1], comparable between phrases of one scorer.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """Names scorer, model and calibration; part of every cache key."""

    @property
    def threshold(self) -> float:
        """Least score of a node that passes a graded filter, in [0, 1]."""
        return 0.5

    @abstractmethod
    def grade(self, phrase: str, targets: Targets) -> Floats:
        """One score a target, in [0, 1].

        Raises:
            ScorerError: The scorer failed; scores are all or nothing.
        """

    def search(self, phrase: str, request: SearchRequest) -> tuple[list[str], Floats] | None:
        """Ids and scores of the nodes that score ``request.least`` or more, through an index.

        Returns ``None`` when the scorer has no index: then all candidates are graded.
        """
        return None


@dataclass(slots=True)
class SearchLog:
    """How a search was carried out, told by whoever did it, for the plan.

    Args:
        method: In a few words.
        engine: ``vectors`` for a vector store, ``memory`` for the matrix.
        pushed: What the store was asked, exactly as sent.
        is_cut: Whether more nodes were near enough than the limit let through.
    """

    method: str = ""
    engine: str = "vectors"
    pushed: Pushed | None = None
    is_cut: bool = False


@dataclass(frozen=True)
class Scope:
    """Where an approximate search looks: whole subtrees, given in every form a store may want.

    Args:
        table: The whole table.
        roots: Rows of the subtrees' roots, ascending, none below another; ``None`` for all.
        kinds: Kinds to find; empty for all.
        visible: Rows of the whole table that the reader may see; ``None`` for all.
        log: Where a store writes what it was asked.
    """

    table: TreeTable
    roots: Rows | None = None
    kinds: tuple[str, ...] = ()
    visible: Mask | None = None
    log: SearchLog = field(default_factory=SearchLog, compare=False, repr=False)

    @property
    def row_ranges(self) -> list[tuple[int, int]]:
        """Half-open ranges of rows of the whole table."""
        if self.roots is None:
            return [(1, len(self.table))]
        ends = self.table.end[self.roots]
        return list(zip(self.roots.tolist(), ends.tolist(), strict=True))

    def rows_of(self, kinds: Sequence[str]) -> Rows:
        """Rows of the whole table that are in the scope and of one of some kinds."""
        wanted = [kind for kind in kinds if not self.kinds or kind in self.kinds]
        codes = [code for kind in wanted if (code := self.table.kind_codes.get(kind)) is not None]
        keep = np.isin(self.table.kind, codes)
        inside = np.zeros(len(self.table), np.bool_)
        for low, high in self.row_ranges:
            inside[low:high] = True
        keep &= inside if self.visible is None else inside & self.visible
        return np.flatnonzero(keep).astype(np.int32)

    @property
    def key_ranges(self) -> list[tuple[str, str]]:
        """Half-open ranges of order keys; empty for the whole corpus."""
        orders = self.table.orders
        if self.roots is None or orders is None:
            return []
        return [subtree_range(orders[row]) for row in self.roots.tolist()]


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """An approximate search.

    Args:
        scope: Where to look.
        least: Least score, in [0, 1].
        limit: Most nodes to return, 1 and up.
    """

    scope: Scope
    least: float
    limit: int


@runtime_checkable
class VectorSource(Protocol):
    """Embeddings by node id, and search among them (SQLite cache and Milvus, or memory)."""

    @property
    def model(self) -> str:
        """Name of the embedding model."""

    def query_vector(self, phrase: str) -> Vectors:
        """Unit vector of a phrase."""

    def node_vectors(self, ids: Sequence[str]) -> Vectors:
        """Unit vectors of nodes, one row each, in order; embeds what is not embedded yet."""

    def text_vectors(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of texts (attribute values), through the same cache."""

    def sample(self, count: int) -> Vectors:
        """A deterministic sample of node vectors, at most ``count``, for calibration."""

    def search(
        self, vector: Vectors, scope: Scope, limit: int, min_cosine: float
    ) -> list[tuple[str, float]]:
        """Ids and cosines of the nearest nodes in the scope, best first."""


@runtime_checkable
class DenseVectors(Protocol):
    """A vector source whose vectors are in memory beside the table: no copy, no look-up by id."""

    def cosines(self, vector: Vectors, rows: Rows) -> npt.NDArray[np.float32] | None:
        """Cosines of rows of the whole table, or ``None`` when some have no vector in memory."""


@runtime_checkable
class KeywordSource(Protocol):
    """Keyword relevance over the corpus (FTS5, or memory)."""

    def bm25(
        self, query: str, ids: Sequence[str] | None, limit: int | None
    ) -> tuple[list[str], Floats]:
        """Ids and scores in [0, 1] of the nodes that hold a word of the query, best first.

        Args:
            query: Words in any language.
            ids: Only these nodes; ``None`` for all.
            limit: Most nodes to return; ``None`` for all.
        """


def utc_now() -> dt.datetime:
    """The present moment."""
    return dt.datetime.now(dt.UTC)


@dataclass(slots=True)
class Dataset:
    """Everything a query can read.

    Args:
        table: The corpus tree.
        scorer: Grades ``=~``; ``None`` where the index has no embeddings.
        keywords: Grades ``bm25()``; ``None`` makes one over the table's texts when asked.
        scorers: Further scorers by name, for callers that choose one by name.
        clock: Tells the time for ``today()`` and ``now()``.
        has_graph: Whether relations are configured; ``rel::`` is refused where they are not.
        exact_limit: Most candidates that are graded one by one when the scorer could search.
    """

    table: TreeTable
    scorer: Scorer | None = None
    keywords: KeywordSource | None = None
    scorers: Mapping[str, Scorer] = field(default_factory=dict)
    clock: Callable[[], dt.datetime] = utc_now
    has_graph: bool = True
    exact_limit: int = 50_000


@runtime_checkable
class Engine(Protocol):
    """Runs queries over a dataset. Every engine gives what :class:`MemoryEngine` gives."""

    @property
    def name(self) -> str:
        """Short name, as plans show it."""

    def run(
        self,
        query: str,
        *,
        params: Mapping[str, Any] | None = None,
        top_k: int | None = None,
        visible: Mask | None = None,
        trace: bool = False,
    ) -> Evaluation:
        """Evaluates a query.

        Args:
            query: SemXPath.
            params: Values of ``$name``.
            top_k: Most results; ``None`` for all that pass.
            visible: One flag a row of the table: which ones the reader may see; ``None`` for all.
            trace: Record which nodes each step kept and dropped.

        Raises:
            QueryError: The query is wrong, or asks for a part that the dataset lacks.
            ScorerError: A scorer failed; nothing partial is returned.
        """
