"""Statements: each is parsed into a function that runs it on a session's space."""

from __future__ import annotations

from collections.abc import Callable

from . import definitions, pipes, reads, walks, writes
from .cursor import Cursor
from .errors import NebulaSemanticError, NebulaSyntaxError
from .session import Run, Session, Table


def execute(session: Session, text: str) -> Table:
    """Runs every statement of a text; the answer is the last one's."""
    cursor = Cursor(text)
    result = Table()
    session.variables = {}
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
            if name[1:] in session.parameters:
                raise NebulaSyntaxError(
                    f"Variable definition conflicts with a parameter near `{name}'"
                )
            if name in session.variables:
                raise NebulaSemanticError(f"Variable `{name[1:]}' already exists")
            session.variables[name] = inner(session)
            return session.variables[name]

        return assign
    return _piped(cursor)


def _piped(cursor: Cursor) -> Run:
    run = _statement(cursor)
    while cursor.take("|"):
        if cursor.take("LIMIT"):
            run = pipes.limited(run, cursor)
        elif cursor.take("ORDER", "BY"):
            run = pipes.sorted_rows(run, cursor)
        elif cursor.take("GROUP", "BY"):
            run = pipes.group(run, cursor)
        else:
            run = _statement(cursor, run)
    return run


def _statement(cursor: Cursor, before: Run | None = None) -> Run:
    for words, read in _READS.items():
        if cursor.take(*words):
            return read(cursor, before)
    for words, parse in _STATEMENTS.items() if before is None else ():
        if cursor.take(*words):
            return parse(cursor)
    cursor.fail("the emulator does not know this statement")
    raise AssertionError


#: Statements that may read an input.
_READS: dict[tuple[str, ...], Callable[[Cursor, Run | None], Run]] = {
    ("FETCH", "PROP", "ON"): reads.fetch,
    ("LOOKUP", "ON"): reads.lookup,
    ("GO",): walks.go,
    ("MATCH",): walks.match,
    ("YIELD",): reads.yielding,
    ("RETURN",): reads.returning,
    ("GROUP", "BY"): lambda cursor, before: pipes.group(before, cursor),
    ("DELETE", "VERTEX"): writes.delete_vertex,
    ("DELETE", "EDGE"): writes.delete_edge,
}
_STATEMENTS: dict[tuple[str, ...], Callable[[Cursor], Run]] = {
    ("CREATE", "SPACE"): definitions.create_space,
    ("DROP", "SPACE"): definitions.drop_space,
    ("DESCRIBE", "SPACE"): definitions.describe_space,
    ("DESC", "SPACE"): definitions.describe_space,
    ("SHOW", "SPACES"): definitions.show_spaces,
    ("USE",): definitions.use,
    ("CREATE", "TAG", "INDEX"): definitions.create_index("tag"),
    ("CREATE", "EDGE", "INDEX"): definitions.create_index("edge"),
    ("REBUILD", "TAG", "INDEX"): definitions.rebuild_index("tag"),
    ("REBUILD", "EDGE", "INDEX"): definitions.rebuild_index("edge"),
    ("DROP", "TAG", "INDEX"): definitions.drop_index("tag"),
    ("DROP", "EDGE", "INDEX"): definitions.drop_index("edge"),
    ("CREATE", "TAG"): definitions.create_schema("tag"),
    ("CREATE", "EDGE"): definitions.create_schema("edge"),
    ("DROP", "TAG"): definitions.drop_schema("tag"),
    ("DROP", "EDGE"): definitions.drop_schema("edge"),
    ("ALTER", "TAG"): definitions.alter_schema("tag"),
    ("ALTER", "EDGE"): definitions.alter_schema("edge"),
    ("DESCRIBE", "TAG"): definitions.describe_schema("tag"),
    ("DESC", "TAG"): definitions.describe_schema("tag"),
    ("DESCRIBE", "EDGE"): definitions.describe_schema("edge"),
    ("DESC", "EDGE"): definitions.describe_schema("edge"),
    ("SHOW", "TAG", "INDEXES"): definitions.show_indexes("tag"),
    ("SHOW", "EDGE", "INDEXES"): definitions.show_indexes("edge"),
    ("SHOW", "TAGS"): definitions.show("tag"),
    ("SHOW", "EDGES"): definitions.show("edge"),
    ("INSERT", "VERTEX"): writes.insert_vertex,
    ("INSERT", "EDGE"): writes.insert_edge,
}
