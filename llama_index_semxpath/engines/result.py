"""What an engine gives back."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

import numpy as np

from llama_index_semxpath.tree.columns import Floats, Rows
from llama_index_semxpath.xpath.explain import Trace
from llama_index_semxpath.xpath.plan import Plan


@dataclass(frozen=True, slots=True)
class Group:
    """One row of ``group(path, key)``.

    Args:
        key: The common key, as its type.
        count: Number of nodes.
        positions: Rows of the nodes, in document order.
    """

    key: str | float | bool
    count: int
    positions: Rows


#: What a query that does not end in nodes gives.
Answer = float | str | bool | dt.date | list[str] | list[Group]


@dataclass(slots=True)
class Evaluation:
    """Nodes with scores, or a value.

    Args:
        positions: Rows of the table (the whole one, not the reader's view), best first when the
            query grades, else in document order.
        scores: One score a position, in [0, 1]; 1 where nothing was graded.
        why: Names of the graded predicates and, beside ``positions``, each one's scores (NaN where
            it was not asked about that node).
        value: The number, string, boolean, list of attribute values or groups of a query that does
            not end in nodes; else ``None``.
        graded: Whether the query has a graded part, so that ``positions`` come best first.
        plan: How it ran.
        trace: Nodes kept and dropped, when asked for.
    """

    positions: Rows
    scores: Floats
    plan: Plan
    why: dict[str, Floats] = field(default_factory=dict)
    value: Answer | None = None
    graded: bool = False
    trace: Trace | None = None

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def is_value(self) -> bool:
        """Whether the query gave a value rather than nodes."""
        return self.value is not None

    def head(self, count: int | None) -> Evaluation:
        """The first ``count`` results: nodes, values or groups."""
        value = self.value
        length = max(len(self.positions), len(value) if isinstance(value, list) else 0)
        if count is None or count >= length:
            return self
        return Evaluation(
            self.positions[:count],
            self.scores[:count],
            self.plan,
            {name: scores[:count] for name, scores in self.why.items()},
            value[:count] if isinstance(value, list) else value,
            self.graded,
            self.trace,
        )


def no_rows() -> Rows:
    """An empty set of rows."""
    return np.empty(0, dtype=np.int32)
