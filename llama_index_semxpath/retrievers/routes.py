"""Ways to evidence: structure, words in the tree, meaning. No LlamaIndex here."""

from __future__ import annotations

from typing import Protocol

from llama_index_semxpath.retrievers.evidence import Evidence, Found, Principal, whole
from llama_index_semxpath.retrievers.intent import looks_like_query
from llama_index_semxpath.retrievers.packs import search_words
from llama_index_semxpath.retrievers.ranking import rank_packs
from llama_index_semxpath.retrievers.readers import Library

#: Keyword hits that candidate documents are drawn from, and the most candidates.
_HITS = 300
_CANDIDATES = 24


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
            return Found(reasons=("the question names no place, field or value",))
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
        inside: frozenset[str] | None = None
        hits = source.keyword_search(question, limit=_HITS, scope=scope, principal=principal)
        if scope is not None:
            inside = frozenset(
                one.id
                for root in source.query(scope, principal=principal)
                for one in source.subtree(root.id, principal)
            )
        scores: dict[str, list[float]] = {}
        for hit in hits:
            scores.setdefault(hit.document, []).append(hit.score)
        strength = {doc: max(all_) + 0.1 * sum(all_[:5]) for doc, all_ in scores.items() if doc}
        documents = sorted(strength, key=lambda doc: -strength[doc])[:_CANDIDATES]
        evidence: list[Evidence] = []
        packed = self._library.packs(documents, principal)
        for ranked in rank_packs(asked, packed):
            for piece in ranked.pack.pieces:
                if inside is not None and piece.match.id not in inside:
                    continue
                why = {self.name: ranked.score}
                evidence.append(Evidence(piece.match, ranked.score, why, piece.start, piece.end))
            if len(evidence) >= limit:
                break
        held = max((len(one.vocabulary & set(asked)) for one in packed), default=0)
        return Found(evidence[:limit], coverage=held / len(asked))
