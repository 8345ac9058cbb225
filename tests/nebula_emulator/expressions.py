"""Expressions: parsed by precedence into small objects that evaluate themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .cursor import Cursor
from .errors import NebulaSemanticError, NebulaSyntaxError
from .functions import AGGREGATES, FUNCTIONS, Scope, aggregate, member
from .operators import LEVELS, MAX_INT, arithmetic, negation
from .values import BAD_TYPE, EMPTY, Vertex, is_null

_NOT, _RELATIONS = 3, 4
_LITERALS = ("string", "int", "float")
_AFTER = frozenset((",", ")", ":", "->", "@", ";"))


@dataclass(frozen=True)
class Expr:
    """An expression: how the server prints it, and its value in a scope.

    ``op`` and ``parts`` say how it is made, for the checks before a statement runs: ``literal``,
    ``ref`` (``$-``, ``$$``, a variable), ``name``, ``member``, ``call``, ``is``, ``not``, ``minus``
    or the operator itself; ``name`` is the name that a ref, name, member or call bears.
    """

    text: str
    value: Callable[[Scope], Any]
    aggregate: Callable[[list[Scope]], Any] | None = None
    op: str = ""
    parts: tuple[Expr, ...] = ()
    name: str = ""

    def walk(self) -> Iterator[Expr]:
        """This expression and all inside it."""
        yield self
        for part in self.parts:
            yield from part.walk()

    @property
    def refs(self) -> set[str]:
        """The ``$`` names in it."""
        return {inner.name for inner in self.walk() if inner.op == "ref"}


def parse_expression(cursor: Cursor) -> Expr:
    """The longest expression at the cursor."""
    token = cursor.token
    if token.type in _LITERALS:
        following = cursor.all[cursor.place + 1]
        if following.type == "sign" and following.value in _AFTER:
            # The values of an INSERT, of which there are many.
            cursor.place += 1
            return _literal(token.value)
    return _binary(cursor, 0)


def _binary(cursor: Cursor, level: int) -> Expr:
    if level == len(LEVELS):
        return _unary(cursor)
    if level == _NOT:
        if cursor.take("NOT") or cursor.take("!"):
            inner = _binary(cursor, _NOT)
            return Expr(
                f"!({inner.text})",
                lambda scope: negation(inner.value(scope)),
                op="not",
                parts=(inner,),
            )
        return _binary(cursor, _RELATIONS)
    left = _binary(cursor, level + 1)
    while True:
        if level == _RELATIONS and cursor.at("IS"):
            left = _is(cursor, left)
            continue
        for words, apply in LEVELS[level].items():
            if cursor.take(*words):
                left = _operation(left, " ".join(words), apply, _binary(cursor, level + 1))
                break
        else:
            return left


def _operation(left: Expr, op: str, apply: Callable[[Any, Any], Any], right: Expr) -> Expr:
    spaced = f" {op} " if op[0].isalpha() else op
    return Expr(
        f"({left.text}{spaced}{right.text})",
        lambda scope: apply(left.value(scope), right.value(scope)),
        _joined(left, right, apply),
        op,
        (left, right),
    )


def _joined(left: Expr, right: Expr, apply: Callable[[Any, Any], Any]) -> Any:
    if left.aggregate is None and right.aggregate is None:
        return None

    def over(rows: list[Scope]) -> Any:
        first = rows[0] if rows else {}
        sides = [e.aggregate(rows) if e.aggregate else e.value(first) for e in (left, right)]
        return apply(*sides)

    return over


def _is(cursor: Cursor, inner: Expr) -> Expr:
    cursor.need("IS")
    negative = cursor.take("NOT")
    if cursor.take("NULL"):
        test, name = is_null, "NULL"
    else:
        cursor.need("EMPTY")
        test, name = (lambda value: value is EMPTY), "EMPTY"
    word = "NOT " if negative else ""
    return Expr(
        f"{inner.text} IS {word}{name}",
        lambda scope: test(inner.value(scope)) is not negative,
        op="is",
        parts=(inner,),
    )


def _unary(cursor: Cursor) -> Expr:
    if cursor.take("-"):
        inner = _unary(cursor)
        if inner.text == str(MAX_INT + 1):
            return Expr(f"-{inner.text}", lambda _: -MAX_INT - 1, op="literal")
        return Expr(
            f"-({inner.text})",
            lambda scope: arithmetic(lambda: -inner.value(scope), inner.value(scope), 0),
            op="minus",
            parts=(inner,),
        )
    if cursor.take("+"):
        return _unary(cursor)
    return _postfix(cursor, _primary(cursor))


def _postfix(cursor: Cursor, base: Expr) -> Expr:
    while True:
        if cursor.at("."):
            cursor.need(".")
            base = _member(base, cursor.name())
        elif cursor.at("["):
            cursor.need("[")
            index = parse_expression(cursor)
            cursor.need("]")
            base = _subscript(base, index)
        else:
            return base


def _member(base: Expr, name: str) -> Expr:
    return Expr(
        f"{base.text}.{name}",
        lambda scope: member(base.value(scope), name),
        op="member",
        parts=(base,),
        name=name,
    )


def _subscript(base: Expr, index: Expr) -> Expr:
    def value(scope: Scope) -> Any:
        container, key = base.value(scope), index.value(scope)
        if isinstance(container, list) and isinstance(key, int):
            return container[key] if -len(container) <= key < len(container) else None
        return member(container, key) if isinstance(key, str) else BAD_TYPE

    return Expr(f"{base.text}[{index.text}]", value, op="subscript", parts=(base, index))


def literal_text(value: Any) -> str:
    """A value as the server prints it in a column name."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def _primary(cursor: Cursor) -> Expr:
    token = cursor.token
    if token.type in ("int", "float", "string"):
        cursor.next()
        return _literal(token.value)
    if token.type == "ref":
        return _reference(cursor)
    if cursor.take("("):
        inner = parse_expression(cursor)
        cursor.need(")")
        return inner
    if cursor.take("["):
        return _list(cursor)
    if cursor.take("{"):
        return _map(cursor)
    for word, value in (("TRUE", True), ("FALSE", False), ("NULL", None)):
        if cursor.take(word):
            text = word if value is None else word.lower()
            return Expr(text, lambda _, value=value: value, op="literal")
    if token.type not in ("name", "quoted"):
        cursor.fail()
    name = cursor.name()
    if token.type == "name" and cursor.take("("):
        return _call(cursor, name)
    if name.lower() in ("edge", "vertex"):
        name = name.lower()
    return Expr(name, lambda scope: _named(scope, name), op="name", name=name)


