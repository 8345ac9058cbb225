"""The whole store, embedded as a user has it: SQLite, Milvus Lite, Ladybug, packaged model."""

from __future__ import annotations

import datetime as dt
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from llama_index.core import Document, MockEmbedding
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)
from store_fixtures import HashEmbedder, catalog_only, document

from llama_index_semxpath import SemXPathIndex
from llama_index_semxpath.errors import (
    AttributeValueError,
    EmbeddingMismatchError,
    SemXPathError,
    SourceError,
    StoreError,
    UnknownDocumentError,
)
from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.index.graph_projection import PropertyGraphProjection
from llama_index_semxpath.index.milvus import MilvusProjection
from llama_index_semxpath.index.milvus_expr import Compare, Contains
from llama_index_semxpath.index.rows import EntitySource
from llama_index_semxpath.index.writing import TreeSource
from llama_index_semxpath.tree.edges import Edge
from llama_index_semxpath.tree.node import TreeNode

CASES = Path(__file__).parent.parent / "cases" / "stores"


def case(name: str) -> dict:
    return json.loads((next(CASES.glob(f"{name}-*")) / "case.json").read_text())


@pytest.fixture
def index(tmp_path):
    made = SemXPathIndex(tmp_path / "store", embed_model=HashEmbedder())
    yield made
    made.close()


def stored(index: SemXPathIndex) -> dict[str, set[str]]:
    """Ids in every store."""
    found = {p.name: {row.id for row in p.scan()} for p in index.projections}
    found["catalog"] = {node.id for node in index.catalog.walk()}
    return found


def vectors(index: SemXPathIndex) -> MilvusProjection:
    return next(p for p in index.projections if isinstance(p, MilvusProjection))


def graph(index: SemXPathIndex) -> PropertyGraphProjection:
    return next(p for p in index.projections if isinstance(p, PropertyGraphProjection))


def llama(doc: str, text: str, /, **metadata: object) -> Document:
    return Document(text=text, doc_id=doc, metadata=metadata)


def test_one_id_in_every_store(index):
    index.insert(llama("d", "# Leave\n\nTen days a year.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"))
    ids = stored(index)
    assert ids["graph"] == ids["catalog"]
    assert ids["vectors"] < ids["catalog"]
    assert {match.id for match in index.query("//*")} == ids["catalog"]
    assert index.check().ok


def test_an_edit_touches_what_changed(index):
    texts = [
        f"## Section {i}\n\nFirst {i}.\n\nSecond {i}.\n\nThird {i} is a longer text."
        for i in range(40)
    ]
    index.insert(llama("d", "# All\n\n" + "\n\n".join(texts)))
    model = index.reader.embeddings.embedder
    model.seen.clear()
    texts[20] = texts[20].replace("Third 20", "Other 20")
    totals = index.insert(llama("d", "# All\n\n" + "\n\n".join(texts)))
    # The paragraph, and the section whose first words it belongs to.
    assert (totals.added, totals.removed) == (1, 1)
    assert totals.changed <= 2
    assert len(model.seen) <= 3
    assert index.check().ok
    model.seen.clear()
    index.insert(llama("d", "# All\n\n" + "\n\n".join(texts)))
    assert model.seen == []


def test_a_reopened_store_is_the_same(index, tmp_path):
    index.insert(llama("d", "# Leave\n\nTen days a year."))
    before = [match.to_dict() for match in index.query("//*")]
    index.close()
    again = SemXPathIndex.load(tmp_path / "store", embed_model=HashEmbedder())
    assert [match.to_dict() for match in again.query("//*")] == before
    assert "Ten days a year." in {m.text for m in again.semantic_search("ten days")}
    assert again.check().ok
    again.close()


