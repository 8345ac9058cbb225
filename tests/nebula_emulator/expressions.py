"""Expressions: parsed by precedence into small objects that evaluate themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .errors import NebulaSemanticError, NebulaSyntaxError
from .lexer import Token, tokens
from .values import (
    BAD_TYPE,
    DIV_BY_ZERO,
    EMPTY,
    UNKNOWN_PROP,
    Edge,
    Vertex,
    equal,
    is_null,
    is_number,
    less,
)

#: Names in scope, by prefix: ``$$``, ``$^``, ``$-``, ``edge``, ``vertex``, variables, tags.
Scope = dict[str, Any]
_COMPARE = ("==", "!=", "<>", "<", "<=", ">", ">=", "=~")
_AGGREGATES = {"count", "sum", "avg", "min", "max", "collect"}
_MAX = 2**63 - 1


class Cursor:
    """A place in the tokens of a statement, with the questions that a parser asks."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.all = tokens(text)
        self.place = 0

    @property
    def token(self) -> Token:
        return self.all[self.place]

    def at(self, *words: str) -> bool:
        """Whether the next tokens are these words or signs."""
        for step, word in enumerate(words):
            token = self.all[min(self.place + step, len(self.all) - 1)]
            if token.type not in ("name", "sign") or str(token.value).upper() != word.upper():
                return False
        return True

    def take(self, *words: str) -> bool:
        """Goes past these words, if they are next."""
        if self.at(*words):
            self.place += len(words)
            return True
        return False

    def need(self, *words: str) -> None:
        """Goes past these words; anything else is a syntax error."""
        if not self.take(*words):
            self.fail()

    def name(self) -> str:
        """An identifier."""
        if self.token.type not in ("name", "quoted"):
            self.fail()
        self.place += 1
        return str(self.all[self.place - 1].value)

    def integer(self) -> int:
        """A whole number, with its sign."""
        negative = self.take("-")
        if self.token.type != "int":
            self.fail()
        value = int(self.next().value)
        return -value if negative else value

    def next(self) -> Token:
        self.place += 1
        return self.all[self.place - 1]

    def fail(self, message: str = "") -> None:
        near = self.text[self.token.offset :][:40]
        raise NebulaSyntaxError(f"{message or 'syntax error'} near `{near}'")

    def listed(self, part: Callable[[], Any]) -> Iterator[Any]:
        """Parts between commas."""
        yield part()
        while self.take(","):
            yield part()


@dataclass(frozen=True)
class Expr:
    """An expression: how the server prints it, and its value in a scope."""

    text: str
    value: Callable[[Scope], Any]
    aggregate: Callable[[list[Scope]], Any] | None = None
    is_literal: bool = False


def parse_expression(cursor: Cursor) -> Expr:
    """The longest expression at the cursor."""
    return _binary(cursor, 0)


def _or(a: Any, b: Any) -> Any:
    if a is True or b is True:
        return True
    return None if is_null(a) or is_null(b) else _truth(a, b, lambda: a or b)


def _and(a: Any, b: Any) -> Any:
    if a is False or b is False:
        return False
    return None if is_null(a) or is_null(b) else _truth(a, b, lambda: a and b)


def _xor(a: Any, b: Any) -> Any:
    return None if is_null(a) or is_null(b) else _truth(a, b, lambda: a != b)


def _truth(a: Any, b: Any, result: Callable[[], Any]) -> Any:
    return result() if isinstance(a, bool) and isinstance(b, bool) else BAD_TYPE


def _not(a: Any) -> Any:
    if is_null(a):
        return None
    return not a if isinstance(a, bool) else BAD_TYPE


def _negate_null(value: Any) -> Any:
    return value if is_null(value) else not value


def _compare(op: str, a: Any, b: Any) -> Any:
    if op == "==":
        return equal(a, b)
    if op in ("!=", "<>"):
        return _negate_null(equal(a, b))
    if op == "<":
        return less(a, b)
    if op == ">":
        return less(b, a)
    if op == "<=":
        return _negate_null(less(b, a))
    if op == ">=":
        return _negate_null(less(a, b))
    raise NebulaSyntaxError(f"the emulator has no operator {op}")


def _in(a: Any, b: Any) -> Any:
    if is_null(a) or is_null(b):
        return None
    if not isinstance(b, list):
        return BAD_TYPE
    found = [equal(a, item) for item in b]
    if True in found:
        return True
    return None if None in found else False


def _strings(test: Callable[[str, str], bool]) -> Callable[[Any, Any], Any]:
    def apply(a: Any, b: Any) -> Any:
        if is_null(a) or is_null(b):
            return None
        return test(a, b) if isinstance(a, str) and isinstance(b, str) else BAD_TYPE

    return apply


