"""The LlamaIndex side: property graph stores and a PropertyGraphIndex over them."""

import datetime as dt
import itertools
import json
import math
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.graph_stores.types import (
    KG_NODES_KEY,
    KG_RELATIONS_KEY,
    VECTOR_SOURCE_KEY,
    ChunkNode,
    EntityNode,
    Relation,
)
from llama_index.core.indices.property_graph import LLMSynonymRetriever, VectorContextRetriever
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata, MockLLM
from llama_index.core.schema import (
    Document,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
    TransformComponent,
)
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import VectorStoreQuery

from llama_index_semxpath.errors import AttributeValueError, StoreError
from llama_index_semxpath.index.graph_index import build_graph_index
from llama_index_semxpath.index.graph_projection import PropertyGraphProjection
from llama_index_semxpath.index.graph_store import (
    GraphPropertyGraphStore,
    LadybugPropertyGraphStore,
    MemoryPropertyGraphStore,
)
from llama_index_semxpath.index.nebula_store import SemXPathNebulaStore
from llama_index_semxpath.index.projection import Entity
from llama_index_semxpath.testing.graph_suite import node
from tests.nebula_emulator.server import NebulaEmulator

CASES = Path(__file__).parents[1] / "cases" / "stores"


def case(number: int) -> dict[str, Any]:
    (path,) = CASES.glob(f"{number}-*/case.json")
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(params=["memory", "ladybug", "nebula"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GraphPropertyGraphStore]:
    with ExitStack() as stack:
        made: GraphPropertyGraphStore
        if request.param == "memory":
            made = MemoryPropertyGraphStore()
        elif request.param == "ladybug":
            made = LadybugPropertyGraphStore(tmp_path / "g.lbug")
        else:
            emulator = stack.enter_context(NebulaEmulator())
            made = SemXPathNebulaStore([emulator.address], space="kg")
        yield made
        made.close()


class Triples(TransformComponent):
    """Gives each chunk the triples that the case names for its document."""

    triples: dict[str, list[list[str]]]

    def __call__(self, nodes: list[TextNode], **_: Any) -> list[TextNode]:
        for chunk in nodes:
            stated = self.triples[chunk.ref_doc_id or ""]
            names = dict.fromkeys(name for s, _, t in stated for name in (s, t))
            chunk.metadata[KG_NODES_KEY] = [EntityNode(name=name) for name in names]
            chunk.metadata[KG_RELATIONS_KEY] = [
                Relation(label=r, source_id=s, target_id=t) for s, r, t in stated
            ]
        return nodes


def state(store: GraphPropertyGraphStore) -> tuple[list[str], list[tuple[str, str, str]]]:
    nodes = store.get()
    triplets = store.get_triplets(ids=[n.id for n in nodes])
    return sorted(map(repr, nodes)), sorted((a.id, r.label, b.id) for a, r, b in triplets)


def test_case_39_deleting_a_document_leaves_nothing(store: GraphPropertyGraphStore) -> None:
    given = case(39)
    documents = given["data"]["documents"]
    triples = {d["doc_id"]: d["triples"] for d in documents}
    index = build_graph_index(store, kg_extractors=[Triples(triples=triples)])
    for document in documents:
        index.insert(Document(text=document["text"], doc_id=document["doc_id"]))
    before = state(store)

    store.delete_llama_nodes(ref_doc_ids=["d2"])
    after = given["expected"]["after_delete"]
    entities = [n.name for n in store.get() if isinstance(n, EntityNode)]
    assert sorted(entities) == sorted(after["entities"])
    found = store.get_triplets(entity_names=entities)
    assert sorted([a.name, r.label, b.name] for a, r, b in found) == sorted(after["edges"])
    chunks = [n for n in store.get() if isinstance(n, ChunkNode)]
    assert {c.properties["ref_doc_id"] for c in chunks} == {"d1"}
    assert store.get_triplets(entity_names=["Otto"]) == []

    once = state(store)
    store.delete_llama_nodes(ref_doc_ids=["d2"])
    assert state(store) == once
    index.insert(Document(text=documents[1]["text"], doc_id="d2"))
    names = {n.name for n in store.get() if isinstance(n, EntityNode)}
    assert names == {"Mira", "north pier", "pilot boat", "Otto", "tug"}
    assert len(state(store)[1]) == len(before[1])


def test_an_entity_lives_while_one_source_does(store: GraphPropertyGraphStore) -> None:
    index = build_graph_index(
        store,
        kg_extractors=[Triples(triples={d: [["Mira", "IS_A", "boat"]] for d in ("a", "b", "c")})],
    )
    for doc in "abc":
        index.insert(Document(text=f"text {doc}", doc_id=doc))
    for doc, left in (("a", 2), ("c", 1)):
        store.delete_llama_nodes(ref_doc_ids=[doc])
        assert {n.name for n in store.get() if isinstance(n, EntityNode)} == {"Mira", "boat"}
        assert sum(isinstance(n, ChunkNode) for n in store.get()) == left
    store.delete_llama_nodes(ref_doc_ids=["b"])
    assert store.get() == []


def test_properties_come_from_all_living_sources(store: GraphPropertyGraphStore) -> None:
    def said(source: str, **properties: Any) -> EntityNode:
        return EntityNode(name="Mira", properties={**properties, "triplet_source_id": source})

    store.upsert_nodes([said("c1", flag="NL", crew=0)])
    store.upsert_nodes([said("c2", flag="DE", fast=False)])
    store.upsert_nodes([said("c2", fast=False)])
    (found,) = store.get(ids=["Mira"])
    assert found.properties == {
        "flag": "NL", "crew": 0, "fast": False, "triplet_source_id": "c2",
    }  # fmt: skip
    store.delete_llama_nodes(node_ids=["c1"])
    (found,) = store.get(ids=["Mira"])
    assert found.properties == {"fast": False, "triplet_source_id": "c2"}


def test_case_43_ids_of_any_characters(store: GraphPropertyGraphStore) -> None:
    ids = case(43)["data"]["ids"]
    store.upsert_llama_nodes([TextNode(id_=id_, text=f"text of {id_}") for id_ in ids])
    store.upsert_relations(
        [Relation(label="NEXT", source_id=a, target_id=b) for a, b in itertools.pairwise(ids)]
    )
    for id_ in ids:
        assert [n.id for n in store.get(ids=[id_])] == [id_]
        assert store.get_llama_nodes([id_])[0].get_content() == f"text of {id_}"
    assert len(store.get_triplets(ids=ids)) == len(ids) - 1
    for count, id_ in enumerate(ids, start=1):
        store.delete(ids=[id_])
        assert len(store.get()) == len(ids) - count


def test_case_47_metadata_comes_back_typed(store: GraphPropertyGraphStore) -> None:
    given = case(47)["data"]
    metadata = eval(given["metadata_python"], {"datetime": dt, "float": float})
    store.upsert_llama_nodes([TextNode(id_="n", text="t", metadata=metadata)])
    (found,) = store.get_llama_nodes(["n"])
    assert math.isnan(found.metadata.pop("share"))
    expected = {**metadata, "pair": [1, 2]}
    del expected["share"]
    assert found.metadata == expected
    assert type(found.metadata["issued"]) is dt.datetime
    bad = eval(given["bad_metadata_python"])
    with pytest.raises(AttributeValueError, match="handle"):
        store.upsert_llama_nodes([TextNode(id_="ok", text="t"), TextNode(id_="bad", metadata=bad)])
    assert [n.id for n in store.get()] == ["n"]


def test_get_by_properties(store: GraphPropertyGraphStore) -> None:
    values: dict[str, Any] = {"zero": 0, "no": False, "blank": "", "none": None, "list": [1]}
    store.upsert_nodes([EntityNode(name=k, properties={"v": v}) for k, v in values.items()])
    store.upsert_llama_nodes(
        [
            TextNode(
                id_="c",
                text="t",
                metadata={"v": "quote ' \" \\"},
                relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="doc")},
            )
        ]
    )
    for name, value in values.items():
        assert [n.id for n in store.get(properties={"v": value})] == [name]
    assert [n.id for n in store.get(properties={"v": "quote ' \" \\"})] == ["c"]
    assert [n.id for n in store.get(properties={"ref_doc_id": "doc"})] == ["c"]
    assert store.get(properties={"ref_doc_id": None}) == []
    assert store.get(properties={"missing": None}) == []
    assert store.get(ids=[]) == []
    assert len(store.get()) == 6


