"""Ways to evidence: structure, words in the tree, meaning. No LlamaIndex here."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from llama_index_semxpath.index.keyword_source import CatalogKeywords
from llama_index_semxpath.retrievers.evidence import Evidence, Found, Principal, whole
from llama_index_semxpath.retrievers.intent import looks_like_query
from llama_index_semxpath.retrievers.packs import DocumentPacks, search_words
from llama_index_semxpath.retrievers.ranking import rank_packs
from llama_index_semxpath.retrievers.readers import Library
from llama_index_semxpath.retrievers.words import STOPWORDS, content_words
from llama_index_semxpath.tree.columns import Mask

#: Keyword hits that candidate documents are drawn from, and the most candidates.
_HITS = 300
_CANDIDATES = 24
#: Best packs that tell whether the documents use the question's words.
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


class StructuredRoute:
    """A SemXPath query, or a question that names places, fields and values, run as one."""

    name = "structured"

    def __init__(self, library: Library) -> None:
        self._library = library

    def find(
        self, question: str, *, limit: int, principal: Principal = None, scope: str | None = None
    ) -> Found:
        """See :class:`RouteLike`; a scope is part of what the question says, so it is not used.

        Raises:
            QueryError: The question is a query, and a wrong one.
        """
        if looks_like_query(question):
            result = self._library.source.query(question, top_k=limit, principal=principal)
            reasons: tuple[str, ...] = ("it is a SemXPath query",)
            return Found(whole(list(result), self.name, exact=True), question, reasons)
        reading = self._library.reader(principal).read(question)
        if reading is None:
            missing, topic = self._library.reader(principal).missing(question)
            reasons = ("the question names no place, field or value that the documents have",)
            return Found(reasons=reasons, topic=topic, missing=missing)
        result = self._library.source.query(reading.query, top_k=limit, principal=principal)
        exact = not reading.topic
        evidence = whole(list(result), self.name, exact=exact)
        return Found(evidence, reading.query, reading.reasons, reading.topic)


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
        documents = self._candidates(question, inside, principal)
        evidence: list[Evidence] = []
        table = source.table
        packed = self._library.packs(documents, principal)
        plain = content_words(question)
        ranking = rank_packs(asked, packed)
        held = frozenset[str]().union(*(one.held for one in ranking[:_BEST]))
        rarity = {word: _rarity(word, packed) for word in plain}
        total = sum(rarity.values())
        coverage = sum(rarity[word] for word in plain if word in held) / total if total else 0.0
        for ranked in ranking:
            for piece in ranked.pack.pieces:
                row = table.position(piece.match.id)
                if inside is not None and (row is None or not inside[row]):
                    continue
                why = {self.name: ranked.score}
                evidence.append(Evidence(piece.match, ranked.score, why, piece.start, piece.end))
            if len(evidence) >= limit:
                break
        return Found(evidence[:limit], coverage=coverage)

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
        keywords = CatalogKeywords(source.catalog)
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


def _rarity(word: str, documents: Sequence[DocumentPacks]) -> float:
    packs = sum(len(document.packs) for document in documents)
    return math.log(1.0 + (packs + 1) / (sum(one.spread[word] for one in documents) + 1))


def _without_stopwords(question: str) -> str:
    return re.sub(
        r"[A-Za-z']+", lambda word: " " if word[0].lower() in STOPWORDS else word[0], question
    )
