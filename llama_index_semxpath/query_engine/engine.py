"""The query engine: a router by intent over structure, meaning and both, with cited answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator, Sequence
from dataclasses import asdict
from typing import Any, Literal

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import (
    RESPONSE_TYPE,
    AsyncStreamingResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.callbacks import CallbackManager
from llama_index.core.llms import LLM
from llama_index.core.llms.mock import MockLLM
from llama_index.core.prompts import BasePromptTemplate
from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
from llama_index.core.query_engine import RouterQueryEngine
from llama_index.core.schema import QueryBundle
from llama_index.core.tools import QueryEngineTool

from llama_index_semxpath.instrumentation import span
from llama_index_semxpath.instrumentation.events import AnswerEvent, tell
from llama_index_semxpath.query_engine.answer import Extract
from llama_index_semxpath.query_engine.compose import Written
from llama_index_semxpath.query_engine.history import standalone
from llama_index_semxpath.query_engine.layout import to_sources
from llama_index_semxpath.query_engine.pipeline import (
    Answer,
    Pipeline,
    Prepared,
    extractive,
    finish,
)
from llama_index_semxpath.query_engine.selector import IntentSelector
from llama_index_semxpath.query_engine.similarity import meaning_of
from llama_index_semxpath.query_engine.support import Support
from llama_index_semxpath.query_engine.synthesis import (
    HierarchicalSynthesizer,
    History,
    Usage,
)
from llama_index_semxpath.retrievers.base import to_nodes
from llama_index_semxpath.retrievers.evidence import Principal
from llama_index_semxpath.retrievers.intent import Intent, Route, looks_like_query, read_intent
from llama_index_semxpath.retrievers.search import Effort

_ROUTES: dict[str, tuple[tuple[Route, ...], str]] = {
    "structure": (
        ("structured",),
        "structured look-up: places, numbers, titles, fields and values, or a SemXPath query",
    ),
    "meaning": (("tree", "semantic", "graph"), "meaning: what the text says, by words and sense"),
    "mixed": (
        ("structured", "tree", "semantic", "graph"),
        "both: questions that name a place or condition and ask about a meaning in it",
    ),
}


class SectionQueryEngine(BaseQueryEngine):
    """Answers over some of the routes.

    Args:
        pipeline: Search and context.
        routes: The routes it may ask.
        llm: A model that writes the answer; ``None`` makes it extractive.
        principal: Labels of who asks.
        effort: ``fast``, ``normal`` or ``deep``.
        similarity_top_k: Most pieces of evidence, 1 and up.
        prompt: What a model is asked.
        streaming: Give a model's answer sentence by sentence, each verified before it is shown.
        synthesizer: Writes and verifies answers; one over ``llm`` by default.
        callback_manager: LlamaIndex callbacks.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        *,
        routes: Sequence[Route] = ("structured", "tree", "semantic", "graph"),
        llm: LLM | None = None,
        principal: Principal = None,
        effort: Effort = "normal",
        similarity_top_k: int = 20,
        prompt: BasePromptTemplate | None = None,
        streaming: bool = False,
        synthesizer: HierarchicalSynthesizer | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._routes = tuple(routes)
        self._principal = principal
        self._effort = effort
        self._limit = similarity_top_k
        self._streaming = streaming
        if synthesizer is None and llm is not None:
            synthesizer = HierarchicalSynthesizer(llm, answer_prompt=prompt)
        self._synthesizer = synthesizer
        self._support = Support(meaning_of(pipeline.search.library))
        super().__init__(callback_manager or CallbackManager())

    def answer(self, question: str, history: History = None) -> Answer:
        """The answer with all it rests on.

        Args:
            question: What is asked.
            history: The conversation so far, oldest first; a question that leans on it is searched
                together with the one before.
        """
        prepared = self._prepare(question, history)
        writer = self._writer(prepared)
        if writer is None:
            return self._told(extractive(prepared), [])
        written, usage = writer.write(
            question, to_sources(prepared.sources), history=history, support=self._support
        )
        return self._written(prepared, written, usage)

    async def aanswer(self, question: str, history: History = None) -> Answer:
        """The answer with all it rests on, without blocking the event loop."""
        prepared = await asyncio.to_thread(self._prepare, question, history)
        writer = self._writer(prepared)
        if writer is None:
            return self._told(await asyncio.to_thread(extractive, prepared), [])
        written, usage = await writer.awrite(
            question, to_sources(prepared.sources), history=history, support=self._support
        )
        return self._written(prepared, written, usage)

    def _prepare(self, question: str, history: History = None) -> Prepared:
        asked = standalone(question, history)
        with span("retrieval", question=asked) as facts:
            names = self._pipeline.search.library.reader(self._principal).names
            intent = read_intent(asked, names)
            if not looks_like_query(asked):
                weights = {r: w for r, w in intent.weights.items() if r in self._routes}
                if not any(weights.values()):
                    weights = dict.fromkeys(self._routes, 1.0)
                intent = Intent(intent.kind, weights, intent.reasons, intent.quoted)
            prepared = self._pipeline.prepare(
                asked,
                principal=self._principal,
                effort=self._effort,
                limit=self._limit,
                intent=intent,
            )
            facts.update(intent=intent.kind, sources=len(prepared.sources))
        if asked != question:
            prepared.outcome.notes.append(f"searched as: {asked}")
        return prepared

    def _writer(self, prepared: Prepared) -> HierarchicalSynthesizer | None:
        """The synthesizer, where there is something for a model to write about."""
        if not prepared.sources or looks_like_query(prepared.outcome.question):
            return None
        return self._synthesizer

    def _written(self, prepared: Prepared, written: Written, usage: Usage) -> Answer:
        """A verified answer with its evidence; without a usable model reply, the extractive one."""
        if not written.by_model:
            answer = extractive(prepared)
            answer.unsupported = list(written.unsupported)
        else:
            extract = Extract(written.text, written.references, written.found, written.confidence)
            answer = finish(prepared, extract)
            answer.confidence_reasons = list(written.reasons)
            answer.unsupported = list(written.unsupported)
        answer.notes.extend(written.notes)
        answer.usage = asdict(usage)
        return self._told(answer, written.removed)

    def _told(self, answer: Answer, removed: list[str]) -> Answer:
        tell(
            AnswerEvent(
                question=answer.question,
                intent=answer.intent.kind,
                query=answer.query,
                found=answer.found,
                citations=len(answer.citations),
                removed=removed,
            )
        )
        return answer

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        question = query_bundle.query_str
        if not self._streaming or self._synthesizer is None:
            return to_response(self.answer(question))
        prepared = self._prepare(question)
        writer = self._writer(prepared)
        if writer is None:
            return to_response(self._told(extractive(prepared), []))
        stream, written, usage = writer.stream(
            question, to_sources(prepared.sources), support=self._support
        )
        metadata = _before(prepared)

        def told() -> Generator[str, None, None]:
            yield from stream
            metadata.update(to_metadata(self._written(prepared, written, usage)))

        return StreamingResponse(told(), to_nodes(prepared.outcome.evidence), metadata)

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        question = query_bundle.query_str
        if not self._streaming or self._synthesizer is None:
            return to_response(await self.aanswer(question))
        prepared = await asyncio.to_thread(self._prepare, question)
        writer = self._writer(prepared)
        if writer is None:
            return to_response(self._told(await asyncio.to_thread(extractive, prepared), []))
        stream, written, usage = writer.astream(
            question, to_sources(prepared.sources), support=self._support
        )
        metadata = _before(prepared)

        async def told() -> AsyncGenerator[str, None]:
            async for part in stream:
                yield part
            metadata.update(to_metadata(self._written(prepared, written, usage)))

        return AsyncStreamingResponse(told(), to_nodes(prepared.outcome.evidence), metadata)

    # LlamaIndex reaches prompts one level deep: those of the synthesizer are shown as our own.

    def _get_prompts(self) -> PromptDictType:
        return {} if self._synthesizer is None else self._synthesizer.get_prompts()

    def _update_prompts(self, prompts: PromptDictType) -> None:
        if self._synthesizer is not None:
            self._synthesizer.update_prompts(prompts)

    def _get_prompt_modules(self) -> PromptMixinType:
        return {}


