"""From the text of a query to a tree that engines run: parse, check, rewrite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from llama_index_semxpath.errors import (
    QueryCapabilityError,
    SemXPathSyntaxError,
    UnknownNameError,
)
from llama_index_semxpath.schema import Schema
from llama_index_semxpath.xpath import ast
from llama_index_semxpath.xpath.check import CAPABILITIES, check
from llama_index_semxpath.xpath.parser import parse
from llama_index_semxpath.xpath.rules import rewrite
from llama_index_semxpath.xpath.update import UPDATES, parse_update


class Compiled(NamedTuple):
    """A query that is ready to run.

    Args:
        expr: The checked and rewritten tree.
        rules: Names of the rewrite rules that changed it.
        notes: What is right by the grammar, yet hardly what was meant.
    """

    expr: ast.Expr
    rules: tuple[str, ...]
    notes: tuple[str, ...]


def compile_query(
    query: str,
    schema: Schema | None = None,
    params: Mapping[str, Any] | None = None,
    *,
    capabilities: frozenset[str] = CAPABILITIES,
) -> Compiled:
    """The checked and rewritten tree of a query.

    Args:
        query: SemXPath.
        schema: Schema of the corpus; see :func:`check`.
        params: Values of ``$name``.
        capabilities: What the index can do.

    Raises:
        QueryError: The query is wrong, asks for a part that the index lacks, or is an update.

    Example:
        >>> from llama_index_semxpath.xpath.printer import to_text
        >>> compiled = compile_query("//Row[@n = 1]")
        >>> to_text(compiled.expr), compiled.rules
        ('/descendant::Row[@n = 1]', ('descendant',))
    """
    try:
        checked = check(parse(query), schema, params, text=query, capabilities=capabilities)
    except (SemXPathSyntaxError, UnknownNameError):
        _refuse_update(query)
        raise
    return Compiled(*rewrite(checked.expr), checked.notes)


def _refuse_update(query: str) -> None:
    """A better error than an unknown kind ``delete``, where the text is an update statement."""
    words = query.split(None, 1)
    if not words or words[0] not in UPDATES:
        return
    try:
        parse_update(query)
    except SemXPathSyntaxError:
        return
    raise QueryCapabilityError(
        f"'{words[0]}' is an update, not a query",
        query=query,
        offset=query.index(words[0]),
        hint="updates change agent memory, never documents: StructuredMemory.update()",
    )
