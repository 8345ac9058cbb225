"""Spaces with their schema, vertices and edges, in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from nebula3.common.ttypes import ErrorCode

from .errors import NebulaExecutionError, NebulaSemanticError
from .values import Edge, Vertex, is_number

#: Types that can be declared, without values: the package declares none of them.
TIMES = ("date", "time", "datetime")
TYPES = ("double", "float", "bool", "string", "fixed_string")
#: Seconds of a timestamp: its nanoseconds are a 64-bit number.
_LAST_TIMESTAMP = 9_223_372_036
INTEGERS = {"int": 64, "int64": 64, "int32": 32, "int16": 16, "int8": 8, "timestamp": 64}


@dataclass(frozen=True)
class Property:
    """A property of a tag or edge type."""

    name: str
    type: str
    length: int | None = None
    nullable: bool = True
    default: Any = None
    has_default: bool = False

    def check(self, value: Any) -> Any:
        """The value as it is stored.

        Raises:
            NebulaExecutionError: It is of another type, out of range, or NULL where that is barred.
        """
        if value is None:
            if not self.nullable:
                raise NebulaExecutionError(
                    f"Storage Error: The not null field cannot be null. ({self.name})"
                )
            return None
        if self.type in TIMES:
            raise NotImplementedError(f"the emulator has no values of type {self.type}")
        if self.type in INTEGERS and is_number(value) and float(value).is_integer():
            bits = INTEGERS[self.type]
            if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
                raise NebulaExecutionError("Storage Error: Out of range value.")
            if self.type == "timestamp" and not 0 <= value <= _LAST_TIMESTAMP:
                raise NebulaExecutionError("Storage Error: Out of range value.")
            return int(value)
        if self.type in ("double", "float") and is_number(value):
            return float(value)
        if self.type == "bool" and isinstance(value, bool):
            return value
        if self.type == "string" and isinstance(value, str):
            return value
        if self.type == "fixed_string" and isinstance(value, str):
            # The server cuts a fixed string to its length in bytes.
            return value.encode()[: self.length].decode("utf-8", "ignore")
        raise NebulaExecutionError(
            "Storage Error: The data type does not meet the requirements. "
            "Use the correct type of data."
        )


@dataclass
class Schema:
    """A tag or an edge type."""

    name: str
    properties: dict[str, Property] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)

    def row(self, names: list[str] | None, values: list[Any]) -> dict[str, Any]:
        """Properties from a row of values, defaults filled in."""
        names = list(self.properties) if names is None else names
        if len(names) != len(values):
            raise NebulaSemanticError("Column count doesn't match value count.")
        given: dict[str, Any] = {}
        for name, value in zip(names, values, strict=True):
            if name not in self.properties:
                raise NebulaSemanticError(f"Unknown column `{name}' in schema")
            given[name] = self.properties[name].check(value)
        for name, prop in self.properties.items():
            if name in given:
                continue
            if not prop.has_default and not prop.nullable:
                raise NebulaExecutionError(
                    "Storage Error: The not null field doesn't have a default value."
                )
            given[name] = prop.default
        return {name: given[name] for name in self.properties}


@dataclass
class Index:
    """An index on a tag or edge type."""

    name: str
    schema: str
    fields: list[str]


@dataclass
class Space:
    """One space: what ``USE`` chooses."""

    name: str
    vid_type: str
    options: dict[str, Any] = field(default_factory=dict)
    tags: dict[str, Schema] = field(default_factory=dict)
    edge_types: dict[str, Schema] = field(default_factory=dict)
    tag_indexes: dict[str, Index] = field(default_factory=dict)
    edge_indexes: dict[str, Index] = field(default_factory=dict)
    vertices: dict[Any, dict[str, dict[str, Any]]] = field(default_factory=dict)
    out: dict[Any, dict[tuple[str, int, Any], dict[str, Any]]] = field(default_factory=dict)
    into: dict[Any, dict[tuple[str, int, Any], None]] = field(default_factory=dict)

    def check_vid(self, vid: Any) -> Any:
        """The vertex id, if it fits the space."""
        if self.vid_type == "INT64":
            if isinstance(vid, bool) or not isinstance(vid, int):
                raise NebulaExecutionError("Vid should be an integer")
            return vid
        length = int(re.findall(r"\d+", self.vid_type)[0])
        if not isinstance(vid, str):
            raise NebulaSemanticError("Vid should be a string")
        if len(vid.encode()) > length:
            raise NebulaExecutionError(
                "Storage Error: The VID must be a 64-bit integer or a string fitting "
                "space vertex id length limit.",
                ErrorCode.E_EXECUTION_ERROR,
            )
        return vid

    def tag(self, name: str) -> Schema:
        if name not in self.tags:
            raise NebulaSemanticError(f"TagNotFound: TagName `{name}`")
        return self.tags[name]

    def edge_type(self, name: str) -> Schema:
        if name not in self.edge_types:
            raise NebulaSemanticError(f"EdgeNotFound: EdgeName `{name}`")
        return self.edge_types[name]

    def vertex(self, vid: Any) -> Vertex | None:
        """A vertex with all of its tags."""
        tags = self.vertices.get(vid)
        return None if tags is None else Vertex(vid, tags)

    def add_edge(self, src: Any, name: str, rank: int, dst: Any, props: dict[str, Any]) -> None:
        self.out.setdefault(src, {})[(name, rank, dst)] = props
        self.into.setdefault(dst, {})[(name, rank, src)] = None

    def drop_edge(self, src: Any, name: str, rank: int, dst: Any) -> None:
        self.out.get(src, {}).pop((name, rank, dst), None)
        self.into.get(dst, {}).pop((name, rank, src), None)

    def edges(self, vid: Any, names: list[str], way: str) -> Iterator[Edge]:
        """Edges at a vertex; ``way`` is ``out``, ``in`` or ``both``."""
        if way in ("out", "both"):
            for (name, rank, dst), props in list(self.out.get(vid, {}).items()):
                if name in names:
                    yield Edge(vid, dst, name, rank, props)
        if way in ("in", "both"):
            for name, rank, src in list(self.into.get(vid, {})):
                if name in names:
                    props = self.out[src][(name, rank, vid)]
                    yield Edge(vid, src, name, rank, props, reverse=True)

    def all_edges(self, name: str) -> Iterator[Edge]:
        for src, edges in list(self.out.items()):
            for (found, rank, dst), props in list(edges.items()):
                if found == name:
                    yield Edge(src, dst, name, rank, props)

    def drop_vertex(self, vid: Any, *, with_edges: bool) -> None:
        self.vertices.pop(vid, None)
        if with_edges:
            for name, rank, dst in list(self.out.get(vid, {})):
                self.drop_edge(vid, name, rank, dst)
            for name, rank, src in list(self.into.get(vid, {})):
                self.drop_edge(src, name, rank, vid)
