"""The ground of a memory: its store, its clock, and changes as units of work."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, Self

from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.access import Principal, principal_labels
from llama_index_semxpath.index.edit_rows import Rights
from llama_index_semxpath.index.history import History
from llama_index_semxpath.index.history_rows import Signature
from llama_index_semxpath.index.match import Match
from llama_index_semxpath.memory.changes import Change, collected
from llama_index_semxpath.memory.editing import Edit, Targets
from llama_index_semxpath.memory.kinds import KindSpec
from llama_index_semxpath.node_parser.options import ParseOptions
from llama_index_semxpath.node_parser.tokens import token_counter
from llama_index_semxpath.xpath import ast, parse

if TYPE_CHECKING:
    from llama_index_semxpath.index.base import SemXPathIndex
    from llama_index_semxpath.index.reader import Reader

#: A node of the memory: its id, a match, or a SemXPath that selects it.
Target = str | Match
Place = Literal["into", "before", "after"]


def _utc_now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


class MemoryBase:
    """What everything else of a memory stands on; see :class:`StructuredMemory` for the arguments.

    Args:
        index: The store that holds the memory.
        author: Who writes, where a call names nobody.
        clock: Tells the time, with a time zone.
        principal: Labels of who reads and writes, where a call names none.
        embed: Whether texts are embedded when they are written.
        kinds: Declarations by kind, which whatever is written must follow.
    """

    def __init__(
        self,
        index: SemXPathIndex,
        *,
        author: str = "user",
        clock: Callable[[], dt.datetime] = _utc_now,
        principal: Principal = None,
        embed: bool = True,
        kinds: Mapping[str, KindSpec] | None = None,
    ) -> None:
        self.index = index
        self.author = author
        self.clock = clock
        self.principal = None if principal is None else principal_labels(principal)
        self.embed = embed
        self.kinds = dict(kinds or {})
        self.count_tokens = token_counter(ParseOptions())

    def close(self) -> None:
        """Closes the store."""
        self.index.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        catalog = self.index.catalog
        return (
            f"StructuredMemory('{self.index.config.store}', {len(catalog.documents())} trees, "
            f"{catalog.count_nodes()} nodes, revision {catalog.version})"
        )

    @property
    def reader(self) -> Reader:
        """Reads the present version."""
        return self.index.reader

    @property
    def history_reader(self) -> History:
        """Reads revisions and versions of nodes."""
        return History(self.index.catalog)

    def now(self) -> dt.datetime:
        """The time of a change made now: the clock's, but never before the last change.

        Raises:
            StoreError: The clock tells a time without a time zone.
        """
        now = self.clock()
        if now.tzinfo is None:
            raise StoreError("the clock tells a time without a time zone", hint="use datetime.UTC")
        last = self.history_reader.revisions(1)
        return max(now, last[0].time) if last else now

    # Writing

    @contextmanager
    def change(
        self,
        reason: str = "",
        *,
        what: str = "edit",
        author: str | None = None,
        principal: Principal = None,
        time: dt.datetime | None = None,
    ) -> Iterator[Edit]:
        """A unit of work: all edits within become one change, or none of them takes effect.

        Args:
            reason: Why.
            what: What is done, in a few words.
            author: Who does it; by default the memory's author.
            principal: Labels of who does it; by default the memory's.
            time: When; by default now.

        Raises:
            StoreLockedError: Another writer did not finish in time.

        Example:
            >>> import tempfile
            >>> from llama_index_semxpath.memory import Record, StructuredMemory
            >>> folder = tempfile.TemporaryDirectory()
            >>> memory = StructuredMemory.from_defaults(folder.name, embed=False)
            >>> with memory.change("first meeting") as edit:
            ...     rio = edit.add(Record("User", attributes={"name": "Rio"}), None)
            ...     fact = edit.add(Record("Fact", "likes tea"), rio)
            >>> edit.change.added == (rio, fact), edit.change.reason
            (True, 'first meeting')
            >>> memory.close(); folder.cleanup()
        """
        who = self.who(principal)
        signature = Signature(self.author if author is None else author, reason, what)
        writer = self.index.writer
        with writer.lock.hold():
            now = self.now() if time is None else time
            signature = Signature(signature.author, reason, what, now)
            catalog = self.index.catalog
            rights = Rights(who, catalog.labelled(), self.index.config.default_access)
            with writer.edit(
                lambda catalog_writer, keep: Edit(catalog_writer, keep, rights, self.count_tokens),
                signature,
                embed=self.embed,
            ) as edit:
                edit.kinds = self.kinds
                yield edit
            version = catalog.version
            revision = self.history_reader.revision(version)
        edit.change = Change(
            version,
            max(now, revision.time),
            signature.author,
            reason,
            what,
            **collected(edit.documents.values()),
        )

    # Inside

    def who(self, principal: Principal) -> frozenset[str] | None:
        """Labels of a principal; where a call names none, the memory's own."""
        return self.principal if principal is None else principal_labels(principal)

    def one(self, target: Target, principal: frozenset[str] | None) -> str:
        """Id of the one node that a target means."""
        if isinstance(target, Match):
            return target.id
        if not is_path(target):
            return target
        path: ast.Expr = parse(target)
        return Targets(self.reader, principal).matches(path, one=True, every=False)[0].id


def is_path(target: str) -> bool:
    """Whether a target is a SemXPath rather than an id."""
    return target.startswith(("/", "(", "id("))


def done(edit: Edit) -> Change:
    """The change that a finished unit of work made."""
    assert edit.change is not None
    return edit.change
