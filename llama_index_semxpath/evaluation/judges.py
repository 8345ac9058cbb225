"""Judgements of answers by a model: LlamaIndex's evaluators, and ``ragas`` where installed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.evaluation.dataset import Question
from llama_index_semxpath.evaluation.measure import Context
from llama_index_semxpath.evaluation.run import Judge

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

logger = logging.getLogger(__name__)

#: Answers a question from some contexts.
Answerer = Callable[[str, Sequence[Context]], str]


def llama_judge(llm: LLM, answer: Answerer) -> Judge:
    """``faithfulness`` and ``relevancy`` of an answer, by LlamaIndex's evaluators.

    Args:
        llm: The model that judges.
        answer: Makes the answer that is judged.

    Returns:
        A judge; a judgement that fails is left out and logged.
    """
    from llama_index.core.evaluation import FaithfulnessEvaluator, RelevancyEvaluator

    evaluators = {
        "faithfulness": FaithfulnessEvaluator(llm=llm),
        "relevancy": RelevancyEvaluator(llm=llm),
    }

    def judge(question: Question, contexts: Sequence[Context]) -> Mapping[str, float]:
        texts = [one.text for one in contexts]
        found: dict[str, float] = {}
        try:
            response = answer(question.query, contexts)
            for name, evaluator in evaluators.items():
                result = evaluator.evaluate(query=question.query, response=response, contexts=texts)
                found[name] = float(bool(result.passing))
        except Exception as error:  # a model's client may raise anything; the figures still count
            logger.warning("question %s was not judged: %s", question.id, error)
        return found

    return judge


def ragas_judge(metrics: Sequence[Any], answer: Answerer) -> Judge:
    """Figures of ``ragas`` metrics that judge one turn.

    Args:
        metrics: Metric objects of the package, with their model set.
        answer: Makes the answer that is judged.

    Raises:
        SemXPathError: The package is not installed.
    """
    try:
        from ragas import SingleTurnSample
    except ImportError:
        raise SemXPathError(
            "the package ragas is not installed",
            hint="pip install 'llama-index-semxpath[ragas]'",
        ) from None

    def judge(question: Question, contexts: Sequence[Context]) -> Mapping[str, float]:
        found: dict[str, float] = {}
        try:
            sample = SingleTurnSample(
                user_input=question.query,
                retrieved_contexts=[one.text for one in contexts],
                response=answer(question.query, contexts),
                reference=question.answer,
            )
            for metric in metrics:
                found[str(metric.name)] = float(metric.single_turn_score(sample))
        except Exception as error:  # as above
            logger.warning("question %s was not judged: %s", question.id, error)
        return found

    return judge
