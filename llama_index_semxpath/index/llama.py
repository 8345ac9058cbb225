"""The store as ordinary LlamaIndex indexes and nodes, under the same ids."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llama_index.core import PropertyGraphIndex, StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import BaseNode, NodeRelationship, RelatedNodeInfo

from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.access import Principal, principal_labels
from llama_index_semxpath.index.embedding import Embedder, LlamaEmbedder, PackagedEmbedder
from llama_index_semxpath.index.llama_embedding import EmbedderEmbedding, PackagedEmbedding
from llama_index_semxpath.index.match import json_value
from llama_index_semxpath.node_parser.convert import from_llama, to_llama
from llama_index_semxpath.node_parser.pictures import Pictures
from llama_index_semxpath.tree.node import TreeNode

if TYPE_CHECKING:
    from llama_index_semxpath.index.base import SemXPathIndex

_DOCUMENTS = 16


def vector_index(index: SemXPathIndex, principal: Principal = None) -> VectorStoreIndex:
    """A ``VectorStoreIndex`` that reads the store's vectors as one principal.

    Args:
        index: The store.
        principal: Labels of who asks; ``None`` carries none.
    """
    from llama_index_semxpath.index.vector_store import SemXPathVectorStore

    store = SemXPathVectorStore(index, principal=principal)
    return VectorStoreIndex.from_vector_store(
        store, embed_model=llama_embedding(index.reader.embeddings.embedder)
    )


def graph_index(index: SemXPathIndex) -> PropertyGraphIndex:
    """A ``PropertyGraphIndex`` over the store's property graph.

    Raises:
        StoreError: The store has no graph.
    """
    from llama_index_semxpath.index.graph_index import build_graph_index
    from llama_index_semxpath.index.graph_projection import PropertyGraphProjection
    from llama_index_semxpath.index.graph_store import GraphPropertyGraphStore

    for projection in index.projections:
        if isinstance(projection, PropertyGraphProjection):
            return build_graph_index(GraphPropertyGraphStore(projection.graph))
    raise StoreError(
        "the store has no property graph", where=str(index.config.store),
        hint="configure graph = 'ladybug'",
    )  # fmt: skip


def storage_context(index: SemXPathIndex, principal: Principal = None) -> StorageContext:
    """A ``StorageContext`` with the store as document store and vector store."""
    from llama_index_semxpath.index.docstore import CatalogDocumentStore
    from llama_index_semxpath.index.vector_store import SemXPathVectorStore

    return StorageContext.from_defaults(
        docstore=CatalogDocumentStore(index, principal=principal),
        vector_store=SemXPathVectorStore(index, principal=principal),
    )


def llama_embedding(embedder: Embedder) -> BaseEmbedding:
    """An embedder as a LlamaIndex embedding model."""
    if isinstance(embedder, LlamaEmbedder):
        model: BaseEmbedding = embedder.model
        return model
    if isinstance(embedder, PackagedEmbedder):
        return PackagedEmbedding()
    return EmbedderEmbedding(embedder)


class LlamaNodes:
    """The catalog's nodes as LlamaIndex nodes, with all their relationships.

    Args:
        index: The store.
        principal: Labels of who asks.
        whole: Whether the text of a node is that of its whole subtree, as a retriever that merges
            upward wants it of a parent; else a node has its own text only.
    """

    def __init__(
        self, index: SemXPathIndex, principal: Principal = None, *, whole: bool = False
    ) -> None:
        self._index = index
        self._whole = whole
        self._principal = principal_labels(principal)
        self._lock = threading.Lock()
        self._documents: OrderedDict[tuple[str, int], dict[str, BaseNode]] = OrderedDict()

    def get(self, ids: Sequence[str]) -> dict[str, BaseNode]:
        """Those of the nodes that are there and visible, by id."""
        found: dict[str, BaseNode] = {}
        for match in self._index.nodes(ids, self._principal):
            if match.document:
                found[match.id] = self.document(match.document)[match.id]
        return found

    def document(self, doc: str) -> dict[str, BaseNode]:
        """All visible nodes of a document, the root included, by id."""
        key = (doc, self._index.catalog.version)
        with self._lock:
            if key in self._documents:
                self._documents.move_to_end(key)
                return self._documents[key]
        nodes = self._convert(doc)
        with self._lock:
            self._documents[key] = nodes
            if len(self._documents) > _DOCUMENTS:
                self._documents.popitem(last=False)
        return nodes

    def _convert(self, doc: str) -> dict[str, BaseNode]:
        nodes = [match.node for match in self._index.reader.document(doc, self._principal)]
        root = nodes[0]
        shared: dict[str, Any] = {}
        if root.id == doc:
            shared = {key: json_value(value) for key, value in root.attributes.items()}
            nodes[0] = replace(root, attributes={})
            # A node whose parent is hidden hangs on the document; its real place is not shown.
            nodes = [_hung(node, doc) for node in nodes]
        # The document is found by its id, but is no parent: merging upward ends at sections.
        llama = to_llama(nodes[:1], metadata=shared, include_root=True)
        source = self._index.catalog.document(doc).source
        pictures = Pictures(None if source is None else Path(source.path))
        llama += to_llama(nodes, metadata=shared, pictures=pictures)
        if self._whole:
            _add_subtrees(nodes, {node.node_id: node for node in llama})
        return {node.node_id: node for node in llama}


def _add_subtrees(nodes: Sequence[TreeNode], llama: Mapping[str, BaseNode]) -> None:
    """Gives every node that has children the text of its whole subtree."""
    parts: dict[str, list[str]] = {node.id: [] for node in nodes}
    for node in reversed(nodes):
        # Children came before, last to first.
        below = parts[node.id]
        if node.text:
            below.append(node.text)
        if len(below) > 1 or (below and not node.text):
            llama[node.id].set_content("\n\n".join(reversed(below)))
        if node.parent is not None:
            parts[node.parent].extend(below)


def _hung(node: TreeNode, doc: str) -> TreeNode:
    return replace(node, parent=doc) if node.parent is None and node.id != doc else node


def write_nodes(index: SemXPathIndex, nodes: Sequence[BaseNode]) -> None:
    """Writes LlamaIndex nodes: into the document that their SOURCE names, or one of their own.

    Nodes of a document that the store holds are added to it, or replace nodes of the same id.
    """
    from llama_index_semxpath.index.writing import TreeSource

    sources: dict[str, RelatedNodeInfo] = {}
    for node in nodes:
        source = node.relationships.get(NodeRelationship.SOURCE)
        if isinstance(source, RelatedNodeInfo):
            sources.setdefault(source.node_id, source)
    by_document: dict[str, list[TreeNode]] = {}
    for tree_node in from_llama(nodes):
        doc = tree_node.doc or f"{tree_node.id}#document"
        tree_node.doc = doc
        by_document.setdefault(doc, []).append(tree_node)
    trees = []
    for doc, own in by_document.items():
        old = {}
        if index.catalog.find_document(doc) is not None:
            old = {node.id: node for node in index.catalog.walk(doc)}
        new = {node.id: node for node in own}
        metadata = dict(sources[doc].metadata) if doc in sources else {}
        root = new.pop(doc, None) or old.get(doc) or TreeNode(doc, "Document", doc, level=0)
        root.parent, root.attributes = None, {**metadata, **root.attributes}
        trees.append(TreeSource(_pre_order(root, {**old, **new})))
    index.write_trees(trees)


def _pre_order(root: TreeNode, nodes: dict[str, TreeNode]) -> list[TreeNode]:
    nodes.pop(root.id, None)
    children: dict[str, list[TreeNode]] = {}
    for node in nodes.values():
        if node.parent not in nodes:
            node.parent = root.id
        children.setdefault(node.parent, []).append(node)
    ordered: list[TreeNode] = []
    stack = [root]
    while stack:
        node = stack.pop()
        ordered.append(node)
        stack.extend(reversed(children.pop(node.id, [])))
    return ordered
