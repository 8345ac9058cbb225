"""Ways to evidence: structure, words in the tree, meaning. No LlamaIndex here."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from llama_index_semxpath.index.match import QueryResult
from llama_index_semxpath.retrievers.evidence import Evidence, Found, Principal, whole
from llama_index_semxpath.retrievers.intent import looks_like_query
from llama_index_semxpath.retrievers.packs import DocumentPacks
from llama_index_semxpath.retrievers.ranking import Ranked, rank_packs
from llama_index_semxpath.retrievers.readers import Library
from llama_index_semxpath.retrievers.words import STOPWORDS, search_words
from llama_index_semxpath.tree.columns import Mask
from llama_index_semxpath.tree.table import TreeTable

#: Keyword hits that candidate documents are drawn from, and the most candidates.
_HITS = 1000
_CANDIDATES = 24
#: Most results of a hard filter; more would be no answer to anybody.
_MOST_EXACT = 5000
#: Threshold of a second try where nothing is near enough in meaning.
_WIDER = 0.2
#: Sections that are looked at because of their titles.
_MOST_TITLED = 8
#: Best documents, and best packs of each, that tell whether they use the question's words.
_BEST = 3


class RouteLike(Protocol):
    """A way to evidence."""

    name: str

    def find(
        self, question: str, *, limit: int, principal: Principal = None, scope: str | None = None
    ) -> Found:
        """Evidence for a question.

        Args:
            question: What is asked.
            limit: Most pieces of evidence, 1 and up.
            principal: Labels of who asks.
            scope: SemXPath whose results and their descendants are searched; ``None`` for all.
        """
        ...


class Translator(Protocol):
    """Reads questions as queries where the rules cannot."""

    def translate(self, question: str, library: Library, principal: Principal) -> Found:
        """What the question asks for, run; no evidence where it cannot be read."""
        ...


class StructuredRoute:
    """A SemXPath query, or a question that names places, fields and values, run as one.

    Args:
        library: What is derived from the store.
        translator: Reads what the rules cannot; ``None`` for rules alone.
    """

    name = "structured"

    def __init__(self, library: Library, translator: Translator | None = None) -> None:
        self._library = library
        self._translator = translator

    def find(
        self, question: str, *, limit: int, principal: Principal = None, scope: str | None = None
    ) -> Found:
        """See :class:`RouteLike`; a scope is part of what the question says, so it is not used.

        A hard filter gives all that pass, whatever the limit.

        Raises:
            QueryError: The question is a query, and a wrong one.
        """
        if looks_like_query(question):
            result = self._run(question, principal)
            reasons: tuple[str, ...] = ("it is a SemXPath query",)
            evidence = whole(list(result), self.name, exact=True)
            return Found(evidence, question, reasons, decisive=True)
        reader = self._library.reader(principal)
        reading = reader.read(question)
        told: tuple[str, ...] = ()
        if self._translator is not None and (reading is None or reading.topic or reading.graded):
            translated = self._translator.translate(question, self._library, principal)
            if translated.decisive:
                return translated
            # The model is of no use here; what the rules read stands, and that is told.
            told = translated.notes
            if translated.problem and translated.problem not in told:
                told = (*told, translated.problem)
        if reading is None:
            missing, topic = reader.missing(question)
            reasons = ("the question names no place, field or value that the documents have",)
            return Found(reasons=reasons, topic=topic, missing=missing, notes=told)
        result = self._run(reading.query, principal)
        query, notes = reading.query, [*told, *reading.notes]
        if not result and reading.wider is not None:
            query, said = reading.wider
            result = self._run(query, principal)
            notes.append(f"{said}: {len(result)}")
        if not result and reading.graded and not reading.topic:
            # Nothing is near enough in meaning: what comes nearest is shown, and that it does.
            query = f"threshold({_WIDER}, {reading.query})"
            result = self._run(query, principal)
            notes.append(f"nothing fits well; with the threshold at {_WIDER}: {len(result)}")
        decisive = reading.records and not reading.topic and bool(result or not reading.graded)
        if decisive and not result:
            notes.append(f"nothing fits {reading.query}")
        value = float(len(result)) if reading.counts else None
        evidence = whole(list(result), self.name, exact=not reading.topic)
        return Found(
            evidence,
            query,
            reading.reasons,
            reading.topic,
            reading.titled,
            decisive=decisive,
            value=value,
            notes=tuple(notes),
        )

    def _run(self, query: str, principal: Principal) -> QueryResult:
        return self._library.source.query(query, top_k=_MOST_EXACT, principal=principal)


class SemanticRoute:
    """Nodes nearest in meaning."""

    name = "semantic"

    def __init__(self, library: Library) -> None:
        self._library = library

    def find(
        self, question: str, *, limit: int, principal: Principal = None, scope: str | None = None
    ) -> Found:
        """See :class:`RouteLike`."""
        matches = self._library.source.semantic_search(
            question, limit=limit, scope=scope, principal=principal
        )
        return Found(whole(matches, self.name))


class TreeRoute:
    """Words in their place: documents that hold the question's words, then places in them."""

    name = "tree"

    def __init__(self, library: Library) -> None:
        self._library = library

    def find(
        self, question: str, *, limit: int, principal: Principal = None, scope: str | None = None
    ) -> Found:
        """See :class:`RouteLike`."""
        asked = list(search_words(question))
        if not asked:
            return Found(reasons=("the question has no words to search by",))
        source = self._library.source
        inside = self._inside(scope, principal)
        titled = self._titled(asked, inside, principal)
        documents = self._candidates(question, inside, principal)
        documents += [doc for doc in dict.fromkeys(titled.values()) if doc not in documents]
        evidence: list[Evidence] = []
        table = source.table
        packed = self._library.packs(documents, principal)
        reasons: list[str] = []
        ranking = rank_packs(
            asked,
            packed,
            question=question,
            nearness=lambda docs: self._near(question, docs, principal, reasons),
            titled=dict(titled),
        )
        plain = list(search_words(question, pairs=False))
        rarity = {word: _rarity(word, packed) for word in plain}
        best = _best_places(ranking)
        held = [word for word in plain if any(one.holds(word) for one in best)]
        total = sum(rarity.values())
        coverage = sum(rarity[word] for word in held) / total if total else 0.0
        for ranked in ranking:
            for piece in ranked.pack.pieces:
                row = table.position(piece.match.id)
                if inside is not None and (row is None or not inside[row]):
                    continue
                why = {self.name: ranked.score}
                evidence.append(Evidence(piece.match, ranked.score, why, piece.start, piece.end))
            if len(evidence) >= limit:
                break
        return Found(evidence[:limit], reasons=tuple(reasons), coverage=coverage)

    def _titled(
        self, asked: Sequence[str], inside: Mask | None, principal: Principal
    ) -> dict[tuple[str, float], str]:
        """Sections whose titles say what is asked: order key and share, with their document."""
        table = self._library.table(principal)
        orders = table.orders
        fits = self._library.titles(principal).fits(asked)
        best = sorted(fits, key=lambda row: -fits[row])[:_MOST_TITLED]
        found: dict[tuple[str, float], str] = {}
        for row in best:
            doc = int(table.doc[row])
            whole = self._library.source.table.position(table.ids[row])
            if orders is None or doc < 0 or whole is None:
                continue
            if inside is None or inside[whole]:
                found[orders[row], fits[row]] = table.docs[doc]
        return found

    def _near(
        self, question: str, documents: Sequence[str], principal: Principal, reasons: list[str]
    ) -> dict[str, float]:
        """Nearness in meaning to the nodes of some documents; none where the model fails."""

        def admit(table: TreeTable) -> Mask:
            codes = [table.docs.index(doc) for doc in documents if doc in table.docs]
            return np.isin(table.doc, codes)

        source = self._library.source
        try:
            vector = source.embeddings.query_vector(question)
            return dict(source.nearest(vector, len(source.table), admit, principal))
        except Exception as error:  # a user's model may raise anything; words still rank
            reasons.append(f"meaning could not be asked: {error}")
            return {}

    def _inside(self, scope: str | None, principal: Principal) -> Mask | None:
        """Rows that the principal may see and the scope holds; ``None`` for all rows."""
        source = self._library.source
        visible = source.visible(principal)
        if scope is None:
            return visible
        table = source.table
        inside: Mask = np.zeros(len(table), dtype=bool)
        for match in source.query(scope, principal=principal):
            row = table.position(match.id)
            if row is not None:
                inside[row : table.end[row]] = True
        return inside if visible is None else inside & visible

    def _candidates(self, question: str, inside: Mask | None, principal: Principal) -> list[str]:
        """Documents whose best places hold the question's words, by the catalog's own BM25."""
        source = self._library.source
        table = source.table
        keywords = source.keywords(principal)
        wanted = _without_stopwords(question)
        scores: dict[str, list[float]] = {}
        for node_id, score in keywords.ranked(wanted, _HITS if inside is None else None):
            row = table.position(node_id)
            if row is None or (inside is not None and not inside[row]):
                continue
            doc = int(table.doc[row])
            if doc >= 0:
                scores.setdefault(table.docs[doc], []).append(score)
        # The best place counts whole, the next two by half: one hit may be chance.
        strength = {doc: hits[0] + 0.5 * sum(hits[1:3]) for doc, hits in scores.items()}
        return sorted(strength, key=lambda doc: -strength[doc])[:_CANDIDATES]


def _best_places(ranking: Sequence[Ranked]) -> list[Ranked]:
    """The best packs of each of the best documents: a comparison is covered by several."""
    taken: dict[str, list[Ranked]] = {}
    for one in ranking:
        if one.document.id in taken or len(taken) < _BEST:
            taken.setdefault(one.document.id, []).append(one)
    return [one for some in taken.values() for one in some[:_BEST]]


def _rarity(word: str, documents: Sequence[DocumentPacks]) -> float:
    packs = sum(len(document.packs) for document in documents)
    return math.log(1.0 + (packs + 1) / (sum(one.spread(word) for one in documents) + 1))


def _without_stopwords(question: str) -> str:
    return re.sub(
        r"[A-Za-z']+", lambda word: " " if word[0].lower() in STOPWORDS else word[0], question
    )
