"""``StructuredMemory``: trees that an agent writes, revises and recalls, every version kept."""

from __future__ import annotations

import asyncio
import datetime as dt
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from llama_index_semxpath.index.access import Principal
from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.index.match import Match, QueryResult
from llama_index_semxpath.memory import editing
from llama_index_semxpath.memory.base import done, is_path
from llama_index_semxpath.memory.changes import Change
from llama_index_semxpath.memory.editing import Targets
from llama_index_semxpath.memory.exporting import tree_json, tree_xml
from llama_index_semxpath.memory.kinds import KindSpec
from llama_index_semxpath.memory.records import Record, as_record, tree_record
from llama_index_semxpath.memory.versions import VersionedMemory
from llama_index_semxpath.memory.views import lenient_query, tree_nodes
from llama_index_semxpath.schema import Schema
from llama_index_semxpath.xpath import ast, parse, parse_update, update_text
from llama_index_semxpath.xpath.update import check_update

if TYPE_CHECKING:
    from llama_index.core.tools import FunctionTool

    from llama_index_semxpath.index.base import SemXPathIndex

#: A node of the memory: its id, a match, or a SemXPath that selects it.
Target = str | Match
Place = Literal["into", "before", "after"]


def _utc_now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


class StructuredMemory(VersionedMemory):
    """Memory of an agent: trees of records with kinds of its own, addressed by SemXPath.

    Each change is a version with author, time and reason; any version can be read, compared and
    undone. Several users share one memory apart from each other by access labels.

    Args:
        index: The store that holds the memory.
        author: Who writes, where a call names nobody.
        clock: Tells the time, with a time zone. Versions never run backward: when the clock does,
            they carry the time of the version before.
        principal: Labels of who reads and writes, where a call names none; new trees get them.
        embed: Whether texts are embedded when they are written; else when they are first graded.
        kinds: Declared kinds (``KindSpec``), which whatever is written must follow; others are
            free and discovered.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> memory = StructuredMemory.from_defaults(folder.name, embed=False)
        >>> plan = memory.load_tree('<Plan><Day><POI name="Harbour"/></Day></Plan>', id="trip")
        >>> change = memory.update('insert POI(@name = "Museum") into /Plan/Day', reason="rain")
        >>> [match.attributes["name"] for match in memory.query("//POI")]
        ['Harbour', 'Museum']
        >>> len(memory.at(change.revision - 1).query("//POI")), memory.undo().reason
        (1, 'undo of revision 2')
        >>> memory.close(); folder.cleanup()
    """

    @classmethod
    def from_defaults(
        cls,
        store: StoreConfig | Path | str = "./.semxpath-memory",
        *,
        index: SemXPathIndex | None = None,
        author: str = "user",
        clock: Callable[[], dt.datetime] = _utc_now,
        principal: Principal = None,
        embed_model: Any = None,
        embed: bool = True,
        kinds: Mapping[str, KindSpec] | None = None,
        default_access: Literal["deny", "allow"] = "deny",
    ) -> StructuredMemory:
        """Opens a memory, or makes it.

        Args:
            store: A directory, in which the catalog alone holds everything; or a configuration.
            index: A store that is open already, in place of ``store``.
            author: See the class.
            clock: See the class.
            principal: See the class.
            embed_model: A LlamaIndex ``BaseEmbedding``; ``None`` for the packaged model.
            embed: See the class.
            kinds: See the class.
            default_access: Whether nodes without labels may be read where others carry some.
        """
        if index is None:
            from llama_index_semxpath.index.base import SemXPathIndex

            if not isinstance(store, StoreConfig):
                store = StoreConfig(
                    Path(store), milvus_uri="", graph="none", default_access=default_access
                )
            # Nothing of a memory is lost unless it is purged.
            store = replace(store, keep_versions=math.inf)
            index = SemXPathIndex(store, embed_model=embed_model)
            index.recover()
        return cls(index, author=author, clock=clock, principal=principal, embed=embed, kinds=kinds)

    @classmethod
    def class_name(cls) -> str:
        """Name of the class."""
        return "StructuredMemory"

    # Writing

    def remember(
        self,
        node: Record | Mapping[str, Any] | str,
        into: Target | None = None,
        *,
        where: Place = "into",
        kind: str = "Note",
        attributes: Mapping[str, Any] | None = None,
        labels: Sequence[str] | frozenset[str] | None = None,
        reason: str = "",
        author: str | None = None,
        principal: Principal = None,
    ) -> Change:
        """Writes a node with all below it.

        Args:
            node: A record, a mapping, or a text.
            into: Where: a node's id, a match or a SemXPath; ``None`` makes a new tree.
            where: Put it ``into`` that node as the last child, or ``before`` or ``after`` it.
            kind: Kind of a text.
            attributes: Attributes beside those the node brings.
            labels: Access labels; by default those of the place, for a new tree the writer's.
            reason: Why.
            author: Who writes.
            principal: Labels of who writes.

        Returns:
            The change; ``added[0]`` is the id of the node.

        Raises:
            AmbiguousTargetError: ``into`` may mean more than one node.
            StoreError: There is no such node, or nothing to remember.
        """
        own = None if labels is None else frozenset(labels)
        who = self.who(principal)
        if into is None and own is None:
            own = who
        record = as_record(node, kind, attributes, own)
        with self.change(
            reason, what=f"remember {record.kind}", author=author, principal=who
        ) as edit:
            if into is None:
                edit.add(record)
            else:
                editing.put(edit, record, where, self.one(into, who))
        return done(edit)

    def revise(
        self,
        target: Target,
        attributes: Mapping[str, Any] | None = None,
        text: str | None = None,
        *,
        kind: str | None = None,
        labels: Sequence[str] | frozenset[str] | None = None,
        reason: str = "",
        author: str | None = None,
        principal: Principal = None,
    ) -> Change:
        """Changes what one node says; the version before stays in its history.

        Args:
            target: The node: its id, a match or a SemXPath.
            attributes: New values by name; ``None`` as a value takes the attribute away.
            text: New own text.
            kind: New kind.
            labels: New access labels.
            reason: Why.
            author: Who revises.
            principal: Labels of who revises.
        """
        who = self.who(principal)
        own = None if labels is None else frozenset(labels)
        with self.change(reason, what="revise", author=author, principal=who) as edit:
            id_ = self.one(target, who)
            edit.set(id_, attributes=attributes, text=text, kind=kind, labels=own)
        return done(edit)

    def forget(
        self,
        target: Target,
        *,
        every: bool = False,
        reason: str = "",
        author: str | None = None,
        principal: Principal = None,
    ) -> Change:
        """Takes a node away with all below it; earlier versions show it until they are purged.

        Args:
            target: The node: its id, a match or a SemXPath.
            every: Forget all that the SemXPath selects, however many.
            reason: Why.
            author: Who forgets.
            principal: Labels of who forgets.
        """
        who = self.who(principal)
        with self.change(reason, what="forget", author=author, principal=who) as edit:
            if isinstance(target, str) and is_path(target):
                path = parse(target)
                found = Targets(self.reader, who).matches(path, one=not every, every=every)
                editing.remove(edit, found)
            else:
                edit.remove(self.one(target, who))
        return done(edit)

    def move(
        self,
        target: Target,
        where: Place,
        anchor: Target,
        *,
        reason: str = "",
        author: str | None = None,
        principal: Principal = None,
    ) -> Change:
        """Puts a node elsewhere with all below it; ids stay.

        Args:
            target: The node: its id, a match or a SemXPath.
            where: ``into`` the anchor as its last child, ``before`` or ``after`` it.
            anchor: Another node.
            reason: Why.
            author: Who moves it.
            principal: Labels of who moves it.
        """
        who = self.who(principal)
        with self.change(reason, what="move", author=author, principal=who) as edit:
            editing.shift(edit, [self.one(target, who)], where, self.one(anchor, who))
        return done(edit)

    def update(
        self,
        statement: str,
        *,
        params: Mapping[str, Any] | None = None,
        reason: str = "",
        author: str | None = None,
        principal: Principal = None,
    ) -> Change:
        """Runs an update statement of SemXPath.

        Args:
            statement: ``insert``, ``set``, ``replace``, ``delete`` or ``move``.
            params: Values of ``$name``: of values, and of nodes as records, mappings or texts.
            reason: Why; by default the statement.
            author: Who writes.
            principal: Labels of who writes.

        Raises:
            QueryError: The statement is wrong.
            AmbiguousTargetError: A target may mean more nodes than one; ``candidates`` has them.
            StoreError: A target selects nothing.
        """
        who = self.who(principal)
        parsed = parse_update(statement)
        node = getattr(parsed, "node", None)
        # A node given as a parameter is no value; it is checked when its record is made.
        plain = {**(params or {}), node.name: ""} if isinstance(node, ast.Param) else params
        if isinstance(node, ast.Param) and node.name not in (params or {}):
            plain = params
        parsed = check_update(parsed, params=plain, text=statement)
        what = update_text(parsed)
        with self.change(reason, what=what[:500], author=author, principal=who) as edit:
            editing.carry_out(edit, parsed, Targets(self.reader, who, params))
        return done(edit)

    def load_tree(
        self,
        source: Record | Mapping[str, Any] | str | bytes | Path,
        *,
        id: str | None = None,  # noqa: A002 - the name that the tree is known by
        labels: Sequence[str] | frozenset[str] | None = None,
        reason: str = "",
        author: str | None = None,
        principal: Principal = None,
    ) -> Change:
        """Writes a whole tree from XML, JSON or YAML, a file, plain data or a record.

        Args:
            source: The tree; see :func:`tree_record`.
            id: Id of its root, the name of the tree; by default one made from the content.
            labels: Access labels; by default the writer's.
            reason: Why.
            author: Who writes.
            principal: Labels of who writes.
        """
        record = tree_record(source)
        if id is not None:
            record = Record(
                record.kind, record.text, record.attributes, record.children, record.labels, id
            )
        return self.remember(
            record, labels=labels, reason=reason, author=author, principal=principal
        )

    # Reading

    def query(
        self,
        query: str,
        *,
        params: Mapping[str, Any] | None = None,
        top_k: int | None = None,
        principal: Principal = None,
        trace: bool = False,
    ) -> QueryResult:
        """Runs SemXPath; ``at(date, path)`` and ``version(n, path)`` read the past.

        Args:
            query: The query.
            params: Values of ``$name``.
            top_k: Most results; ``None`` for all that pass.
            principal: Labels of who asks.
            trace: Record what each step kept and dropped.
        """
        who = self.who(principal)
        return lenient_query(
            self.reader, query, params=params, top_k=top_k, principal=who, trace=trace
        )

    def node(self, id_: str, principal: Principal = None) -> Match | None:
        """One node, ``None`` where there is none that the principal may read."""
        return self.reader.node(id_, self.who(principal))

    def subtree(self, target: Target, principal: Principal = None) -> list[Match]:
        """A node and its descendants, in document order."""
        who = self.who(principal)
        return self.reader.subtree(self.one(target, who), who)

    def trees(self, principal: Principal = None) -> list[Match]:
        """Roots of all trees, in order."""
        return list(self.reader.query("/*", principal=self.who(principal)))

    def schema(self, principal: Principal = None) -> Schema:
        """Kinds and attributes of what the principal may read."""
        return self.reader.schema(self.who(principal))

    def to_xml(self, tree: str | None = None, principal: Principal = None) -> str:
        """A tree as XML.

        Args:
            tree: Id of its root, or of any node; by default the only tree.
            principal: Labels of who reads.
        """
        return tree_xml(tree_nodes(self.reader, tree, self.who(principal)))

    def to_json(self, tree: str | None = None, principal: Principal = None) -> dict[str, Any]:
        """A tree as plain data: ``kind``, ``id``, ``text``, ``attributes``, ``children``."""
        return tree_json(tree_nodes(self.reader, tree, self.who(principal)))

    # Other ways in

    def recall(self, question: str, **options: Any) -> Any:
        """What the memory holds on a question, within a budget; see :func:`recall.recall`."""
        return import_module("llama_index_semxpath.memory.recall").recall(self, question, **options)

    def learn(self, turns: Any, **options: Any) -> Any:
        """Extracts and keeps what turns of a conversation say; see :func:`writing.learn`."""
        return import_module("llama_index_semxpath.memory.writing").learn(self, turns, **options)

    def as_tools(self, principal: Principal = None, *, budget: int = 1_000) -> list[FunctionTool]:
        """Tools for an agent: ``recall``, ``remember``, ``revise`` and ``show_schema``.

        Args:
            principal: Labels of the user that the agent works for; no call can widen them.
            budget: Most tokens that one recall returns, 1 and up.
        """
        from llama_index_semxpath.memory.tools import MemoryTools

        return MemoryTools(self, principal, budget=budget).as_tools()

    # Async twins

    async def aremember(self, *args: Any, **options: Any) -> Change:
        """:meth:`remember` without blocking the event loop."""
        return await asyncio.to_thread(self.remember, *args, **options)

    async def arevise(self, *args: Any, **options: Any) -> Change:
        """:meth:`revise` without blocking the event loop."""
        return await asyncio.to_thread(self.revise, *args, **options)

    async def aforget(self, *args: Any, **options: Any) -> Change:
        """:meth:`forget` without blocking the event loop."""
        return await asyncio.to_thread(self.forget, *args, **options)

    async def amove(self, *args: Any, **options: Any) -> Change:
        """:meth:`move` without blocking the event loop."""
        return await asyncio.to_thread(self.move, *args, **options)

    async def aupdate(self, statement: str, **options: Any) -> Change:
        """:meth:`update` without blocking the event loop."""
        return await asyncio.to_thread(self.update, statement, **options)

    async def aload_tree(self, source: Any, **options: Any) -> Change:
        """:meth:`load_tree` without blocking the event loop."""
        return await asyncio.to_thread(self.load_tree, source, **options)

    async def aquery(self, query: str, **options: Any) -> QueryResult:
        """:meth:`query` without blocking the event loop."""
        return await asyncio.to_thread(self.query, query, **options)

    async def arecall(self, question: str, **options: Any) -> Any:
        """:meth:`recall` without blocking the event loop."""
        return await asyncio.to_thread(self.recall, question, **options)

    async def alearn(self, turns: Any, **options: Any) -> Any:
        """:meth:`learn` without blocking the event loop."""
        return await asyncio.to_thread(self.learn, turns, **options)
