"""Compares the projections with the catalog, and mends them from it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from llama_index_semxpath.index.catalog import Catalog
from llama_index_semxpath.index.merged import merged_entities
from llama_index_semxpath.index.outbox import BATCH
from llama_index_semxpath.index.projected import ProjectedNodes
from llama_index_semxpath.index.projection import GraphTarget, Projection
from llama_index_semxpath.index.reconcile_links import mend_relations, wrong_relations
from llama_index_semxpath.index.writing import Writer

#: Faults listed by name in a report; the rest are counted.
_LISTED = 1_000


@dataclass(frozen=True, slots=True)
class Fault:
    """One row that a projection holds wrongly, or not at all.

    Args:
        store: Name of the projection.
        id: Node id.
        document: Id of its document.
        reason: What is wrong.
    """

    store: str
    id: str
    document: str
    reason: str

    def to_dict(self) -> dict[str, str]:
        """As JSON values."""
        return {
            "store": self.store,
            "id": self.id,
            "document": self.document,
            "reason": self.reason,
        }


@dataclass(slots=True)
class CheckReport:
    """What a check found.

    Args:
        missing: Nodes and relations that a projection lacks.
        orphans: Rows and relations of a projection that the catalog does not know.
        stale: Rows that differ: order key, access labels or content.
        counts: Count of all faults by store and kind, also of those not listed.
        checked: Count of rows compared, by store.
        repaired: Count of faults mended.
        set_aside: Damaged files of embedded stores, renamed before these were built anew.
    """

    missing: list[Fault] = field(default_factory=list)
    orphans: list[Fault] = field(default_factory=list)
    stale: list[Fault] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    checked: dict[str, int] = field(default_factory=dict)
    repaired: int = 0
    set_aside: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether all projections agree with the catalog (after the repair, if there was one)."""
        return sum(self.counts.values()) == self.repaired

    def add(self, kind: str, fault: Fault) -> None:
        """Notes a fault; ``kind`` is ``missing``, ``orphans`` or ``stale``."""
        listed: list[Fault] = getattr(self, kind)
        if len(listed) < _LISTED:
            listed.append(fault)
        key = f"{fault.store} {kind}"
        self.counts[key] = self.counts.get(key, 0) + 1

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "ok": self.ok,
            "missing": [fault.to_dict() for fault in self.missing],
            "orphans": [fault.to_dict() for fault in self.orphans],
            "stale": [fault.to_dict() for fault in self.stale],
            "counts": dict(self.counts),
            "checked": dict(self.checked),
            "repaired": self.repaired,
            "set_aside": list(self.set_aside),
        }

    def __repr__(self) -> str:
        if not self.counts:
            rows = ", ".join(f"{count} in {store}" for store, count in self.checked.items())
            return f"CheckReport(ok, rows compared: {rows or 'none'})"
        faults = ", ".join(f"{count} {key}" for key, count in self.counts.items())
        return f"CheckReport({faults}; repaired {self.repaired})"


def check(writer: Writer, *, repair: bool = False) -> CheckReport:
    """Compares every projection with the catalog, row by row, and its relations.

    The expected rows go into a temporary table on disk, the projection streams past it, so memory
    stays bounded whatever the size of the store.

    Args:
        writer: The store's writer; nobody else writes meanwhile.
        repair: Mend from the catalog: write what is missing or stale, delete what is orphaned.

    Raises:
        StoreLockedError: Another process writes to the store.
    """
    report = CheckReport()
    with writer.turn():
        for projection in writer.open_projections():
            nodes = writer.reads_for(projection)
            with closing(_Comparison(projection, nodes)) as comparison:
                comparison.run(report)
                if isinstance(projection, GraphTarget):
                    faults = comparison.compare_relations(report, writer.catalog, projection)
                else:
                    faults = 0
                if repair:
                    comparison.mend(report, writer.catalog, faults)
    return report


