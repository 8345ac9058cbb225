"""The property graph on disk, in Ladybug: one node table, one relation table, values as parameters.

Names that users choose (labels, relation names, property keys) are values in columns, never
identifiers of the schema, so no text of theirs becomes query text and no DDL runs after creation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from llama_index_semxpath.errors import StoreError, StoreLockedError
from llama_index_semxpath.index.codec import decode_attributes
from llama_index_semxpath.index.graph_model import (
    Criteria,
    Direction,
    Graph,
    Link,
    LinkKey,
    Vertex,
    check_link,
    check_vertex,
)
from llama_index_semxpath.index.graph_rows import (
    COLUMNS,
    LIGHT,
    is_number,
    link_row,
    named,
    read_attributes,
    row_vertex,
    vertex_row,
)
from llama_index_semxpath.index.ladybug_file import LadybugFile, Rows, Types
from llama_index_semxpath.text import nfc

_BATCH = 5_000
# Rows travel as Arrow tables: typed even when a column has no value, and eight times as fast as
# lists of dictionaries.
# Each finds its nodes by primary key. MERGE, and one pattern with both ends, would scan the table.
_VALUES = {
    **{column: column for column in (*COLUMNS, "keys", "origin_ids", "untyped")},
    "strings": "map(string_keys, strings)",
    "numbers": "map(number_keys, numbers)",
}
_KNOWN = "LOAD FROM $rows MATCH (n:Node) WHERE n.id = target RETURN n.id"
_CREATE = (
    "LOAD FROM $rows CREATE (n:Node {"
    + ", ".join(f"{name}: {value}" for name, value in _VALUES.items())
    + "})"
)
_SET = "LOAD FROM $rows MATCH (n:Node) WHERE n.id = id SET " + ", ".join(
    f"n.{name} = {value}" for name, value in _VALUES.items() if name != "id"
)
_PUT_LINKS = (
    "LOAD FROM $rows MATCH (a:Node) WHERE a.id = source MATCH (b:Node) WHERE b.id = target "
    "CREATE (a)-[:Relation {name: name, origin: origin, variant: variant, "
    "properties: properties}]->(b) RETURN count(*)"
)
_REMOVE_LINKS = (
    "LOAD FROM $rows MATCH (a:Node) WHERE a.id = source MATCH (a)-[e:Relation]->(b:Node) "
    "WHERE b.id = target AND e.name = name AND e.origin = origin AND e.variant = variant DELETE e"
)
_REMOVE = "LOAD FROM $rows MATCH (n:Node) WHERE n.id = target DETACH DELETE n"
# From many ids at once Ladybug joins with all links, which a look-up of each id is cheaper than
# as long as they are few.
_FEW = 64
_MATCH_LINKS = {
    None: "MATCH (a:Node)-[e:Relation]->(b:Node) WHERE true",
    ("one", "out"): "MATCH (a:Node)-[e:Relation]->(b:Node) WHERE a.id = $id",
    ("one", "in"): "MATCH (a:Node)-[e:Relation]->(b:Node) WHERE b.id = $id",
    ("many", "out"): "UNWIND $ids AS x MATCH (a:Node) WHERE a.id = x "
    "MATCH (a)-[e:Relation]->(b:Node) WHERE true",
    ("many", "in"): "UNWIND $ids AS x MATCH (b:Node) WHERE b.id = x "
    "MATCH (a:Node)-[e:Relation]->(b) WHERE true",
}
_RETURN_LINKS = (
    "RETURN a.id AS s, e.name AS n, b.id AS t, e.origin AS o, e.variant AS v, e.properties"
)


_STRING_COLUMNS = [column for column in COLUMNS if column not in ("level", "labels", "aliases")]
_LIST_COLUMNS = (
    *("labels", "aliases", "keys", "origin_ids"),
    *("string_keys", "strings", "number_keys", "untyped"),
)
_VERTEX_TYPES: Types = [
    *((column, "string") for column in _STRING_COLUMNS),
    ("level", "int64"),
    *((column, "list<string>") for column in _LIST_COLUMNS),
    ("numbers", "list<double>"),
]
_LINK_COLUMNS = ("target", "source", "name", "origin", "variant", "properties")
_LINK_TYPES: Types = [(c, "string") for c in _LINK_COLUMNS]


class LadybugGraph(Graph):
    """A :class:`Graph` in one Ladybug file.

    Opening the same file twice in one process shares it. Across processes one may write; others
    may open it with ``read_only=True`` and see its state at that moment.

    Args:
        path: File of the database; made when missing, with its folder.
        read_only: Open for reading beside a writer in another process.

    Raises:
        StoreLockedError: Another process holds the file for writing.
        StoreVersionError: The file was written by another version of this format.
        StoreError: The file is not a database, or cannot be read.
    """

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        self._file = LadybugFile.open(path, read_only=read_only)
        self._read_only = read_only

    def write(self) -> AbstractContextManager[None]:
        """A transaction: all of its writes happen, or none. It may be nested.

        Raises:
            StoreLockedError: The graph was opened for reading only.
        """
        if self._read_only:
            raise StoreLockedError(
                "the graph is open for reading only",
                where=self._file.path,
                hint="open it without read_only in the one process that writes",
            )
        return self._file.write()

    def put(self, vertices: Sequence[Vertex]) -> set[str]:
        """Inserts or replaces vertices; links at a replaced vertex stay."""
        rows = {v.id: _vertex_row(check_vertex(v)) for v in vertices}
        with self.write():
            wanted = [{"target": id_} for id_ in rows]
            known = {row[0] for row in self._write_batches(_KNOWN, _LINK_TYPES[:1], wanted)}
            new = [row for id_, row in rows.items() if id_ not in known]
            self._write_batches(_CREATE, _VERTEX_TYPES, new)
            self._write_batches(_SET, _VERTEX_TYPES, [rows[id_] for id_ in known])
        return known

    def put_links(self, links: Sequence[Link]) -> None:
        """Inserts or replaces links."""
        rows = {link.key: link_row(check_link(link)) for link in links}
        with self.write():
            self.remove_links(list(rows))
            counts = self._write_batches(_PUT_LINKS, _LINK_TYPES, list(rows.values()))
            if sum(row[0] for row in counts) != len(rows):
                self._refuse_missing_end(list(rows))

    def remove(self, ids: Sequence[str]) -> None:
        """Removes vertices and their links, never a neighbour."""
        rows = [{"target": id_} for id_ in dict.fromkeys(ids)]
        self._write_batches(_REMOVE, _LINK_TYPES[:1], rows)

    def remove_links(self, keys: Sequence[LinkKey]) -> None:
        """Removes links, never a vertex."""
        rows = [
            dict(zip(("source", "name", "target", "origin", "variant"), key, strict=True))
            for key in dict.fromkeys(keys)
        ]
        self._write_batches(_REMOVE_LINKS, _LINK_TYPES[:5], rows)

    def select(
        self, criteria: Criteria, *, after: str | None = None, limit: int | None = None
    ) -> list[Vertex]:
        """Matching vertices in order of id."""
        if criteria.impossible:
            return []
        match, parameters = _criteria_text(criteria, after)
        order = f"{match} RETURN {_returns(COLUMNS)} ORDER BY id"
        found: list[Vertex] = []
        # Cypher narrows the scan; types that it cannot tell apart are decided here.
        for row in self._file.stream(order, parameters):
            vertex = row_vertex(named(COLUMNS, row))
            if criteria.matches(vertex):
                found.append(vertex)
                if limit is not None and len(found) >= limit:
                    break
        return found

    def links(
        self,
        ids: Sequence[str] | None,
        direction: Direction = "out",
        *,
        names: Sequence[str] | None = None,
        origins: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[Link]:
        """Links in order of their keys."""
        if any(values is not None and not values for values in (ids, names, origins)):
            return []
        starts: list[dict[str, Any]] = [{}]
        match = _MATCH_LINKS[None]
        if ids is not None:
            wanted = sorted(set(ids))
            few = len(wanted) <= _FEW
            match = _MATCH_LINKS["one" if few else "many", direction]
            starts = [{"id": id_} for id_ in wanted] if few else [{"ids": wanted}]
        tests = []
        for name, column, values in (("names", "name", names), ("origins", "origin", origins)):
            if values is not None:
                tests.append(f" AND e.{column} IN ${name}")
                starts = [{**start, name: list(values)} for start in starts]
        text = f"{match}{''.join(tests)} {_RETURN_LINKS} ORDER BY s, n, t, o, v"
        if limit is not None:
            text += " LIMIT $limit"
            starts = [{**start, "limit": limit} for start in starts]
        rows = sorted(row for start in starts for row in self._file.read(text, start))
        return [
            Link(source, name, target, origin, decode_attributes(properties), variant)
            for source, name, target, origin, variant, properties in rows[:limit]
        ]

    def scan(self) -> Iterator[Vertex]:
        """Every vertex in order of id, without text, properties and payload."""
        text = f"MATCH (n:Node) RETURN {_returns(LIGHT)} ORDER BY id"
        for row in self._file.stream(text, {}):
            yield row_vertex(named(LIGHT, row))

    def counts(self) -> tuple[int, int]:
        """Number of vertices and of links."""
        nodes = self._file.read("MATCH (n:Node) RETURN count(*)")[0][0]
        links = self._file.read("MATCH ()-[e:Relation]->() RETURN count(*)")[0][0]
        return nodes, links

    def query(self, text: str, parameters: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Rows of a reading Cypher statement; a writing one is refused.

        Args:
            text: Cypher over ``Node`` and ``Relation``.
            parameters: Values of its ``$names``.

        Raises:
            StoreError: The statement is wrong, or it writes.
        """
        return self._file.query(text, parameters or {})

    def rows(self, text: str, parameters: Mapping[str, Any] | None = None) -> Rows:
        """Rows of a reading statement of ours (see ``engines.cypher``)."""
        return self._file.read(text, parameters or {})

    def checkpoint(self) -> None:
        """Writes the log into the database file."""
        self._file.checkpoint()

    def close(self) -> None:
        """Releases the file; a second call does nothing."""
        self._file.release(self)

    def _write_batches(self, text: str, types: Types, rows: list[dict[str, Any]]) -> Rows:
        found: Rows = []
        with self.write():
            for start in range(0, len(rows), _BATCH):
                found += self._file.load(text, types, rows[start : start + _BATCH])
        return found

    def _refuse_missing_end(self, keys: list[LinkKey]) -> None:
        known = self.vertices({end for key in keys for end in (key[0], key[2])})
        for source, name, target, *_ in keys:
            for end in (source, target):
                if end not in known:
                    raise StoreError(f"a '{name}' relation has no node '{end}'")


