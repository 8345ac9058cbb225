"""Attribute values to JSON text and back, each with the type it had.

JSON has no dates, no NaN and no way to say that an object is not one of ours, so those are written
as tagged objects ``{"$": tag, "v": value}``. Everything else is plain JSON, which a person (or a
database's JSON functions) can read.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterable, Mapping
from enum import Enum
from hashlib import blake2b
from typing import Any

from llama_index_semxpath.errors import AttributeValueError
from llama_index_semxpath.tree.node import Value

_TAG = "$"
_MAX_DEPTH = 32
_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def check_text(text: str, what: str, where: str) -> str:
    """The text itself, when every store can hold it.

    Unpaired surrogates are not Unicode text (UTF-8 has no form for them), and NUL ends a string in
    several stores; both are refused by name rather than mangled.

    Args:
        text: The string to check.
        what: What it is, for the message (``"id"``, ``"attribute key"`` …).
        where: The node, document or key it belongs to.

    Raises:
        AttributeValueError: The text holds NUL or an unpaired surrogate.

    Example:
        >>> check_text("第五条", "id", "d")
        '第五条'
    """
    if "\x00" in text:
        raise AttributeValueError(f"{what} holds a NUL character", where=printable(where))
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise AttributeValueError(
            f"{what} holds an unpaired surrogate at character {error.start}",
            where=printable(where),
        ) from None
    return text


def searchable(text: str) -> str:
    """A form that a database can be asked for: no stored string holds an unpaired surrogate.

    Example:
        >>> searchable("a\\ud800")
        'a?'

    Raises:
        AttributeValueError: It is no string.
    """
    if not isinstance(text, str):
        raise AttributeValueError(f"a {type(text).__name__} is no id", hint="an id is a string")
    return text.encode("utf-8", "replace").decode()


def printable(text: str, limit: int = 120) -> str:
    """A short form of any string that is safe to print in a message or a log line.

    Example:
        >>> printable("a\\nb")
        'a\\\\nb'
    """
    if len(text) <= limit and text.isprintable():
        return text
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)


def encode_attributes(attributes: Mapping[str, Any], where: str) -> str:
    """JSON text of a node's attributes.

    Args:
        attributes: Keys to values: ``None``, booleans, numbers of any size, strings, dates,
            datetimes, and lists, tuples and dicts of those.
        where: The node they belong to, for messages.

    Raises:
        AttributeValueError: A value that cannot be kept; the message names its key.

    Example:
        >>> encode_attributes({"n": 5, "day": dt.date(2031, 3, 1)}, "d")
        '{"n":5,"day":{"$":"date","v":"2031-03-01"}}'
    """
    plain = {}
    for key, value in attributes.items():
        if not isinstance(key, str):
            raise AttributeValueError(
                f"attribute key {key!r} is not a string", where=printable(where)
            )
        check_text(key, "attribute key", where)
        plain[key] = _to_json(value, key, where, 0)
    return _encoder.encode(plain)


def decode_attributes(text: str) -> dict[str, Any]:
    """The attributes as they were given to :func:`encode_attributes` (tuples come as lists).

    Example:
        >>> decode_attributes('{"n":5,"day":{"$":"date","v":"2031-03-01"}}')
        {'n': 5, 'day': datetime.date(2031, 3, 1)}
    """
    values: dict[str, Any] = json.loads(text)
    if f'"{_TAG}":' in text:
        return {key: _from_json(value) for key, value in values.items()}
    return values


def query_attributes(attributes: Mapping[str, Any]) -> dict[str, Value]:
    """The flat, typed form that ``@name`` reads: nested dicts as ``size.h``, lists of strings.

    A key whose value is ``None`` is absent; an attribute written out flat wins over a nested one of
    the same dotted name.

    Example:
        >>> query_attributes({"size": {"w": 3, "h": 4}, "pair": (1, 2), "none": None})
        {'size.w': 3, 'size.h': 4, 'pair': ['1', '2']}
    """
    flat: dict[str, Value] = {}
    for key, value in attributes.items():
        if isinstance(value, Mapping):
            for path, leaf in _leaves(key, value):
                if path not in attributes:
                    flat[path] = leaf
        elif isinstance(value, (list, tuple)):
            flat[key] = [_item(item) for item in value if item is not None]
        elif value is not None:
            flat[key] = value
    return flat


def digest(*parts: str | bytes) -> bytes:
    """16 bytes that tell whether any of the parts changed."""
    pieces = []
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
        pieces.append(len(data).to_bytes(8, "big"))
        pieces.append(data)
    return blake2b(b"".join(pieces), digest_size=16).digest()


def _to_json(value: Any, key: str, where: str, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise AttributeValueError(
            f"attribute '{printable(key)}' is nested deeper than {_MAX_DEPTH} levels",
            where=printable(where),
        )
    if isinstance(value, Enum):
        value = value.value
    elif hasattr(value, "dtype") and hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()  # numpy scalars, as data frames hand them over
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        if value.isascii() and "\x00" not in value:
            return value
        return check_text(value, f"attribute '{printable(key)}'", where)
    if isinstance(value, float):
        return value if math.isfinite(value) else {_TAG: "float", "v": repr(value)}
    if isinstance(value, dt.datetime):
        return {_TAG: "datetime", "v": value.isoformat()}
    if isinstance(value, dt.date):
        return {_TAG: "date", "v": value.isoformat()}
    if isinstance(value, (list, tuple)):
        return [_to_json(item, key, where, depth + 1) for item in value]
    if isinstance(value, Mapping):
        return _object_to_json(value, key, where, depth)
    raise AttributeValueError(
        f"attribute '{printable(key)}' holds a {type(value).__name__}, which cannot be stored",
        where=printable(where),
        hint="use a string, number, boolean, date, datetime, or a list or dict of those",
    )


def _object_to_json(value: Mapping[Any, Any], key: str, where: str, depth: int) -> Any:
    plain = {}
    for name, item in value.items():
        if not isinstance(name, str):
            raise AttributeValueError(
                f"attribute '{printable(key)}' has a nested key {name!r} that is not a string",
                where=printable(where),
            )
        check_text(name, f"a nested key of attribute '{printable(key)}'", where)
        plain[name] = _to_json(item, f"{key}.{name}", where, depth + 1)
    # A user's own "$" key must not read as one of our tags.
    return {_TAG: "dict", "v": plain} if _TAG in plain else plain


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    tag = value.get(_TAG)
    if tag is None:
        return {name: _from_json(item) for name, item in value.items()}
    content = value["v"]
    if tag == "datetime":
        return dt.datetime.fromisoformat(content)
    if tag == "date":
        return dt.date.fromisoformat(content)
    if tag == "float":
        return float(content)
    return {name: _from_json(item) for name, item in content.items()}


def _leaves(prefix: str, value: Mapping[str, Any]) -> Iterable[tuple[str, Value]]:
    for key, item in value.items():
        path = f"{prefix}.{key}"
        if isinstance(item, Mapping):
            yield from _leaves(path, item)
        elif isinstance(item, (list, tuple)):
            yield path, [_item(entry) for entry in item if entry is not None]
        elif item is not None:
            yield path, item


def _item(item: Any) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, (dt.date, dt.datetime)):
        return item.isoformat()
    if isinstance(item, (dict, list, tuple)):
        return json.dumps(item, ensure_ascii=False, default=str)
    return str(item)
