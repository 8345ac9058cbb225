"""The catalog's vectors as engines use them: one matrix beside the columns, exact cosines."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from copy import copy

import numpy as np
from numpy.typing import NDArray

from llama_index_semxpath.engines.base import Scope
from llama_index_semxpath.errors import EmbeddingMismatchError, StoreError
from llama_index_semxpath.index.access import reads_too
from llama_index_semxpath.index.catalog import Catalog
from llama_index_semxpath.index.codec import digest
from llama_index_semxpath.index.columns import rows_in_ranges
from llama_index_semxpath.index.embedding import PROBE, Embedder, Matrix, Vector, same_model
from llama_index_semxpath.index.embedding_text import text_to_embed
from llama_index_semxpath.node_parser.pictures import Picture
from llama_index_semxpath.tree.columns import Mask, Rows
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.patch import Patch
from llama_index_semxpath.tree.table import TreeTable

_PHRASES = 512
_BATCH = 256
_PICTURES = 16


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
                where=self.catalog.place,
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

    def keep_pictures(self, pictures: Mapping[bytes, Picture]) -> int:
        """Keeps the vectors of pictures under their hashes; returns how many were new."""
        missing = self.catalog.vectors.missing(self.code(), pictures)
        if missing:
            self._prove()
        for start in range(0, len(missing), _PICTURES):
            part = missing[start : start + _PICTURES]
            made = self.embedder.embed_pictures([pictures[h].data for h in part])  # type: ignore[attr-defined]
            self._keep(self.code(), part, self._checked(made), must=True)
        return len(missing)

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
                where=self.catalog.place,
                hint="give the model that made them, or index into a new store",
            )
        self._proven = True


#: Nodes by id, those that are there.
NodeSource = Callable[[Sequence[str]], dict[str, TreeNode]]


class _Buffer:
    """Rows of vectors with room behind them, filled by the newest table of a line."""

    __slots__ = ("rows", "used")

    def __init__(self, rows: Matrix, used: int) -> None:
        self.rows = rows
        self.used = used

    def extended(self, used: int, vectors: Matrix) -> _Buffer:
        """A buffer that holds this one's first rows and then the vectors.

        It is this one where nobody wrote behind those rows and there is room.
        """
        need = used + len(vectors)
        if not len(vectors):
            return self
        if self.used != used or need > len(self.rows):
            rows = np.empty((need + need // 8 + _BATCH, self.rows.shape[1]), np.float32)
            rows[:used] = self.rows[:used]
            target = _Buffer(rows, used)
        else:
            target = self
        target.rows[used:need] = vectors
        target.used = need
        return target


def _products(matrix: Matrix, places: NDArray[np.int64], vector: Vector) -> NDArray[np.float32]:
    """Products of some rows with a vector; to copy most rows would cost more than to use all."""
    if 2 * len(places) > len(matrix):
        found: NDArray[np.float32] = (matrix @ vector)[places]
        return found
    return matrix[places] @ vector


class NodeVectors:
    """Node vectors of one moment of the store, in rows of its table.

    Implements the engines' ``VectorSource`` and ``DenseVectors`` by exact cosines.

    Args:
        embeddings: The store's vectors.
        table: The whole table of the moment.
        remote: Searches a vector store in place of the matrix, where one is configured; it may
            decline a search.
        nodes: Reads nodes by id; by default those of the present.
    """

    def __init__(
        self,
        embeddings: Embeddings,
        table: TreeTable,
        remote: RemoteSearch | None = None,
        nodes: NodeSource | None = None,
    ) -> None:
        self._embeddings = embeddings
        self._nodes = nodes or embeddings.catalog.nodes
        self._remote = remote
        self._table = table
        self._lock = threading.Lock()
        self._loaded: tuple[Matrix, NDArray[np.int64]] | None = None
        self._buffer: _Buffer | None = None
        self._whole: NodeVectors | None = None
        self._visible: Mask | None = None

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
        return _products(matrix, places, vector)

    def seen(self, table: TreeTable, visible: Mask) -> NodeVectors:
        """These vectors for a reader who may read some of the rows: only those are sampled.

        Args:
            table: The table as it is told to the reader, with the same rows.
            visible: The rows that may be read.
        """
        other = copy(self)
        other._whole, other._table, other._visible = self, table, visible
        return other

    def sample(self, count: int) -> Matrix:
        """An even sample of the node vectors, the same for the same store."""
        matrix, place = self._load()
        places = place[place >= 0 if self._visible is None else (place >= 0) & self._visible]
        if len(places) > count:
            places = places[np.linspace(0, len(places) - 1, count).astype(np.int64)]
        return matrix[places]

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
        why = f": {scope.log.method}" if scope.log.method else ""
        matrix, place = self._load()
        scope.log.engine, scope.log.method = "memory", f"exact search of the matrix{why}"
        rows = rows_in_ranges(self._table, scope.row_ranges)
        keep = place[rows] >= 0
        if scope.kinds:
            codes = [self._table.kind_codes.get(kind, -1) for kind in scope.kinds]
            keep &= np.isin(self._table.kind[rows], codes)
        if scope.visible is not None:
            keep &= scope.visible[rows]
        rows = rows[keep]
        cosines = _products(matrix, place[rows], vector)
        near = np.flatnonzero(cosines >= min_cosine)
        scope.log.is_cut = len(near) > limit
        best = near[np.argsort(-cosines[near], kind="stable")][:limit]
        ids = self._table.ids
        return [(ids[rows[at]], float(cosines[at])) for at in best.tolist()]

    def carried(
        self,
        patch: Patch,
        remote: RemoteSearch | None = None,
        nodes: NodeSource | None = None,
        vectors: Callable[[int, Sequence[str]], dict[str, bytes]] | None = None,
    ) -> NodeVectors:
        """The vectors of a patched table: those of kept rows stay where they are in memory.

        Args:
            patch: How the rows of the new table came from those of this one's.
            remote: See the class.
            nodes: See the class.
            vectors: Vectors of a model's code by node id, of nodes that differ; by default those
                of the present.
        """
        other = NodeVectors(self._embeddings, patch.table, remote, nodes)
        if vectors is not None:
            self._load()  # the catalog's own matrix is of the present: there is no other way back
        with self._lock:
            if self._loaded is None or self._buffer is None:
                return other
            matrix, place = self._loaded
            if len(matrix) > 2 * len(patch.table) + _BATCH:
                return other  # most of it stands for nodes that left: read it anew
            buffer = self._buffer
        ids = [patch.table.ids[row] for row in patch.fresh.tolist()]
        code = self._embeddings.code()
        found = (vectors or self._embeddings.catalog.vectors.of_nodes)(code, ids)
        known = [(row, found[id_]) for row, id_ in zip(patch.fresh.tolist(), ids, strict=True)
                 if id_ in found]  # fmt: skip
        kept = np.flatnonzero(patch.moved >= 0)
        new_place = np.full(len(patch.table), -1, np.int64)
        new_place[patch.moved[kept]] = place[kept]
        new_place[[row for row, _ in known]] = np.arange(len(known)) + len(matrix)
        rows = np.array([np.frombuffer(data, np.float32) for _, data in known], np.float32)
        other._buffer = buffer.extended(len(matrix), rows.reshape(len(known), matrix.shape[1]))
        other._loaded = (other._buffer.rows[: len(matrix) + len(known)], new_place)
        return other

    def _load(self) -> tuple[Matrix, NDArray[np.int64]]:
        """The matrix, and for each row of the table its place in it or -1."""
        if self._whole is not None:
            return self._whole._load()
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
                self._buffer = _Buffer(matrix, len(matrix))
                self._loaded = (matrix, place)
            return self._loaded

    def _texts(self, rows: Sequence[int]) -> list[str]:
        """What would be embedded of nodes that have no vector."""
        table = self._table
        nodes = self._nodes([table.ids[row] for row in rows])
        texts = []
        for row in rows:
            node = nodes.get(table.ids[row])
            if node is None:
                own = table.texts(np.array([row], np.int32))[0]
                texts.append(own or str(table.attributes(row)))
                continue
            readers = table.labels(row)
            end = int(table.end[row])
            inner = [r for r in range(row + 1, end) if reads_too(readers, table.labels(r))]
            below = list(self._nodes([table.ids[r] for r in inner]).values())
            texts.append(text_to_embed(node, heading_path(table, row), below))
        return texts


def heading_path(table: TreeTable, row: int) -> str:
    """Titles around a row that all its readers may read, outermost first, as for embedding."""
    titles = table.attribute("title")
    if titles is None:
        return ""
    slots = titles.slots(len(table))
    path = []
    parent = int(table.parent[row])
    own = table.labels(row)
    while parent > 0 and table.parent[parent] > 0:
        if slots[parent] >= 0 and reads_too(own, table.labels(parent)):
            path.append(str(titles.value(int(slots[parent]))))
        parent = int(table.parent[parent])
    return " > ".join(reversed(path))
