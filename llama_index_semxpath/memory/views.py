"""A memory as it was at one of its versions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from llama_index_semxpath.errors import StoreError, UnknownNameError
from llama_index_semxpath.index.access import Principal
from llama_index_semxpath.index.history import History, When
from llama_index_semxpath.index.history_rows import Revision
from llama_index_semxpath.index.match import Match, QueryResult
from llama_index_semxpath.index.past import PastReader
from llama_index_semxpath.memory.exporting import tree_json, tree_xml
from llama_index_semxpath.schema import Schema
from llama_index_semxpath.tree.node import TreeNode

if TYPE_CHECKING:
    from llama_index_semxpath.index.reader import Reader


class MemoryView:
    """Reads one past version of a memory.

    Args:
        reader: A reader of that version.
        principal: Labels of who reads, where a call names none.
    """

    def __init__(self, reader: PastReader, principal: frozenset[str] | None = None) -> None:
        self.reader = reader
        self._principal = principal

    @property
    def revision(self) -> Revision:
        """The version that is read."""
        return self.reader.revision

    def query(
        self,
        query: str,
        *,
        params: Mapping[str, Any] | None = None,
        top_k: int | None = None,
        principal: Principal = None,
    ) -> QueryResult:
        """Runs SemXPath on that version."""
        who = self._who(principal)
        return lenient_query(self.reader, query, params=params, top_k=top_k, principal=who)

    def node(self, id_: str, principal: Principal = None) -> Match | None:
        """One node as it was, ``None`` where there was none."""
        return self.reader.node(id_, self._who(principal))

    def subtree(self, id_: str, principal: Principal = None) -> list[Match]:
        """A node and its descendants as they were, in document order."""
        return self.reader.subtree(id_, self._who(principal))

    def trees(self, principal: Principal = None) -> list[Match]:
        """Roots of all trees there were, in order."""
        return list(self.query("/*", principal=principal))

    def schema(self, principal: Principal = None) -> Schema:
        """Kinds and attributes of that version."""
        return self.reader.schema(self._who(principal))

    def to_xml(self, tree: str | None = None, principal: Principal = None) -> str:
        """A tree of that version as XML; see :meth:`StructuredMemory.to_xml`."""
        return tree_xml(self._nodes(tree, principal))

    def to_json(self, tree: str | None = None, principal: Principal = None) -> dict[str, Any]:
        """A tree of that version as plain data."""
        return tree_json(self._nodes(tree, principal))

    def _nodes(self, tree: str | None, principal: Principal) -> list[TreeNode]:
        return tree_nodes(self.reader, tree, self._who(principal))

    def _who(self, principal: Principal) -> Principal:
        return self._principal if principal is None else principal

    def __repr__(self) -> str:
        revision = self.revision
        return f"MemoryView(revision {revision.seq}, {revision.time:%Y-%m-%d %H:%M})"


def lenient_query(reader: Reader, query: str, **options: Any) -> QueryResult:
    """Runs a query in which a kind or attribute that the memory once had is no mistake.

    What was forgotten may still be asked for, and is not found; a name that the memory never had is
    an error with the nearest known names.
    """
    try:
        return reader.query(query, **options)
    except UnknownNameError as error:
        name = re.match(r"[@\s]*[`'\"]?([^\s\[\]/@=!<>~()`'\"]+)", query[error.offset :])
        if name is None or not History(reader.catalog).knew(name[1]):
            raise
        return reader.query(query, check_names=False, **options)


def tree_nodes(reader: Reader, tree: str | None, principal: Principal) -> list[TreeNode]:
    """The nodes of a tree; without a name, of the only one.

    Raises:
        StoreError: There is no such tree, or more than one and none is named.
    """
    if tree is None:
        roots: Sequence[Match] = reader.query("/*", principal=principal)
        if len(roots) != 1:
            raise StoreError(f"the memory holds {len(roots)} trees", hint="name one by its id")
        tree = roots[0].id
    nodes = [match.node for match in reader.subtree(tree, principal)]
    if not nodes:
        raise StoreError("there is no such tree", where=tree)
    return nodes


def past(reader: Reader, when: When, principal: frozenset[str] | None) -> MemoryView:
    """The view of a moment."""
    return MemoryView(PastReader(reader, History(reader.catalog).number(when)), principal)
