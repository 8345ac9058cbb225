"""What the server checks before a statement runs: names, columns and types of expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .errors import NebulaExecutionError, NebulaSemanticError, NebulaSyntaxError
from .expressions import Expr
from .session import Session
from .storage import INTEGERS, Schema

UNKNOWN = "__EMPTY__"
_ENDS = ("$$", "$^")
_LOGIC = {"AND": "&&' or `AND", "OR": "||' or `OR", "XOR": "XOR"}
_ARITHMETIC = ("+", "-", "*", "/", "%")
_RELATIONS = ("==", "!=", "<>", "<", "<=", ">", ">=", "IN", "NOT IN", "STARTS WITH",
              "NOT STARTS WITH")  # fmt: skip
_FULL_TEXT = ("CONTAINS", "NOT CONTAINS", "ENDS WITH", "NOT ENDS WITH")


@dataclass
class Frame:
    """What an expression may name: columns of inputs, and the tags and edge types read."""

    session: Session
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    read: Sequence[str] = ()
    strict: bool = False

    def schema(self, name: str) -> Schema | None:
        space = self.session.spaces.get(self.session.current)
        return None if space is None else space.tags.get(name) or space.edge_types.get(name)


def check(expression: Expr, frame: Frame) -> str:
    """Checks an expression; returns its type, ``__EMPTY__`` where only a run can tell."""
    check_bare(expression, frame)
    _check_names(expression, frame)
    return deduce(expression, frame)


def check_condition(expression: Expr, frame: Frame) -> None:
    """Checks a WHERE clause: what it gives has to be a boolean."""
    found = check(expression, frame)
    if found not in ("BOOL", "NULL", UNKNOWN):
        raise NebulaSemanticError(f"`{expression.text}', expected boolean, but was `{found}'")


def check_lookup(expression: Expr, frame: Frame) -> None:
    """Checks the WHERE clause of LOOKUP: comparisons of a property with a constant, AND, OR."""
    if expression.op in ("AND", "OR"):
        for part in expression.parts:
            check_lookup(part, frame)
        return
    if expression.op in _FULL_TEXT:
        raise NebulaSemanticError(
            f"Expression {expression.text} is not supported, please use full-text index as an "
            "optimal solution"
        )
    sides = [{i.parts[0].name for i in part.walk() if i.op == "member"} & set(frame.read)
             for part in expression.parts]  # fmt: skip
    inputs = expression.refs - {f"${name}" for name in frame.session.parameters}
    if expression.op not in _RELATIONS or len(list(filter(None, sides))) != 1 or inputs:
        raise NebulaSemanticError(f"Expression {expression.text} not supported yet")
    check_condition(expression, frame)
    types = {deduce(part, frame) for part in expression.parts} - {"NULL", UNKNOWN}
    if len(types) > 1 and types != {"INT", "FLOAT"}:
        prop = next(part for part in expression.walk() if part.op == "member")
        raise NebulaSemanticError(f"Column type error : {prop.name}")


def check_unique(columns: Sequence[str]) -> None:
    """Columns that the next statement reads must differ in name."""
    for place, name in enumerate(columns):
        if name in columns[:place]:
            raise NebulaSemanticError(f"Duplicate Column Name : `{name}'")


def check_bare(expression: Expr, frame: Frame) -> None:
    """A variable may stand before a dot only; the server's parser sees to it first."""
    if expression.op == "member" and expression.parts[0].op == "ref":
        return
    is_input = expression.op == "ref" and expression.name not in _ENDS
    if is_input and expression.name[1:] not in frame.session.parameters:
        raise NebulaSyntaxError(f"Direct output of variable is prohibited near `{expression.name}'")
    for part in expression.parts:
        check_bare(part, frame)


def _check_names(expression: Expr, frame: Frame) -> None:
    if expression.op == "member":
        base = expression.parts[0]
        if base.op == "member" and base.parts[0].name in _ENDS:
            _check_tag(expression, base.name, frame)
            return
        if base.op == "ref" and base.name not in _ENDS:
            _check_column(expression, base.name, frame)
            return
        if base.op == "name":
            _check_property(expression, base.name, frame)
            return
    for part in expression.parts:
        _check_names(part, frame)


