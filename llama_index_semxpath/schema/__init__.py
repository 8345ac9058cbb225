"""What a corpus holds: kinds, attributes, relations; for checking, for people and for models."""

from __future__ import annotations

from llama_index_semxpath.schema.model import (
    RESERVED_ATTRIBUTES,
    AttributeInfo,
    KindInfo,
    RelationInfo,
    Schema,
)

__all__ = ["RESERVED_ATTRIBUTES", "AttributeInfo", "KindInfo", "RelationInfo", "Schema"]
