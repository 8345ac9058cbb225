"""Statements: each is parsed into a function that runs it on a session's space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from nebula3.common.ttypes import ErrorCode

from . import clauses
from .errors import NebulaExecutionError, NebulaSemanticError
from .expressions import Cursor, parse_expression
from .storage import Index, Property, Schema, Space
from .values import Edge


@dataclass
class Table:
    """Rows with named columns: what a statement answers."""

    columns: list[str] = field(default_factory=list)
    rows: list[list[Any]] = field(default_factory=list)


@dataclass
class Session:
    """What a statement runs in."""

    spaces: dict[str, Space]
    current: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, Table] = field(default_factory=dict)

    @property
    def space(self) -> Space:
        if self.current not in self.spaces:
            raise NebulaSemanticError("Space was not chosen.")
        return self.spaces[self.current]


Run = Callable[[Session], Table]


def execute(session: Session, text: str) -> Table:
    """Runs every statement of a text; the answer is the last one's."""
    cursor = Cursor(text)
    result = Table()
    runs: list[Run] = []
    while cursor.token.type != "end":
        if cursor.take(";"):
            continue
        runs.append(_assignment(cursor))
        if cursor.token.type != "end":
            cursor.need(";")
    for run in runs:
        result = run(session)
    return result


def _assignment(cursor: Cursor) -> Run:
    if cursor.token.type == "ref" and cursor.all[cursor.place + 1].value == "=":
        name = str(cursor.next().value)
        cursor.need("=")
        inner = _piped(cursor)

        def assign(session: Session) -> Table:
            session.variables[name] = inner(session)
            return Table()

        return assign
    return _piped(cursor)


def _piped(cursor: Cursor) -> Run:
    run = _statement(cursor)
    while cursor.take("|"):
        run = clauses.pipe(run, cursor)
    return run


def _statement(cursor: Cursor) -> Run:
    for words, parse in _STATEMENTS.items():
        if cursor.take(*words):
            return parse(cursor)
    cursor.fail("the emulator does not know this statement")
    raise AssertionError


# -- schema -----------------------------------------------------------------------------------


def _if_not_exists(cursor: Cursor) -> bool:
    return cursor.take("IF", "NOT", "EXISTS")


def _exists(quiet: bool) -> Table:
    if quiet:
        return Table()
    raise NebulaExecutionError("Existed!", ErrorCode.E_EXECUTION_ERROR)


def _create_space(cursor: Cursor) -> Run:
    quiet, name = _if_not_exists(cursor), cursor.name()
    options: dict[str, Any] = {"partition_num": 100, "replica_factor": 1}
    vid_type = ""
    if cursor.take("("):
        while not cursor.take(")"):
            key = cursor.name().lower()
            cursor.need("=")
            if key == "vid_type":
                vid_type = _type_name(cursor)
            else:
                options[key] = cursor.next().value
            cursor.take(",")

    def run(session: Session) -> Table:
        if not vid_type:
            raise NebulaSemanticError("space vid_type must be specified explicitly")
        if name in session.spaces:
            return _exists(quiet)
        session.spaces[name] = Space(name, vid_type, options)
        return Table()

    return run


def _type_name(cursor: Cursor) -> str:
    name = cursor.name().upper()
    if cursor.take("("):
        name += f"({cursor.next().value})"
        cursor.need(")")
    return {"INT": "INT64"}.get(name, name)


def _use(cursor: Cursor) -> Run:
    name = cursor.name()

    def run(session: Session) -> Table:
        if name not in session.spaces:
            raise NebulaExecutionError(f"SpaceNotFound: SpaceName `{name}`")
        session.current = name
        return Table()

    return run


def _drop_space(cursor: Cursor) -> Run:
    quiet = cursor.take("IF", "EXISTS")
    name = cursor.name()

    def run(session: Session) -> Table:
        if session.spaces.pop(name, None) is None and not quiet:
            raise NebulaExecutionError("SpaceNotFound: Space not existed!")
        if session.current == name:
            session.current = ""
        return Table()

    return run


