"""What follows a ``|`` and reads the table before it."""

from __future__ import annotations

from .checks import check, check_bare
from .clauses import Input, columns, grouped, ordered, sort_keys
from .cursor import Cursor
from .errors import NebulaSemanticError
from .session import Run, Session, Table


def limited(run: Run, cursor: Cursor) -> Run:
    """``LIMIT n [OFFSET m]`` or ``LIMIT m, n``."""
    first, offset = cursor.count(), 0
    if cursor.take("OFFSET"):
        offset = cursor.count()
    elif cursor.take(","):
        offset, first = first, cursor.count()

    def cut(session: Session) -> Table:
        table = run(session)
        return Table(table.columns, table.rows[offset : offset + first])

    return cut


def sorted_rows(run: Run, cursor: Cursor) -> Run:
    """``ORDER BY``."""
    keys = sort_keys(cursor)
    return lambda session: ordered(session, run(session), keys)


def group(run: Run | None, cursor: Cursor) -> Run:
    """``GROUP BY … YIELD …``."""
    keys = [expression for _, expression in columns(cursor)]
    cursor.need("YIELD")
    parts = columns(cursor)
    source = Input({"$-"}, run)

    def grouping(session: Session) -> Table:
        table = source.table(session)
        frame = source.frame(session, table)
        for expression in (*keys, *(expression for _, expression in parts)):
            check_bare(expression, frame)
        for key in keys:
            if not key.refs or key.aggregate:
                raise NebulaSemanticError(f"Group `{key.text}' invalid")
            check(key, frame)
        for _, expression in parts:
            if expression.refs & {"$$", "$^"}:
                raise NebulaSemanticError(f"Only support input in GroupBy: {expression.text}")
            check(expression, frame)
            plain = expression.refs and not expression.aggregate
            if plain and expression.text not in [key.text for key in keys]:
                raise NebulaSemanticError(f"Yield non-agg expression `{expression.text}' must be "
                                          "functionally dependent on items in GROUP BY clause")  # fmt: skip
        rows = grouped(parts, keys, source.rows(session, table))
        return Table([name for name, _ in parts], rows)

    return grouping