def _add(a: Any, b: Any) -> Any:
    if is_null(a) or is_null(b):
        return None
    if isinstance(a, str) and isinstance(b, str):
        return a + b
    if isinstance(a, list) and isinstance(b, list):
        return a + b
    return _arithmetic(lambda: a + b, a, b)


def _arithmetic(result: Callable[[], Any], a: Any, b: Any) -> Any:
    if is_null(a) or is_null(b):
        return None
    if not is_number(a) or not is_number(b):
        return BAD_TYPE
    value = result()
    if isinstance(value, int) and not -_MAX - 1 <= value <= _MAX:
        raise NebulaSemanticError("cannot be represented as an integer")
    return value


def _divide(a: Any, b: Any) -> Any:
    if is_number(b) and b == 0:
        return DIV_BY_ZERO
    if isinstance(a, int) and isinstance(b, int):
        return _arithmetic(lambda: int(a / b), a, b)
    return _arithmetic(lambda: a / b, a, b)


_LEVELS: list[dict[tuple[str, ...], Callable[[Any, Any], Any]]] = [
    {("OR",): _or},
    {("XOR",): _xor},
    {("AND",): _and},
    {},  # NOT
    {
        **{(op,): (lambda a, b, op=op: _compare(op, a, b)) for op in _COMPARE},
        ("NOT", "IN"): lambda a, b: _negate_null(_in(a, b)),
        ("IN",): _in,
        ("CONTAINS",): _strings(lambda a, b: b in a),
        ("NOT", "CONTAINS"): _strings(lambda a, b: b not in a),
        ("STARTS", "WITH"): _strings(str.startswith),
        ("NOT", "STARTS", "WITH"): _strings(lambda a, b: not a.startswith(b)),
        ("ENDS", "WITH"): _strings(str.endswith),
        ("NOT", "ENDS", "WITH"): _strings(lambda a, b: not a.endswith(b)),
    },
    {("+",): _add, ("-",): lambda a, b: _arithmetic(lambda: a - b, a, b)},
    {
        ("*",): lambda a, b: _arithmetic(lambda: a * b, a, b),
        ("/",): _divide,
        ("%",): lambda a, b: DIV_BY_ZERO if b == 0 else _arithmetic(lambda: a % b, a, b),
    },
]


def _binary(cursor: Cursor, level: int) -> Expr:
    if level == len(_LEVELS):
        return _unary(cursor)
    if level == 3:
        if cursor.take("NOT") or cursor.take("!"):
            inner = _binary(cursor, 3)
            return Expr(f"!({inner.text})", lambda scope: _not(inner.value(scope)))
        return _binary(cursor, 4)
    left = _binary(cursor, level + 1)
    while True:
        if level == 4 and cursor.at("IS"):
            left = _is(cursor, left)
            continue
        for words, apply in _LEVELS[level].items():
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
        f"{inner.text} IS {word}{name}", lambda scope: test(inner.value(scope)) is not negative
    )


