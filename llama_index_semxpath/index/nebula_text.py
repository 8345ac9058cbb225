"""Text of nGQL that carries values: the one audited escape, and multi-row statements.

NebulaGraph takes parameters in conditions, but not as vertex ids and not in the rows of an INSERT.
There every value goes through :func:`literal`, and every vertex id through
``engines.ngql.vertex_id``, whose alphabet needs no quoting.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

from llama_index_semxpath.engines.ngql import EDGE, TAG, VID_LENGTH, vertex_id
from llama_index_semxpath.errors import AttributeValueError
from llama_index_semxpath.index.graph_model import LinkKey

#: Rows and characters of one statement; the server refuses statements of more than 4 MB.
MAX_ROWS = 512
MAX_CHARACTERS = 1_000_000
#: Edge types from a name's key, and from an origin, to the entities they belong to.
KEYED = "SemKeyed"
STATED = "SemStated"
#: Columns of every vertex, with their types.
COLUMNS: tuple[tuple[str, str], ...] = (
    *((name, "string") for name in ("id", "kind", "type", "name", "aliases", "doc")),
    ("doc_key", f"fixed_string({VID_LENGTH})"),
    *((name, "string") for name in ("parent", "order_key")),
    ("level", "int64"),
    *((name, "string") for name in ("labels", "fingerprint", "text", "attributes")),
    *((name, "string") for name in ("origins", "payload")),
)
LINK_COLUMNS: tuple[tuple[str, str], ...] = (
    *((name, "string") for name in ("source", "name", "target", "origin", "variant")),
    ("origin_key", f"fixed_string({VID_LENGTH})"),
    ("properties", "string"),
)
#: Types of the columns that attributes become, by prefix (see ``engines.ngql.property_name``).
ATTRIBUTE_TYPES = {"s": "string", "n": "double", "o": "bool"}
_NODE_INDEXES = (("id", "(64)"), ("kind", "(32)"), ("doc_key", ""), ("order_key", "(64)"))
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})


def literal(value: Any) -> str:
    """A value as nGQL text: the only place where one becomes part of a statement.

    Inside double quotes the server's scanner gives a meaning to the backslash, the quote and the
    line break alone; everything else stands for itself.

    Raises:
        AttributeValueError: A value that has no literal.

    Example:
        >>> print(literal('say "hi"; DROP SPACE x'), literal(False), literal(None))
        "say \\"hi\\"; DROP SPACE x" false NULL
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPES)}"'
    if isinstance(value, int) and -(2**63) < value < 2**63:
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        # The scanner knows no exponent.
        return repr(value) if "e" not in repr(value) else f"{value:f}"
    raise AttributeValueError(f"a {type(value).__name__} of this value has no nGQL literal")


def helper_id(role: str, text: str) -> str:
    """Vertex id of a name's key or an origin: never that of a node.

    Example:
        >>> helper_id("key", "a") == vertex_id("a")
        False
    """
    data = text.encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=VID_LENGTH // 2, person=role.encode()).hexdigest()


def link_rank(name: str, origin: str, variant: str) -> int:
    """The rank that keeps several relations between one pair side by side, the same for good."""
    digest = blake2b(digest_size=8, person=b"rank")
    for part in (name, origin, variant):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return int.from_bytes(digest.digest(), "big", signed=True) >> 1


def edge_key(key: LinkKey) -> str:
    """``"source"->"target"@rank`` of a link."""
    source, name, target, origin, variant = key
    return _arrow(vertex_id(source), vertex_id(target), link_rank(name, origin, variant))


def helper_key(role: str, text: str, node_id: str) -> str:
    """``"helper"->"node"@0`` of a name's key or an origin."""
    return _arrow(helper_id(role, text), vertex_id(node_id), 0)


def vids(ids: Iterable[str]) -> str:
    """Vertex ids of nodes, for FETCH, GO and DELETE."""
    return ", ".join(f'"{vertex_id(id_)}"' for id_ in ids)


def insert_vertices(columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """INSERT statements for rows that have an ``id``."""
    head = f"INSERT VERTEX {TAG}({', '.join(columns)}) VALUES "
    yield from _statements(
        head, (f'"{vertex_id(row["id"])}":{_values(columns, row)}' for row in rows)
    )


def insert_links(rows: Iterable[tuple[LinkKey, dict[str, Any]]]) -> Iterator[str]:
    """INSERT statements for links."""
    columns = [name for name, _ in LINK_COLUMNS]
    head = f"INSERT EDGE {EDGE}({', '.join(columns)}) VALUES "
    yield from _statements(head, (f"{edge_key(key)}:{_values(columns, row)}" for key, row in rows))


def insert_helpers(edge: str, keys: Iterable[str]) -> Iterator[str]:
    """INSERT statements for edges without properties."""
    yield from _statements(f"INSERT EDGE {edge}() VALUES ", (f"{key}:()" for key in keys))


def delete_edges(edge: str, keys: Iterable[str]) -> Iterator[str]:
    """DELETE statements for edges."""
    yield from _statements(f"DELETE EDGE {edge} ", keys)


def delete_vertices(ids: Iterable[str]) -> Iterator[str]:
    """DELETE statements for vertices, the edges at them included."""
    for statement in _statements("DELETE VERTEX ", (vids([id_]) for id_ in ids)):
        yield f"{statement} WITH EDGE"


def schema_statements() -> Iterator[str]:
    """DDL of a space, after ``CREATE SPACE`` and ``USE``; it completes one that broke off."""
    for what, name, columns in (("TAG", TAG, COLUMNS), ("EDGE", EDGE, LINK_COLUMNS)):
        typed = ", ".join(f"{column} {kind} NULL" for column, kind in columns)
        yield f"CREATE {what} IF NOT EXISTS {name}({typed})"
    for name in (KEYED, STATED):
        yield f"CREATE EDGE IF NOT EXISTS {name}()"
    for column, length in _NODE_INDEXES:
        yield f"CREATE TAG INDEX IF NOT EXISTS sem_node_{column} ON {TAG}({column}{length})"
    for column, length in (("name", "(32)"), ("origin_key", "")):
        yield f"CREATE EDGE INDEX IF NOT EXISTS sem_relation_{column} ON {EDGE}({column}{length})"


def _arrow(source: str, target: str, rank: int) -> str:
    return f'"{source}"->"{target}"@{rank}'


def _values(columns: Sequence[str], row: dict[str, Any]) -> str:
    return f"({', '.join(literal(row.get(column)) for column in columns)})"


def _statements(head: str, parts: Iterable[str]) -> Iterator[str]:
    """One statement for as many parts as fit."""
    waiting: list[str] = []
    size = 0
    for part in parts:
        if waiting and (len(waiting) >= MAX_ROWS or size + len(part) > MAX_CHARACTERS):
            yield head + ", ".join(waiting)
            waiting, size = [], 0
        waiting.append(part)
        size += len(part)
    if waiting:
        yield head + ", ".join(waiting)
