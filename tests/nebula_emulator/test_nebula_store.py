"""What is particular to NebulaGraph: faults, injection, round trips, foreign spaces."""

import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.graph_stores.types import ChunkNode, EntityNode, Relation
from llama_index.core.schema import Document

from llama_index_semxpath.engines.base import Dataset
from llama_index_semxpath.engines.memory import MemoryEngine
from llama_index_semxpath.engines.nebula import NebulaEngine
from llama_index_semxpath.engines.ngql import TAG, vertex_id
from llama_index_semxpath.errors import QueryError, StoreError, StoreVersionError
from llama_index_semxpath.index.graph_index import build_graph_index
from llama_index_semxpath.index.graph_model import Criteria, Link, Vertex
from llama_index_semxpath.index.graph_nebula import NebulaGraph
from llama_index_semxpath.index.nebula_client import NebulaOptions
from llama_index_semxpath.index.nebula_store import SemXPathNebulaStore
from llama_index_semxpath.index.nebula_text import literal
from llama_index_semxpath.testing.hostile import hostile_strings, is_text

from . import server
from .cursor import Cursor
from .expressions import parse_expression
from .server import NebulaEmulator

sys.path.insert(0, str(Path(__file__).parents[1] / "graph"))
from graph_corpora import Corpus, Queries


@pytest.fixture
def emulator() -> Iterator[NebulaEmulator]:
    with NebulaEmulator() as made:
        yield made


def options(emulator: NebulaEmulator, **changed: Any) -> NebulaOptions:
    given = {"addresses": [emulator.address], "space": "test", "timeout": 0.5, "backoff": 0.001}
    return NebulaOptions(**{**given, **changed})


@pytest.mark.parametrize(
    "fault",
    [server.drop, server.slow(0.8), server.leader_changed, server.schema_not_found,
     server.session_expired],
)  # fmt: skip
def test_a_fault_that_passes_is_ridden_out(
    emulator: NebulaEmulator, fault: Callable[[], None]
) -> None:
    graph = NebulaGraph(options(emulator))
    emulator.faults = [fault, None, fault]
    graph.put([Vertex("a", "P", attributes={"n": 1}), Vertex("b", "P")])
    emulator.faults = [fault]
    graph.put_links([Link("a", "R", "b")])
    emulator.faults = [fault, fault]
    assert [v.attributes for v in graph.select(Criteria())] == [{"n": 1}, {}]
    assert graph.counts() == (2, 1)
    graph.close()


def test_a_fault_that_stays_is_a_clear_error(emulator: NebulaEmulator) -> None:
    graph = NebulaGraph(options(emulator))
    emulator.faults = [server.storage_error]
    with pytest.raises(StoreError, match=r"Storage is corrupt.*nebula://127\.0\.0\.1"):
        graph.put([Vertex("a", "P")])
    emulator.faults = [server.leader_changed] * 20
    with pytest.raises(StoreError, match="LEADER_CHANGED"):
        graph.counts()
    emulator.faults = []
    graph.put([Vertex("a", "P")])
    assert graph.counts() == (1, 0)
    graph.close()


def test_bad_servers_and_spaces(emulator: NebulaEmulator) -> None:
    with pytest.raises(StoreError, match="user or password"):
        NebulaGraph(options(emulator, password="wrong"))
    for name in ("", "a b", "x; DROP SPACE y", "x`", "1x", "x" * 64):
        with pytest.raises(StoreError, match="space's name"):
            NebulaGraph(options(emulator, space=name))
    graph = NebulaGraph(options(emulator))
    graph.client.execute("CREATE SPACE other(vid_type = INT64)")
    graph.client.execute("CREATE SPACE foreign_space(vid_type = FIXED_STRING(32))")
    graph.client.execute("USE foreign_space; CREATE TAG theirs(a int)")
    for name in ("other", "foreign_space"):
        with pytest.raises(StoreVersionError, match="not one of this package"):
            NebulaGraph(options(emulator, space=name))
    graph.close()
    with pytest.raises(StoreError, match="does not answer"):
        NebulaGraph(NebulaOptions([("127.0.0.1", 1)], timeout=0.2))


def test_a_server_of_another_version() -> None:
    with (
        NebulaEmulator(version_ok=False) as emulator,
        pytest.raises(StoreError, match=r"version|does not answer"),
    ):
        NebulaGraph(options(emulator))


