"""Rewriting a checked query: small passes, each of which leaves every result as it is.

A pass is a function from expression to expression, applied to each part of a query from the inside
out. ``RULES`` is their order and their documentation; fixtures with the text before and after
stand in ``tests/xpath/rules``. Positions decide what may move: they count the nodes that passed
the filters before them, per context node, so nothing moves across one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import is_

from llama_index_semxpath.xpath import ast
from llama_index_semxpath.xpath.operators import chain, combine
from llama_index_semxpath.xpath.positions import MIRROR, position_filter
from llama_index_semxpath.xpath.printer import to_text
from llama_index_semxpath.xpath.types import is_graded, type_of
from llama_index_semxpath.xpath.visit import transform

_REVERSE = frozenset(("ancestor", "ancestor-or-self", "preceding", "preceding-sibling", "parent"))
#: Whole numbers up to here are exact as doubles, so that folding them cannot change a result.
_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class Rule:
    """A pass: its name, what it does, and the function for one part of a query."""

    name: str
    summary: str
    apply: Callable[[ast.Expr], ast.Expr]


def rewrite(expr: ast.Expr) -> tuple[ast.Expr, tuple[str, ...]]:
    """Applies every rule until none changes anything.

    Args:
        expr: A checked expression (``check``).

    Returns:
        The rewritten expression and the names of the rules that changed it, in order.

    Example:
        >>> from llama_index_semxpath.xpath import parse, to_text
        >>> new, names = rewrite(parse("//Row[count(Cell) > 0]"))
        >>> to_text(new), names
        ('/descendant::Row[Cell]', ('exists', 'plain-conditions', 'descendant'))
    """
    applied: dict[str, None] = {}

    def simplified(part: ast.Expr) -> ast.Expr:
        for _ in RULES:
            before = part
            for rule in RULES:
                changed = rule.apply(part)
                if changed is not part:
                    applied[rule.name] = None
                    part = changed
            if part is before:
                break
        return part

    for _ in RULES:
        before, expr = expr, transform(expr, simplified)
        if expr is before:
            break
    return expr, tuple(applied)


def nested_paths(expr: ast.Expr) -> ast.Expr:
    """``(a/b)/c`` is ``a/b/c``: parentheses count only where a filter follows them."""
    if not isinstance(expr, ast.Path) or expr.filters or not isinstance(expr.start, ast.Path):
        return expr
    inner = expr.start
    steps = _joined(inner.steps + expr.steps)
    return replace(expr, start=inner.start, filters=inner.filters, steps=steps)


def self_steps(expr: ast.Expr) -> ast.Expr:
    """``a/./b`` is ``a/b``."""
    if not isinstance(expr, ast.Path):
        return expr
    kept = [step for step in expr.steps if not _is_plain(step, "self")]
    if len(kept) == len(expr.steps) or (expr.start is None and not kept):
        return expr
    if not kept and not expr.filters and expr.start is not None and expr.start != "root":
        return expr.start
    return replace(expr, steps=_joined(kept))


def constants(expr: ast.Expr) -> ast.Expr:
    """Arithmetic and comparisons of whole numbers, ``true()`` and ``false()`` are worked out."""
    if isinstance(expr, ast.Negative) and isinstance(expr.operand, ast.Negative):
        inner = expr.operand.operand
        return inner if isinstance(inner, ast.Num) else expr
    if isinstance(expr, ast.Call) and expr.name == "not" and len(expr.args) == 1:
        truth = _truth(expr.args[0])
        return expr if truth is None else _boolean(not truth, expr.span)
    if not isinstance(expr, ast.Binary):
        return expr
    if expr.op in ("and", "or"):
        return _short_circuit(expr)
    left, right = _whole(expr.left), _whole(expr.right)
    return expr if left is None or right is None else _folded(expr, left, right)


def not_not(expr: ast.Expr) -> ast.Expr:
    """``not(not(c))`` is ``c`` as a truth value; scores are left alone, for rounding's sake."""
    inner = _negated(expr)
    twice = None if inner is None else _negated(inner)
    if twice is None or is_graded(twice):
        return expr
    return _condition(twice)


