"""Nearest-neighbour search in a vector store, with structure, kinds and access pushed down."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

import numpy as np

from llama_index_semxpath.engines.base import Scope
from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.embedding import Vector
from llama_index_semxpath.index.milvus import labels_text
from llama_index_semxpath.index.milvus_expr import (
    All,
    AnyOf,
    Between,
    Condition,
    OneOf,
)
from llama_index_semxpath.instrumentation import span
from llama_index_semxpath.xpath.plan import Pushed

#: Beyond this many ranges, the exact search costs less than the expression.
_RANGES = 1_000


class Searchable(Protocol):
    """A projection of vectors that can be searched."""

    #: What messages call it.
    title: str
    #: Whether it looks at every row that meets a condition.
    is_exact: bool
    #: Most results of one search.
    most: int

    def search(self, vector: Vector, condition: Condition, limit: int) -> list[tuple[str, float]]:
        """Ids and cosines of the nearest rows that meet a condition, best first."""
        ...

    def pushed(self, condition: Condition, vector: Vector, limit: int) -> Pushed:
        """What :meth:`search` sends, for a plan."""
        ...

    def close(self) -> None:
        """Releases the store."""
        ...


class VectorSearch:
    """Searches a vector store on behalf of readers; opened at the first search.

    Args:
        open_: Opens the projection.
    """

    def __init__(self, open_: Callable[[], Searchable]) -> None:
        self._open = open_
        self._lock = threading.Lock()
        self._store: Searchable | None = None

    def search(
        self, vector: Vector, scope: Scope, limit: int, min_cosine: float
    ) -> list[tuple[str, float]] | None:
        """Ids and cosines, best first; ``None`` where the exact search has to do it.

        That is when the scope cannot be said in an expression, or the server does not answer: the
        catalog holds every vector too. Hits are compared with the scope once more, since a row may
        be older than the moment that the reader sees.
        """
        condition, reason = _condition(scope)
        if condition is None:
            scope.log.method = reason
            return None
        try:
            store = self._connected()
            with span("engine.vectors", limit=limit) as facts:
                hits = store.search(vector, condition, limit)
                facts["results"] = len(hits)
        except StoreError as error:
            self.close()
            scope.log.method = f"the vector store did not answer ({error.message})"
            return None
        scope.log.method = f"{'exact' if store.is_exact else 'approximate'} search"
        scope.log.is_cut = len(hits) >= min(limit, store.most) and hits[-1][1] >= min_cosine
        scope.log.pushed = store.pushed(condition, vector, limit)
        return [
            (id_, cosine) for id_, cosine in hits if cosine >= min_cosine and _inside(scope, id_)
        ]

    def close(self) -> None:
        """Closes the connection."""
        with self._lock:
            if self._store is not None:
                self._store.close()
                self._store = None

    def _connected(self) -> Searchable:
        with self._lock:
            if self._store is None:
                self._store = self._open()
            return self._store


def scope_condition(scope: Scope) -> Condition | None:
    """A scope as a condition on rows of the store; ``None`` where it cannot be said.

    Example:
        >>> from llama_index_semxpath.tree.node import TreeNode
        >>> from llama_index_semxpath.tree.table import TreeTable
        >>> table = TreeTable.from_nodes([TreeNode("d", "Document", "d", order="a0")])
        >>> scope_condition(Scope(table, np.array([1], np.int32)))
        All(parts=(AnyOf(parts=(Between(name='order_key', low='a0', high='a0/'),)),))
    """
    return _condition(scope)[0]


def _condition(scope: Scope) -> tuple[Condition | None, str]:
    """The condition, or why there is none."""
    parts: list[Condition] = []
    if scope.roots is not None:
        ranges = scope.key_ranges
        if len(ranges) > _RANGES:
            return None, f"{len(ranges):,} subtrees are more than a filter holds"
        parts.append(AnyOf(tuple(Between("order_key", low, high) for low, high in ranges)))
    if scope.kinds:
        parts.append(OneOf("kind", tuple(scope.kinds)))
    if scope.visible is not None:
        labels = _label_texts(scope)
        if labels is None:
            return None, "what the reader may see is no set of labels"
        parts.append(OneOf("labels", labels))
    return All(tuple(parts)), ""


def _label_texts(scope: Scope) -> tuple[str, ...] | None:
    """The sets of labels that are visible; ``None`` where the mask goes by something else."""
    table, visible = scope.table, scope.visible
    assert visible is not None
    nodes = table.doc >= 0
    codes = table.label[nodes] + 1  # 0: no labels
    shown = np.bincount(codes[visible[nodes]], minlength=len(table.label_sets) + 1)
    total = np.bincount(codes, minlength=len(table.label_sets) + 1)
    if ((shown > 0) & (shown < total)).any():
        return None
    texts = ["", *(labels_text(sorted(labels)) for labels in table.label_sets)]
    return tuple(texts[code] for code in np.flatnonzero(shown).tolist())


def _inside(scope: Scope, id_: str) -> bool:
    table = scope.table
    row = table.position(id_)
    if row is None or (scope.visible is not None and not scope.visible[row]):
        return False
    if scope.kinds and table.kind_name(row) not in scope.kinds:
        return False
    return any(low <= row < high for low, high in scope.row_ranges)
