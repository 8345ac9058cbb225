"""From a question to a cited answer: intent, routes, context, synthesis."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llama_index_semxpath.query_engine.citations import (
        renumber_citations as renumber_citations,
    )
    from llama_index_semxpath.query_engine.engine import SectionQueryEngine as SectionQueryEngine
    from llama_index_semxpath.query_engine.engine import (
        SemXPathQueryEngine as SemXPathQueryEngine,
    )
    from llama_index_semxpath.query_engine.engine import build_query_engine as build_query_engine
    from llama_index_semxpath.query_engine.pipeline import Answer as Answer
    from llama_index_semxpath.query_engine.pipeline import Pipeline as Pipeline
    from llama_index_semxpath.query_engine.selector import IntentSelector as IntentSelector
    from llama_index_semxpath.query_engine.support import Support as Support
    from llama_index_semxpath.query_engine.synthesis import (
        HierarchicalSynthesizer as HierarchicalSynthesizer,
    )
    from llama_index_semxpath.query_engine.toolbox import Toolbox as Toolbox
    from llama_index_semxpath.query_engine.tools import build_tools as build_tools

# The pipeline itself needs no LlamaIndex; the command line must not pay for it.
_LAZY = {
    "Answer": "pipeline",
    "HierarchicalSynthesizer": "synthesis",
    "IntentSelector": "selector",
    "Pipeline": "pipeline",
    "SectionQueryEngine": "engine",
    "SemXPathQueryEngine": "engine",
    "Support": "support",
    "Toolbox": "toolbox",
    "build_query_engine": "engine",
    "build_tools": "tools",
    "renumber_citations": "citations",
}

__all__ = [
    "Answer",
    "HierarchicalSynthesizer",
    "IntentSelector",
    "Pipeline",
    "SectionQueryEngine",
    "SemXPathQueryEngine",
    "Support",
    "Toolbox",
    "build_query_engine",
    "build_tools",
    "renumber_citations",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
