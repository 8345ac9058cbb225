"""A node to be written, with what stands below it, before it has an id or a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Record:
    """A node to be written.

    Args:
        kind: Kind of the node, any Unicode name (``Task``, ``偏好`` …).
        text: Its own text.
        attributes: Values by name; a value of ``None`` is left out.
        children: Nodes below it.
        labels: Access labels; ``None`` inherits those of the place it is put in.
        id: Id of the node; ``None`` makes one from place and content.

    Example:
        >>> Record("Day", attributes={"index": 1}, children=[Record("POI", "Harbour")]).size
        2
    """

    kind: str
    text: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    children: Sequence[Record] = ()
    labels: frozenset[str] | None = None
    id: str | None = None

    @property
    def size(self) -> int:
        """Count of the nodes, the record itself included."""
        count, todo = 0, [self]
        while todo:
            record = todo.pop()
            count += 1
            todo.extend(record.children)
        return count