class SemXPathQueryEngine(RouterQueryEngine):
    """A router whose selector reads intent: places go to structure, others to meaning, or both.

    No model is called unless one is given, and ``Settings.llm`` is never looked at.

    Args:
        index: A ``SemXPathIndex`` or a ``Reader``.
        llm: A model that writes answers; ``None`` makes them extractive.
        selector: Chooses the route; rules by default.
        principal: Labels of who asks.
        effort: ``fast``, ``normal`` or ``deep``.
        similarity_top_k: Most pieces of evidence, 1 and up.
        budget: Tokens of context; by effort where it is not given.
        prompt: What a model is asked for an answer.
        streaming: Give a model's answer sentence by sentence, each verified before it is shown.
        synthesizer: Writes and verifies answers; one over ``llm`` by default.
        verbose: Print which route is taken.
    """

    def __init__(
        self,
        index: Any,
        llm: LLM | None = None,
        *,
        selector: IntentSelector | None = None,
        principal: Principal = None,
        effort: Effort = "normal",
        similarity_top_k: int = 20,
        budget: int | None = None,
        prompt: BasePromptTemplate | None = None,
        streaming: bool = False,
        synthesizer: HierarchicalSynthesizer | None = None,
        verbose: bool = False,
    ) -> None:
        self.pipeline = Pipeline(index, budget=budget)
        if synthesizer is None and llm is not None:
            synthesizer = HierarchicalSynthesizer(llm, answer_prompt=prompt)
        self._parts = {
            name: SectionQueryEngine(
                self.pipeline,
                routes=routes,
                llm=llm,
                principal=principal,
                effort=effort,
                similarity_top_k=similarity_top_k,
                streaming=streaming,
                synthesizer=synthesizer,
            )
            for name, (routes, _) in _ROUTES.items()
        }
        tools = [
            QueryEngineTool.from_defaults(part, name=name, description=_ROUTES[name][1])
            for name, part in self._parts.items()
        ]
        names = sorted(self.pipeline.search.library.reader(principal).names)
        super().__init__(
            selector or IntentSelector(names=names, default="mixed"),
            tools,
            llm=llm or MockLLM(),
            verbose=verbose,
        )

    @classmethod
    def from_defaults(  # type: ignore[override]
        cls, index: Any, llm: LLM | None = None, **options: Any
    ) -> SemXPathQueryEngine:
        """An engine with defaults."""
        return cls(index, llm, **options)

    @classmethod
    def class_name(cls) -> str:
        """Name of the class."""
        return "SemXPathQueryEngine"

    def ask(self, question: str, history: History = None) -> Answer:
        """The answer with its intent, query, citations and notes.

        Args:
            question: What is asked.
            history: The conversation so far, oldest first.
        """
        asked = standalone(question, history)
        selected = self._selector.select(self._metadatas, asked)
        return self._part(selected.ind).answer(question, history)

    async def aask(self, question: str, history: History = None) -> Answer:
        """The same without blocking the event loop."""
        asked = standalone(question, history)
        selected = await self._selector.aselect(self._metadatas, asked)
        return await self._part(selected.ind).aanswer(question, history)

    def _part(self, place: int) -> SectionQueryEngine:
        return list(self._parts.values())[place]

    def _get_prompt_modules(self) -> PromptMixinType:
        return {**super()._get_prompt_modules(), **self._parts}


