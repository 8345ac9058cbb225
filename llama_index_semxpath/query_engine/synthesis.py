"""Hierarchical synthesis as a LlamaIndex component: sources in their places, answers verified."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
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
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.response_synthesizers import BaseSynthesizer
from llama_index.core.schema import NodeWithScore, QueryType
from llama_index.core.types import RESPONSE_TEXT_TYPE

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.instrumentation import carried, span
from llama_index_semxpath.instrumentation.events import ModelCallEvent, tell
from llama_index_semxpath.node_parser.options import ParseOptions
from llama_index_semxpath.node_parser.tokens import token_counter
from llama_index_semxpath.query_engine.compose import Ask, Composition, Reply, Window, Written
from llama_index_semxpath.query_engine.layout import Source
from llama_index_semxpath.query_engine.live import LiveAnswer
from llama_index_semxpath.query_engine.prompts import (
    ANSWER_PROMPT,
    PART_PROMPT,
    TRANSLATE_PROMPT,
)
from llama_index_semxpath.query_engine.sources import sources_of_nodes
from llama_index_semxpath.query_engine.support import Support

History = Sequence[ChatMessage | str] | None
_DEFAULT_OUTPUT = 512


@dataclass(slots=True)
class Usage:
    """What the model calls of one answer cost.

    Args:
        calls: How many there were.
        prompt_tokens: Tokens sent, as counted here.
        completion_tokens: Tokens that came back, as counted here.
        seconds: Time of all calls, those side by side added up.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0


