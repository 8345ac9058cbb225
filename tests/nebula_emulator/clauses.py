"""The parts that statements share: WHERE, YIELD, RETURN, ORDER BY, LIMIT, GROUP BY, pipes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .errors import NebulaSemanticError
from .expressions import Cursor, Expr, Scope, parse_expression
from .values import EMPTY, Edge, Vertex, freeze, sort_key

if TYPE_CHECKING:
    from .statements import Session, Table

Output = Callable[["Session", list[Scope]], "Table"]
_RESERVED = ("WHERE", "YIELD", "ORDER", "LIMIT", "OVER", "AS", "ASC", "DESC")


def base_scope(session: Session) -> Scope:
    """What every expression can name: parameters and variables."""
    scope: Scope = {"$parameters": session.parameters}
    for name, table in session.variables.items():
        scope[name] = {
            column: [row[place] for row in table.rows] for place, column in enumerate(table.columns)
        }
    return scope


def vertex_scope(session: Session, vertex: Vertex, tags: list[str]) -> Scope:
    """A vertex as ``FETCH`` and ``LOOKUP`` see it: tags by name, and ``vertex``."""
    scope = base_scope(session)
    shown = {tag: props for tag, props in vertex.tags.items() if tag in tags}
    scope["vertex"] = Vertex(vertex.vid, shown)
    scope["VERTEX"] = scope["vertex"]
    for tag in session.space.tags:
        scope[tag] = shown.get(tag, EMPTY)
    return scope


def edge_scope(session: Session, edge: Edge) -> Scope:
    """An edge as statements see it: its type by name, and ``edge``."""
    scope = base_scope(session)
    scope["edge"] = scope["EDGE"] = edge
    scope[edge.name] = edge
    return scope


def vids(cursor: Cursor, *, single: bool = False) -> Callable[[Session], list[Any]]:
    """Vertex ids: literals, or a column of a variable."""
    from .statements import literal_vid

    if cursor.token.type == "ref" and cursor.token.value not in ("$-", "$$", "$^"):
        after = cursor.all[cursor.place + 1]
        if after.value == ".":
            expression = parse_expression(cursor)
            return lambda session: list(expression.value(base_scope(session)))
        cursor.fail("Parameter is not supported in vid")
    parts = [literal_vid(cursor)]
    while not single and cursor.take(","):
        parts.append(literal_vid(cursor))
        if cursor.at("->"):
            cursor.fail("the emulator takes one edge or many vertices")

    def values(session: Session) -> list[Any]:
        scope = base_scope(session)
        return [session.space.check_vid(part.value(scope)) for part in parts]

    return values


def where(cursor: Cursor) -> Callable[[Scope], bool]:
    """A WHERE clause, if there is one."""
    if not cursor.take("WHERE"):
        return lambda scope: True
    condition = parse_expression(cursor)
    return lambda scope: condition.value(scope) is True


def columns(cursor: Cursor) -> list[tuple[str, Expr]]:
    """``expression [AS name]`` between commas."""

    def column() -> tuple[str, Expr]:
        expression = parse_expression(cursor)
        return (cursor.name() if cursor.take("AS") else expression.text), expression

    return list(cursor.listed(column))


def yields(cursor: Cursor) -> Output:
    """A YIELD clause."""
    cursor.need("YIELD")
    distinct = cursor.take("DISTINCT")
    parts = columns(cursor)
    keep = where(cursor)
    return lambda session, scopes: project(
        session, parts, [scope for scope in scopes if keep(scope)], distinct
    )


def project(
    session: Session, parts: list[tuple[str, Expr]], scopes: list[Scope], distinct: bool
) -> Table:
    """Rows of the expressions; aggregates group by the others."""
    from .statements import Table

    names = [name for name, _ in parts]
    if any(expression.aggregate for _, expression in parts):
        rows = _grouped(parts, scopes)
    else:
        rows = [[expression.value(scope) for _, expression in parts] for scope in scopes]
    if distinct:
        rows = list({freeze(row): row for row in reversed(rows)}.values())[::-1]
        rows = _first_of_each(rows)
    return Table(names, rows)


def _first_of_each(rows: list[list[Any]]) -> list[list[Any]]:
    seen: set[Any] = set()
    return [row for row in rows if not (freeze(row) in seen or seen.add(freeze(row)))]


def _grouped(parts: list[tuple[str, Expr]], scopes: list[Scope]) -> list[list[Any]]:
    keys = [expression for _, expression in parts if expression.aggregate is None]
    groups: dict[Any, list[Scope]] = {}
    for scope in scopes:
        groups.setdefault(freeze([key.value(scope) for key in keys]), []).append(scope)
    if not groups and not keys:
        groups[()] = []
    return [
        [e.aggregate(rows) if e.aggregate else e.value(rows[0]) for _, e in parts]
        for rows in groups.values()
    ]


def pipe(run: Callable[[Session], Table], cursor: Cursor) -> Callable[[Session], Table]:
    """What follows a ``|``."""
    if cursor.take("LIMIT"):
        return _limited(run, cursor)
    if cursor.take("ORDER", "BY"):
        keys = _sort_keys(cursor)
        return lambda session: _sorted(session, run(session), keys)
    if cursor.take("GROUP", "BY"):
        return _group(run, cursor)
    if cursor.at("YIELD"):
        output = yields(cursor)
        return lambda session: output(session, input_scopes(session, run(session)))
    if cursor.take("GO"):
        from .walks import go

        return go(cursor, run)
    cursor.fail("the emulator does not know this after a pipe")
    raise AssertionError


def input_scopes(session: Session, table: Table) -> list[Scope]:
    """The rows of a table as ``$-``."""
    base = base_scope(session)
    return [{**base, "$-": dict(zip(table.columns, row, strict=True))} for row in table.rows]


def _limited(run: Callable[[Session], Table], cursor: Cursor) -> Callable[[Session], Table]:
    first = parse_expression(cursor)
    offset = None
    if cursor.take("OFFSET"):
        offset = parse_expression(cursor)
    elif cursor.take(","):
        offset, first = first, parse_expression(cursor)
    return lambda session: _cut(session, run(session), offset, first)


def _cut(session: Session, table: Table, offset: Expr | None, limit: Expr | None) -> Table:
    from .statements import Table

    start = whole(session, offset) if offset else 0
    stop = None if limit is None else start + whole(session, limit)
    return Table(table.columns, table.rows[start:stop])


def whole(session: Session, expression: Expr) -> int:
    """A count: a whole number, 0 and up."""
    value = expression.value(base_scope(session))
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise NebulaSemanticError(f"LIMIT/SKIP: {expression.text} should be a number")
    return value


def _sort_keys(cursor: Cursor) -> list[tuple[Expr, bool]]:
    def key() -> tuple[Expr, bool]:
        expression = parse_expression(cursor)
        descending = cursor.take("DESC")
        cursor.take("ASC")
        return expression, descending

    return list(cursor.listed(key))


def _sorted(session: Session, table: Table, keys: list[tuple[Expr, bool]]) -> Table:
    from .statements import Table

    scopes = input_scopes(session, table)
    pairs = list(zip(scopes, table.rows, strict=True))
    for scope, row in pairs:
        scope.update(zip(table.columns, row, strict=True))
    for expression, descending in reversed(keys):
        pairs.sort(key=lambda pair: sort_key(expression.value(pair[0])), reverse=descending)
    return Table(table.columns, [row for _, row in pairs])


def _group(run: Callable[[Session], Table], cursor: Cursor) -> Callable[[Session], Table]:
    keys = columns(cursor)
    cursor.need("YIELD")
    parts = columns(cursor)

    def grouped(session: Session) -> Table:
        from .statements import Table

        groups: dict[Any, list[Scope]] = {}
        for scope in input_scopes(session, run(session)):
            groups.setdefault(freeze([key.value(scope) for _, key in keys]), []).append(scope)
        rows = [
            [e.aggregate(scopes) if e.aggregate else e.value(scopes[0]) for _, e in parts]
            for scopes in groups.values()
        ]
        return Table([name for name, _ in parts], rows)

    return grouped


def returned(cursor: Cursor) -> Output:
    """A RETURN clause with its ORDER BY, SKIP and LIMIT."""
    distinct = cursor.take("DISTINCT")
    parts = columns(cursor)
    keys = _sort_keys(cursor) if cursor.take("ORDER", "BY") else []
    skip = parse_expression(cursor) if cursor.take("SKIP") else None
    limit = parse_expression(cursor) if cursor.take("LIMIT") else None

    def output(session: Session, scopes: list[Scope]) -> Table:
        table = project(session, parts, scopes, distinct)
        if keys:
            table = _sorted(session, table, keys)
        return _cut(session, table, skip, limit)

    return output
