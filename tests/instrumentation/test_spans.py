"""Stages are seen by LlamaIndex's handlers and its OpenTelemetry integration."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.span import SimpleSpan
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler

from llama_index_semxpath.errors import QueryError
from llama_index_semxpath.index import SemXPathIndex, StoreConfig
from llama_index_semxpath.instrumentation.events import (
    AnswerEvent,
    ModelCallEvent,
    StageEvent,
)

TEXT = "# Pump\n\n## Noise\n\nA loud pump has air in the pipe.\n\n## Oil\n\nUse two litres of oil."


class Events(BaseEventHandler):
    """Keeps what it hears."""

    heard: list[Any] = []  # noqa: RUF012

    @classmethod
    def class_name(cls) -> str:
        return "Events"

    def handle(self, event: Any, **kwargs: Any) -> None:
        self.heard.append(event)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SemXPathIndex]:
    config = StoreConfig(tmp_path_factory.mktemp("spans") / "store", milvus_uri="", graph="none")
    documents = [Document(text=TEXT, doc_id="pump.md")]
    with SemXPathIndex.from_documents(documents, store=config) as built:
        yield built


@pytest.fixture
def listening() -> Iterator[tuple[Events, SimpleSpanHandler]]:
    root = get_dispatcher()
    events, spans = Events(heard=[]), SimpleSpanHandler()
    root.add_event_handler(events)
    root.add_span_handler(spans)
    yield events, spans
    root.event_handlers.remove(events)
    root.span_handlers.remove(spans)


def names(spans: list[SimpleSpan]) -> list[str]:
    return [span.id_.partition("-")[0] for span in spans]


def test_every_stage_of_a_question_is_a_span(
    index: SemXPathIndex, listening: tuple[Events, SimpleSpanHandler]
) -> None:
    events, spans = listening
    engine = index.as_query_engine()
    engine.query("Why is the pump loud?")
    engine.query("//Section[title =~ 'oil']")
    seen = names(spans.completed_spans)
    for stage in ("retrieval", "route.tree", "fusion", "plan", "engine.memory"):
        assert f"semxpath.{stage}" in seen
    stages = {event.stage: event for event in events.heard if isinstance(event, StageEvent)}
    assert stages["retrieval"].facts["sources"] >= 1
    assert stages["plan"].facts["query"].startswith("//Section")
    assert all(event.seconds >= 0 for event in stages.values())
    answers = [event for event in events.heard if isinstance(event, AnswerEvent)]
    assert [answer.citations >= 1 for answer in answers] == [True, True]


def test_routes_in_threads_stand_under_their_question(
    index: SemXPathIndex, listening: tuple[Events, SimpleSpanHandler]
) -> None:
    _, spans = listening
    index.as_query_engine(effort="deep").query("Why is the pump loud?")
    ids = {span.id_ for span in spans.completed_spans}
    routes = [span for span in spans.completed_spans if ".route." in span.id_]
    assert routes
    assert all(span.parent_id in ids for span in routes)


def test_model_calls_tell_their_cost(
    index: SemXPathIndex, listening: tuple[Events, SimpleSpanHandler]
) -> None:
    from llama_index.core.llms.mock import MockLLM

    events, spans = listening
    response = index.as_query_engine(llm=MockLLM()).query("Why is the pump loud?")
    (call,) = [event for event in events.heard if isinstance(event, ModelCallEvent)]
    assert (call.prompt, call.error) == ("answer", None)
    assert call.prompt_tokens > 50
    assert response.metadata["usage"]["prompt_tokens"] == call.prompt_tokens
    assert "semxpath.synthesis" in names(spans.completed_spans)


def test_parsing_is_a_span(
    listening: tuple[Events, SimpleSpanHandler],
) -> None:
    from llama_index_semxpath.node_parser import parse_bytes

    events, _ = listening
    parse_bytes(TEXT.encode(), "pump.md")
    (done,) = [event for event in events.heard if isinstance(event, StageEvent)]
    assert (done.stage, done.facts["format"], done.facts["nodes"]) == ("parse", "markdown", 6)


def test_a_failing_stage_drops_its_span(
    index: SemXPathIndex, listening: tuple[Events, SimpleSpanHandler]
) -> None:
    _, spans = listening
    with pytest.raises(QueryError):
        index.query("//Section[")
    assert names(spans.dropped_spans) == ["semxpath.plan"]
    assert not spans.open_spans


def test_open_telemetry_sees_the_stages(index: SemXPathIndex) -> None:
    otel = pytest.importorskip("llama_index.observability.otel")
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    root = get_dispatcher()
    before = list(root.span_handlers), list(root.event_handlers)
    instrumentor = otel.LlamaIndexOpenTelemetry(
        span_exporter=exporter, span_processor="simple", service_name_or_resource="semxpath"
    )
    try:
        instrumentor.start_registering()
        index.as_query_engine().query("Why is the pump loud?")
    finally:
        root.span_handlers, root.event_handlers = before
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert "semxpath.retrieval" in spans
    assert spans["semxpath.retrieval"].attributes["semxpath.question"] == "Why is the pump loud?"
    fusion = spans["semxpath.fusion"]
    assert fusion.parent is not None
    assert any(event.name == "StageEvent" for event in fusion.events)


def test_without_llama_index_nothing_is_loaded_and_nothing_happens() -> None:
    code = (
        "import sys\n"
        "from llama_index_semxpath.instrumentation import span\n"
        "with span('x', a=1) as facts: facts['b'] = 2\n"
        "assert facts == {'a': 1, 'b': 2}\n"
        "assert not [m for m in sys.modules if m.startswith('llama_index_instrumentation')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent)


def test_events_say_what_they_hold() -> None:
    for event in (StageEvent, AnswerEvent, ModelCallEvent):
        assert event.class_name() == event.__name__
        assert inspect.getdoc(event)
