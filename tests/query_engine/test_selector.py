from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.tools.types import ToolMetadata

from llama_index_semxpath.query_engine import IntentSelector

FOLDER = Path(__file__).parents[1] / "cases/retrieval/55-router-bad-model-replies"
CASE = json.loads((FOLDER / "case.json").read_text("utf-8"))
CHOICES = CASE["operation"]["choices"]


class Replies(CustomLLM):
    reply: str = ""
    fails: bool = False

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        if self.fails:
            raise RuntimeError("no connection")
        return CompletionResponse(text=self.reply)

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("reply", "expected"),
    list(zip(CASE["operation"]["replies"], CASE["expected"]["routes_in_reply_order"], strict=True)),
)
def test_case_55(reply: str, expected: str, caplog: pytest.LogCaptureFixture) -> None:
    selector = IntentSelector(Replies(reply=reply), default=CASE["operation"]["default"])
    with caplog.at_level(logging.WARNING):
        result = selector.select(CHOICES, "how do I change the oil")
        later = asyncio.run(selector.aselect(CHOICES, "how do I change the oil"))
    assert result == later
    chosen = CHOICES[result.ind]
    if expected.endswith("by default"):
        assert chosen == "structured"
        assert "default" in result.reason
        assert caplog.records
    elif expected.endswith("or fallback"):
        assert chosen in ("semantic", "structured")
    else:
        assert chosen == expected
        assert not caplog.records


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ('//section[@title="Oil"]', "structured"),
        ("how do I change the oil", "semantic"),
        ("第五条的内容", "structured"),
        ("怎么换机油", "semantic"),
    ],
)
def test_case_55_without_a_model(question: str, expected: str) -> None:
    result = IntentSelector.from_defaults().select(CHOICES, question)
    assert CHOICES[result.ind] == expected
    assert result.reason


def test_a_failing_model_leaves_it_to_the_rules() -> None:
    result = IntentSelector(Replies(fails=True)).select(CHOICES, "第五条的内容")
    assert CHOICES[result.ind] == "structured"
    assert "no connection" in result.reason


def test_any_tools_can_be_chosen_from() -> None:
    tools = [
        ToolMetadata(name="weather", description="forecasts of rain and wind"),
        ToolMetadata(name="cooking", description="recipes with eggs and flour"),
    ]
    selector = IntentSelector.from_defaults()
    assert selector.select(tools, "a recipe with two eggs").ind == 1
    assert selector.select(tools, "will there be wind").ind == 0
    assert IntentSelector(default="cooking").select(tools, "zzz").ind == 1


def test_several_routes_where_they_are_allowed() -> None:
    llm = Replies(reply='[{"choice": 2}, {"choice": 1}]')
    assert IntentSelector(llm, multi=True).select(CHOICES, "x").inds == [1, 0]
    assert IntentSelector(llm).select(CHOICES, "x").inds == [1]


def test_the_prompt_can_be_changed() -> None:
    from llama_index.core.prompts import PromptTemplate

    selector = IntentSelector(Replies(reply='{"choice": 1}'))
    selector.update_prompts({"prompt": PromptTemplate("{choices} {question} {most}")})
    assert selector.get_prompts()["prompt"].get_template() == "{choices} {question} {most}"
