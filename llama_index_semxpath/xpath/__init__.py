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
from llama_index_semxpath.xpath.check import Checked, check
from llama_index_semxpath.xpath.compile import compile_query
from llama_index_semxpath.xpath.functions import FUNCTIONS
from llama_index_semxpath.xpath.objects import from_object
from llama_index_semxpath.xpath.parser import parse
from llama_index_semxpath.xpath.printer import to_text
from llama_index_semxpath.xpath.rules import RULES, rewrite
from llama_index_semxpath.xpath.types import is_graded, type_of
from llama_index_semxpath.xpath.update import check_update, parse_update, update_text

__all__ = [
    "FUNCTIONS",
    "RULES",
    "AmbiguousNameError",
    "Checked",
    "ParameterError",
    "QueryCapabilityError",
    "QueryError",
    "QueryTypeError",
    "SemXPathSyntaxError",
    "UnknownNameError",
    "check",
    "check_update",
    "compile_query",
    "from_object",
    "is_graded",
    "parse",
    "parse_update",
    "rewrite",
    "to_text",
    "type_of",
    "update_text",
]