def exists(expr: ast.Expr) -> ast.Expr:
    """``count(p) > 0`` asks whether there is any ``p``; ``count(p) = 0`` whether there is none."""
    if not isinstance(expr, ast.Binary) or expr.op not in MIRROR:
        return expr
    op, call, number = expr.op, expr.left, _whole(expr.right)
    if number is None:
        op, call, number = MIRROR[expr.op], expr.right, _whole(expr.left)
    counts = isinstance(call, ast.Call) and call.name == "count" and len(call.args) == 1
    if number is None or not counts or is_graded(call):
        return expr
    assert isinstance(call, ast.Call)
    if (op, number) in ((">", 0), (">=", 1), ("!=", 0)):
        return ast.Call("boolean", call.args, expr.span)
    if (op, number) in (("=", 0), ("<", 1), ("<=", 0)):
        return ast.Call("not", call.args, expr.span)
    return expr


def membership(expr: ast.Expr) -> ast.Expr:
    """``x = "a" or x = "b"`` is ``x in ("a", "b")``; a list of one is an equation."""
    if isinstance(expr, ast.Binary) and expr.op == "in":
        items = expr.right
        if isinstance(items, ast.Items) and len(items.values) == 1:
            return replace(expr, op="=", right=items.values[0])
        return expr
    if not isinstance(expr, ast.Binary) or expr.op != "or":
        return expr
    parts = chain("or", expr)
    subjects = [_subject(part) for part in parts]
    groups: dict[str, list[ast.Expr]] = {}
    for part, subject in zip(parts, subjects, strict=True):
        groups.setdefault(subject, []).append(part)
    if all(len(group) == 1 for subject, group in groups.items() if subject):
        return expr
    kept: list[ast.Expr] = []
    for part, subject in zip(parts, subjects, strict=True):
        members = groups[subject]
        if not subject or len(members) == 1:
            kept.append(part)
        elif part is members[0]:
            values = dict.fromkeys(value for member in members for value in _values(member))
            items = ast.Items(tuple(values), span=part.span)
            assert isinstance(part, ast.Binary)
            kept.append(replace(part, op="in", right=items))
    return combine("or", kept)


def plain_conditions(expr: ast.Expr) -> ast.Expr:
    """``[boolean(p)]`` is ``[p]``, ``boolean(a = b)`` is ``a = b``, ``[true()]`` says nothing."""
    if isinstance(expr, ast.Call) and expr.name == "boolean" and len(expr.args) == 1:
        return expr.args[0] if type_of(expr.args[0]) == "boolean" else expr
    return _each_filter(expr, _plain_filters)


def positions(expr: ast.Expr) -> ast.Expr:
    """``[position() = 2]``, ``[last()]``, ``[position() <= 3]`` become an index or a slice."""
    return _each_filter(expr, _positional_filters)


def split_and(expr: ast.Expr) -> ast.Expr:
    """``[a and b]`` is ``[a][b]`` for hard conditions that do not look at positions."""
    return _each_filter(expr, _split_filters)


def hard_first(expr: ast.Expr) -> ast.Expr:
    """Between two positions, hard conditions come before graded ones, which cost more."""
    return _each_filter(expr, _ordered_filters)


def descendant(expr: ast.Expr) -> ast.Expr:
    """``//a`` is ``/descendant::a`` unless a filter of ``a`` looks at positions."""
    if not isinstance(expr, ast.Path):
        return expr
    kept: list[ast.Step] = []
    for step in expr.steps:
        merged = bool(kept) and _is_plain(kept[-1], "descendant-or-self")
        if merged and step.axis in _BELOW and step.test.type != "text" and _free(step.filters):
            step = replace(step, axis=_BELOW[step.axis], explicit=False)
            kept.pop()
        kept.append(step)
    return expr if len(kept) == len(expr.steps) else replace(expr, steps=tuple(kept))


#: What an axis is behind ``descendant-or-self::node()``.
_BELOW: dict[ast.Axis, ast.Axis] = {
    "child": "descendant",
    "descendant": "descendant",
    "self": "descendant-or-self",
    "descendant-or-self": "descendant-or-self",
}

