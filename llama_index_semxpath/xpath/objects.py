"""Query objects, as a model answers in JSON, to expressions: values never become query text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.schema.json_schema import AXES, OPERATORS
from llama_index_semxpath.text import nfc, shown
from llama_index_semxpath.xpath import ast
from llama_index_semxpath.xpath.operators import MAX_NESTING, combine

_HERE = ast.Path(None, (), (ast.Step("self", ast.Test("any-node")),))


def from_object(query: Mapping[str, Any]) -> ast.Expr:
    """The expression that a query object stands for (``Schema.to_json_schema`` describes it).

    Args:
        query: ``{"steps": [{"axis", "kind", "relation"?, "where"?, "position"?}…], "top"?}``.

    Raises:
        SemXPathError: The object does not follow the JSON Schema; the message names the place.

    Example:
        >>> from llama_index_semxpath.xpath import to_text
        >>> step = {"axis": "descendant", "kind": "Section", "where": [{"about": "leave"}]}
        >>> to_text(from_object({"steps": [step], "top": 3}))
        'top(3, /descendant::Section[. =~ "leave"])'
    """
    record = _record(query, "query", ("steps", "top"))
    steps = tuple(
        step
        for place, item in enumerate(_list(record.get("steps"), "steps"))
        for step in _steps(item, f"steps[{place}]", 0)
    )
    path = ast.Path("root", (), steps)
    top = record.get("top")
    if top is None:
        return path
    if not isinstance(top, int) or isinstance(top, bool) or top < 1:
        _fail("top", "is a whole number from 1")
    return ast.Call("top", (ast.Num(top), path))


def _steps(item: Any, where: str, depth: int) -> list[ast.Step]:
    record = _record(item, where, ("axis", "kind", "relation", "where", "position"))
    axis, kind = record.get("axis"), record.get("kind")
    if axis not in AXES:
        _fail(f"{where}.axis", "is one of " + ", ".join(AXES))
    test = ast.Test("any-name") if kind == "*" else ast.Test("name", _name(kind, f"{where}.kind"))
    conditions = record.get("where")
    filters: list[ast.Filter] = [
        ast.Predicate(_condition(condition, f"{where}.where[{place}]", depth + 1))
        for place, condition in enumerate([] if conditions is None else _any(conditions, where))
    ]
    position = record.get("position")
    if position is not None:
        if not isinstance(position, int) or isinstance(position, bool) or position == 0:
            _fail(f"{where}.position", "is a whole number other than 0")
        filters.append(ast.Index(position))
    if axis not in ("rel", "inv"):
        explicit = axis == "child" and test.type == "name"
        return [ast.Step(axis, test, tuple(filters), explicit=explicit)]
    relation = record.get("relation")
    followed = (
        ast.Test("any-name")
        if relation in (None, "*")
        else ast.Test("name", _name(relation, f"{where}.relation"))
    )
    if test.type == "any-name":
        return [ast.Step(axis, followed, tuple(filters))]
    return [ast.Step(axis, followed), ast.Step("self", test, tuple(filters))]


def _condition(item: Any, where: str, depth: int) -> ast.Expr:
    if depth > MAX_NESTING // 2:
        _fail(where, f"is nested deeper than {MAX_NESTING // 2} levels")
    record = _record(
        item, where, ("attribute", "operator", "value", "about", "contains", "has", "not", "any")
    )
    if "attribute" in record:
        return _attribute_condition(record, where)
    if len(record) != 1:
        _fail(where, "is one of attribute, about, contains, has, not, any")
    ((key, value),) = record.items()
    if key == "about":
        return ast.Binary("=~", _HERE, _text(value, f"{where}.about"))
    if key == "contains":
        return ast.Call("contains", (_HERE, _text(value, f"{where}.contains")))
    if key == "not":
        return ast.Call("not", (_condition(value, f"{where}.not", depth + 1),))
    if key == "any":
        parts = [
            _condition(part, f"{where}.any[{place}]", depth + 1)
            for place, part in enumerate(_list(value, f"{where}.any"))
        ]
        return combine("or", parts)
    if key != "has":
        _fail(where, f"needs an attribute beside {key}")
    steps = tuple(
        step
        for place, part in enumerate(_list(value, f"{where}.has"))
        for step in _steps(part, f"{where}.has[{place}]", depth + 1)
    )
    return ast.Path(None, (), steps)


def _attribute_condition(record: Mapping[str, Any], where: str) -> ast.Expr:
    name = _name(record["attribute"], f"{where}.attribute")
    operator = record.get("operator")
    if operator not in OPERATORS or not set(record) <= {"attribute", "operator", "value"}:
        _fail(f"{where}.operator", "is one of " + ", ".join(OPERATORS))
    path = ast.Path(None, (), (ast.Step("attribute", ast.Test("name", name)),))
    if operator == "exists":
        return path
    if "value" not in record:
        _fail(where, "has no value")
    value = record["value"]
    if operator in ("contains", "starts-with"):
        return ast.Call(operator, (path, _literal(value, f"{where}.value")))
    if operator == "=~":
        return ast.Binary("=~", path, _text(value, f"{where}.value"))
    if operator == "in":
        values = [_literal(one, f"{where}.value") for one in _list(value, f"{where}.value")]
        if not all(isinstance(one, ast.Str | ast.Num) for one in values):
            return combine("or", [ast.Binary("=", path, one) for one in values])
        return ast.Binary("in", path, ast.Items(tuple(values)))
    return ast.Binary(operator, path, _literal(value, f"{where}.value"))


def _literal(value: Any, where: str) -> ast.Expr:
    if isinstance(value, bool):
        return ast.Call("true" if value else "false", ())
    if isinstance(value, int | float) and abs(value) <= 1.7e308:
        return ast.Num(value) if value >= 0 else ast.Negative(ast.Num(-value))
    if not isinstance(value, str):
        _fail(where, "is text, a number, true or false")
    return ast.Str(value)


def _text(value: Any, where: str) -> ast.Str:
    if not isinstance(value, str) or not value.strip():
        _fail(where, "is text")
    return ast.Str(value)


def _name(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value:
        _fail(where, "is a name")
    return nfc(value)


def _list(value: Any, where: str) -> Sequence[Any]:
    found = _any(value, where)
    if not found:
        _fail(where, "has at least one entry")
    return found


def _any(value: Any, where: str) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        _fail(where, "is a list")
    return value


def _record(value: Any, where: str, keys: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        _fail(where, "is an object")
    unknown = [key for key in value if key not in keys]
    if unknown:
        _fail(where, f"has no '{shown(str(unknown[0]))}'; it may have {', '.join(keys)}")
    return value


def _fail(where: str, what: str) -> NoReturn:
    raise SemXPathError(f"in a query object, {where} {what}")
