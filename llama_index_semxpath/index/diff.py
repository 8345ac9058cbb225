"""What a new version of a document changes, with order keys that leave every other row alone."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from llama_index_semxpath.index.rows import PreparedNode, StoredNode
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.order import child_key, component, component_between

#: A component longer than this comes from very many inserts at one place: renumber its siblings.
_LONGEST_COMPONENT = 48


@dataclass(slots=True)
class Changes:
    """The difference between a stored document and its new version.

    Args:
        added: Nodes that the store does not hold.
        changed: Nodes whose row differs.
        removed: Nodes that the new version has no more.
        relinked: Ids of nodes whose parent or previous sibling differs, new nodes included.
    """

    added: list[PreparedNode] = field(default_factory=list)
    changed: list[PreparedNode] = field(default_factory=list)
    removed: list[StoredNode] = field(default_factory=list)
    relinked: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


def assign_keys(stored: Mapping[str, StoredNode], nodes: Sequence[TreeNode], part: str) -> None:
    """Sets the order key of every node, keeping the stored one wherever order allows it.

    Among the children of a node, the longest run of stored children that are still in order keeps
    its keys (longest increasing subsequence); the others get keys between them.

    Args:
        stored: The document's stored nodes by id.
        nodes: The new version in pre-order, root first.
        part: Component of the document among the documents.
    """
    children: dict[str, list[TreeNode]] = {}
    for node in nodes:
        if node.parent is not None:
            children.setdefault(node.parent, []).append(node)
    parts: dict[str, str] = {}
    for siblings in children.values():
        for node, own in zip(siblings, _components(stored, siblings), strict=True):
            parts[node.id] = own
    keys: dict[str, str] = {}
    for node in nodes:
        node.order = part if node.parent is None else child_key(keys[node.parent], parts[node.id])
        keys[node.id] = node.order


def compare(
    stored: Mapping[str, StoredNode], nodes: Sequence[PreparedNode], access: Sequence[int]
) -> Changes:
    """The changes between stored rows and prepared ones.

    Args:
        stored: The document's stored nodes by id, in document order.
        nodes: The new version in pre-order with keys assigned.
        access: Code of the labels in force for each of ``nodes``.
    """
    changes = Changes()
    seen: set[str] = set()
    for prepared, code in zip(nodes, access, strict=True):
        node = prepared.node
        seen.add(node.id)
        old = stored.get(node.id)
        if old is None:
            changes.added.append(prepared)
        elif (old.hash, old.order, old.access, old.vector, old.parent) != (
            prepared.hash,
            node.order,
            code,
            prepared.vector,
            node.parent,
        ):
            changes.changed.append(prepared)
    changes.removed = [old for old in stored.values() if old.id not in seen]
    before = _links((old.id, old.parent) for old in stored.values())
    after = _links((prepared.node.id, prepared.node.parent) for prepared in nodes)
    changes.relinked = {id_ for id_, link in after.items() if before.get(id_) != link}
    return changes


def _links(pairs: Iterable[tuple[str, str | None]]) -> dict[str, tuple[str | None, str | None]]:
    """Parent and previous sibling of each node."""
    last: dict[str | None, str] = {}
    links: dict[str, tuple[str | None, str | None]] = {}
    for id_, parent in pairs:
        links[id_] = (parent, last.get(parent))
        last[parent] = id_
    return links


def _components(stored: Mapping[str, StoredNode], siblings: Sequence[TreeNode]) -> list[str]:
    old: list[str | None] = []
    for node in siblings:
        known = stored.get(node.id)
        same_place = known is not None and known.parent == node.parent
        old.append(known.order.rpartition(".")[2] if known is not None and same_place else None)
    if not any(old):
        return [component(place) for place in range(len(siblings))]
    keep = _longest_increasing(old)
    result: list[str] = []
    start = 0
    for stop in [*keep, len(siblings)]:
        before = result[-1] if result else None
        after = old[stop] if stop < len(siblings) else None
        result.extend(_spread(before, after, stop - start))
        if after is not None:
            result.append(after)
        start = stop + 1
    if max(map(len, result)) > _LONGEST_COMPONENT:
        return [component(place) for place in range(len(siblings))]
    return result


def _spread(before: str | None, after: str | None, count: int) -> list[str]:
    """``count`` components between two, about as short as they can be."""
    if count <= 0:
        return []
    if after is None:
        run = [component_between(before, None)]
        while len(run) < count:
            run.append(component_between(run[-1], None))
        return run
    middle = component_between(before, after)
    left = count // 2
    return [*_spread(before, middle, left), middle, *_spread(middle, after, count - left - 1)]


def _longest_increasing(keys: Sequence[str | None]) -> list[int]:
    """Places of the longest increasing subsequence (patience sorting, O(n log n))."""
    tails: list[str] = []
    places: list[int] = []
    back: dict[int, int] = {}
    for place, key in enumerate(keys):
        if key is None:
            continue
        slot = bisect_left(tails, key)
        if slot:
            back[place] = places[slot - 1]
        if slot == len(tails):
            tails.append(key)
            places.append(place)
        else:
            tails[slot] = key
            places[slot] = place
    chain: list[int] = []
    current: int | None = places[-1] if places else None
    while current is not None:
        chain.append(current)
        current = back.get(current)
    return chain[::-1]