def _describe_space(cursor: Cursor) -> Run:
    name = cursor.name()

    def run(session: Session) -> Table:
        space = session.spaces.get(name)
        if space is None:
            raise NebulaExecutionError(f"SpaceNotFound: SpaceName `{name}`")
        columns = ["ID", "Name", "Partition Number", "Replica Factor", "Charset", "Collate",
                   "Vid Type", "Comment"]  # fmt: skip
        options = space.options
        row = [1, name, options["partition_num"], options["replica_factor"], "utf8", "utf8_bin",
               space.vid_type, None]  # fmt: skip
        return Table(columns, [row])

    return run


def _show_spaces(_: Cursor) -> Run:
    return lambda session: Table(["Name"], [[name] for name in sorted(session.spaces)])


def _property(cursor: Cursor) -> Property:
    name, kind, length = cursor.name(), cursor.name().lower(), None
    if cursor.take("("):
        length = cursor.next().value
        cursor.need(")")
    nullable, default, has_default = True, None, False
    while True:
        if cursor.take("NOT", "NULL"):
            nullable = False
        elif cursor.take("NULL"):
            nullable = True
        elif cursor.take("DEFAULT"):
            default, has_default = parse_expression(cursor).value({"$parameters": {}}), True
        elif cursor.take("COMMENT"):
            cursor.next()
        else:
            return Property(name, kind, length, nullable, default, has_default)


def _properties(cursor: Cursor) -> dict[str, Property]:
    cursor.need("(")
    found = {} if cursor.at(")") else {p.name: p for p in cursor.listed(lambda: _property(cursor))}
    cursor.need(")")
    return found


def _schemas(space: Space, what: str) -> dict[str, Schema]:
    return space.tags if what == "tag" else space.edge_types


def _create_schema(what: str) -> Callable[[Cursor], Run]:
    def parse(cursor: Cursor) -> Run:
        quiet, name = _if_not_exists(cursor), cursor.name()
        properties = _properties(cursor)

        def run(session: Session) -> Table:
            schemas = _schemas(session.space, what)
            if name in session.space.tags or name in session.space.edge_types:
                return _exists(quiet)
            checked = {
                key: Property(p.name, p.type, p.length, p.nullable, p.check(p.default), True)
                if p.has_default and p.type != "timestamp"
                else p
                for key, p in properties.items()
            }
            schemas[name] = Schema(name, checked)
            return Table()

        return run

    return parse


def _alter_schema(what: str) -> Callable[[Cursor], Run]:
    def parse(cursor: Cursor) -> Run:
        name = cursor.name()
        cursor.need("ADD")
        added = _properties(cursor)

        def run(session: Session) -> Table:
            space = session.space
            schema = space.tag(name) if what == "tag" else space.edge_type(name)
            if added.keys() & schema.properties.keys():
                raise NebulaExecutionError("Existed!")
            schema.properties.update(added)
            _backfill(space, name, what, added)
            return Table()

        return run

    return parse


def _backfill(space: Space, name: str, what: str, added: dict[str, Property]) -> None:
    rows = (
        [tags[name] for tags in space.vertices.values() if name in tags]
        if what == "tag"
        else [edge.props for edge in space.all_edges(name)]
    )
    for row in rows:
        for key, prop in added.items():
            row.setdefault(key, prop.default)


def _describe_schema(what: str) -> Callable[[Cursor], Run]:
    def parse(cursor: Cursor) -> Run:
        name = cursor.name()

        def run(session: Session) -> Table:
            schemas = _schemas(session.space, what)
            if name not in schemas:
                missing = "Tag not existed!" if what == "tag" else "Edge not existed!"
                raise NebulaExecutionError(missing)
            rows = [
                [p.name, p.type + (f"({p.length})" if p.length else ""),
                 "YES" if p.nullable else "NO", p.default, None]
                for p in schemas[name].properties.values()
            ]  # fmt: skip
            return Table(["Field", "Type", "Null", "Default", "Comment"], rows)

        return run

    return parse


def _show(what: str) -> Callable[[Cursor], Run]:
    return lambda _: (
        lambda session: Table(["Name"], [[name] for name in sorted(_schemas(session.space, what))])
    )


