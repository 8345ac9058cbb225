"""Values of nGQL and how they compare. ``None`` is NULL; other kinds of nothing are ``Nothing``."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Nothing:
    """A value that is none: ``EMPTY`` (no such tag), or a NULL that an error made."""

    name: str

    def __repr__(self) -> str:
        return self.name


EMPTY = Nothing("EMPTY")
BAD_TYPE = Nothing("BAD_TYPE")
UNKNOWN_PROP = Nothing("UNKNOWN_PROP")
OVERFLOW = Nothing("ERR_OVERFLOW")
DIV_BY_ZERO = Nothing("DIV_BY_ZERO")


@dataclass
class Vertex:
    """A vertex with the properties of its tags."""

    vid: Any
    tags: dict[str, dict[str, Any]] = field(default_factory=dict)
    bound: bool = False

    def __hash__(self) -> int:
        return hash(self.vid)


@dataclass
class Edge:
    """An edge as a walk met it: ``src`` is where the walk came from."""

    src: Any
    dst: Any
    name: str
    rank: int
    props: dict[str, Any] = field(default_factory=dict)
    reverse: bool = False

    def __hash__(self) -> int:
        return hash((self.src, self.dst, self.name, self.rank))


def is_null(value: Any) -> bool:
    """NULL of any kind, ``EMPTY`` excepted."""
    return value is None or (isinstance(value, Nothing) and value is not EMPTY)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def equal(one: Any, other: Any) -> Any:
    """``==``: NULL when either is, false between types."""
    if is_null(one) or is_null(other):
        return None
    if is_number(one) and is_number(other):
        return one == other
    return type(one) is type(other) and one == other


def less(one: Any, other: Any) -> Any:
    """``<``: a NULL between types that have no order."""
    if is_null(one) or is_null(other):
        return None
    if is_number(one) and is_number(other):
        return one < other
    if type(one) is type(other) and isinstance(one, (str, bool)):
        # The server compares bytes.
        if isinstance(one, str):
            return one.encode() < other.encode()
        return one < other
    return BAD_TYPE


_ORDER = [bool, int, float, str]


def sort_key(value: Any) -> tuple[int, Any]:
    """Total order for ``ORDER BY``: values by type, NULL last."""
    if isinstance(value, bool):
        return (1, value)
    if is_number(value):
        return (2, math.inf if value != value else value)
    if isinstance(value, str):
        return (3, value.encode())
    if isinstance(value, (Vertex, Edge)):
        return (5, repr(value))
    if isinstance(value, list):
        return (6, repr(value))
    return (9, "")


def freeze(value: Any) -> Any:
    """A hashable form that keeps types apart, for ``DISTINCT``."""
    if isinstance(value, list):
        return ("list", tuple(map(freeze, value)))
    if isinstance(value, dict):
        return ("map", tuple(sorted((k, freeze(v)) for k, v in value.items())))
    if isinstance(value, Vertex):
        return ("vertex", value.vid)
    if isinstance(value, Edge):
        ends = (value.dst, value.src) if value.reverse else (value.src, value.dst)
        return ("edge", *ends, value.name, value.rank)
    return (type(value).__name__, value)
