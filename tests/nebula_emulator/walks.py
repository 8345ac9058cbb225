"""GO and MATCH: walks over edges."""

from __future__ import annotations

from typing import Any

from . import clauses
from .cursor import Cursor
from .errors import NebulaSemanticError
from .expressions import parse_expression
from .functions import Scope
from .session import Run, Session, Table
from .values import EMPTY, Edge, Vertex, equal


def go(cursor: Cursor, before: Run | None = None) -> Run:
    """``GO [n [TO m] STEPS] FROM … OVER … [REVERSELY|BIDIRECT] [WHERE …] YIELD …``."""
    low = high = 1
    if cursor.token.type == "int":
        low = high = cursor.count()
        if cursor.take("TO"):
            high = cursor.count()
        if not cursor.take("STEPS"):
            cursor.need("STEP")
    cursor.need("FROM")
    starts = clauses.starts(cursor)
    cursor.need("OVER")
    names = ["*"] if cursor.take("*") else list(cursor.listed(cursor.name))
    way = "in" if cursor.take("REVERSELY") else "both" if cursor.take("BIDIRECT") else "out"
    keep = clauses.where(cursor)
    output = clauses.yields(cursor)
    source = clauses.Input(starts.refs | keep.refs | output.refs, before)

    def run(session: Session) -> Table:
        space = session.space
        over = list(space.edge_types) if names == ["*"] else names
        for name in over:
            space.edge_type(name)
        if (keep.refs | output.refs) & session.variables.keys() > starts.refs:
            raise NebulaSemanticError(
                "A variable must be referred in FROM before used in WHERE or YIELD"
            )
        table = source.table(session)
        frame = source.frame(session, table, over)
        keep.check(frame)
        output.check(frame)
        scopes = []
        pairs = starts.pairs(session, source.rows(session, table))
        if not starts.refs:
            pairs = list(dict(pairs).items())
        for vid, scope in pairs:
            for edge in _steps(session, vid, over, way, low, high):
                scopes.append({**scope, **_scope(session, edge, over)})
        return output([scope for scope in scopes if keep(scope)])

    return run


def _steps(
    session: Session, vid: Any, over: list[str], way: str, low: int, high: int
) -> list[Edge]:
    found: list[Edge] = []
    frontier = [vid]
    for step in range(1, high + 1):
        edges = [edge for at in frontier for edge in _stored(session, at, over, way)]
        if step >= low:
            found += edges
        frontier = list(dict.fromkeys(edge.dst for edge in edges))
        if not frontier:
            break
    return found


def _stored(session: Session, vid: Any, over: list[str], way: str) -> list[Edge]:
    """The edges at a vertex as the storage keeps them: by type, rank and other end."""
    edges = session.space.edges(vid, over, way)
    return sorted(edges, key=lambda e: (over.index(e.name), e.reverse, e.rank, e.dst))


def _scope(session: Session, edge: Edge, over: list[str]) -> Scope:
    scope = clauses.edge_scope(session, edge)
    for name in over:
        scope[name] = edge if name == edge.name else EMPTY
    for prefix, vid in (("$^", edge.src), ("$$", edge.dst)):
        vertex = session.space.vertex(vid) or Vertex(vid)
        scope[prefix] = vertex
    return scope


def match(cursor: Cursor, before: Run | None = None) -> Run:
    """``MATCH (name:Tag {…}) [WHERE …] RETURN …``: one vertex, no paths."""
    if before is not None:
        cursor.fail("the emulator does not know MATCH after a pipe")
    cursor.need("(")
    name = cursor.name() if cursor.token.type in ("name", "quoted") else ""
    tags = []
    while cursor.take(":"):
        tags.append(cursor.name())
    props = parse_expression(cursor) if cursor.at("{") else None
    cursor.need(")")
    if cursor.at("-") or cursor.at("<-") or cursor.at(","):
        cursor.fail("the emulator matches one vertex, no paths")
    keep = clauses.where(cursor)
    cursor.need("RETURN")
    output = clauses.returned(cursor)

    def run(session: Session) -> Table:
        if keep.refs & {"$$", "$^"}:
            raise NebulaSemanticError("Expression $$ is not allowed to use in cypher")
        if props is not None and not tags:
            raise NebulaSemanticError(f"`{props.text[1:-1]}': No tag found for property.")
        _check_index(session, tags)
        keep.check(clauses.Input(set(), None).frame(session, None))
        scopes: list[Scope] = []
        for vid in list(session.space.vertices):
            vertex = session.space.vertex(vid)
            assert vertex is not None
            vertex.bound = True
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
