"""Measuring retrieval: datasets as files, metrics at a token budget, paired comparison, reports."""

from __future__ import annotations

from llama_index_semxpath.evaluation.compare import Comparison, paired
from llama_index_semxpath.evaluation.dataset import Dataset, Gold, Question
from llama_index_semxpath.evaluation.measure import Context, Measured, measure
from llama_index_semxpath.evaluation.report import to_html, to_text
from llama_index_semxpath.evaluation.run import Report, evaluate

__all__ = [
    "Comparison",
    "Context",
    "Dataset",
    "Gold",
    "Measured",
    "Question",
    "Report",
    "evaluate",
    "measure",
    "paired",
    "to_html",
    "to_text",
]
