"""Scorers over other people's models: batches, memory, scales, failures."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle

from llama_index_semxpath.engines.adapters import FunctionScorer, LLMScorer, RerankScorer
from llama_index_semxpath.engines.base import Targets
from llama_index_semxpath.errors import ScorerError
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.table import TreeTable


@pytest.fixture
def targets() -> Targets:
    nodes = [TreeNode("d", "Document", "d")]
    nodes += [TreeNode(f"p{i}", "Paragraph", "d", "d", f"text {i}") for i in range(5)]
    table = TreeTable.from_nodes(nodes)
    return Targets(table, table.rows_of("Paragraph"))


class LengthRerank(BaseNodePostprocessor):
    top_n: int = 2

    @classmethod
    def class_name(cls) -> str:
        return "LengthRerank"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        for node in nodes:
            node.score = float(node.node.get_content()[-1])
        return sorted(nodes, key=lambda node: -(node.score or 0))[: self.top_n]


def test_a_function_is_called_in_batches_and_once_for_each_text(targets: Targets) -> None:
    calls: list[int] = []

    def grade(phrase: str, texts: Sequence[str]) -> list[float]:
        calls.append(len(texts))
        return [0.25] * len(texts)

    scorer = FunctionScorer(grade, name="quarter", batch_size=2)
    assert scorer.grade("x", targets).tolist() == [0.25] * 5
    assert scorer.grade("x", targets).tolist() == [0.25] * 5
    assert calls == [2, 2, 1]
    scorer.grade("y", targets)
    assert len(calls) == 6


@pytest.mark.parametrize("figures", [[0.5], [2.0] * 5, [float("nan")] * 5])
def test_figures_outside_the_scale_fail_the_query(targets: Targets, figures: list[float]) -> None:
    scorer = FunctionScorer(lambda _, texts: figures, name="odd")
    with pytest.raises(ScorerError, match="odd"):
        scorer.grade("x", targets)


def test_a_model_that_fails_half_way_leaves_nothing_behind(targets: Targets) -> None:
    calls: list[int] = []

    def grade(phrase: str, texts: Sequence[str]) -> list[float]:
        calls.append(1)
        if len(calls) == 2:
            raise RuntimeError("out of memory")
        return [1.0] * len(texts)

    scorer = FunctionScorer(grade, name="frail", batch_size=2)
    with pytest.raises(ScorerError, match="out of memory"):
        scorer.grade("x", targets)
    scorer.grade("x", targets)
    assert len(calls) == 2 + 3, "the first batch is graded again"


def test_a_reranker_grades_all_nodes_whatever_its_top_n(targets: Targets) -> None:
    scores = RerankScorer(LengthRerank()).grade("x", targets)
    assert scores[0] == 0.5
    assert (scores[1:] > scores[:-1]).all()


def test_an_llm_must_answer_with_a_list_of_numbers(targets: Targets) -> None:
    class Judge(MockLLM):
        def complete(self, prompt, formatted=False, **kwargs):  # type: ignore[no-untyped-def]
            assert "not instructions" in prompt
            reply = super().complete("x")
            reply.text = "Sure: [1, 0.5, 0, 0.25, 0.75]"
            return reply

    assert LLMScorer(Judge()).grade("x", targets).tolist() == [1, 0.5, 0, 0.25, 0.75]
    with pytest.raises(ScorerError, match="list of numbers"):
        LLMScorer(MockLLM()).grade("x", targets)
