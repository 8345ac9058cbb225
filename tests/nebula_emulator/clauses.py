"""The parts that statements share: inputs, WHERE, YIELD, RETURN, ORDER BY, LIMIT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .checks import Frame, check, check_condition, check_lookup, check_unique
from .cursor import Cursor
from .errors import NebulaExecutionError, NebulaSemanticError
from .expressions import Expr, as_vertex, parse_expression
from .functions import Scope
from .session import Run, Session, Table
from .values import EMPTY, Edge, Vertex, freeze, is_null, sort_key

Output = Callable[[Session, list[Scope]], Table]
_ENDS = {"$$", "$^"}


def base_scope(session: Session) -> Scope:
    """What every expression can name: parameters."""
    return {"$parameters": session.parameters}


def vertex_scope(session: Session, vertex: Vertex, tags: Sequence[str]) -> Scope:
    """A vertex as ``FETCH`` and ``LOOKUP`` see it: tags by name, and ``vertex``."""
    scope = base_scope(session)
    shown = {tag: props for tag, props in vertex.tags.items() if tag in tags}
    scope["vertex"] = Vertex(vertex.vid, shown)
    for tag in session.space.tags:
        scope[tag] = shown.get(tag, EMPTY)
    return scope


def edge_scope(session: Session, edge: Edge) -> Scope:
    """An edge as statements see it: its type by name, and ``edge``."""
    scope = base_scope(session)
    scope["edge"] = edge
    scope[edge.name] = edge
    return scope


# -- inputs -----------------------------------------------------------------------------------


class Input:
    """The rows that a statement reads besides the graph: ``$-`` before it, or a variable."""

    def __init__(self, refs: set[str], before: Run | None) -> None:
        self.refs = refs - _ENDS
        self.before = before
        self._table: Table | None = None

    def name(self, session: Session) -> str:
        """``$-``, ``$variable`` or ``""``; there can be one only."""
        names = {ref for ref in self.refs if ref[1:] not in session.parameters}
        if len(names) > 1:
            raise NebulaSemanticError("Not support both input and variable.")
        return names.pop() if names else ""

    def table(self, session: Session) -> Table | None:
        """The input's table, run once; ``None`` for none."""
        name = self.name(session)
        if name == "$-" and self.before is not None:
            self._table = self.before(session)
        elif name in session.variables:
            self._table = session.variables[name]
        else:
            return None
        check_unique(self._table.columns)
        return self._table

    def frame(self, session: Session, table: Table | None, read: Sequence[str] = ()) -> Frame:
        """What expressions may name."""
        columns = {} if table is None else {self.name(session): table.columns}
        return Frame(session, columns, read)

    def rows(self, session: Session, table: Table | None) -> list[Scope]:
        """A scope for each row of the input; one without columns where there is none."""
        base = base_scope(session)
        if table is None:
            return [base]
        name = self.name(session)
        return [{**base, name: dict(zip(table.columns, row, strict=True))} for row in table.rows]


class Starts:
    """Vertex ids: literals, or an expression of an input's columns."""

    def __init__(self, parts: list[Expr]) -> None:
        self.parts = parts
        self.refs = set().union(*(part.refs for part in parts))

    def pairs(self, session: Session, rows: list[Scope]) -> list[tuple[Any, Scope]]:
        """Each id with the row that it comes from."""
        values = [(as_vertex(part.value(row)), row) for row in rows for part in self.parts]
        return [(session.space.check_vid(v), row) for v, row in values if v is not EMPTY]

    def check_columns(self) -> None:
        """DELETE takes literals and columns, no functions of them."""
        for part in self.parts:
            if part.refs and part.op != "member":
                raise NebulaSemanticError(f"`{part.text}' is not an evaluable expression.")


def starts(cursor: Cursor, *, single: bool = False) -> Starts:
    """Vertex ids; the server takes no parameter there."""
    parts = [vid(cursor)]
    while not single and cursor.take(","):
        parts.append(vid(cursor))
        if cursor.at("->"):
            cursor.fail("the emulator takes one edge or many vertices")
    return Starts(parts)


def vid(cursor: Cursor) -> Expr:
    """A vertex id: a literal, or an expression of an input's columns."""
    place = cursor.place
    part = parse_expression(cursor)
    if part.op == "ref" and part.name not in ("$-", *_ENDS):
        cursor.place = place
        cursor.fail("Parameter is not supported in vid")
    return part


# -- conditions and columns -------------------------------------------------------------------


class Where:
    """A WHERE clause, or none."""

    def __init__(self, condition: Expr | None) -> None:
        self.condition = condition
        self.refs = condition.refs if condition else set()

    def check(self, frame: Frame, *, lookup: bool = False) -> None:
        if self.condition is not None:
            (check_lookup if lookup else check_condition)(self.condition, frame)

    def __call__(self, scope: Scope) -> bool:
        if self.condition is None:
            return True
        found = self.condition.value(scope)
        if isinstance(found, bool) or is_null(found) or found is EMPTY:
            return found is True
        raise NebulaExecutionError(
            f"Failed to evaluate condition: {self.condition.text}. For boolean conditions, please "
            "write in their full forms like <condition> == <true/false> or <condition> IS [NOT] "
            "NULL."
        )


