"""Reads what the catalog keeps of the past: revisions, versions of nodes, whole past states."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.catalog import NODE_COLUMNS, Catalog, read_node
from llama_index_semxpath.index.codec import decode_attributes, searchable
from llama_index_semxpath.index.history_rows import Revision, read_revision, time_text
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.order import subtree_range

_REVISION = "seq, time, author, reason, what"
#: A moment of the store: its revision number, or a time with a time zone; a date is its last
#: moment in UTC.
When = int | str | dt.date | dt.datetime


@dataclass(frozen=True, slots=True)
class NodeVersion:
    """A node as it was for some time.

    Args:
        node: The node; ``None`` where it was removed.
        revision: The write that made it so.
        until: The write that ended it; ``None`` for the present version.
    """

    node: TreeNode | None
    revision: Revision
    until: Revision | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """What separates two states of a store, as rows of one of them.

    Args:
        nodes: Nodes of the state that differ from the other one, or that only it has.
        gone: Ids of nodes that only the other state has.
    """

    nodes: list[TreeNode]
    gone: set[str]


class History:
    """The past of a catalog.

    Args:
        catalog: The catalog; reads within its ``moment()`` see one state.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    @property
    def first(self) -> int:
        """The oldest revision whose state can be read."""
        return int(self._catalog.meta("history_from") or 0)

    def revision(self, seq: int) -> Revision:
        """One revision; a write from before there was a history is known by its number only."""
        sql = f"SELECT {_REVISION} FROM revisions WHERE seq = ?"
        with self._catalog.database.read() as connection:
            row = connection.execute(sql, (seq,)).fetchone()
        if row is None:
            return Revision(seq, dt.datetime.min.replace(tzinfo=dt.UTC))
        return read_revision(row)

    def revisions(self, limit: int | None = None, doc: str | None = None) -> list[Revision]:
        """Revisions, newest first.

        Args:
            limit: Most revisions; ``None`` for all.
            doc: Only those that changed a node of this document.
        """
        where, values = "", list[object]()
        if doc is not None:
            where = (
                "WHERE seq IN (SELECT since FROM nodes WHERE doc = ? UNION "
                "SELECT from_revision FROM node_history WHERE doc = ? UNION "
                "SELECT to_revision FROM node_history WHERE doc = ?) "
            )
            values = [searchable(doc)] * 3
        sql = f"SELECT {_REVISION} FROM revisions {where}ORDER BY seq DESC"
        if limit is not None:
            sql, values = f"{sql} LIMIT ?", [*values, limit]
        with self._catalog.database.read() as connection:
            rows = connection.execute(sql, values)
            return [read_revision(row) for row in rows]

    def number(self, when: When) -> int:
        """Number of the revision that was in force at a moment.

        Args:
            when: See :data:`When`; a text is a date or time in ISO 8601.

        Raises:
            StoreError: The text is no time, there was no such revision, or it was purged.
        """
        latest = self._catalog.version
        if isinstance(when, bool) or not isinstance(when, int | str | dt.date):
            raise StoreError(
                f"a {type(when).__name__} is no moment", hint="give a date or revision"
            )
        seq = when if isinstance(when, int) else self._number_at(moment_of(when))
        if not 0 <= seq <= latest:
            raise StoreError(f"there is no revision {seq}", hint=f"the latest is {latest}")
        if seq < self.first:
            raise StoreError(
                f"revision {seq} can be read no more", hint=f"history begins at {self.first}"
            )
        return seq

    def _number_at(self, time: dt.datetime) -> int:
        sql = "SELECT max(seq) FROM revisions WHERE time <= ?"
        with self._catalog.database.read() as connection:
            found = connection.execute(sql, (time_text(time),)).fetchone()[0]
            if found is not None:
                return int(found)
        if self.first:
            raise StoreError(
                f"the store at {time:%Y-%m-%d %H:%M} is not known",
                hint=f"history begins at revision {self.first}",
            )
        return 0

    def since(self, revision: int) -> Difference | None:
        """What the present differs in from an earlier revision; ``None`` when that was purged."""
        if revision < self.first:
            return None
        with self._catalog.database.read() as connection:
            sql = f"SELECT {NODE_COLUMNS} FROM nodes WHERE since > ?"
            nodes = [read_node(row) for row in connection.execute(sql, (revision,))]
            sql = "SELECT DISTINCT id FROM node_history WHERE to_revision > ?"
            gone = {row[0] for row in connection.execute(sql, (revision,))}
        return Difference(nodes, gone.difference(node.id for node in nodes))

    def written(self, revision: int = -1) -> dict[str, dt.datetime]:
        """When each node became what it is, of the nodes that changed after a revision."""
        sql = (
            "SELECT n.id, r.time FROM nodes n JOIN revisions r ON r.seq = n.since WHERE n.since > ?"
        )
        with self._catalog.database.read() as connection:
            rows = connection.execute(sql, (revision,)).fetchall()
        return {id_: dt.datetime.fromisoformat(str(time)) for id_, time in rows}

    def before(self, revision: int) -> Difference:
        """What a revision differed in from the present."""
        with self._catalog.database.read() as connection:
            sql = (
                f"SELECT {NODE_COLUMNS} FROM node_history "
                "WHERE to_revision > ? AND from_revision <= ?"
            )
            nodes = [read_node(row) for row in connection.execute(sql, (revision, revision))]
            sql = "SELECT id FROM nodes WHERE since > ?"
            gone = {row[0] for row in connection.execute(sql, (revision,))}
        return Difference(nodes, gone.difference(node.id for node in nodes))

    def between(self, first: int, last: int) -> list[str]:
        """Ids of the nodes that writes after ``first`` and up to ``last`` touched."""
        sql = (
            "SELECT id FROM nodes WHERE since > ? AND since <= ? UNION "
            "SELECT id FROM node_history WHERE (to_revision > ? AND to_revision <= ?) "
            "UNION SELECT id FROM node_history WHERE from_revision > ? AND from_revision <= ?"
        )
        with self._catalog.database.read() as connection:
            return [row[0] for row in connection.execute(sql, (first, last) * 3)]

    def nodes(self, ids: Sequence[str], revision: int) -> dict[str, TreeNode]:
        """Nodes by id as a revision had them; those that it did not have are left out."""
        found: dict[str, TreeNode] = {}
        past = (
            f"SELECT {NODE_COLUMNS} FROM node_history "
            "WHERE id = ? AND from_revision <= ? AND to_revision > ?"
        )
        now = f"SELECT {NODE_COLUMNS} FROM nodes WHERE id = ? AND since <= ?"
        with self._catalog.database.read() as connection:
            for id_ in ids:
                key = searchable(id_)
                row = connection.execute(past, (key, revision, revision)).fetchone()
                row = row or connection.execute(now, (key, revision)).fetchone()
                if row is not None:
                    found[id_] = read_node(row)
        return found

    def knew(self, name: str) -> bool:
        """Whether some node of the past or the present has this kind or attribute."""
        with self._catalog.database.read() as connection:
            for table in ("node_history", "nodes"):
                sql = f"SELECT 1 FROM {table} WHERE kind = ? LIMIT 1"
                if connection.execute(sql, (searchable(name),)).fetchone() is not None:
                    return True
            sql = "SELECT DISTINCT attributes FROM node_history"
            return any(name in decode_attributes(row[0]) for row in connection.execute(sql))

    def subtree_revisions(self, id_: str) -> list[int]:
        """Numbers of the revisions that changed a node or what stands below it, oldest first.

        What stood below it once counts by where it stood then.
        """
        key = searchable(id_)
        with self._catalog.database.read() as connection:
            found = connection.execute("SELECT order_key FROM nodes WHERE id = ?", (key,))
            keys = {row[0] for row in found}
            past = "SELECT DISTINCT order_key FROM node_history WHERE id = ?"
            keys.update(row[0] for row in connection.execute(past, (key,)))
            numbers: set[int] = set()
            for order in keys:
                low, high = subtree_range(order)
                sql = "SELECT DISTINCT since FROM nodes WHERE order_key >= ? AND order_key < ?"
                numbers.update(row[0] for row in connection.execute(sql, (low, high)))
                sql = (
                    "SELECT DISTINCT from_revision, to_revision FROM node_history "
                    "WHERE order_key >= ? AND order_key < ?"
                )
                for row in connection.execute(sql, (low, high)):
                    numbers.update(row)
        return sorted(number for number in numbers if number >= self.first)

    def vectors(self, model: int, ids: Sequence[str], revision: int) -> dict[str, bytes]:
        """Float32 bytes by node id, of nodes as a revision had them."""
        sql = (
            "SELECT h.id, v.vector FROM node_history h JOIN vectors v "
            "ON v.model = ? AND v.hash = h.vector "
            "WHERE h.id = ? AND h.from_revision <= ? AND h.to_revision > ?"
        )
        found: dict[str, bytes] = {}
        with self._catalog.database.read() as connection:
            for id_ in ids:
                found.update(connection.execute(sql, (model, id_, revision, revision)))
        return found

    def versions(self, id_: str) -> list[NodeVersion]:
        """All versions of a node that are kept, oldest first, times without it among them."""
        past = (
            f"SELECT from_revision, to_revision, {NODE_COLUMNS} FROM node_history "
            "WHERE id = ? ORDER BY to_revision"
        )
        now = f"SELECT since, NULL, {NODE_COLUMNS} FROM nodes WHERE id = ?"
        found: list[NodeVersion] = []
        with self._catalog.database.read() as connection:
            key = (searchable(id_),)
            rows = [*connection.execute(past, key), *connection.execute(now, key)]
            for place, (start, end, *row) in enumerate(rows):
                until = None if end is None else self.revision(end)
                found.append(NodeVersion(read_node(row), self.revision(start), until))
                after = rows[place + 1][0] if place + 1 < len(rows) else None
                if until is not None and after != end:
                    back = None if after is None else self.revision(after)
                    found.append(NodeVersion(None, until, back))
        return found


