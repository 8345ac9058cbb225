"""The property graph in NebulaGraph: one tag, one edge type, ids mapped to fixed-length hashes.

NebulaGraph has no transactions. Each statement is idempotent and everything is checked before the
first one is sent, so that a write which broke off is mended by repeating it, as the outbox does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import Any, Literal

from llama_index_semxpath.engines.graph_query import any_of
from llama_index_semxpath.engines.ngql import (
    EDGE,
    TAG,
    VID_LENGTH,
    labels_text,
    property_name,
    vertex_id,
)
from llama_index_semxpath.errors import StoreError, StoreVersionError
from llama_index_semxpath.index import nebula_text as ngql
from llama_index_semxpath.index.codec import decode_attributes, printable
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
from llama_index_semxpath.index.nebula_client import NebulaClient, NebulaOptions, Rows
from llama_index_semxpath.text import nfc
from llama_index_semxpath.tree.order import subtree_range

_COLUMNS = [name for name, _ in ngql.COLUMNS]
_LINK = ("source", "name", "target", "origin", "variant", "properties")
_PAGE = 1_000
_LINK_PAGE = 10_000
#: Attributes that have columns of their own; a condition on any other is decided elsewhere.
MAX_ATTRIBUTES = 64
#: Sets of columns that are written apart.
MAX_GROUPS = 80
#: Vertex ids in one reading statement.
_CHUNK = 512


class NebulaGraph(Graph):
    """A :class:`Graph` in a space of NebulaGraph.

    Args:
        options: How to reach the server; the space is made when it is missing.
        client: A client that is connected already.
        create: Make the space when it is missing.
        partitions: Partitions of a new space, 1 and up.
        replicas: Copies of each partition, odd.

    Raises:
        StoreError: The server does not answer, or refuses.
        StoreVersionError: The space exists and is not one of ours.
    """

    def __init__(
        self,
        options: NebulaOptions,
        *,
        client: NebulaClient | None = None,
        create: bool = True,
        partitions: int = 10,
        replicas: int = 1,
    ) -> None:
        self.client = client or NebulaClient(options)
        self._space = options.space
        try:
            self._open(create, partitions, replicas)
            self.properties = self._read_properties()
        except BaseException:
            self.client.close()
            raise

    @classmethod
    def from_url(cls, url: str, *, create: bool = True) -> NebulaGraph:
        """The graph at a URL (see ``nebula_url.parse_nebula_url``).

        Raises:
            StoreError: The URL cannot be read, or the server does not answer.
            StoreVersionError: The space exists and is not one of ours.
        """
        from llama_index_semxpath.index.nebula_url import parse_nebula_url

        place = parse_nebula_url(url)
        return cls(
            place.options, create=create, partitions=place.partitions, replicas=place.replicas
        )

    def write(self) -> AbstractContextManager[None]:
        """No transaction: each write is repeatable instead."""
        return nullcontext()

    def put(self, vertices: Sequence[Vertex]) -> set[str]:
        """Inserts or replaces vertices; links at a replaced vertex stay."""
        given = {v.id: check_vertex(v) for v in vertices}
        if not given:
            return set()
        read = {id_: read_attributes(vertex) for id_, vertex in given.items()}
        self._declare({name for values in read.values() for name in values})
        known = self.vertices(given)
        rows: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for id_, vertex in given.items():
            typed = self._typed(read[id_])
            rows.setdefault(tuple(sorted(typed)), []).append({**_vertex_row(vertex), **typed})
        for columns, alike in _few_groups(rows).items():
            self._run(ngql.insert_vertices([*_COLUMNS, *columns], alike))
        for edge, role, of in (
            (ngql.KEYED, "key", Vertex.keys),
            (ngql.STATED, "origin", lambda v: set(v.origins)),
        ):
            before = {(text, v.id) for v in known.values() for text in of(v)}
            after = {(text, v.id) for v in vertices for text in of(v)}
            keys = (ngql.helper_key(role, *pair) for pair in sorted(before - after))
            self._run(ngql.delete_edges(edge, keys))
            keys = (ngql.helper_key(role, *pair) for pair in sorted(after - before))
            self._run(ngql.insert_helpers(edge, keys))
        return set(known)

    def put_links(self, links: Sequence[Link]) -> None:
        """Inserts or replaces links."""
        rows = {link.key: _link_row(check_link(link)) for link in links}
        known = self._existing({end for key in rows for end in (key[0], key[2])})
        for source, name, target, *_ in rows:
            for end in (source, target):
                if end not in known:
                    raise StoreError(f"a '{name}' relation has no node '{end}'")
        self._run(ngql.insert_links(rows.items()))

    def remove(self, ids: Sequence[str]) -> None:
        """Removes vertices and their links, never a neighbour."""
        self._run(ngql.delete_vertices(dict.fromkeys(ids)))

    def remove_links(self, keys: Sequence[LinkKey]) -> None:
        """Removes links, never a vertex."""
        self._run(ngql.delete_edges(EDGE, map(ngql.edge_key, dict.fromkeys(keys))))

    def select(
        self, criteria: Criteria, *, after: str | None = None, limit: int | None = None
    ) -> list[Vertex]:
        """Matching vertices in order of id."""
        if criteria.impossible:
            return []
        found: Iterator[Vertex] = (
            vertex for vertex in self._candidates(criteria, after) if criteria.matches(vertex)
        )
        if not self._is_scan(criteria):
            found = iter(sorted(found, key=lambda vertex: vertex.id))
        return list(islice((v for v in found if after is None or v.id > after), limit))

    def links(
        self,
        ids: Sequence[str] | None,
        direction: Direction | Literal["both"] = "out",
        *,
        names: Sequence[str] | None = None,
        origins: Sequence[str] | None = None,
        limit: int | None = None,
    ) -> list[Link]:
        """Links in order of their keys; ``"both"`` takes those at either end in one statement."""
        if any(values is not None and not values for values in (ids, names, origins)):
            return []
        tests, parameters = [], {}
        for name, column, values in (("name", "name", names), ("origin", "origin_key", origins)):
            if values is not None:
                wanted = [ngql.helper_id("origin", v) if name == "origin" else v for v in values]
                given = {f"{name}{place}": value for place, value in enumerate(wanted)}
                tests.append(any_of([f"{EDGE}.{column} == ${key}" for key in given]))
                parameters.update(given)
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        output = ", ".join(f"{EDGE}.{column} AS {column}" for column in _LINK)
        tail = f"{where} YIELD {output}"
        texts = [f"LOOKUP ON {EDGE}{tail}"]
        if ids is not None:
            way = {"out": "", "in": " REVERSELY", "both": " BIDIRECT"}[direction]
            chunks = _chunks(sorted(set(ids)))
            texts = [f"GO FROM {ngql.vids(c)} OVER {EDGE}{way}{tail}" for c in chunks]
        # A link between two of the nodes is met from both.
        found = {tuple(row) for text in texts for row in self._pages(text, parameters, limit)}
        return [
            Link(source, name, target, origin, decode_attributes(properties), variant)
            for source, name, target, origin, variant, properties in sorted(found)[:limit]
        ]

    def subtree(self, order: str) -> Iterator[Vertex]:
        """A node of a tree and all below it, in document order.

        One statement reads 10,000 of them.

        Args:
            order: The node's order key.
        """
        low, high = subtree_range(order)
        output = ", ".join(f"n.{TAG}.{column} AS {column}" for column in COLUMNS)
        where, after = f"n.{TAG}.order_key >= $after", low
        while True:
            text = (
                f"MATCH (n:{TAG}) WHERE {where} AND n.{TAG}.order_key < $high RETURN {output} "
                f"ORDER BY order_key LIMIT {_LINK_PAGE}"
            )
            rows = self.client.execute(text, {"after": after, "high": high})
            for row in rows:
                vertex = _to_vertex(COLUMNS, row)
                yield vertex
            if len(rows) < _LINK_PAGE:
                return
            where, after = f"n.{TAG}.order_key > $after", vertex.order

    def scan(self) -> Iterator[Vertex]:
        """Every vertex in order of id, without text, properties and payload."""
        output = ", ".join(f"n.{TAG}.{column} AS {column}" for column in LIGHT)
        after = ""
        while True:
            text = (
                f"MATCH (n:{TAG}) WHERE n.{TAG}.id > $after RETURN {output} "
                f"ORDER BY id LIMIT {_PAGE}"
            )
            rows = self.client.execute(text, {"after": after})
            for row in rows:
                yield _to_vertex(LIGHT, row)
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]

    def counts(self) -> tuple[int, int]:
        """Number of vertices and of links."""
        nodes = self.client.execute(f"LOOKUP ON {TAG} YIELD id(vertex) AS v | YIELD count(*) AS n")
        links = self.client.execute(f"LOOKUP ON {EDGE} YIELD src(edge) AS s | YIELD count(*) AS n")
        return nodes[0][0], links[0][0]

    def rows(self, text: str, parameters: Mapping[str, Any] | None = None) -> Rows:
        """Rows of a reading statement of ours (see ``engines.ngql``)."""
        return self.client.execute(text, parameters)

    def close(self) -> None:
        """Signs out."""
        self.client.close()

    # -- reading --------------------------------------------------------------------------------

    def _pages(self, text: str, parameters: Mapping[str, Any], limit: int | None) -> Rows:
        """The rows of a statement over links, so many at a time that an answer stays bounded."""
        order = ", ".join(f"$-.{column}" for column in _LINK)
        found: Rows = []
        while limit is None or len(found) < limit:
            size = _LINK_PAGE if limit is None else min(_LINK_PAGE, limit - len(found))
            page = f"{text} | ORDER BY {order} | LIMIT {len(found)}, {size}"
            rows = self.client.execute(page, parameters)
            found += rows
            if len(rows) < size:
                break
        return found

    def _is_scan(self, criteria: Criteria) -> bool:
        """Whether candidates come page by page in order of id, since nothing narrows them."""
        return criteria.ids is None and criteria.keys is None and criteria.origins is None

    def _candidates(self, criteria: Criteria, after: str | None) -> Iterator[Vertex]:
        """Vertices that may match, by the narrowest way there is."""
        if criteria.ids is not None:
            yield from self._fetch(f'"{vertex_id(id_)}"' for id_ in sorted(criteria.ids))
        elif criteria.keys is not None:
            yield from self._pointed(ngql.KEYED, "key", sorted(criteria.keys))
        elif criteria.origins is not None:
            yield from self._pointed(ngql.STATED, "origin", sorted(criteria.origins))
        else:
            yield from self._matched(criteria, after or "")

    def _fetch(self, vids: Iterable[str]) -> Iterator[Vertex]:
        output = ", ".join(f"{TAG}.{column} AS {column}" for column in COLUMNS)
        for chunk in _chunks(list(vids)):
            text = f"FETCH PROP ON {TAG} {', '.join(chunk)} YIELD {output}"
            for row in self.client.execute(text):
                yield _to_vertex(COLUMNS, row)

    def _pointed(self, edge: str, role: str, texts: Sequence[str]) -> Iterator[Vertex]:
        found: dict[str, None] = {}
        for chunk in _chunks(texts):
            starts = ", ".join(f'"{ngql.helper_id(role, text)}"' for text in chunk)
            text = f"GO FROM {starts} OVER {edge} YIELD DISTINCT dst(edge) AS v"
            found.update((row[0], None) for row in self.client.execute(text))
        yield from self._fetch(f'"{vid}"' for vid in found)

    def _matched(self, criteria: Criteria, after: str) -> Iterator[Vertex]:
        tests, parameters = [], {}
        for place, doc in enumerate(sorted(criteria.docs or ())):
            parameters[f"doc{place}"] = vertex_id(doc)
        if parameters:
            tests.append(any_of([f"n.{TAG}.doc_key == ${name}" for name in parameters]))
        for place, (key, value) in enumerate((criteria.equal or {}).items()):
            column = property_name("s", key)
            if isinstance(value, str) and column in self.properties:
                tests.append(f"n.{TAG}.{column} == $equal{place}")
                parameters[f"equal{place}"] = nfc(value)
        where = f"WHERE {' AND '.join(['n.' + TAG + '.id > $after', *tests])}"
        output = ", ".join(f"n.{TAG}.{column} AS {column}" for column in COLUMNS)
        while True:
            text = f"MATCH (n:{TAG}) {where} RETURN {output} ORDER BY id LIMIT {_PAGE}"
            rows = self.client.execute(text, {**parameters, "after": after})
            for row in rows:
                yield _to_vertex(COLUMNS, row)
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]

    def _existing(self, ids: set[str]) -> set[str]:
        found: set[str] = set()
        for chunk in _chunks(sorted(ids)):
            text = f"FETCH PROP ON {TAG} {ngql.vids(chunk)} YIELD {TAG}.id AS id"
            found.update(row[0] for row in self.client.execute(text))
        return found

    # -- schema ---------------------------------------------------------------------------------

    def _open(self, create: bool, partitions: int, replicas: int) -> None:
        names = {row[0] for row in self.client.execute("SHOW SPACES")}
        is_new = self._space not in names
        if is_new and not create:
            raise StoreError("there is no such space", where=self.client.where)
        if is_new:
            self.client.execute(
                f"CREATE SPACE IF NOT EXISTS `{self._space}`(partition_num = {int(partitions)}, "
                f"replica_factor = {int(replicas)}, vid_type = FIXED_STRING({VID_LENGTH}))"
            )
        self.client.enter_space()
        if not is_new:
            self._check_space()
        self._run(ngql.schema_statements())

    def _check_space(self) -> None:
        row = self.client.execute(f"DESCRIBE SPACE `{self._space}`")[0]
        tags = {name for (name,) in self.client.execute("SHOW TAGS")}
        if f"FIXED_STRING({VID_LENGTH})" not in row or (tags and TAG not in tags):
            raise StoreVersionError(
                "the space is not one of this package",
                where=self.client.where,
                hint="choose another name",
            )
        if tags:
            self._read_properties()

    def _read_properties(self) -> frozenset[str]:
        """Columns of attributes; those of every vertex have to be there with their types."""
        found = {row[0]: str(row[1]) for row in self.client.execute(f"DESCRIBE TAG {TAG}")}
        expected = {name: ngql.ATTRIBUTE_TYPES.get(name.partition("_")[0], "") for name in found}
        for name, wanted in {**expected, **dict(ngql.COLUMNS)}.items():
            if found.get(name) != wanted:
                held = f"is {printable(found[name])}" if name in found else "is missing"
                raise StoreVersionError(
                    f"the column '{printable(name)}' {held}, expected {wanted or 'none'}",
                    where=self.client.where,
                    hint="another program or version changed the space; choose another one",
                )
        return frozenset(found) - set(_COLUMNS)

    def _declare(self, attributes: set[str]) -> None:
        """Gives new attributes their columns, as long as there is room for more.

        An attribute gets a column for each type or none at all: then a condition on it can tell
        from its columns what every node holds.
        """
        new = [
            name for name in sorted(attributes) if property_name("s", name) not in self.properties
        ]
        new = new[: MAX_ATTRIBUTES - len(self.properties) // len(ngql.ATTRIBUTE_TYPES)]
        if new:
            columns = [
                (property_name(prefix, name), kind)
                for name in new
                for prefix, kind in ngql.ATTRIBUTE_TYPES.items()
            ]
            typed = ", ".join(f"{column} {kind} NULL" for column, kind in columns)
            try:
                self.client.execute(f"ALTER TAG {TAG} ADD ({typed})")
            except StoreError:
                # Its answer may have been lost, or another writer was first: then they are there.
                self.properties = self._read_properties()
                if not self.properties.issuperset(column for column, _ in columns):
                    raise
            self.properties |= {column for column, _ in columns}

    def _typed(self, read: Mapping[str, Any]) -> dict[str, Any]:
        """Columns of the attributes that have some."""
        row = {}
        for name, value in read.items():
            if property_name("s", name) in self.properties:
                column, stored = _typed_column(name, value)
                row[column] = stored
        return row

    def _run(self, statements: Iterable[str]) -> None:
        for statement in statements:
            self.client.execute(statement)


def _chunks(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]


def _vertex_row(vertex: Vertex) -> dict[str, Any]:
    row = vertex_row(vertex)
    row["aliases"] = json.dumps(row["aliases"], ensure_ascii=False)
    if row["labels"] is not None:
        row["labels"] = labels_text(row["labels"])
    return {**row, "doc_key": vertex_id(vertex.doc)}


def _typed_column(name: str, value: Any) -> tuple[str, Any]:
    if isinstance(value, str):
        return property_name("s", name), nfc(value)
    if is_number(value):
        return property_name("n", name), float(value)
    return property_name("o", name), True


def _few_groups(
    groups: dict[tuple[str, ...], list[dict[str, Any]]],
) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """Rows by their columns; very many groups are sent as one with all columns."""
    if len(groups) <= MAX_GROUPS:
        return groups
    columns = tuple(sorted({column for names in groups for column in names}))
    return {columns: [row for rows in groups.values() for row in rows]}


def _link_row(link: Link) -> dict[str, Any]:
    return {**link_row(link), "origin_key": ngql.helper_id("origin", link.origin)}


def _to_vertex(columns: Sequence[str], row: Sequence[Any]) -> Vertex:
    found = named(columns, row)
    for column in ("aliases", "labels"):
        if found[column] is not None:
            found[column] = json.loads(found[column])
    return row_vertex(found)
