"""``vec_distance_cosine`` in SQL: by sqlite-vec where it can be loaded, else by NumPy."""

from __future__ import annotations

import sqlite3
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec

import numpy as np

from llama_index_semxpath.index.embedding import Vector


def add_vector_functions(connection: sqlite3.Connection) -> str:
    """Makes the function known to a connection.

    A build of Python may leave out SQLite's extensions; there, NumPy computes the same.

    Returns:
        ``sqlite-vec`` or ``numpy``.
    """
    if hasattr(connection, "enable_load_extension") and find_spec("sqlite_vec") is not None:
        connection.enable_load_extension(True)
        import_module("sqlite_vec").load(connection)
        connection.enable_load_extension(False)
        return "sqlite-vec"
    connection.create_function("vec_distance_cosine", 2, cosine_distance, deterministic=True)
    return "numpy"


def cosine_distance(one: bytes, other: bytes) -> float | None:
    """1 less the cosine of two float32 vectors; ``None`` where one is zero.

    Example:
        >>> right, up = (np.array(v, np.float32).tobytes() for v in ([1, 0], [0, 2]))
        >>> cosine_distance(right, up), cosine_distance(up, up)
        (1.0, 0.0)
    """
    a, b = np.frombuffer(one, np.float32), _unit(other)
    length = float(np.sqrt(a @ a))
    return None if b is None or not length else 1.0 - float(a @ b) / length


@lru_cache(maxsize=8)
def _unit(data: bytes) -> Vector | None:
    vector = np.frombuffer(data, np.float32)
    length = float(np.sqrt(vector @ vector))
    return None if not length else (vector / length).astype(np.float32)