def purge(catalog: Catalog, before: dt.datetime) -> int:
    """Forgets for good what the present and all states since a time do not need.

    Args:
        catalog: The catalog.
        before: A time with a time zone; the state at this time stays readable.

    Returns:
        Count of the rows that went.
    """
    with catalog.write() as writer:
        connection = writer.connection
        sql = "SELECT max(seq) FROM revisions WHERE time <= ?"
        seq = connection.execute(sql, (time_text(before),)).fetchone()[0]
        if seq is None:
            return 0
        # Their vectors go too: those would tell what a text said.
        connection.execute(
            "DELETE FROM vectors WHERE hash IN "
            "(SELECT vector FROM node_history WHERE to_revision <= ? AND vector IS NOT NULL) "
            "AND hash NOT IN (SELECT vector FROM nodes WHERE vector IS NOT NULL) AND hash NOT IN "
            "(SELECT vector FROM node_history WHERE to_revision > ? AND vector IS NOT NULL)",
            (seq, seq),
        )
        gone = connection.execute("DELETE FROM node_history WHERE to_revision <= ?", (seq,))
        writer.set_meta("history_from", str(max(seq, int(catalog.meta("history_from") or 0))))
        return int(gone.rowcount)


def moment_of(when: str | dt.date | dt.datetime) -> dt.datetime:
    """A time with a time zone: a date is its last moment, a naive time is read as UTC.

    Raises:
        StoreError: A text that is no ISO 8601 date or time.

    Example:
        >>> moment_of("2026-03-01").isoformat()
        '2026-03-01T23:59:59.999999+00:00'
    """
    if isinstance(when, str):
        text = when.strip()
        try:
            when = (
                dt.date.fromisoformat(text) if len(text) <= 10 else dt.datetime.fromisoformat(text)
            )
        except ValueError:
            raise StoreError(
                "this is no date or time", where=text[:60], hint="write it as 2026-03-01"
            ) from None
    if not isinstance(when, dt.datetime):
        return dt.datetime.combine(when, dt.time.max, dt.UTC)
    return when if when.tzinfo else when.replace(tzinfo=dt.UTC)
