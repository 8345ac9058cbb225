"""What the database back ends of the graph share: a vertex and a link as rows, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from llama_index_semxpath.index.codec import decode_attributes, encode_attributes, query_attributes
from llama_index_semxpath.index.graph_model import Link, Vertex, VertexType

#: Columns of every vertex that are read without its text, properties and payload.
LIGHT = (
    *("id", "kind", "type", "name", "aliases", "doc", "parent", "order_key"),
    *("level", "labels", "fingerprint"),
)
COLUMNS = (*LIGHT, "text", "attributes", "origins", "payload")


def vertex_row(vertex: Vertex) -> dict[str, Any]:
    """The columns of a vertex; aliases and labels as lists.

    Example:
        >>> row = vertex_row(Vertex("a", "Boat", labels=("x",)))
        >>> row["id"], row["aliases"], row["labels"], row["attributes"]
        ('a', [], ['x'], '{}')
    """
    return {
        "id": vertex.id,
        "kind": vertex.kind,
        "type": vertex.type,
        "name": vertex.name,
        "aliases": list(vertex.aliases),
        "text": vertex.text,
        "doc": vertex.doc,
        "parent": vertex.parent,
        "order_key": vertex.order,
        "level": vertex.level,
        "labels": None if vertex.labels is None else list(vertex.labels),
        "attributes": encode_attributes(vertex.merged(), vertex.id),
        "origins": encode_attributes(vertex.origins, vertex.id) if vertex.origins else "",
        "payload": vertex.payload,
        "fingerprint": vertex.fingerprint,
    }


def row_vertex(row: Mapping[str, Any]) -> Vertex:
    """The vertex of a row of ``COLUMNS``, or of ``LIGHT``.

    Example:
        >>> row_vertex(vertex_row(Vertex("a", "Boat"))) == Vertex("a", "Boat")
        True
    """
    labels, origins = row["labels"], row.get("origins")
    return Vertex(
        id=row["id"],
        kind=row["kind"],
        type=cast(VertexType, row["type"]),
        name=row["name"],
        aliases=tuple(row["aliases"]),
        text=row.get("text", ""),
        doc=row["doc"],
        parent=row["parent"],
        order=row["order_key"],
        level=row["level"],
        labels=None if labels is None else tuple(labels),
        attributes=decode_attributes(row.get("attributes", "{}")),
        origins=decode_attributes(origins) if origins else {},
        payload=row.get("payload", ""),
        fingerprint=row["fingerprint"],
    )


def link_row(link: Link) -> dict[str, Any]:
    """The columns of a link."""
    return {
        "source": link.source,
        "name": link.name,
        "target": link.target,
        "origin": link.origin,
        "variant": link.variant,
        "properties": encode_attributes(link.properties, f"{link.source} -> {link.target}"),
    }


def read_attributes(vertex: Vertex) -> dict[str, Any]:
    """The attributes as ``@name`` reads them; an entity's name and aliases are some too."""
    read = query_attributes(vertex.merged())
    if vertex.type == "entity":
        return {"name": vertex.name, "aliases": list(vertex.aliases), **read}
    return dict(read)


def is_number(value: Any) -> bool:
    """Whether a value has a place among the numbers: one that a double can hold.

    Example:
        >>> is_number(2), is_number(True), is_number(10**400)
        (True, False, False)
    """
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and abs(value) < 1e308


def named(columns: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    """A row's values by their columns."""
    return dict(zip(columns, row, strict=True))
