"""Summaries of sections: headings, carrying sentences, captions; by rule or by an LLM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from llama_index.core import Document
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback

from llama_index_semxpath.index import SemXPathIndex, StoreConfig
from llama_index_semxpath.node_parser import ParseOptions, SectionSummarizer, parse_bytes

GUIDE = """# Pump guide

The pump moves water. Read this guide before the pump is opened.

## 1 Safety

Disconnect the power before you open the pump. Nice weather today.
The power must stay off while the pump is open.

## 2 Parts

Table 1. Spare parts

| Part | Price |
|------|------:|
| Seal | 4 |

![Exploded view of the pump](view.png)
"""
LEAVE = "# 休假\n\n## 第一条 年假\n\n员工每年享有年假。年假按工龄计算，工龄满十年的员工年假十五天。天气很好。\n"


class EchoLLM(CustomLLM):
    """Says how long the prompt is; nothing for sections called "Parts"."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        return CompletionResponse(text="" if "2 Parts" in prompt else "Said by a model.")

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any):
        raise NotImplementedError


def by_title(text: str, summarizer: SectionSummarizer) -> dict[str, Any]:
    nodes = parse_bytes(text, "a.md")
    titles = {node.id: node.title for node in nodes}
    return {titles[id_]: summary for id_, summary in summarizer.summarize(nodes).items()}


def test_headings_sentences_and_captions() -> None:
    found = by_title(GUIDE, SectionSummarizer(sentences=2))
    assert found["1 Safety"].path == "Pump guide > 1 Safety"
    assert "Nice weather" not in found["1 Safety"].text
    assert found["1 Safety"].text.startswith("Disconnect the power before")
    assert found["2 Parts"].captions == ("Table 1. Spare parts", "Exploded view of the pump")
    assert found["2 Parts"].text == "Part: Seal; Price: 4"
    assert "pump" in found["Pump guide"].text


def test_chinese_sentences_are_weighed_by_their_words() -> None:
    summary = by_title(LEAVE, SectionSummarizer(sentences=1))["第一条 年假"]
    assert summary.text == "年假按工龄计算，工龄满十年的员工年假十五天。"


def test_limits_hold() -> None:
    text = "# A\n\n" + " ".join(f"Sentence {n} speaks of pumps and seals." for n in range(300))
    summarizer = SectionSummarizer(sentences=50, max_tokens=40)
    assert len(by_title(text, summarizer)["A"].text.split(". ")) <= 6


def test_an_llm_writes_where_it_says_something() -> None:
    found = by_title(GUIDE, SectionSummarizer(EchoLLM()))
    assert found["1 Safety"].text == "Said by a model."
    assert found["2 Parts"].text == "Part: Seal; Price: 4"


def test_stored_summaries_are_found_and_others_made_when_asked(tmp_path: Path) -> None:
    config = StoreConfig(tmp_path / "a", milvus_uri="", graph="none")
    options = ParseOptions(summarizer=SectionSummarizer(EchoLLM()))
    document = Document(text=GUIDE, id_="guide.md")
    with SemXPathIndex.from_documents([document], store=config, options=options) as index:
        (match,) = index.query("//Section[@number = '1']")
        assert match.node.attributes["summary"] == "Said by a model."
        assert index.summary(match.id).text == "Said by a model."
        assert index.query("//Section[@summary =~ 'said by a model']")
    plain = StoreConfig(tmp_path / "b", milvus_uri="", graph="none")
    with SemXPathIndex.from_documents([document], store=plain) as index:
        (match,) = index.query("//Section[@number = '1']")
        summary = index.summary(match.id)
        assert (summary.path, summary.text[:10]) == ("Pump guide > 1 Safety", "Disconnect")
        assert index.summary("nope") is None


def test_hidden_sentences_are_not_in_a_summary(tmp_path: Path) -> None:
    nodes = parse_bytes(GUIDE, "guide.md")
    nodes[0].labels = frozenset({"all"})
    secret = next(node for node in nodes if "Disconnect" in node.text)
    secret.labels = frozenset({"board"})
    with SemXPathIndex(StoreConfig(tmp_path, milvus_uri="", graph="none")) as index:
        index.insert_tree(nodes)
        assert "Disconnect" not in str(index.summary("guide.md", ["all"]))
        assert index.summary("guide.md") is None


async def test_async_twin() -> None:
    nodes = parse_bytes(GUIDE, "a.md")
    assert await SectionSummarizer().asummarize(nodes) == SectionSummarizer().summarize(nodes)
