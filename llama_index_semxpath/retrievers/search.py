"""All routes together: intent, routes run side by side, fusion by node id, overlap resolved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, get_args

from llama_index_semxpath.errors import QueryError, SemXPathError
from llama_index_semxpath.index.match import Match
from llama_index_semxpath.instrumentation import carried, span
from llama_index_semxpath.retrievers.cache import Recent
from llama_index_semxpath.retrievers.deepening import Expander, deepen
from llama_index_semxpath.retrievers.evidence import Evidence, Found, Principal, without_headings
from llama_index_semxpath.retrievers.fusion import (
    Fused,
    Place,
    reciprocal_rank_fusion,
    resolve_overlap,
)
from llama_index_semxpath.retrievers.graph import GraphRoute
from llama_index_semxpath.retrievers.intent import Intent, Route, looks_like_query, read_intent
from llama_index_semxpath.retrievers.jobs import side_by_side
from llama_index_semxpath.retrievers.readers import Library
from llama_index_semxpath.retrievers.routes import (
    RouteLike,
    SemanticRoute,
    StructuredRoute,
    Translator,
    TreeRoute,
)
from llama_index_semxpath.retrievers.selection import diversify, fold_repeats, weigh_sources

Effort = Literal["fast", "normal", "deep"]
#: Candidates that each route gives for one that is kept, by effort.
_DEPTH: dict[Effort, int] = {"fast": 1, "normal": 3, "deep": 8}
#: Below this share of the question's words, keywords say little and meaning must decide.
_POOR_COVERAGE = 0.4
#: The same for a comparison, whose words are spread over several documents.
_POOR_COMPARISON = 0.25
_LONGEST_QUESTION = 4000
#: Weight from which structure may confine the other routes, and the most places that it may name.
_TRUSTED, _FEW_PLACES = 0.5, 3
#: Documents of less weight are notes, which a fast search leaves out.
_HEAVY = 1.0


@dataclass(slots=True)
class Outcome:
    """What a search gives.

    Args:
        question: What was asked.
        intent: What it was taken for.
        evidence: Fused, best first; what a hard filter gives is whole and in document order.
        routes: What each route said.
        query: The SemXPath that ran, if any.
        notes: What was decided on the way, failures of routes included.
        value: The number that the question asks for, where it counts something.
        exact: Whether structure alone answers the question.
    """

    question: str
    intent: Intent
    evidence: list[Evidence] = field(default_factory=list)
    routes: dict[str, Found] = field(default_factory=dict)
    query: str | None = None
    notes: list[str] = field(default_factory=list)
    value: float | None = None
    exact: bool = False

    def copy(self) -> Outcome:
        """One whose lists may be changed without changing this one's."""
        return Outcome(
            self.question,
            self.intent,
            list(self.evidence),
            dict(self.routes),
            self.query,
            list(self.notes),
            self.value,
            self.exact,
        )


@dataclass(frozen=True, slots=True)
class Asking:
    """What stays the same while a question is asked.

    Args:
        limit: Most pieces of evidence.
        depth: Most that each route gives.
        principal: Labels of who asks.
        effort: How far to look.
    """

    limit: int
    depth: int
    principal: Principal
    effort: Effort


