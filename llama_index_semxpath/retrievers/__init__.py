"""Retrievers over one index: by structure, words, meaning and relations, and all of them fused."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llama_index_semxpath.retrievers.base import AutoRetriever as AutoRetriever
    from llama_index_semxpath.retrievers.base import GraphRetriever as GraphRetriever
    from llama_index_semxpath.retrievers.base import SemanticRetriever as SemanticRetriever
    from llama_index_semxpath.retrievers.base import (
        StructuredFilterRetriever as StructuredFilterRetriever,
    )
    from llama_index_semxpath.retrievers.base import TreeRetriever as TreeRetriever
    from llama_index_semxpath.retrievers.base import build_retriever as build_retriever
    from llama_index_semxpath.retrievers.fusion import (
        reciprocal_rank_fusion as reciprocal_rank_fusion,
    )
    from llama_index_semxpath.retrievers.search import Search as Search

# The routes themselves need no LlamaIndex; the command line must not pay for it.
_LAZY = {
    "AutoRetriever": "base",
    "GraphRetriever": "base",
    "Search": "search",
    "SemanticRetriever": "base",
    "StructuredFilterRetriever": "base",
    "TreeRetriever": "base",
    "build_retriever": "base",
    "reciprocal_rank_fusion": "fusion",
}

__all__ = [
    "AutoRetriever",
    "GraphRetriever",
    "Search",
    "SemanticRetriever",
    "StructuredFilterRetriever",
    "TreeRetriever",
    "build_retriever",
    "reciprocal_rank_fusion",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
