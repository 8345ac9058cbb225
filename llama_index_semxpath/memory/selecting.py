"""Selections in a memory whose kinds and attributes may not be there yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llama_index_semxpath.errors import UnknownNameError
from llama_index_semxpath.index.match import Match


def select(
    memory: Any,
    path: str,
    principal: frozenset[str] | None,
    params: Mapping[str, Any] | None = None,
) -> list[Match]:
    """What a path of ours selects; nothing where no node has such a kind or attribute yet.

    Args:
        memory: A memory, or a view of its past.
        path: The path; none that a person wrote, who should be told of an unknown name.
        principal: Labels of who reads.
        params: Values of ``$name``.
    """
    try:
        return list(memory.query(path, params=params, principal=principal))
    except UnknownNameError:
        return []
