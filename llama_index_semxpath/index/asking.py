"""The questions that an index answers: those of its reader, with twins that do not block."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from llama_index_semxpath.index.access import Principal
from llama_index_semxpath.index.match import Match, QueryResult
from llama_index_semxpath.index.reader import Reader
from llama_index_semxpath.index.rows import StoredDocument
from llama_index_semxpath.node_parser.summaries import Summary
from llama_index_semxpath.tree.table import TreeTable

if TYPE_CHECKING:
    from llama_index_semxpath.display import TreeView


class Asking:
    """Passes questions on to a reader, see :class:`Reader`.

    Args:
        reader: The reader.
    """

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def query(
        self,
        query: str,
        *,
        top_k: int | None = None,
        params: Mapping[str, Any] | None = None,
        principal: Principal = None,
        trace: bool = False,
    ) -> QueryResult:
        """Runs SemXPath; see :meth:`Reader.query`."""
        return self.reader.query(
            query, top_k=top_k, params=params, principal=principal, trace=trace
        )

    async def aquery(self, query: str, **options: Any) -> QueryResult:
        """Runs SemXPath without blocking the event loop; takes what :meth:`query` takes."""
        return await asyncio.to_thread(self.query, query, **options)

    def explain(
        self,
        query: str,
        *,
        params: Mapping[str, Any] | None = None,
        principal: Principal = None,
    ) -> Any:
        """How a query runs; see :meth:`Reader.explain`."""
        return self.reader.explain(query, params=params, principal=principal)

    async def aexplain(self, query: str, **options: Any) -> Any:
        """:meth:`explain` without blocking the event loop."""
        return await asyncio.to_thread(self.explain, query, **options)

    def schema(self, principal: Principal = None) -> Any:
        """Kinds, attributes and relations of what the principal may read."""
        return self.reader.schema(principal)

    async def aschema(self, principal: Principal = None) -> Any:
        """:meth:`schema` without blocking the event loop."""
        return await asyncio.to_thread(self.schema, principal)

    def semantic_search(self, text: str, **options: Any) -> list[Match]:
        """Nodes nearest in meaning; see :meth:`Reader.semantic_search`."""
        return self.reader.semantic_search(text, **options)

    async def asemantic_search(self, text: str, **options: Any) -> list[Match]:
        """:meth:`semantic_search` without blocking the event loop."""
        return await asyncio.to_thread(self.semantic_search, text, **options)

    def keyword_search(self, text: str, **options: Any) -> list[Match]:
        """Nodes with the words of a text; see :meth:`Reader.keyword_search`."""
        return self.reader.keyword_search(text, **options)

    async def akeyword_search(self, text: str, **options: Any) -> list[Match]:
        """:meth:`keyword_search` without blocking the event loop."""
        return await asyncio.to_thread(self.keyword_search, text, **options)

    def node(self, id_: str, principal: Principal = None) -> Match | None:
        """One node, ``None`` where there is none that the principal may read."""
        return self.reader.node(id_, principal)

    def nodes(self, ids: Sequence[str], principal: Principal = None) -> list[Match]:
        """The nodes with these ids that the principal may read."""
        return self.reader.nodes(ids, principal)

    def subtree(self, id_: str, principal: Principal = None) -> list[Match]:
        """A node and its descendants that the principal may read."""
        return self.reader.subtree(id_, principal)

    def summary(self, id_: str, principal: Principal = None) -> Summary | None:
        """What a section or document is about; see :meth:`Reader.summary`."""
        return self.reader.summary(id_, principal)

    async def asummary(self, id_: str, principal: Principal = None) -> Summary | None:
        """:meth:`summary` without blocking the event loop."""
        return await asyncio.to_thread(self.summary, id_, principal)

    def documents(self, principal: Principal = None) -> list[StoredDocument]:
        """The documents whose root the principal may read, in the order added."""
        return self.reader.documents(principal)

    def show(self, id_: str, principal: Principal = None) -> TreeView:
        """A document or node with all below it, to print or to unfold in Jupyter.

        Args:
            id_: Id of a document or node.
            principal: Labels of who asks.

        Raises:
            UnknownDocumentError: There is none that the principal may read.
        """
        nodes = self.subtree(id_, principal) or self.reader.document(id_, principal)
        view: Callable[..., TreeView] = import_module("llama_index_semxpath.display").TreeView
        return view([match.to_dict() for match in nodes])

    @property
    def table(self) -> TreeTable:
        """The whole store as columns."""
        return self.reader.table
