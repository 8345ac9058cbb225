"""What a query asks of a graph database, before it is written in any database's language.

A database narrows: it returns at least the nodes that meet a query, with their order keys. The
exact decision stays with the reference engine, so that a result never depends on the store.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

#: Half-open range ``[low, high)`` of order keys.
KeyRange = tuple[str, str]
#: Access labels in force at a node, sorted; ``None`` where there are none.
LabelSet = tuple[str, ...] | None
Comparison = Literal["=", "<", "<=", ">", ">="]
#: The most ranges that stand in one statement; more are sent as the one range around them.
MAX_RANGES = 16


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of one attribute that a node has to meet.

    Args:
        attribute: Name of the attribute.
        op: The comparison.
        value: A string in NFC (only with ``=``) or a number.
    """

    attribute: str
    op: Comparison
    value: str | float


@dataclass(frozen=True, slots=True)
class NodeQuery:
    """Nodes by kind, place and attributes.

    Args:
        kind: The kind, ``None`` for any.
        ranges: Where the order key lies; empty for anywhere.
        conditions: Comparisons that all hold.
        labels: Access labels in force of which a node has one set; ``None`` for any.
    """

    kind: str | None = None
    ranges: tuple[KeyRange, ...] = ()
    conditions: tuple[Condition, ...] = ()
    labels: tuple[LabelSet, ...] | None = None


@dataclass(frozen=True, slots=True)
class HopQuery:
    """Nodes one step of a relation away.

    Args:
        ids: Ids of the nodes to start from.
        relation: Name of the relation.
        inverse: Whether to go against its direction.
        labels: As in :class:`NodeQuery`, of the nodes reached.
    """

    ids: tuple[str, ...]
    relation: str
    inverse: bool = False
    labels: tuple[LabelSet, ...] | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """Query text and the values that travel beside it.

    Args:
        text: The text; nothing in it comes from a user.
        parameters: Values by ``$name``.
    """

    text: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


class Dialect(ABC):
    """Writes queries in the language of one database.

    Every statement returns rows of ``(id, order key)``.
    """

    #: Name of the database, as plans show it.
    store: str

    @abstractmethod
    def nodes(self, query: NodeQuery) -> Statement:
        """The statement of a :class:`NodeQuery`."""

    @abstractmethod
    def hop(self, query: HopQuery) -> Statement:
        """The statement of a :class:`HopQuery`."""


class Parameters:
    """Collects values and hands out their names.

    Example:
        >>> parameters = Parameters()
        >>> parameters.add("x' OR 1=1"), parameters.add(2.0), parameters.values
        ('$p0', '$p1', {'p0': "x' OR 1=1", 'p1': 2.0})
    """

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    def add(self, value: Any) -> str:
        """Keeps a value; returns the text that stands for it."""
        name = f"p{len(self.values)}"
        self.values[name] = value
        return f"${name}"


def any_of(parts: list[str]) -> str:
    """A balanced tree of alternatives: flat ones overflow the stack of some servers.

    Example:
        >>> any_of(["a", "b", "c"])
        '(a OR (b OR c))'
    """
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return f"({any_of(parts[:middle])} OR {any_of(parts[middle:])})"
