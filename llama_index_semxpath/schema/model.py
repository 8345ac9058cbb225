"""The schema of a corpus, discovered from its data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

#: Type of an attribute's values; ``mixed`` where nodes disagree.
ValueType = Literal["string", "number", "boolean", "date", "datetime", "list", "mixed"]

#: Attributes that the language itself gives to nodes: never an unknown name.
RESERVED_ATTRIBUTES = (
    "title",
    "number",
    "n",
    "level",
    "lang",
    "page",
    "source",
    "weight",
    "tokens",
    "created",
    "version",
)


@dataclass(frozen=True, slots=True)
class AttributeInfo:
    """An attribute of the nodes of one kind.

    Args:
        name: Name as ``@name`` reads it.
        type: Type of its values.
        count: Number of nodes of the kind that have it.
        share: The same as a share of the kind's nodes, in (0, 1].
        examples: A few values, as text.
    """

    name: str
    type: ValueType
    count: int
    share: float
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KindInfo:
    """The nodes of one kind.

    Args:
        name: Element name of the language.
        count: Number of nodes.
        attributes: Their attributes by name.
        children: Kinds of their children, with the number of such children.
    """

    name: str
    count: int
    attributes: Mapping[str, AttributeInfo] = field(default_factory=dict)
    children: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RelationInfo:
    """A relation of the property graph.

    Args:
        name: Name as ``rel::name`` reads it.
        count: Number of edges.
        sources: Kinds that edges leave, with the number of edges.
        targets: Kinds that edges reach, with the number of edges.
    """

    name: str
    count: int
    sources: Mapping[str, int] = field(default_factory=dict)
    targets: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Schema:
    """Everything that a query over a corpus can name.

    Args:
        kinds: Kinds of node by name.
        relations: Relations of the property graph by name.
        roots: Kinds of the children of the root, with the number of such children.

    Example:
        >>> leave = AttributeInfo("days", "number", count=2, share=1.0, examples=("5", "10"))
        >>> schema = Schema({"Leave": KindInfo("Leave", 2, {"days": leave})})
        >>> "Leave" in schema.kinds, len(schema.version), bool(Schema())
        (True, 16, False)
    """

    kinds: Mapping[str, KindInfo] = field(default_factory=dict)
    relations: Mapping[str, RelationInfo] = field(default_factory=dict)
    roots: Mapping[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.kinds)

    @cached_property
    def version(self) -> str:
        """Hash of the content: equal schemas have equal versions, on every machine."""
        text = json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=False)
        return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()

    @cached_property
    def attributes(self) -> Mapping[str, tuple[str, ...]]:
        """Every attribute name, with the kinds that have it."""
        found: dict[str, list[str]] = {}
        for kind in self.kinds.values():
            for name in kind.attributes:
                found.setdefault(name, []).append(kind.name)
        return {name: tuple(kinds) for name, kinds in found.items()}

    def __str__(self) -> str:
        from llama_index_semxpath.schema.prompt import table_text

        return table_text(self)

    def to_prompt(
        self, *, guide: bool = True, max_kinds: int = 60, max_attributes: int = 16
    ) -> str:
        """The schema as compact text for a language model (``prompt.prompt_text``).

        Args:
            guide: Whether the language is explained first.
            max_kinds: Most kinds shown, the frequent ones first.
            max_attributes: Most attributes shown for a kind.

        Example:
            >>> Schema({"Day": KindInfo("Day", 3)}).to_prompt(guide=False)
            'Day (3)'
        """
        from llama_index_semxpath.schema.prompt import prompt_text

        return prompt_text(self, guide=guide, max_kinds=max_kinds, max_attributes=max_attributes)

    def to_json_schema(self) -> dict[str, Any]:
        """A JSON Schema of a query object over names that exist (``json_schema.query_schema``).

        Example:
            >>> Schema({"Day": KindInfo("Day", 3)}).to_json_schema()["required"]
            ['steps']
        """
        from llama_index_semxpath.schema.json_schema import query_schema

        return query_schema(self)

    def to_gbnf(self) -> str:
        """A GBNF grammar of queries over names that exist (``gbnf.gbnf_text``).

        Raises:
            ValueError: The schema is empty.

        Example:
            >>> Schema({"Day": KindInfo("Day", 3)}).to_gbnf().splitlines()[0]
            'root ::= path | "count(" path ")" | "top(" place ", " path ")"'
        """
        from llama_index_semxpath.schema.gbnf import gbnf_text

        return gbnf_text(self)

    def to_dict(self) -> dict[str, Any]:
        """The schema as JSON values.

        Example:
            >>> Schema({"Day": KindInfo("Day", 3)}, roots={"Day": 3}).to_dict()["roots"]
            {'Day': 3}
        """
        return {
            "roots": dict(self.roots),
            "kinds": {
                kind.name: {
                    "count": kind.count,
                    "attributes": {
                        attribute.name: {
                            "type": attribute.type,
                            "count": attribute.count,
                            "share": attribute.share,
                            "examples": list(attribute.examples),
                        }
                        for attribute in kind.attributes.values()
                    },
                    "children": dict(kind.children),
                }
                for kind in self.kinds.values()
            },
            "relations": {
                relation.name: {
                    "count": relation.count,
                    "sources": dict(relation.sources),
                    "targets": dict(relation.targets),
                }
                for relation in self.relations.values()
            },
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Schema:
        """A schema from what ``to_dict`` gave.

        Example:
            >>> schema = Schema({"Day": KindInfo("Day", 3)})
            >>> Schema.from_dict(schema.to_dict()) == schema
            True
        """
        kinds = {
            name: KindInfo(
                name,
                kind["count"],
                {
                    key: AttributeInfo(
                        key,
                        value["type"],
                        value["count"],
                        value["share"],
                        tuple(value["examples"]),
                    )
                    for key, value in kind["attributes"].items()
                },
                dict(kind["children"]),
            )
            for name, kind in data["kinds"].items()
        }
        relations = {
            name: RelationInfo(name, value["count"], dict(value["sources"]), dict(value["targets"]))
            for name, value in data["relations"].items()
        }
        return cls(kinds, relations, dict(data.get("roots", {})))
