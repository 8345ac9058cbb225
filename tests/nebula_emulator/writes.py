"""Statements that write: INSERT, DELETE."""

from __future__ import annotations

from typing import Any

from . import clauses
from .cursor import Cursor
from .definitions import if_not_exists
from .errors import NebulaExecutionError, NebulaSemanticError
from .expressions import Expr, parse_expression
from .session import Run, Session, Table

ZERO = Expr("0", lambda _: 0, op="literal")


def _header(cursor: Cursor) -> tuple[str, list[str] | None]:
    name, names = cursor.name(), None
    if cursor.take("("):
        names = [] if cursor.at(")") else list(cursor.listed(cursor.name))
        cursor.need(")")
    return name, names


def _row(cursor: Cursor) -> list[Any]:
    cursor.need("(")
    values = [] if cursor.at(")") else list(cursor.listed(lambda: parse_expression(cursor)))
    cursor.need(")")
    return values


def _values(session: Session, row: list[Any]) -> list[Any]:
    scope = {"$parameters": session.parameters}
    return [expression.value(scope) for expression in row]


def insert_vertex(cursor: Cursor) -> Run:
    keep = if_not_exists(cursor)
    headers = list(cursor.listed(lambda: _header(cursor)))
    cursor.need("VALUES") if cursor.at("VALUES") else cursor.need("VALUE")

    def entry() -> tuple[Any, list[Any]]:
        vid = clauses.vid(cursor)
        cursor.need(":")
        return vid, _row(cursor)

    entries = list(cursor.listed(entry))

    def run(session: Session) -> Table:
        space = session.space
        ready = []
        for vid, row in entries:
            values = _values(session, row)
            written = {}
            for tag, names in headers:
                schema = space.tag(tag)
                count = len(schema.properties if names is None else names)
                written[tag] = schema.row(names, values[:count])
                values = values[count:]
            if values:
                raise NebulaSemanticError("Column count doesn't match value count.")
            key = space.check_vid(vid.value({"$parameters": session.parameters}))
            ready.append((key, written))
        for vid, written in ready:
            tags = space.vertices.setdefault(vid, {})
            for tag, props in written.items():
                if not (keep and tag in tags):
                    tags[tag] = props
        return Table()

    return run


def _edge_key(cursor: Cursor) -> tuple[Expr, Expr, Expr]:
    src = clauses.vid(cursor)
    cursor.need("->")
    dst = clauses.vid(cursor)
    return src, dst, parse_expression(cursor) if cursor.take("@") else ZERO


def insert_edge(cursor: Cursor) -> Run:
    keep = if_not_exists(cursor)
    name, names = _header(cursor)
    cursor.need("VALUES") if cursor.at("VALUES") else cursor.need("VALUE")

    def entry() -> tuple[tuple[Expr, Expr, Expr], list[Any]]:
        key = _edge_key(cursor)
        cursor.need(":")
        return key, _row(cursor)

    entries = list(cursor.listed(entry))

    def run(session: Session) -> Table:
        space, schema = session.space, session.space.edge_type(name)
        scope = {"$parameters": session.parameters}
        ready = [
            (
                space.check_vid(src.value(scope)),
                space.check_vid(dst.value(scope)),
                int(rank.value(scope)),
                schema.row(names, _values(session, row)),
            )
            for (src, dst, rank), row in entries
        ]
        for src, dst, rank, props in ready:
            if not (keep and (name, rank, dst) in space.out.get(src, {})):
                space.add_edge(src, name, rank, dst, props)
        return Table()

    return run


def delete_vertex(cursor: Cursor, before: Run | None = None) -> Run:
    """``DELETE VERTEX … [WITH EDGE]``."""
    vids = clauses.starts(cursor)
    with_edges = cursor.take("WITH", "EDGE")
    source = clauses.Input(vids.refs, before)

    def run(session: Session) -> Table:
        vids.check_columns()
        table = source.table(session)
        for vid, _ in vids.pairs(session, source.rows(session, table)):
            session.space.drop_vertex(vid, with_edges=with_edges)
        return Table()

    return run


def _end(session: Session, value: Any) -> Any:
    if isinstance(value, int) and session.space.vid_type != "INT64":
        raise NebulaExecutionError(f"Wrong srcId type `INT`, value `{value}'")
    return session.space.check_vid(value)


def delete_edge(cursor: Cursor, before: Run | None = None) -> Run:
    """``DELETE EDGE name source->target@rank, …``."""
    name = cursor.name()
    keys = list(cursor.listed(lambda: _edge_key(cursor)))
    refs = set().union(*(src.refs | dst.refs for src, dst, _ in keys))
    source = clauses.Input(refs, before)

    def run(session: Session) -> Table:
        session.space.edge_type(name)
        clauses.Starts([end for src, dst, _ in keys for end in (src, dst)]).check_columns()
        table = source.table(session)
        for scope in source.rows(session, table):
            for src, dst, rank in keys:
                ends = [_end(session, part.value(scope)) for part in (src, dst)]
                session.space.drop_edge(ends[0], name, int(rank.value(scope)), ends[1])
        return Table()

    return run
