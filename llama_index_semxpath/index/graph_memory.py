"""The property graph in memory: for tests, notebooks and small stores."""

from __future__ import annotations

import copy
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.codec import decode_attributes, encode_attributes
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


class MemoryGraph(Graph):
    """A :class:`Graph` in dictionaries, with the same behaviour as the ones on disk.

    Example:
        >>> graph = MemoryGraph()
        >>> _ = graph.put([Vertex("a", "Person", "entity"), Vertex("b", "Person", "entity")])
        >>> graph.put_links([Link("a", "KNOWS", "b")])
        >>> graph.remove(["a"])
        >>> graph.counts()
        (1, 0)
    """

    def __init__(self) -> None:
        self._vertices: dict[str, Vertex] = {}
        self._links: dict[LinkKey, Link] = {}
        self._ends: dict[Direction, defaultdict[str, set[LinkKey]]] = {
            "out": defaultdict(set),
            "in": defaultdict(set),
        }
        self._lock = threading.RLock()
        self._undo: list[Callable[[], None]] | None = None

    @contextmanager
    def write(self) -> Iterator[None]:
        """A transaction: all of its writes happen, or none. It may be nested."""
        with self._lock:
            if self._undo is not None:
                yield
                return
            self._undo = []
            try:
                yield
            except BaseException:
                for step in reversed(self._undo):
                    step()
                raise
            finally:
                self._undo = None

    def put(self, vertices: Sequence[Vertex]) -> set[str]:
        """Inserts or replaces vertices; links at a replaced vertex stay."""
        for vertex in vertices:
            check_vertex(vertex)
        with self.write():
            known = {vertex.id for vertex in vertices} & self._vertices.keys()
            for vertex in vertices:
                # Through the codec: the same values as from disk (tuples come as lists).
                stored = copy.copy(vertex)
                stored.origins = {o: _kept(p) for o, p in vertex.origins.items()}
                stored.attributes = _kept(vertex.merged())
                self._set_vertex(vertex.id, stored)
            return known

    def put_links(self, links: Sequence[Link]) -> None:
        """Inserts or replaces links."""
        for link in links:
            check_link(link)
        with self.write():
            for link in links:
                for end in (link.source, link.target):
                    if end not in self._vertices:
                        raise StoreError(f"a '{link.name}' relation has no node '{end}'")
                stored = copy.copy(link)
                stored.properties = _kept(link.properties)
                self._set_link(link.key, stored)

    def remove(self, ids: Sequence[str]) -> None:
        """Removes vertices and their links, never a neighbour."""
        with self.write():
            for id_ in ids:
                self.remove_links([*self._ends["out"][id_], *self._ends["in"][id_]])
                self._set_vertex(id_, None)

    def remove_links(self, keys: Sequence[LinkKey]) -> None:
        """Removes links, never a vertex."""
        with self.write():
            for key in keys:
                self._set_link(key, None)

    def select(
        self, criteria: Criteria, *, after: str | None = None, limit: int | None = None
    ) -> list[Vertex]:
        """Matching vertices in order of id."""
        with self._lock:
            ids = self._vertices if criteria.ids is None else criteria.ids
            found = sorted(
                id_
                for id_ in ids
                if (after is None or id_ > after)
                and id_ in self._vertices
                and criteria.matches(self._vertices[id_])
            )
            return [copy.deepcopy(self._vertices[id_]) for id_ in found[:limit]]

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
        with self._lock:
            ends = self._ends[direction]
            keys = (
                self._links
                if ids is None
                else [key for id_ in set(ids) for key in ends.get(id_, ())]
            )
            found = sorted(
                key
                for key in keys
                if (names is None or key[1] in names) and (origins is None or key[3] in origins)
            )
            return [copy.deepcopy(self._links[key]) for key in found[:limit]]

    def scan(self) -> Iterator[Vertex]:
        """Every vertex in order of id, without text, properties and payload."""
        with self._lock:
            ids = sorted(self._vertices)
        for id_ in ids:
            vertex = self._vertices.get(id_)
            if vertex is not None:
                yield Vertex(
                    id=vertex.id,
                    kind=vertex.kind,
                    type=vertex.type,
                    name=vertex.name,
                    aliases=vertex.aliases,
                    doc=vertex.doc,
                    parent=vertex.parent,
                    order=vertex.order,
                    level=vertex.level,
                    labels=vertex.labels,
                    fingerprint=vertex.fingerprint,
                )

    def counts(self) -> tuple[int, int]:
        """Number of vertices and of links."""
        return len(self._vertices), len(self._links)

    def close(self) -> None:
        """Nothing is held."""

    def _set_vertex(self, id_: str, vertex: Vertex | None) -> None:
        assert self._undo is not None
        old = self._vertices.get(id_)
        self._undo.append(lambda: self._restore_vertex(id_, old))
        self._restore_vertex(id_, vertex)

    def _restore_vertex(self, id_: str, vertex: Vertex | None) -> None:
        if vertex is None:
            self._vertices.pop(id_, None)
        else:
            self._vertices[id_] = vertex

    def _set_link(self, key: LinkKey, link: Link | None) -> None:
        assert self._undo is not None
        old = self._links.get(key)
        self._undo.append(lambda: self._restore_link(key, old))
        self._restore_link(key, link)

    def _restore_link(self, key: LinkKey, link: Link | None) -> None:
        out, reached = self._ends["out"][key[0]], self._ends["in"][key[2]]
        if link is None:
            self._links.pop(key, None)
            out.discard(key)
            reached.discard(key)
        else:
            self._links[key] = link
            out.add(key)
            reached.add(key)


def _kept(values: dict[str, Any]) -> dict[str, Any]:
    return decode_attributes(encode_attributes(values, ""))
