"""Graph queries in Ladybug's Cypher, over the tables of ``index.ladybug_file``."""

from __future__ import annotations

from llama_index_semxpath.engines.graph_query import (
    Condition,
    Dialect,
    HopQuery,
    NodeQuery,
    Parameters,
    Statement,
    any_of,
)


class CypherDialect(Dialect):
    """Cypher: kinds, keys and attribute names are values like all others.

    Example:
        >>> statement = CypherDialect().nodes(NodeQuery("Row", (("a0", "a0/"),)))
        >>> print(statement.text)
        MATCH (n:Node) WHERE n.kind = $p0 AND (n.order_key >= $p1 AND n.order_key < $p2) \
RETURN n.id, n.order_key
        >>> statement.parameters
        {'p0': 'Row', 'p1': 'a0', 'p2': 'a0/'}
    """

    store = "Ladybug"

    def nodes(self, query: NodeQuery) -> Statement:
        """The statement of a node query."""
        parameters = Parameters()
        tests = []
        if query.kind is not None:
            tests.append(f"n.kind = {parameters.add(query.kind)}")
        if query.ranges:
            ranges = [
                f"(n.order_key >= {parameters.add(low)} AND n.order_key < {parameters.add(high)})"
                for low, high in query.ranges
            ]
            tests.append(any_of(ranges))
        tests += [_condition(condition, parameters) for condition in query.conditions]
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        return Statement(f"MATCH (n:Node){where} RETURN n.id, n.order_key", parameters.values)

    def hop(self, query: HopQuery) -> Statement:
        """The statement of a hop: a look-up by primary key for each start."""
        start, end = ("(b:Node)", "(a)") if query.inverse else ("(a)", "(b:Node)")
        return Statement(
            "UNWIND $ids AS x MATCH (a:Node) WHERE a.id = x "
            f"MATCH {start}-[e:Relation]->{end} WHERE e.name = $relation "
            "RETURN DISTINCT b.id, b.order_key",
            {"ids": list(query.ids), "relation": query.relation},
        )


def _condition(condition: Condition, parameters: Parameters) -> str:
    key, value = parameters.add(condition.attribute), parameters.add(condition.value)
    own, other = (
        ("strings", "numbers") if isinstance(condition.value, str) else ("numbers", "strings")
    )
    # A value of another type is decided by the reference engine, which knows how types compare.
    return (
        f"(coalesce(list_any_value(map_extract(n.{own}, {key})) {condition.op} {value}, false) "
        f"OR size(map_extract(n.{other}, {key})) > 0 OR list_contains(n.untyped, {key}))"
    )
