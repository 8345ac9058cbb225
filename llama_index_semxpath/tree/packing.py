"""A small self-describing byte format for named arrays and string lists (no pickle).

Layout: magic, length of a JSON header, the header, then the raw buffers in the header's order,
each aligned to 8 bytes. Reading maps arrays straight onto the buffer, so a large snapshot opens at
the speed of memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from llama_index_semxpath.errors import StoreError

_MAGIC = b"SXT1"
_ALIGN = 8
#: What :func:`pack` takes: an array, a list of strings, or something JSON can hold.
Packable = np.ndarray[Any, np.dtype[Any]] | list[str]


def pack(parts: Mapping[str, Packable], meta: Mapping[str, Any] | None = None) -> bytes:
    """Named arrays and string lists as one byte string.

    Args:
        parts: Arrays of a fixed-size type, or lists of strings.
        meta: Small JSON-able facts that travel in the header.

    Example:
        >>> parts, meta = unpack(pack({"a": np.arange(3), "s": ["x", "年"]}, {"v": 1}))
        >>> parts["a"].tolist(), parts["s"], meta
        ([0, 1, 2], ['x', '年'], {'v': 1})
    """
    entries: list[list[Any]] = []
    buffers: list[bytes] = []
    for name, part in parts.items():
        if isinstance(part, list):
            separated, data = _join(part)
            entries.append([name, "separated" if separated else "lengths", len(part), len(data)])
        else:
            data = np.ascontiguousarray(part).tobytes()
            entries.append([name, part.dtype.str, len(part), len(data)])
        buffers.append(data + b"\0" * (-len(data) % _ALIGN))
    header = json.dumps({"parts": entries, "meta": dict(meta or {})}, ensure_ascii=True).encode()
    header += b" " * (-(len(_MAGIC) + 4 + len(header)) % _ALIGN)
    return b"".join([_MAGIC, len(header).to_bytes(4, "little"), header, *buffers])


def unpack(data: bytes | memoryview) -> tuple[dict[str, Any], dict[str, Any]]:
    """The inverse of :func:`pack`; arrays are read-only views onto ``data``.

    Raises:
        StoreError: The bytes are no snapshot, or one cut short.
    """
    view = memoryview(data)
    try:
        if bytes(view[:4]) != _MAGIC:
            raise ValueError("magic")
        start = 8 + int.from_bytes(view[4:8], "little")
        header = json.loads(bytes(view[8:start]))
        parts: dict[str, Any] = {}
        for name, form, count, size in header["parts"]:
            if start + size > len(view):
                raise ValueError("cut short")
            part = view[start : start + size]
            parts[name] = _read(part, form, count)
            start += size + (-size % _ALIGN)
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            "tree snapshot is damaged", where=str(error), hint="rebuild it from the catalog"
        ) from error
    return parts, header["meta"]


def _read(part: memoryview, form: str, count: int) -> Any:
    if form == "separated":
        return str(part, "utf-8", "surrogatepass").split("\0") if count else []
    if form == "lengths":
        lengths = np.frombuffer(part[: 4 * count], dtype="<u4")
        text = str(part[4 * count :], "utf-8", "surrogatepass")
        ends = np.cumsum(lengths, dtype=np.int64).tolist()
        return [text[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    array = np.frombuffer(part, dtype=np.dtype(form))
    if len(array) != count:
        raise ValueError("array of another length")
    return array


def _join(strings: list[str]) -> tuple[bool, bytes]:
    joined = "\0".join(strings)
    # A separator splits many times faster than lengths do; it only fails on strings that hold it.
    if joined.count("\0") == max(0, len(strings) - 1):
        return True, joined.encode("utf-8", "surrogatepass")
    lengths = np.array([len(text) for text in strings], dtype="<u4").tobytes()
    return False, lengths + "".join(strings).encode("utf-8", "surrogatepass")