class HierarchicalSynthesizer(BaseSynthesizer):
    """Answers from sources in their natural order and nesting, with verified citations.

    Whatever fits goes into one call. What does not is condensed bottom up, among siblings only, in
    as few and as full calls as the window allows, side by side; documents meet last. Text, table
    facts and relations stand in labelled parts of the prompt. Afterwards every statement is held
    against its sources: citations of nothing or of something else are removed and told, and an
    answer that no source supports gives way to the sources' own words.

    Args:
        llm: The model; without one the answer is made of the sources' own words.
        callback_manager: LlamaIndex callbacks.
        streaming: Give answers sentence by sentence, each verified before it is shown.
        answer_prompt: What is asked for the answer.
        part_prompt: What is asked for notes of a part that does not fit.
        tokenizer: Text to tokens; the encoding that LlamaIndex ships by default.
        support: Holds statements against sources; give one with an entailment model here.
        context_window: Tokens of prompt and answer; what the model says by default.
        num_output: Tokens kept for the answer; what the model says by default.
        max_calls: Most calls for one answer, 1 and up; the weakest sources are left out beyond.
        workers: Most calls side by side, 1 and up.

    Raises:
        SemXPathError: A limit below 1.
    """

    def __init__(
        self,
        llm: LLM | None = None,
        *,
        callback_manager: CallbackManager | None = None,
        streaming: bool = False,
        answer_prompt: BasePromptTemplate | None = None,
        part_prompt: BasePromptTemplate | None = None,
        tokenizer: Callable[[str], Sequence[Any]] | None = None,
        support: Support | None = None,
        context_window: int | None = None,
        num_output: int | None = None,
        max_calls: int = 16,
        workers: int = 4,
    ) -> None:
        for name, value in (("max_calls", max_calls), ("workers", workers)):
            if value < 1:
                raise SemXPathError(f"{name} must be 1 or more", where=str(value))
        # The base class resolves Settings.llm, and with it a key, unless it is given one.
        super().__init__(
            llm=llm or MockLLM(),
            callback_manager=callback_manager or (llm.callback_manager if llm else None),
            streaming=streaming,
        )
        self._model = llm
        self._prompts: dict[str, BasePromptTemplate] = {
            "answer": answer_prompt or ANSWER_PROMPT,
            "part": part_prompt or PART_PROMPT,
            "translate": TRANSLATE_PROMPT,
        }
        self._count = token_counter(ParseOptions(tokenizer=tokenizer))
        self._support = support
        self._context_window = context_window
        self._num_output = num_output
        self._max_calls = max_calls
        self._workers = workers

    @classmethod
    def from_defaults(cls, llm: LLM | None = None, **options: Any) -> HierarchicalSynthesizer:
        """A synthesizer with defaults."""
        return cls(llm, **options)

    @classmethod
    def class_name(cls) -> str:
        """Name of the class."""
        return "HierarchicalSynthesizer"

    # What we offer: sources to a verified answer

    def write(
        self,
        question: str,
        sources: Sequence[Source],
        *,
        history: History = None,
        support: Support | None = None,
    ) -> tuple[Written, Usage]:
        """A verified answer, and what it cost.

        Args:
            question: What is asked.
            sources: What the answer may draw on, best first.
            history: The conversation so far, oldest first.
            support: Holds statements against sources, for this answer.
        """
        usage = Usage()
        with span("synthesis", sources=len(sources)) as facts:
            composition = self._compose(question, sources, history, support)
            ask = self._reduced(composition, usage)
            if ask is None:
                written = composition.extract()
            else:
                reply = self._call(ask, usage)
                second = composition.again(reply)
                better = self._call(second, usage) if second else reply
                written = composition.finish(reply if isinstance(better, Exception) else better)
            facts.update(_facts(written, usage))
        return written, usage

    async def awrite(
        self,
        question: str,
        sources: Sequence[Source],
        *,
        history: History = None,
        support: Support | None = None,
    ) -> tuple[Written, Usage]:
        """:meth:`write` without blocking the event loop."""
        usage = Usage()
        with span("synthesis", sources=len(sources)) as facts:
            composition = self._compose(question, sources, history, support)
            ask = await self._areduced(composition, usage)
            if ask is None:
                written = await asyncio.to_thread(composition.extract)
            else:
                reply = await self._acall(ask, usage)
                second = composition.again(reply)
                better = await self._acall(second, usage) if second else reply
                reply = reply if isinstance(better, Exception) else better
                written = await asyncio.to_thread(composition.finish, reply)
            facts.update(_facts(written, usage))
        return written, usage

    def stream(
        self,
        question: str,
        sources: Sequence[Source],
        *,
        history: History = None,
        support: Support | None = None,
    ) -> tuple[Generator[str, None, None], Written, Usage]:
        """The answer sentence by sentence; the second part is filled when the stream has ended."""
        usage, written = Usage(), Written("")
        composition = self._compose(question, sources, history, support)
        ask = self._reduced(composition, usage)

        def told() -> Generator[str, None, None]:
            live = LiveAnswer(composition, written)
            if ask is not None and self._model is not None:
                started = time.perf_counter()
                try:
                    for delta in self._model.stream(self._prompts[ask.prompt], **ask.fields):
                        if ready := live.add(delta):
                            yield ready
                except Exception as error:  # a model's client may raise anything
                    live.problem = error
                self._account(ask, live.problem or live.raw, started, usage)
            yield from live.end()

        return told(), written, usage

    def astream(
        self,
        question: str,
        sources: Sequence[Source],
        *,
        history: History = None,
        support: Support | None = None,
    ) -> tuple[AsyncGenerator[str, None], Written, Usage]:
        """:meth:`stream` without blocking the event loop."""
        usage, written = Usage(), Written("")
        composition = self._compose(question, sources, history, support)

        async def told() -> AsyncGenerator[str, None]:
            live = LiveAnswer(composition, written)
            ask = await self._areduced(composition, usage)
            if ask is not None and self._model is not None:
                started = time.perf_counter()
                try:
                    prompt = self._prompts[ask.prompt]
                    async for delta in await self._model.astream(prompt, **ask.fields):
                        if ready := live.add(delta):
                            yield ready
                except Exception as error:  # as in `stream`
                    live.problem = error
                self._account(ask, live.problem or live.raw, started, usage)
            for part in live.end():
                yield part

        return told(), written, usage

    # What LlamaIndex asks for

    def synthesize(
        self,
        query: QueryType,
        nodes: list[NodeWithScore],
        additional_source_nodes: Sequence[NodeWithScore] | None = None,
        **response_kwargs: Any,
    ) -> RESPONSE_TYPE:
        """A response with verified citations.

        Args:
            query: What is asked.
            nodes: What the answer may draw on; those of our retrievers carry their places.
            additional_source_nodes: Shown as sources beside them.
            response_kwargs: ``history``, the conversation so far.
        """
        question = query if isinstance(query, str) else query.query_str
        sources, ids = sources_of_nodes(nodes)
        shown = [*nodes, *(additional_source_nodes or ())]
        history = response_kwargs.get("history")
        if not self._streaming:
            written, usage = self.write(question, sources, history=history)
            return Response(written.text, shown, to_metadata(written, usage, sources, ids))
        stream, written, usage = self.stream(question, sources, history=history)
        metadata: dict[str, Any] = {}

        def told() -> Generator[str, None, None]:
            yield from stream
            metadata.update(to_metadata(written, usage, sources, ids))

        return StreamingResponse(told(), shown, metadata)

    async def asynthesize(
        self,
        query: QueryType,
        nodes: list[NodeWithScore],
        additional_source_nodes: Sequence[NodeWithScore] | None = None,
        **response_kwargs: Any,
    ) -> RESPONSE_TYPE:
        """:meth:`synthesize` without blocking the event loop."""
        question = query if isinstance(query, str) else query.query_str
        sources, ids = sources_of_nodes(nodes)
        shown = [*nodes, *(additional_source_nodes or ())]
        history = response_kwargs.get("history")
        if not self._streaming:
            written, usage = await self.awrite(question, sources, history=history)
            return Response(written.text, shown, to_metadata(written, usage, sources, ids))
        stream, written, usage = self.astream(question, sources, history=history)
        metadata: dict[str, Any] = {}

        async def told() -> AsyncGenerator[str, None]:
            async for part in stream:
                yield part
            metadata.update(to_metadata(written, usage, sources, ids))

        return AsyncStreamingResponse(told(), shown, metadata)

    def get_response(
        self, query_str: str, text_chunks: Sequence[str], **response_kwargs: Any
    ) -> RESPONSE_TEXT_TYPE:
        """The answer from plain texts, each a source of its own."""
        sources = [Source("", texts=[text]) for text in text_chunks]
        history = response_kwargs.get("history")
        if self._streaming:
            return self.stream(query_str, sources, history=history)[0]
        return self.write(query_str, sources, history=history)[0].text

    async def aget_response(
        self, query_str: str, text_chunks: Sequence[str], **response_kwargs: Any
    ) -> RESPONSE_TEXT_TYPE:
        """:meth:`get_response` without blocking the event loop."""
        sources = [Source("", texts=[text]) for text in text_chunks]
        history = response_kwargs.get("history")
        if self._streaming:
            return self.astream(query_str, sources, history=history)[0]
        return (await self.awrite(query_str, sources, history=history))[0].text

    def _get_prompts(self) -> PromptDictType:
        return dict(self._prompts)

    def _update_prompts(self, prompts_dict: PromptDictType) -> None:
        known = {name: prompt for name, prompt in prompts_dict.items() if name in self._prompts}
        self._prompts.update(known)

    # Inside

    def _compose(
        self, question: str, sources: Sequence[Source], history: History, support: Support | None
    ) -> Composition:
        metadata = self._llm.metadata
        context = self._context_window or metadata.context_window
        output = self._num_output or metadata.num_output
        if output <= 0 or output * 2 > context:
            output = min(_DEFAULT_OUTPUT, max(1, context // 4))
        frames = {name: self._count(_frame(prompt)) for name, prompt in self._prompts.items()}
        window = Window(context, output, self._count, frames, self._max_calls)
        return Composition(
            question,
            sources,
            window,
            support=support or self._support,
            history=[_turn(one) for one in history or ()],
        )

    def _reduced(self, composition: Composition, usage: Usage) -> Ask | None:
        """Runs the rounds of calls that make the sources fit, each round side by side."""
        if self._model is None or not composition.sources:
            return None
        steps = composition.steps()
        try:
            asks = next(steps)
            while True:
                call = carried(lambda ask: self._call(ask, usage))
                if len(asks) == 1:
                    replies: list[Reply] = [call(asks[0])]
                else:
                    with ThreadPoolExecutor(min(self._workers, len(asks))) as pool:
                        jobs = [pool.submit(carried(self._call), ask, usage) for ask in asks]
                        replies = [job.result() for job in jobs]
                asks = steps.send(replies)
        except StopIteration as stop:
            ask: Ask | None = stop.value
            return ask

    async def _areduced(self, composition: Composition, usage: Usage) -> Ask | None:
        if self._model is None or not composition.sources:
            return None
        steps = composition.steps()
        turns = asyncio.Semaphore(self._workers)

        async def call(ask: Ask) -> Reply:
            async with turns:
                return await self._acall(ask, usage)

        try:
            asks = next(steps)
            while True:
                asks = steps.send(list(await asyncio.gather(*map(call, asks))))
        except StopIteration as stop:
            ask: Ask | None = stop.value
            return ask

    def _call(self, ask: Ask, usage: Usage) -> Reply:
        started = time.perf_counter()
        reply: Reply
        try:
            reply = self._llm.predict(self._prompts[ask.prompt], **ask.fields)
        except Exception as error:  # a model's client may raise anything; the sources still answer
            reply = error
        self._account(ask, reply, started, usage)
        return reply

    async def _acall(self, ask: Ask, usage: Usage) -> Reply:
        started = time.perf_counter()
        reply: Reply
        try:
            reply = await self._llm.apredict(self._prompts[ask.prompt], **ask.fields)
        except Exception as error:  # as in `_call`
            reply = error
        self._account(ask, reply, started, usage)
        return reply

    def _account(self, ask: Ask, reply: Reply, started: float, usage: Usage) -> None:
        failed = isinstance(reply, Exception)
        event = ModelCallEvent(
            prompt=ask.prompt,
            prompt_tokens=self._count(self._prompts[ask.prompt].format(**_any(ask.fields))),
            completion_tokens=0 if failed else self._count(str(reply)),
            seconds=time.perf_counter() - started,
            error=f"{type(reply).__name__}: {reply}"[:200] if failed else None,
        )
        usage.calls += 1
        usage.prompt_tokens += event.prompt_tokens
        usage.completion_tokens += event.completion_tokens
        usage.seconds += event.seconds
        tell(event)


def to_metadata(
    written: Written, usage: Usage, sources: Sequence[Source], ids: Sequence[Sequence[str]]
) -> dict[str, Any]:
    """What a response tells beside its text.

    Args:
        written: The verified answer.
        usage: What it cost.
        sources: What it could draw on.
        ids: Node ids of each source.
    """
    citations = [
        {
            "number": number,
            "id": ids[place][0] if ids[place] else "",
            "document": sources[place].document,
            "path": list(sources[place].path),
            "nodes": list(ids[place]),
        }
        for number, place in sorted(written.references.items())
    ]
    return {
        "found": written.found,
        "confidence": written.confidence,
        "confidence_reasons": written.reasons,
        "citations": citations,
        "notes": written.notes,
        "unsupported": written.unsupported,
        "usage": asdict(usage),
    }


def _facts(written: Written, usage: Usage) -> dict[str, Any]:
    facts: Mapping[str, Any] = {"found": written.found, "confidence": written.confidence}
    return {**facts, "citations": len(written.references), **asdict(usage)}


def _turn(message: ChatMessage | str) -> str:
    if isinstance(message, str):
        return message
    return f"{message.role.value}: {message.content or ''}"


def _frame(prompt: BasePromptTemplate) -> str:
    """A prompt without what fills it, as long as it is sent."""
    return prompt.format(**_any(dict.fromkeys(prompt.template_vars, "")))


def _any(fields: dict[str, str]) -> dict[str, Any]:
    """Prompts take their fields beside other arguments; these are the fields alone."""
    return dict(fields)
