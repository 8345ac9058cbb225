"""The registry of tasks: trees known by ``@task_id``, each with its own count of versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.history import History
from llama_index_semxpath.index.history_rows import Revision
from llama_index_semxpath.index.match import Match
from llama_index_semxpath.memory.changes import Change, Diff
from llama_index_semxpath.memory.records import Record, tree_record
from llama_index_semxpath.memory.views import MemoryView

if TYPE_CHECKING:
    from llama_index_semxpath.memory.versions import VersionedMemory

#: Kind of the root of a task.
TASK = "Task"


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """A task as the registry lists it.

    Args:
        task_id: What it is known by.
        root: Its root node.
        versions: Changes of its tree, oldest first.
    """

    task_id: str
    root: Match
    versions: tuple[Revision, ...]


class Tasks:
    """Tasks of a memory; ``/Task[@task_id = "t1"]`` addresses one, ``/Version[2]`` its versions.

    Args:
        memory: The memory.
        principal: Labels of who asks.

    Example:
        >>> import tempfile
        >>> from llama_index_semxpath.memory import StructuredMemory
        >>> folder = tempfile.TemporaryDirectory()
        >>> memory = StructuredMemory.from_defaults(folder.name, embed=False)
        >>> change = memory.tasks().add("t1", "<Plan><Day/></Plan>", title="Trip")
        >>> change = memory.update('delete /Task[@task_id = "t1"]//Day')
        >>> [len(task.versions) for task in memory.tasks()]
        [2]
        >>> len(memory.query('/Task[@task_id = "t1"]/Version[1]//Day'))
        1
        >>> memory.close(); folder.cleanup()
    """

    def __init__(self, memory: VersionedMemory, principal: frozenset[str] | None) -> None:
        self._memory = memory
        self._principal = principal

    def __iter__(self) -> Iterator[TaskInfo]:
        roots = self._memory.reader.query("/*[@task_id]", principal=self._principal, \
            check_names=False)  # fmt: skip
        history = History(self._memory.index.catalog)
        for root in roots:
            revisions = [history.revision(seq) for seq in history.subtree_revisions(root.id)]
            yield TaskInfo(str(root.attributes["task_id"]), root, tuple(revisions))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, task_id: str) -> TaskInfo:
        for task in self:
            if task.task_id == task_id:
                return task
        raise StoreError("there is no such task", where=task_id[:100])

    def add(
        self,
        task_id: str,
        tree: Record | Mapping[str, Any] | str | bytes | Path,
        *,
        title: str = "",
        reason: str = "",
    ) -> Change:
        """Registers a task with the tree that it works on.

        Args:
            task_id: What it is to be known by; unique.
            tree: Its tree, as ``load_tree`` takes it.
            title: What it is about.
            reason: Why.

        Raises:
            StoreError: There is a task of this id.
        """
        if any(task.task_id == task_id for task in self):
            raise StoreError("there is a task of this id already", where=task_id[:100])
        values = {"task_id": task_id, "title": title or None}
        record = Record(TASK, "", values, [tree_record(tree)], self._principal)
        with self._memory.change(reason, what="new task", principal=self._principal) as edit:
            edit.add(record)
        assert edit.change is not None
        return edit.change

    def version(self, task_id: str, number: int) -> MemoryView:
        """The memory as one version of a task left it.

        Args:
            task_id: The task.
            number: Its version, counted from 1; below 0 from the latest.

        Raises:
            StoreError: There is no such task or version.
        """
        versions = self[task_id].versions
        place = number - 1 if number > 0 else len(versions) + number
        if not 0 <= place < len(versions):
            raise StoreError(f"the task has no version {number}", hint=f"it has {len(versions)}")
        return self._memory.at(versions[place].seq, self._principal)

    def compare(self, task_id: str, first: int, second: int) -> Diff:
        """What separates two versions of a task, by their numbers."""
        a, b = (self.version(task_id, n).revision.seq for n in (first, second))
        root = self[task_id].root.id
        diff = self._memory.diff(a, b, self._principal)
        return diff.within(root)
