"""A schema as a JSON Schema of query objects, for models that answer in JSON.

A query object is a list of steps with conditions; ``xpath.objects.from_object`` turns it into an
expression. Kinds, attributes and relations are enumerations of the names that exist.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from llama_index_semxpath.schema.model import RESERVED_ATTRIBUTES, Schema

#: Axes of a step; ``rel`` and ``inv`` follow ``relation``.
AXES = (
    "child",
    "descendant",
    "parent",
    "ancestor",
    "following-sibling",
    "preceding-sibling",
    "rel",
    "inv",
)
#: Operators of a condition on an attribute.
OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "in", "contains", "starts-with", "exists", "=~")


def query_schema(schema: Schema) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a query object.

    Args:
        schema: The schema of the corpus; an empty one allows no kind but ``*``.

    Example:
        >>> from llama_index_semxpath.schema import KindInfo
        >>> query_schema(Schema({"Day": KindInfo("Day", 3)}))["$defs"]["step"]["properties"]["kind"]
        {'description': 'Kind of node, or * for any.', 'enum': ['*', 'Day']}
    """
    step = {
        "axis": _enum("Where to go from the nodes so far.", AXES),
        "kind": _enum("Kind of node, or * for any.", ("*", *schema.kinds)),
        "where": {
            "description": "Conditions, all of which hold.",
            "type": "array",
            "items": {"$ref": "#/$defs/condition"},
        },
        "position": {
            "description": "1 is the first below each parent, -1 the last.",
            "type": "integer",
            "not": {"const": 0},
        },
    }
    if schema.relations:
        step["relation"] = _enum("Relation that rel or inv follows.", schema.relations)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "SemXPathQuery",
        "description": "A path through the corpus, step by step.",
        **_object(
            {
                "steps": {
                    "type": "array",
                    "minItems": 1,
                    "items": {"$ref": "#/$defs/step"},
                },
                "top": {
                    "description": "Keep the best so many.",
                    "type": "integer",
                    "minimum": 1,
                },
            },
            ["steps"],
        ),
        "$defs": {"step": _object(step, ["axis", "kind"]), "condition": _condition(schema)},
    }


def _condition(schema: Schema) -> dict[str, Any]:
    attributes = _enum("Attribute.", dict.fromkeys((*schema.attributes, *RESERVED_ATTRIBUTES)))
    value = {
        "description": "Text, number, true or false; a list for in; a date as 2026-01-31.",
        "type": ["string", "number", "boolean", "array"],
        "items": {"type": ["string", "number"]},
    }
    several = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/condition"}}
    return {
        "anyOf": [
            _object(
                {
                    "attribute": attributes,
                    "operator": _enum("=~ compares by meaning.", OPERATORS),
                    "value": value,
                },
                ["attribute", "operator"],
            ),
            _object({"about": {"type": "string", "minLength": 1}}, ["about"]),
            _object({"contains": {"type": "string", "minLength": 1}}, ["contains"]),
            _object(
                {"has": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/step"}}},
                ["has"],
            ),
            _object({"not": {"$ref": "#/$defs/condition"}}, ["not"]),
            _object({"any": several}, ["any"]),
        ]
    }


def _enum(description: str, names: Iterable[str]) -> dict[str, Any]:
    return {"description": description, "enum": list(names)}


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "required": required,
    }
