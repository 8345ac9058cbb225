"""What a statement runs in, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .errors import NebulaSemanticError
from .storage import Space


@dataclass
class Table:
    """Rows with named columns: what a statement answers."""

    columns: list[str] = field(default_factory=list)
    rows: list[list[Any]] = field(default_factory=list)


@dataclass
class Session:
    """What a statement runs in."""

    spaces: dict[str, Space]
    current: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, Table] = field(default_factory=dict)

    @property
    def space(self) -> Space:
        if self.current not in self.spaces:
            raise NebulaSemanticError("Space was not chosen.")
        return self.spaces[self.current]


Run = Callable[[Session], Table]
