"""A document, or a part of it, as something to look at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from llama_index_semxpath.display.html import tree_html
from llama_index_semxpath.display.style import Style
from llama_index_semxpath.display.text import NodeDict, tree_lines


class TreeView:
    """Nodes that print as an indented tree and unfold in Jupyter.

    Args:
        nodes: Nodes of ``interface.md`` in document order.
        matched: Ids to highlight.

    Example:
        >>> TreeView([{"id": "d", "kind": "Document", "parent": None, "title": "T"}])
        Document  T
    """

    def __init__(self, nodes: Sequence[NodeDict], matched: Iterable[str] = ()) -> None:
        self.nodes = list(nodes)
        self.matched = frozenset(matched)

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return "\n".join(tree_lines(self.nodes, Style()))

    def _repr_html_(self) -> str:
        return tree_html(self.nodes, matched=self.matched)
