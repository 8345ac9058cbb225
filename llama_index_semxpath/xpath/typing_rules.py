"""Which operands and arguments fit: each misfit is its own clear error."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, NoReturn

from llama_index_semxpath.errors import ParameterError, QueryTypeError
from llama_index_semxpath.text import shown
from llama_index_semxpath.xpath import ast
from llama_index_semxpath.xpath.functions import Argument, Function, Type
from llama_index_semxpath.xpath.names import Names
from llama_index_semxpath.xpath.suggest import nearest
from llama_index_semxpath.xpath.types import type_of, value_type

_WORDS: dict[Type, str] = {
    "nodes": "a path",
    "string": "a string",
    "number": "a number",
    "boolean": "a condition",
    "score": "a score",
    "date": "a date",
    "duration": "a duration",
    "list": "a list",
    "groups": "a grouping",
    "unknown": "an unknown value",
}
_DATED = ("date", "nodes", "string", "unknown")
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=", "in")
_ITEM_TYPES = (str, int, float, bool, dt.date)


class TypeRules:
    """The rules, with what they need to know and the text for their errors."""

    def __init__(self, names: Names, params: Mapping[str, Any] | None, text: str) -> None:
        self.names = names
        self.params = params
        self.text = text

    def fail(self, message: str, offset: int, hint: str | None = None) -> NoReturn:
        """Raises the error of a misfit."""
        raise QueryTypeError(message, query=self.text, offset=offset, hint=hint)

    def type(self, expr: ast.Expr) -> Type:
        """The type of an operand."""
        return type_of(expr, self.params)

    def parameter(self, param: ast.Param) -> None:
        """Whether a parameter has a value, and one that a query can hold."""
        if self.params is None:
            return
        if param.name not in self.params:
            raise ParameterError(
                f"no value for parameter ${shown(param.name)}",
                query=self.text,
                offset=param.span[0],
                suggestions=[f"${name}" for name in nearest(param.name, self.params)],
            )
        value = self.params[param.name]
        kind = value_type(value)
        odd = (
            [item for item in value if not isinstance(item, _ITEM_TYPES)] if kind == "list" else []
        )
        if kind == "unknown" or odd:
            what = "a list of " + type(odd[0]).__name__ if odd else type(value).__name__
            raise ParameterError(
                f"parameter ${shown(param.name)} cannot be {what}",
                query=self.text,
                offset=param.span[0],
                hint="a value is text, a number, true or false, a date, or a list of these",
            )

    def is_nodes(self, expr: ast.Expr, message: str) -> None:
        """Refuses anything but a path; ``{}`` in the message stands for what it is."""
        found = self.type(expr)
        if found != "nodes":
            self.fail(message.format(_WORDS[found]), expr.span[0])

    def condition(self, expr: ast.Expr) -> None:
        """Whether a predicate can be a condition or a position."""
        found = self.type(expr)
        if found in ("duration", "date", "groups"):
            self.fail(f"{_WORDS[found]} is no condition", expr.span[0], hint="compare it")

    def negative(self, operand: ast.Expr) -> None:
        """Whether something can stand behind a minus sign."""
        found = self.type(operand)
        if found in ("date", "groups", "list"):
            self.fail(f"{_WORDS[found]} has no negative", operand.span[0])

    def binary(self, expr: ast.Binary) -> None:
        """Whether two operands fit their operator."""
        left, right = self.type(expr.left), self.type(expr.right)
        if expr.op == "=~":
            self.grade(expr, left, right)
        elif expr.op == "|":
            self.is_nodes(expr.left, "{} cannot be united with '|'")
            self.is_nodes(expr.right, "{} cannot be united with '|'")
            if ends_in_values(expr.left) != ends_in_values(expr.right):
                self.fail(
                    "nodes and attributes cannot be united",
                    expr.right.span[0],
                    hint="a result is nodes or values: ask for each by itself",
                )
        elif expr.op in ("or", "and"):
            self.condition(expr.left)
            self.condition(expr.right)
        elif expr.op in _COMPARISONS:
            self.comparison(expr, left, right)
        else:
            self.arithmetic(expr, left, right)

    def grade(self, expr: ast.Binary, left: Type, right: Type) -> None:
        """Whether ``=~`` has a path on its left and a phrase on its right."""
        if left != "nodes":
            self.fail(
                f"the left side of =~ is {_WORDS[left]}, not a path",
                expr.left.span[0],
                hint='grade with . =~ "…" or @title =~ "…", in parentheses inside a formula',
            )
        self.phrase(expr.right, "the right side of =~")

    def phrase(self, expr: ast.Expr, what: str) -> None:
        """Whether an operand is a fixed text, so that it is embedded or compiled once."""
        found = self.type(expr)
        fixed = isinstance(expr, ast.Str | ast.Param) and found in ("string", "unknown")
        if not fixed:
            self.fail(f"{what} is {_WORDS[found]}, not a phrase in quotes", expr.span[0])
        value = self.known(expr)
        if isinstance(value, str) and not value.strip():
            self.fail(f"{what} is an empty phrase", expr.span[0])

    def known(self, expr: ast.Expr) -> object | None:
        """The value of a literal or of a bound parameter, else ``None``."""
        if isinstance(expr, ast.Str | ast.Num):
            return expr.value
        if isinstance(expr, ast.Negative) and isinstance(expr.operand, ast.Num):
            return -expr.operand.value
        if isinstance(expr, ast.Param) and self.params is not None:
            return self.params.get(expr.name)
        return None

    def comparison(self, expr: ast.Binary, left: Type, right: Type) -> None:
        """Whether two values can be compared."""
        for side, found, other in ((expr.left, left, right), (expr.right, right, left)):
            if found == "groups" or (found == "duration" and other not in ("duration", "unknown")):
                self.fail(
                    f"{_WORDS[found]} cannot be compared with {_WORDS[other]}",
                    side.span[0],
                    hint="@due < today() + 90d compares dates" if found == "duration" else None,
                )
        listed = expr.right.values if isinstance(expr.right, ast.Items) else (expr.right,)
        for item in listed:
            self.typed(expr.left, item)
            self.typed(item, expr.left)

    def typed(self, side: ast.Expr, other: ast.Expr) -> None:
        """Refuses to compare an attribute with a fixed value of another type."""
        declared = self.declared(side)
        value = self.known(other)
        if not declared or value is None:
            return
        name, types = declared
        if value == "":
            return  # asks whether there is anything at all
        number = isinstance(value, int | float) and not isinstance(value, bool)
        at = other.span[0]
        if types == {"number"} and isinstance(value, str) and not is_number(value):
            self.fail(f'@{shown(name)} is a number and "{shown(value)}" is none', at)
        if types == {"string"} and number and self.is_wordy(name):
            self.fail(f"@{shown(name)} is text and the other side is a number", at)
        if types <= {"date", "datetime"} and (
            number or (isinstance(value, str) and not is_date(value))
        ):
            self.fail(
                f"@{shown(name)} is a date and the other side is none",
                at,
                hint='write "2026-01-31", today() or today() - 90d',
            )

    def declared(self, expr: ast.Expr) -> tuple[str, set[str]] | None:
        """The attribute that a path ends in, and the types that the schema gives it."""
        if not isinstance(expr, ast.Path) or not expr.steps:
            return None
        step = expr.steps[-1]
        if step.axis != "attribute" or step.test.type != "name":
            return None
        name = step.test.name
        kinds = self.names.schema.kinds
        types = {
            str(kinds[kind].attributes[name].type)
            for kind in self.names.schema.attributes.get(name, ())
        }
        return (name, types) if types else None

    def is_wordy(self, attribute: str) -> bool:
        """Whether none of an attribute's known values reads as a number."""
        examples = [
            example
            for kind in self.names.schema.attributes.get(attribute, ())
            for example in self.names.schema.kinds[kind].attributes[attribute].examples
        ]
        return bool(examples) and not any(is_number(example) for example in examples)

    def arithmetic(self, expr: ast.Binary, left: Type, right: Type) -> None:
        """Whether two values can be added, multiplied and so on."""
        sides = ((expr.left, left), (expr.right, right))
        for side, found in sides:
            if found in ("groups", "list"):
                self.fail(f"{_WORDS[found]} cannot be calculated with", side.span[0])
        if "duration" in (left, right):
            moment = right if left == "duration" else left
            order = expr.op == "-" and left == "duration"
            if expr.op not in ("+", "-") or order or moment not in _DATED:
                at = expr.left if left == "duration" else expr.right
                self.fail(
                    "a duration is added to or taken from a date",
                    at.span[0],
                    hint="for example today() - 90d",
                )
        elif "date" in (left, right):
            side = expr.left if left == "date" else expr.right
            self.fail(
                "a date takes only durations",
                side.span[0],
                hint="for example today() - 90d",
            )

    def call(self, expr: ast.Call, function: Function) -> None:
        """Whether the arguments of a call fit."""
        last = len(function.arguments) - 1
        for place, arg in enumerate(expr.args):
            self.argument(expr.name, place, arg, function.arguments[min(place, last)])
        first = self.known(expr.args[0]) if expr.args else None
        if expr.name in ("top", "version") and first is not None:
            whole = isinstance(first, int | float) and first == first // 1 and first >= 1
            if isinstance(first, bool) or not whole:
                self.fail(f"{expr.name}() counts from 1, in whole numbers", expr.args[0].span[0])

    def argument(self, name: str, place: int, arg: ast.Expr, wanted: Argument) -> None:
        """Whether one argument is of the type that stands in the registry."""
        found = self.type(arg)
        what = f"argument {place + 1} of {name}()"
        if wanted == "nodes":
            self.is_nodes(arg, what + " is {}, not a path")
        elif wanted == "phrase":
            self.phrase(arg, what)
        elif wanted == "order":
            if self.known(arg) not in ("asc", "desc") and found != "unknown":
                self.fail(f'{what} is "asc" or "desc"', arg.span[0])
        elif wanted == "share":
            value = self.known(arg)
            share = isinstance(value, int | float) and 0 <= value <= 1
            if not share and found != "unknown":
                self.fail(f"{what} is a number from 0 to 1", arg.span[0])
        elif wanted == "date":
            value = self.known(arg)
            if found not in _DATED or (isinstance(value, str) and not is_date(value)):
                self.fail(f'{what} is a date such as "2026-01-31"', arg.span[0])
        elif found in ("duration", "groups") or (found == "date" and wanted == "number"):
            self.fail(f"{what} cannot be {_WORDS[found]}", arg.span[0])


