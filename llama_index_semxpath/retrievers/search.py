"""All routes together: intent, routes run side by side, fusion by node id, overlap resolved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from llama_index_semxpath.errors import QueryError, SemXPathError
from llama_index_semxpath.index.match import Match
from llama_index_semxpath.instrumentation import carried, span
from llama_index_semxpath.retrievers.evidence import Evidence, Found, Principal, without_headings
from llama_index_semxpath.retrievers.fusion import (
    Fused,
    Place,
    reciprocal_rank_fusion,
    resolve_overlap,
)
from llama_index_semxpath.retrievers.graph import GraphRoute
from llama_index_semxpath.retrievers.intent import Intent, Route, looks_like_query, read_intent
from llama_index_semxpath.retrievers.readers import Library
from llama_index_semxpath.retrievers.routes import (
    RouteLike,
    SemanticRoute,
    StructuredRoute,
    TreeRoute,
)

Effort = Literal["fast", "normal", "deep"]
#: Candidates that each route gives for one that is kept, by effort.
_DEPTH: dict[Effort, int] = {"fast": 1, "normal": 3, "deep": 8}
#: Below this share of the question's words, keywords say little and meaning must decide.
_POOR_COVERAGE = 0.4
_LONGEST_QUESTION = 4000
#: Weight from which structure may confine the other routes, and the most places that it may name.
_TRUSTED, _FEW_PLACES = 0.5, 3


@dataclass(slots=True)
class Outcome:
    """What a search gives.

    Args:
        question: What was asked.
        intent: What it was taken for.
        evidence: Fused, best first.
        routes: What each route said.
        query: The SemXPath that ran, if any.
        notes: What was decided on the way, failures of routes included.
    """

    question: str
    intent: Intent
    evidence: list[Evidence] = field(default_factory=list)
    routes: dict[str, Found] = field(default_factory=dict)
    query: str | None = None
    notes: list[str] = field(default_factory=list)


class Search:
    """Asks the routes that a question's intent trusts and fuses what they find.

    Args:
        source: A ``Reader``, or an index that has one.
        weights: Weights by route that override those of the intent.

    Raises:
        SemXPathError: A weight for a route that does not exist.
    """

    def __init__(self, source: Any, weights: Mapping[str, float] | None = None) -> None:
        self.library = source if isinstance(source, Library) else Library(source)
        self.routes: dict[str, RouteLike] = {
            "structured": StructuredRoute(self.library),
            "tree": TreeRoute(self.library),
            "graph": GraphRoute(self.library),
            "semantic": SemanticRoute(self.library),
        }
        self._weights = dict(weights or {})
        unknown = set(self._weights) - set(self.routes)
        if unknown:
            raise SemXPathError(
                "unknown route", where=", ".join(sorted(unknown)), hint=f"use {list(self.routes)}"
            )

    def run(
        self,
        question: str,
        *,
        limit: int = 20,
        principal: Principal = None,
        effort: Effort = "normal",
        intent: Intent | None = None,
    ) -> Outcome:
        """Evidence for a question.

        Args:
            question: What is asked; characters beyond 4,000 are not read.
            limit: Most pieces of evidence, 1 and up.
            principal: Labels of who asks.
            effort: ``fast`` asks the most trusted route only, ``deep`` looks further down each.
            intent: What the question asks for, where a selector has decided already.

        Raises:
            QueryError: The question is a SemXPath query, and a wrong one.
            SemXPathError: An empty question, or an effort that does not exist.
        """
        question = _readable(question)
        if not question:
            raise SemXPathError("the question is empty", hint="ask something")
        if effort not in get_args(Effort):
            raise SemXPathError("unknown effort", where=str(effort), hint="fast, normal or deep")
        if intent is None:
            intent = read_intent(question, self.library.reader(principal).names)
        outcome = Outcome(question, intent)
        weights: dict[str, float] = {str(name): value for name, value in intent.weights.items()}
        weights.update(self._weights)
        if looks_like_query(question):
            weights = {"structured": 1.0}
        depth = limit * _DEPTH[effort]
        scope = self._structure(outcome, weights, depth, principal)
        rest = [
            name for name in self.routes if weights.get(name, 0.0) > 0.0 and name != "structured"
        ]
        if effort == "fast":
            rest = sorted(rest, key=lambda name: -weights[name])[:1]
        self._ask(outcome, rest, depth, principal, scope)
        self._trust_meaning(outcome, weights, depth, principal, scope)
        with span("fusion", routes=len(outcome.routes)) as facts:
            outcome.evidence = self._fuse(outcome, weights)[:limit]
            facts["evidence"] = len(outcome.evidence)
        return outcome

    def _structure(
        self, outcome: Outcome, weights: dict[str, float], depth: int, principal: Principal
    ) -> str | None:
        """Asks the structured route first: what it finds decides what the others are for.

        Returns:
            The scope that the other routes search in.
        """
        if not weights.get("structured"):
            return None
        found = self._one(outcome, "structured", depth, principal, None)
        outcome.query = found.query
        if looks_like_query(outcome.question):
            return None
        for place in found.missing:
            outcome.notes.append(f"the documents have no “{place}”")
        if found.missing and not found.topic:
            weights.update(tree=0.0, semantic=0.0, graph=0.0)
            return None
        if not found.evidence:
            weights["structured"] = 0.0
            said = "found nothing" if found.query else "does not apply"
            outcome.notes.append(f"structure {said}; words and meaning decide")
            weights["tree"] = max(weights.get("tree", 0.0), 1.0)
            weights["semantic"] = max(weights.get("semantic", 0.0), 0.05)
            return None
        if not found.topic:
            # The question is answered by structure alone; other routes would only add noise.
            weights.update(tree=0.0, semantic=0.0, graph=0.0)
            return None
        weights["tree"] = max(weights.get("tree", 0.0), 1.0)
        if weights["structured"] < _TRUSTED or len(found.evidence) > _FEW_PLACES:
            # A title that many documents share ("Results") names no place to search in.
            weights["structured"] = 0.0
            outcome.query = None
            return None
        return found.query

    def _ask(
        self,
        outcome: Outcome,
        names: Sequence[str],
        depth: int,
        principal: Principal,
        scope: str | None,
    ) -> None:
        """Asks several routes side by side."""
        if len(names) <= 1:
            for name in names:
                self._one(outcome, name, depth, principal, scope)
            return
        with ThreadPoolExecutor(len(names)) as pool:
            jobs = [
                pool.submit(carried(self._one), outcome, name, depth, principal, scope)
                for name in names
            ]
            for job in jobs:
                job.result()

    def _one(
        self, outcome: Outcome, name: str, depth: int, principal: Principal, scope: str | None
    ) -> Found:
        """One route; a failing one is told and the others answer, unless the query is wrong."""
        try:
            with span(f"route.{name}") as facts:
                found = self.routes[name].find(
                    outcome.question, limit=depth, principal=principal, scope=scope
                )
                facts["evidence"] = len(found.evidence)
        except QueryError:
            if looks_like_query(outcome.question):
                raise
            found = Found(problem="its query is not valid here")
        except SemXPathError as error:
            found = Found(problem=str(error))
        if found.problem:
            outcome.notes.append(f"route {name} failed: {found.problem}")
        outcome.routes[name] = found
        return found

    def _trust_meaning(
        self,
        outcome: Outcome,
        weights: dict[str, float],
        depth: int,
        principal: Principal,
        scope: str | None,
    ) -> None:
        """Lets meaning decide where the documents do not use the question's words."""
        tree = outcome.routes.get("tree")
        if tree is None or (tree.evidence and tree.coverage >= _POOR_COVERAGE):
            return
        if "semantic" in self._weights:
            return
        weights["semantic"] = 1.0
        weights["tree"] = min(weights.get("tree", 0.0), 0.3)
        if "semantic" not in outcome.routes:
            self._one(outcome, "semantic", depth, principal, scope)
        outcome.notes.append("the documents hold few of these words; meaning decides")

    def _fuse(self, outcome: Outcome, weights: Mapping[str, float]) -> list[Evidence]:
        found = {
            name: list(one.evidence)
            for name, one in outcome.routes.items()
            if weights.get(name, 0.0) > 0.0
        }
        found = _split_alike(found)
        known = {one.key: one for ranked in reversed(found.values()) for one in ranked}
        if len(found) == 1:
            return next(iter(found.values()))
        lists = {name: [(one.key, one.score) for one in ranked] for name, ranked in found.items()}
        fused = reciprocal_rank_fusion(lists, weights)
        fused = resolve_overlap(fused, self._places(known, fused))
        return [known[hit.id].scored(hit.score, hit.why) for hit in fused]

    def _places(self, known: Mapping[str, Evidence], fused: Sequence[Fused]) -> dict[str, Place]:
        """Places of the hits, for telling ancestor from descendant; places named exactly stay."""
        table = self.library.source.table
        column = table.attribute("tokens")
        places = {}
        for hit in fused:
            one = known[hit.id]
            row = table.position(one.match.id)
            if row is None or one.exact:
                continue
            order = one.match.node.order
            if one.end is not None:
                order = f"{order}.{one.start:09d}"
            tokens = one.match.node.tokens
            if column is not None and one.end is None:
                low, high = column.rows.searchsorted([row, table.end[row]])
                tokens = int(column.numbers[low:high].sum())
            places[hit.id] = Place(order, tokens)
        return places


