"""What nobody should hand to a store: refused by name, with nothing half written."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pytest
from llama_index.core import Document
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
from store_fixtures import HashEmbedder, catalog_only, document

from llama_index_semxpath import SemXPathIndex
from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.index.writing import TreeSource


def llama(id_, text="# A\n\nten days", **metadata):
    return Document(text=text, doc_id=id_, metadata=metadata)


@pytest.fixture
def index(tmp_path):
    with SemXPathIndex(catalog_only(tmp_path), embed_model=HashEmbedder()) as made:
        made.insert(llama("here"))
        yield made


def nested(depth):
    value: object = 1
    for _ in range(depth):
        value = {"a": value}
    return value


TREE = document("v", {"A": ["x"]})
REFUSED = {
    "two documents of one call": lambda i: i.refresh([llama("a"), llama("b"), llama("a")]),
    "is no list of documents": lambda i: i.refresh(None),
    "is no LlamaIndex Document": lambda i: i.refresh(["text"]),
    "1 to 65535 bytes": lambda i: i.insert(llama("x" * 70_000)),
    "'s' holds a set": lambda i: i.insert(llama("a", s={1})),
    "'s' holds a bytes": lambda i: i.insert(llama("a", s=b"x")),
    "deeper than 32 levels": lambda i: i.insert(llama("a", s=nested(40))),
    r"vector of shape \(3,\)": lambda i: vectors(i, np.ones(3, np.float32)),
    "NaN or infinity": lambda i: vectors(i, np.full(64, np.nan, np.float32)),
    r"vector of shape \(\)": lambda i: vectors(i, "abc"),
    "is no node of a tree": lambda i: i.insert_tree(["text"]),
    "document without nodes": lambda i: i.insert_tree([]),
    "a NoneType is no id": lambda i: i.delete_ref_doc(None),
    "a int is no id": lambda i: i.delete_nodes([3]),
    "a NoneType is no text to search for": lambda i: i.semantic_search(None),
    "a int is no text to search for": lambda i: i.keyword_search(3),
    "limit must be a whole number": lambda i: i.keyword_search("days", limit="3"),
    "no such document": lambda i: i.add_relations([], "nope"),
    "is a collection of labels": lambda i: i.query("//*", principal="staff"),
    "labels must be strings": lambda i: i.query("//*", principal=[None]),
}


def vectors(index, vector):
    return index.write_trees([TreeSource(TREE, vectors={TREE[1].id: vector})])


@pytest.mark.parametrize("message", REFUSED)
def test_it_is_refused_by_name(index, message):
    before = [(n.id, n.order, n.text) for n in index.catalog.walk()], index.catalog.version
    with pytest.raises(SemXPathError, match=message):
        REFUSED[message](index)
    assert (
        [(n.id, n.order, n.text) for n in index.catalog.walk()],
        index.catalog.version,
    ) == before


def test_what_is_unknown_changes_nothing(index):
    version = index.catalog.version
    assert index.delete_ref_doc("nope") is False
    assert index.delete_nodes(["nope"]) == 0
    assert index.refresh([]).documents == 0
    assert index.refresh([llama("here")]).unchanged == 1
    assert index.catalog.version == version
    # A refresh of what is not there is an insert, of that and nothing else.
    assert index.refresh([llama("new")]).added == 3
    assert [d.id for d in index.documents()] == ["here", "new"]


def test_metadata_of_every_shape(tmp_path):
    given = {
        "none": None, "list": [1, None, "a"], "nested": {"a": {"b": [1]}},
        "day": dt.date(2031, 3, 1), "id": "mine", "text": "theirs", "a key": "v", "": "empty",
        "big": "y" * 1_000_000, "nan": float("nan"), "huge": 2**70,
    }  # fmt: skip
    with SemXPathIndex(tmp_path / "s", embed_model=HashEmbedder()) as index:
        index.insert(Document(text="ten days", doc_id="d", metadata=given))
        kept = index.catalog.nodes(["d"])["d"].attributes
        assert {k: v for k, v in kept.items() if k in given and k != "nan"} == {
            k: v for k, v in given.items() if k != "nan"
        }
        for query in (
            '/Document[@id = "mine"]', '/Document[@text = "theirs"]', '/Document[@nested.a.b = "1"]',
            '/Document[@day < "2031-04-01"]',
        ):  # fmt: skip
            assert index.query(query).ids == ["d"], query
        # In vectors and graph, too.
        assert index.check().counts == {}


@pytest.mark.parametrize("value", [None, "", float("nan"), []])
def test_a_missing_value_never_widens_a_filter(index, value):
    index.insert(llama("labelled", team="red"))
    filters = MetadataFilters(filters=[MetadataFilter.model_construct(key="team", value=value)])
    retriever = index.vector_index.as_retriever(filters=filters, similarity_top_k=9)
    try:
        found = retriever.retrieve("ten days")
    except (SemXPathError, ValueError):
        return
    assert found == []


def test_a_url_that_does_not_answer(tmp_path):
    config = StoreConfig(
        tmp_path / "s", milvus_uri="http://127.0.0.1:9", graph="none", patience=1.0
    )
    with SemXPathIndex(config, embed_model=HashEmbedder()) as index:
        with pytest.raises(SemXPathError, match=r"127\.0\.0\.1:9"):
            index.insert(llama("d"))
        assert index.documents() == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vectors": "redis"}, "unknown vector store 'redis'"),
        ({"graph": "neo4j"}, "unknown graph store"),
        ({"default_access": "maybe"}, "unknown default access"),
        ({"catalog_url": "mysql://h/db"}, "no catalog can be kept"),
    ],
)
def test_a_configuration_that_means_nothing(tmp_path, options, message):
    with pytest.raises(SemXPathError, match=message):
        SemXPathIndex(StoreConfig(Path(tmp_path), **options), embed_model=HashEmbedder())
