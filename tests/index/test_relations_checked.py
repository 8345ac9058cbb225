"""``check`` compares relations too, and mends them from the catalog."""

from __future__ import annotations

import pytest
from store_fixtures import HashEmbedder, document

from llama_index_semxpath.index.base import SemXPathIndex
from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.index.graph_model import Link
from llama_index_semxpath.index.rows import EntitySource
from llama_index_semxpath.tree.edges import Edge


@pytest.fixture(params=["memory", "ladybug"])
def index(request, tmp_path):
    config = StoreConfig(tmp_path, milvus_uri="", graph=request.param)
    with SemXPathIndex(config, embed_model=HashEmbedder()) as made:
        for doc in "d1", "d2":
            made.insert_tree(document(doc, {"A": ["one", "two", "three"], "B": ["four"]}))
        made.add_entities([EntitySource("e", "d1", "Topic", "leave")], "d1")
        first = [n.id for n in made.catalog.walk("d1")]
        edges = [Edge(first[1], "MENTIONS", "e", {"page": 3, "at": None}),
                 Edge(first[2], "CITES", "d2"), Edge(first[2], "CITES", "d2", {"n": 2})]  # fmt: skip
        made.add_relations(edges, "d1")
        assert made.check().counts == {}
        yield made


def test_relations_that_differ_are_named_and_mended(index):
    graph = index._projections.graph().graph
    nodes = [n.id for n in index.catalog.walk("d1")]
    graph.remove_links([link.key for link in graph.links(nodes[2:3], origins=["d1"])])
    graph.put_links([Link("d2", "CITES", "d1", "d2"), Link("d2", "CITES", "d1", "long gone")])
    graph.put_links([Link(nodes[1], "MENTIONS", "e", "d1", {"page": 4})])
    graph.remove_links([link.key for link in graph.links(nodes[4:5], "in", names=["CONTAINS"])])
    report = index.check()
    assert report.counts == {"graph missing": 4, "graph orphans": 3}
    reasons = {fault.reason for fault in report.missing}
    assert f"the relation CONTAINS from {nodes[1]} is not there" in reasons
    assert {fault.document for fault in report.orphans} == {"d1", "d2", "long gone"}
    report = index.check(repair=True)
    assert (report.ok, report.repaired) == (True, 7)
    assert index.check().counts == {}
    assert [m.id for m in index.query("//Topic/inv::MENTIONS")] == [nodes[1]]


def test_a_lost_node_comes_back_with_all_its_relations(index):
    graph = index._projections.graph().graph
    section = [n.id for n in index.catalog.walk("d1")][1]
    graph.remove([section, "e"])
    report = index.check(repair=True)
    # What hangs on a lost node is not counted again.
    assert report.counts == {"graph missing": 2}
    assert report.ok
    assert index.check().counts == {}
