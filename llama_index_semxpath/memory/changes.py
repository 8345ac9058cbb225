"""What a change did, and what separates two versions."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from llama_index_semxpath.index.edit_rows import Touched
from llama_index_semxpath.index.match import json_value
from llama_index_semxpath.tree.node import TreeNode


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a memory, which is one revision of it.

    Args:
        revision: Its number; that of the present where nothing differed.
        time: When it was made.
        author: Who made it.
        reason: Why.
        what: What was done, in a few words.
        added: Ids of new nodes, in the order they were written.
        changed: Ids of nodes whose text, attributes, kind or labels differ.
        moved: Ids of nodes that stand elsewhere; what stands below them moved along.
        removed: Ids of nodes that are gone.
    """

    revision: int
    time: dt.datetime
    author: str = ""
    reason: str = ""
    what: str = ""
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of all nodes that it touched."""
        return (*self.added, *self.changed, *self.moved, *self.removed)

    def __bool__(self) -> bool:
        return bool(self.ids)

    def __str__(self) -> str:
        counts = {"added": self.added, "changed": self.changed, "moved": self.moved,
                  "removed": self.removed}  # fmt: skip
        told = [f"{len(ids)} {name}" for name, ids in counts.items() if ids] or ["nothing"]
        why = f" ({self.reason})" if self.reason else ""
        return f"revision {self.revision} by {self.author}: {self.what}{why}, {', '.join(told)}"

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """The change as JSON values."""
        return {
            "revision": self.revision,
            "time": self.time.isoformat(),
            "author": self.author,
            "reason": self.reason,
            "what": self.what,
            "added": list(self.added),
            "changed": list(self.changed),
            "moved": list(self.moved),
            "removed": list(self.removed),
        }


def collected(touched: Iterable[Touched]) -> dict[str, tuple[str, ...]]:
    """Added, changed, moved and removed ids of an edit, each once and where it counts.

    What was added and removed again by the same edit is neither.
    """
    added: dict[str, None] = {}
    changed: dict[str, None] = {}
    moved: dict[str, None] = {}
    removed: dict[str, None] = {}
    for part in touched:
        added.update(part.added)
        changed.update(part.changed)
        moved.update(part.moved)
        removed.update(part.removed)
    return {
        "added": tuple(id_ for id_ in added if id_ not in removed),
        "changed": tuple(id_ for id_ in changed if id_ not in removed and id_ not in added),
        "moved": tuple(id_ for id_ in moved if id_ not in removed and id_ not in added),
        "removed": tuple(id_ for id_ in removed if id_ not in added),
    }


@dataclass(frozen=True, slots=True)
class Changed:
    """A node in two versions.

    Args:
        before: The node in the first.
        after: The node in the second.
    """

    before: TreeNode
    after: TreeNode

    @property
    def fields(self) -> dict[str, tuple[Any, Any]]:
        """What differs, by name: ``text``, ``kind``, ``labels`` or ``@attribute``."""
        found: dict[str, tuple[Any, Any]] = {}
        for name in ("kind", "text", "labels"):
            old, new = getattr(self.before, name), getattr(self.after, name)
            if old != new:
                found[name] = (old, new)
        old_values, new_values = self.before.attributes, self.after.attributes
        for name in dict.fromkeys((*old_values, *new_values)):
            if old_values.get(name) != new_values.get(name):
                found[f"@{name}"] = (old_values.get(name), new_values.get(name))
        return found

    @property
    def is_moved(self) -> bool:
        """Whether it stands elsewhere."""
        return (self.before.parent, self.before.order) != (self.after.parent, self.after.order)


@dataclass(frozen=True, slots=True)
class Diff:
    """What separates two versions.

    Args:
        first: Number of the first revision.
        second: Number of the second.
        added: Nodes that only the second has, in order.
        removed: Nodes that only the first has, in order.
        changed: Nodes that say something else.
        moved: Nodes that stand elsewhere.
    """

    first: int
    second: int
    added: tuple[TreeNode, ...] = ()
    removed: tuple[TreeNode, ...] = ()
    changed: tuple[Changed, ...] = ()
    moved: tuple[Changed, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.moved)

    def within(self, doc: str) -> Diff:
        """The part of it that concerns one tree."""
        return Diff(
            self.first,
            self.second,
            tuple(node for node in self.added if node.doc == doc),
            tuple(node for node in self.removed if node.doc == doc),
            tuple(item for item in self.changed if item.after.doc == doc),
            tuple(item for item in self.moved if doc in (item.after.doc, item.before.doc)),
        )

    def lines(self) -> Iterator[str]:
        """One line a difference: ``+`` new, ``-`` gone, ``~`` changed, ``>`` moved."""
        for sign, nodes in (("-", self.removed), ("+", self.added)):
            for node in nodes:
                yield f"{sign} {node.kind} {name_of_node(node)}".rstrip()
        for item in self.changed:
            parts = (f"{k}: {_short(a)} → {_short(b)}" for k, (a, b) in item.fields.items())
            yield f"~ {item.after.kind} {name_of_node(item.after)}  {'; '.join(parts)}"
        for item in self.moved:
            yield f"> {item.after.kind} {name_of_node(item.after)}".rstrip()

    def __str__(self) -> str:
        return "\n".join(self.lines()) or "no difference"

    def to_dict(self) -> dict[str, Any]:
        """The difference as JSON values."""
        return {
            "from": self.first,
            "to": self.second,
            "added": [_plain(node) for node in self.added],
            "removed": [_plain(node) for node in self.removed],
            "changed": [
                {**_plain(item.after), "fields": {k: _pair(v) for k, v in item.fields.items()}}
                for item in self.changed
            ],
            "moved": [_plain(item.after) for item in self.moved],
        }


def make_diff(first: int, second: int, pairs: Iterable[tuple[TreeNode | None, TreeNode | None]]) \
        -> Diff:  # fmt: skip
    """The difference that pairs of a node before and after make up."""
    added, removed = list[TreeNode](), list[TreeNode]()
    changed, moved = list[Changed](), list[Changed]()
    for before, after in pairs:
        if before is None and after is not None:
            added.append(after)
        elif after is None and before is not None:
            removed.append(before)
        elif before is not None and after is not None:
            item = Changed(before, after)
            if item.fields:
                changed.append(item)
            if item.is_moved:
                moved.append(item)
    # What stands below a moved node moved along; only the node itself is told.
    ids = {item.after.id for item in moved}
    alone = [
        item
        for item in moved
        if item.after.parent not in ids or item.before.parent != item.after.parent
    ]

    def place(item: Changed) -> str:
        return item.after.order

    return Diff(
        first,
        second,
        tuple(sorted(added, key=lambda node: node.order)),
        tuple(sorted(removed, key=lambda node: node.order)),
        tuple(sorted(changed, key=place)),
        tuple(sorted(alone, key=place)),
    )


def name_of_node(node: TreeNode) -> str:
    """What a node is called: its ``@name``, title or text, cut short."""
    for value in (node.attributes.get("name"), node.title, node.text):
        if isinstance(value, str) and value:
            return _short(value)
    return ""


def _short(value: Any) -> str:
    text = "—" if value is None else str(json_value(value))
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:59] + "…"


def _plain(node: TreeNode) -> dict[str, Any]:
    return {
        "id": node.id,
        "kind": node.kind,
        "text": node.text,
        "attributes": json_value(node.attributes),
    }


def _pair(values: tuple[Any, Any]) -> list[Any]:
    return [sorted(v) if isinstance(v, frozenset) else json_value(v) for v in values]