def _create_index(what: str) -> Callable[[Cursor], Run]:
    def parse(cursor: Cursor) -> Run:
        quiet, name = _if_not_exists(cursor), cursor.name()
        cursor.need("ON")
        schema = cursor.name()
        cursor.need("(")

        def column() -> tuple[str, int | None]:
            key, length = cursor.name(), None
            if cursor.take("("):
                length = cursor.next().value
                cursor.need(")")
            return key, length

        columns = [] if cursor.at(")") else list(cursor.listed(column))
        cursor.need(")")

        def run(session: Session) -> Table:
            space = session.space
            known = (space.tag if what == "tag" else space.edge_type)(schema)
            indexes = space.tag_indexes if what == "tag" else space.edge_indexes
            if name in indexes:
                return _exists(quiet)
            for key, length in columns:
                if key not in known.properties:
                    raise NebulaExecutionError("Invalid param!")
                if known.properties[key].type == "string" and length is None:
                    raise NebulaExecutionError("Invalid param!")
            indexes[name] = Index(name, schema, [key for key, _ in columns])
            return Table()

        return run

    return parse


def _show_indexes(what: str) -> Callable[[Cursor], Run]:
    def run(session: Session) -> Table:
        space = session.space
        indexes = space.tag_indexes if what == "tag" else space.edge_indexes
        label = "By Tag" if what == "tag" else "By Edge"
        return Table(
            ["Index Name", label, "Columns"],
            [[index.name, index.schema, list(index.fields)] for index in indexes.values()],
        )

    return lambda _: run


# -- writes -----------------------------------------------------------------------------------


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


def literal_vid(cursor: Cursor) -> Any:
    """A vertex id as a literal; the server takes no parameter there."""
    if cursor.token.type == "ref" and str(cursor.token.value) not in ("$-", "$$", "$^"):
        cursor.fail("Parameter is not supported in vid")
    return parse_expression(cursor)


def _values(session: Session, row: list[Any]) -> list[Any]:
    scope = {"$parameters": session.parameters}
    return [expression.value(scope) for expression in row]


def _insert_vertex(cursor: Cursor) -> Run:
    keep = _if_not_exists(cursor)
    headers = list(cursor.listed(lambda: _header(cursor)))
    cursor.need("VALUES") if cursor.at("VALUES") else cursor.need("VALUE")

    def entry() -> tuple[Any, list[Any]]:
        vid = literal_vid(cursor)
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


def _edge_key(cursor: Cursor) -> tuple[Any, Any, int]:
    src = literal_vid(cursor)
    cursor.need("->")
    dst = literal_vid(cursor)
    rank = 0
    if cursor.take("@"):
        rank = cursor.integer()
    return src, dst, rank


def _insert_edge(cursor: Cursor) -> Run:
    keep = _if_not_exists(cursor)
    name, names = _header(cursor)
    cursor.need("VALUES") if cursor.at("VALUES") else cursor.need("VALUE")

    def entry() -> tuple[tuple[Any, Any, int], list[Any]]:
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
                rank,
                schema.row(names, _values(session, row)),
            )
            for (src, dst, rank), row in entries
        ]
        for src, dst, rank, props in ready:
            if not (keep and (name, rank, dst) in space.out.get(src, {})):
                space.add_edge(src, name, rank, dst, props)
        return Table()

    return run


def _delete_vertex(cursor: Cursor) -> Run:
    vids = list(cursor.listed(lambda: literal_vid(cursor)))
    with_edges = cursor.take("WITH", "EDGE")

    def run(session: Session) -> Table:
        for vid in vids:
            key = vid.value({"$parameters": session.parameters})
            session.space.drop_vertex(key, with_edges=with_edges)
        return Table()

    return run


def _delete_edge(cursor: Cursor) -> Run:
    name = cursor.name()
    keys = list(cursor.listed(lambda: _edge_key(cursor)))

    def run(session: Session) -> Table:
        session.space.edge_type(name)
        scope = {"$parameters": session.parameters}
        for src, dst, rank in keys:
            session.space.drop_edge(src.value(scope), name, rank, dst.value(scope))
        return Table()

    return run


# -- reads ------------------------------------------------------------------------------------


def _fetch(cursor: Cursor) -> Run:
    names = ["*"] if cursor.take("*") else list(cursor.listed(cursor.name))
    first = clauses.vids(cursor)
    if cursor.at("->"):
        return _fetch_edges(cursor, names[0], first)
    output = clauses.yields(cursor)

    def run(session: Session) -> Table:
        space = session.space
        tags = list(space.tags) if names == ["*"] else names
        for tag in tags:
            space.tag(tag)
        scopes = []
        for vid in first(session):
            vertex = space.vertex(vid)
            if vertex is not None and (names == ["*"] or any(t in vertex.tags for t in tags)):
                scopes.append(clauses.vertex_scope(session, vertex, tags))
        return output(session, scopes)

    return run


