"""Sources to trees: front ends for every format, and the LlamaIndex node parser over them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llama_index_semxpath.node_parser.base import SectionNodeParser as SectionNodeParser
    from llama_index_semxpath.node_parser.build import build_tree as build_tree
    from llama_index_semxpath.node_parser.convert import from_llama as from_llama
    from llama_index_semxpath.node_parser.convert import to_llama as to_llama
    from llama_index_semxpath.node_parser.exporting import export as export
    from llama_index_semxpath.node_parser.options import ParseOptions as ParseOptions
    from llama_index_semxpath.node_parser.registry import FORMATS as FORMATS
    from llama_index_semxpath.node_parser.registry import parse_bytes as parse_bytes
    from llama_index_semxpath.node_parser.registry import parse_file as parse_file
    from llama_index_semxpath.node_parser.serialize import node_to_dict as node_to_dict
    from llama_index_semxpath.node_parser.serialize import tree_to_dict as tree_to_dict
    from llama_index_semxpath.node_parser.summaries import SectionSummarizer as SectionSummarizer

# LlamaIndex costs seconds to import: only ``SectionNodeParser`` needs it.
_LAZY = {
    "FORMATS": "registry",
    "ParseOptions": "options",
    "SectionNodeParser": "base",
    "SectionSummarizer": "summaries",
    "build_tree": "build",
    "export": "exporting",
    "from_llama": "convert",
    "node_to_dict": "serialize",
    "parse_bytes": "registry",
    "parse_file": "registry",
    "to_llama": "convert",
    "tree_to_dict": "serialize",
}

__all__ = [
    "FORMATS",
    "ParseOptions",
    "SectionNodeParser",
    "SectionSummarizer",
    "build_tree",
    "export",
    "from_llama",
    "node_to_dict",
    "parse_bytes",
    "parse_file",
    "to_llama",
    "tree_to_dict",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