class Search:
    """Asks the routes that a question's intent trusts and fuses what they find.

    Args:
        source: A ``Reader``, or an index that has one.
        weights: Weights by route that override those of the intent.
        timeout: Seconds that the routes of a question have, > 0; who is late is left out and the
            outcome says so. ``None`` for no limit.
        variety: 0 ranks by fit alone; up to 1 the more each result must differ from the others.
        translator: Reads questions as queries where the rules cannot (a model).
        expander: Takes questions apart for the effort ``deep`` (a model).

    Raises:
        SemXPathError: A weight for a route that does not exist, a timeout or variety out of range.
    """

    def __init__(
        self,
        source: Any,
        weights: Mapping[str, float] | None = None,
        *,
        timeout: float | None = None,
        variety: float = 0.0,
        translator: Translator | None = None,
        expander: Expander | None = None,
    ) -> None:
        self.library = source if isinstance(source, Library) else Library(source)
        self.routes: dict[str, RouteLike] = {
            "structured": StructuredRoute(self.library, translator),
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
        if timeout is not None and not timeout > 0:
            raise SemXPathError("a timeout must be above 0", where=str(timeout), hint="in seconds")
        if not 0.0 <= variety <= 1.0:
            raise SemXPathError("variety must be between 0 and 1", where=str(variety))
        self._timeout = timeout
        self._variety = variety
        self._expander = expander
        self._recent: Recent[Outcome] = Recent(self.library)

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
            limit: Most pieces of evidence, 1 and up; a hard filter gives all that pass.
            principal: Labels of who asks.
            effort: ``fast`` asks the most trusted route in sources of full weight only, ``deep``
                goes on until enough is found and says what it did.
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
        key = (question, limit, effort, None if intent is None else _key(intent))
        known = self._recent.get(key, principal)
        if known is not None:
            return known.copy()
        if intent is None:
            intent = read_intent(question, self.library.reader(principal).names)
        asking = Asking(limit, limit * _DEPTH[effort], principal, effort)
        outcome = self._run(Outcome(question, intent), asking)
        if not any(found.problem for found in outcome.routes.values()):
            self._recent.put(key, principal, outcome.copy())
        return outcome

    def _run(self, outcome: Outcome, asking: Asking) -> Outcome:
        weights: dict[str, float] = {
            str(name): value for name, value in outcome.intent.weights.items()
        }
        weights.update(self._weights)
        if looks_like_query(outcome.question):
            weights = {"structured": 1.0}
        scope = self._structure(outcome, weights, asking)
        if not outcome.exact:
            rest = [name for name in self.routes if weights.get(name, 0.0) and name != "structured"]
            if asking.effort == "fast":
                rest = sorted(rest, key=lambda name: -weights[name])[:1]
            self._ask(outcome, rest, asking, scope)
            if scope and not any(
                one.evidence for name, one in outcome.routes.items() if name in rest
            ):
                outcome.notes.append(f"nothing in {scope}; looked everywhere")
                scope = None
                self._ask(outcome, rest, asking, scope)
            elif scope and self._by_chance(outcome, rest, asking):
                outcome.notes.append(f"few of these words in {scope}; looked everywhere")
                scope, outcome.query, weights["structured"] = None, None, 0.0
            self._trust_meaning(outcome, weights, asking, scope)
        with span("fusion", routes=len(outcome.routes)) as facts:
            outcome.evidence = self._select(outcome, weights, asking)
            facts["evidence"] = len(outcome.evidence)
        if asking.effort == "deep" and not outcome.exact:
            self._deepen(outcome, weights, asking)
        return outcome

    def _structure(self, outcome: Outcome, weights: dict[str, float], asking: Asking) -> str | None:
        """Asks the structured route first: what it finds decides what the others are for.

        Returns:
            The scope that the other routes search in.
        """
        found = self._look(outcome, weights, asking)
        if found is None:
            return None
        outcome.query, outcome.value = found.query, found.value
        outcome.notes.extend(found.notes)
        if found.decisive:
            outcome.exact = True
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
            return None
        if not found.topic:
            # The question is answered by structure alone; other routes would only add noise.
            outcome.exact = True
            return None
        weights["tree"] = max(weights.get("tree", 0.0), 1.0)
        if weights["structured"] < _TRUSTED or len(found.evidence) > _FEW_PLACES:
            # A title that many documents share ("Results") names no place to search in.
            weights["structured"] = 0.0
            outcome.query = None
            return None
        return found.query

    def _by_chance(self, outcome: Outcome, names: Sequence[str], asking: Asking) -> bool:
        """Whether a title is in the question by chance: its words are elsewhere, not below it.

        What the routes find elsewhere then stands for what they found below the title.
        """
        below = dict(outcome.routes)
        if not below["structured"].titled or not _poor(below):
            return False
        self._ask(outcome, names, asking, None)
        if _poor(outcome.routes):
            # The words are nowhere: the question speaks otherwise, or in another language.
            outcome.routes = below
            return False
        return True

    def _look(self, outcome: Outcome, weights: dict[str, float], asking: Asking) -> Found | None:
        """What structure says; ``None`` where neither intent nor the records speak for it."""
        if self._weights.get("structured") == 0.0:
            return None
        trusted = weights.get("structured", 0.0) > 0.0
        # Questions about records need not sound like a filter: "Where do I have lunch?"
        if not (
            trusted
            or looks_like_query(outcome.question)
            or self.library.reader(asking.principal).means_records(outcome.question)
        ):
            return None
        self._ask(outcome, ["structured"], asking, None)
        found = outcome.routes["structured"]
        if not trusted and not found.decisive:
            del outcome.routes["structured"]
            return None
        weights["structured"] = max(weights.get("structured", 0.0), 1.0 if found.decisive else 0.0)
        return found

    def _ask(
        self, outcome: Outcome, names: Sequence[str], asking: Asking, scope: str | None
    ) -> None:
        """Asks routes side by side; who fails or is late is told, the others answer."""
        if not names:
            return
        works: dict[str, Callable[[], Found]] = {
            name: carried(partial(self._one, name, outcome.question, asking, scope))
            for name in names
        }
        for name, found in side_by_side(works, self._timeout).items():
            if isinstance(found, QueryError) and looks_like_query(outcome.question):
                raise found
            if isinstance(found, BaseException):
                if not isinstance(found, Exception):
                    raise found
                found = Found(problem=_problem(found))
            if found.problem:
                outcome.notes.append(f"route {name} failed: {found.problem}")
            outcome.routes[name] = found

    def _one(self, name: str, question: str, asking: Asking, scope: str | None) -> Found:
        with span(f"route.{name}") as facts:
            found = self.routes[name].find(
                question, limit=asking.depth, principal=asking.principal, scope=scope
            )
            facts["evidence"] = len(found.evidence)
        return found

    def _trust_meaning(
        self, outcome: Outcome, weights: dict[str, float], asking: Asking, scope: str | None
    ) -> None:
        """Lets meaning decide where the documents do not use the question's words, only there."""
        tree = outcome.routes.get("tree")
        if tree is None or "semantic" in self._weights or weights.get("tree", 0.0) <= 0.0:
            return
        spread = outcome.intent.kind == "comparison"
        if tree.evidence and tree.coverage >= (_POOR_COMPARISON if spread else _POOR_COVERAGE):
            # Words in their place rank the facts; meaning would only shuffle what they tell apart.
            weights["semantic"] = 0.0
            return
        weights["semantic"] = 1.0
        weights["tree"] = min(weights.get("tree", 0.0), 0.3)
        if "semantic" not in outcome.routes:
            self._ask(outcome, ["semantic"], asking, scope)
        outcome.notes.append("the documents hold few of these words; meaning decides")

    def _deepen(self, outcome: Outcome, weights: dict[str, float], asking: Asking) -> None:
        """Looks further where little was found, and says how."""

        def again(question: str, names: Sequence[str]) -> dict[str, Found]:
            other = Outcome(question, outcome.intent)
            self._ask(other, names, asking, None)
            outcome.notes.extend(note for note in other.notes if note not in outcome.notes)
            return other.routes

        tree = outcome.routes.get("tree")
        enough = (
            len(outcome.evidence) >= asking.limit
            and tree is not None
            and tree.coverage >= 2 * _POOR_COVERAGE
        )
        for step in deepen(outcome.question, again, self._expander, enough=enough):
            outcome.notes.append(f"deep: {step.said}")
            for name, found in step.routes.items():
                outcome.routes[f"{name} {step.name}"] = found
                weights[f"{name} {step.name}"] = step.weight
        outcome.evidence = self._select(outcome, weights, asking)

    def _select(
        self, outcome: Outcome, weights: Mapping[str, float], asking: Asking
    ) -> list[Evidence]:
        """What is kept of all that was found, best first."""
        if outcome.exact:
            return list(outcome.routes["structured"].evidence)
        sources = self.library.source_weights(asking.principal)
        found = {
            name: weigh_sources(one.evidence, sources)
            for name, one in outcome.routes.items()
            if weights.get(name, 0.0) > 0.0
        }
        if asking.effort == "fast":
            found = {
                name: [one for one in some if sources.get(one.match.document, 1.0) >= _HEAVY]
                for name, some in found.items()
            }
        fused = self._fuse(found, weights)
        kept = fold_repeats(fused[: 2 * asking.limit], across=outcome.intent.kind != "comparison")
        return diversify(kept[: asking.limit], self._variety)

    def _fuse(
        self, found: Mapping[str, list[Evidence]], weights: Mapping[str, float]
    ) -> list[Evidence]:
        split = _split_alike(found)
        known = {one.key: one for ranked in reversed(split.values()) for one in ranked}
        if len(split) == 1:
            return next(iter(split.values()))
        lists = {name: [(one.key, one.score) for one in ranked] for name, ranked in split.items()}
        fused = reciprocal_rank_fusion(lists, {name: weights[name] for name in lists})
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


def _poor(routes: Mapping[str, Found]) -> bool:
    """Whether the best places hold few of the question's words."""
    return "tree" in routes and routes["tree"].coverage < _POOR_COVERAGE


def _key(intent: Intent) -> tuple[Any, ...]:
    return intent.kind, tuple(sorted(intent.weights.items()))


def _problem(error: Exception) -> str:
    if isinstance(error, QueryError):
        return "its query is not valid here"
    return str(error) or type(error).__name__


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
