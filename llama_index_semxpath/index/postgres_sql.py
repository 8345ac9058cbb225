"""The catalog's SQL, which is written for SQLite, as PostgreSQL reads it."""

from __future__ import annotations

import re
from functools import lru_cache

#: Types of SQLite's strict tables. Texts compare by their bytes, as they do in SQLite.
_TYPES = (
    (re.compile(r"\bINTEGER PRIMARY KEY (AUTOINCREMENT )?NOT NULL"), r"BIGSERIAL PRIMARY KEY"),
    (re.compile(r"\bINTEGER\b"), "BIGINT"),
    (re.compile(r"\bBLOB\b"), "BYTEA"),
    (re.compile(r"\bREAL\b"), "DOUBLE PRECISION"),
    (re.compile(r"\bTEXT\b"), 'TEXT COLLATE "C"'),
    (re.compile(r"\) STRICT;"), ");"),
)
_WORDS = """
CREATE TABLE words (
    rowid BIGINT PRIMARY KEY,
    terms TEXT[] NOT NULL,
    weights DOUBLE PRECISION[] NOT NULL,
    size BIGINT NOT NULL
)
"""
_WORDS_INDEX = "CREATE INDEX words_terms ON words USING gin (terms)"
#: Properties may be longer than an index holds, and the writer sees to it that rows are unique.
_EDGES_UNIQUE = re.compile(r",\s*UNIQUE \(doc, source, name, target, properties\)")


@lru_cache(maxsize=512)
def placeholders(sql: str) -> str:
    """A statement with the driver's placeholders in place of ``?``.

    Our SQL holds no literal ``?`` and no ``%``, since every value is bound.

    Example:
        >>> placeholders("SELECT 1 WHERE a = ?")
        'SELECT 1 WHERE a = %s'
    """
    return sql.replace("?", "%s")


def definition(statement: str) -> list[str]:
    """A statement of a migration, as PostgreSQL runs it.

    Example:
        >>> definition("CREATE TABLE t (pk INTEGER PRIMARY KEY NOT NULL, v BLOB) STRICT;")
        ['CREATE TABLE t (pk BIGSERIAL PRIMARY KEY, v BYTEA);']
    """
    if "CREATE VIRTUAL TABLE words" in statement:
        return [_WORDS, _WORDS_INDEX]
    if "INSERT INTO" in statement:
        return [statement]
    statement = "".join(
        line for line in statement.splitlines(keepends=True) if not line.startswith("--")
    )
    statement = _EDGES_UNIQUE.sub("", statement)
    if "CREATE TABLE entity_sources" in statement:
        # SQLite numbers every row by itself; the order in which things were said is read from it.
        statement = statement.replace("(", "(\n    rowid BIGSERIAL UNIQUE,", 1)
    for pattern, replacement in _TYPES:
        statement = pattern.sub(replacement, statement)
    return [statement]
