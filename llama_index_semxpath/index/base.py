"""``SemXPathIndex``: the only writer of a store, and its readers."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llama_index_semxpath.errors import SourceError, StoreError
from llama_index_semxpath.index import facts
from llama_index_semxpath.index.access import Principal
from llama_index_semxpath.index.asking import Asking
from llama_index_semxpath.index.codec import printable
from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.index.facts import StoredFact
from llama_index_semxpath.index.history import History, When, purge
from llama_index_semxpath.index.history_rows import Revision
from llama_index_semxpath.index.projection import Projection
from llama_index_semxpath.index.reader import Reader
from llama_index_semxpath.index.rows import EntitySource
from llama_index_semxpath.index.stores import Projections
from llama_index_semxpath.index.writing import Progress, Totals, TreeSource, Writer
from llama_index_semxpath.node_parser.options import ParseOptions
from llama_index_semxpath.tree.edges import Edge
from llama_index_semxpath.tree.node import TreeNode

if TYPE_CHECKING:
    from llama_index.core import PropertyGraphIndex, VectorStoreIndex
    from llama_index.core.base.base_query_engine import BaseQueryEngine
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import Document, TransformComponent
    from llama_index.core.storage.docstore.types import BaseDocumentStore
    from llama_index.core.tools import FunctionTool
    from llama_index.core.vector_stores.types import BasePydanticVectorStore

    from llama_index_semxpath.engines.base import Scorer
    from llama_index_semxpath.index.extraction import Extracted
    from llama_index_semxpath.index.reconcile import CheckReport


class SemXPathIndex(Asking):
    """Documents in one tree, with one id for each node in catalog, vectors and graph.

    Args:
        store: The store's directory or configuration; made when it is not there.
        embed_model: A LlamaIndex ``BaseEmbedding``; ``None`` takes the multilingual model that
            ships in a package. The store remembers which model made its vectors.
        options: How documents are parsed.
        scorer: Grades ``=~`` in queries (see ``engines.adapters`` for cross-encoders, entailment
            and LLMs); ``None`` for calibrated embeddings and words.
        vector_store: A LlamaIndex vector store that takes Milvus's place. It is written and
            checked, not searched: questions are answered by the catalog's own vectors.

    Raises:
        StoreError: The directory holds something else.
        StoreVersionError: A newer version of the package wrote the store.
        EmbeddingMismatchError: Another model made the store's vectors.

    Example:
        >>> import tempfile
        >>> from llama_index.core import Document
        >>> folder = tempfile.TemporaryDirectory()
        >>> config = StoreConfig(Path(folder.name), milvus_uri="", graph="none")
        >>> document = Document(text="# Leave\\n\\nTen days a year.", doc_id="leave.md")
        >>> index = SemXPathIndex.from_documents([document], store=config)
        >>> [match.text for match in index.query("//Section/Paragraph")]
        ['Ten days a year.']
        >>> index.close(); folder.cleanup()
    """

    def __init__(
        self,
        store: StoreConfig | Path | str = "./.semxpath",
        *,
        embed_model: Any = None,
        options: ParseOptions | None = None,
        scorer: Scorer | None = None,
        vector_store: BasePydanticVectorStore | None = None,
    ) -> None:
        self.config = StoreConfig.of(store)
        if vector_store is not None:
            self.config = replace(self.config, vectors="given")
        self.options = options or ParseOptions()
        self.config.make_directory()
        self.catalog = self.config.open_catalog(create=True)
        self._embed_model = embed_model
        super().__init__(
            Reader(self.config, embed_model=embed_model, catalog=self.catalog, scorer=scorer)
        )
        self._projections = Projections(self.config, self.reader.embeddings, vector_store)
        self.writer = Writer(
            self.config,
            self.catalog,
            self.reader.embeddings,
            self._projections.open,
            self._projections.close,
        )

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Document],
        store: StoreConfig | Path | str = "./.semxpath",
        *,
        embed_model: Any = None,
        show_progress: bool = False,
        options: ParseOptions | None = None,
        scorer: Scorer | None = None,
    ) -> SemXPathIndex:
        """Makes or opens a store and writes documents to it.

        Args:
            documents: LlamaIndex documents; their ids stay. Metadata become attributes of the
                ``Document`` node, the key ``acl`` holds its access labels.
            store: The store's directory or configuration.
            embed_model: See the class.
            show_progress: Show a progress bar.
            options: How documents are parsed.
            scorer: See the class.
        """
        index = cls(store, embed_model=embed_model, options=options, scorer=scorer)
        index.refresh(documents, show_progress=show_progress)
        return index

    @classmethod
    def load(
        cls,
        store: StoreConfig | Path | str = "./.semxpath",
        *,
        embed_model: Any = None,
        options: ParseOptions | None = None,
        scorer: Scorer | None = None,
    ) -> SemXPathIndex:
        """Opens a store that is there, and finishes what a crash left undone.

        Raises:
            StoreError: There is no store.
        """
        config = StoreConfig.of(store)
        config.open_catalog().close()
        index = cls(config, embed_model=embed_model, options=options, scorer=scorer)
        index.recover()
        return index

    @classmethod
    def class_name(cls) -> str:
        """Name of the class."""
        return "SemXPathIndex"

    def close(self) -> None:
        """Closes the store."""
        self._projections.close()
        self.reader.close()

    def __enter__(self) -> SemXPathIndex:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        documents, nodes = len(self.catalog.documents()), self.catalog.count_nodes()
        return f"SemXPathIndex('{self.config.store}', {documents} documents, {nodes} nodes)"

    def _repr_html_(self) -> str:
        display = import_module("llama_index_semxpath.display")
        kinds = self.schema().kinds.values()
        facts = {kind.name: kind.count for kind in sorted(kinds, key=lambda kind: -kind.count)}
        # As one who holds no labels: a notebook is passed around.
        nodes = {one.id: one.nodes for one in self.documents()}
        titles = [(one.id, one.title or "") for one in self.nodes(list(nodes))]
        documents = [{"id": id_, "title": title, "nodes": nodes[id_]} for id_, title in titles]
        return str(display.store_html(repr(self), facts, documents))

    # Writing

    def insert(self, document: Document) -> Totals:
        """Writes one document; one of the same id is brought to this version."""
        return self.refresh([document])

    async def ainsert(self, document: Document) -> Totals:
        """:meth:`insert` without blocking the event loop."""
        return await asyncio.to_thread(self.insert, document)

    def refresh(self, documents: Iterable[Document], *, show_progress: bool = False) -> Totals:
        """Writes documents; of those that the store holds, only what changed is touched."""
        from llama_index_semxpath.index.sources import document_tree

        if not isinstance(documents, Iterable):
            raise SourceError(f"a {type(documents).__name__} is no list of documents")
        trees = [TreeSource(document_tree(document, self.options)) for document in documents]
        for doc, count in Counter(tree.nodes[0].id for tree in trees).items():
            if count > 1:
                raise StoreError("two documents of one call have the same id", where=printable(doc))
        return self.write_trees(trees, show_progress=show_progress)

    async def arefresh(
        self, documents: Iterable[Document], *, show_progress: bool = False
    ) -> Totals:
        """:meth:`refresh` without blocking the event loop."""
        return await asyncio.to_thread(self.refresh, documents, show_progress=show_progress)

    def write_trees(
        self,
        trees: Iterable[TreeSource],
        *,
        show_progress: bool = False,
        progress: Progress | None = None,
    ) -> Totals:
        """Writes parsed documents; the way in for files, records and memory."""
        if not show_progress:
            return self.writer.write(trees, progress)
        from llama_index_semxpath.index.progress import bar

        with bar("indexing") as tell:
            return self.writer.write(trees, tell)

    def insert_tree(self, nodes: Sequence[TreeNode]) -> Totals:
        """Writes one document given as a tree in pre-order, the root first."""
        return self.writer.write([TreeSource(nodes)])

    def delete_ref_doc(self, doc_id: str, **_: Any) -> bool:
        """Deletes a document from every store.

        Returns:
            Whether the store held it; deleting it a second time changes nothing.
        """
        return self.writer.delete([doc_id]) == 1

    async def adelete_ref_doc(self, doc_id: str, **options: Any) -> bool:
        """:meth:`delete_ref_doc` without blocking the event loop."""
        return await asyncio.to_thread(self.delete_ref_doc, doc_id, **options)

    def delete_nodes(self, ids: Sequence[str]) -> int:
        """Deletes nodes with all that is below them; the id of a document deletes it.

        Returns:
            How many of the nodes the store held.
        """
        held = self.catalog.nodes(ids)
        by_document: dict[str, set[str]] = {}
        for node in held.values():
            by_document.setdefault(node.doc, set()).add(node.id)
        trees = []
        for doc, gone in by_document.items():
            if doc in gone:
                self.writer.delete([doc])
            else:
                trees.append(TreeSource(_without(self.catalog.walk(doc), gone)))
        if trees:
            self.writer.write(trees)
        return len(held)

    def add_relations(self, edges: Iterable[Edge], doc: str) -> None:
        """Replaces the relations that a document says.

        Raises:
            UnknownDocumentError: The store does not hold the document.
        """
        self.catalog.document(doc)
        self.writer.relate(doc, edges)

    def add_entities(self, entities: Iterable[EntitySource], doc: str) -> None:
        """Replaces what a document says about entities of the property graph.

        Raises:
            UnknownDocumentError: The store does not hold the document.
        """
        self.catalog.document(doc)
        with self.writer.turn(), self.writer.transaction() as writer:
            writer.replace_entities(doc, entities)

    def facts(self, status: str | None = None, *, principal: Principal = None) -> list[StoredFact]:
        """Relations that the texts suggest, the least sure first; the rules are in ``facts``.

        Args:
            status: ``proposed``, ``accepted`` or ``rejected``; ``None`` for all.
            principal: Only facts whose source and target this reader may read.
        """
        if not facts.is_current(self.catalog):
            with self.writer.turn(), self.writer.transaction() as writer:
                facts.propose(self.catalog, writer)
        table, mask = self.reader.table, self.reader.visible(principal)

        def readable(id_: str) -> bool:
            row = table.position(id_)
            return row is not None and (mask is None or bool(mask[row]))

        return [
            found
            for found in facts.stored_facts(self.catalog)
            if status in (None, found.fact.status)
            and readable(found.fact.source)
            and (not found.fact.target or readable(found.fact.target))
        ]

    async def afacts(self, status: str | None = None, **options: Any) -> list[StoredFact]:
        """:meth:`facts` without blocking the event loop."""
        return await asyncio.to_thread(self.facts, status, **options)

    def review(self, accept: Iterable[str] = (), reject: Iterable[str] = ()) -> tuple[int, int]:
        """Settles facts by id: accepted ones become relations of their document.

        Returns:
            How many were accepted and rejected that were not so before.

        Raises:
            SemXPathError: An id is unknown or in both lists, or names nothing in the store.
        """
        with self.writer.turn(), self.writer.transaction() as writer:
            return facts.decide(writer, accept, reject)

    async def areview(
        self, accept: Iterable[str] = (), reject: Iterable[str] = ()
    ) -> tuple[int, int]:
        """:meth:`review` without blocking the event loop."""
        return await asyncio.to_thread(self.review, accept, reject)

    def extract(
        self,
        extractors: Sequence[TransformComponent],
        *,
        documents: Iterable[str] | None = None,
        confidence: float = 0.5,
        accept: bool = False,
    ) -> Extracted:
        """Runs LlamaIndex' graph extractors (``SchemaLLMPathExtractor`` …) over our nodes.

        Entities are merged with those that the store knows; a node that names one has a
        ``MENTIONS`` relation to it. Relations between entities are facts to be reviewed, each with
        the node that says it. What an earlier run found in the same documents is replaced.

        Args:
            extractors: Components that leave entities and relations in the metadata of nodes.
            documents: Ids of documents; ``None`` for all.
            confidence: Confidence of what a model says, 0 to 1.
            accept: Take relations for true without review.

        Raises:
            UnknownDocumentError: The store does not hold a document.
        """
        from llama_index_semxpath.index.extraction import extract

        return extract(self, extractors, documents=documents, confidence=confidence, accept=accept)

    async def aextract(self, extractors: Sequence[TransformComponent], **options: Any) -> Extracted:
        """:meth:`extract` without blocking the event loop."""
        return await asyncio.to_thread(self.extract, extractors, **options)

    def at(self, when: When) -> Reader:
        """The store as it was at a moment; see :meth:`Reader.at`."""
        return self.reader.at(when)

    def revisions(self, limit: int | None = None) -> list[Revision]:
        """Writes to the store, newest first."""
        return History(self.catalog).revisions(limit)

    def purge(self, before: When | None = None) -> int:
        """Forgets for good what was deleted or replaced.

        Args:
            before: What ended before this moment goes; ``None`` for all that is not of today.

        Returns:
            Count of the earlier versions of nodes that went.
        """
        history = History(self.catalog)
        if before is None:
            return purge(self.catalog, history.revision(self.catalog.version).time)
        return purge(self.catalog, history.revision(history.number(before)).time)

    def recover(self) -> int:
        """Does the work that an earlier writer left; returns the count of nodes written.

        A store that another process is writing to is left to that process.
        """
        return self._projections.recover(self.writer)

    def check(self, repair: bool = False) -> CheckReport:
        """Compares the projections with the catalog; see ``reconcile.check``.

        A repair also builds an embedded store anew whose files are damaged; they are set aside.
        """
        from llama_index_semxpath.index.reconcile import check

        moved = self._projections.set_aside_damaged() if repair else []
        report = check(self.writer, repair=repair)
        report.set_aside = [str(path) for path in moved]
        return report

    # LlamaIndex

    async def acheck(self, repair: bool = False) -> CheckReport:
        """:meth:`check` without blocking the event loop."""
        return await asyncio.to_thread(self.check, repair)

    def as_retriever(self, mode: str = "auto", **options: Any) -> BaseRetriever:
        """A LlamaIndex retriever: ``auto``, ``structured``, ``tree``, ``graph``, ``semantic``."""
        build: Callable[..., BaseRetriever] = import_module(
            "llama_index_semxpath.retrievers"
        ).build_retriever
        return build(self, mode=mode, **options)

    def as_query_engine(
        self, llm: Any = None, effort: str = "normal", **options: Any
    ) -> BaseQueryEngine:
        """A LlamaIndex query engine; without an ``llm`` its answers are extractive."""
        build: Callable[..., BaseQueryEngine] = import_module(
            "llama_index_semxpath.query_engine"
        ).build_query_engine
        return build(self, llm=llm, effort=effort, **options)

    def as_tools(self, *, principal: Principal = None, **options: Any) -> list[FunctionTool]:
        """Read-only tools for a LlamaIndex agent; see ``query_engine.build_tools``.

        Args:
            principal: Labels of whom the tools read for; no call can change it.
            options: ``names``, which tools.
        """
        build: Callable[..., list[FunctionTool]] = import_module(
            "llama_index_semxpath.query_engine"
        ).build_tools
        return build(self, principal=principal, **options)

    @property
    def vector_index(self) -> VectorStoreIndex:
        """A ``VectorStoreIndex`` over the same node ids; vectors are not computed again."""
        from llama_index_semxpath.index.llama import vector_index

        return vector_index(self)

    @property
    def graph_index(self) -> PropertyGraphIndex:
        """A ``PropertyGraphIndex`` over the same node ids."""
        from llama_index_semxpath.index.llama import graph_index

        return graph_index(self)

    @property
    def docstore(self) -> BaseDocumentStore:
        """The catalog as a LlamaIndex document store."""
        from llama_index_semxpath.index.docstore import CatalogDocumentStore

        return CatalogDocumentStore(self)

    @property
    def embed_model(self) -> Any:
        """The embedding model as a LlamaIndex ``BaseEmbedding``."""
        from llama_index_semxpath.index.llama import llama_embedding

        return llama_embedding(self.reader.embeddings.embedder)

    @property
    def projections(self) -> Sequence[Projection]:
        """The projections, opened for writing."""
        return self._projections.open()


def _without(nodes: Iterable[TreeNode], gone: set[str]) -> list[TreeNode]:
    """The nodes of a document but for some subtrees."""
    kept = []
    for node in nodes:
        if node.id in gone or node.parent in gone:
            gone.add(node.id)
        else:
            kept.append(node)
    return kept
