"""Operators of nGQL on values; NULL and errors spread as the server spreads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import NebulaSemanticError, NebulaSyntaxError
from .values import BAD_TYPE, DIV_BY_ZERO, equal, is_null, is_number, less

COMPARE = ("==", "!=", "<>", "<", "<=", ">", ">=", "=~")
MAX_INT = 2**63 - 1


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


def negation(a: Any) -> Any:
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
    return arithmetic(lambda: a + b, a, b)


def arithmetic(result: Callable[[], Any], a: Any, b: Any) -> Any:
    if is_null(a) or is_null(b):
        return None
    if not is_number(a) or not is_number(b):
        return BAD_TYPE
    value = result()
    if isinstance(value, int) and not -MAX_INT - 1 <= value <= MAX_INT:
        raise NebulaSemanticError("cannot be represented as an integer")
    return value


def _divide(a: Any, b: Any) -> Any:
    if is_number(b) and b == 0:
        return DIV_BY_ZERO
    if isinstance(a, int) and isinstance(b, int):
        return arithmetic(lambda: int(a / b), a, b)
    return arithmetic(lambda: a / b, a, b)


LEVELS: list[dict[tuple[str, ...], Callable[[Any, Any], Any]]] = [
    {("XOR",): _xor},
    {("OR",): _or},
    {("AND",): _and},
    {},  # NOT
    {
        **{(op,): (lambda a, b, op=op: _compare(op, a, b)) for op in COMPARE},
        ("NOT", "IN"): lambda a, b: _negate_null(_in(a, b)),
        ("IN",): _in,
        ("CONTAINS",): _strings(lambda a, b: b in a),
        ("NOT", "CONTAINS"): _strings(lambda a, b: b not in a),
        ("STARTS", "WITH"): _strings(str.startswith),
        ("NOT", "STARTS", "WITH"): _strings(lambda a, b: not a.startswith(b)),
        ("ENDS", "WITH"): _strings(str.endswith),
        ("NOT", "ENDS", "WITH"): _strings(lambda a, b: not a.endswith(b)),
    },
    {("+",): _add, ("-",): lambda a, b: arithmetic(lambda: a - b, a, b)},
    {
        ("*",): lambda a, b: arithmetic(lambda: a * b, a, b),
        ("/",): _divide,
        ("%",): lambda a, b: DIV_BY_ZERO if b == 0 else arithmetic(lambda: a % b, a, b),
    },
]
