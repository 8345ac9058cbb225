"""Syntax tree to canonical text: one text for one meaning, and ``parse(to_text(e)) == e``."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from llama_index_semxpath.text import name_text, string_text
from llama_index_semxpath.xpath import ast
from llama_index_semxpath.xpath.operators import ASSOCIATIVE, MINUS, PRECEDENCE, chain
from llama_index_semxpath.xpath.parser import EVIDENCE
from llama_index_semxpath.xpath.visit import Task, run

_RELATIONS = ("rel", "inv")


def to_text(expr: ast.Expr) -> str:
    """The canonical text of a query.

    Args:
        expr: A tree from ``parse``, or one made by hand that keeps the invariants of ``ast``.

    Returns:
        Text with abbreviated steps, double quotes, spaces around operators and no needless
        parentheses.

    Example:
        >>> from llama_index_semxpath.xpath.parser import parse
        >>> to_text(parse("/descendant-or-self::node()/child::a[ (@b='c')or 1 ]"))
        '//child::a[@b = "c" or 1]'
    """
    return run(_expr(expr, 0, relative=False))


def number_text(value: int | float) -> str:
    """A number without an exponent, which the language does not have.

    Example:
        >>> number_text(3), number_text(3.0), number_text(1e-7)
        ('3', '3.0', '0.0000001')
    """
    if isinstance(value, int):
        return str(int(value))
    text = format(Decimal(repr(value)), "f")
    return text if "." in text else text + ".0"


def _expr(expr: ast.Expr, level: int, relative: bool) -> Task[str]:
    """Text of an expression that stands where operators below ``level`` need parentheses."""
    match expr:
        case ast.Str(value):
            return string_text(value)
        case ast.Num(number):
            return number_text(number)
        case ast.Duration(amount, unit):
            return number_text(amount) + unit
        case ast.Param(name):
            return "$" + name_text(name)
        case ast.Items(values):
            return "(" + (yield from _list(values, relative)) + ")"
        case ast.Call(name, args):
            return f"{name}(" + (yield from _list(args, name in EVIDENCE)) + ")"
        case ast.Negative(operand):
            return _wrapped("-" + (yield _expr(operand, MINUS, relative)), MINUS, level)
        case ast.Binary(op, _, _):
            return _wrapped((yield from _binary(expr, relative)), PRECEDENCE[op], level)
        case ast.Path():
            return (yield from _path(expr, level, relative))


def _wrapped(text: str, precedence: int, level: int) -> str:
    return text if precedence >= level else f"({text})"


def _list(values: Sequence[ast.Expr], relative: bool) -> Task[str]:
    texts: list[str] = []
    for value in values:
        texts.append((yield _expr(value, 0, relative)))
    return ", ".join(texts)


def _binary(expr: ast.Binary, relative: bool) -> Task[str]:
    precedence = PRECEDENCE[expr.op]
    if expr.op in ASSOCIATIVE:
        operands: Sequence[ast.Expr] = chain(expr.op, expr)
        levels = [precedence + 1] * len(operands)
    else:
        operands = (expr.left, expr.right)
        levels = [precedence, precedence + 1]
    texts: list[str] = []
    for operand, level in zip(operands, levels, strict=True):
        texts.append((yield _expr(operand, level, relative)))
    return f" {expr.op} ".join(texts)


def _path(path: ast.Path, level: int, relative: bool) -> Task[str]:
    if path.start is None:
        return (yield from _steps(path.steps, leading=False))
    if path.start == "root":
        # Inside an evidence call a leading "/" would start at the context node.
        head = "root()" if relative else ""
        if path.steps:
            return head + (yield from _steps(path.steps, leading=True))
        return head or ("/" if level == 0 else "(/)")
    start = path.start
    bare = isinstance(start, ast.Str | ast.Num | ast.Duration | ast.Param | ast.Items | ast.Call)
    text: str = yield _expr(start, 0, relative)
    if not bare:
        text = f"({text})"
    text += yield from _filters(path.filters)
    return text + (yield from _steps(path.steps, leading=True))


def _steps(steps: Sequence[ast.Step], leading: bool) -> Task[str]:
    text = ""
    separator = "/" if leading else ""
    before: ast.Step | None = None
    for place, step in enumerate(steps):
        abbreviated = separator == "/" and place + 1 < len(steps) and _is_descendants(step)
        if abbreviated:
            separator = "//"
        else:
            text += separator + (yield from _step(step, before))
            separator = "/"
        before = step
    return text


def _is_descendants(step: ast.Step) -> bool:
    return step.axis == "descendant-or-self" and step.test.type == "any-node" and not step.filters


def _step(step: ast.Step, before: ast.Step | None) -> Task[str]:
    test = step.test
    any_node = test.type == "any-node"
    if any_node and not step.filters and step.axis in ("self", "parent"):
        return "." if step.axis == "self" else ".."
    if step.axis == "attribute":
        prefix = "@"
    elif step.axis == "child":
        after_relation = before is not None and before.axis in _RELATIONS and test.type != "text"
        prefix = "child::" if step.explicit or after_relation else ""
    else:
        prefix = f"{step.axis}::"
    text = prefix + _test(test)
    if step.repeat is not None:
        low, high = step.repeat
        text += f"{{{low}}}" if low == high else f"{{{low},{high}}}"
    return text + (yield from _filters(step.filters))


def _test(test: ast.Test) -> str:
    if test.type == "name":
        return name_text(test.name)
    if test.type == "any-name":
        return "*"
    if test.type == "any-node":
        return "node()"
    return f"{test.type}({string_text(test.name) if test.name else ''})"


def _filters(filters: Sequence[ast.Filter]) -> Task[str]:
    text = ""
    for part in filters:
        match part:
            case ast.Index(position):
                text += f"[{position}]"
            case ast.Slice(first, last):
                ends = ["" if end is None else str(end) for end in (first, last)]
                text += f"[{':'.join(ends)}]"
            case ast.Shift(offset):
                text += f"[@{offset:+d}]"
            case ast.Predicate(expr):
                inner: str = yield _expr(expr, 0, relative=False)
                # A bare whole number would be read as an index.
                text += f"[({inner})]" if _is_whole(expr) else f"[{inner}]"
    return text


def _is_whole(expr: ast.Expr) -> bool:
    number = expr.operand if isinstance(expr, ast.Negative) else expr
    return isinstance(number, ast.Num) and isinstance(number.value, int)
