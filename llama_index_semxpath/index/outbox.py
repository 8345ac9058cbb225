"""Brings projections up to the catalog, from the work list that every write leaves behind."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from llama_index_semxpath.index.catalog import Catalog
from llama_index_semxpath.index.merged import merged_entities
from llama_index_semxpath.index.projected import ProjectedNodes
from llama_index_semxpath.index.projection import GraphTarget, ProjectedNode, Projection

#: Nodes handed to a projection in one call.
BATCH = 2_000
#: Work struck off after this many nodes, so that a crash repeats little.
_STRIDE = 20_000


@dataclass(frozen=True, slots=True)
class Task:
    """One row of the outbox."""

    seq: int
    what: str
    doc: str
    ids: tuple[str, ...]


def pending(catalog: Catalog, target: str | None = None) -> int:
    """Count of rows that wait, for one projection or for all."""
    with catalog.database.read() as connection:
        row = connection.execute(
            "SELECT count(*) FROM outbox WHERE target = coalesce(?, target)", (target,)
        ).fetchone()
    return int(row[0])


def waiting(catalog: Catalog, targets: Sequence[str]) -> bool:
    """Whether anything waits for one of some projections."""
    if not targets:
        return False
    marks = ", ".join("?" * len(targets))
    sql = f"SELECT 1 FROM outbox WHERE target IN ({marks}) LIMIT 1"
    with catalog.database.read() as connection:
        return connection.execute(sql, targets).fetchone() is not None


def drain(
    catalog: Catalog,
    projection: Projection,
    nodes: ProjectedNodes,
    progress: Callable[[int], None] = lambda count: None,
) -> int:
    """Does all work that waits for a projection, in the order it was written down.

    Each task reads the catalog as it is now, so doing it late, twice or after a crash leads to the
    same state.

    Args:
        catalog: The catalog.
        projection: The store to bring up to it.
        nodes: Reads the catalog's nodes for that store.
        progress: Told the count of nodes after each batch.

    Returns:
        Count of the nodes written.
    """
    written = 0
    done: list[int] = []
    since = 0
    for task in _tasks(catalog, projection.name):
        count = _carry_out(catalog, projection, nodes, task, progress)
        written += count
        since += count
        done.append(task.seq)
        if since >= _STRIDE:
            _strike(catalog, projection, done)
            since = 0
    if done:
        _strike(catalog, projection, done)
    return written


def _strike(catalog: Catalog, projection: Projection, done: list[int]) -> None:
    # First durable there, then struck off here: a crash between the two repeats, never loses.
    projection.flush()
    with catalog.write() as writer:
        writer.done(done)
    done.clear()


def _tasks(catalog: Catalog, target: str) -> Iterator[Task]:
    last = 0
    while True:
        with catalog.database.read() as connection:
            rows = connection.execute(
                "SELECT seq, what, doc, ids FROM outbox WHERE target = ? AND seq > ? "
                "ORDER BY seq LIMIT 200",
                (target, last),
            ).fetchall()
        if not rows:
            return
        for seq, what, doc, ids in rows:
            yield Task(seq, what, doc, () if ids is None else tuple(json.loads(ids)))
        last = rows[-1][0]


def _carry_out(
    catalog: Catalog,
    projection: Projection,
    nodes: ProjectedNodes,
    task: Task,
    progress: Callable[[int], None],
) -> int:
    if task.what == "removed":
        # A document that came back since is written anew by the task that says so.
        projection.delete(task.ids)
        if isinstance(projection, GraphTarget):
            projection.delete_document(task.doc)
        return 0
    if task.what == "document":
        return _upsert(projection, nodes.of_document(task.doc), progress)
    if task.what == "nodes":
        found = list(nodes.of_ids(task.doc, task.ids))
        kept = {node.id for node in found}
        gone = [id_ for id_ in task.ids if id_ not in kept]
        if gone:
            projection.delete(gone)
        return _upsert(projection, iter(found), progress)
    if isinstance(projection, GraphTarget):
        _carry_out_graph(catalog, projection, task)
    return 0


def _carry_out_graph(catalog: Catalog, projection: GraphTarget, task: Task) -> None:
    if task.what == "relations":
        projection.replace_relations(task.doc, catalog.edges(task.doc))
        return
    living = {entity.id: entity for entity in merged_entities(catalog, task.ids)}
    gone = [id_ for id_ in task.ids if id_ not in living]
    if gone:
        projection.delete_entities(gone)
    kept = [living[id_] for id_ in task.ids if id_ in living]
    if kept:
        projection.upsert_entities(kept)


def _upsert(
    projection: Projection, nodes: Iterator[ProjectedNode], progress: Callable[[int], None]
) -> int:
    count = 0
    while batch := list(islice(nodes, BATCH)):
        projection.upsert(batch)
        count += len(batch)
        progress(len(batch))
    return count


def requeue(catalog: Catalog, target: str, documents: Sequence[str]) -> None:
    """Asks for documents to be written to a projection anew."""
    with catalog.write() as writer:
        for doc in documents:
            writer.announce(target, "document", doc, None)
