"""Events and spans as LlamaIndex's dispatcher carries them."""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Mapping
from contextvars import Token
from dataclasses import dataclass
from typing import Any

from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.base.event import BaseEvent
from llama_index_instrumentation.span import active_span_id

_dispatcher = get_dispatcher("llama_index_semxpath")
_NO_ARGUMENTS = inspect.signature(lambda: None).bind()


class StageEvent(BaseEvent):
    """A stage is done.

    Args:
        stage: Its name, such as ``parse``, ``plan``, ``engine``, ``route.tree``, ``synthesis``.
        seconds: How long it took.
        facts: What it met: counts, names, tokens.
    """

    stage: str
    seconds: float
    facts: dict[str, Any]

    @classmethod
    def class_name(cls) -> str:
        """Name of the class."""
        return "StageEvent"


class AnswerEvent(BaseEvent):
    """A question was answered.

    Args:
        question: What was asked.
        intent: What it was taken for.
        query: The SemXPath that ran, if any.
        found: Whether the documents hold an answer.
        citations: How many sources the answer cites.
        removed: Citations of a model that pointed to nothing.
    """

    question: str
    intent: str
    query: str | None
    found: bool
    citations: int
    removed: list[str]

    @classmethod
    def class_name(cls) -> str:
        """Name of the class."""
        return "AnswerEvent"


class ModelCallEvent(BaseEvent):
    """A model was asked while an answer was made.

    Args:
        prompt: Name of the prompt: ``answer``, ``part`` or ``translate``.
        prompt_tokens: Length of what was sent.
        completion_tokens: Length of what came back.
        seconds: How long it took.
        error: What went wrong, if anything.
    """

    prompt: str
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    error: str | None = None

    @classmethod
    def class_name(cls) -> str:
        """Name of the class."""
        return "ModelCallEvent"


@dataclass(slots=True)
class OpenSpan:
    """A span that has begun."""

    id: str
    token: Token[str | None]


def tell(event: BaseEvent) -> None:
    """Hands an event to whoever listens."""
    _dispatcher.event(event)


def open_span(stage: str, facts: Mapping[str, Any]) -> OpenSpan:
    """Begins a span under the active one; facts become its tags."""
    # Handlers name a span by what stands before the first hyphen.
    id_ = f"semxpath.{stage}-{uuid.uuid4()}"
    parent = active_span_id.get()
    token = active_span_id.set(id_)
    tags = {f"semxpath.{name}": value for name, value in facts.items()}
    _dispatcher.span_enter(id_=id_, bound_args=_NO_ARGUMENTS, parent_id=parent, tags=tags)
    return OpenSpan(id_, token)


def close_span(opened: OpenSpan, stage: str, seconds: float, facts: Mapping[str, Any]) -> None:
    """Ends a span with an event that says what it met."""
    tell(StageEvent(stage=stage, seconds=seconds, facts=dict(facts), span_id=opened.id))
    _dispatcher.span_exit(id_=opened.id, bound_args=_NO_ARGUMENTS, result=dict(facts))
    _leave(opened)


def drop_span(opened: OpenSpan, error: BaseException) -> None:
    """Ends a span that failed."""
    _dispatcher.span_drop(id_=opened.id, bound_args=_NO_ARGUMENTS, err=error)
    _leave(opened)


def _leave(opened: OpenSpan) -> None:
    try:
        active_span_id.reset(opened.token)
    except ValueError:  # closed in another context than it was opened in
        active_span_id.set(None)