def _unary(cursor: Cursor) -> Expr:
    if cursor.take("-"):
        inner = _unary(cursor)
        return Expr(
            f"-({inner.text})" if not inner.is_literal else f"-{inner.text}",
            lambda scope: _arithmetic(lambda: -inner.value(scope), inner.value(scope), 0),
            is_literal=inner.is_literal,
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
    return Expr(f"{base.text}.{name}", lambda scope: member(base.value(scope), name))


def member(value: Any, name: str) -> Any:
    """``value.name``: a map's entry, a vertex's tag, an edge's property."""
    if isinstance(value, dict):
        return value.get(name, UNKNOWN_PROP)
    if isinstance(value, Vertex):
        return value.tags.get(name, EMPTY)
    if isinstance(value, Edge):
        special = {
            "_src": value.src,
            "_dst": value.dst,
            "_rank": value.rank,
            "_type": value.name,
        }
        return special.get(name, value.props.get(name, UNKNOWN_PROP))
    if value is EMPTY:
        return EMPTY
    return None if is_null(value) else BAD_TYPE


def _subscript(base: Expr, index: Expr) -> Expr:
    def value(scope: Scope) -> Any:
        container, key = base.value(scope), index.value(scope)
        if isinstance(container, list) and isinstance(key, int):
            return container[key] if -len(container) <= key < len(container) else None
        return member(container, key) if isinstance(key, str) else BAD_TYPE

    return Expr(f"{base.text}[{index.text}]", value)


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
            return Expr(text, lambda _, value=value: value, None, True)
    if token.type not in ("name", "quoted"):
        cursor.fail()
    name = cursor.name()
    if token.type == "name" and cursor.take("("):
        return _call(cursor, name)
    return Expr(name, lambda scope: _named(scope, name))


def _named(scope: Scope, name: str) -> Any:
    if name in scope:
        return scope[name]
    raise NebulaSemanticError(f"`{name}' not found")


def _literal(value: Any) -> Expr:
    if isinstance(value, int) and value > _MAX + 1:
        raise NebulaSyntaxError("Out of range:")
    return Expr(literal_text(value), lambda _: value, None, True)


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

    return Expr(name, value)


def _list(cursor: Cursor) -> Expr:
    items = [] if cursor.at("]") else list(cursor.listed(lambda: parse_expression(cursor)))
    cursor.need("]")
    text = ",".join(item.text for item in items)
    return Expr(f"[{text}]", lambda scope: [item.value(scope) for item in items])


def _map(cursor: Cursor) -> Expr:
    def entry() -> tuple[str, Expr]:
        key = cursor.name()
        cursor.need(":")
        return key, parse_expression(cursor)

    entries = [] if cursor.at("}") else list(cursor.listed(entry))
    cursor.need("}")
    text = ",".join(f"{key}:{item.text}" for key, item in entries)
    return Expr(f"{{{text}}}", lambda scope: {key: item.value(scope) for key, item in entries})


def _call(cursor: Cursor, name: str) -> Expr:
    lower = name.lower()
    distinct = cursor.take("DISTINCT")
    if cursor.take("*"):
        cursor.need(")")
        return Expr(f"{name}(*)", _misplaced, lambda rows: len(rows))
    arguments = [] if cursor.at(")") else list(cursor.listed(lambda: parse_expression(cursor)))
    cursor.need(")")
    text = f"{name}({','.join(a.text for a in arguments)})"
    if lower in _AGGREGATES and len(arguments) == 1:
        return Expr(text, _misplaced, _aggregate(lower, arguments[0], distinct))
    function = _FUNCTIONS.get(lower)
    if function is None:
        raise NebulaSyntaxError(f"Unknown function  near `{name}'")
    return Expr(text, lambda scope: function(*(a.value(scope) for a in arguments)))


def _misplaced(_: Scope) -> Any:
    raise NebulaSemanticError("an aggregate function where no group is")


def _aggregate(name: str, argument: Expr, distinct: bool) -> Callable[[list[Scope]], Any]:
    from .values import freeze, sort_key

    def over(rows: list[Scope]) -> Any:
        values = [argument.value(row) for row in rows]
        values = [v for v in values if not is_null(v) and v is not EMPTY]
        if distinct:
            values = list({freeze(v): v for v in values}.values())
        if name == "count":
            return len(values)
        if name == "collect":
            return values
        if not values:
            return 0 if name == "sum" else None
        if name == "sum":
            return sum(values)
        if name == "avg":
            return sum(values) / len(values)
        return (min if name == "min" else max)(values, key=sort_key)

    return over


def _vid(value: Any) -> Any:
    if isinstance(value, Vertex):
        return value.vid
    return value if is_null(value) or value is EMPTY else BAD_TYPE


def _of_edge(name: str) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        if not isinstance(value, Edge):
            return value if is_null(value) else BAD_TYPE
        if value.reverse and name in ("src", "dst"):
            return value.dst if name == "src" else value.src
        return {"src": value.src, "dst": value.dst, "rank": value.rank, "type": value.name}[name]

    return apply


def _properties(value: Any) -> Any:
    if isinstance(value, Vertex):
        return {k: v for props in value.tags.values() for k, v in props.items()}
    if isinstance(value, Edge):
        return dict(value.props)
    return dict(value) if isinstance(value, dict) else value if is_null(value) else BAD_TYPE


def _on_string(apply: Callable[[str], Any]) -> Callable[[Any], Any]:
    return lambda v: apply(v) if isinstance(v, str) else (None if is_null(v) else BAD_TYPE)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "id": _vid,
    "src": _of_edge("src"),
    "dst": _of_edge("dst"),
    "rank": _of_edge("rank"),
    "type": _of_edge("type"),
    "typeid": _of_edge("type"),
    "properties": _properties,
    "tags": lambda v: sorted(v.tags) if isinstance(v, Vertex) else BAD_TYPE,
    "labels": lambda v: sorted(v.tags) if isinstance(v, Vertex) else BAD_TYPE,
    "lower": _on_string(str.lower),
    "upper": _on_string(str.upper),
    "tolower": _on_string(str.lower),
    "toupper": _on_string(str.upper),
    "length": _on_string(lambda s: len(s.encode())),
    "size": lambda v: len(v) if isinstance(v, (list, dict, str)) else BAD_TYPE,
    "abs": lambda v: abs(v) if is_number(v) else BAD_TYPE,
    "coalesce": lambda *vs: next((v for v in vs if not is_null(v)), None),
}
