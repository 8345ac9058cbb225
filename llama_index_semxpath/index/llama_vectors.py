"""Any LlamaIndex vector store as a projection of the catalog's vectors.

Such a store takes part in every write, so that what else reads it sees our nodes under their ids.
We do not search it ourselves: its interface cannot say a range of order keys or a set of access
labels for sure, so questions are answered by the matrix of the catalog's own vectors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import BasePydanticVectorStore

from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.codec import printable
from llama_index_semxpath.index.milvus import filterable
from llama_index_semxpath.index.projection import ProjectedNode, ProjectedRow

#: Metadata key under which a row says what a check compares.
ROW_KEY = "semxpath"


class LlamaVectors:
    """Writes nodes with their vectors into a LlamaIndex vector store.

    Args:
        store: The store; it must be able to delete nodes by id.

    Example:
        >>> from llama_index.core.vector_stores import SimpleVectorStore
        >>> vectors = LlamaVectors(SimpleVectorStore())
        >>> vectors.name, list(vectors.scan())
        ('vectors', [])
    """

    name = "vectors"

    def __init__(self, store: BasePydanticVectorStore) -> None:
        self.store = store

    def upsert(self, nodes: Sequence[ProjectedNode]) -> None:
        """Writes nodes that have a vector, replacing those of the same id."""
        rows = [_row(node) for node in nodes if node.vector is not None]
        self.delete([row.node_id for row in rows])
        if rows:
            self._call("written to", lambda: self.store.add(rows))

    def delete(self, ids: Sequence[str]) -> None:
        """Deletes nodes by id."""
        wanted = list(dict.fromkeys(ids))
        # Without ids, some stores take all nodes to be meant.
        if wanted:
            self._call("deleted from", lambda: self.store.delete_nodes(node_ids=wanted))

    def scan(self) -> Iterator[ProjectedRow]:
        """Every row of ours.

        Raises:
            StoreError: The store cannot list what it holds.
        """
        for id_, metadata in self._listed():
            if ROW_KEY in metadata:
                doc, order, labels, fingerprint = json.loads(metadata[ROW_KEY])
                known = None if labels is None else tuple(labels)
                yield ProjectedRow(id_, doc, order, known, fingerprint)

    def flush(self) -> None:
        """What the store does with its writes is its own affair; some have to be persisted."""

    def close(self) -> None:
        """The store belongs to who made it."""

    def _listed(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        held = getattr(getattr(self.store, "data", None), "metadata_dict", None)
        if isinstance(held, dict):  # SimpleVectorStore keeps no nodes to give back
            yield from list(held.items())
            return
        nodes = self._call("read", lambda: self.store.get_nodes(node_ids=None, filters=None))
        yield from ((node.node_id, node.metadata) for node in nodes or ())

    def _call(self, what: str, action: Any) -> Any:
        title = type(self.store).__name__
        try:
            return action()
        except NotImplementedError:
            raise StoreError(f"a {title} cannot be {what} by id") from None
        except Exception as error:
            reason = printable(str(error) or type(error).__name__, 300)
            raise StoreError(f"{title} cannot be {what}: {reason}") from None


def _row(node: ProjectedNode) -> TextNode:
    assert node.vector is not None
    about = [node.doc, node.order, node.labels, node.fingerprint]
    return TextNode(
        id_=node.id,
        text=node.text,
        embedding=np.frombuffer(node.vector, np.float32).tolist(),
        metadata={
            **filterable(node.attributes),
            "kind": node.kind,
            "weight": node.weight,
            ROW_KEY: json.dumps(about, ensure_ascii=False),
        },
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=node.doc)},
    )