def test_deleting_what_is_not_there_deletes_nothing(store: GraphPropertyGraphStore) -> None:
    store.upsert_llama_nodes([TextNode(id_="c", text="t")])
    store.upsert_nodes([EntityNode(name="e")])
    store.upsert_relations([Relation(label="R", source_id="e", target_id="c")])
    before = state(store)
    store.delete()
    store.delete(ids=[], entity_names=[], relation_names=[], properties={})
    store.delete(ids=["nope"], entity_names=["nope"], relation_names=["nope"])
    store.delete(properties={"nope": None})
    store.delete_llama_nodes()
    store.delete_llama_nodes(node_ids=["nope"], ref_doc_ids=["nope", "None", ""])
    assert state(store) == before
    store.delete(relation_names=["R"])
    assert (len(store.get()), store.get_triplets(ids=["e"])) == (2, [])


def test_relations_between_chunks_are_read_back(store: GraphPropertyGraphStore) -> None:
    store.upsert_llama_nodes([TextNode(id_=i, text=i) for i in "ab"])
    relations = [
        Relation(label="NEXT", source_id="a", target_id="b", properties={"w": 0}),
        Relation(label="CITES", source_id="a", target_id="b", properties={"page": False, "s": ""}),
        Relation(label="NEXT", source_id="b", target_id="a"),
    ]
    store.upsert_relations(relations)
    found = [r for _, r, _ in store.get_triplets(ids=["a"])]
    assert sorted(map(repr, found)) == sorted(map(repr, relations))
    one = store.get_triplets(ids=["a"], relation_names=["CITES"])
    assert [(a.id, r.properties, b.id) for a, r, b in one] == [("a", {"page": False, "s": ""}, "b")]
    assert store.get_triplets(relation_names=["nope"]) == store.get_triplets(ids=["x"]) == []
    assert store.get_triplets() == []
    assert len(store.get_triplets(properties={"w": 0})) == 1
    assert store.get_triplets(properties={"w": False}) == []