def test_loading_nothing_makes_nothing(tmp_path):
    with pytest.raises(StoreError, match="no store"):
        SemXPathIndex.load(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_a_file_in_place_of_a_store(tmp_path):
    (tmp_path / "store").write_text("x")
    with pytest.raises(StoreError, match="directory"):
        SemXPathIndex(tmp_path / "store")


# Models


def test_another_model_is_refused(index, tmp_path):
    index.insert(llama("d", "# Leave\n\nTen days."))
    index.close()
    with pytest.raises(EmbeddingMismatchError, match="trigrams"):
        SemXPathIndex.load(tmp_path / "store")
    with pytest.raises(EmbeddingMismatchError, match="trigrams"):
        SemXPathIndex.load(tmp_path / "store", embed_model=MockEmbedding(embed_dim=64))
    sham = SemXPathIndex.load(tmp_path / "store", embed_model=HashEmbedder(salt=9))
    with pytest.raises(EmbeddingMismatchError, match="other vectors"):
        sham.semantic_search("leave")
    with pytest.raises(EmbeddingMismatchError, match="other vectors"):
        sham.insert(llama("e", "# New\n\nText."))
    assert [d.id for d in sham.documents()] == ["d"]
    sham.close()


def test_a_llama_index_model(tmp_path):
    config = catalog_only(tmp_path)
    with SemXPathIndex(config, embed_model=MockEmbedding(embed_dim=16)) as index:
        index.insert(llama("d", "# A\n\nText."))
        assert index.reader.embeddings.dimension == 16
    with SemXPathIndex.load(config, embed_model=MockEmbedding(embed_dim=16)) as index:
        assert index.semantic_search("text")


def test_a_model_that_gives_nan_writes_nothing(tmp_path):
    from llama_index_semxpath.index.embedding import LlamaEmbedder

    class Nan(MockEmbedding):
        def _get_text_embeddings(self, texts):
            return [[float("nan")] * 4 for _ in texts]

    with SemXPathIndex(catalog_only(tmp_path), embed_model=Nan(embed_dim=4)) as index:
        assert isinstance(index.reader.embeddings.embedder, LlamaEmbedder)
        with pytest.raises(EmbeddingMismatchError, match="NaN"):
            index.insert(llama("d", "# A\n\nText."))
        assert index.documents() == []


def test_given_vectors_are_kept(index):
    tree = document("d", {"A": ["x", "y"]})
    given = {tree[2].id: np.eye(64, dtype=np.float32)[5]}
    index.write_trees([TreeSource(tree, vectors=given)])
    model = index.reader.embeddings.embedder
    assert "A\nx" not in model.seen
    assert vectors(index).get([tree[2].id])[tree[2].id][5] == pytest.approx(1)
    assert index.check().ok
    for bad, message in ((np.ones(3), "dimension 64"), (np.full(64, np.nan), "NaN")):
        with pytest.raises(EmbeddingMismatchError, match=message) as raised:
            index.write_trees([TreeSource(tree, vectors={tree[3].id: bad})])
        assert raised.value.where == tree[3].id


def test_no_embedding_model_is_none(tmp_path):
    with pytest.raises(SemXPathError, match="no embedding model"):
        SemXPathIndex(tmp_path / "store", embed_model="bge-m3")


# Cases of the field


def test_case_39_delete_leaves_nothing(index):
    data = case("39")["data"]["documents"]
    expected = case("39")["expected"]["after_delete"]

    def ingest(given: dict) -> None:
        index.insert(llama(given["doc_id"], given["text"]))
        names = {name for a, _, b in given["triples"] for name in (a, b)}
        doc = given["doc_id"]
        index.add_entities([EntitySource(f"e:{n}", doc, "Thing", n) for n in names], doc)
        index.add_relations([Edge(f"e:{a}", r, f"e:{b}") for a, r, b in given["triples"]], doc)

    for given in data:
        ingest(given)
    before = stored(index)
    assert index.query('/Thing[name = "Otto"]').ids == ["e:Otto"]
    assert index.delete_ref_doc("d2")
    after = stored(index)
    assert index.delete_ref_doc("d2") is False
    assert stored(index) == after
    assert [d.id for d in index.documents()] == expected["documents"]
    assert sorted(m.attributes["name"] for m in index.query("/Thing")) == sorted(
        expected["entities"]
    )
    assert {(e.source, e.name, e.target) for e in index.catalog.edges()} == {
        (f"e:{a}", r, f"e:{b}") for a, r, b in expected["edges"]
    }
    ends = {end for e in index.catalog.edges() for end in (e.source, e.target)}
    assert ends <= after["graph"]
    assert index.keyword_search("Otto") == []
    assert index.query('//*[contains(., "Otto")]').ids == []
    assert not any("Otto" in m.text for m in index.semantic_search("Otto", limit=50))
    assert all(node.doc == "d1" for node in index.catalog.walk())
    ingest(data[1])
    assert stored(index) == before
    assert index.check().ok


def test_case_41_identical_content(index):
    texts = case("41")["data"]["documents"]
    expected = case("41")["expected"]["after"]
    for wanted in (["a", "b", "c"], ["b", "c"], ["b"], ["a", "b"]):
        index.refresh([llama(doc, texts[doc]) for doc in wanted])
        for held in index.documents():
            if held.id not in wanted:
                index.delete_ref_doc(held.id)
        if wanted != ["a", "b", "c"]:
            assert sorted(d.id for d in index.documents()) == expected.pop(0)
        ids = stored(index)
        assert {node.doc for node in index.catalog.walk()} == set(wanted)
        assert ids["graph"] == ids["catalog"]
        assert index.check().ok


def test_case_43_any_id(index, tmp_path):
    ids = case("43")["data"]["ids"]
    tree = [TreeNode("root", "Document", "root")]
    tree += [TreeNode(id_, "Paragraph", "root", "root", f"text {i}") for i, id_ in enumerate(ids)]
    index.insert_tree(tree)
    index.add_relations([Edge(a, "TO", b) for a, b in pairwise(ids)], "root")
    for _ in range(2):
        for place, id_ in enumerate(ids):
            assert index.node(id_).text == f"text {place}"
            assert index.query("id($id)", params={"id": id_}).ids == [id_]
        assert stored(index)["vectors"] == set(ids)
        index.close()
        index = SemXPathIndex.load(tmp_path / "store", embed_model=HashEmbedder())
    for place, id_ in enumerate(ids):
        index.delete_nodes([id_])
        left = set(ids[place + 1 :])
        found = stored(index)
        assert found["vectors"] == left
        assert found["catalog"] == found["graph"] == left | {"root"}
    index.close()


def test_case_45_any_value(index):
    values = case("45")["data"]["values"]
    tree = [TreeNode("d", "Document", "d")]
    tree += [
        TreeNode(f"n{i}", "Paragraph", "d", "d", f"text {i}", {"tag": v})
        for i, v in enumerate(values)
    ]
    index.insert_tree(tree)
    everyone = {f"n{i}" for i in range(len(values))}
    for place, value in enumerate(values):
        one = {f"n{place}"}
        params = {"v": value}
        assert set(index.query("//Paragraph[@tag = $v]", params=params).ids) == one
        assert set(index.query("//Paragraph[@tag != $v]", params=params).ids) == everyone - one
        for operator, wanted, operand in (
            (FilterOperator.EQ, one, value),
            (FilterOperator.NE, everyone - one, value),
            (FilterOperator.IN, one, [value, "nothing"]),
        ):
            filters = MetadataFilters(
                filters=[MetadataFilter(key="tag", value=operand, operator=operator)]
            )
            found = index.vector_index.vector_store.get_nodes(filters=filters)
            assert {node.node_id for node in found} == wanted


def test_case_47_typed_metadata(index, tmp_path):
    metadata = eval(case("47")["data"]["metadata_python"], {"datetime": dt})
    tree = [
        TreeNode("d", "Document", "d"),
        TreeNode("n", "Paragraph", "d", "d", "text", metadata),
    ]
    index.insert_tree(tree)
    index.close()
    index = SemXPathIndex.load(tmp_path / "store", embed_model=HashEmbedder())
    back = index.node("n").attributes
    wanted = {**metadata, "pair": [1, 2]}
    assert {k: v for k, v in back.items() if k != "share"} == {
        k: v for k, v in wanted.items() if k != "share"
    }
    assert back["share"] != back["share"]
    assert type(back["issued"]) is dt.datetime
    assert back["issued"].tzinfo is not None
    assert type(back["day"]) is dt.date
    select = vectors(index).select
    assert select(Contains("tags", "ice")) == ["n"]
    assert select(Compare("issued", ">=", "2031-03-01")) == ["n"]
    assert select(Compare("size.h", "==", 4)) == ["n"]
    assert select(Compare("tags", "==", "ice")) == []
    assert index.query('//Paragraph[@issued >= "2031-03-01"]').ids == ["n"]
    assert index.query("//Paragraph[@`size.h` = 4]").ids == ["n"]
    bad = eval(case("47")["data"]["bad_metadata_python"], {"datetime": dt})
    with pytest.raises(AttributeValueError, match="handle"):
        index.insert_tree([TreeNode("e", "Document", "e", attributes=bad)])
    with pytest.raises(AttributeValueError, match="handle"):
        index.insert(llama("e", "text", **bad))
    assert [d.id for d in index.documents()] == ["d"]
    index.close()


@pytest.mark.parametrize(
    "key", ["id", "text", "a key", "doc", "vector", "order_key", "$meta", "制度"]
)
def test_any_key(index, key):
    index.insert(llama("d", "# T\n\nText.", **{key: "value"}))
    assert index.node("d").attributes[key] == "value"
    assert index.check().ok
    filters = MetadataFilters(filters=[MetadataFilter(key=key, value="value")])
    if key != "doc":
        assert index.vector_index.vector_store.get_nodes(filters=filters)


# Bad input


def test_bad_documents_are_refused_and_nothing_is_written(index):
    for bad in (
        llama("d", ""),
        llama("d", "   \n "),
        llama("a\ud800", "text"),
        llama("d", "a\x00b"),
        llama("d", "text", acl="staff"),
        llama("d", "text", acl=[1]),
    ):
        with pytest.raises(SemXPathError):
            index.insert(bad)
    assert index.documents() == []
    for bad in ("text", None):
        with pytest.raises(SourceError, match="no LlamaIndex Document"):
            index.insert(bad)
    assert index.delete_ref_doc("nope") is False
    assert index.delete_ref_doc("\ud800") is False
    with pytest.raises(UnknownDocumentError, match="nope"):
        index.add_relations([], "nope")
    with pytest.raises(SourceError):
        index.refresh([llama("good", "# A\n\ntext"), llama("bad", "")])
    assert index.documents() == []


def test_bad_relations_and_entities_are_refused(index):
    index.insert(llama("d", "# A\n\nText."))
    for edge in (
        Edge("\ud800", "R", "b"),
        Edge("a", "R\x00", "b"),
        Edge("a", "R", "b", {"k": {1}}),
    ):
        with pytest.raises(AttributeValueError):
            index.add_relations([edge], "d")
    for entity in (EntitySource("\ud800", "d", "L", "n"), EntitySource("e", "d", "L", "n\x00")):
        with pytest.raises(AttributeValueError):
            index.add_entities([entity], "d")
    assert index.catalog.edges() == []
    assert index.catalog.entity_sources() == []


def test_limits_that_ask_for_nothing(index):
    index.insert(llama("d", "# A\n\nText."))
    for limit in (0, -1):
        assert index.keyword_search("text", limit=limit) == []
        assert index.semantic_search("text", limit=limit) == []


def test_a_closed_store_says_so(tmp_path):
    index = SemXPathIndex(catalog_only(tmp_path), embed_model=HashEmbedder())
    index.close()
    for action in (lambda: index.query("//*"), lambda: index.insert(llama("d", "text"))):
        with pytest.raises(StoreError, match="closed"):
            action()


# LlamaIndex


def test_an_ordinary_vector_index(index):
    index.refresh([llama(f"d{i}", f"# Title {i}\n\nText number {i}.", n=i) for i in range(6)])
    model = index.reader.embeddings.embedder
    model.seen.clear()
    wrapped = index.vector_index
    filters = MetadataFilters(
        filters=[
            MetadataFilter(key="n", value=2, operator=FilterOperator.GTE),
            MetadataFilters(
                filters=[MetadataFilter(key="n", value=3), MetadataFilter(key="n", value=4)],
                condition=FilterCondition.OR,
            ),
        ]
    )
    found = wrapped.as_retriever(similarity_top_k=20, filters=filters).retrieve("text number")
    assert {node.node.ref_doc_id for node in found} == {"d3", "d4"}
    assert {node.node_id for node in found} <= stored(index)["catalog"]
    assert model.seen == ["text number"]
    wrapped.insert(Document(text="Something quite new.", doc_id="new"))
    assert index.keyword_search("quite")[0].document == "new"
    wrapped.delete_ref_doc("new")
    assert index.keyword_search("quite") == []
    assert index.check().ok


def test_a_filter_without_meaning_is_refused(index):
    index.insert(llama("d", "# A\n\nText."))
    store = index.vector_index.vector_store
    for bad in (
        MetadataFilter(key="n", value=None, operator=FilterOperator.EQ),
        MetadataFilter(key="n", value="x", operator=FilterOperator.IN),
    ):
        with pytest.raises(StoreError):
            store.get_nodes(filters=MetadataFilters(filters=[bad]))
    with pytest.raises(StoreError):
        store.delete_nodes()
    assert index.catalog.count_nodes() == 3


def test_the_catalog_is_a_document_store(index):
    index.insert(llama("d", "# Leave\n\nTen days.\n\n## More\n\n- one\n- two\n", dept="hr"))
    store = index.docstore
    assert set(store.docs) == stored(index)["catalog"]
    section = store.get_document(index.query('//Section[title = "More"]').ids[0])
    assert section.parent_node is not None
    assert "Ten days." in store.get_document(section.parent_node.node_id).text
    assert len(section.child_nodes) == 1
    assert section.metadata["dept"] == "hr"
    assert store.get_document("nope", raise_error=False) is None
    with pytest.raises(ValueError, match="nope"):
        store.get_document("nope")
    assert set(store.get_ref_doc_info("d").node_ids) == stored(index)["catalog"] - {"d"}
    store.set_document_hash("d", "h")
    assert store.get_document_hash("d") == "h"
    assert store.get_all_document_hashes() == {"h": "d"}
    store.add_documents([TextNode(id_="loose", text="loose text")])
    assert store.get_document("loose").text == "loose text"
    store.delete_ref_doc("d")
    assert store.get_document_hash("d") is None
    assert index.check().ok


def test_auto_merging_over_the_document_store(index):
    from llama_index.core.retrievers import AutoMergingRetriever

    from llama_index_semxpath.index.llama import storage_context

    text = "# Leave\n\n" + "\n\n".join(f"Leave rule number {i}." for i in range(5))
    index.insert(llama("d", text))
    retriever = AutoMergingRetriever(
        index.vector_index.as_retriever(similarity_top_k=8), storage_context(index)
    )
    found = retriever.retrieve("leave rule number")
    assert [node.node_id for node in found] == index.query("//Section").ids
    assert "Leave rule number 4." in index.docstore.get_document(found[0].node_id).get_content()


def test_an_ordinary_graph_index(index):
    index.insert(llama("d", "# Leave\n\nTen days."))
    store = index.graph_index.property_graph_store
    assert {node.id for node in store.get()} == stored(index)["catalog"]


async def test_async_query(index):
    index.insert(llama("d", "# Leave\n\nTen days."))
    assert (await index.aquery("//Section")).ids == index.query("//Section").ids


def test_a_config_file(tmp_path):
    path = tmp_path / "c.toml"
    path.write_text('store = "s"\ndefault_access = "allow"\n[graph]\nstore = "memory"\n')
    config = StoreConfig.from_file(path)
    assert (config.store, config.graph, config.default_access) == (
        tmp_path / "s",
        "memory",
        "allow",
    )
    for text in ("x = 1", "store = 1", "[vectors]\nurl = 'x'", "not toml", '[graph]\nstore = "x"'):
        path.write_text(text)
        with pytest.raises(StoreError):
            StoreConfig.from_file(path)
    with pytest.raises(StoreError, match="missing"):
        StoreConfig.from_file(tmp_path / "missing.toml")
