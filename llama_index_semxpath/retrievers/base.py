"""The routes as LlamaIndex retrievers, each usable alone, and all of them together."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.llms import LLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.retrievers.cache import Recent
from llama_index_semxpath.retrievers.evidence import Evidence, Principal, without_headings
from llama_index_semxpath.retrievers.graph import GraphRoute
from llama_index_semxpath.retrievers.intent import Route
from llama_index_semxpath.retrievers.models import LLMExpander, LLMTranslator
from llama_index_semxpath.retrievers.packs import count_tokens
from llama_index_semxpath.retrievers.readers import Library
from llama_index_semxpath.retrievers.routes import (
    RouteLike,
    SemanticRoute,
    StructuredRoute,
    TreeRoute,
)
from llama_index_semxpath.retrievers.search import Effort, Outcome, Search

logger = logging.getLogger(__name__)

#: Ranked results by default; what a hard filter keeps is never cut.
_RANKED = 10
#: Kinds that say little without what they hold, and the most tokens of it that are sent.
_HOLDERS = frozenset({"Section", "Document", "List", "Table", "Quote"})
_SECTION_TOKENS = 300
#: Results that a reranker looks at.
_RERANKED = 30
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
        if same[0].also:
            node.node.metadata["also"] = list(same[0].also)
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
        similarity_top_k: Most results, 1 and up; by default 10 of what is ranked and all that a
            hard filter keeps.
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
        similarity_top_k: int | None = None,
        principal: Principal = None,
        scope: str | None = None,
        callback_manager: CallbackManager | None = None,
        **kwargs: Any,
    ) -> None:
        if similarity_top_k is not None and similarity_top_k < 1:
            raise SemXPathError("similarity_top_k must be 1 or more", where=str(similarity_top_k))
        self._library = index if isinstance(index, Library) else Library(index)
        self._limit = similarity_top_k or _RANKED
        self._most = similarity_top_k
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
        evidence = self._evidence(query_bundle.query_str)
        return self._told(evidence[: self._most])

    def _told(self, evidence: Sequence[Evidence]) -> list[NodeWithScore]:
        """Evidence as nodes; a heading comes with the text below it, as far as it is short."""
        nodes = to_nodes(evidence)
        for node in nodes:
            match = node.node.metadata
            if match["kind"] in _HOLDERS and "end" not in match:
                self._fill(node)
        return nodes

    def _fill(self, node: NodeWithScore) -> None:
        inside = self._library.source.subtree(node.node.node_id, self._principal)
        texts: list[str] = []
        left = _SECTION_TOKENS
        for one in inside:
            # A table's rows repeat its header; a row says its cells.
            text = one.text if one.kind != "Table" or len(inside) == 1 else ""
            cost = count_tokens(text)
            if texts and cost > left:
                node.node.metadata["cut"] = True
                break
            if text:
                texts.append(text)
                left -= cost
        if texts:
            node.node.set_content("\n".join(texts))

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
        similarity_top_k: Most results, 1 and up; by default 10 of what is ranked and all that a
            hard filter keeps.
        principal: Labels of who asks; ``None`` holds none.
        effort: ``fast``, ``normal`` or ``deep``.
        weights: Weights by route that override those of the intent.
        llm: A model that reads questions which the rules cannot, and takes them apart for the
            effort ``deep``; ``None`` for rules alone.
        reranker: Any LlamaIndex node postprocessor; orders are kept for questions asked again.
        timeout: Seconds that the routes of a question have; ``None`` for no limit.
        variety: 0 ranks by fit alone; up to 1 the more each result must differ from the others.
        callback_manager: LlamaIndex callbacks.

    Raises:
        SemXPathError: An effort or route that does not exist.
    """

    def __init__(
        self,
        index: Any,
        *,
        similarity_top_k: int | None = None,
        principal: Principal = None,
        effort: Effort = "normal",
        weights: Mapping[str, float] | None = None,
        llm: LLM | None = None,
        reranker: BaseNodePostprocessor | None = None,
        timeout: float | None = None,
        variety: float = 0.0,
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
        self._search = Search(
            self._library,
            weights,
            timeout=timeout,
            variety=variety,
            translator=None if llm is None else LLMTranslator(llm),
            expander=None if llm is None else LLMExpander(llm),
        )
        self._reranker = reranker
        self._orders: Recent[list[NodeWithScore]] = Recent(self._library)

    def search(self, question: str) -> Outcome:
        """The search with its intent, query and what each route said."""
        return self._search.run(
            question, limit=self._limit, principal=self._principal, effort=self._effort
        )

    def _evidence(self, question: str) -> Sequence[Evidence]:
        return self.search(question).evidence

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self._reranker is None:
            return super()._retrieve(query_bundle)
        question = query_bundle.query_str
        outcome = self._search.run(
            question,
            limit=max(self._limit, _RERANKED),
            principal=self._principal,
            effort=self._effort,
        )
        if outcome.exact:
            # What a hard filter keeps stands in document order; a model has no say in it.
            return self._told(outcome.evidence[: self._most])
        key = (question, tuple(one.key for one in outcome.evidence))
        ordered = self._orders.get(key, self._principal)
        if ordered is None:
            nodes = self._told(outcome.evidence)
            try:
                ordered = self._reranker.postprocess_nodes(nodes, query_bundle)
            except Exception as error:  # a user's model may raise anything; the order stays
                logger.warning("the reranker failed, the order stays as it was: %s", error)
                return nodes[: self._limit]
            self._orders.put(key, self._principal, ordered)
        return ordered[: self._limit]


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