def test_rel_map_walks_both_ways_and_stops(store: GraphPropertyGraphStore) -> None:
    names = [f"n{i}" for i in range(6)]
    store.upsert_relations(
        [Relation(label="TO", source_id=a, target_id=b) for a, b in itertools.pairwise(names)]
    )
    store.upsert_relations([Relation(label="SKIP", source_id="n2", target_id="n5")])
    start = store.get(ids=["n2"])

    def walk(**options: Any) -> set[tuple[str, str]]:
        return {(a.id, b.id) for a, _, b in store.get_rel_map(start, **options)}

    assert walk(depth=0) == set()
    assert walk(depth=1, ignore_rels=["SKIP"]) == {("n1", "n2"), ("n2", "n3")}
    assert walk(depth=2, ignore_rels=["SKIP"]) == {
        ("n0", "n1"), ("n1", "n2"), ("n2", "n3"), ("n3", "n4"),
    }  # fmt: skip
    assert ("n2", "n5") in walk(depth=1)
    assert len(walk(depth=5, limit=3)) == 3
    assert walk(depth=2, limit=0) == set()
    assert store.get_rel_map([], depth=2) == []


def test_an_entity_never_overwrites_a_chunk(store: GraphPropertyGraphStore) -> None:
    store.upsert_llama_nodes([TextNode(id_="main", text="t")])
    with pytest.raises(StoreError, match="main"):
        store.upsert_nodes([EntityNode(name="other"), EntityNode(name="main")])
    assert [n.id for n in store.get()] == ["main"]
    store.upsert_nodes([EntityNode(name="crew", properties={"n": 1})])
    with pytest.raises(StoreError, match="crew"):
        store.upsert_llama_nodes([TextNode(id_="crew", text="t")])


def test_a_relation_may_come_before_its_chunk(store: GraphPropertyGraphStore) -> None:
    store.upsert_relations([Relation(label="NEXT", source_id="a", target_id="b")])
    store.upsert_llama_nodes([TextNode(id_="a", text="A"), TextNode(id_="b", text="B")])
    (triplet,) = store.get_triplets(ids=["a"])
    assert [triplet[0].text, triplet[2].text] == ["A", "B"]


def test_projected_nodes_are_llama_nodes(store: GraphPropertyGraphStore) -> None:
    projection = PropertyGraphProjection(store.graph)
    projection.upsert([node("d"), node("s", "d")])
    projection.upsert_entities(
        [Entity("e1", "Company", "Acme Ltd", ("ACME",), {"n": 0}, "~a0", "f")]
    )
    (section,) = store.get_llama_nodes(["s"])
    assert (section.node_id, section.ref_doc_id, section.parent_node.node_id) == ("s", "d", "d")
    assert [r.label for _, r, _ in store.get_triplets(ids=["s"])] == ["CONTAINS"]
    (entity,) = store.get(ids=["“acme”"])
    assert (entity.id, entity.name, entity.aliases, entity.properties) == (
        "e1", "Acme Ltd", ["ACME"], {"n": 0},
    )  # fmt: skip
    store.upsert_nodes(store.get())
    assert store.graph.vertices(["s"])["s"].parent == "d"
    assert store.graph.vertices(["e1"])["e1"].aliases == ("ACME",)


class Says(CustomLLM):
    """A model that always gives the same answer."""

    answer: str

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        return CompletionResponse(text=self.answer)

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        raise NotImplementedError