class _Comparison:
    """One projection against the catalog."""

    def __init__(self, projection: Projection, nodes: ProjectedNodes) -> None:
        self._projection = projection
        self._nodes = nodes
        # An empty name is a database on disk that SQLite deletes by itself.
        self._rows = sqlite3.connect("")
        self._rows.execute(
            "CREATE TABLE expected (id TEXT PRIMARY KEY, doc TEXT, order_key TEXT, labels TEXT, "
            "fingerprint TEXT, state INTEGER) WITHOUT ROWID"
        )
        self._rows.execute("CREATE TABLE orphans (id TEXT PRIMARY KEY)")

    def close(self) -> None:
        self._rows.close()

    def run(self, report: CheckReport) -> None:
        store = self._projection.name
        self._rows.executemany(
            "INSERT INTO expected VALUES (?, ?, ?, ?, ?, 0)",
            (
                (row.id, row.doc, row.order, repr(row.labels), row.fingerprint)
                for row in self._nodes.rows()
            ),
        )
        seen = 0
        for row in self._projection.scan():
            seen += 1
            found = (row.order, repr(row.labels), row.fingerprint)
            self._compare(report, row.id, row.doc, found)
        report.checked[store] = seen
        for id_, doc in self._rows.execute("SELECT id, doc FROM expected WHERE state = 0"):
            report.add("missing", Fault(store, id_, doc, "the store lacks the row"))

    def compare_relations(self, report: CheckReport, catalog: Catalog, graph: GraphTarget) -> int:
        """Compares relations between nodes whose own rows agree; returns the count of faults."""
        count = 0
        for kind, row, target in wrong_relations(catalog, graph, self._nodes, self._agrees):
            source, name, id_, doc, _ = row
            reason = f"the relation {name} from {source} " + (
                "is not there" if kind == "missing" else "is not in the catalog"
            )
            report.add(kind, Fault(graph.name, id_, doc or target.doc, reason))
            count += 1
        return count

    def _agrees(self, id_: str) -> bool:
        found = self._rows.execute("SELECT state FROM expected WHERE id = ?", (id_,)).fetchone()
        return found is not None and found[0] == 1

    def mend(self, report: CheckReport, catalog: Catalog, relations: int) -> None:
        """Writes and deletes what the comparisons found; ``relations``: faults among those."""
        # Rows in document order: a parent is there before its children.
        wrong = self._rows.execute(
            "SELECT doc, id FROM expected WHERE state <> 1 ORDER BY order_key"
        ).fetchall()
        orphans = [row[0] for row in self._rows.execute("SELECT id FROM orphans")]
        for start in range(0, len(orphans), BATCH):
            self._projection.delete(orphans[start : start + BATCH])
        for doc, ids in _by_document(wrong):
            if not doc and isinstance(self._projection, GraphTarget):
                self._projection.upsert_entities(list(merged_entities(catalog, ids)))
                continue
            for start in range(0, len(ids), BATCH):
                batch = list(self._nodes.of_ids(doc, ids[start : start + BATCH]))
                self._projection.upsert(batch)
        if isinstance(self._projection, GraphTarget) and (wrong or orphans or relations):
            # Those of nodes that were not there are missing too.
            mend_relations(catalog, self._projection, self._nodes)
        self._projection.flush()
        report.repaired += len(wrong) + len(orphans) + relations

    def _compare(
        self, report: CheckReport, id_: str, doc: str, found: tuple[str, str, str]
    ) -> None:
        store = self._projection.name
        row = self._rows.execute(
            "SELECT order_key, labels, fingerprint, doc, state FROM expected WHERE id = ?", (id_,)
        ).fetchone()
        if row is None or row[4]:
            reason = "the catalog knows no such node" if row is None else "the row is there twice"
            report.add("orphans", Fault(store, id_, doc, reason))
            self._rows.execute("INSERT OR IGNORE INTO orphans VALUES (?)", (id_,))
            if row is not None:
                # Deleting takes both rows away, so the node has to be written again.
                self._rows.execute("UPDATE expected SET state = 2 WHERE id = ?", (id_,))
            return
        state = 1
        if found != row[:3]:
            state = 2
            names = ("order key", "access labels", "content")
            wrong = [n for n, a, b in zip(names, found, row[:3], strict=True) if a != b]
            # The fingerprint covers the other two.
            report.add("stale", Fault(store, id_, row[3], f"wrong {wrong[0]}"))
        self._rows.execute("UPDATE expected SET state = ? WHERE id = ?", (state, id_))


def _by_document(rows: Sequence[tuple[str, str]]) -> Iterator[tuple[str, list[str]]]:
    current, ids = None, list[str]()
    for doc, id_ in rows:
        if doc != current:
            if current is not None:
                yield current, ids
            current, ids = doc, []
        ids.append(id_)
    if current is not None:
        yield current, ids