def where(cursor: Cursor) -> Where:
    """A WHERE clause, if there is one."""
    if not cursor.take("WHERE"):
        return Where(None)
    place, condition = cursor.place, parse_expression(cursor)
    if condition.aggregate:
        cursor.place = place
        cursor.fail("Invalid use of aggregating function in where clause.")
    return Where(condition)


Column = tuple[str, Expr]


def columns(cursor: Cursor) -> list[Column]:
    """``expression [AS name]`` between commas."""

    def column() -> Column:
        place = cursor.place
        expression = parse_expression(cursor)
        if cursor.take("AS"):
            return cursor.name(), expression
        if expression.op == "name" and expression.name in ("vertex", "edge"):
            cursor.place = place
            cursor.fail(f"please add alias when using `{expression.name}'.")
        return expression.text, expression

    return list(cursor.listed(column))


class Yield:
    """A YIELD clause."""

    def __init__(self, parts: list[Column], distinct: bool) -> None:
        self.parts = parts
        self.distinct = distinct
        self.refs = set().union(*(expression.refs for _, expression in parts))

    def check(self, frame: Frame) -> None:
        for _, expression in self.parts:
            check(expression, frame)

    def __call__(self, scopes: list[Scope]) -> Table:
        return project(self.parts, scopes, self.distinct)


def yields(cursor: Cursor, *, aggregates: bool = False) -> Yield:
    """A YIELD clause; in GO, FETCH and LOOKUP without aggregate functions."""
    cursor.need("YIELD")
    distinct, place = cursor.take("DISTINCT"), cursor.place
    parts = columns(cursor)
    if not aggregates and any(expression.aggregate for _, expression in parts):
        cursor.place = place
        cursor.fail("Invalid use of aggregating function in yield clause.")
    return Yield(parts, distinct)


def project(parts: list[Column], scopes: list[Scope], distinct: bool) -> Table:
    """Rows of the expressions; aggregates group by the others."""
    names = [name for name, _ in parts]
    if any(expression.aggregate for _, expression in parts):
        keys = [expression for _, expression in parts if expression.aggregate is None]
        rows = grouped(parts, keys, scopes)
    else:
        rows = [[expression.value(scope) for _, expression in parts] for scope in scopes]
    if distinct:
        seen: set[Any] = set()
        rows = [row for row in rows if not (freeze(row) in seen or seen.add(freeze(row)))]
    return Table(names, rows)


def grouped(parts: list[Column], keys: list[Expr], scopes: list[Scope]) -> list[list[Any]]:
    """A row for each group of scopes that agree in the keys."""
    groups: dict[Any, list[Scope]] = {}
    for scope in scopes:
        groups.setdefault(freeze([key.value(scope) for key in keys]), []).append(scope)
    if not groups and not keys:
        groups[()] = []
    return [
        [e.aggregate(rows) if e.aggregate else e.value(rows[0]) for _, e in parts]
        for rows in groups.values()
    ]


# -- order and limits -------------------------------------------------------------------------


def sort_keys(cursor: Cursor) -> list[tuple[Expr, bool]]:
    """``expression [ASC|DESC]`` between commas."""

    def key() -> tuple[Expr, bool]:
        expression = parse_expression(cursor)
        descending = cursor.take("DESC")
        cursor.take("ASC")
        return expression, descending

    return list(cursor.listed(key))


def ordered(session: Session, table: Table, keys: list[tuple[Expr, bool]]) -> Table:
    """The table's rows by the keys, which name its columns with or without ``$-``."""
    check_unique(table.columns)
    base = base_scope(session)
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    pairs = [
        ({**base, **row, "$-": row}, given) for row, given in zip(rows, table.rows, strict=True)
    ]
    for expression, descending in reversed(keys):
        check(expression, Frame(session, {"$-": table.columns}))
        pairs.sort(key=lambda pair: sort_key(expression.value(pair[0])), reverse=descending)
    return Table(table.columns, [row for _, row in pairs])


def whole(session: Session, expression: Expr) -> int:
    """A count: a whole number, 0 and up."""
    value = expression.value(base_scope(session))
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise NebulaSemanticError(f"LIMIT/SKIP: {expression.text} should be a number")
    return value


def returned(cursor: Cursor) -> Output:
    """A RETURN clause with its ORDER BY, SKIP and LIMIT."""
    distinct = cursor.take("DISTINCT")
    parts = columns(cursor)
    keys = sort_keys(cursor) if cursor.take("ORDER", "BY") else []
    skip = parse_expression(cursor) if cursor.take("SKIP") else None
    limit = parse_expression(cursor) if cursor.take("LIMIT") else None

    def output(session: Session, scopes: list[Scope]) -> Table:
        for _, expression in parts:
            check(expression, Frame(session))
            if expression.refs & _ENDS:
                raise NebulaSemanticError(
                    f"Expression {expression.text} is not allowed to use in cypher"
                )
        table = project(parts, scopes, distinct)
        if keys:
            table = ordered(session, table, keys)
        start = whole(session, skip) if skip else 0
        stop = start + whole(session, limit) if limit else None
        return Table(table.columns, table.rows[start:stop])

    return output
