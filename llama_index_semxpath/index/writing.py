"""The one way into a store: embed, one catalog transaction, then the projections."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from llama_index_semxpath.engines.parts import bare_title
from llama_index_semxpath.errors import EmbeddingMismatchError, StoreError
from llama_index_semxpath.index.catalog import Catalog
from llama_index_semxpath.index.catalog_writer import TARGETS, CatalogWriter, Written
from llama_index_semxpath.index.codec import digest, printable
from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.index.database import Turn
from llama_index_semxpath.index.edit_rows import Keep
from llama_index_semxpath.index.edits import TreeEditor
from llama_index_semxpath.index.embedding import Vector, unit
from llama_index_semxpath.index.facts import relate
from llama_index_semxpath.index.history import purge
from llama_index_semxpath.index.history_rows import Signature
from llama_index_semxpath.index.outbox import drain, waiting
from llama_index_semxpath.index.pictures import see
from llama_index_semxpath.index.prepare import prepare_nodes
from llama_index_semxpath.index.projected import ProjectedNodes
from llama_index_semxpath.index.projection import Projection
from llama_index_semxpath.index.rows import PreparedNode, Source
from llama_index_semxpath.index.vectors import Embeddings
from llama_index_semxpath.tree.edges import Edge
from llama_index_semxpath.tree.node import TreeNode

#: Nodes that one catalog transaction takes in when many documents are written.
_CHUNK_NODES = 4_000
_EMBED_BATCH = 512
#: Days beyond which versions are kept for good.
_FOREVER = 100_000

Editor = TypeVar("Editor", bound=TreeEditor)
#: Told what is being done and how much more of it was.
Progress = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class TreeSource:
    """A document to be written.

    Args:
        nodes: Its tree in pre-order, the root first.
        source: Where it came from.
        prepared: What ``prepare_nodes`` made of the nodes, where that was done already.
        vectors: Vectors of nodes by id, where the caller has them from the store's model; they are
            kept in place of those that would be computed.
    """

    nodes: Sequence[TreeNode]
    source: Source | None = None
    prepared: list[PreparedNode] | None = None
    vectors: Mapping[str, Vector] | None = None


@dataclass(slots=True)
class Totals:
    """What a run of writes did.

    Args:
        documents: Documents written or found unchanged.
        unchanged: Those that the store held exactly so.
        added: New nodes.
        changed: Rewritten nodes.
        removed: Deleted nodes.
        embedded: Texts that the embedding model was given.
    """

    documents: int = 0
    unchanged: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    embedded: int = 0

    def count(self, written: Written) -> None:
        """Adds one document."""
        self.documents += 1
        self.unchanged += not (written.added or written.changed or written.removed)
        self.added += written.added
        self.changed += written.changed
        self.removed += written.removed


@dataclass(slots=True)
class Writer:
    """Writes to a store and its projections.

    Args:
        config: The store's configuration.
        catalog: Its catalog.
        embeddings: Its vectors.
        open_projections: Opens the projections for writing, or returns them open.
        close_projections: Lets go of them.
    """

    config: StoreConfig
    catalog: Catalog
    embeddings: Embeddings
    open_projections: Callable[[], Sequence[Projection]]
    close_projections: Callable[[], None]
    lock: Turn = field(init=False)

    def __post_init__(self) -> None:
        self.lock = self.catalog.database.turn(self.config.lock, self.config.patience)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """The writer's turn: work left over is done first, what is written within at its end."""
        with self.lock.hold():
            self.project()
            yield
            self.project()
            self._forget_old()

    def _forget_old(self) -> None:
        """Purges versions that were kept long enough, once a day."""
        now = dt.datetime.now(dt.UTC)
        days, today = self.config.keep_versions, now.date().isoformat()
        if days > _FOREVER or self.catalog.meta("purged") == today:
            return
        purge(self.catalog, now - dt.timedelta(days=days))
        with self.catalog.write() as writer:
            writer.set_meta("purged", today)

    @contextmanager
    def transaction(self) -> Iterator[CatalogWriter]:
        """A catalog transaction, for use within a turn.

        A projection that another process holds, or that does not answer, refuses the write before
        it is committed instead of leaving it half done; one that nothing is written to is not even
        opened.
        """
        with self.catalog.write() as writer:
            writer.absent = frozenset(TARGETS).difference(self.targets)
            yield writer
            if writer.changed:
                self.open_projections()

    @property
    def targets(self) -> list[str]:
        """Names of the projections that the store is configured with."""
        configured = {"vectors": self.config.has_vectors, "graph": self.config.graph != "none"}
        return [name for name in TARGETS if configured[name]]

    @contextmanager
    def edit(
        self,
        editor: Callable[[CatalogWriter, Keep], Editor],
        signature: Signature,
        *,
        embed: bool = True,
    ) -> Iterator[Editor]:
        """Edits of single nodes, in one transaction that is one revision of the store.

        Args:
            editor: Makes the editor from the catalog's writer and what sees to vectors.
            signature: Who edits, and why.
            embed: Whether texts are embedded now; else they wait until a query grades them.
        """
        with self.turn(), self.transaction() as writer:
            writer.sign(signature)
            editing = editor(writer, self._embed_now if embed else _embed_later)
            yield editing
            editing.finish()

    def _embed_now(self, nodes: Sequence[PreparedNode]) -> None:
        self._embed(nodes, lambda what, count: None)

    def write(self, trees: Iterable[TreeSource], progress: Progress | None = None) -> Totals:
        """Writes documents, in transactions of some thousand nodes each.

        Raises:
            StoreError: A tree that cannot be stored; documents of earlier transactions stay.
        """
        tell = progress or (lambda what, count: None)
        totals = Totals()
        with self.turn():
            for chunk in _chunks(trees):
                # The model is made known first, for good; then vectors that are given go into the
                # cache in one transaction a chunk.
                if any(tree.vectors for tree in chunk):
                    self.embeddings.code()
                with self.catalog.database.write():
                    prepared = [(self._prepared(tree), tree.source) for tree in chunk]
                totals.embedded += sum(see(*one, self.embeddings) for one in prepared)
                totals.embedded += self._embed([n for nodes, _ in prepared for n in nodes], tell)
                with self.transaction() as writer:
                    for nodes, source in prepared:
                        totals.count(writer.put_document(nodes, source=source))
                tell("documents", len(prepared))
                self.project(tell)
        return totals

    def delete(self, documents: Sequence[str]) -> int:
        """Deletes documents; returns how many of them the store held."""
        with self.turn(), self.transaction() as writer:
            return sum(writer.delete_document(doc) for doc in documents)

    def relate(self, doc: str, edges: Iterable[Edge]) -> None:
        """Replaces the relations that a document says; those of accepted facts stay."""
        with self.turn(), self.transaction() as writer:
            relate(writer, doc, edges)

    def project(self, tell: Progress | None = None) -> int:
        """Brings the projections up to the catalog; returns the count of nodes written."""
        if not waiting(self.catalog, self.targets):
            return 0
        try:
            return self._drain(tell)
        except StoreError:
            # A broken connection stays broken: the next turn makes a new one.
            self.close_projections()
            raise

    def _drain(self, tell: Progress | None) -> int:
        count = 0
        for projection in self.open_projections():
            name = projection.name

            def step(nodes: int, name: str = name) -> None:
                if tell is not None:
                    tell(name, nodes)

            count += drain(self.catalog, projection, self.reads_for(projection), step)
        return count

    def reads_for(self, projection: Projection) -> ProjectedNodes:
        """The catalog's nodes as a projection wants them."""
        model = self.embeddings.code() if projection.name == "vectors" else None
        return ProjectedNodes(self.catalog, model)

    def _prepared(self, tree: TreeSource) -> list[PreparedNode]:
        prepared = tree.prepared or prepare_nodes(tree.nodes)
        if tree.vectors:
            self._keep_given(prepared, tree.vectors)
        return prepared

    def _keep_given(self, nodes: Sequence[PreparedNode], vectors: Mapping[str, Vector]) -> None:
        """Puts given vectors into the cache, under hashes of their own."""
        code, dimension = self.embeddings.code(), self.embeddings.dimension
        given = [(item, vectors[item.node.id]) for item in nodes
                 if vectors.get(item.node.id) is not None]  # fmt: skip
        for item, vector in given:
            if np.shape(vector) != (dimension,):
                raise EmbeddingMismatchError(
                    f"a vector of shape {np.shape(vector)} in a store of dimension {dimension}",
                    where=printable(item.node.id),
                )
        if not given:
            return
        matrix = np.array([vector for _, vector in given], np.float32)
        finite = np.isfinite(matrix).all(axis=1)
        if not finite.all():
            bad = given[int(np.argmin(finite))][0]
            raise EmbeddingMismatchError(
                "a vector holds NaN or infinity", where=printable(bad.node.id)
            )
        hashes = []
        for (item, _), row in zip(given, matrix, strict=True):
            item.embed, item.vector = None, digest("given", row.tobytes())
            hashes.append(item.vector)
        self.catalog.vectors.put(code, hashes, unit(matrix))

    def _embed(self, nodes: Sequence[PreparedNode], tell: Progress) -> int:
        """Sees to it that the cache holds the vector of every node; returns how many were made."""
        texts = {node.vector: node.embed for node in nodes if node.vector and node.embed}
        # Titles are asked for by themselves, in their bare form.
        titles = {
            bare_title(item.node.text, item.node.number)
            for item in nodes
            if item.node.kind == "Section"
        }
        texts.update((digest(title), title) for title in titles if title)
        if not texts:
            return 0
        missing = self.catalog.vectors.missing(self.embeddings.code(), texts)
        # Texts of like length fill a batch evenly.
        missing.sort(key=lambda hash_: len(texts[hash_]))
        for start in range(0, len(missing), _EMBED_BATCH):
            part = missing[start : start + _EMBED_BATCH]
            self.embeddings.text_vectors([texts[hash_] for hash_ in part], must_keep=True)
            tell("embeddings", len(part))
        return len(missing)


def _embed_later(nodes: Sequence[PreparedNode]) -> None:
    for node in nodes:
        node.vector = None


def _chunks(trees: Iterable[TreeSource]) -> Iterator[list[TreeSource]]:
    chunk: list[TreeSource] = []
    size = 0
    for tree in trees:
        chunk.append(tree)
        size += len(tree.nodes)
        if size >= _CHUNK_NODES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
