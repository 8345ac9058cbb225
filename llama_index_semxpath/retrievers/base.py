"""The routes as LlamaIndex retrievers, each usable alone, and all of them together."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.retrievers.evidence import Evidence, Principal, without_headings
from llama_index_semxpath.retrievers.graph import GraphRoute
from llama_index_semxpath.retrievers.intent import Route
from llama_index_semxpath.retrievers.readers import Library
from llama_index_semxpath.retrievers.routes import (
    RouteLike,
    SemanticRoute,
    StructuredRoute,
    TreeRoute,
)
from llama_index_semxpath.retrievers.search import Effort, Outcome, Search

#: Metadata for people and programs; models see the heading path once, through the context.
_NOT_SENT = ["kind", "document", "xpath", "order", "why", "start", "end"]


def to_node(evidence: Evidence) -> NodeWithScore:
    """Evidence as a LlamaIndex node under its own id, with its place as metadata."""
    match = evidence.match
    metadata: dict[str, Any] = {
        "path": list(match.path),
        "kind": match.kind,
        "document": match.document,
        "xpath": match.xpath,
        "order": match.node.order,
        "why": {name: score for name, score in evidence.why.items() if score is not None},
    }
    for name, value in (
        ("title", match.title),
        ("number", match.node.number),
        ("page", match.node.page),
    ):
        if value is not None:
            metadata[name] = value
    if evidence.end is not None:
        metadata.update(start=evidence.start, end=evidence.end)
    node = TextNode(
        id_=match.id,
        text=evidence.text or _values(evidence),
        metadata=metadata,
        excluded_embed_metadata_keys=list(metadata),
        excluded_llm_metadata_keys=[key for key in metadata if key in _NOT_SENT],
    )
    return NodeWithScore(node=node, score=evidence.score)


def to_nodes(evidence: Sequence[Evidence]) -> list[NodeWithScore]:
    """Evidence as LlamaIndex nodes, one a node id: excerpts of one node are joined in its order."""
    parts: dict[str, list[Evidence]] = {}
    for one in without_headings(evidence):
        parts.setdefault(one.match.id, []).append(one)
    nodes = []
    for same in parts.values():
        node = to_node(same[0])
        if len(same) > 1:
            ordered = sorted(same, key=lambda one: one.start)
            node.node.set_content("\n".join(one.text for one in ordered))
            node.node.metadata.update(start=ordered[0].start, end=ordered[-1].end)
        nodes.append(node)
    return nodes


class SemXPathRetriever(BaseRetriever):
    """A retriever over one index, for one principal.

    Args:
        index: A ``SemXPathIndex`` or a ``Reader``.
        similarity_top_k: Most results, 1 and up.
        principal: Labels of who asks; ``None`` holds none.
        scope: SemXPath whose results and their descendants are searched; ``None`` for all.
        callback_manager: LlamaIndex callbacks.

    Raises:
        SemXPathError: ``similarity_top_k`` below 1.
    """

    def __init__(
        self,
        index: Any,
        *,
        similarity_top_k: int = 10,
        principal: Principal = None,
        scope: str | None = None,
        callback_manager: CallbackManager | None = None,
        **kwargs: Any,
    ) -> None:
        if similarity_top_k < 1:
            raise SemXPathError("similarity_top_k must be 1 or more", where=str(similarity_top_k))
        self._library = index if isinstance(index, Library) else Library(index)
        self._limit = similarity_top_k
        self._principal = principal
        self._scope = scope
        super().__init__(callback_manager=callback_manager, **kwargs)

    @classmethod
    def class_name(cls) -> str:
        """Name of the class."""
        return cls.__name__

    def _evidence(self, question: str) -> Sequence[Evidence]:
        raise NotImplementedError

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return to_nodes(self._evidence(query_bundle.query_str))[: self._limit]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class _RouteRetriever(SemXPathRetriever):
    """One route alone."""

    def _route(self) -> RouteLike:
        raise NotImplementedError

    def _evidence(self, question: str) -> Sequence[Evidence]:
        found = self._route().find(
            question, limit=self._limit, principal=self._principal, scope=self._scope
        )
        return found.evidence


class StructuredFilterRetriever(_RouteRetriever):
    """Runs a SemXPath query, or a question that names places, fields and values as one."""

    def _route(self) -> RouteLike:
        return StructuredRoute(self._library)


class TreeRetriever(_RouteRetriever):
    """Keyword evidence in its place: documents first, then sections and passages in them."""

    def _route(self) -> RouteLike:
        return TreeRoute(self._library)


class SemanticRetriever(_RouteRetriever):
    """Nodes nearest in meaning, within a scope if one is given."""

    def _route(self) -> RouteLike:
        return SemanticRoute(self._library)


class GraphRetriever(_RouteRetriever):
    """Relations around the entities that the question names, as facts."""

    def _route(self) -> RouteLike:
        return GraphRoute(self._library)


class AutoRetriever(SemXPathRetriever):
    """Reads the question's intent, asks the routes it trusts and fuses what they find.

    Args:
        index: A ``SemXPathIndex`` or a ``Reader``.
        similarity_top_k: Most results, 1 and up.
        principal: Labels of who asks; ``None`` holds none.
        effort: ``fast``, ``normal`` or ``deep``.
        weights: Weights by route that override those of the intent.
        callback_manager: LlamaIndex callbacks.

    Raises:
        SemXPathError: An effort or route that does not exist.
    """

    def __init__(
        self,
        index: Any,
        *,
        similarity_top_k: int = 10,
        principal: Principal = None,
        effort: Effort = "normal",
        weights: Mapping[str, float] | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        super().__init__(
            index,
            similarity_top_k=similarity_top_k,
            principal=principal,
            callback_manager=callback_manager,
        )
        if effort not in get_args(Effort):
            raise SemXPathError("unknown effort", where=str(effort), hint="fast, normal or deep")
        self._effort = effort
        self._search = Search(self._library, weights)

    def search(self, question: str) -> Outcome:
        """The search with its intent, query and what each route said."""
        return self._search.run(
            question, limit=self._limit, principal=self._principal, effort=self._effort
        )

    def _evidence(self, question: str) -> Sequence[Evidence]:
        return self.search(question).evidence


_MODES: dict[str, type[SemXPathRetriever]] = {
    "auto": AutoRetriever,
    "structured": StructuredFilterRetriever,
    "tree": TreeRetriever,
    "graph": GraphRetriever,
    "semantic": SemanticRetriever,
}


def build_retriever(index: Any, mode: str = "auto", **options: Any) -> SemXPathRetriever:
    """A retriever of an index by the name of its mode.

    Args:
        index: A ``SemXPathIndex`` or a ``Reader``.
        mode: ``auto``, ``structured``, ``tree``, ``graph`` or ``semantic``.
        options: What the retriever takes.

    Raises:
        SemXPathError: A mode that does not exist.
    """
    if mode not in _MODES:
        raise SemXPathError("unknown mode", where=str(mode), hint=f"use one of {', '.join(_MODES)}")
    return _MODES[mode](index, **options)


def _values(evidence: Evidence) -> str:
    """What a node without text says: its attributes."""
    shown = evidence.match.attributes.items()
    return "; ".join(f"{name}: {value}" for name, value in shown)


__all__ = [
    "AutoRetriever",
    "GraphRetriever",
    "Route",
    "SemXPathRetriever",
    "SemanticRetriever",
    "StructuredFilterRetriever",
    "TreeRetriever",
    "build_retriever",
    "to_node",
    "to_nodes",
]
