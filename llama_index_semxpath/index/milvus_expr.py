"""Prints conditions as Milvus filter expressions; the only place where such text is made.

Milvus has no bound parameters that all its versions read, so values become literals here: every
string is quoted and escaped, every number checked. What an expression cannot say is refused with
:class:`ExpressionError`, never left out: an absent condition would widen the result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from llama_index_semxpath.errors import StoreError

Scalar = str | int | float | bool
Operator = Literal["==", "!=", "<", "<=", ">", ">="]

#: Fields of the schema that a condition may name; all else is an attribute.
FIELDS = frozenset({"id", "doc", "order_key", "kind", "level", "weight", "labels"})
OPERATORS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_INT64 = 2**63


class ExpressionError(StoreError):
    """A condition that a Milvus expression cannot hold; the caller must evaluate it itself."""


@dataclass(frozen=True, slots=True)
class Compare:
    """A field or attribute against a value. An absent attribute compares false, also under ``!=``.

    Args:
        name: A name of ``FIELDS``, else the key of an attribute.
        op: The operator.
        value: The value.
    """

    name: str
    op: Operator
    value: Scalar


@dataclass(frozen=True, slots=True)
class OneOf:
    """A field or attribute equal to one of some values; never true when there are none."""

    name: str
    values: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """A half-open range ``low <= field < high``, as of the order keys of a subtree."""

    name: str
    low: str
    high: str


@dataclass(frozen=True, slots=True)
class Contains:
    """An attribute that is a list and holds a value."""

    name: str
    value: Scalar


@dataclass(frozen=True, slots=True)
class All:
    """All of the conditions; true when there are none."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of the conditions; false when there are none."""

    parts: tuple[Condition, ...]


Condition = Compare | OneOf | Between | Contains | All | AnyOf
_NEVER = 'id == ""'  # no node has an empty id


def to_expression(condition: Condition) -> str:
    """The condition as a Milvus filter expression; ``""`` for one that is always true.

    Raises:
        ExpressionError: A value or name that no expression can hold.

    Example:
        >>> to_expression(All((Between("order_key", "a0", "a0/"), OneOf("kind", ("Row",)))))
        '((order_key >= "a0" and order_key < "a0/") and (kind in ["Row"]))'
        >>> to_expression(Compare("tag", "==", 'say "hi"'))
        '(attributes["tag"] == "say \\\\"hi\\\\"")'
    """
    if isinstance(condition, All) and not condition.parts:
        return ""
    return _print(condition)


def _print(condition: Condition) -> str:
    if isinstance(condition, Compare):
        return _compare(condition)
    if isinstance(condition, OneOf):
        if not condition.values:
            return f"({_NEVER})"
        if condition.name not in FIELDS:
            # Milvus Lite knows `in` for fields of the schema only.
            return _print(AnyOf(tuple(Compare(condition.name, "==", v) for v in condition.values)))
        values = ", ".join(literal(value) for value in condition.values)
        return f"({_name(condition.name)} in [{values}])"
    if isinstance(condition, Between):
        name = _name(condition.name)
        return f"({name} >= {literal(condition.low)} and {name} < {literal(condition.high)})"
    if isinstance(condition, Contains):
        return f"(json_contains({_name(condition.name)}, {literal(condition.value)}))"
    if not condition.parts:
        return f"({_NEVER})" if isinstance(condition, AnyOf) else '(id != "")'
    word = " and " if isinstance(condition, All) else " or "
    return balanced([_print(part) for part in condition.parts], word)


def _compare(condition: Compare) -> str:
    if condition.op not in OPERATORS:
        raise ExpressionError(f"Milvus has no operator '{condition.op}'")
    name, value = _name(condition.name), literal(condition.value)
    if condition.op == "!=" and condition.name not in FIELDS:
        # Without this an absent attribute would count as different.
        return f"((exists {name}) and ({name} != {value}))"
    return f"({name} {condition.op} {value})"


def literal(value: Scalar) -> str:
    """A value as a literal of the expression language.

    Raises:
        ExpressionError: Not a finite number, string or boolean, or a string with NUL.

    Example:
        >>> literal("back\\\\"), literal(5), literal(True)
        ('"back\\\\\\\\"', '5', 'true')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if not -_INT64 <= value < _INT64:
            raise ExpressionError(f"{value} is not a 64-bit integer")
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ExpressionError(f"{value} is not a finite number")
        return repr(value)
    if not isinstance(value, str):
        raise ExpressionError(f"a {type(value).__name__} is no value of a filter")
    if "\x00" in value or any("\ud800" <= char <= "\udfff" for char in value):
        raise ExpressionError("a filter value holds NUL or an unpaired surrogate")
    return '"' + "".join(_ESCAPES.get(char, char) for char in value) + '"'


def _name(name: str) -> str:
    return name if name in FIELDS else f"attributes[{literal(name)}]"


def balanced(parts: Sequence[str], word: str) -> str:
    """Conditions joined by a word, as a tree of brackets of the least depth.

    Example:
        >>> balanced(["a", "b", "c"], " or ")
        '(a or (b or c))'
    """
    # The server's parser recurses once a term: flat, it fails at some fifty; as a tree it does not.
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return f"({balanced(parts[:middle], word)}{word}{balanced(parts[middle:], word)})"