def ends_in_values(expr: ast.Expr) -> bool:
    """Whether a path gives attributes or texts rather than nodes.

    Example:
        >>> from llama_index_semxpath.xpath import parse
        >>> [ends_in_values(parse(q)) for q in ("a/@b", "sort(a/text(), .)", "a[@b]")]
        [True, True, False]
    """
    while True:
        match expr:
            case ast.Path(_, _, steps) if steps:
                return steps[-1].axis == "attribute" or steps[-1].test.type == "text"
            case ast.Path(start, _, ()) if start is not None and start != "root":
                expr = start
            case ast.Call("sort", (first, *_)) | ast.Binary("|", first, _):
                expr = first
            case ast.Call("top" | "threshold" | "at" | "version", (_, second)):
                expr = second
            case _:
                return False


def is_number(text: str) -> bool:
    """Whether a text stands for a number as XPath reads one: digits, a point, a minus sign.

    Example:
        >>> is_number(" -3.5 "), is_number("1e5"), is_number("")
        (True, False, False)
    """
    digits = text.strip(" \t\r\n").removeprefix("-")
    whole, _, fraction = digits.partition(".")
    return (whole + fraction).isascii() and (whole + fraction).isdecimal()


def is_date(text: str) -> bool:
    """Whether a text is an ISO 8601 date or moment.

    Example:
        >>> is_date("2026-02-28"), is_date("2026-02-30"), is_date("2026-02-28T10:00:00Z")
        (True, False, True)
    """
    try:
        dt.datetime.fromisoformat(text.strip())
    except ValueError:
        return False
    return True