def to_metadata(answer: Answer) -> dict[str, Any]:
    """What a response tells beside its text."""
    return {
        "intent": answer.intent.kind,
        "reasons": list(answer.intent.reasons),
        "query": answer.query,
        "found": answer.found,
        "confidence": answer.confidence,
        "confidence_reasons": list(answer.confidence_reasons),
        "citations": answer.citations,
        "unsupported": list(answer.unsupported),
        "usage": dict(answer.usage),
        "notes": list(answer.notes),
    }


def _before(prepared: Prepared) -> dict[str, Any]:
    """What a streaming response tells before its end; the rest follows with the last sentence."""
    intent = prepared.outcome.intent
    reasons = list(intent.reasons)
    return {"intent": intent.kind, "reasons": reasons, "query": prepared.outcome.query}


def to_response(answer: Answer) -> Response:
    """An answer as a LlamaIndex response; each node once, with its place as metadata."""
    return Response(
        response=answer.text,
        source_nodes=to_nodes(answer.evidence),
        metadata=to_metadata(answer),
    )


def build_query_engine(
    index: Any,
    llm: LLM | None = None,
    effort: Literal["fast", "normal", "deep"] = "normal",
    **options: Any,
) -> SemXPathQueryEngine:
    """The query engine of an index; see :class:`SemXPathQueryEngine`."""
    return SemXPathQueryEngine(index, llm, effort=effort, **options)
