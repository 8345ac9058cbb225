"""Runs pipelines over a dataset and keeps the figures of every question."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.evaluation.compare import Comparison, paired
from llama_index_semxpath.evaluation.dataset import Dataset, Question
from llama_index_semxpath.evaluation.measure import Context, Measured, Text, measure

#: Gives, for a question, what a pipeline returns, best first.
Pipeline = Callable[[str], Sequence[Context]]
#: Further figures of one answer, by name (a model's judgement, say).
Judge = Callable[[Question, Sequence[Context]], Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Report:
    """Figures of several pipelines over one dataset.

    Args:
        dataset: Its name.
        rows: The figures of every question by pipeline, in the order of the dataset.
        tags: Tags of the questions, for grouping, in the same order.
        failures: Questions that a pipeline failed on, with the error; their figures are 0.
    """

    dataset: str
    rows: Mapping[str, Sequence[Measured]]
    tags: Sequence[Mapping[str, str]] = ()
    failures: Sequence[str] = field(default_factory=list)

    @property
    def metrics(self) -> list[str]:
        """Names of the figures."""
        names: dict[str, None] = {}
        for rows in self.rows.values():
            for row in rows:
                names.update(dict.fromkeys(row.values))
        return list(names)

    def values(self, pipeline: str, metric: str) -> list[float]:
        """One figure of every question."""
        return [row.values.get(metric, 0.0) for row in self.rows[pipeline]]

    def mean(self, pipeline: str, metric: str, where: Mapping[str, str] | None = None) -> float:
        """Mean of a figure, over the questions with some tags where they are given."""
        values = [
            value
            for at, value in enumerate(self.values(pipeline, metric))
            if not where or all(self.tags[at].get(k) == v for k, v in where.items())
        ]
        return sum(values) / len(values) if values else 0.0

    def quantile(self, pipeline: str, metric: str, share: float) -> float:
        """The figure that a share of the questions do not exceed."""
        values = sorted(self.values(pipeline, metric))
        return values[min(len(values) - 1, int(share * len(values)))] if values else 0.0

    def compare(self, first: str, second: str, metric: str) -> Comparison:
        """One pipeline against another, question by question."""
        return paired(self.values(first, metric), self.values(second, metric))

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON values: means, paired comparisons with the last pipeline, failures."""
        names = list(self.rows)
        last = names[-1]
        return {
            "dataset": self.dataset,
            "questions": len(self.rows[last]),
            "pipelines": {
                name: {metric: round(self.mean(name, metric), 4) for metric in self.metrics}
                for name in names
            },
            "compared": {
                name: {
                    metric: [round(one.difference, 4), round(one.low, 4), round(one.high, 4)]
                    for metric in self.metrics
                    if metric.startswith("recall@")
                    for one in [self.compare(last, name, metric)]
                }
                for name in names[:-1]
            },
            "failures": list(self.failures),
        }


def evaluate(
    dataset: Dataset,
    pipelines: Mapping[str, Pipeline],
    *,
    budgets: Sequence[int] = (1000, 2000),
    ranks: Sequence[int] = (5, 10),
    judge: Judge | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Report:
    """Asks every pipeline every question.

    Args:
        dataset: The questions.
        pipelines: What is compared, by name; the last one is the one that others are held against.
        budgets: Token budgets, each 1 and up.
        ranks: Ranks of documents, each 1 and up.
        judge: Gives further figures of an answer.
        progress: Called with the number of questions done and of all.

    Raises:
        SemXPathError: No pipeline, or a budget or rank below 1.
    """
    if not pipelines:
        raise SemXPathError("nothing to evaluate", hint="give at least one pipeline")
    if not budgets or not ranks or min(*budgets, *ranks) < 1:
        raise SemXPathError("budgets and ranks must be 1 or more", where=f"{budgets} {ranks}")
    texts = {name: Text(text) for name, text in dataset.texts.items()}
    rows: dict[str, list[Measured]] = {name: [] for name in pipelines}
    failures: list[str] = []
    for done, question in enumerate(dataset.questions, 1):
        for name, pipeline in pipelines.items():
            started = time.perf_counter()
            try:
                contexts = list(pipeline(question.query))
            except Exception as error:  # one pipeline that fails must not end the run of the others
                contexts = []
                failures.append(f"{name}: {question.id}: {error}")
            seconds = time.perf_counter() - started
            values = measure(question, contexts, texts, budgets=budgets, ranks=ranks)
            values["seconds"] = seconds
            if judge is not None:
                values.update(judge(question, contexts))
            rows[name].append(Measured(question.id, values))
        if progress is not None:
            progress(done, len(dataset.questions))
    return Report(dataset.name, rows, [one.tags for one in dataset.questions], failures)
