"""Random corpora with relations, entities, labels and values of all types, and random queries."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

from llama_index_semxpath.index.graph_model import Graph
from llama_index_semxpath.index.graph_projection import PropertyGraphProjection
from llama_index_semxpath.index.projection import Entity, ProjectedNode
from llama_index_semxpath.tree.edges import Edge
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.order import ENTITY_PREFIX, assign_order, component
from llama_index_semxpath.tree.table import TreeTable

KINDS = ("Section", "Paragraph", "Row", "制度")
NAMES = ("n", "t", "金额", "a'b", "day", "flag")
VALUES: tuple[Any, ...] = (
    0, 1, 2, 10, 2.5, -1, 2**60, "x", "y", "10", "", "e\u0301", "é", "it's", 'say "hi"', "back\\",
    True, False, dt.date(2024, 1, 2), dt.datetime(2024, 1, 2, 3), ["x", "y"], "2024-01-02",
)  # fmt: skip
RELATIONS = ("KNOWS", "SIGNED BY", "it's")
LABELS = ("red", "blue")


class Corpus:
    """Documents, entities and relations as a table and as a graph's content."""

    def __init__(self, rng: random.Random, *, labelled: bool = False) -> None:
        self.nodes: list[TreeNode] = []
        for place in range(rng.randint(1, 3)):
            self.nodes += self._document(rng, place, labelled)
        self.entities = [self._entity(rng, place) for place in range(rng.randint(0, 4))]
        ids = [node.id for node in (*self.nodes, *self.entities)]
        self.edges = [
            Edge(rng.choice(ids), rng.choice(RELATIONS), rng.choice(ids))
            for _ in range(rng.choice((0, 5, 20)))
        ]
        self.table = TreeTable.from_nodes([*self.nodes, *self.entities], self.edges)

    def _document(self, rng: random.Random, place: int, labelled: bool) -> list[TreeNode]:
        doc = f"doc'{place}"
        nodes = [TreeNode(doc, "Document", doc, attributes={"title": "T"})]
        path = [doc]
        for number in range(rng.choice((0, 2, 8, 25))):
            path = path[: rng.randint(1, len(path))]
            node = TreeNode(f"{doc}-{number}", rng.choice(KINDS), doc, parent=path[-1], text="x")
            node.attributes = _attributes(rng)
            path.append(node.id)
            nodes.append(node)
        if labelled:
            for node in nodes:
                if rng.random() < 0.5:
                    node.labels = frozenset(rng.sample(LABELS, rng.randint(0, 2)))
        return list(assign_order(nodes, component(place)))

    def _entity(self, rng: random.Random, place: int) -> TreeNode:
        name = rng.choice(("李雷", "x"))
        attributes = {"name": name, **_attributes(rng), "aliases": ["A"]}
        order = ENTITY_PREFIX + component(place)
        return TreeNode(f"e{place}", "Person", "", None, name, attributes, order)

    def fill(self, graph: Graph) -> None:
        """Writes everything as the index does."""
        target = PropertyGraphProjection(graph)
        previous: dict[str | None, str] = {}
        projected = []
        for node in self.nodes:
            before = previous.get(node.parent) if node.parent else None
            previous[node.parent] = node.id
            projected.append(
                ProjectedNode(
                    node.id,
                    node.doc,
                    node.parent,
                    before,
                    node.kind,
                    node.order,
                    node.level,
                    node.text,
                    node.attributes,
                    None,
                    1.0,
                    "f",
                )
            )
        target.upsert(projected)
        target.upsert_entities(
            [
                Entity(
                    e.id,
                    e.kind,
                    str(e.attributes["name"]),
                    ("A",),
                    {k: v for k, v in e.attributes.items() if k not in ("name", "aliases")},
                    e.order,
                    "f",
                )
                for e in self.entities
            ]
        )
        target.replace_relations("d", self.edges)


def _attributes(rng: random.Random) -> dict[str, Any]:
    return {name: rng.choice(VALUES) for name in NAMES if rng.random() < 0.4}


