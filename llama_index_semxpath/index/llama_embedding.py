"""The packaged model as an ordinary LlamaIndex embedding."""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr

from llama_index_semxpath.index.embedding import Embedder, PackagedEmbedder


class EmbedderEmbedding(BaseEmbedding):
    """An :class:`Embedder` as a LlamaIndex embedding model.

    Args:
        embedder: The model.
    """

    _embedder: Embedder = PrivateAttr()

    def __init__(self, embedder: Embedder, **kwargs: Any) -> None:
        kwargs.setdefault("embed_batch_size", 256)
        super().__init__(model_name=embedder.name, **kwargs)
        self._embedder = embedder

    @classmethod
    def class_name(cls) -> str:
        """Name of the class."""
        return "EmbedderEmbedding"

    @property
    def embedder(self) -> Embedder:
        """The model itself."""
        return self._embedder

    def _get_query_embedding(self, query: str) -> list[float]:
        return [float(x) for x in self._embedder.embed_query(query)]

    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(x) for x in self._embedder.embed_texts([text])[0]]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return [row.tolist() for row in self._embedder.embed_texts(texts)]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await asyncio.to_thread(self._get_query_embedding, query)


class PackagedEmbedding(EmbedderEmbedding):
    """The multilingual sentence encoder that ships as a package, for any LlamaIndex component.

    Example:
        >>> len(PackagedEmbedding().get_text_embedding("annual leave"))
        512
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(PackagedEmbedder(), **kwargs)

    @classmethod
    def class_name(cls) -> str:
        """Name of the class."""
        return "PackagedEmbedding"
