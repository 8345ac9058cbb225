"""What a reader gives back: nodes with their place, and scores."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, overload

from llama_index_semxpath.node_parser.serialize import node_to_dict
from llama_index_semxpath.tree.node import TreeNode

#: Stands in a path for the title of a section that the reader may not see.
HIDDEN_TITLE = "…"


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node as a reader sees it, with its place in the corpus.

    Args:
        node: The node.
        path: Titles of the sections around it, outermost first, a section's own title included.
        xpath: Canonical absolute path, such as ``/Document[1]/Section[2]/Paragraph[1]``.
    """

    node: TreeNode
    path: tuple[str, ...]
    xpath: str

    @property
    def id(self) -> str:
        """Node id."""
        return self.node.id

    @property
    def kind(self) -> str:
        """Kind of the node."""
        return self.node.kind

    @property
    def text(self) -> str:
        """Own text."""
        return self.node.text

    @property
    def document(self) -> str:
        """Id of the document; ``""`` for an entity."""
        return self.node.doc

    def to_dict(self) -> dict[str, Any]:
        """The node as JSON values."""
        attributes = {key: json_value(value) for key, value in self.node.attributes.items()}
        return {**node_to_dict(self.node, self.path, self.xpath), "attributes": attributes}


@dataclass(frozen=True, slots=True, repr=False)
class Match:
    """A node that a query or search found.

    Args:
        view: The node in its place.
        score: In [0, 1]; 1 where nothing was graded.
        why: Scores by predicate or retriever.
    """

    view: NodeView
    score: float = 1.0
    why: Mapping[str, float] = field(default_factory=dict)

    @property
    def node(self) -> TreeNode:
        """The node itself."""
        return self.view.node

    @property
    def id(self) -> str:
        """Node id."""
        return self.view.node.id

    @property
    def kind(self) -> str:
        """Kind of the node."""
        return self.view.node.kind

    @property
    def text(self) -> str:
        """Own text."""
        return self.view.node.text

    @property
    def title(self) -> str | None:
        """Heading, for a section or document."""
        return self.view.node.title

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes with the types they were given."""
        return self.view.node.attributes

    @property
    def path(self) -> tuple[str, ...]:
        """Titles of the sections around it, outermost first."""
        return self.view.path

    @property
    def xpath(self) -> str:
        """Canonical absolute path."""
        return self.view.xpath

    @property
    def document(self) -> str:
        """Id of the document; ``""`` for an entity."""
        return self.view.node.doc

    def __repr__(self) -> str:
        display = import_module("llama_index_semxpath.display")
        lines = display.match_lines(1, self.to_dict(), display.Style(color=False), lines=2)
        return "\n".join(line[5:] for line in lines)

    def _repr_html_(self) -> str:
        display = import_module("llama_index_semxpath.display")
        return str(display.matches_html([self.to_dict()]))

    def to_dict(self) -> dict[str, Any]:
        """The match as JSON values."""
        return {
            **self.view.to_dict(),
            "score": self.score,
            "document": self.document,
            "why": dict(self.why),
        }


class QueryResult(Sequence[Match]):
    """Matches in the order of the query: by score where it grades, else in document order.

    Args:
        matches: The matches.
        query: The query as it was asked.
        value: What a query gives that does not end in nodes: a number, string, boolean, list of
            attribute values, or groups as ``{"key", "count", "nodes"}``.
        plan: How it ran; it prints as text.
        trace: Nodes kept and dropped by each step, when asked for.
    """

    def __init__(
        self,
        matches: Sequence[Match],
        *,
        query: str = "",
        value: Any = None,
        plan: Any = None,
        trace: Any = None,
    ) -> None:
        self._matches = list(matches)
        self.query = query
        self.value = value
        self.plan = plan
        self.trace = trace

    @overload
    def __getitem__(self, index: int) -> Match: ...
    @overload
    def __getitem__(self, index: slice) -> QueryResult: ...
    def __getitem__(self, index: int | slice) -> Match | QueryResult:
        if isinstance(index, slice):
            return QueryResult(
                self._matches[index],
                query=self.query,
                value=self.value,
                plan=self.plan,
                trace=self.trace,
            )
        return self._matches[index]

    def __len__(self) -> int:
        return len(self._matches)

    def __iter__(self) -> Iterator[Match]:
        return iter(self._matches)

    @property
    def ids(self) -> list[str]:
        """Ids of the matched nodes."""
        return [match.id for match in self._matches]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values: ``results``, ``value``, and ``plan`` and ``trace`` if any."""
        result: dict[str, Any] = {"results": [match.to_dict() for match in self._matches]}
        if self.value is not None:
            result["value"] = json_value(self.value)
        for name in ("plan", "trace"):
            part = getattr(self, name)
            if part is not None:
                result[name] = part.to_dict() if hasattr(part, "to_dict") else str(part)
        return result

    def __repr__(self) -> str:
        if self.value is not None:
            return repr(json_value(self.value))
        display = import_module("llama_index_semxpath.display")
        return str(
            display.matches_text([m.to_dict() for m in self._matches], display.Style(color=False))
        )

    def _repr_html_(self) -> str:
        display = import_module("llama_index_semxpath.display")
        dicts = [match.to_dict() for match in self._matches]
        folded = {
            name: part._repr_html_()
            for name, part in (("plan", self.plan), ("trace", self.trace))
            if hasattr(part, "_repr_html_")
        }
        value = json_value(self.value)
        return str(display.result_html(dicts, query=self.query, value=value, parts=folded))


def json_value(value: Any) -> Any:
    """A value as JSON can hold it: dates in ISO 8601, NaN and infinities as ``None``.

    Example:
        >>> json_value({"day": dt.date(2031, 3, 1), "share": float("nan")})
        {'day': '2031-03-01', 'share': None}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (dt.date, dt.datetime)):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {key: json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(item) for item in value]
    return value
