"""Conformance suite of a graph back end: subclass it, give it a graph, run it with pytest.

class TestMyGraph(GraphConformance):
    @pytest.fixture
    def graph(self): ...                # a new, empty Graph
    def reopened(self, graph): ...      # the same graph, closed and opened again
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from llama_index_semxpath.errors import AttributeValueError, StoreError
from llama_index_semxpath.index.graph_model import Criteria, Graph, Link, LinkKey, Vertex
from llama_index_semxpath.index.graph_projection import PropertyGraphProjection
from llama_index_semxpath.index.projection import Entity, GraphTarget, ProjectedNode
from llama_index_semxpath.testing.hostile import hostile_strings, is_text
from llama_index_semxpath.tree.edges import Edge

METADATA: dict[str, Any] = {
    "tags": ["ice", "fish"],
    "issued": dt.datetime(2031, 3, 1, 8, 30, tzinfo=dt.UTC),
    "day": dt.date(2031, 3, 1),
    "size": {"w": 3, "h": 4},
    "pair": [1, 2],
    "big": 2**60,
    "huge": 10**400,
    "none": None,
    "empty": [],
    "zero": 0,
    "no": False,
    "blank": "",
    "float": 0.5,
    "infinite": float("inf"),
    "id": "not the id",
    "a key with spaces": 1,
    "$": {"$": "date", "v": "x"},
}


def node(id_: str, parent: str | None = None, previous: str | None = None) -> ProjectedNode:
    """A projected node of document ``d``."""
    return ProjectedNode(
        id_, "d", parent, previous, "Section", f"a0.{id_}", 1, id_, {}, None, 1.0, f"f-{id_}"
    )


def state(graph: Graph) -> tuple[list[Vertex], list[Link]]:
    """Everything in a graph."""
    return graph.select(Criteria()), graph.links(None)


class GraphConformance:
    """What every :class:`Graph` must do."""

    def reopened(self, graph: Graph) -> Graph:
        """The same graph, closed and opened again."""
        return graph

    def test_values_come_back_with_their_types(self, graph: Graph) -> None:
        graph.put([Vertex("n", "P", labels=("a", "b"), level=0, attributes=dict(METADATA))])
        graph.put([Vertex("m", "P", labels=(), text="")])
        graph.put_links([Link("n", "R", "m", "o", dict(METADATA))])
        graph = self.reopened(graph)
        found = graph.vertices(["n", "m"])
        assert found["n"].attributes == METADATA
        assert {k: type(v) for k, v in found["n"].attributes.items()} == {
            k: type(v) for k, v in METADATA.items()
        }
        assert (found["n"].labels, found["n"].level) == (("a", "b"), 0)
        assert (found["m"].labels, found["m"].level) == ((), None)
        assert graph.links(["n"])[0].properties == METADATA

    def test_nan_comes_back(self, graph: Graph) -> None:
        graph.put([Vertex("n", "P", attributes={"share": float("nan")})])
        share = self.reopened(graph).vertices(["n"])["n"].attributes["share"]
        assert share != share

    def test_hostile_strings_in_every_position(self, graph: Graph) -> None:
        kept = [text for text in hostile_strings() if is_text(text) and text]
        first = kept[0]
        vertices = [
            Vertex(
                s, s, "entity", s, (s,), s, s, labels=(s,), origins={s: {s: s}}, attributes={s: s}
            )
            for s in kept
        ]
        links = [Link(s, s, first, s, {s: s}, s) for s in kept]
        graph.put(vertices)
        graph.put_links(links)
        graph = self.reopened(graph)
        assert graph.counts() == (len(kept), len(kept))
        assert graph.vertices(kept) == {v.id: v for v in vertices}
        assert {link.key: link for link in graph.links(kept)} == {li.key: li for li in links}
        for text in kept[::37]:
            equal = Criteria(equal={text: text})
            assert [v.id for v in graph.select(equal)] == [text]
            assert [li.key for li in graph.links(None, names=[text])] == [
                (text, text, first, text, text)
            ]
            assert text in [v.id for v in graph.select(Criteria(origins=frozenset([text])))]
        half = kept[1::2]
        graph.remove(half)
        assert {v.id for v in graph.scan()} == set(kept) - set(half)

    @pytest.mark.parametrize("text", [s for s in hostile_strings() if not is_text(s)])
    def test_what_is_no_text_is_refused_by_name(self, graph: Graph, text: str) -> None:
        graph.put([Vertex("a", "P")])
        before = state(graph)
        for vertex in (
            Vertex(text, "P"),
            Vertex("v", text),
            Vertex("v", "P", name=text),
            Vertex("v", "P", text=text),
            Vertex("v", "P", labels=(text,)),
            Vertex("v", "P", attributes={text: 1}),
            Vertex("v", "P", attributes={"key": [text]}),
            Vertex("v", "P", origins={text: {}}),
        ):
            with pytest.raises(AttributeValueError):
                graph.put([Vertex("w", "P"), vertex])
        for link in (
            Link("a", text, "a"),
            Link("a", "R", "a", text),
            Link("a", "R", "a", properties={"key": text}),
        ):
            with pytest.raises(AttributeValueError):
                graph.put_links([Link("a", "R", "a"), link])
        assert state(graph) == before

    @pytest.mark.parametrize("value", [object(), {1: "x"}, b"x", {"x"}, 1j])
    def test_a_value_that_cannot_be_kept_is_named(self, graph: Graph, value: Any) -> None:
        with pytest.raises(AttributeValueError, match="handle"):
            graph.put([Vertex("n", "P", attributes={"ok": 1, "handle": value})])
        assert graph.counts() == (0, 0)

    def test_relations_stand_side_by_side(self, graph: Graph) -> None:
        graph.put([Vertex("a", "P"), Vertex("b", "P")])
        links = [
            Link("a", "KNOWS", "b", "d1", {"since": 0}),
            Link("a", "KNOWS", "b", "d2"),
            Link("a", "KNOWS", "b", "d2", {"since": 1}, "v"),
            Link("a", "LIKES", "b", "d1"),
            Link("b", "KNOWS", "a", "d1"),
        ]
        graph.put_links(links)
        graph.put_links(links)
        assert sorted(graph.links(None), key=lambda li: li.key) == sorted(
            links, key=lambda li: li.key
        )
        graph.remove_links([("a", "KNOWS", "b", "d2", "")])
        assert len(graph.links(["a"])) == 3
        assert [li.target for li in graph.links(["a"], "in")] == ["a"]
        assert len(graph.links(None, origins=["d1"])) == 3
        assert len(graph.links(None, names=["LIKES", "nope"])) == 1
        assert graph.links(None, limit=2) == sorted(graph.links(None), key=lambda li: li.key)[:2]

    def test_a_replaced_link_keeps_one_row(self, graph: Graph) -> None:
        graph.put([Vertex("a", "P")])
        graph.put_links([Link("a", "R", "a", properties={"n": 1})])
        graph.put_links([Link("a", "R", "a", properties={"n": 2})])
        assert [li.properties for li in graph.links(None)] == [{"n": 2}]

    def test_empty_conditions_match_nothing(self, graph: Graph) -> None:
        graph.put([Vertex("a", "P")])
        graph.put_links([Link("a", "R", "a")])
        nothing: frozenset[str] = frozenset()
        for criteria in (
            Criteria(ids=nothing),
            Criteria(keys=nothing),
            Criteria(docs=nothing),
            Criteria(origins=nothing),
            Criteria(equal={"missing": None}),
        ):
            assert graph.select(criteria) == []
        assert graph.links([]) == graph.links(None, names=[]) == graph.links(None, origins=[]) == []

    def test_equality_keeps_types_apart(self, graph: Graph) -> None:
        values: list[Any] = [0, False, "", "0", 1, True, 1.5, None, [], ["x"], 2**60, 2**60 + 1]
        graph.put([Vertex(f"v{i}", "P", attributes={"k": v}) for i, v in enumerate(values)])
        for place, value in enumerate(values):
            found = graph.select(Criteria(equal={"k": value}))
            assert [v.id for v in found] == [f"v{place}"]

    def test_paging_gives_every_vertex_once(self, graph: Graph) -> None:
        graph.put([Vertex(f"v{i:02}", "P", doc="d" if i % 2 else "e") for i in range(23)])
        seen: list[str] = []
        after = None
        while page := graph.select(Criteria(docs=frozenset("d")), after=after, limit=4):
            seen += [v.id for v in page]
            after = page[-1].id
        assert seen == [f"v{i:02}" for i in range(1, 23, 2)]

    def test_deleting_leaves_neighbours(self, graph: Graph) -> None:
        graph.put([Vertex(i, "P") for i in "abc"])
        graph.put_links([Link("a", "R", "b"), Link("b", "R", "c"), Link("c", "R", "a")])
        graph.remove(["b", "nope"])
        assert [v.id for v in graph.scan()] == ["a", "c"]
        assert [li.key for li in graph.links(None)] == [("c", "R", "a", "", "")]
        graph.remove([])
        graph.remove_links([("x", "R", "y", "", "")])
        assert graph.counts() == (2, 1)

    def test_a_link_needs_both_ends(self, graph: Graph) -> None:
        graph.put([Vertex("a", "P")])
        with pytest.raises(StoreError, match="gone"):
            graph.put_links([Link("a", "R", "a"), Link("a", "R", "gone")])
        assert graph.counts() == (1, 0)

    def test_a_failed_transaction_leaves_nothing(self, graph: Graph) -> None:
        graph.put([Vertex("a", "P", attributes={"n": 1}), Vertex("b", "P")])
        graph.put_links([Link("a", "R", "b")])
        before = state(graph)
        with pytest.raises(ZeroDivisionError), graph.write():  # noqa: PT012
            graph.put([Vertex("c", "P"), Vertex("a", "P", attributes={"n": 2})])
            graph.put_links([Link("c", "R", "a")])
            with graph.write():
                graph.remove(["b"])
            assert [v.id for v in graph.scan()] == ["a", "c"]
            raise ZeroDivisionError
        assert state(graph) == before
        assert state(self.reopened(graph)) == before

    def test_replacing_a_vertex_keeps_its_links(self, graph: Graph) -> None:
        graph.put([Vertex("a", "P"), Vertex("b", "P")])
        graph.put_links([Link("a", "R", "b")])
        assert graph.put([Vertex("b", "Q", text="new"), Vertex("c", "P")]) == {"b"}
        assert graph.vertices(["b"])["b"].kind == "Q"
        assert len(graph.links(["b"], "in")) == 1


class ProjectionConformance:
    """What the outbox may rely on."""

    def test_it_is_a_target(self, graph: Graph) -> None:
        assert isinstance(PropertyGraphProjection(graph), GraphTarget)

    def test_structure_follows_every_change(self, graph: Graph) -> None:
        target = PropertyGraphProjection(graph)
        target.upsert([node("d"), node("s1", "d"), node("s2", "d", "s1"), node("s3", "d", "s2")])
        target.upsert([node("new", "d", "s1"), node("s2", "d", "new")])
        target.delete(["s3"])
        assert self._structure(graph) == {
            ("d", "CONTAINS", "s1"),
            ("d", "CONTAINS", "new"),
            ("d", "CONTAINS", "s2"),
            ("s1", "NEXT", "new"),
            ("new", "NEXT", "s2"),
        }
        before = state(graph)
        target.upsert([node("new", "d", "s1"), node("s2", "d", "new")])
        target.delete(["s3"])
        assert state(graph) == before

    def test_a_node_moves(self, graph: Graph) -> None:
        target = PropertyGraphProjection(graph)
        target.upsert([node("d"), node("a", "d"), node("b", "d", "a"), node("x", "a")])
        target.upsert([node("x", "b")])
        assert ("b", "CONTAINS", "x") in self._structure(graph)
        assert ("a", "CONTAINS", "x") not in self._structure(graph)

    def test_documents_share_relations_and_entities(self, graph: Graph) -> None:
        target = PropertyGraphProjection(graph)
        target.upsert_entities(
            [Entity(i, "Boat", i, (), {}, f"~{i}", "f") for i in ("mira", "otto")]
        )
        target.replace_relations("d1", [Edge("mira", "KNOWS", "otto", {"n": 1})])
        target.replace_relations("d2", [Edge("mira", "KNOWS", "otto"), Edge("otto", "IS", "mira")])
        target.replace_relations("d2", [Edge("mira", "KNOWS", "otto")])
        assert self._keys(graph) == {
            ("mira", "KNOWS", "otto", "d1", ""),
            ("mira", "KNOWS", "otto", "d2", ""),
        }
        target.delete_document("d2")
        assert [li.origin for li in graph.links(None)] == ["d1"]
        assert graph.counts()[0] == 2

    def test_one_document_states_a_relation_twice(self, graph: Graph) -> None:
        target = PropertyGraphProjection(graph)
        target.upsert_entities([Entity("e", "P", "e", (), {}, "~", "f")])
        edges = [Edge("e", "R", "e", {"since": 1}), Edge("e", "R", "e", {"since": 2})]
        target.replace_relations("d", edges)
        target.replace_relations("d", edges)
        assert sorted(li.properties["since"] for li in graph.links(None)) == [1, 2]

    def test_deleting_an_unknown_document_deletes_nothing(self, graph: Graph) -> None:
        target = PropertyGraphProjection(graph)
        target.upsert([node("d"), node("s", "d")])
        before = state(graph)
        for doc in ("nope", "", "None", "*"):
            target.delete_document(doc)
        target.delete(["nope"])
        target.delete_entities([])
        assert state(graph) == before

    def test_scan_tells_what_check_compares(self, graph: Graph) -> None:
        target = PropertyGraphProjection(graph)
        target.upsert([node("d"), node("s", "d")])
        target.upsert_entities([Entity("e", "P", "e", (), {}, "~a0", "fe")])
        rows = [(row.id, row.doc, row.order, row.fingerprint) for row in target.scan()]
        assert rows == [
            ("d", "d", "a0.d", "f-d"),
            ("e", "", "~a0", "fe"),
            ("s", "d", "a0.s", "f-s"),
        ]

    def _structure(self, graph: Graph) -> set[tuple[str, str, str]]:
        return {(li.source, li.name, li.target) for li in graph.links(None)}

    def _keys(self, graph: Graph) -> set[LinkKey]:
        return {li.key for li in graph.links(None)}