def _named(scope: Scope, name: str) -> Any:
    if name in scope:
        return scope[name]
    raise NebulaSemanticError(f"`{name}' not found")


def _literal(value: Any) -> Expr:
    if isinstance(value, int) and value > MAX_INT + 1:
        raise NebulaSyntaxError("Out of range:")
    return Expr(literal_text(value), lambda _: value, op="literal")


def _reference(cursor: Cursor) -> Expr:
    token = cursor.next()
    name = str(token.value)

    def value(scope: Scope) -> Any:
        if name in scope:
            return scope[name]
        parameters = scope["$parameters"]
        if name[1:] in parameters:
            return parameters[name[1:]]
        raise NebulaSyntaxError(f"Direct output of variable is prohibited near `{name}'")

    return Expr(name, value, op="ref", name=name)


def _list(cursor: Cursor) -> Expr:
    items = [] if cursor.at("]") else list(cursor.listed(lambda: parse_expression(cursor)))
    cursor.need("]")
    text = ",".join(item.text for item in items)
    return Expr(
        f"[{text}]",
        lambda scope: [item.value(scope) for item in items],
        op="list",
        parts=tuple(items),
    )


def _map(cursor: Cursor) -> Expr:
    def entry() -> tuple[str, Expr]:
        key = cursor.name()
        cursor.need(":")
        return key, parse_expression(cursor)

    entries = [] if cursor.at("}") else list(cursor.listed(entry))
    cursor.need("}")
    text = ",".join(f"{key}:{item.text}" for key, item in entries)
    return Expr(
        f"{{{text}}}",
        lambda scope: {key: item.value(scope) for key, item in entries},
        op="map",
        parts=tuple(item for _, item in entries),
    )


def _call(cursor: Cursor, name: str) -> Expr:
    lower = name.lower()
    distinct = cursor.take("DISTINCT")
    if cursor.take("*"):
        if lower != "count":
            cursor.fail("Could not apply aggregation function on `*`")
        cursor.need(")")
        return Expr(f"{name}(*)", _misplaced, len, "call", (), lower)
    arguments = [] if cursor.at(")") else list(cursor.listed(lambda: parse_expression(cursor)))
    cursor.need(")")
    word = "distinct " if distinct else ""
    text = f"{name}({word}{','.join(a.text for a in arguments)})"
    if lower in AGGREGATES and len(arguments) == 1:
        over = aggregate(lower, arguments[0].value, distinct)
        return Expr(text, _misplaced, over, "call", tuple(arguments), lower)
    function = FUNCTIONS.get(lower)
    if function is None:
        raise NebulaSyntaxError(f"Unknown function  near `{name}'")
    return Expr(
        text,
        lambda scope: function(*(a.value(scope) for a in arguments)),
        op="call",
        parts=tuple(arguments),
        name=lower,
    )


def _misplaced(_: Scope) -> Any:
    raise NebulaSemanticError("an aggregate function where no group is")


def as_vertex(value: Any) -> Any:
    """The id of what an expression of a vertex id gave."""
    return value.vid if isinstance(value, Vertex) else value
