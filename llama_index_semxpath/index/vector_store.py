"""The store as a LlamaIndex vector store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)

from llama_index_semxpath.errors import EmbeddingMismatchError, StoreError
from llama_index_semxpath.index.access import Principal
from llama_index_semxpath.index.embedding import unit
from llama_index_semxpath.index.filters import filter_mask
from llama_index_semxpath.index.llama import LlamaNodes, write_nodes

if TYPE_CHECKING:
    from llama_index_semxpath.index.base import SemXPathIndex

_MODES = frozenset({VectorStoreQueryMode.DEFAULT})


class SemXPathVectorStore(BasePydanticVectorStore):
    """Reads the store's vectors as one principal; what is added goes into every store.

    Args:
        index: The store.
        principal: Labels of who asks; ``None`` carries none.
    """

    stores_text: bool = True
    is_embedding_query: bool = True
    flat_metadata: bool = False
    _index: Any = PrivateAttr()
    _principal: Any = PrivateAttr()
    _nodes: LlamaNodes = PrivateAttr()

    def __init__(self, index: SemXPathIndex, *, principal: Principal = None) -> None:
        super().__init__(stores_text=True)
        self._index = index
        self._principal = principal
        self._nodes = LlamaNodes(index, principal)

    @classmethod
    def class_name(cls) -> str:
        """Name of the class."""
        return "SemXPathVectorStore"

    @property
    def client(self) -> Any:
        """The index."""
        return self._index

    def add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
        """Writes nodes into every store; returns their ids."""
        write_nodes(self._index, nodes)
        return [node.node_id for node in nodes]

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Twin of :meth:`add` that does not block."""
        return await asyncio.to_thread(self.add, nodes, **kwargs)

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        """Deletes a document from every store."""
        self._index.delete_ref_doc(ref_doc_id)

    async def adelete(self, ref_doc_id: str, **kwargs: Any) -> None:
        """Twin of :meth:`delete` that does not block."""
        await asyncio.to_thread(self.delete, ref_doc_id, **kwargs)

    def delete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **_: Any,
    ) -> None:
        """Deletes nodes with what is below them.

        Raises:
            StoreError: Neither ids nor filters are given: that would delete everything.
        """
        if node_ids is None and filters is None:
            raise StoreError("delete_nodes needs ids or filters")
        self._index.delete_nodes(self._chosen(node_ids, filters))

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Nodes by id, by filter, or both."""
        chosen = self._chosen(node_ids, filters)
        found = self._nodes.get(chosen)
        return [found[id_] for id_ in chosen if id_ in found]

    def query(self, query: VectorStoreQuery, **_: Any) -> VectorStoreQueryResult:
        """Nearest nodes by exact cosine among those that filters and principal admit.

        Raises:
            StoreError: A query mode or filter that has no meaning here.
            EmbeddingMismatchError: The query's vector has another dimension.
        """
        if query.mode not in _MODES:
            raise StoreError(f"the query mode '{query.mode}' is not supported")
        if query.query_embedding is None:
            raise StoreError("the query has no embedding")
        embedding = np.asarray(query.query_embedding, np.float32)
        dimension = self._index.reader.embeddings.dimension
        if embedding.shape != (dimension,):
            raise EmbeddingMismatchError(
                f"the query's vector has shape {embedding.shape}, not ({dimension},)"
            )
        limit = query.similarity_top_k
        hits = self._index.reader.nearest(
            unit(embedding[None, :])[0],
            limit,
            lambda table: self._admitted(table, query),
            principal=self._principal,
        )
        found = self._nodes.get([id_ for id_, _ in hits])
        kept = [(id_, score) for id_, score in hits if id_ in found]
        return VectorStoreQueryResult(
            nodes=[found[id_] for id_, _ in kept],
            similarities=[score for _, score in kept],
            ids=[id_ for id_, _ in kept],
        )

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Twin of :meth:`query` that does not block."""
        return await asyncio.to_thread(self.query, query, **kwargs)

    def _chosen(self, node_ids: list[str] | None, filters: MetadataFilters | None) -> list[str]:
        if filters is None:
            return list(node_ids or ())
        table = self._index.table
        rows = np.flatnonzero(filter_mask(table, filters)[1:]) + 1
        wanted = None if node_ids is None else set(node_ids)
        ids = [table.ids[row] for row in rows.tolist()]
        return [id_ for id_ in ids if wanted is None or id_ in wanted]

    @staticmethod
    def _admitted(table: Any, query: VectorStoreQuery) -> Any:
        mask = np.ones(len(table), bool)
        if query.filters is not None:
            mask &= filter_mask(table, query.filters)
        # VectorStoreIndex passes the ids that it keeps itself, and keeps none for such a store.
        if query.node_ids:
            mask &= np.isin(np.arange(len(table)), _rows(table, query.node_ids))
        if query.doc_ids is not None:
            codes = [code for code, doc in enumerate(table.docs) if doc in set(query.doc_ids)]
            mask &= np.isin(table.doc, codes)
        return mask


def _rows(table: Any, ids: list[str]) -> list[int]:
    return [row for row in map(table.position, ids) if row is not None]
