"""From a question to a cited answer without a model and without LlamaIndex."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from llama_index_semxpath.index.match import Match, json_value
from llama_index_semxpath.query_engine.answer import Extract, extract_answer, not_found
from llama_index_semxpath.query_engine.context import ContextBuilder, ContextSource
from llama_index_semxpath.retrievers.evidence import Evidence, Principal
from llama_index_semxpath.retrievers.intent import Intent, looks_like_query
from llama_index_semxpath.retrievers.search import Effort, Outcome, Search, matches

#: Tokens of context by effort.
BUDGETS: dict[str, int] = {"fast": 800, "normal": 2000, "deep": 6000}


@dataclass(slots=True, repr=False)
class Answer:
    """An answer with everything it rests on.

    Args:
        question: What was asked.
        text: The answer; ``[n]`` leads to ``citations``.
        intent: What the question was taken for.
        query: The SemXPath that ran, if any.
        results: Nodes found, best first.
        citations: One for each number in the text.
        found: Whether the documents hold an answer.
        confidence: How far the answer can be trusted, in [0, 1].
        notes: What was decided on the way.
        sources: What the answer could draw on.
        evidence: What the results come from, excerpts included.
        confidence_reasons: What the confidence rests on.
        unsupported: Statements of a model that no source supports.
        usage: Calls, tokens and seconds of the model; empty without one.
    """

    question: str
    text: str
    intent: Intent
    query: str | None = None
    results: list[Match] = field(default_factory=list)
    citations: list[dict[str, Any]] = field(default_factory=list)
    found: bool = True
    confidence: float = 0.0
    notes: list[str] = field(default_factory=list)
    sources: list[ContextSource] = field(default_factory=list)
    evidence: Sequence[Evidence] = ()
    confidence_reasons: list[str] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        cited = [
            f"[{one['number']}] {' › '.join([str(one['document']), *map(str, one['path'])])}"
            for one in self.citations
        ]
        return "\n".join([self.text, *cited, f"confidence {self.confidence:.2f}"])

    def _repr_html_(self) -> str:
        # Shown by a room above this one, so it is looked up when a notebook asks.
        display = import_module("llama_index_semxpath.display")
        return str(
            display.answer_html(
                self.text,
                self.citations,
                confidence=self.confidence,
                reasons=self.confidence_reasons,
                notes=self.notes,
            )
        )

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON values, as ``semxpath ask --json`` prints it."""
        return {
            "answer": self.text,
            "intent": self.intent.kind,
            "reasons": list(self.intent.reasons),
            "query": self.query,
            "found": self.found,
            "confidence": self.confidence,
            "confidence_reasons": list(self.confidence_reasons),
            "unsupported": list(self.unsupported),
            "usage": dict(self.usage),
            "results": [match.to_dict() for match in self.results],
            "citations": json_value(self.citations),
            "notes": list(self.notes),
        }


@dataclass(slots=True)
class Prepared:
    """A question with its evidence and context, ready for an answer."""

    outcome: Outcome
    sources: list[ContextSource]
    value: Any = None


class Pipeline:
    """Search, context and extractive answer over one store.

    Args:
        source: A ``Reader``, or an index that has one.
        budget: Tokens of context; by effort where it is not given.
        search: The search to use; one over ``source`` by default.
    """

    def __init__(
        self, source: Any, *, budget: int | None = None, search: Search | None = None
    ) -> None:
        self.search = search or Search(source)
        self._budget = budget

    def prepare(
        self,
        question: str,
        *,
        principal: Principal = None,
        effort: Effort = "normal",
        limit: int = 20,
        intent: Intent | None = None,
    ) -> Prepared:
        """Evidence and context for a question; see :meth:`Search.run`."""
        outcome = self.search.run(
            question, limit=limit, principal=principal, effort=effort, intent=intent
        )
        value = None
        if not outcome.evidence and outcome.query and looks_like_query(question):
            result = self.search.library.source.query(outcome.query, principal=principal)
            value = result.value
        budget = self._budget or BUDGETS[effort]
        builder = ContextBuilder(self.search.library, budget=budget)
        return Prepared(outcome, builder.build(outcome.evidence, principal), value)

    def ask(
        self,
        question: str,
        *,
        principal: Principal = None,
        effort: Effort = "normal",
        limit: int = 20,
        intent: Intent | None = None,
    ) -> Answer:
        """An answer made of the sources' own words.

        Args:
            question: What is asked.
            principal: Labels of who asks.
            effort: ``fast``, ``normal`` or ``deep``.
            limit: Most pieces of evidence, 1 and up.
            intent: What the question asks for, where a selector has decided already.

        Raises:
            QueryError: The question is a SemXPath query, and a wrong one.
        """
        prepared = self.prepare(
            question, principal=principal, effort=effort, limit=limit, intent=intent
        )
        return extractive(prepared)


def extractive(prepared: Prepared) -> Answer:
    """The extractive answer to a prepared question."""
    outcome = prepared.outcome
    if prepared.value is not None:
        answer = finish(prepared, Extract(value_text(prepared.value), {}, True, 1.0))
        answer.confidence_reasons = ["the value is computed by the query"]
        return answer
    passages = [passage for source in prepared.sources for passage in source.passages]
    if not passages:
        answer = finish(prepared, Extract(not_found(outcome.question), found=False))
        answer.confidence_reasons = ["no passage was found"]
        return answer
    comparing = outcome.intent.kind == "comparison"
    limit = 8 if outcome.intent.kind in ("procedure", "summary", "comparison") else 4
    answer = finish(
        prepared, extract_answer(outcome.question, passages, limit=limit, comparison=comparing)
    )
    answer.confidence_reasons = [_ground(answer, any(one.exact for one in passages))]
    return answer


def _ground(answer: Answer, exact: bool) -> str:
    share = f"{answer.confidence:.0%} of what the question names"
    if not answer.found:
        return f"the best passage holds only {share}"
    if exact:
        return "the question names this place"
    return f"the quoted places hold {share}"


def value_text(value: Any) -> str:
    """What a query gives that does not end in nodes, as a person writes it.

    Example:
        >>> value_text(2.0), value_text(True), value_text([{"key": "a", "count": 2}])
        ('2', 'true', '     2  a')
    """
    plain = json_value(value)
    if isinstance(plain, list) and plain and isinstance(plain[0], dict):
        return "\n".join(f"{group['count']:>6}  {group['key']}" for group in plain)
    if isinstance(plain, list):
        return "\n".join(str(item) for item in plain)
    if isinstance(plain, bool):
        return "true" if plain else "false"
    if isinstance(plain, float) and plain.is_integer():
        return str(int(plain))
    return str(plain)


def finish(prepared: Prepared, extract: Extract) -> Answer:
    """An answer from its text and the sources it cites."""
    outcome = prepared.outcome
    return Answer(
        outcome.question,
        extract.text,
        outcome.intent,
        outcome.query,
        matches(outcome.evidence),
        [prepared.sources[place].citation(n) for n, place in sorted(extract.cited.items())],
        extract.found,
        extract.confidence,
        list(outcome.notes),
        prepared.sources,
        outcome.evidence,
    )