@pytest.fixture
def no_settings_llm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def retrieved(retriever: BaseRetriever, question: str) -> list[str]:
    return [found.node.get_content() for found in retriever.retrieve(question)]


def test_stock_retrievers_work(store: GraphPropertyGraphStore, no_settings_llm: None) -> None:
    index = build_graph_index(
        store, kg_extractors=[Triples(triples={"d": [["Mira", "SERVES", "North pier"]]})]
    )
    index.insert(Document(text="The boat Mira serves the north pier.", doc_id="d"))
    synonyms = LLMSynonymRetriever(store, include_text=False, llm=Says(answer="MIRA^quay"))
    combined = index.as_retriever(sub_retrievers=[synonyms])
    assert retrieved(combined, "boat?") == ["Mira -> SERVES -> North pier"]
    with_text = LLMSynonymRetriever(store, llm=Says(answer="mira"))
    assert "The boat Mira serves" in retrieved(with_text, "boat?")[0]
    assert retrieved(index.as_retriever(), "boat?") == []

    vectors = SimpleVectorStore()
    vectors.add([TextNode(id_="Mira", text="Mira", metadata={VECTOR_SOURCE_KEY: "Mira"},
                          embedding=[0.5, 0.5])])  # fmt: skip
    context = VectorContextRetriever(
        store, embed_model=MockEmbedding(2), vector_store=vectors, include_text=False
    )
    assert retrieved(context, "boat?") == ["Mira -> SERVES -> North pier"]


def test_index_deletes_and_inserts_without_a_model(
    store: GraphPropertyGraphStore, no_settings_llm: None
) -> None:
    index = build_graph_index(store)
    chunks = [TextNode(id_=i, text=i) for i in "ab"]
    chunks[0].relationships[NodeRelationship.NEXT] = chunks[1].as_related_node_info()
    index.insert_nodes(chunks)
    assert ("a", "NEXT", "b") in state(store)[1]
    index.delete_nodes(["a"])
    assert [n.id for n in store.get()] == ["b"]
    assert isinstance(index._llm, MockLLM)


async def test_async_twins(store: GraphPropertyGraphStore) -> None:
    await store.aupsert_nodes([EntityNode(name="a"), EntityNode(name="b")])
    await store.aupsert_relations([Relation(label="R", source_id="a", target_id="b")])
    assert len(await store.aget_triplets(ids=["a"])) == 1
    assert len(await store.aget_rel_map(await store.aget(ids=["b"]))) == 1
    assert "R" in await store.aget_schema_str()
    await store.adelete(ids=["a"])
    await store.adelete_llama_nodes(ref_doc_ids=["nope"])
    assert [n.id for n in await store.aget()] == ["b"]
    assert await store.aget_llama_nodes(["b"]) == []


def test_no_vectors_and_no_foreign_query_text(store: GraphPropertyGraphStore) -> None:
    assert store.supports_vector_queries is False
    with pytest.raises(StoreError, match="vector"):
        store.vector_query(VectorStoreQuery(query_embedding=[0.0]))
    if not store.supports_structured_queries:
        with pytest.raises(StoreError):
            store.structured_query("MATCH (n) RETURN n")


def test_query_text_cannot_write(tmp_path: Path) -> None:
    store = LadybugPropertyGraphStore(tmp_path / "g.lbug")
    store.upsert_nodes([EntityNode(name="a", label="Boat")])
    text = "MATCH (n:Node) WHERE n.kind = $k RETURN n.id AS id"
    rows = store.structured_query(text, {"k": "Boat"})
    assert rows == [{"id": "a"}]
    for text in (
        "MATCH (n:Node) DETACH DELETE n",
        "CREATE (n:Node {id: 'x'})",
        "DROP TABLE Relation",
        "MATCH (n:Node) RETURN n.id; MATCH (n:Node) DETACH DELETE n",
        "COMMIT",
        "COMMIT; CREATE (n:Node {id:'x'})",
        "COPY (MATCH (n:Node) RETURN n.id) TO 'out.csv'",
        "EXPORT DATABASE 'out'",
        "LOAD FROM '/etc/passwd' RETURN *",
        "MATCH (n:Node)/**/SET n.kind = 'x' RETURN n.id",
        "WITH 1 AS x CALL threads = 1 RETURN x",
        "MATCH (n:Node) RETURN n.nope",
        "not cypher",
        "",
    ):
        with pytest.raises(StoreError):
            store.structured_query(text)
    assert [n.id for n in store.get()] == ["a"]
    assert "Boat" in store.get_schema_str()
    store.persist("ignored")
    store.close()
