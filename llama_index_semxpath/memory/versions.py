"""Versions of a memory: reading, comparing, undoing and forgetting them, and branches."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Literal, Self

from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.access import Principal
from llama_index_semxpath.index.history import NodeVersion, When, purge
from llama_index_semxpath.index.history_rows import Revision
from llama_index_semxpath.index.match import Match
from llama_index_semxpath.memory import branches
from llama_index_semxpath.memory.base import MemoryBase, done, is_path
from llama_index_semxpath.memory.changes import Change, Diff, make_diff
from llama_index_semxpath.memory.tasks import Tasks
from llama_index_semxpath.memory.views import MemoryView, past

if TYPE_CHECKING:
    pass

#: A node of the memory: its id, a match, or a SemXPath that selects it.
Target = str | Match
Place = Literal["into", "before", "after"]


def _utc_now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


class VersionedMemory(MemoryBase):
    """A memory with its past."""

    def at(self, when: When, principal: Principal = None) -> MemoryView:
        """The memory as it was at a moment.

        Args:
            when: A time; a date is its last moment in UTC; a whole number is a revision.
            principal: Labels of who reads.
        """
        return past(self.reader, when, self.who(principal))

    def version(self, number: int, principal: Principal = None) -> MemoryView:
        """The memory as a revision left it; a number below 0 counts back from the present."""
        if number < 0:
            number = self.index.catalog.version + number
        return past(self.reader, number, self.who(principal))

    def revisions(self, limit: int | None = None, tree: str | None = None) -> list[Revision]:
        """Changes, newest first.

        Args:
            limit: Most of them; ``None`` for all.
            tree: Only those of this tree.
        """
        return self.history_reader.revisions(limit, tree)

    def history(self, target: Target, principal: Principal = None) -> list[NodeVersion]:
        """All versions of a node, oldest first; versions that the principal may not read are left \
out."""
        who = self.who(principal)
        id_ = target.id if isinstance(target, Match) else target
        if isinstance(target, str) and is_path(target):
            id_ = self.one(target, who)
        found = []
        for version in self.history_reader.versions(id_):
            seen = version.node is None or past(self.reader, version.revision.seq, who).node(id_)
            if seen:
                found.append(version)
        return found if any(version.node for version in found) else []

    def diff(self, first: When, second: When | None = None, principal: Principal = None) -> Diff:
        """What separates two versions.

        Args:
            first: The first; see :meth:`at`.
            second: The second; by default the present.
            principal: Labels of who reads.
        """
        history, who = self.history_reader, self.who(principal)
        a = history.number(first)
        b = self.index.catalog.version if second is None else history.number(second)
        ids = history.between(min(a, b), max(a, b))
        views = [past(self.reader, number, who).reader for number in (a, b)]
        before, after = ({m.id: m.node for m in view.nodes(ids, who)} for view in views)
        return make_diff(a, b, [(before.get(id_), after.get(id_)) for id_ in ids])

    def purge(self, before: When | None = None) -> int:
        """Forgets for good all earlier versions, or those that ended before a time.

        Returns:
            Count of the versions of nodes that went.
        """
        from llama_index_semxpath.index.history import moment_of

        if isinstance(before, int):
            time = self.history_reader.revision(before).time
        else:
            time = self.now() if before is None else moment_of(before)
        return purge(self.index.catalog, time)

    def undo(
        self,
        revision: int | None = None,
        *,
        author: str | None = None,
        principal: Principal = None,
    ) -> Change:
        """Takes back a change, as a new version; the change itself stays in history.

        Args:
            revision: Number of the change; by default the last one.
            author: Who takes it back.
            principal: Labels of who takes it back.

        Raises:
            StoreError: A later change touched the same nodes, or there is nothing to undo.
        """
        history = self.history_reader
        number = self.index.catalog.version if revision is None else revision
        if number <= 0:
            raise StoreError("there is nothing to undo")
        history.number(number - 1)
        with self.change(
            f"undo of revision {number}", what="undo", author=author, principal=principal
        ) as edit:
            ids = history.between(number - 1, number)
            later = set(history.between(number, self.index.catalog.version)).intersection(ids)
            if later:
                raise StoreError(
                    f"{len(later)} of the nodes were changed again since",
                    where=f"revision {number}",
                    hint="undo the later changes first",
                )
            before = history.nodes(ids, number - 1)
            edit.restore({id_: before.get(id_) for id_ in ids})
        return done(edit)

    # Branches

    def branch(self, name: str) -> Self:
        """A copy of the memory to try something out in, opened again where it is there already.

        The copy holds the whole history and the same ids; what is done to it does not touch this
        memory until it is merged.

        Args:
            name: Name of the branch: 1 to 64 letters, digits, ``-`` and ``_``.

        Raises:
            StoreError: The name is none, or the catalog is no file of its own.

        Example:
            >>> import tempfile
            >>> from llama_index_semxpath.memory import StructuredMemory
            >>> folder = tempfile.TemporaryDirectory()
            >>> memory = StructuredMemory.from_defaults(folder.name, embed=False)
            >>> plan = memory.load_tree("<Plan><Day/></Plan>", id="trip")
            >>> with memory.branch("longer") as longer:
            ...     change = longer.remember({"kind": "Day"}, "trip")
            >>> len(memory.query("//Day")), memory.merge("longer").what, len(memory.query("//Day"))
            (1, 'merge longer', 2)
            >>> memory.close(); folder.cleanup()
        """
        index = branches.open_branch(self.index, name)
        return type(self)(
            index,
            author=self.author,
            clock=self.clock,
            principal=self.principal,
            embed=self.embed,
            kinds=self.kinds,
        )

    def branches(self) -> list[str]:
        """Names of the branches, sorted."""
        return branches.names(self.index)

    def drop_branch(self, name: str) -> None:
        """Deletes a branch."""
        branches.drop(self.index, name)

    def merge(
        self,
        name: str,
        *,
        prefer: Literal["branch", "main"] | None = None,
        reason: str = "",
        author: str | None = None,
        principal: Principal = None,
    ) -> Change:
        """Takes over what a branch changed since it was made, or since it was last merged.

        Args:
            name: Name of the branch.
            prefer: Whose version of a node counts that both changed; ``None`` refuses then.
            reason: Why.
            author: Who merges.
            principal: Labels of who merges.

        Raises:
            MergeConflictError: Both changed the same node; ``nodes`` has the ids.
            StoreError: There is no such branch, or a change cannot stand here.
        """
        with branches.existing(self.index, name) as branch:
            wanted = branches.difference(branch, self.index.catalog, prefer)
            with self.change(
                reason, what=f"merge {name}", author=author, principal=principal
            ) as edit:
                edit.restore(wanted)
            branches.mark_merged(branch)
        return done(edit)

    def tasks(self, principal: Principal = None) -> Tasks:
        """The registry of tasks: trees known by ``@task_id``, each with its versions."""
        return Tasks(self, self.who(principal))
