"""Opens the projections of a store when they are needed, and lets go of them together."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from llama_index_semxpath.errors import (
    EmbeddingMismatchError,
    StoreError,
    StoreLockedError,
    StoreVersionError,
)
from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.index.outbox import pending
from llama_index_semxpath.index.projection import Projection
from llama_index_semxpath.index.vectors import Embeddings
from llama_index_semxpath.index.writing import Writer

if TYPE_CHECKING:
    from llama_index.core.vector_stores.types import BasePydanticVectorStore

    from llama_index_semxpath.index.milvus import MilvusProjection
    from llama_index_semxpath.index.vector_table import TableVectors


class Projections:
    """The vector store and the property graph of one store.

    Args:
        config: Where they are.
        embeddings: The store's vectors, for their dimension.
        vector_store: A LlamaIndex vector store in place of the configured one.
    """

    def __init__(
        self,
        config: StoreConfig,
        embeddings: Embeddings,
        vector_store: BasePydanticVectorStore | None = None,
    ) -> None:
        self._vector_store = vector_store
        self._config = config
        self._embeddings = embeddings
        self._lock = threading.RLock()
        self._open: dict[str, Projection] = {}

    def open(self) -> Sequence[Projection]:
        """All of them, opened for writing.

        Raises:
            StoreLockedError: Another process holds one.
            StoreError: One cannot be opened or does not answer.
        """
        with self._lock:
            return [p for p in (self.vectors(), self.graph()) if p is not None]

    def vectors(self) -> Projection | None:
        """The vector store; ``None`` where the catalog alone holds the vectors."""
        if not self._config.has_vectors:
            return None
        with self._lock:
            if "vectors" not in self._open:
                self._open["vectors"] = self._open_vectors()
            return self._open["vectors"]

    def graph(self) -> Projection | None:
        """The property graph; ``None`` where there is none."""
        if self._config.graph == "none":
            return None
        with self._lock:
            if "graph" not in self._open:
                self._open["graph"] = self._open_graph()
            return self._open["graph"]

    def close(self) -> None:
        """Releases what is open."""
        with self._lock:
            while self._open:
                self._open.popitem()[1].close()

    def set_aside_damaged(self) -> list[Path]:
        """Renames embedded stores that cannot be opened, so that they are built anew.

        They hold nothing that the catalog does not. The files stay beside the store, under names
        that end in ``.damaged``.

        Returns:
            Where the files are now.

        Raises:
            StoreLockedError: Another process holds one.
            StoreVersionError: One is of another version, hence not damaged.
        """
        embedded = [(self.vectors, Path(self._config.vectors_uri))] if self._config.is_lite else []
        if self._config.graph == "ladybug":
            embedded.append((self.graph, self._config.graph_path))
        moved: list[Path] = []
        for opened, path in embedded:
            try:
                opened()
            except (StoreLockedError, StoreVersionError, EmbeddingMismatchError):
                raise
            except StoreError:
                if not os.access(path, os.R_OK | os.W_OK):
                    raise
                moved += _set_aside(path)
        return moved

    def recover(self, writer: Writer) -> int:
        """Does the work that an earlier writer left, unless another process is at it."""
        if not pending(writer.catalog):
            return 0
        try:
            with writer.lock.hold():
                return writer.project()
        except StoreLockedError:
            return 0

    def _open_vectors(self) -> Projection:
        if self._vector_store is not None:
            from llama_index_semxpath.index.llama_vectors import LlamaVectors

            return LlamaVectors(self._vector_store)
        if self._config.vectors == "given":
            raise StoreError("a vector store was to be given", hint="pass it as vector_store")
        return open_vectors(self._config, self._embeddings)

    def _open_graph(self) -> Projection:
        from llama_index_semxpath.index.graph_projection import PropertyGraphProjection

        if self._config.graph == "memory":
            from llama_index_semxpath.index.graph_memory import MemoryGraph

            return PropertyGraphProjection(MemoryGraph())
        if self._config.graph != "ladybug":
            from llama_index_semxpath.index.graph_nebula import NebulaGraph

            return PropertyGraphProjection(NebulaGraph.from_url(self._config.graph))
        from llama_index_semxpath.index.graph_ladybug import LadybugGraph

        return PropertyGraphProjection(LadybugGraph(self._config.graph_path))


def _set_aside(path: Path) -> list[Path]:
    """Renames a store's file or folder and its log; the newest damaged copy is kept."""
    moved = []
    for one in [path, *path.parent.glob(f"{path.name}.wal*")]:
        if not one.exists():
            continue
        aside = one.with_name(f"{one.name}.damaged")
        if aside.is_dir():
            shutil.rmtree(aside)
        else:
            aside.unlink(missing_ok=True)
        moved.append(one.rename(aside))
    return moved


def open_vectors(
    config: StoreConfig, embeddings: Embeddings, *, create: bool = True
) -> MilvusProjection | TableVectors:
    """Opens the vector store of a store that has one.

    Args:
        config: The store's configuration.
        embeddings: The store's vectors, for their dimension.
        create: Make a table of the catalog's database when it is not there.
    """
    if config.vectors == "catalog":
        from llama_index_semxpath.index.vector_table import TableVectors

        database = embeddings.catalog.database
        return TableVectors(database, dimension=embeddings.dimension, create=create)
    from llama_index_semxpath.index.milvus import MilvusProjection
    from llama_index_semxpath.index.vector_table import TableVectors

    return MilvusProjection(
        config.vectors_uri,
        dimension=embeddings.dimension,
        collection=config.collection,
        token=config.milvus_token,
        timeout=config.patience,
    )
