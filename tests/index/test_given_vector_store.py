"""A LlamaIndex vector store in the place of Milvus."""

from __future__ import annotations

import pytest
from llama_index.core.vector_stores import SimpleVectorStore, VectorStoreQuery
from store_fixtures import HashEmbedder, catalog_only, document

from llama_index_semxpath import SemXPathIndex
from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.index.llama_vectors import LlamaVectors
from llama_index_semxpath.testing.projection_suite import ProjectionConformance


class TestSimpleVectorStore(ProjectionConformance):
    @pytest.fixture
    def projection(self):
        return LlamaVectors(SimpleVectorStore())


def test_it_follows_the_catalog(tmp_path):
    given = SimpleVectorStore()
    config = StoreConfig(tmp_path, graph="none")
    with SemXPathIndex(config, embed_model=HashEmbedder(), vector_store=given) as index:
        for doc in "d1", "d2":
            index.insert_tree(
                document(doc, {"Plan": ["ten days", f"for {doc}"]}, labels={"d2": ["b"]})
            )
        index.insert_tree(document("d1", {"Plan": ["ten days", "for nobody"]}))
        assert index.delete_ref_doc("nope") is False
        held = set(given.data.embedding_dict)
        assert held == {n.id for n in index.catalog.walk() if n.kind != "Document"}
        vector = index.reader.embeddings.query_vector("for nobody").tolist()
        found = given.query(VectorStoreQuery(query_embedding=vector, similarity_top_k=1))
        assert index.node(found.ids[0], ["b"]) is None or found.ids[0] in held
        assert index.check().counts == {}
        # Another program took a node away, and a whole document.
        given.delete_nodes(node_ids=[[n.id for n in index.catalog.walk("d1")][2]])
        given.delete("d2")
        report = index.check(repair=True)
        assert report.ok
        assert report.counts == {"vectors missing": 4}
        assert set(given.data.embedding_dict) == held
        # A search never leaves the catalog, so its filters hold.
        assert {m.document for m in index.semantic_search("days", principal=["b"])} == {"d2"}


def test_a_store_that_cannot_delete_is_named(tmp_path):
    class OnlyAdds(SimpleVectorStore):
        def delete_nodes(self, *_: object, **__: object) -> None:
            raise NotImplementedError

    with (
        SemXPathIndex(
            catalog_only(tmp_path), embed_model=HashEmbedder(), vector_store=OnlyAdds()
        ) as index,
        pytest.raises(StoreError, match="a OnlyAdds cannot be deleted from by id"),
    ):
        index.insert_tree(document("d", {"A": ["x"]}))
