"""Prints conditions as SQL, for vectors that are in the catalog's own database.

Names come from a fixed list, every value is bound; what no condition can hold is refused as the
printer of Milvus expressions refuses it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from llama_index_semxpath.index.embedding import Vector
from llama_index_semxpath.index.milvus_expr import (
    FIELDS,
    OPERATORS,
    AnyOf,
    Between,
    Compare,
    Condition,
    Contains,
    ExpressionError,
    OneOf,
    Scalar,
    balanced,
    literal,
)

#: SQL with ``?`` for values, and the values.
Bound = tuple[str, list[Any]]
_NEVER = "1 = 0"


class VectorDialect(ABC):
    """What of the SQL differs between databases."""

    #: Statements that make the table; ``{dimension}`` stands for the size of a vector.
    tables: Sequence[str]
    #: Cosine of a row's vector and a bound one.
    cosine: str
    #: A bound vector, as it is written.
    vector: str
    #: A bound text, as the type of the attributes.
    attributes: str

    @abstractmethod
    def bind(self, vector: Vector) -> Any:
        """A vector as a value."""

    @abstractmethod
    def read(self, value: Any) -> Vector:
        """A vector from a value."""

    @abstractmethod
    def attribute(self, name: str, op: str, value: Scalar) -> Bound:
        """An attribute that is there, of the value's type, and compares so."""

    @abstractmethod
    def contains(self, name: str, value: Scalar) -> Bound:
        """An attribute that is a list and holds the value."""

    def condition(self, condition: Condition) -> Bound:
        """A condition as SQL.

        Raises:
            ExpressionError: A value or name that no condition can hold.
        """
        if isinstance(condition, Compare):
            return self._compare(condition)
        if isinstance(condition, OneOf):
            if condition.name not in FIELDS:
                alternatives = tuple(Compare(condition.name, "==", v) for v in condition.values)
                return self.condition(AnyOf(alternatives))
            values = [checked(value) for value in condition.values]
            marks = ", ".join("?" * len(values))
            return (f"{condition.name} IN ({marks})", values) if values else (_NEVER, [])
        if isinstance(condition, Between):
            name = _field(condition.name)
            bounds = [checked(condition.low), checked(condition.high)]
            return f"({name} >= ? AND {name} < ?)", bounds
        if isinstance(condition, Contains):
            return self.contains(str(checked(condition.name)), checked(condition.value))
        if not condition.parts:
            return (_NEVER if isinstance(condition, AnyOf) else "1 = 1"), []
        parts = [self.condition(part) for part in condition.parts]
        # SQLite's parser allows a depth of a thousand.
        word = " OR " if isinstance(condition, AnyOf) else " AND "
        return balanced([sql for sql, _ in parts], word), [v for _, vs in parts for v in vs]

    def _compare(self, condition: Compare) -> Bound:
        if condition.op not in OPERATORS:
            raise ExpressionError(f"SQL has no operator '{condition.op}'")
        op, value = condition.op.replace("==", "=").replace("!=", "<>"), checked(condition.value)
        if condition.name in FIELDS:
            return f"{condition.name} {op} ?", [value]
        name = str(checked(condition.name))
        if op != "<>":
            return self.attribute(name, op, value)
        there, same = self.has(name), self.attribute(name, "=", value)
        return f"({there[0]} AND NOT {same[0]})", [*there[1], *same[1]]

    @abstractmethod
    def has(self, name: str) -> Bound:
        """An attribute that is there."""


