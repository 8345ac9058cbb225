"""LlamaIndex' own extractors over our nodes, with an LLM that says what the test wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from llama_index.core import Document
from llama_index.core.indices.property_graph import SchemaLLMPathExtractor, SimpleLLMPathExtractor
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback

from llama_index_semxpath.errors import UnknownDocumentError
from llama_index_semxpath.index import SemXPathIndex, StoreConfig

TEXT = """# Staff

Li Hua leads the Berlin office.

## Old

Nothing to say here.

## New

LI HUA wrote the Car Rules.
"""


class ScriptedLLM(CustomLLM):
    """Answers by the first key that a prompt holds; counts what it is asked."""

    answers: dict[str, str]
    asked: int = 0

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        self.asked += 1
        text = next((answer for key, answer in self.answers.items() if key in prompt), "")
        return CompletionResponse(text=text)

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any):
        raise NotImplementedError


@pytest.fixture
def index(tmp_path: Path):
    config = StoreConfig(tmp_path / "store", milvus_uri="", graph="none")
    with SemXPathIndex.from_documents([Document(text=TEXT, id_="staff.md")], store=config) as made:
        yield made


def simple() -> SimpleLLMPathExtractor:
    answers = {
        "leads the Berlin": "(Li Hua, leads, Berlin office)",
        "wrote the Car": "(LI HUA, wrote, Car Rules)",
    }
    return SimpleLLMPathExtractor(llm=ScriptedLLM(answers=answers), num_workers=1)


def test_entities_relations_and_their_places(index: SemXPathIndex) -> None:
    found = index.extract([simple()])
    assert (found.entities, found.mentions, found.relations) == (3, 4, 2)
    # The extractor turns both spellings into "Li hua".
    places = index.query("//Paragraph[rel::MENTIONS[@name = 'Li hua']]")
    assert [match.text for match in places] == [
        "Li Hua leads the Berlin office.", "LI HUA wrote the Car Rules.",
    ]  # fmt: skip
    facts = index.facts("proposed")
    assert {fact.fact.relation for fact in facts} == {"LEADS", "WROTE"}
    wrote = next(fact for fact in facts if fact.fact.relation == "WROTE")
    assert index.node(wrote.fact.evidence).text == "LI HUA wrote the Car Rules."
    assert (wrote.fact.confidence, wrote.document) == (0.5, "staff.md")
    assert index.review(accept=[wrote.id]) == (1, 0)
    targets = index.query("//entity[@name = 'Li hua']/rel::WROTE")
    assert [match.text for match in targets] == ["Car rules"]


def test_a_second_run_replaces_and_keeps_decisions(index: SemXPathIndex) -> None:
    index.extract([simple()])
    ids = {fact.fact.relation: fact.id for fact in index.facts()}
    index.review(accept=[ids["WROTE"]], reject=[ids["LEADS"]])
    again = index.extract([simple()])
    assert again.mentions == 4
    status = {fact.fact.relation: fact.fact.status for fact in index.facts()}
    assert status == {"WROTE": "accepted", "LEADS": "rejected"}
    assert sum(edge.name == "MENTIONS" for edge in index.catalog.edges()) == 4


def test_what_a_model_found_goes_with_its_node(index: SemXPathIndex) -> None:
    index.extract([simple()], accept=True)
    assert {fact.fact.status for fact in index.facts()} == {"accepted"}
    index.insert(Document(text=TEXT.replace("wrote the Car", "lost the Bus"), id_="staff.md"))
    assert [fact.fact.relation for fact in index.facts()] == ["LEADS"]
    assert not [edge for edge in index.catalog.edges() if edge.name == "WROTE"]


def test_the_schema_extractor_runs_too(index: SemXPathIndex) -> None:
    triplet = {
        "subject": {"type": "PERSON", "name": "Li Hua"},
        "relation": {"type": "LEADS"},
        "object": {"type": "OFFICE", "name": "Berlin office"},
    }
    llm = ScriptedLLM(answers={"leads the Berlin": json.dumps({"triplets": [triplet]})})
    extractor = SchemaLLMPathExtractor(
        llm=llm,
        possible_entities=Literal["PERSON", "OFFICE"],
        possible_relations=Literal["LEADS"],
        kg_validation_schema=[("PERSON", "LEADS", "OFFICE")],
        strict=True,
        num_workers=1,
    )
    found = index.extract([extractor], accept=True)
    assert (found.entities, found.relations) == (2, 1)
    assert len(index.query("//PERSON/rel::LEADS")) == 1


def test_only_the_documents_that_are_named(index: SemXPathIndex) -> None:
    extractor = simple()
    index.insert(Document(text="# Other\n\nText.", id_="other.md"))
    index.extract([extractor], documents=["other.md"])
    assert extractor.llm.asked == 1
    with pytest.raises(UnknownDocumentError):
        index.extract([extractor], documents=["nope.md"])


async def test_async_twin(index: SemXPathIndex) -> None:
    assert (await index.aextract([simple()])).relations == 2