RULES: tuple[Rule, ...] = tuple(
    Rule(apply.__name__.replace("_", "-"), (apply.__doc__ or "").strip(), apply)
    for apply in (
        nested_paths,
        self_steps,
        constants,
        not_not,
        exists,
        membership,
        plain_conditions,
        positions,
        split_and,
        hard_first,
        descendant,
    )
)


# Filters


def _each_filter(
    expr: ast.Expr, change: Callable[[tuple[ast.Filter, ...], bool], tuple[ast.Filter, ...]]
) -> ast.Expr:
    """A path with every run of filters changed; the flag tells a reverse axis."""
    if not isinstance(expr, ast.Path):
        return expr
    filters = _changed(expr.filters, change(expr.filters, False)) if expr.filters else ()
    steps: list[ast.Step] = []
    for step in expr.steps:
        if step.filters:
            new = _changed(step.filters, change(step.filters, step.axis in _REVERSE))
            step = step if new is step.filters else replace(step, filters=new)
        steps.append(step)
    if filters is expr.filters and all(map(is_, steps, expr.steps)):
        return expr
    if not filters and not steps and expr.start is not None and expr.start != "root":
        return expr.start
    return replace(expr, filters=filters, steps=tuple(steps))


def _changed(old: tuple[ast.Filter, ...], new: tuple[ast.Filter, ...]) -> tuple[ast.Filter, ...]:
    """The old filters where the new ones are the same objects."""
    return old if len(old) == len(new) and all(map(is_, old, new)) else new


def _plain_filters(filters: Sequence[ast.Filter], _: bool) -> tuple[ast.Filter, ...]:
    found: list[ast.Filter] = []
    for part in filters:
        if isinstance(part, ast.Predicate):
            if _truth(part.expr) is True:
                continue
            inner = part.expr
            is_boolean = isinstance(inner, ast.Call) and inner.name == "boolean"
            if is_boolean and isinstance(inner, ast.Call) and type_of(inner.args[0]) == "nodes":
                # A bare graded path would bring the score of its evidence in.
                part = part if is_graded(inner) else replace(part, expr=inner.args[0])
        found.append(part)
    return tuple(found)


def _positional_filters(filters: Sequence[ast.Filter], reverse: bool) -> tuple[ast.Filter, ...]:
    found: list[ast.Filter] = []
    for part in filters:
        new = position_filter(part.expr, part.span) if isinstance(part, ast.Predicate) else None
        usable = new is not None and not (reverse and isinstance(new, ast.Slice))
        found.append(new if new is not None and usable else part)
    return tuple(found)


def _split_filters(filters: Sequence[ast.Filter], _: bool) -> tuple[ast.Filter, ...]:
    found: list[ast.Filter] = []
    for part in filters:
        parts: list[ast.Expr] = []
        if isinstance(part, ast.Predicate):
            parts = chain("and", part.expr)
        # The cheap test stands first: a query of many nested predicates asks it at every level.
        splits = len(parts) > 1 and not any(_counts(one) for one in parts)
        if splits and not any(is_graded(one) for one in parts):
            found.extend(ast.Predicate(_condition(one), one.span) for one in parts)
        else:
            found.append(part)
    return tuple(found)


def _ordered_filters(filters: Sequence[ast.Filter], _: bool) -> tuple[ast.Filter, ...]:
    if len(filters) < 2:
        return tuple(filters)
    found: list[ast.Filter] = []
    waiting: list[ast.Filter] = []  # graded conditions since the last position
    for part in filters:
        if not _free((part,)):
            found += [*waiting, part]
            waiting = []
        elif isinstance(part, ast.Predicate) and is_graded(part.expr):
            waiting.append(part)
        else:
            found.append(part)
    return (*found, *waiting)


def _free(filters: Sequence[ast.Filter]) -> bool:
    """Whether no filter looks at positions or leaves the nodes that it gets."""
    return all(
        isinstance(part, ast.Predicate)
        and type_of(part.expr) not in ("number", "unknown")
        and not _counts(part.expr)
        for part in filters
    )