def _check_tag(expression: Expr, tag: str, frame: Frame) -> None:
    space = frame.session.spaces.get(frame.session.current)
    schema = space.tags.get(tag) if space else None
    if schema is None:
        raise NebulaExecutionError(f"TagNotFound: TagName `{tag}`")
    if expression.name not in schema.properties:
        raise NebulaSemanticError(
            f"`{expression.text}', not found the property `{expression.name}'."
        )


def _check_column(expression: Expr, name: str, frame: Frame) -> None:
    if name[1:] in frame.session.parameters and name not in frame.columns:
        return
    if expression.name not in frame.columns.get(name, ()):
        raise NebulaSemanticError(f"`{expression.text}', not exist prop `{expression.name}'")


def _check_property(expression: Expr, name: str, frame: Frame) -> None:
    schema = frame.schema(name)
    if schema is None and frame.read and name not in ("vertex", "edge"):
        is_tag = any(read in frame.session.space.tags for read in frame.read)
        what = "TagNotFound: TagName" if is_tag else "EdgeNotFound: EdgeName"
        raise NebulaExecutionError(f"{what} `{name}`")
    if schema is None or expression.name.startswith("_"):
        return
    if frame.strict and name not in frame.read:
        raise NebulaSemanticError(f"Schema name error : {name}")
    if name in frame.read and expression.name not in schema.properties:
        raise NebulaSemanticError(
            f"`{expression.text}', not found the property `{expression.name}'."
        )


def deduce(expression: Expr, frame: Frame) -> str:
    """The type of an expression.

    Raises:
        NebulaSemanticError: Its parts can never be combined, or a constant is divided by zero.
    """
    if expression.op == "literal":
        return _of_constant(expression.value({}))
    if expression.op == "member":
        return _of_property(expression, frame)
    types = [deduce(part, frame) for part in expression.parts]
    if expression.op == "minus":
        return types[0]
    if expression.op in _LOGIC:
        if any(found not in ("BOOL", "NULL", UNKNOWN) for found in types):
            _refuse(expression, _LOGIC[expression.op], types)
        return "BOOL"
    if expression.op in _ARITHMETIC:
        return _of_arithmetic(expression, types)
    if expression.op in ("is", "not", *_RELATIONS, *_FULL_TEXT):
        return "BOOL"
    return UNKNOWN


def _of_constant(value: object) -> str:
    names = {bool: "BOOL", int: "INT", float: "FLOAT", str: "STRING", type(None): "NULL"}
    return names.get(type(value), UNKNOWN)


def _of_property(expression: Expr, frame: Frame) -> str:
    base = expression.parts[0]
    owner = base.name if base.op in ("name", "member") else ""
    if base.op == "member" and base.parts[0].name not in _ENDS:
        return UNKNOWN
    schema = frame.schema(owner)
    prop = schema.properties.get(expression.name) if schema else None
    if prop is None:
        return UNKNOWN
    if prop.type in INTEGERS:
        return "INT"
    return {"double": "FLOAT", "float": "FLOAT", "bool": "BOOL"}.get(prop.type, "STRING")


def _of_arithmetic(expression: Expr, types: Sequence[str]) -> str:
    numbers = ("INT", "FLOAT", "NULL", UNKNOWN)
    if expression.op == "+" and "STRING" in types:
        return "STRING"
    if any(found not in numbers for found in types):
        _refuse(expression, expression.op, types)
    divisor = expression.parts[1]
    if expression.op in "/%" and divisor.op == "literal" and divisor.value({}) == 0:
        raise NebulaSemanticError("Divide by 0")
    if UNKNOWN in types or "NULL" in types:
        return UNKNOWN
    return "FLOAT" if "FLOAT" in types else "INT"


def _refuse(expression: Expr, op: str, types: Sequence[str]) -> None:
    sides = " and ".join(f"`{found}'" for found in types)
    kind = " operator" if " or " in op else ""
    raise NebulaSemanticError(
        f"`{expression.text}' is not a valid expression, can not apply `{op}'{kind} to {sides}."
    )
