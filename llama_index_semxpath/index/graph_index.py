"""A LlamaIndex ``PropertyGraphIndex`` over one of our graph stores."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index.core.graph_stores.types import PropertyGraphStore
from llama_index.core.indices.property_graph import ImplicitPathExtractor, PropertyGraphIndex
from llama_index.core.llms import LLM, MockLLM
from llama_index.core.schema import BaseNode, TransformComponent


def build_graph_index(
    store: PropertyGraphStore,
    *,
    nodes: Sequence[BaseNode] = (),
    kg_extractors: Sequence[TransformComponent] | None = None,
    llm: LLM | None = None,
) -> PropertyGraphIndex:
    """The index over a store, made so that it embeds nothing and calls no model by itself.

    Args:
        store: The graph store; what it holds already stays.
        nodes: Nodes to insert.
        kg_extractors: Extractors that run on inserted nodes; by default only what the nodes'
            own relationships say.
        llm: Language model for extractors and retrievers that ask for the index' own.

    Example:
        >>> from llama_index_semxpath.index.graph_store import MemoryPropertyGraphStore
        >>> index = build_graph_index(MemoryPropertyGraphStore())
        >>> index.property_graph_store.get()
        []
    """
    return PropertyGraphIndex(
        nodes=list(nodes),
        property_graph_store=store,
        kg_extractors=list(kg_extractors or [ImplicitPathExtractor()]),
        llm=llm or MockLLM(),
        embed_kg_nodes=False,
        use_async=False,
    )
