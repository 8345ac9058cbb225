"""The read side of a store, without LlamaIndex: open, ask, look at nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from llama_index_semxpath.engines.base import Dataset, Scope, Scorer
from llama_index_semxpath.engines.memory import MemoryEngine
from llama_index_semxpath.errors import QueryTypeError, UnknownDocumentError
from llama_index_semxpath.index.access import Principal
from llama_index_semxpath.index.answers import check_question, matches_of, value_of
from llama_index_semxpath.index.catalog import Catalog
from llama_index_semxpath.index.codec import printable
from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.index.embedding import Vector, as_embedder
from llama_index_semxpath.index.history import History, When
from llama_index_semxpath.index.keyword_source import (
    RankedKeywords,
)
from llama_index_semxpath.index.match import Match, QueryResult
from llama_index_semxpath.index.moments import Moment, Moments
from llama_index_semxpath.index.past_query import Asked, past_query
from llama_index_semxpath.index.rows import StoredDocument
from llama_index_semxpath.index.vectors import Embeddings
from llama_index_semxpath.node_parser.paths import PATH_SEPARATOR
from llama_index_semxpath.node_parser.summaries import SectionSummarizer, Summary
from llama_index_semxpath.schema import Schema
from llama_index_semxpath.tree.columns import Mask, Rows
from llama_index_semxpath.tree.table import TreeTable
from llama_index_semxpath.xpath.plan import Plan

if TYPE_CHECKING:
    pass

#: Least cosine of a semantic hit: the packaged model gives unrelated texts about 0.
_LEAST_COSINE = 0.05


class Reader(Moments):
    """Reads a store: every call sees one state of it, whatever is being written meanwhile.

    Args:
        store: The store's directory or configuration.
        embed_model: The model that made its vectors; ``None`` for the packaged one.
        catalog: An open catalog to share.
        scorer: Grades ``=~`` in queries; ``None`` for calibrated embeddings and words.

    Raises:
        StoreError: There is no store.
        StoreVersionError: A newer version of the package wrote it.
        EmbeddingMismatchError: Another model made its vectors.
    """

    def __init__(
        self,
        store: StoreConfig | Path | str,
        *,
        embed_model: Any = None,
        catalog: Catalog | None = None,
        scorer: Scorer | None = None,
    ) -> None:
        config = StoreConfig.of(store)
        catalog = catalog or config.open_catalog()
        embeddings = Embeddings(catalog, as_embedder(embed_model))
        embeddings.check()
        super().__init__(config, catalog, embeddings, scorer)

    @classmethod
    def open(cls, store: StoreConfig | Path | str, *, embed_model: Any = None) -> Reader:
        """Opens a store for reading."""
        return cls(store, embed_model=embed_model)

    def close(self) -> None:
        """Closes the catalog."""
        if self._remote is not None:
            self._remote.close()
        self.catalog.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # What there is

    @property
    def table(self) -> TreeTable:
        """The whole store as columns."""
        with self._now() as moment:
            return moment.table

    @property
    def dataset(self) -> Dataset:
        """Everything that an engine needs."""
        with self._now() as moment:
            return moment.engine.dataset

    def documents(self, principal: Principal = None) -> list[StoredDocument]:
        """The documents whose root the principal may read, in the order added."""
        with self._now() as moment:
            mask = self._mask(moment, principal)
            found = self.catalog.documents()
            if mask is None:
                return found
            rows = [moment.table.position(document.id) for document in found]
            return [d for d, row in zip(found, rows, strict=True) if row and mask[row]]

    def visible(self, principal: Principal = None) -> Mask | None:
        """One flag a row of ``table``; ``None`` where everybody may read everything."""
        with self._now() as moment:
            return self._mask(moment, principal)

    def view(self, principal: Principal = None) -> TreeTable:
        """The store as columns, without what the principal may not read."""
        with self._now() as moment:
            engine, mask = self._part(moment, principal)
            table = engine.dataset.table
            return table if mask is None else table.view(mask)

    def schema(self, principal: Principal = None) -> Schema:
        """Kinds, attributes and relations of what the principal may read."""
        with self._now() as moment:
            engine, mask = self._part(moment, principal)
            return engine.schema(mask)

    # Questions

    def query(
        self,
        query: str,
        *,
        top_k: int | None = None,
        params: Mapping[str, Any] | None = None,
        principal: Principal = None,
        trace: bool = False,
        check_names: bool = True,
    ) -> QueryResult:
        """Runs SemXPath; ``at()``, ``version()`` and the version axis read the past.

        Args:
            query: The query.
            top_k: Most results; ``None`` for all that pass.
            params: Values of ``$name``.
            principal: Labels of who asks; ``None`` carries none.
            trace: Record which nodes each step kept and dropped.
            check_names: Refuse kinds, attributes and relations that the store does not have.

        Raises:
            QueryError: The query is wrong, or asks for a part that this store lacks.
        """
        with self._now() as moment:
            asked = Asked(query, params or {}, principal, top_k, trace)
            past = past_query(self, asked)
            if past is not None:
                return past
            engine, mask = self._part(moment, principal)
            if not check_names:
                engine = MemoryEngine(engine.dataset, check_names=False)
            found = engine.run(query, params=params, top_k=top_k, visible=mask, trace=trace)
            matches = self._matches(moment, principal, found.positions, found.scores, found.why)
            return QueryResult(
                matches,
                query=query,
                value=value_of(moment.table, found),
                plan=found.plan,
                trace=found.trace,
            )

    def explain(
        self,
        query: str,
        *,
        params: Mapping[str, Any] | None = None,
        principal: Principal = None,
    ) -> Plan:
        """How a query runs: its plan, with estimated and actual counts; it prints as text."""
        with self._now() as moment:
            past = past_query(self, Asked(query, params or {}, principal, None, False))
            if past is not None:
                whole = Plan(query, query, notes=["each version is read by itself"])
                return replace(past.plan, query=query) if past.plan is not None else whole
            engine, mask = self._part(moment, principal)
            return engine.run(query, params=params, visible=mask).plan

    def semantic_search(
        self,
        text: str,
        *,
        limit: int = 10,
        scope: str | None = None,
        kinds: Sequence[str] | None = None,
        principal: Principal = None,
    ) -> list[Match]:
        """Nodes nearest in meaning, best first.

        Args:
            text: A question or phrase.
            limit: Most matches, 1 and up.
            scope: SemXPath whose results and their descendants are searched; ``None`` for all.
            kinds: Only these kinds.
            principal: Labels of who asks.

        Returns:
            Matches whose ``score`` is the cosine, in [0, 1].
        """
        check_question(text, limit)
        with self._now() as moment:
            mask = self._mask(moment, principal)
            inside = self._scope(moment, scope, principal)
            look = Scope(moment.table, inside, tuple(kinds or ()), mask)
            vector = moment.vectors.query_vector(text)
            hits = moment.vectors.search(vector, look, limit, _LEAST_COSINE)
            return self._ranked(moment, principal, hits, "semantic")

    def nearest(
        self,
        vector: Vector,
        limit: int,
        admit: Callable[[TreeTable], Mask],
        principal: Principal = None,
    ) -> list[tuple[str, float]]:
        """Ids and cosines of the nodes nearest to a vector, best first.

        Args:
            vector: A unit vector.
            limit: Most nodes, 1 and up.
            admit: Gives, for the table of the moment, the rows to look at.
            principal: Labels of who asks.
        """
        with self._now() as moment:
            mask = self._mask(moment, principal)
            admitted = admit(moment.table)
            look = Scope(moment.table, visible=admitted if mask is None else admitted & mask)
            return moment.vectors.search(vector, look, limit, -1.0)

    def keyword_search(
        self,
        text: str,
        *,
        limit: int = 10,
        scope: str | None = None,
        kinds: Sequence[str] | None = None,
        principal: Principal = None,
    ) -> list[Match]:
        """Nodes with the words of a text, best first by BM25 over text and heading path.

        Args:
            text: Words in any language; nothing in it is an operator.
            limit: Most matches, 1 and up.
            scope: SemXPath whose results and their descendants are searched; ``None`` for all.
            kinds: Only these kinds.
            principal: Labels of who asks.

        Returns:
            Matches whose ``score`` is the normalised BM25, in [0, 1].
        """
        check_question(text, limit)
        with self._now() as moment:
            wanted = self._wanted(moment, scope, kinds, principal)
            hits: list[tuple[str, float]] = []
            keywords = self._part(moment, principal)[0].dataset.keywords
            assert keywords is not None
            if limit <= 0:
                return []
            found = keywords.bm25(text, None, None if wanted is not None else limit)
            for id_, score in zip(found[0], found[1].tolist(), strict=True):
                row = moment.table.position(id_)
                if row is not None and (wanted is None or wanted[row]):
                    hits.append((id_, score))
                if len(hits) == limit:
                    break
            return self._ranked(moment, principal, hits, "keyword")

    # Nodes

    def nodes(self, ids: Sequence[str], principal: Principal = None) -> list[Match]:
        """The nodes with these ids that the principal may read, in the given order."""
        with self._now() as moment:
            mask = self._mask(moment, principal)
            found = [moment.table.position(id_) for id_ in ids]
            rows = [row for row in found if row and (mask is None or mask[row])]
            positions = np.array(rows, np.int32)
            return self._matches(moment, principal, positions, np.ones(len(rows)), {})

    def node(self, id_: str, principal: Principal = None) -> Match | None:
        """One node, ``None`` where there is none that the principal may read."""
        found = self.nodes([id_], principal)
        return found[0] if found else None

    def subtree(self, id_: str, principal: Principal = None) -> list[Match]:
        """A node and its descendants that the principal may read, in document order."""
        with self._now() as moment:
            mask = self._mask(moment, principal)
            row = moment.table.position(id_)
            if row is None or (mask is not None and not mask[row]):
                return []
            rows = np.arange(row, moment.table.end[row], dtype=np.int32)
            rows = rows if mask is None else rows[mask[rows]]
            return self._matches(moment, principal, rows, np.ones(len(rows)), {})

    def summary(self, id_: str, principal: Principal = None) -> Summary | None:
        """What a section or document is about: its titles, its gist and its captions.

        The gist is its ``@summary`` where it has one, else sentences of it that the principal may
        read; ``None`` where there is no such node for the principal.
        """
        matches = self.subtree(id_, principal)
        if not matches:
            return None
        node = matches[0].node
        found = SectionSummarizer().summarize([match.node for match in matches])[id_]
        path = PATH_SEPARATOR.join(matches[0].path or [node.title or node.text])
        return replace(found, path=path, text=str(node.attributes.get("summary", found.text)))

    def document(self, id_: str, principal: Principal = None) -> list[Match]:
        """All nodes of a document that the principal may read, in document order.

        Raises:
            UnknownDocumentError: There is none that the principal may read.
        """
        with self._now() as moment:
            mask = self._mask(moment, principal)
            docs = moment.table.docs
            code = docs.index(id_) if id_ in docs else -2
            rows = np.flatnonzero(moment.table.doc == code).astype(np.int32)
            rows = rows if mask is None else rows[mask[rows]]
            if not len(rows):
                raise UnknownDocumentError("the store holds no such document", where=printable(id_))
            return self._matches(moment, principal, rows, np.ones(len(rows)), {})

    def at(self, when: When) -> Reader:
        """The store as it was at a moment: takes the same questions, over what stood there then.

        A node that the principal may not read today is not readable in the past either. Relations
        and entities have no past: those of today count.

        Args:
            when: A revision number, or a time; a date is its last moment in UTC.

        Raises:
            StoreError: There was no such moment, or it was purged.
        """
        from llama_index_semxpath.index.past import PastReader

        return PastReader(self, History(self.catalog).number(when))

    def keywords(self, principal: Principal = None) -> RankedKeywords:
        """The keyword index as the principal may read it."""
        with self._now() as moment:
            return self._keywords(moment, self._mask(moment, principal))

    # Inside

    def _scope(self, moment: Moment, scope: str | None, principal: Principal) -> Rows | None:
        """Roots of the subtrees that a scope names, none below another."""
        if scope is None:
            return None
        engine, mask = self._part(moment, principal)
        found = engine.run(scope, visible=mask)
        if found.is_value:
            raise QueryTypeError("a scope must select nodes", query=scope, offset=0)
        roots: list[int] = []
        end = 0
        for row in np.sort(found.positions).tolist():
            if row >= end:
                roots.append(row)
                end = int(moment.table.end[row])
        return np.array(roots, np.int32)

    def _wanted(
        self,
        moment: Moment,
        scope: str | None,
        kinds: Sequence[str] | None,
        principal: Principal,
    ) -> Mask | None:
        mask = self._mask(moment, principal)
        if scope is None and not kinds and mask is None:
            return None
        table = moment.table
        wanted = np.ones(len(table), bool) if mask is None else mask.copy()
        roots = self._scope(moment, scope, principal)
        if roots is not None:
            inside = np.zeros(len(table), bool)
            for row in roots.tolist():
                inside[row : table.end[row]] = True
            wanted &= inside
        if kinds:
            codes = [table.kind_codes.get(kind, -1) for kind in kinds]
            wanted &= np.isin(table.kind, codes)
        return wanted

    def _ranked(
        self,
        moment: Moment,
        principal: Principal,
        hits: Sequence[tuple[str, float]],
        name: str,
    ) -> list[Match]:
        rows = np.array([moment.table.position(id_) for id_, _ in hits], np.int32)
        scores = np.clip(np.array([score for _, score in hits]), 0.0, 1.0)
        return self._matches(moment, principal, rows, scores, {name: scores})

    def _matches(
        self,
        moment: Moment,
        principal: Principal,
        rows: Rows,
        scores: Any,
        why: Mapping[str, Any],
    ) -> list[Match]:
        engine, mask = self._part(moment, principal)
        return matches_of(engine.dataset.table, mask, self._read_nodes, rows, scores, why)