def _fetch_edges(cursor: Cursor, name: str, first: Any) -> Run:
    cursor.need("->")
    keys = [(first, clauses.vids(cursor, single=True), _rank(cursor))]
    while cursor.take(","):
        src = clauses.vids(cursor, single=True)
        cursor.need("->")
        keys.append((src, clauses.vids(cursor, single=True), _rank(cursor)))
    output = clauses.yields(cursor)

    def run(session: Session) -> Table:
        space = session.space
        space.edge_type(name)
        scopes = []
        for sources, targets, rank in keys:
            for src, dst in zip(sources(session), targets(session), strict=True):
                props = space.out.get(src, {}).get((name, rank, dst))
                if props is not None:
                    edge = Edge(src, dst, name, rank, props)
                    scopes.append(clauses.edge_scope(session, edge))
        return output(session, scopes)

    return run


def _rank(cursor: Cursor) -> int:
    return cursor.integer() if cursor.take("@") else 0


def _lookup(cursor: Cursor) -> Run:
    name = cursor.name()
    where = clauses.where(cursor)
    output = clauses.yields(cursor)

    def run(session: Session) -> Table:
        space = session.space
        if name in space.tags:
            if not any(index.schema == name for index in space.tag_indexes.values()):
                raise NebulaExecutionError("There is no index to use at runtime")
            found = [
                clauses.vertex_scope(session, vertex, [name])
                for vid in list(space.vertices)
                if (vertex := space.vertex(vid)) and name in vertex.tags
            ]
        else:
            space.edge_type(name)
            if not any(index.schema == name for index in space.edge_indexes.values()):
                raise NebulaExecutionError("There is no index to use at runtime")
            found = [clauses.edge_scope(session, edge) for edge in space.all_edges(name)]
        return output(session, [scope for scope in found if where(scope)])

    return run


def _yield(cursor: Cursor) -> Run:
    cursor.place -= 1
    output = clauses.yields(cursor)
    return lambda session: output(session, [clauses.base_scope(session)])


def _return(cursor: Cursor) -> Run:
    output = clauses.returned(cursor)
    return lambda session: output(session, [clauses.base_scope(session)])


def _go(cursor: Cursor) -> Run:
    from .walks import go

    return go(cursor)


def _match(cursor: Cursor) -> Run:
    from .walks import match

    return match(cursor)


_STATEMENTS: dict[tuple[str, ...], Callable[[Cursor], Run]] = {
    ("CREATE", "SPACE"): _create_space,
    ("DROP", "SPACE"): _drop_space,
    ("DESCRIBE", "SPACE"): _describe_space,
    ("DESC", "SPACE"): _describe_space,
    ("SHOW", "SPACES"): _show_spaces,
    ("USE",): _use,
    ("CREATE", "TAG", "INDEX"): _create_index("tag"),
    ("CREATE", "EDGE", "INDEX"): _create_index("edge"),
    ("CREATE", "TAG"): _create_schema("tag"),
    ("CREATE", "EDGE"): _create_schema("edge"),
    ("ALTER", "TAG"): _alter_schema("tag"),
    ("ALTER", "EDGE"): _alter_schema("edge"),
    ("DESCRIBE", "TAG"): _describe_schema("tag"),
    ("DESC", "TAG"): _describe_schema("tag"),
    ("DESCRIBE", "EDGE"): _describe_schema("edge"),
    ("DESC", "EDGE"): _describe_schema("edge"),
    ("SHOW", "TAG", "INDEXES"): _show_indexes("tag"),
    ("SHOW", "EDGE", "INDEXES"): _show_indexes("edge"),
    ("SHOW", "TAGS"): _show("tag"),
    ("SHOW", "EDGES"): _show("edge"),
    ("INSERT", "VERTEX"): _insert_vertex,
    ("INSERT", "EDGE"): _insert_edge,
    ("DELETE", "VERTEX"): _delete_vertex,
    ("DELETE", "EDGE"): _delete_edge,
    ("FETCH", "PROP", "ON"): _fetch,
    ("LOOKUP", "ON"): _lookup,
    ("GO",): _go,
    ("MATCH",): _match,
    ("YIELD",): _yield,
    ("RETURN",): _return,
}
