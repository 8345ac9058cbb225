"""The catalog as a LlamaIndex document store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llama_index.core.schema import BaseNode
from llama_index.core.storage.docstore.types import BaseDocumentStore, RefDocInfo

from llama_index_semxpath.index.access import Principal
from llama_index_semxpath.index.codec import check_text
from llama_index_semxpath.index.llama import LlamaNodes, write_nodes

if TYPE_CHECKING:
    from llama_index_semxpath.index.base import SemXPathIndex

_HASH = "docstore-hash:"


class CatalogDocumentStore(BaseDocumentStore):
    """Nodes of the catalog under their ids, for AutoMerging and recursive retrievers and pipelines.

    The text of a section, list or table here is that of all that is below it.

    Args:
        index: The store.
        principal: Labels of who reads; ``None`` carries none.
    """

    def __init__(self, index: SemXPathIndex, *, principal: Principal = None) -> None:
        self._index = index
        self._principal = principal
        self._nodes = LlamaNodes(index, principal, whole=True)

    @property
    def docs(self) -> dict[str, BaseNode]:
        """All nodes by id."""
        found: dict[str, BaseNode] = {}
        for document in self._index.documents(self._principal):
            found.update(self._nodes.document(document.id))
        return found

    def add_documents(
        self,
        docs: Sequence[BaseNode],
        allow_update: bool = True,
        batch_size: int | None = None,
        store_text: bool = True,
    ) -> None:
        """Writes nodes into every store; those that the store holds unchanged cost nothing.

        Raises:
            ValueError: A node is there and ``allow_update`` is off.
        """
        if not allow_update:
            for node in docs:
                if self.document_exists(node.node_id):
                    raise ValueError(f"node_id {node.node_id} already exists")
        write_nodes(self._index, docs)
        for node in docs:
            self.set_document_hash(node.node_id, node.hash)

    async def async_add_documents(
        self,
        docs: Sequence[BaseNode],
        allow_update: bool = True,
        batch_size: int | None = None,
        store_text: bool = True,
    ) -> None:
        """Twin of :meth:`add_documents` that does not block."""
        await asyncio.to_thread(self.add_documents, docs, allow_update)

    def get_document(self, doc_id: str, raise_error: bool = True) -> BaseNode | None:
        """One node.

        Raises:
            ValueError: There is none that the principal may read, and ``raise_error`` is on.
        """
        found = self._nodes.get([doc_id]).get(doc_id)
        if found is None and raise_error:
            raise ValueError(f"doc_id {doc_id} not found.")
        return found

    async def aget_document(self, doc_id: str, raise_error: bool = True) -> BaseNode | None:
        """Twin of :meth:`get_document` that does not block."""
        return await asyncio.to_thread(self.get_document, doc_id, raise_error)

    def delete_document(self, doc_id: str, raise_error: bool = True) -> None:
        """Deletes a node with what is below it; a document's id deletes the document.

        Raises:
            ValueError: There is none, and ``raise_error`` is on.
        """
        if not self._index.delete_nodes([doc_id]) and raise_error:
            raise ValueError(f"doc_id {doc_id} not found.")
        self._forget([doc_id])

    async def adelete_document(self, doc_id: str, raise_error: bool = True) -> None:
        """Twin of :meth:`delete_document` that does not block."""
        await asyncio.to_thread(self.delete_document, doc_id, raise_error)

    def document_exists(self, doc_id: str) -> bool:
        """Whether there is such a node that the principal may read."""
        return self._index.node(doc_id, self._principal) is not None

    async def adocument_exists(self, doc_id: str) -> bool:
        """Twin of :meth:`document_exists` that does not block."""
        return await asyncio.to_thread(self.document_exists, doc_id)

    def set_document_hash(self, doc_id: str, doc_hash: str) -> None:
        """Keeps what an ingestion pipeline remembers of a document."""
        self.set_document_hashes({doc_id: doc_hash})

    def set_document_hashes(self, doc_hashes: dict[str, str]) -> None:
        """Keeps many at once."""
        with self._index.catalog.write() as writer:
            for doc_id, doc_hash in doc_hashes.items():
                writer.set_meta(_HASH + check_text(doc_id, "id", doc_id), doc_hash)

    async def aset_document_hash(self, doc_id: str, doc_hash: str) -> None:
        """Twin of :meth:`set_document_hash` that does not block."""
        await asyncio.to_thread(self.set_document_hash, doc_id, doc_hash)

    async def aset_document_hashes(self, doc_hashes: dict[str, str]) -> None:
        """Twin of :meth:`set_document_hashes` that does not block."""
        await asyncio.to_thread(self.set_document_hashes, doc_hashes)

    def get_document_hash(self, doc_id: str) -> str | None:
        """What :meth:`set_document_hash` kept of a node that the principal may read."""
        if not self.document_exists(doc_id):
            return None
        return self._index.catalog.meta(_HASH + doc_id)

    async def aget_document_hash(self, doc_id: str) -> str | None:
        """Twin of :meth:`get_document_hash` that does not block."""
        return await asyncio.to_thread(self.get_document_hash, doc_id)

    def get_all_document_hashes(self) -> dict[str, str]:
        """Ids by hash, as LlamaIndex asks for them, of nodes that the principal may read."""
        kept = self._index.catalog.all_meta(_HASH)
        ids = {key.removeprefix(_HASH): doc_hash for key, doc_hash in kept.items()}
        seen = {match.id for match in self._index.nodes(list(ids), self._principal)}
        return {doc_hash: id_ for id_, doc_hash in ids.items() if id_ in seen}

    async def aget_all_document_hashes(self) -> dict[str, str]:
        """Twin of :meth:`get_all_document_hashes` that does not block."""
        return await asyncio.to_thread(self.get_all_document_hashes)

    def get_ref_doc_info(self, ref_doc_id: str) -> RefDocInfo | None:
        """Ids of a document's nodes, and its metadata."""
        if self._index.node(ref_doc_id, self._principal) is None:
            return None
        nodes = self._nodes.document(ref_doc_id)
        metadata: dict[str, Any] = nodes[ref_doc_id].metadata
        return RefDocInfo(node_ids=[id_ for id_ in nodes if id_ != ref_doc_id], metadata=metadata)

    async def aget_ref_doc_info(self, ref_doc_id: str) -> RefDocInfo | None:
        """Twin of :meth:`get_ref_doc_info` that does not block."""
        return await asyncio.to_thread(self.get_ref_doc_info, ref_doc_id)

    def get_all_ref_doc_info(self) -> dict[str, RefDocInfo] | None:
        """:meth:`get_ref_doc_info` of all documents."""
        infos = {d.id: self.get_ref_doc_info(d.id) for d in self._index.documents(self._principal)}
        return {id_: info for id_, info in infos.items() if info is not None}

    async def aget_all_ref_doc_info(self) -> dict[str, RefDocInfo] | None:
        """Twin of :meth:`get_all_ref_doc_info` that does not block."""
        return await asyncio.to_thread(self.get_all_ref_doc_info)

    def delete_ref_doc(self, ref_doc_id: str, raise_error: bool = True) -> None:
        """Deletes a document from every store.

        Raises:
            ValueError: There is none, and ``raise_error`` is on.
        """
        known = self._index.delete_ref_doc(ref_doc_id)
        if not known and raise_error:
            raise ValueError(f"ref_doc_id {ref_doc_id} not found.")
        self._forget([ref_doc_id])

    async def adelete_ref_doc(self, ref_doc_id: str, raise_error: bool = True) -> None:
        """Twin of :meth:`delete_ref_doc` that does not block."""
        await asyncio.to_thread(self.delete_ref_doc, ref_doc_id, raise_error)

    def _forget(self, ids: Sequence[str]) -> None:
        with self._index.catalog.write() as writer:
            writer.drop_meta([_HASH + id_ for id_ in ids])
