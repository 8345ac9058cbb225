"""An address system for documents and agent memory on LlamaIndex.

Every document becomes a tree of typed nodes, every node has one id in the catalog, the vector
store and the property graph, and one language, SemXPath, asks by structure, meaning and relation.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llama_index_semxpath.index import SemXPathIndex as SemXPathIndex
    from llama_index_semxpath.node_parser import SectionNodeParser as SectionNodeParser

__version__ = "0.1.0"

# Heavy parts (LlamaIndex, Milvus, Ladybug) load when a name is first used, not on import.
_LAZY = {
    "SemXPathIndex": "llama_index_semxpath.index",
    "SectionNodeParser": "llama_index_semxpath.node_parser",
}

__all__ = ["SectionNodeParser", "SemXPathIndex", "__version__"]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
