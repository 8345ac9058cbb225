"""Similarity in meaning by a store's own embedding model."""

from __future__ import annotations

from collections import OrderedDict

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.index.embedding import Vector
from llama_index_semxpath.query_engine.support import Similarity
from llama_index_semxpath.retrievers.readers import Library

_KEPT = 1024


def meaning_of(library: Library) -> Similarity:
    """Similarity of two texts by the model that made the store's vectors.

    Args:
        library: What is derived from the store.

    Returns:
        A function that gives the cosine, cut to [0, 1]; 0 where the model cannot be asked.
    """
    embedder = library.source.embeddings.embedder
    known: OrderedDict[str, Vector] = OrderedDict()

    def vectors(*texts: str) -> list[Vector]:
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            known.update(zip(missing, embedder.embed_texts(missing), strict=True))
        found = [known[text] for text in texts]
        while len(known) > _KEPT:
            known.popitem(last=False)
        return found

    def similarity(one: str, other: str) -> float:
        try:
            first, second = vectors(one, other)
        except (SemXPathError, OSError):
            return 0.0
        return min(1.0, max(0.0, float(first @ second)))

    return similarity
