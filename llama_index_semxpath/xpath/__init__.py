"""SemXPath, the query language: text to checked syntax tree and back."""

from __future__ import annotations

from llama_index_semxpath.errors import (
    AmbiguousNameError,
    ParameterError,
    QueryCapabilityError,
    QueryError,
    QueryTypeError,
    SemXPathSyntaxError,
    UnknownNameError,
)
from llama_index_semxpath.xpath.parser import parse
from llama_index_semxpath.xpath.printer import to_text

__all__ = [
    "AmbiguousNameError",
    "ParameterError",
    "QueryCapabilityError",
    "QueryError",
    "QueryTypeError",
    "SemXPathSyntaxError",
    "UnknownNameError",
    "parse",
    "to_text",
]
