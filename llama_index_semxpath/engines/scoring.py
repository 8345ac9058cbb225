"""Scorers that need no model beyond the index's own: embeddings, keywords, and both together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from llama_index_semxpath.engines import calibration
from llama_index_semxpath.engines.base import (
    DenseVectors,
    KeywordSource,
    Scorer,
    SearchRequest,
    Targets,
    Vectors,
    VectorSource,
)
from llama_index_semxpath.engines.lexical import Coverage
from llama_index_semxpath.engines.parts import TextScorer, bare_titles, has_parts, part_scores
from llama_index_semxpath.errors import ScorerError, SemXPathError
from llama_index_semxpath.tree.columns import Floats

#: Part vectors kept in memory, about 100 MB at 512 dimensions.
_KEPT = 50_000


class EmbeddingScorer(Scorer):
    """Calibrated embedding similarity.

    A node is graded by its vector and by those of its short parts (a section's title, a record's
    values); the better counts. An attribute is graded by its value, a title without its number.

    Args:
        vectors: Embeddings of the nodes.
    """

    def __init__(self, vectors: VectorSource) -> None:
        self.vectors = vectors
        self._calibration = calibration.Calibration(vectors)
        self._texts = _TextVectors(vectors)

    @property
    def name(self) -> str:
        """Model and calibration."""
        return f"embedding({self.vectors.model}, {calibration.VERSION})"

    def grade(self, phrase: str, targets: Targets) -> Floats:
        """See :meth:`Scorer.grade`."""
        try:
            return self._grade(phrase, targets)
        except SemXPathError:
            raise
        except Exception as error:
            raise ScorerError(
                f"grading by meaning failed: {error}",
                where=self.vectors.model,
                hint="nothing was returned; try again, or ask without =~",
            ) from error

    def search(self, phrase: str, request: SearchRequest) -> tuple[list[str], Floats] | None:
        """Nodes whose own vector scores enough, through the vector store, or a short part of them.

        Parts are not in the store: they are compared here, for the kinds in scope that have any.
        """
        vector, scope = self.vectors.query_vector(phrase), request.scope
        background = self._calibration.background(phrase, vector)
        least = background.least_cosine(request.least)
        hits = self.vectors.search(vector, scope, request.limit, least)
        places = {scope.table.position(id_) for id_, _ in hits}
        near = np.array(sorted(row for row in places if row is not None), dtype=np.int32)
        parted = scope.rows_of([kind for kind in scope.table.kinds if has_parts(kind)])
        by_parts = part_scores(scope.table, parted, self._by_text(vector, background))
        rows = np.union1d(near, parted[by_parts >= request.least]).astype(np.int32)
        return Targets(scope.table, rows).ids, self.grade(phrase, Targets(scope.table, rows))

    def _grade(self, phrase: str, targets: Targets) -> Floats:
        if not len(targets):
            return np.empty(0)
        vector = self.vectors.query_vector(phrase)
        background = self._calibration.background(phrase, vector)
        by_text = self._by_text(vector, background)
        if targets.field is not None:
            texts = targets.texts()
            if targets.field == "title":
                texts = bare_titles(targets.table, targets.rows)
            return by_text(texts)
        whole = background.scores(self._node_cosines(vector, targets))
        return np.maximum(whole, part_scores(targets.table, targets.rows, by_text))

    def _by_text(self, vector: Vectors, background: calibration.Background) -> TextScorer:
        """Scores of texts of their own, such as titles and values."""
        # The spread of the corpus is that of its long texts; short ones are judged by the way.
        short = calibration.Background(background.typical, background.median, None)
        return lambda texts: short.scores(self._texts.cosines(vector, texts))

    def _node_cosines(self, vector: Vectors, targets: Targets) -> Vectors:
        if isinstance(self.vectors, DenseVectors):
            cosines = self.vectors.cosines(vector, targets.base_rows)
            if cosines is not None:
                return cosines
        return self.vectors.node_vectors(targets.ids) @ vector


class KeywordScorer(Scorer):
    """How much of a phrase stands in one sentence of a node, word by word.

    Args:
        keywords: Finds the nodes with a word of the phrase; ``None`` reads all texts.
    """

    def __init__(self, keywords: KeywordSource | None = None) -> None:
        self._coverage = Coverage(keywords)
        self._keywords = keywords

    @property
    def name(self) -> str:
        """Names the measure."""
        return "keyword(coverage/2)"

    def grade(self, phrase: str, targets: Targets) -> Floats:
        """0.9 where a sentence holds every word of the phrase, falling with the cube below that."""
        return 0.9 * self._coverage.of(phrase, targets) ** 3

    def search(self, phrase: str, request: SearchRequest) -> tuple[list[str], Floats] | None:
        """Nodes with words of the phrase, best first; ``None`` without a keyword index."""
        if self._keywords is None:
            return None
        return self._keywords.bm25(phrase, None, request.limit)


class HybridScorer(Scorer):
    """Meaning or words: each is evidence, and either is enough (a noisy or).

    ``1 - (1 - meaning) * (1 - words)``, so a word for word match passes although the embedding
    misses it, and a paraphrase passes although no word agrees.

    Args:
        meaning: Grades by meaning.
        words: Grades by words.
    """

    def __init__(self, meaning: Scorer, words: Scorer) -> None:
        self.meaning = meaning
        self.words = words

    @property
    def name(self) -> str:
        """Names of both."""
        return f"{self.meaning.name} or {self.words.name}"

    def grade(self, phrase: str, targets: Targets) -> Floats:
        """See :meth:`Scorer.grade`."""
        meaning = self.meaning.grade(phrase, targets)
        result: Floats = 1.0 - (1.0 - meaning) * (1.0 - self.words.grade(phrase, targets))
        return result

    def search(self, phrase: str, request: SearchRequest) -> tuple[list[str], Floats] | None:
        """Nodes near by vector or with words of the phrase, each graded as ever."""
        near = self.meaning.search(phrase, request)
        worded = self.words.search(phrase, request)
        if near is None or worded is None:
            return None
        scope = request.scope
        found = {scope.table.position(node_id) for node_id in (*near[0], *worded[0])}
        rows = np.array(sorted(row for row in found if row is not None), dtype=np.int32)
        if scope.visible is not None:
            rows = rows[scope.visible[rows]]
        targets = Targets(scope.table, rows)
        scores = self.grade(phrase, targets)
        kept = np.flatnonzero(scores >= request.least)
        return [targets.ids[place] for place in kept.tolist()], scores[kept]


def default_scorer(vectors: VectorSource, keywords: KeywordSource | None = None) -> Scorer:
    """The scorer of an index that names no other.

    Args:
        vectors: Embeddings of the nodes.
        keywords: The keyword index.
    """
    return HybridScorer(EmbeddingScorer(vectors), KeywordScorer(keywords))


class _TextVectors:
    """Vectors of short texts, the recent ones in memory."""

    def __init__(self, vectors: VectorSource) -> None:
        self._vectors = vectors
        self._place: dict[str, int] = {}
        self._matrix: Vectors | None = None

    def cosines(self, vector: Vectors, texts: Sequence[str]) -> Vectors:
        """Cosines of a phrase's vector with texts."""
        new = list(dict.fromkeys(text for text in texts if text not in self._place))
        if new:
            self._add(new)
        assert self._matrix is not None
        places = np.fromiter((self._place[text] for text in texts), np.int64, len(texts))
        used, back = np.unique(places, return_inverse=True)
        return (self._matrix[used] @ vector)[back]

    def _add(self, texts: list[str]) -> None:
        fresh = self._vectors.text_vectors(texts)
        if self._matrix is None or len(self._place) + len(texts) > _KEPT:
            known = [] if self._matrix is None else [self._matrix]
            # Start over rather than evict one by one: the store's cache gives them back quickly.
            if known and len(self._place) + len(texts) > _KEPT:
                self._place, known = {}, []
            self._matrix = np.concatenate([*known, fresh])
        else:
            self._matrix = np.concatenate([self._matrix, fresh])
        for text in texts:
            self._place[text] = len(self._place)
