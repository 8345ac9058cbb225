"""Statements that read: FETCH, LOOKUP, YIELD, RETURN."""

from __future__ import annotations

from . import clauses
from .clauses import Input, Starts
from .cursor import Cursor
from .errors import NebulaExecutionError, NebulaSemanticError
from .functions import Scope
from .session import Run, Session, Table
from .values import Edge


def fetch(cursor: Cursor, before: Run | None = None) -> Run:
    """``FETCH PROP ON tag … ids YIELD …``, or of edges."""
    names = ["*"] if cursor.take("*") else list(cursor.listed(cursor.name))
    first = clauses.starts(cursor)
    if cursor.at("->"):
        return _fetch_edges(cursor, names[0], first, before)
    output = clauses.yields(cursor)
    source = Input(first.refs | output.refs, before)

    def run(session: Session) -> Table:
        space = session.space
        tags = list(space.tags) if names == ["*"] else names
        for tag in tags:
            space.tag(tag)
        table = source.table(session)
        output.check(source.frame(session, table, tags))
        _no_ends(output)
        scopes = []
        for vid, row in first.pairs(session, source.rows(session, table)):
            vertex = space.vertex(vid)
            if vertex is not None and (names == ["*"] or any(t in vertex.tags for t in tags)):
                scopes.append({**row, **clauses.vertex_scope(session, vertex, tags)})
        return output(scopes)

    return run


def _fetch_edges(cursor: Cursor, name: str, first: Starts, before: Run | None) -> Run:
    cursor.need("->")
    keys = [(first, clauses.starts(cursor, single=True), _rank(cursor))]
    while cursor.take(","):
        src = clauses.starts(cursor, single=True)
        cursor.need("->")
        keys.append((src, clauses.starts(cursor, single=True), _rank(cursor)))
    output = clauses.yields(cursor)
    refs = set().union(*(src.refs | dst.refs for src, dst, _ in keys))
    source = Input(refs | output.refs, before)

    def run(session: Session) -> Table:
        space = session.space
        space.edge_type(name)
        table = source.table(session)
        output.check(source.frame(session, table, [name]))
        _no_ends(output)
        rows = source.rows(session, table)
        scopes = []
        for sources, targets, rank in keys:
            pairs = zip(sources.pairs(session, rows), targets.pairs(session, rows), strict=True)
            for (src, row), (dst, _) in pairs:
                props = space.out.get(src, {}).get((name, rank, dst))
                if props is not None:
                    edge = Edge(src, dst, name, rank, props)
                    scopes.append({**row, **clauses.edge_scope(session, edge)})
        return output(scopes)

    return run


def _no_ends(output: clauses.Yield) -> None:
    if output.refs & {"$$", "$^"}:
        raise NebulaSemanticError("unsupported src/dst property expression in yield.")


def _rank(cursor: Cursor) -> int:
    return cursor.integer() if cursor.take("@") else 0


def lookup(cursor: Cursor, _: Run | None = None) -> Run:
    """``LOOKUP ON tag|edge [WHERE …] YIELD …``."""
    name = cursor.name()
    keep = clauses.where(cursor)
    output = clauses.yields(cursor)

    def run(session: Session) -> Table:
        space = session.space
        is_tag = name in space.tags
        if not is_tag:
            space.edge_type(name)
        frame = Input(set(), None).frame(session, None, [name])
        frame.strict = True
        keep.check(frame, lookup=True)
        output.check(frame)
        indexes = space.tag_indexes if is_tag else space.edge_indexes
        if not any(index.schema == name for index in indexes.values()):
            raise NebulaExecutionError("There is no index to use at runtime")
        found = _tagged(session, name) if is_tag else _typed(session, name)
        return output([scope for scope in found if keep(scope)])

    return run


def _tagged(session: Session, name: str) -> list[Scope]:
    space = session.space
    vertices = [space.vertex(vid) for vid in list(space.vertices)]
    return [
        clauses.vertex_scope(session, vertex, [name])
        for vertex in vertices
        if vertex is not None and name in vertex.tags
    ]


def _typed(session: Session, name: str) -> list[Scope]:
    return [clauses.edge_scope(session, edge) for edge in session.space.all_edges(name)]


def yielding(cursor: Cursor, before: Run | None = None) -> Run:
    """``YIELD`` of constants, of a variable's columns or of what a pipe brings."""
    cursor.place -= 1
    output = clauses.yields(cursor, aggregates=True)
    keep = clauses.where(cursor)
    refs = output.refs | keep.refs
    source = Input(refs | {"$-"} if before else refs, before)

    def run(session: Session) -> Table:
        table = source.table(session)
        frame = source.frame(session, table)
        keep.check(frame)
        output.check(frame)
        return output([scope for scope in source.rows(session, table) if keep(scope)])

    return run


def returning(cursor: Cursor, _: Run | None = None) -> Run:
    """``RETURN`` of constants."""
    output = clauses.returned(cursor)
    return lambda session: output(session, [clauses.base_scope(session)])