def _vertex_row(vertex: Vertex) -> dict[str, Any]:
    # For conditions only, as `@name` reads them; the values themselves are in `attributes`.
    read = read_attributes(vertex)
    strings = {k: nfc(v) for k, v in read.items() if isinstance(v, str)}
    numbers = {k: float(v) for k, v in read.items() if is_number(v)}
    return {
        **vertex_row(vertex),
        "keys": sorted(vertex.keys()),
        "origin_ids": list(vertex.origins),
        "string_keys": list(strings),
        "strings": list(strings.values()),
        "number_keys": list(numbers),
        "numbers": list(numbers.values()),
        "untyped": [k for k in read if k not in strings and k not in numbers],
    }


def _returns(columns: Sequence[str]) -> str:
    return ", ".join(f"n.{column} AS {column}" for column in columns)


def _criteria_text(criteria: Criteria, after: str | None) -> tuple[str, dict[str, Any]]:
    """The MATCH clause, at least as wide as the criteria, and its parameters."""
    parameters: dict[str, Any] = {}
    conditions: list[str] = []
    match = "MATCH (n:Node)"
    if criteria.ids is not None:
        # One look-up by primary key for each id; IN would scan the table.
        match = "UNWIND $ids AS x MATCH (n:Node)"
        conditions.append("n.id = x")
        parameters["ids"] = sorted(criteria.ids)
    for name, values, test in (
        ("keys", criteria.keys, "list_has_any(n.keys, $keys)"),
        ("docs", criteria.docs, "n.doc IN $docs"),
        ("origins", criteria.origins, "list_has_any(n.origin_ids, $origins)"),
    ):
        if values is not None:
            conditions.append(test)
            parameters[name] = sorted(values)
    if after is not None:
        conditions.append("n.id > $after")
        parameters["after"] = after
    for place, (key, value) in enumerate((criteria.equal or {}).items()):
        if not isinstance(value, str) and not is_number(value):
            continue
        column = "strings" if isinstance(value, str) else "numbers"
        conditions.append(f"list_contains(map_extract(n.{column}, $key{place}), $value{place})")
        parameters[f"key{place}"] = key
        parameters[f"value{place}"] = nfc(value) if isinstance(value, str) else float(value)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return match + where, parameters
