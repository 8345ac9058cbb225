"""GO and MATCH: walks over edges."""

from __future__ import annotations

from typing import Any

from . import clauses
from .errors import NebulaSemanticError
from .expressions import Cursor, Scope, parse_expression
from .statements import Run, Session, Table
from .values import EMPTY, Edge, Vertex, equal


def go(cursor: Cursor, before: Run | None = None) -> Run:
    """``GO [n [TO m] STEPS] FROM … OVER … [REVERSELY|BIDIRECT] [WHERE …] YIELD …``."""
    low = high = 1
    if cursor.token.type == "int":
        low = high = cursor.integer()
        if cursor.take("TO"):
            high = cursor.integer()
        if not cursor.take("STEPS"):
            cursor.need("STEP")
    cursor.need("FROM")
    piped = cursor.token.value == "$-"
    starts = parse_expression(cursor) if piped else None
    vids = None if piped else clauses.vids(cursor)
    cursor.need("OVER")
    names = ["*"] if cursor.take("*") else list(cursor.listed(cursor.name))
    way = "in" if cursor.take("REVERSELY") else "both" if cursor.take("BIDIRECT") else "out"
    keep = clauses.where(cursor)
    output = clauses.yields(cursor)

    def run(session: Session) -> Table:
        space = session.space
        over = list(space.edge_types) if names == ["*"] else names
        for name in over:
            space.edge_type(name)
        if starts is not None:
            assert before is not None
            inputs = clauses.input_scopes(session, before(session))
            origins = [(starts.value(scope), scope) for scope in inputs]
        else:
            assert vids is not None
            origins = [(vid, {}) for vid in dict.fromkeys(vids(session))]
        scopes = []
        for vid, scope in origins:
            for edge in _steps(session, vid, over, way, low, high):
                scopes.append({**scope, **_scope(session, edge, over)})
        return output(session, [scope for scope in scopes if keep(scope)])

    return run


def _steps(
    session: Session, vid: Any, over: list[str], way: str, low: int, high: int
) -> list[Edge]:
    found: list[Edge] = []
    frontier = [vid]
    for step in range(1, high + 1):
        edges = [edge for at in frontier for edge in session.space.edges(at, over, way)]
        if step >= low:
            found += edges
        frontier = list(dict.fromkeys(edge.dst for edge in edges))
        if not frontier:
            break
    return found


def _scope(session: Session, edge: Edge, over: list[str]) -> Scope:
    scope = clauses.edge_scope(session, edge)
    for name in over:
        scope[name] = edge if name == edge.name else EMPTY
    for prefix, vid in (("$^", edge.src), ("$$", edge.dst)):
        vertex = session.space.vertex(vid) or Vertex(vid)
        scope[prefix] = vertex
    return scope


def match(cursor: Cursor) -> Run:
    """``MATCH (name:Tag {…}) [WHERE …] RETURN …``: one vertex, no paths."""
    cursor.need("(")
    name = cursor.name() if cursor.token.type in ("name", "quoted") else ""
    tags = []
    while cursor.take(":"):
        tags.append(cursor.name())
    props = parse_expression(cursor) if cursor.at("{") else None
    cursor.need(")")
    if cursor.at("-") or cursor.at("<-"):
        cursor.fail("the emulator matches one vertex, no paths")
    keep = clauses.where(cursor)
    cursor.need("RETURN")
    output = clauses.returned(cursor)

    def run(session: Session) -> Table:
        _check_index(session, tags)
        scopes: list[Scope] = []
        for vid in list(session.space.vertices):
            vertex = session.space.vertex(vid)
            assert vertex is not None
            scope = {**clauses.base_scope(session), name: vertex}
            wanted = props.value(scope) if props else {}
            if all(tag in vertex.tags for tag in tags) and _has(vertex, wanted):
                scopes.append(scope)
        return output(session, [scope for scope in scopes if keep(scope)])

    return run


def _check_index(session: Session, tags: list[str]) -> None:
    for tag in tags:
        session.space.tag(tag)
    indexed = {index.schema for index in session.space.tag_indexes.values()}
    if tags and not indexed.intersection(tags):
        raise NebulaSemanticError(
            "Scan vertices or edges need to specify a limit number, or limit number can not "
            "push down."
        )


def _has(vertex: Vertex, wanted: dict[str, Any]) -> bool:
    held = {key: value for props in vertex.tags.values() for key, value in props.items()}
    return all(equal(held.get(key), value) is True for key, value in wanted.items())
