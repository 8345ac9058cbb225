"""Relations between nodes, looked up by row in either direction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from llama_index_semxpath.tree.columns import Rows
from llama_index_semxpath.tree.node import Value


@dataclass(frozen=True, slots=True)
class Edge:
    """A directed relation between two nodes.

    Args:
        source: Id of the node it starts from.
        name: Name of the relation, as ``rel::NAME`` reads it.
        target: Id of the node it ends at.
        properties: What is known about the relation itself.

    Example:
        >>> Edge("c", "SIGNED_BY", "p").name
        'SIGNED_BY'
    """

    source: str
    name: str
    target: str
    properties: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Adjacency:
    """Compressed sparse rows: the neighbours of row ``i`` are ``rows[starts[i]:starts[i + 1]]``.

    Neighbours are distinct and in document order.
    """

    starts: np.ndarray[Any, np.dtype[np.int64]]
    rows: Rows

    @classmethod
    def build(cls, size: int, sources: Rows, targets: Rows) -> Adjacency:
        """Groups pairs of rows by their source; repeated pairs count once."""
        keys = np.unique(sources.astype(np.int64) * size + targets)
        starts = np.searchsorted(keys, np.arange(size + 1, dtype=np.int64) * size)
        return cls(starts.astype(np.int64), (keys % max(size, 1)).astype(np.int32))


class EdgeTable:
    """All relations of a corpus by id; a :class:`TreeTable` resolves them to rows when asked.

    Ids rather than rows, so that replacing a document leaves the relations of all others as they
    are. A relation whose source or target is no row of the tree leads nowhere.
    """

    __slots__ = ("names", "sources", "targets")

    def __init__(self, names: list[str], sources: list[str], targets: list[str]) -> None:
        self.names = names
        self.sources = sources
        self.targets = targets

    @classmethod
    def from_edges(cls, edges: Iterable[Edge]) -> EdgeTable:
        """Collects edges; their properties stay in the catalog."""
        table = cls([], [], [])
        for edge in edges:
            table.names.append(edge.name)
            table.sources.append(edge.source)
            table.targets.append(edge.target)
        return table

    def __len__(self) -> int:
        return len(self.names)

    def pairs(self, position: Callable[[str], int | None]) -> dict[str, tuple[Rows, Rows]]:
        """Source and target rows by relation name."""
        found: dict[str, tuple[list[int], list[int]]] = {}
        for name, source, target in zip(self.names, self.sources, self.targets, strict=True):
            a, b = position(source), position(target)
            ends = found.setdefault(name, ([], []))
            if a is not None and b is not None:
                ends[0].append(a)
                ends[1].append(b)
        return {
            name: (np.array(a, dtype=np.int32), np.array(b, dtype=np.int32))
            for name, (a, b) in found.items()
        }
