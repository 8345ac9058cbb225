"""Functions of nGQL, and what a dot finds in a value."""

from __future__ import annotations

import datetime as dt
import functools
import math
import operator
import time
import zlib
from collections.abc import Callable
from typing import Any

from .values import (
    BAD_TYPE,
    EMPTY,
    UNKNOWN_PROP,
    Edge,
    Vertex,
    freeze,
    is_null,
    is_number,
    sort_key,
)

Scope = dict[str, Any]
BITS: dict[str, Callable[[int, int], int]] = {
    "bit_and": operator.and_,
    "bit_or": operator.or_,
    "bit_xor": operator.xor,
}
AGGREGATES = {"count", "sum", "avg", "min", "max", "collect", "std", *BITS}


def member(value: Any, name: str) -> Any:
    """``value.name``: a map's entry, a vertex's tag, an edge's property."""
    if isinstance(value, dict):
        return value.get(name, UNKNOWN_PROP)
    if isinstance(value, Vertex):
        # What MATCH bound to a name has no such tag: NULL; an end of an edge: EMPTY.
        return value.tags.get(name, None if value.bound else EMPTY)
    if isinstance(value, Edge):
        special = {
            "_src": value.src,
            "_dst": value.dst,
            "_rank": value.rank,
            "_type": zlib.crc32(value.name.encode()) >> 1,
        }
        return special.get(name, value.props.get(name, UNKNOWN_PROP))
    if value is EMPTY:
        return EMPTY
    return None if is_null(value) else BAD_TYPE


def aggregate(
    name: str, argument: Callable[[Scope], Any], distinct: bool
) -> Callable[[list[Scope]], Any]:
    """An aggregate function over the rows of a group; NULL and EMPTY do not count."""

    def over(rows: list[Scope]) -> Any:
        values = [argument(row) for row in rows]
        values = [v for v in values if not is_null(v) and v is not EMPTY]
        if distinct:
            values = list({freeze(v): v for v in values}.values())
        if name == "count":
            return len(values)
        if name == "collect":
            return values
        if not values:
            return 0 if name in ("sum", *BITS) else None
        if name in ("min", "max"):
            return (min if name == "min" else max)(values, key=sort_key)
        if name in BITS:
            whole = all(isinstance(v, int) and not isinstance(v, bool) for v in values)
            return functools.reduce(BITS[name], values) if whole else BAD_TYPE
        if not all(map(is_number, values)):
            return BAD_TYPE
        if name == "sum":
            return sum(values)
        mean = sum(values) / len(values)
        if name == "avg":
            return mean
        return math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))

    return over


def _vid(value: Any) -> Any:
    if isinstance(value, Vertex):
        return value.vid
    return value if is_null(value) or value is EMPTY else BAD_TYPE


def _of_edge(name: str) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        if not isinstance(value, Edge):
            return value if is_null(value) else BAD_TYPE
        if value.reverse and name in ("src", "dst"):
            return value.dst if name == "src" else value.src
        return {"src": value.src, "dst": value.dst, "rank": value.rank, "type": value.name}[name]

    return apply


def _properties(value: Any) -> Any:
    if isinstance(value, Vertex):
        return {k: v for props in value.tags.values() for k, v in props.items()}
    if isinstance(value, Edge):
        return dict(value.props)
    return dict(value) if isinstance(value, dict) else value if is_null(value) else BAD_TYPE


def _on_string(apply: Callable[[str], Any]) -> Callable[[Any], Any]:
    return lambda v: apply(v) if isinstance(v, str) else (None if is_null(v) else BAD_TYPE)


def timestamp(value: Any = None) -> Any:
    """Seconds since 1970; of a text in UTC, as the server without a zone of its own."""
    if value is None:
        return int(time.time())
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str):
        return BAD_TYPE
    try:
        at = dt.datetime.fromisoformat(value)
    except ValueError:
        return None
    return int(at.replace(tzinfo=at.tzinfo or dt.UTC).timestamp())


def _no_number(value: Any) -> Any:
    return None if is_null(value) else BAD_TYPE


def _integer(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return int(float(value))
        except ValueError:
            return None
    return int(value) if is_number(value) else BAD_TYPE


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "timestamp": timestamp,
    "now": timestamp,
    "tointeger": _integer,
    "floor": lambda v: float(math.floor(v)) if is_number(v) else _no_number(v),
    "ceil": lambda v: float(math.ceil(v)) if is_number(v) else _no_number(v),
    "id": _vid,
    "src": _of_edge("src"),
    "dst": _of_edge("dst"),
    "rank": _of_edge("rank"),
    "type": _of_edge("type"),
    "typeid": _of_edge("type"),
    "properties": _properties,
    "tags": lambda v: sorted(v.tags) if isinstance(v, Vertex) else BAD_TYPE,
    "labels": lambda v: sorted(v.tags) if isinstance(v, Vertex) else BAD_TYPE,
    "lower": _on_string(str.lower),
    "upper": _on_string(str.upper),
    "tolower": _on_string(str.lower),
    "toupper": _on_string(str.upper),
    "length": _on_string(lambda s: len(s.encode())),
    "size": lambda v: len(v) if isinstance(v, (list, dict, str)) else BAD_TYPE,
    "abs": lambda v: abs(v) if is_number(v) else BAD_TYPE,
    "coalesce": lambda *vs: next((v for v in vs if not is_null(v)), None),
}
