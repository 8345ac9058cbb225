"""Statements that define: spaces, tags, edge types, indexes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nebula3.common.ttypes import ErrorCode

from .checks import Frame, deduce
from .cursor import Cursor
from .errors import NebulaExecutionError, NebulaSemanticError
from .expressions import parse_expression
from .session import Run, Session, Table
from .storage import INTEGERS, TIMES, TYPES, Index, Property, Schema, Space
from .values import EMPTY

_MAX_FIELDS, _MAX_LENGTH = 16, 256


def if_not_exists(cursor: Cursor) -> bool:
    return cursor.take("IF", "NOT", "EXISTS")


def _exists(quiet: bool) -> Table:
    if quiet:
        return Table()
    raise NebulaExecutionError("Existed!", ErrorCode.E_EXECUTION_ERROR)


def create_space(cursor: Cursor) -> Run:
    quiet, name = if_not_exists(cursor), cursor.name()
    options: dict[str, Any] = {"partition_num": 1, "replica_factor": 1}
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


def use(cursor: Cursor) -> Run:
    name = cursor.name()

    def run(session: Session) -> Table:
        if name not in session.spaces:
            raise NebulaExecutionError(f"SpaceNotFound: SpaceName `{name}`")
        session.current = name
        return Table()

    return run


def drop_space(cursor: Cursor) -> Run:
    quiet = cursor.take("IF", "EXISTS")
    name = cursor.name()

    def run(session: Session) -> Table:
        if session.spaces.pop(name, None) is None and not quiet:
            raise NebulaExecutionError("SpaceNotFound: Space not existed!")
        if session.current == name:
            session.current = ""
        return Table()

    return run


def describe_space(cursor: Cursor) -> Run:
    name = cursor.name()

    def run(session: Session) -> Table:
        space = session.spaces.get(name)
        if space is None:
            raise NebulaExecutionError(f"SpaceNotFound: SpaceName `{name}`")
        columns = ["ID", "Name", "Partition Number", "Replica Factor", "Charset", "Collate",
                   "Vid Type", "Comment"]  # fmt: skip
        options = space.options
        row = [1, name, options["partition_num"], options["replica_factor"], "utf8", "utf8_bin",
               space.vid_type, EMPTY]  # fmt: skip
        return Table(columns, [row])

    return run


def show_spaces(_: Cursor) -> Run:
    return lambda session: Table(["Name"], [[name] for name in sorted(session.spaces)])


def _property(cursor: Cursor) -> Property:
    name, kind, length = cursor.name(), cursor.name().lower(), None
    if kind not in (*INTEGERS, *TYPES, *TIMES):
        cursor.fail("the emulator does not know this type")
    if cursor.take("("):
        length = cursor.count()
        if not 0 < length < 2**15:
            cursor.fail("Out of range:")
        cursor.need(")")
    nullable, default, has_default = True, None, False
    while True:
        if cursor.take("NOT", "NULL"):
            nullable = False
        elif cursor.take("NULL"):
            nullable = True
        elif cursor.take("DEFAULT"):
            expression, has_default = parse_expression(cursor), True
            deduce(expression, Frame(Session({})))
            default = expression.value({"$parameters": {}})
        elif cursor.take("COMMENT"):
            cursor.next()
        else:
            return Property(name, kind, length, nullable, default, has_default)


def _properties(cursor: Cursor) -> dict[str, Property]:
    cursor.need("(")
    listed = [] if cursor.at(")") else list(cursor.listed(lambda: _property(cursor)))
    cursor.need(")")
    found: dict[str, Property] = {}
    for prop in listed:
        if prop.name in found:
            raise NebulaSemanticError(f"Duplicate column name `{prop.name}'")
        found[prop.name] = prop
    return found


def _schemas(space: Space, what: str) -> dict[str, Schema]:
    return space.tags if what == "tag" else space.edge_types


def create_schema(what: str) -> Callable[[Cursor], Run]:
    def parse(cursor: Cursor) -> Run:
        quiet, name = if_not_exists(cursor), cursor.name()
        if "." in name:
            cursor.fail("Don't allow DOT in label:")
        properties = _properties(cursor)

        def run(session: Session) -> Table:
            schemas = _schemas(session.space, what)
            if name in session.space.tags or name in session.space.edge_types:
                return _exists(quiet)
            checked = {key: _with_default(prop) for key, prop in properties.items()}
            schemas[name] = Schema(name, checked)
            return Table()

        return run

    return parse


def alter_schema(what: str) -> Callable[[Cursor], Run]:
    """``ALTER TAG|EDGE name ADD (…), CHANGE (…), DROP (…)``."""

    def parse(cursor: Cursor) -> Run:
        name = cursor.name()
        steps = list(cursor.listed(lambda: _alteration(cursor)))

        def run(session: Session) -> Table:
            space = session.space
            schema = _schemas(space, what).get(name)
            if schema is None:
                raise NebulaExecutionError(f"{what.title()}NotFound: {what.title()} not existed!")
            altered = dict(schema.properties)
            for verb, given in steps:
                if verb == "add" and given.keys() & schema.dropped:
                    raise NebulaExecutionError("Schema exisited before!")
                _alter(altered, verb, given)
            schema.dropped |= schema.properties.keys() - altered.keys()
            schema.properties = altered
            _rewrite(space, name, what, altered)
            return Table()

        return run

    return parse


def _alteration(cursor: Cursor) -> tuple[str, dict[str, Property]]:
    if cursor.take("DROP"):
        cursor.need("(")
        names = list(cursor.listed(cursor.name))
        cursor.need(")")
        return "drop", {name: Property(name, "") for name in names}
    verb = "add" if cursor.take("ADD") else "change"
    if verb == "change":
        cursor.need("CHANGE")
    return verb, _properties(cursor)


def _alter(properties: dict[str, Property], verb: str, given: dict[str, Property]) -> None:
    for key, prop in given.items():
        if verb == "drop":
            if properties.pop(key, None) is None:
                raise NebulaExecutionError("Tag prop not existed!")
            continue
        if not prop.nullable and not prop.has_default:
            raise NebulaSemanticError(
                f"Column `{key}' must have a default value if it's not nullable"
            )
        if (key in properties) == (verb == "add"):
            raise NebulaExecutionError("Existed!" if verb == "add" else "Tag prop not existed!")
        properties[key] = _with_default(prop)


def _with_default(prop: Property) -> Property:
    if not prop.has_default:
        return prop
    try:
        default = prop.check(prop.default)
    except (NebulaExecutionError, NotImplementedError):
        raise NebulaExecutionError("Invalid param!") from None
    if prop.type in ("double", "float") and isinstance(prop.default, int):
        raise NebulaExecutionError("Invalid param!")
    return Property(prop.name, prop.type, prop.length, prop.nullable, default, True)


def _type_text(prop: Property) -> str:
    name = {"int": "int64"}.get(prop.type, prop.type)
    return f"{name}({prop.length})" if prop.length else name


def drop_schema(what: str) -> Callable[[Cursor], Run]:
    """``DROP TAG|EDGE [IF EXISTS] name``."""

    def parse(cursor: Cursor) -> Run:
        quiet, name = cursor.take("IF", "EXISTS"), cursor.name()

        def run(session: Session) -> Table:
            space = session.space
            if any(index.schema == name for index in _indexes(space, what).values()):
                raise NebulaExecutionError("Related index exists, please drop index first")
            if _schemas(space, what).pop(name, None) is None and not quiet:
                raise NebulaExecutionError(f"{what.title()} not existed!")
            return Table()

        return run

    return parse


def _rewrite(space: Space, name: str, what: str, altered: dict[str, Property]) -> None:
    """Rows as a reader sees them after an ALTER: new properties filled, dropped ones gone."""
    rows = (
        [tags[name] for tags in space.vertices.values() if name in tags]
        if what == "tag"
        else [edge.props for edge in space.all_edges(name)]
    )
    for row in rows:
        for key in row.keys() - altered.keys():
            del row[key]
        for key, prop in altered.items():
            row.setdefault(key, prop.default)


def describe_schema(what: str) -> Callable[[Cursor], Run]:
    def parse(cursor: Cursor) -> Run:
        name = cursor.name()

        def run(session: Session) -> Table:
            schemas = _schemas(session.space, what)
            if name not in schemas:
                missing = "Tag not existed!" if what == "tag" else "Edge not existed!"
                raise NebulaExecutionError(missing)
            rows = [
                [p.name, _type_text(p), "YES" if p.nullable else "NO",
                 p.default if p.has_default else EMPTY, EMPTY]
                for p in schemas[name].properties.values()
            ]  # fmt: skip
            return Table(["Field", "Type", "Null", "Default", "Comment"], rows)

        return run

    return parse


def show(what: str) -> Callable[[Cursor], Run]:
    return lambda _: (
        lambda session: Table(["Name"], [[name] for name in sorted(_schemas(session.space, what))])
    )


def _check_fields(schema: Schema, columns: list[tuple[str, int | None]]) -> None:
    """An index has at most 16 different fields, and a length for each string."""
    if len(columns) > _MAX_FIELDS or len({key for key, _ in columns}) < len(columns):
        raise NebulaExecutionError("Invalid param!")
    for key, length in columns:
        kind = schema.properties[key].type
        if (kind == "string") != (length is not None) or (length or 0) > _MAX_LENGTH:
            raise NebulaExecutionError("Invalid param!")


def create_index(what: str) -> Callable[[Cursor], Run]:
    def parse(cursor: Cursor) -> Run:
        quiet, name = if_not_exists(cursor), cursor.name()
        cursor.need("ON")
        schema = cursor.name()
        cursor.need("(")

        def column() -> tuple[str, int | None]:
            key, length = cursor.name(), None
            if cursor.take("("):
                length = cursor.count()
                if length < 1:
                    cursor.fail("Index key length should be greater than 0")
                cursor.need(")")
            return key, length

        columns = [] if cursor.at(")") else list(cursor.listed(column))
        cursor.need(")")
        fields = [key for key, _ in columns]

        def run(session: Session) -> Table:
            space = session.space
            known = _schemas(space, what).get(schema)
            if known is None:
                raise NebulaExecutionError(f"{what.title()}NotFound: {what.title()} not existed!")
            indexes = _indexes(space, what)
            if name in indexes:
                return _exists(quiet)
            if any(i.schema == schema and i.fields == fields for i in indexes.values()):
                return _exists(quiet)
            if not known.properties.keys() >= set(fields):
                raise NebulaExecutionError("Invalid param!")
            _check_fields(known, columns)
            indexes[name] = Index(name, schema, fields)
            return Table()

        return run

    return parse


def show_indexes(what: str) -> Callable[[Cursor], Run]:
    def run(session: Session) -> Table:
        space = session.space
        indexes = _indexes(space, what)
        label = "By Tag" if what == "tag" else "By Edge"
        return Table(
            ["Index Name", label, "Columns"],
            [[index.name, index.schema, list(index.fields)] for index in indexes.values()],
        )

    return lambda _: run


def _indexes(space: Space, what: str) -> dict[str, Index]:
    return space.tag_indexes if what == "tag" else space.edge_indexes


def rebuild_index(what: str) -> Callable[[Cursor], Run]:
    """``REBUILD … INDEX``: the indexes here are never behind, so that only names are checked."""

    def parse(cursor: Cursor) -> Run:
        names = [] if cursor.token.type == "end" or cursor.at(";") else [cursor.name()]
        while cursor.take(","):
            names.append(cursor.name())

        def run(session: Session) -> Table:
            known = _indexes(session.space, what)
            for name in names:
                if name not in known:
                    raise NebulaExecutionError("IndexNotFound: Index not existed!")
            return Table(["New Job Id"], [[1]])

        return run

    return parse


def drop_index(what: str) -> Callable[[Cursor], Run]:
    """``DROP … INDEX [IF EXISTS] name``."""

    def parse(cursor: Cursor) -> Run:
        quiet, name = cursor.take("IF", "EXISTS"), cursor.name()

        def run(session: Session) -> Table:
            if _indexes(session.space, what).pop(name, None) is None and not quiet:
                raise NebulaExecutionError("Index not existed!")
            return Table()

        return run

    return parse
