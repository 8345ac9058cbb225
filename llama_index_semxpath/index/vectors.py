"""The catalog's vectors as engines use them: one matrix beside the columns, exact cosines."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from llama_index_semxpath.engines.base import Scope
from llama_index_semxpath.errors import EmbeddingMismatchError, StoreError
from llama_index_semxpath.index.catalog import Catalog
from llama_index_semxpath.index.codec import digest
from llama_index_semxpath.index.columns import rows_in_ranges
from llama_index_semxpath.index.embedding import PROBE, Embedder, Matrix, Vector, same_model
from llama_index_semxpath.index.embedding_text import text_to_embed
from llama_index_semxpath.tree.columns import Rows
from llama_index_semxpath.tree.table import TreeTable

_PHRASES = 512
_BATCH = 256


#: Vector, scope, limit and least cosine to hits, or ``None`` to decline.
RemoteSearch = Callable[[Vector, Scope, int, float], list[tuple[str, float]] | None]


class Embeddings:
    """A store's vectors of one model: cached by text, computed when missing.

    Args:
        catalog: The catalog with the cache.
        embedder: The model.
    """

    def __init__(self, catalog: Catalog, embedder: Embedder) -> None:
        self.catalog = catalog
        self.embedder = embedder
        self._lock = threading.Lock()
        self._phrases: OrderedDict[str, Vector] = OrderedDict()
        self._known: tuple[int, int] | None = None
        self._proven = False

    @property
    def model(self) -> str:
        """Name of the model."""
        return self.embedder.name

    def check(self) -> None:
        """Refuses a model other than the one that made the store's vectors, by its name.

        Raises:
            EmbeddingMismatchError: The store's vectors come from another model.
        """
        names = self.catalog.vectors.models()
        if names and self.model not in names:
            raise EmbeddingMismatchError(
                f"the store's vectors were made by '{names[0]}', not by '{self.model}'",
                where=str(self.catalog.path.parent),
                hint="give that model as embed_model, or index into a new store",
            )

    def code(self) -> int:
        """The model's code in the catalog.

        Raises:
            EmbeddingMismatchError: The store's vectors come from another model.
        """
        return self._identify()[0]

    @property
    def dimension(self) -> int:
        """Number of components of a vector."""
        return self._identify()[1]

    def query_vector(self, phrase: str) -> Vector:
        """Unit vector of a question; one asked before does not load the model."""
        with self._lock:
            if phrase in self._phrases:
                self._phrases.move_to_end(phrase)
                return self._phrases[phrase]
        vector = self._phrase_vector(phrase)
        with self._lock:
            self._phrases[phrase] = vector
            if len(self._phrases) > _PHRASES:
                self._phrases.popitem(last=False)
        return vector

    def _phrase_vector(self, phrase: str) -> Vector:
        # A model may embed questions otherwise than texts, so they are kept apart.
        code, hash_ = self.code(), digest("question", phrase)
        found = self.catalog.vectors.get(code, [hash_])
        if hash_ in found:
            return np.frombuffer(found[hash_], np.float32)
        self._prove()
        vector = self._checked(self.embedder.embed_query(phrase)[None, :])
        self._keep(code, [hash_], vector, must=False)
        result: Vector = vector[0]
        return result

    def text_vectors(self, texts: Sequence[str], *, must_keep: bool = False) -> Matrix:
        """Unit vectors of texts, from the cache or, where it has none, computed and kept.

        Args:
            texts: The texts.
            must_keep: Raise when a computed vector cannot be kept, instead of doing without.
        """
        code, dimension = self._identify()
        hashes = [digest(text) for text in texts]
        found = self.catalog.vectors.get(code, hashes)
        missing = {h: t for h, t in zip(hashes, texts, strict=True) if h not in found}
        if missing:
            self._prove()
        for start in range(0, len(missing), _BATCH):
            part = list(missing)[start : start + _BATCH]
            vectors = self._checked(self.embedder.embed_texts([missing[h] for h in part]))
            found.update(zip(part, (row.tobytes() for row in vectors), strict=True))
            self._keep(code, part, vectors, must_keep)
        data = b"".join(found[hash_] for hash_ in hashes)
        return np.frombuffer(data, np.float32).reshape(len(texts), dimension)

    def _keep(self, code: int, hashes: Sequence[bytes], vectors: Matrix, must: bool) -> None:
        try:
            self.catalog.vectors.put(code, hashes, vectors, wait=must)
        except StoreError:
            # A reader beside a long write, or on a read-only disk, does without the cache.
            if must:
                raise

    def _checked(self, vectors: Matrix) -> Matrix:
        dimension = self._identify()[1]
        if vectors.ndim != 2 or vectors.shape[1] != dimension:
            raise EmbeddingMismatchError(
                f"the model gave vectors of shape {vectors.shape}, not of dimension {dimension}",
                where=self.model,
            )
        return vectors

    def _identify(self) -> tuple[int, int]:
        """Code and dimension; a model that the catalog knows is not loaded for them."""
        if self._known is None:
            self.check()
            known = self.catalog.vectors.model(self.model)
            if known is None:
                probe = self.embedder.embed_query(PROBE)
                code = self.catalog.vectors.register(self.model, len(probe), probe.tobytes())
                self._known, self._proven = (code, len(probe)), True
            else:
                self._known = known[:2]
        return self._known

    def _prove(self) -> None:
        """Compares, before the model is first used, what it makes of the probe text."""
        self._identify()
        if self._proven:
            return
        known = self.catalog.vectors.model(self.model)
        if known is not None and not same_model(known[2], self.embedder.embed_query(PROBE)):
            raise EmbeddingMismatchError(
                f"the model named '{self.model}' gives other vectors than the store's",
                where=str(self.catalog.path.parent),
                hint="give the model that made them, or index into a new store",
            )
        self._proven = True


class NodeVectors:
    """Node vectors of one moment of the store, in rows of its table.

    Implements the engines' ``VectorSource`` and ``DenseVectors`` by exact cosines.

    Args:
        embeddings: The store's vectors.
        table: The whole table of the moment.
        remote: Searches a vector store in place of the matrix, where one is configured; it may
            decline a search.
    """

    def __init__(
        self, embeddings: Embeddings, table: TreeTable, remote: RemoteSearch | None = None
    ) -> None:
        self._embeddings = embeddings
        self._remote = remote
        self._table = table
        self._lock = threading.Lock()
        self._loaded: tuple[Matrix, NDArray[np.int64]] | None = None

    @property
    def model(self) -> str:
        """Name of the embedding model."""
        return self._embeddings.model

    def query_vector(self, phrase: str) -> Vector:
        """Unit vector of a phrase."""
        return self._embeddings.query_vector(phrase)

    def text_vectors(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors of texts, through the cache."""
        return self._embeddings.text_vectors(texts)

    def node_vectors(self, ids: Sequence[str]) -> Matrix:
        """Unit vectors of nodes in order; what is not embedded yet is embedded now."""
        matrix, place = self._load()
        rows = [self._table.position(id_) or 0 for id_ in ids]
        places = place[np.array(rows, np.int64)] if rows else np.empty(0, np.int64)
        result = np.zeros((len(ids), matrix.shape[1]), np.float32)
        known = places >= 0
        result[known] = matrix[places[known]]
        late = np.flatnonzero(~known)
        if len(late):
            texts = self._texts([rows[at] for at in late.tolist()])
            # A node that says nothing is like nothing: a zero vector, not that of an empty text.
            says = np.array([bool(text.strip()) for text in texts])
            result[late[says]] = self._embeddings.text_vectors([t for t in texts if t.strip()])
        return result

    def cosines(self, vector: Vector, rows: Rows) -> NDArray[np.float32] | None:
        """Cosines of rows; ``None`` when some have no vector yet."""
        matrix, place = self._load()
        places = place[rows]
        if len(places) and places.min() < 0:
            return None
        if len(places) == len(matrix) and np.array_equal(places, np.arange(len(matrix))):
            return matrix @ vector
        return matrix[places] @ vector

    def sample(self, count: int) -> Matrix:
        """An even sample of the node vectors, the same for the same store."""
        matrix, _ = self._load()
        if len(matrix) <= count:
            return matrix
        return matrix[np.linspace(0, len(matrix) - 1, count).astype(np.int64)]

    def search(
        self, vector: Vector, scope: Scope, limit: int, min_cosine: float
    ) -> list[tuple[str, float]]:
        """Nearest nodes within the scope that have a vector, best first."""
        if limit <= 0:
            return []
        if self._remote is not None:
            found = self._remote(vector, scope, limit, min_cosine)
            if found is not None:
                return found
        matrix, place = self._load()
        rows = rows_in_ranges(self._table, scope.row_ranges)
        keep = place[rows] >= 0
        if scope.kinds:
            codes = [self._table.kind_codes.get(kind, -1) for kind in scope.kinds]
            keep &= np.isin(self._table.kind[rows], codes)
        if scope.visible is not None:
            keep &= scope.visible[rows]
        rows = rows[keep]
        cosines = matrix[place[rows]] @ vector
        near = np.flatnonzero(cosines >= min_cosine)
        best = near[np.argsort(-cosines[near], kind="stable")][:limit]
        ids = self._table.ids
        return [(ids[rows[at]], float(cosines[at])) for at in best.tolist()]

    def _load(self) -> tuple[Matrix, NDArray[np.int64]]:
        """The matrix, and for each row of the table its place in it or -1."""
        with self._lock:
            if self._loaded is None:
                embeddings = self._embeddings
                code, dimension = embeddings.code(), embeddings.dimension
                ids, matrix = embeddings.catalog.vectors.matrix(code, dimension)
                place = np.full(len(self._table), -1, np.int64)
                rows = [self._table.position(id_) for id_ in ids]
                for at, row in enumerate(rows):
                    if row is not None:
                        place[row] = at
                self._loaded = (matrix, place)
            return self._loaded

    def _texts(self, rows: Sequence[int]) -> list[str]:
        """What would be embedded of nodes that have no vector."""
        table, catalog = self._table, self._embeddings.catalog
        nodes = catalog.nodes([table.ids[row] for row in rows])
        texts = []
        for row in rows:
            node = nodes.get(table.ids[row])
            if node is None:
                own = table.texts(np.array([row], np.int32))[0]
                texts.append(own or str(table.attributes(row)))
                continue
            below = catalog.subtree(node.id)[1:]
            texts.append(text_to_embed(node, heading_path(table, row), below))
        return texts


def heading_path(table: TreeTable, row: int) -> str:
    """Titles of the nodes around a row, outermost first, joined as for embedding."""
    titles = table.attribute("title")
    if titles is None:
        return ""
    slots = titles.slots(len(table))
    path = []
    parent = int(table.parent[row])
    while parent > 0 and table.parent[parent] > 0:
        if slots[parent] >= 0:
            path.append(str(titles.value(int(slots[parent]))))
        parent = int(table.parent[parent])
    return " > ".join(reversed(path))
