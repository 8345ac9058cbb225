# ruff: noqa: F811 (fixtures are imported by name)
from __future__ import annotations

import asyncio
from typing import Any

import pytest
from answer_store import guarded, index  # noqa: F401
from llama_index.core import Settings
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.query_engine import RouterQueryEngine

from llama_index_semxpath.index import SemXPathIndex
from llama_index_semxpath.query_engine import build_query_engine


class ScriptedLLM(CustomLLM):
    """Says what it is told to and remembers what it was asked."""

    reply: str = ""
    fails: bool = False
    asked: list[str] = []  # noqa: RUF012

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=8000)

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        self.asked.append(prompt)
        if self.fails:
            raise RuntimeError("out of order")
        return CompletionResponse(text=self.reply)

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError


@pytest.fixture(autouse=True)
def no_settings_llm(monkeypatch: pytest.MonkeyPatch) -> None:
    def touched(self: object) -> None:
        raise AssertionError("Settings.llm was looked at")

    monkeypatch.setattr(type(Settings), "llm", property(touched))


def test_a_place_goes_to_structure(index: SemXPathIndex) -> None:
    engine = index.as_query_engine()
    assert isinstance(engine, RouterQueryEngine)
    response = engine.query("第三章第五条")
    assert response.metadata["query"].count("@number") == 2
    assert "| 高级 | 15 |" in str(response)
    assert response.metadata["selector_result"].reason.startswith("lookup")
    assert response.metadata["citations"][0]["path"] == ["员工手册", "第三章 假期", "第五条 年假"]


def test_a_meaning_goes_to_words_and_sense(index: SemXPathIndex) -> None:
    response = index.as_query_engine().query("Why is the pump loud?")
    assert "air in the pipe" in str(response)
    assert "[1]" in str(response)
    citation = response.metadata["citations"][0]
    assert citation["document"] == "manual.md"
    assert citation["span"] is not None
    assert len({n.node.node_id for n in response.source_nodes}) == len(response.source_nodes)


def test_rows_come_as_rows(index: SemXPathIndex) -> None:
    text = str(index.as_query_engine().query("高级员工的年假天数是多少？"))
    assert "| 级别 | 年假天数 |" in text
    assert "| 高级 | 15 |" in text


def test_values_come_as_values(index: SemXPathIndex) -> None:
    assert str(index.as_query_engine().query("count(//Row)")) == "2"


def test_missing_evidence_is_said(index: SemXPathIndex) -> None:
    response = index.as_query_engine().query("Who is the king of France?")
    assert str(response) == "This is not in the documents."
    assert response.metadata["citations"] == []
    assert response.metadata["found"] is False


@pytest.mark.parametrize("question", ["section 99.9", "第九十九条", "What does section 99.9 say?"])
def test_a_place_that_is_not_there_is_said(index: SemXPathIndex, question: str) -> None:
    response = index.as_query_engine().query(question)
    assert response.metadata["found"] is False
    assert any("the documents have no" in note for note in response.metadata["notes"])


def test_async_gives_the_same(index: SemXPathIndex) -> None:
    engine = index.as_query_engine()
    question = "how do I change the oil"
    assert str(asyncio.run(engine.aquery(question))) == str(engine.query(question))


def test_a_model_writes_and_its_citations_are_checked(index: SemXPathIndex) -> None:
    llm = ScriptedLLM(reply="Drain it [2]. Fill in two litres [1][9].", asked=[])
    response = index.as_query_engine(llm=llm).query("how do I change the oil")
    assert str(response) == "Drain it [1]. Fill in two litres [2]."
    assert [one["number"] for one in response.metadata["citations"]] == [1, 2]
    assert any("[9]" in note for note in response.metadata["notes"])
    assert "how do I change the oil" in llm.asked[0]
    assert "2.1 Change the oil" in llm.asked[0]


@pytest.mark.parametrize("broken", [{"reply": ""}, {"fails": True}])
def test_a_broken_model_degrades_and_says_so(index: SemXPathIndex, broken: dict[str, Any]) -> None:
    llm = ScriptedLLM(asked=[], **broken)
    engine = index.as_query_engine(llm=llm)
    for response in (
        engine.query("Why is the pump loud?"),
        asyncio.run(engine.aquery("Why is the pump loud?")),
    ):
        assert "air in the pipe" in str(response)
        assert any("model" in note for note in response.metadata["notes"])


def test_an_answer_without_citations_is_flagged(index: SemXPathIndex) -> None:
    llm = ScriptedLLM(reply="Because.", asked=[])
    response = index.as_query_engine(llm=llm).query("Why is the pump loud?")
    assert any("cites no source" in note for note in response.metadata["notes"])


def test_nothing_found_calls_no_model(guarded: SemXPathIndex) -> None:
    llm = ScriptedLLM(reply="I know [1]", asked=[])
    engine = build_query_engine(guarded, llm, principal=["nobody"])
    assert str(engine.query("How much does the head earn?")) == "This is not in the documents."
    assert llm.asked == []


def test_hidden_text_never_reaches_the_model(guarded: SemXPathIndex) -> None:
    llm = ScriptedLLM(reply="ok [1]", asked=[])
    build_query_engine(guarded, llm, principal=["staff"]).query(
        "How much does the head earn, and the pump?"
    )
    assert all("90 credits" not in prompt and "Board" not in prompt for prompt in llm.asked)


def test_prompts_can_be_changed(index: SemXPathIndex) -> None:
    from llama_index.core.prompts import PromptTemplate

    llm = ScriptedLLM(reply="ok [1]", asked=[])
    engine = index.as_query_engine(llm=llm)
    keys = [key for key in engine.get_prompts() if key.endswith("answer")]
    assert len(keys) == 3
    engine.update_prompts(
        {key: PromptTemplate("MINE {context} {question} {not_found}") for key in keys}
    )
    engine.query("Why is the pump loud?")
    assert llm.asked[0].startswith("MINE")


@pytest.mark.parametrize("effort", ["fast", "normal", "deep"])
def test_every_effort_answers(index: SemXPathIndex, effort: str) -> None:
    assert "air in the pipe" in str(
        index.as_query_engine(effort=effort).query("Why is the pump loud?")
    )