def test_every_hostile_string_is_one_literal() -> None:
    for text in hostile_strings():
        if is_text(text):
            cursor = Cursor(literal(text))
            assert parse_expression(cursor).value({"$parameters": {}}) == text
            assert cursor.token.type == "end"


def test_no_text_of_a_user_is_outside_a_literal(emulator: NebulaEmulator) -> None:
    graph = NebulaGraph(options(emulator, timeout=60))
    kept = [text for text in hostile_strings() if is_text(text) and text and len(text) < 5_000]
    graph.put([Vertex(t, t, attributes={t: t}) for t in kept[:40]])
    graph.put([Vertex(t, t, "entity", t) for t in kept])
    graph.put_links([Link(t, t, kept[0], properties={t: t}) for t in kept])
    assert graph.counts() == (len(kept), len(kept))
    assert set(emulator.spaces) == {"test"}
    graph.remove(kept)
    assert graph.counts() == (0, 0)
    graph.close()


def test_few_statements_for_many_rows(emulator: NebulaEmulator) -> None:
    graph = NebulaGraph(options(emulator, timeout=60))
    before = graph.client.statements
    vertices = [Vertex(f"v{i}", "P", attributes={"n": i}) for i in range(2_000)]
    graph.put(vertices)
    graph.put_links([Link(f"v{i}", name, f"v{i - 1}") for i in range(1, 2_000) for name in "AB"])
    # 10,000 nodes and 20,000 relations in at most 200 statements, at a fifth of the size.
    assert graph.client.statements - before <= 40
    before = graph.client.statements
    assert len(graph.links([f"v{i}" for i in range(100)])) == 198
    assert graph.client.statements - before == 1
    graph.close()


def test_a_property_graph_index_works_over_it(emulator: NebulaEmulator) -> None:
    store = SemXPathNebulaStore([emulator.address], space="kg")
    index = build_graph_index(store)
    index.insert(Document(text="The boat Mira serves the pier.", doc_id="d1"))
    store.upsert_nodes([EntityNode(name="Mira", properties={"zero": 0, "no": False, "blank": ""})])
    store.upsert_relations(
        [Relation(label=r, source_id="Mira", target_id="pier") for r in ("SERVES", "KNOWS")]
    )
    (mira,) = store.get(ids=["mira"])
    assert mira.properties == {"zero": 0, "no": False, "blank": ""}
    triplets = store.get_rel_map([mira])
    assert sorted(r.label for _, r, _ in triplets) == ["KNOWS", "SERVES"]
    store.delete_llama_nodes(ref_doc_ids=["nope"])
    assert sum(isinstance(n, ChunkNode) for n in store.get()) == 2 - 1
    store.delete_llama_nodes(ref_doc_ids=["d1"])
    assert {n.id for n in store.get()} == {"Mira", "pier"}
    store.close()


def test_an_attribute_may_have_several_types(emulator: NebulaEmulator) -> None:
    graph = NebulaGraph(options(emulator))
    graph.put([Vertex("a", "P", attributes={"金额": 5})])
    graph.put([Vertex("b", "P", attributes={"金额": "five", "new": True})])
    found = {v.id: v.attributes for v in graph.select(Criteria())}
    assert found == {"a": {"金额": 5}, "b": {"金额": "five", "new": True}}
    assert NebulaGraph(options(emulator)).properties == graph.properties
    space = emulator.spaces["test"]
    assert space.vertices[vertex_id("a")][TAG]["n_e98791e9a29d"] == 5.0
    graph.close()


@pytest.mark.parametrize("seed", range(5))
def test_queries_give_what_the_reference_gives(seed: int, emulator: NebulaEmulator) -> None:
    rng = random.Random(seed)
    corpus = Corpus(rng)
    graph = NebulaGraph(options(emulator, timeout=10))
    corpus.fill(graph)
    dataset = Dataset(corpus.table)
    reference = MemoryEngine(dataset, check_names=False)
    engine = NebulaEngine(dataset, graph.rows, properties=graph.properties, check_names=False)
    queries, before = Queries(rng), graph.client.statements
    for _ in range(40):
        query, params = queries.query(), queries.params()
        assert _outcome(engine, query, params) == _outcome(reference, query, params), query
    assert graph.client.statements - before >= 10
    graph.close()


def _outcome(engine: Any, query: str, params: dict[str, Any]) -> Any:
    try:
        found = engine.run(query, params=params)
    except QueryError as error:
        return str(error)
    value = "nan" if found.value != found.value else found.value
    return found.positions.tolist(), found.scores.tolist(), value
