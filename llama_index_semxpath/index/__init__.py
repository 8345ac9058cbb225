"""The store: a catalog that is the authority, and the projections that follow it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llama_index_semxpath.index.base import SemXPathIndex as SemXPathIndex
    from llama_index_semxpath.index.catalog import Catalog as Catalog
    from llama_index_semxpath.index.config import StoreConfig as StoreConfig
    from llama_index_semxpath.index.folder import IndexReport as IndexReport
    from llama_index_semxpath.index.folder import index_paths as index_paths
    from llama_index_semxpath.index.match import Match as Match
    from llama_index_semxpath.index.match import NodeView as NodeView
    from llama_index_semxpath.index.match import QueryResult as QueryResult
    from llama_index_semxpath.index.reader import Reader as Reader

# Reading a store must not import LlamaIndex; each name loads its own module when first used.
_LAZY = {
    "Catalog": "catalog",
    "IndexReport": "folder",
    "Match": "match",
    "NodeView": "match",
    "QueryResult": "match",
    "Reader": "reader",
    "SemXPathIndex": "base",
    "StoreConfig": "config",
    "index_paths": "folder",
}

__all__ = [
    "Catalog",
    "IndexReport",
    "Match",
    "NodeView",
    "QueryResult",
    "Reader",
    "SemXPathIndex",
    "StoreConfig",
    "index_paths",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
