"""What the names in a query can mean under a schema."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Literal

from llama_index_semxpath.schema import RESERVED_ATTRIBUTES, Schema
from llama_index_semxpath.tree.node import DOCUMENT_KINDS
from llama_index_semxpath.xpath.suggest import nearest

#: Kinds that a node may have at some place of a query: ``""`` is the root, ``None`` any kind.
Kinds = frozenset[str] | None
Reading = Literal["attribute", "child", "relation"]

ROOT: Kinds = frozenset(("",))
#: Relations that the tree itself gives.
TREE_RELATIONS = ("CONTAINS", "NEXT")
_LEVEL = " / "
_UNIT = re.compile(r"\s*[(（\[][^()（）\[\]]*[)）\]]$")


class Names:
    """Look-ups in a schema; an empty schema knows nothing and forbids nothing."""

    def __init__(self, schema: Schema | None) -> None:
        self.schema = schema or Schema()
        self.active = bool(self.schema)
        self._has_children = any(kind.children for kind in self.schema.kinds.values())

    def is_kind(self, name: str) -> bool:
        """Whether nodes of this kind exist, or could in any document."""
        return not self.active or name in self.schema.kinds or name in DOCUMENT_KINDS

    def is_attribute(self, name: str) -> bool:
        """Whether a node anywhere has the attribute, or the language gives it."""
        known = self.schema.attributes
        return not self.active or name in known or name in RESERVED_ATTRIBUTES

    def is_relation(self, name: str) -> bool:
        """Whether the graph has the relation."""
        return not self.active or name in self.schema.relations or name in TREE_RELATIONS

    def children(self, kinds: Kinds) -> Kinds:
        """Kinds of the children of nodes of these kinds; ``None`` where that is not known."""
        if kinds is None or not self._has_children:
            return None
        found: set[str] = set()
        for kind in kinds:
            if kind == "":
                if not self.schema.roots:
                    return None
                found.update(self.schema.roots)
            elif kind in self.schema.kinds:
                found.update(self.schema.kinds[kind].children)
        return frozenset(found)

    def reached(self, axis: str, relation: str) -> Kinds:
        """Kinds at the far end of a relation step."""
        info = self.schema.relations.get(relation)
        ends = None if info is None else (info.targets if axis == "rel" else info.sources)
        return frozenset(ends) if ends else None

    def readings(self, name: str, kinds: Kinds, *, value: bool) -> list[Reading]:
        """How a bare name can be read on nodes of some kinds.

        Args:
            name: The name.
            kinds: Kinds of the nodes that it stands behind.
            value: Whether an attribute may stand there: inside a predicate, as a last step.

        Returns:
            Every reading that these kinds have; if none, those that any node has.
        """
        near = self._readings(name, kinds, value)
        return near or (self._readings(name, None, value) if kinds is not None else [])

    def _readings(self, name: str, kinds: Kinds, value: bool) -> list[Reading]:
        found: list[Reading] = []
        if value and self.has_attribute(name, kinds):
            found.append("attribute")
        children = self.children(kinds)
        if name in (self.schema.kinds if children is None else children):
            found.append("child")
        relation = self.schema.relations.get(name)
        if relation is not None and (
            kinds is None or not relation.sources or not kinds.isdisjoint(relation.sources)
        ):
            found.append("relation")
        return found

    def has_attribute(self, name: str, kinds: Kinds) -> bool:
        """Whether nodes of these kinds have the attribute."""
        owners = self.schema.attributes.get(name, ())
        return bool(owners) if kinds is None else not kinds.isdisjoint(owners)

    def innermost(self, name: str, kinds: Kinds) -> list[str]:
        """Attributes that a shorter name may mean: table columns carry their whole header path.

        ``2024 / Q3 / Revenue (kEUR)`` is meant by any end of its path, ``Q3 / Revenue (kEUR)`` or
        ``Revenue (kEUR)``, with or without the unit in brackets.

        Args:
            name: The name as written.
            kinds: Kinds of the nodes, ``None`` for any.
        """
        found = self._ends.get(name, {})
        return [full for full, has in found.items() if kinds is None or not kinds.isdisjoint(has)]

    @cached_property
    def _ends(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """Every end of every header path, to the whole names and the kinds that have them."""
        ends: dict[str, dict[str, tuple[str, ...]]] = {}
        for full, owners in self.schema.attributes.items():
            levels = full.split(_LEVEL)
            for place in range(len(levels)):
                end = _LEVEL.join(levels[place:])
                for short in (end, _UNIT.sub("", end)):
                    if short and short != full:
                        ends.setdefault(short, {})[full] = owners
        return ends

    # Suggestions

    def like_kind(self, name: str, bare: bool = False) -> list[str]:
        """The kinds with the nearest names; for a bare name also the relations."""
        relations = self.schema.relations if bare else ()
        return nearest(name, dict.fromkeys((*self.schema.kinds, *DOCUMENT_KINDS, *relations)))

    def like_attribute(self, name: str, kinds: Kinds) -> list[str]:
        """The attributes with the nearest names, those of the given kinds first."""
        near = [
            attribute
            for kind in kinds or ()
            if kind in self.schema.kinds
            for attribute in self.schema.kinds[kind].attributes
        ]
        ranked = nearest(name, dict.fromkeys(near)) + nearest(name, self._attributes())
        return [f"@{known}" for known in dict.fromkeys(ranked)][:3]

    def like_relation(self, name: str) -> list[str]:
        """The relations with the nearest names."""
        return nearest(name, dict.fromkeys((*self.schema.relations, *TREE_RELATIONS)))

    def like_any(self, name: str) -> list[str]:
        """Attributes, kinds and relations with the nearest names, as they would be written."""
        written = {f"@{attribute}": attribute for attribute in self._attributes()}
        written |= {kind: kind for kind in (*self.schema.kinds, *DOCUMENT_KINDS)}
        written |= {f"rel::{relation}": relation for relation in self.schema.relations}
        best = nearest(name, dict.fromkeys(written.values()))
        return [text for plain in best for text, known in written.items() if known == plain][:3]

    def _attributes(self) -> Iterable[str]:
        return dict.fromkeys((*self.schema.attributes, *RESERVED_ATTRIBUTES))
