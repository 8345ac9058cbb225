"""Moves a store to other back ends: the catalog is copied, the projections are built from it.

The copy goes by tables, in transactions that also note how far it came, so a run that was killed
goes on where it stopped. Until the catalog is whole, nobody can open it. After that the outbox
does the rest, as after any other write, and a comparison of both stores ends it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any
from uuid import uuid4

from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.access import effective_labels
from llama_index_semxpath.index.catalog import UNFINISHED, Catalog, read_node
from llama_index_semxpath.index.catalog_writer import TARGETS
from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.index.connection import Connection
from llama_index_semxpath.index.embedding import as_embedder
from llama_index_semxpath.index.embedding_text import heading_paths
from llama_index_semxpath.index.keywords import segment
from llama_index_semxpath.index.migrate_tables import NODES, TABLES, StoredModel, Table
from llama_index_semxpath.index.reconcile import CheckReport, check
from llama_index_semxpath.index.stores import Projections
from llama_index_semxpath.index.vectors import Embeddings
from llama_index_semxpath.index.writing import Progress, Writer

#: Where a finished copy came from, so that a second run knows it.
_ORIGIN = "migrated_from"
_BATCH = 2_000


@dataclass(slots=True)
class MigrationReport:
    """What a migration did.

    Args:
        documents: Documents of the store.
        nodes: Nodes of the store.
        rows: Rows copied in this run, by table.
        projected: Nodes written to vector store and graph in this run.
        resumed: Whether an earlier run had begun.
        differing: Tables that are not the same in both catalogs.
        check: Comparison of the new store's projections with its catalog.
    """

    documents: int = 0
    nodes: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    projected: int = 0
    resumed: bool = False
    differing: list[str] = field(default_factory=list)
    check: CheckReport = field(default_factory=CheckReport)

    @property
    def ok(self) -> bool:
        """Whether the new store holds what the old one does, in all of its back ends."""
        return not self.differing and self.check.ok

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "ok": self.ok,
            "documents": self.documents,
            "nodes": self.nodes,
            "rows": dict(self.rows),
            "projected": self.projected,
            "resumed": self.resumed,
            "differing": list(self.differing),
            "check": self.check.to_dict(),
        }


def migrate(
    source: StoreConfig, target: StoreConfig, *, progress: Progress | None = None
) -> MigrationReport:
    """Copies a store into another place: a directory, PostgreSQL, Milvus, NebulaGraph.

    The source is only read; others may read it meanwhile, writers wait. No text is embedded anew.
    A run that broke off is taken up by calling this again.

    Args:
        source: The store to copy.
        target: Where to; nothing may be there but what an earlier run began.
        progress: Told what was copied and how much more of it.

    Raises:
        StoreError: There is no source, the target holds another store, or a server does not answer.
        StoreLockedError: Another process is writing to one of them.

    Example:
        >>> import tempfile
        >>> from llama_index_semxpath import SemXPathIndex
        >>> from llama_index_semxpath.tree.node import TreeNode
        >>> folder = tempfile.TemporaryDirectory()
        >>> plain = {"milvus_uri": "", "graph": "none"}
        >>> old, new = (StoreConfig(f"{folder.name}/{name}", **plain) for name in ("old", "new"))
        >>> with SemXPathIndex(old) as index:
        ...     _ = index.insert_tree([TreeNode("d", "Document", "d")])
        >>> report = migrate(old, new)
        >>> report.ok, report.documents, report.nodes
        (True, 1, 1)
        >>> folder.cleanup()
    """
    tell = progress or (lambda what, count: None)
    report = MigrationReport()
    with ExitStack() as stack:
        old = stack.enter_context(_opened(source, create=False))
        target.make_directory()
        new = stack.enter_context(_opened(target, create=True))
        if old.place == new.place:
            raise StoreError("source and target are the same store", where=old.place)
        stack.enter_context(old.database.turn(source.lock, source.patience).hold())
        stack.enter_context(new.database.turn(target.lock, target.patience).hold())
        if not _is_copied(old, new, report):
            _copy(old, new, report, tell)
        report.differing = [table.name for table in TABLES if not _same(old, new, table)]
        report.documents, report.nodes = len(new.documents()), new.count_nodes()
    _project(target, report, tell)
    return report


@contextmanager
def _opened(config: StoreConfig, *, create: bool) -> Iterator[Catalog]:
    place = config.catalog_url or config.catalog
    catalog = Catalog(place, create=create, schema=config.catalog_schema, unfinished=create)
    try:
        yield catalog
    finally:
        catalog.close()


# -- the catalog ------------------------------------------------------------------------------


def _origin(catalog: Catalog) -> str:
    return f"{catalog.identity} {catalog.version}"


def _is_copied(old: Catalog, new: Catalog, report: MigrationReport) -> bool:
    """Whether an earlier run copied all; one that began with another state is undone.

    Raises:
        StoreError: The target holds another store.
    """
    begun = new.meta(UNFINISHED)
    if begun is None and not new.version:
        with new.write() as writer:
            writer.set_meta(UNFINISHED, _origin(old))
        return False
    report.resumed = True
    if begun is not None:
        if begun != _origin(old):
            # Nothing but a half copy is there, of another state of the source or of another one.
            _clear(new, _origin(old))
        return False
    if new.meta(_ORIGIN) == _origin(old) and new.version == old.version:
        return True
    raise StoreError(
        "the target holds a store already",
        where=new.place,
        hint="migrate into an empty directory or schema",
    )


def _clear(new: Catalog, origin: str) -> None:
    with new.write() as writer:
        for name in ("words", *(table.name for table in TABLES)):
            writer.connection.execute(f"DELETE FROM {name}")
        writer.drop_meta(list(new.all_meta(UNFINISHED)))
        writer.set_meta(UNFINISHED, origin)


def _copy(old: Catalog, new: Catalog, report: MigrationReport, tell: Progress) -> None:
    for table in TABLES:
        copied = 0
        pages = _documents(old, new) if table is NODES else _pages(old, new, table)
        for rows, mark, documents in pages:
            with new.write() as writer:
                writer.connection.executemany(table.insert, rows)
                if table is NODES:
                    _put_words(new, writer.connection, rows)
                writer.set_meta(_mark(table), json.dumps(mark))
            copied += len(rows)
            tell("documents" if table is NODES else "rows", documents or len(rows))
        report.rows[table.name] = copied
    _finish(old, new)


def _mark(table: Table) -> str:
    return f"{UNFINISHED} {table.name}"


def _pages(
    old: Catalog, new: Catalog, table: Table
) -> Iterator[tuple[list[Sequence[Any]], list[Any], int]]:
    """Rows that the target lacks, with the key of the last of each page."""
    mark = json.loads(new.meta(_mark(table)) or "null")
    while True:
        sql, parameters = table.page(mark, _BATCH)
        with old.database.read() as connection:
            rows = connection.execute(sql, parameters).fetchall()
        if not rows:
            return
        mark = list(rows[-1][: len(table.key)])
        yield rows, mark, 0


def _documents(old: Catalog, new: Catalog) -> Iterator[tuple[list[Sequence[Any]], list[Any], int]]:
    """Nodes of whole documents, so many documents at a time as make a page."""
    done = json.loads(new.meta(_mark(NODES)) or '[""]')[0]
    rows: list[Sequence[Any]] = []
    last, count = done, 0
    for document in old.documents():
        if document.part <= done:
            continue
        rows += old.database.stream(
            f"SELECT {', '.join(NODES.columns)} FROM nodes "
            "WHERE order_key >= ? AND order_key < ? ORDER BY order_key",
            (document.part, f"{document.part}/"),
        )
        last, count = document.part, count + 1
        if len(rows) >= _BATCH:
            yield rows, [last], count
            rows, count = [], 0
    if rows:
        yield rows, [last], count


def _put_words(new: Catalog, connection: Connection, rows: Sequence[Sequence[Any]]) -> None:
    """The keyword index, which each kind of database keeps in a form of its own."""
    nodes = [read_node([row[at] for at in NODES.node_columns]) for row in rows]
    paths: list[str] = []
    start = 0
    for place in range(1, len(nodes) + 1):
        if place == len(nodes) or nodes[place].parent is None:
            part = nodes[start:place]
            paths += heading_paths(part, (), effective_labels(part))
            start = place
    new.database.words.put(
        connection,
        [
            (row[0], segment(path), segment(node.text))
            for row, node, path in zip(rows, nodes, paths, strict=True)
            if node.text
        ],
    )


def _finish(old: Catalog, new: Catalog) -> None:
    """The last transaction: settings, and the work that the projections have to do."""
    with new.write() as writer:
        for key, value in old.all_meta("").items():
            writer.set_meta(key, value)
        writer.set_meta("identity", uuid4().hex)
        writer.set_meta(_ORIGIN, _origin(old))
        for table in TABLES:
            if table.number:
                new.database.continue_numbers(writer.connection, table.name, table.number)
        entities: dict[str, list[str]] = {}
        for _, said in old.entity_sources():
            entities.setdefault(said.doc, []).append(said.entity)
        for document in old.documents():
            for name in TARGETS:
                writer.announce(name, "document", document.id, None)
        for doc, ids in entities.items():
            writer.announce("graph", "entities", doc, sorted(ids))
        for document in old.documents():
            writer.announce("graph", "relations", document.id, None)
        writer.drop_meta(list(new.all_meta(UNFINISHED)))


def _same(old: Catalog, new: Catalog, table: Table) -> bool:
    return _digest(old, table) == _digest(new, table)


def _digest(catalog: Catalog, table: Table) -> bytes:
    found = blake2b(digest_size=16)
    for row in catalog.database.stream(table.everything):
        found.update(repr([bytes(v) if isinstance(v, memoryview) else v for v in row]).encode())
    return found.digest()


# -- the projections --------------------------------------------------------------------------


def _project(target: StoreConfig, report: MigrationReport, tell: Progress) -> None:
    """Does what the outbox says, and compares."""
    catalog = target.open_catalog()
    try:
        names = catalog.vectors.models()
        embedder = StoredModel(names[0]) if names else as_embedder(None)
        embeddings = Embeddings(catalog, embedder)
        projections = Projections(target, embeddings)
        writer = Writer(target, catalog, embeddings, projections.open, projections.close)
        try:
            with writer.lock.hold():
                report.projected = writer.project(tell)
                report.check = check(writer)
        finally:
            projections.close()
    finally:
        catalog.close()