class SqliteVectors(VectorDialect):
    """SQLite: vectors as float32 blobs, cosines by sqlite-vec or by NumPy in its place."""

    tables = (
        "CREATE TABLE IF NOT EXISTS vector_rows (id TEXT PRIMARY KEY NOT NULL, doc TEXT NOT NULL, "
        "order_key TEXT NOT NULL, kind TEXT NOT NULL, level INTEGER NOT NULL, "
        "weight REAL NOT NULL, labels TEXT NOT NULL, fingerprint TEXT NOT NULL, "
        "attributes TEXT NOT NULL, vector BLOB NOT NULL) STRICT",
        "CREATE INDEX IF NOT EXISTS vector_rows_order ON vector_rows (order_key)",
    )
    # A zero vector is like nothing.
    cosine = "coalesce(1 - vec_distance_cosine(vector, ?), 0)"
    vector = "?"
    attributes = "?"
    _TYPES: ClassVar = {bool: "'true', 'false'", str: "'text'", int: "'integer', 'real'"}

    def bind(self, vector: Vector) -> bytes:
        """Float32 bytes."""
        return np.ascontiguousarray(vector, np.float32).tobytes()

    def read(self, value: bytes) -> Vector:
        """From float32 bytes."""
        return np.frombuffer(value, np.float32)

    def attribute(self, name: str, op: str, value: Scalar) -> Bound:
        """By ``json_each``, whose keys are bound."""
        types = self._TYPES.get(type(value), self._TYPES[int])
        return (
            "EXISTS (SELECT 1 FROM json_each(attributes) AS a WHERE a.key = ? "
            f"AND a.type IN ({types}) AND a.atom {op} ?)",
            [name, value],
        )

    def contains(self, name: str, value: Scalar) -> Bound:
        """By ``json_each`` of the list."""
        types = self._TYPES.get(type(value), self._TYPES[int])
        return (
            "EXISTS (SELECT 1 FROM json_each(attributes) AS a, json_each(a.value) AS i "
            f"WHERE a.key = ? AND a.type = 'array' AND i.type IN ({types}) AND i.atom = ?)",
            [name, value],
        )

    def has(self, name: str) -> Bound:
        """By ``json_each``."""
        return "EXISTS (SELECT 1 FROM json_each(attributes) AS a WHERE a.key = ?)", [name]


class PostgresVectors(VectorDialect):
    """PostgreSQL with pgvector."""

    tables = (
        "CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public",
        'CREATE TABLE IF NOT EXISTS vector_rows (id TEXT COLLATE "C" PRIMARY KEY, '
        'doc TEXT COLLATE "C" NOT NULL, order_key TEXT COLLATE "C" NOT NULL, '
        'kind TEXT COLLATE "C" NOT NULL, level BIGINT NOT NULL, weight FLOAT8 NOT NULL, '
        'labels TEXT COLLATE "C" NOT NULL, fingerprint TEXT COLLATE "C" NOT NULL, '
        "attributes JSONB NOT NULL, vector vector({dimension}) NOT NULL)",
        "CREATE INDEX IF NOT EXISTS vector_rows_order ON vector_rows (order_key)",
    )
    # The vectors are unit vectors, so the inner product is the cosine.
    cosine = "-(vector <#> CAST(? AS vector))"
    vector = "CAST(? AS vector)"
    attributes = "CAST(? AS jsonb)"

    def bind(self, vector: Vector) -> str:
        """As pgvector reads it from text."""
        return f"[{','.join(map(str, np.asarray(vector, np.float32).tolist()))}]"

    def read(self, value: str) -> Vector:
        """As pgvector writes it."""
        return np.array(value[1:-1].split(","), np.float32)

    def attribute(self, name: str, op: str, value: Scalar) -> Bound:
        """By key and JSON type; the text of a value is only cast where it is of that type."""
        item = "(attributes -> ?)"
        if isinstance(value, bool):
            return f"({item} {op} to_jsonb(CAST(? AS boolean))) IS TRUE", [name, value]
        if isinstance(value, str):
            return (
                f"(jsonb_typeof{item} = 'string' AND (attributes ->> ?) COLLATE \"C\" {op} ?) "
                "IS TRUE",
                [name, name, value],
            )
        return (
            f"CASE WHEN jsonb_typeof{item} = 'number' "
            f"THEN CAST(attributes ->> ? AS numeric) {op} CAST(? AS numeric) ELSE FALSE END",
            [name, name, repr(value)],
        )

    def contains(self, name: str, value: Scalar) -> Bound:
        """By containment of a list of one."""
        typed = {bool: "boolean", str: "text"}.get(type(value), "numeric")
        bound = value if isinstance(value, (bool, str)) else repr(value)
        return (
            "(jsonb_typeof(attributes -> ?) = 'array' AND "
            f"(attributes -> ?) @> jsonb_build_array(CAST(? AS {typed}))) IS TRUE",
            [name, name, bound],
        )

    def has(self, name: str) -> Bound:
        """By key."""
        return "(attributes -> ?) IS NOT NULL", [name]


def checked(value: Scalar) -> Scalar:
    """The value, when a filter can hold it.

    Raises:
        ExpressionError: Not a finite number, string or boolean, or a string with NUL.

    Example:
        >>> checked("a'b")
        "a'b"
    """
    literal(value)
    return value


def _field(name: str) -> str:
    if name not in FIELDS:
        raise ExpressionError(f"'{name}' is no field with an order")
    return name