def _readable(question: str) -> str:
    """The question without what no text holds (NUL, lone surrogates), cut to a sane length."""
    text = question[:_LONGEST_QUESTION].encode("utf-8", "ignore").decode()
    return text.replace("\0", " ").strip()


def _split_alike(found: Mapping[str, list[Evidence]]) -> dict[str, list[Evidence]]:
    """A whole node that another route cut into excerpts is cut alike, so that agreement counts."""
    excerpts: dict[str, list[Evidence]] = {}
    for ranked in found.values():
        for one in ranked:
            if one.end is not None and one.match.kind != "Section":
                excerpts.setdefault(one.match.id, []).append(one)
    split: dict[str, list[Evidence]] = {}
    for name, ranked in found.items():
        split[name] = [
            part if one.end is not None else part.scored(one.score, one.why)
            for one in ranked
            for part in ([one] if one.end is not None else excerpts.get(one.match.id, [one]))
        ]
    return split


def matches(evidence: Sequence[Evidence]) -> list[Match]:
    """Evidence as matches, one a node, best first, with the scores of every route.

    Args:
        evidence: Best first.
    """
    found: dict[str, Match] = {}
    for one in without_headings(evidence):
        why = {name: score for name, score in one.why.items() if score is not None}
        found.setdefault(one.match.id, Match(one.match.view, one.score, why))
    return list(found.values())


__all__ = ["Effort", "Outcome", "Route", "Search", "matches"]