class Queries:
    """Random queries, most of them with a leading part that a graph database can run."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def query(self) -> str:
        text = self.rng.choice(("/", "//")) + self._first()
        for _ in range(self.rng.randint(0, 4)):
            text += self._following()
        share = self.rng.random()
        if share < 0.1:
            return f"count({text})"
        return f"({text})[{self.rng.choice((1, -1))}]" if share < 0.2 else text

    def params(self) -> dict[str, Any]:
        return {"v": self.rng.choice([v for v in VALUES if not isinstance(v, list)])}

    def _first(self) -> str:
        return self.rng.choice((*KINDS, "Document", "Person", "*")) + self._filters()

    def _following(self) -> str:
        share = self.rng.random()
        if share < 0.35:
            return f"{self.rng.choice(('/', '/', '//'))}{self._test()}{self._filters()}"
        if share < 0.6:
            axis = self.rng.choice(("rel", "inv"))
            repeat = self.rng.choice(("", "", "{1,3}", "{2,3}", "{0,2}"))
            name = self.rng.choice((*(f"`{r}`" for r in RELATIONS), "CONTAINS", "NEXT", "*"))
            return f"/{axis}::{name}{repeat}{self._filters()}"
        axis = self.rng.choice(
            ("parent", "ancestor", "ancestor-or-self", "following", "preceding", "self",
             "following-sibling", "preceding-sibling", "descendant-or-self", "descendant")
        )  # fmt: skip
        return f"/{axis}::{self._test()}{self._filters()}"

    def _test(self) -> str:
        return self.rng.choice((*KINDS, "Person", "*"))

    def _filters(self) -> str:
        text = ""
        while self.rng.random() < 0.35:
            text += f"[{self._predicate()}]"
        return text

    def _predicate(self) -> str:
        share = self.rng.random()
        if share < 0.1:
            return self.rng.choice(("1", "2", "-1", "position() > 1", "last()"))
        one = self._comparison()
        if share < 0.3:
            return f"{one} {self.rng.choice(('and', 'or'))} {self._comparison()}"
        return f"not({one})" if share < 0.4 else one

    def _comparison(self) -> str:
        name = f"@`{self.rng.choice((*NAMES, 'level', 'name'))}`"
        share = self.rng.random()
        if share < 0.15:
            return self.rng.choice((name, ".//Row", "Paragraph", "rel::KNOWS", "count(*) > 1"))
        op = self.rng.choice(("=", "!=", "<", "<=", ">", ">="))
        value = self.rng.choice(
            ("1", "2.5", "0", "-1", '"x"', '"10"', '""', '"é"', '"it\'s"', "'say \"hi\"'",
             '"back\\\\"', '"2024-01-02"', "true()", "$v", "@n")
        )  # fmt: skip
        return f"{name} {op} {value}" if share < 0.8 else f"{value} {op} {name}"


def fill_table(graph: Graph, table: TreeTable) -> None:
    """Writes a whole table as the index does."""
    assert table.orders is not None
    target = PropertyGraphProjection(graph)
    previous: dict[str | None, str] = {}
    nodes, entities = [], []
    for row in range(1, len(table)):
        id_, order, attributes = table.ids[row], table.orders[row], table.attributes(row)
        kind = table.kind_name(row)
        if order.startswith(ENTITY_PREFIX):
            name = str(attributes.pop("name", id_))
            entities.append(Entity(id_, kind, name, (), attributes, order, "f"))
            continue
        above = int(table.parent[row])
        parent = table.ids[above] if above > 0 else None
        before = previous.get(parent) if parent else None
        previous[parent] = id_
        labels = table.labels(row)
        nodes.append(
            ProjectedNode(
                id_,
                table.docs[int(table.doc[row])],
                parent,
                before,
                kind,
                order,
                None,
                "x",
                attributes,
                None if labels is None else tuple(sorted(labels)),
                1.0,
                "f",
            )
        )
    target.upsert(nodes)
    target.upsert_entities(entities)
    edges = [
        Edge(table.ids[source], name, table.ids[goal])
        for name in table.relations
        for source, goal in zip(*table.relation_pairs(name), strict=True)
    ]
    target.replace_relations("", edges)