def _counts(expr: ast.Expr) -> bool:
    """Whether an expression uses ``position()`` or ``last()`` of its own context."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Call(name, args):
                if name in ("position", "last"):
                    return True
                waiting.extend(args)
            case ast.Binary(_, left, right):
                waiting += [left, right]
            case ast.Negative(operand):
                waiting.append(operand)
            case ast.Items(values):
                waiting.extend(values)
            case ast.Path(start) if start is not None and start != "root":
                waiting.append(start)
    return False


# Parts


def _joined(steps: Sequence[ast.Step]) -> tuple[ast.Step, ...]:
    """Steps that came together: behind a relation a bare name would test the node reached."""
    joined = list(steps[:1])
    for before, step in pairwise(steps):
        moved = before.axis in ("rel", "inv") and step.axis == "child" and step.test.type == "name"
        joined.append(replace(step, explicit=True) if moved else step)
    return tuple(joined)


def _is_plain(step: ast.Step, axis: ast.Axis) -> bool:
    return step.axis == axis and step.test.type == "any-node" and not step.filters


def _whole(expr: ast.Expr) -> int | None:
    """The value of a whole number, with its sign."""
    if isinstance(expr, ast.Negative):
        inner = _whole(expr.operand) if isinstance(expr.operand, ast.Num) else None
        return None if inner is None else -inner
    if isinstance(expr, ast.Num) and abs(expr.value) <= _EXACT and expr.value == int(expr.value):
        return int(expr.value)
    return None


def _folded(expr: ast.Binary, left: int, right: int) -> ast.Expr:
    truth = {
        "=": left == right,
        "!=": left != right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }.get(expr.op)
    if truth is not None:
        return _boolean(truth, expr.span)
    result: int | None = None
    if expr.op in ("+", "-", "*"):
        result = {"+": left + right, "-": left - right, "*": left * right}[expr.op]
    elif right and expr.op == "div" and left % right == 0:
        result = left // right
    elif right and expr.op == "mod":
        result = abs(left) % abs(right) * (-1 if left < 0 else 1)
    # 0 div -1 and 0 * -1 are the negative zero, which a whole number cannot be.
    if result is None or abs(result) > _EXACT or (result == 0 and min(left, right) < 0):
        return expr
    number = ast.Num(abs(result), expr.span)
    return number if result >= 0 else ast.Negative(number, expr.span)


def _boolean(value: bool, span: ast.Span) -> ast.Call:
    return ast.Call("true" if value else "false", (), span)


def _truth(expr: ast.Expr) -> bool | None:
    if isinstance(expr, ast.Call) and not expr.args and expr.name in ("true", "false"):
        return expr.name == "true"
    return None


def _short_circuit(expr: ast.Binary) -> ast.Expr:
    decisive = expr.op == "or"
    kept: list[ast.Expr] = []
    for part in chain(expr.op, expr):
        truth = _truth(part)
        if truth is decisive:
            return _boolean(decisive, expr.span)
        if truth is None:
            kept.append(part)
    if not kept:
        return _boolean(not decisive, expr.span)
    if len(kept) == len(chain(expr.op, expr)):
        return expr
    return combine(expr.op, kept) if len(kept) > 1 else _condition(kept[0])


def _condition(expr: ast.Expr) -> ast.Expr:
    """An expression as a truth value, where it is not one yet."""
    if type_of(expr) in ("boolean", "score"):
        return expr
    return ast.Call("boolean", (expr,), expr.span)


def _negated(expr: ast.Expr) -> ast.Expr | None:
    if isinstance(expr, ast.Call) and expr.name == "not" and len(expr.args) == 1:
        return expr.args[0]
    return None


def _subject(expr: ast.Expr) -> str:
    """The path that an equation or membership with literals is about, as text; else nothing."""
    if not isinstance(expr, ast.Binary) or not isinstance(expr.left, ast.Path):
        return ""
    return to_text(expr.left) if _values(expr) and not _counts(expr.left) else ""


def _values(expr: ast.Expr) -> tuple[ast.Expr, ...]:
    if not isinstance(expr, ast.Binary):
        return ()
    if expr.op == "=" and isinstance(expr.right, ast.Str | ast.Num):
        return (expr.right,)
    if expr.op == "in" and isinstance(expr.right, ast.Items):
        values = expr.right.values
        return values if all(isinstance(v, ast.Str | ast.Num) for v in values) else ()
    return ()
