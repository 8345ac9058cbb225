"""Graph queries in NebulaGraph's nGQL, and the audited pieces of text that it cannot do without.

Values are parameters wherever the server takes one. It takes none for a vertex id, a property name
or an edge type, so those are made here, from an alphabet that needs no quoting: a vertex id is a
hash of the node's id, a property name the hexadecimal form of the attribute's name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from llama_index_semxpath.engines.graph_query import (
    Condition,
    Dialect,
    HopQuery,
    LabelSet,
    NodeQuery,
    Parameters,
    Statement,
    any_of,
)

TAG = "SemNode"
EDGE = "SemRelation"
#: Length of a vertex id: ``CREATE SPACE … vid_type = FIXED_STRING(32)``.
VID_LENGTH = 32
_NAME_BYTES = 60


def vertex_id(node_id: str) -> str:
    """The vertex id of a node: 32 hexadecimal characters for an id of any length and characters.

    The id itself is the property ``id``, so that the way back is a read and not a guess.

    Example:
        >>> len(vertex_id('x"; DROP SPACE y; -- 第五条'))
        32
    """
    data = node_id.encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=VID_LENGTH // 2, person=b"vertex").hexdigest()


def property_name(prefix: str, attribute: str) -> str:
    """The property that holds an attribute: a prefix for its type and its name in hexadecimal.

    A name too long for an identifier is hashed.

    Example:
        >>> property_name("n", "金额"), property_name("s", "a`b")
        ('n_e98791e9a29d', 's_616062')
    """
    data = attribute.encode("utf-8", "surrogatepass")
    if len(data) > _NAME_BYTES:
        return f"{prefix}_h{blake2b(data, digest_size=30).hexdigest()}"
    return f"{prefix}_{data.hex()}"


def labels_text(labels: Iterable[str]) -> str:
    """Access labels as their column holds them.

    Example:
        >>> labels_text({"staff", "管理"})
        '["staff", "管理"]'
    """
    return json.dumps(sorted(labels), ensure_ascii=False)


def _labels_test(
    place: str, labels: Sequence[LabelSet] | None, parameters: Parameters
) -> list[str]:
    """The condition that a node carries one of these sets of labels; none where any will do."""
    if labels is None:
        return []
    column = f"{place}.labels"
    sets = [labels_text(found) for found in labels if found is not None]
    tests = [f"{column} == {parameters.add(text)}" for text in sets]
    if None in labels:
        tests.append(f"{column} IS NULL")
    # A reader who sees no node at all gets none from the database either.
    return [any_of(tests) if tests else "false"]


class NgqlDialect(Dialect):
    """nGQL of NebulaGraph 3.

    Args:
        properties: Property names that the space has; a condition on an attribute that it lacks is
            left to the reference engine.

    Example:
        >>> print(NgqlDialect().nodes(NodeQuery("Row")).text)
        MATCH (n:SemNode) WHERE n.SemNode.kind == $p0 RETURN n.SemNode.id, n.SemNode.order_key
        >>> hop = NgqlDialect().hop(HopQuery(("a",), "SIGNED_BY"))
        >>> print(hop.text[:65])
        GO FROM "fb44c872a1b5a2662e31db8fdede10d6" OVER SemRelation WHERE
    """

    store = "NebulaGraph"

    def __init__(self, properties: frozenset[str] = frozenset()) -> None:
        self.properties = properties

    def nodes(self, query: NodeQuery) -> Statement:
        """The statement of a node query; it uses the tag index on ``kind`` and ``order_key``."""
        parameters = Parameters()
        tests = []
        if query.kind is not None:
            tests.append(f"n.{TAG}.kind == {parameters.add(query.kind)}")
        if query.ranges:
            key = f"n.{TAG}.order_key"
            ranges = [
                f"({key} >= {parameters.add(low)} AND {key} < {parameters.add(high)})"
                for low, high in query.ranges
            ]
            tests.append(any_of(ranges))
        tests += _labels_test(f"n.{TAG}", query.labels, parameters)
        for condition in query.conditions:
            test = self._condition(condition, parameters)
            tests += [test] if test else []
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        return Statement(
            f"MATCH (n:{TAG}){where} RETURN n.{TAG}.id, n.{TAG}.order_key", parameters.values
        )

    def hop(self, query: HopQuery) -> Statement:
        """The statement of a hop from all starts at once."""
        parameters = Parameters()
        parameters.values["relation"] = query.relation
        tests = [f"{EDGE}.name == $relation"]
        # $$ is the far end of the edge as walked, in either direction.
        tests += _labels_test(f"$$.{TAG}", query.labels, parameters)
        starts = ", ".join(f'"{vertex_id(id_)}"' for id_ in query.ids)
        way = " REVERSELY" if query.inverse else ""
        return Statement(
            f"GO FROM {starts} OVER {EDGE}{way} WHERE {' AND '.join(tests)} "
            f"YIELD DISTINCT $$.{TAG}.id AS id, $$.{TAG}.order_key AS order_key",
            parameters.values,
        )

    def _condition(self, condition: Condition, parameters: Parameters) -> str | None:
        text = isinstance(condition.value, str)
        own = property_name("s" if text else "n", condition.attribute)
        if own not in self.properties:
            return None
        # Columns of other types that the attribute has in some nodes are decided elsewhere.
        others = [
            property_name(prefix, condition.attribute) for prefix in ("n" if text else "s", "o")
        ]
        op = "==" if condition.op == "=" else condition.op
        value = parameters.add(condition.value)
        tests = [f"n.{TAG}.{own} {op} {value}"]
        tests += [f"n.{TAG}.{name} IS NOT NULL" for name in others if name in self.properties]
        return any_of(tests)
