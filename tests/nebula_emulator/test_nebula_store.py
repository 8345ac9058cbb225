"""What is particular to NebulaGraph: faults, injection, round trips, foreign spaces."""

import random
import shutil
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llama_index.core.graph_stores.types import ChunkNode, EntityNode, Relation
from llama_index.core.schema import Document

from llama_index_semxpath.engines.base import Dataset
from llama_index_semxpath.engines.graph_query import Condition, HopQuery, NodeQuery
from llama_index_semxpath.engines.memory import MemoryEngine
from llama_index_semxpath.engines.nebula import NebulaEngine
from llama_index_semxpath.engines.ngql import TAG, NgqlDialect, property_name, vertex_id
from llama_index_semxpath.errors import QueryError, StoreError, StoreVersionError
from llama_index_semxpath.index import graph_nebula
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
from .forms import form_of
from .lexer import tokens
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


def test_a_wrong_password(emulator: NebulaEmulator) -> None:
    with pytest.raises(StoreError, match=r"user or password.*nebula://127"):
        NebulaGraph(options(emulator, password="wrong"))
    assert not emulator.statements


@pytest.mark.parametrize("name", ["", "a b", "x; DROP SPACE y", "x`", "1x", "x" * 64])
def test_a_name_that_no_space_can_have(emulator: NebulaEmulator, name: str) -> None:
    with pytest.raises(StoreError, match="space's name"):
        NebulaGraph(options(emulator, space=name))


def test_an_unknown_space_is_not_made_when_it_should_be_there(emulator: NebulaEmulator) -> None:
    with pytest.raises(StoreError, match=r"no such space.*test"):
        SemXPathNebulaStore([emulator.address], space="test", create=False)
    assert not emulator.spaces
    NebulaGraph(options(emulator)).close()
    SemXPathNebulaStore([emulator.address], space="test", create=False).close()


FOREIGN = {
    "other_vid": "CREATE SPACE other_vid(vid_type = INT64)",
    "other_length": "CREATE SPACE other_length(vid_type = FIXED_STRING(30))",
    "foreign": "CREATE SPACE foreign(vid_type = FIXED_STRING(32)); USE foreign; "
    "CREATE TAG theirs(a int)",
    "half": "CREATE SPACE half(vid_type = FIXED_STRING(32)); USE half; CREATE TAG SemNode(id int)",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_space_of_somebody_else_is_refused_untouched(emulator: NebulaEmulator, name: str) -> None:
    NebulaGraph(options(emulator)).client.execute(FOREIGN[name])
    before = {tag: dict(s.properties) for tag, s in emulator.spaces[name].tags.items()}
    with pytest.raises(StoreVersionError, match=rf"not one of this package|column.*{name}"):
        NebulaGraph(options(emulator, space=name))
    after = {tag: dict(s.properties) for tag, s in emulator.spaces[name].tags.items()}
    assert after == before
    assert not emulator.spaces[name].vertices


def test_an_attribute_whose_column_another_program_changed(emulator: NebulaEmulator) -> None:
    graph = NebulaGraph(options(emulator))
    graph.put([Vertex("a", "P", attributes={"n": 1})])
    column = property_name("n", "n")
    graph.client.execute(f"ALTER TAG {TAG} CHANGE ({column} string)")
    with pytest.raises(StoreVersionError, match=f"{column}' is string, expected double"):
        NebulaGraph(options(emulator))
    # One that is open finds out by the server's refusal, and nothing of the row is written.
    with pytest.raises(StoreError, match="data type does not meet the requirements"):
        graph.put([Vertex("b", "P", attributes={"n": 2})])
    assert graph.vertices(["b"]) == {}
    graph.close()


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(StoreError, match="does not answer"):
        NebulaGraph(NebulaOptions([("127.0.0.1", 1)], timeout=0.2))


def test_one_graph_service_of_several_is_enough(emulator: NebulaEmulator) -> None:
    graph = NebulaGraph(options(emulator, addresses=[("127.0.0.1", 1), emulator.address]))
    graph.put([Vertex("a", "P")])
    assert graph.counts() == (1, 0)
    graph.close()


def test_a_server_of_another_version() -> None:
    with (
        NebulaEmulator(version_ok=False) as emulator,
        pytest.raises(StoreVersionError, match=r"another protocol version.*NebulaGraph 3"),
    ):
        NebulaGraph(options(emulator))


def test_a_space_whose_making_broke_off_is_completed(emulator: NebulaEmulator) -> None:
    whole = NebulaGraph(options(emulator, space="whole"))
    made = len(emulator.statements)
    whole.close()
    for place in range(made + 1):
        emulator.faults = [None] * place + [server.storage_error]
        space = f"broken{place}"
        with suppress(StoreError):
            NebulaGraph(options(emulator, space=space, retries=0)).close()
        emulator.faults = []
        graph = NebulaGraph(options(emulator, space=space))
        graph.put([Vertex("a", "P")])
        assert graph.counts() == (1, 0)
        indexes = emulator.spaces[space].tag_indexes.keys()
        assert indexes == emulator.spaces["whole"].tag_indexes.keys()
        graph.close()


def test_a_write_that_broke_off_is_mended_by_repeating_it(emulator: NebulaEmulator) -> None:
    vertices = [Vertex(f"v{i}", "P", "entity", f"v{i}", attributes={"n": i}) for i in range(520)]
    links = [Link(f"v{i}", "R", f"v{i + 1}") for i in range(519)]
    for place in range(0, 10, 2):
        graph = NebulaGraph(options(emulator, space=f"s{place}", timeout=60))
        emulator.faults = [None] * place + [server.storage_error]
        with suppress(StoreError):
            graph.put(vertices)
            graph.put_links(links)
        emulator.faults = []
        graph.put(vertices)
        graph.put_links(links)
        assert graph.counts() == (520, 519)
        assert {v.id: v.attributes for v in graph.select(Criteria())}["v519"] == {"n": 519}
        graph.close()


def test_more_threads_than_sessions(emulator: NebulaEmulator) -> None:
    graph = NebulaGraph(options(emulator, sessions=2, timeout=10))
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda i: graph.put([Vertex(f"v{i}", "P")]), range(24)))
    assert graph.counts() == (24, 0)
    assert len(emulator.sessions) <= 2
    graph.close()
    # Signing out is not answered.
    for _ in range(200):
        if not emulator.sessions:
            break
        time.sleep(0.01)
    assert not emulator.sessions


@pytest.mark.filterwarnings("ignore:ssl.:DeprecationWarning")
def test_tls(tmp_path: Path) -> None:
    openssl = shutil.which("openssl") or pytest.skip("openssl makes the certificate")
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
               "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
               "-keyout", str(key), "-out", str(cert)]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    with NebulaEmulator(tls=context) as emulator:
        url = f"localhost:{emulator.port}/safe?timeout=5"
        graph = NebulaGraph.from_url(f"nebulas://{url}&ca={cert}")
        graph.put([Vertex("a", "P")])
        assert graph.counts() == (1, 0)
        graph.close()
        with pytest.raises(StoreError, match="does not answer"):
            NebulaGraph.from_url(f"nebula://{url}")


def test_every_hostile_string_is_one_literal() -> None:
    for text in hostile_strings():
        if is_text(text):
            cursor = Cursor(literal(text))
            assert parse_expression(cursor).value({"$parameters": {}}) == text
            assert cursor.token.type == "end"


def test_no_text_of_a_user_is_outside_a_literal(emulator: NebulaEmulator) -> None:
    graph = NebulaGraph(options(emulator, timeout=60))
    kept = [text for text in hostile_strings() if is_text(text) and text and len(text) < 5_000]
    assert len(kept) >= 480
    graph.put([Vertex(t, t, attributes={t: t}) for t in kept[:40]])
    graph.put([Vertex(t, t, "entity", t) for t in kept])
    graph.put_links([Link(t, t, kept[0], origin=t, properties={t: t}, variant=t) for t in kept])
    for text in kept[::60]:
        graph.select(Criteria(equal={text: text}))
        graph.links([text], names=[text], origins=[text])
        graph.select(Criteria(docs=frozenset([text])))
        dialect = NgqlDialect(graph.properties)
        condition = Condition(text, "=", text)
        for statement in (
            dialect.nodes(NodeQuery(text, ((text, text + "/"),), (condition,))),
            dialect.hop(HopQuery((text,), text)),
        ):
            graph.rows(statement.text, statement.parameters)
    assert graph.counts() == (len(kept), len(kept))
    seen: set[str] = set()
    for statement, parameters in emulator.statements:
        read = tokens(statement)
        # One statement of a form of ours; the strings are in literals and parameters alone.
        assert form_of(statement), statement[:200]
        assert not any(t.type == "sign" and t.value == ";" for t in read[:-2]), statement[:200]
        seen |= {token.value for token in read if token.type == "string"}
        seen |= {value for value in parameters.values() if isinstance(value, str)}
    assert seen >= set(kept)
    assert set(emulator.spaces) == {"test"}
    graph.remove(kept)
    assert graph.counts() == (0, 0)
    graph.close()


def test_few_statements_for_many_rows(emulator: NebulaEmulator) -> None:
    """10,000 nodes and 20,000 relations in at most 200 statements, at a fifth of the size."""
    store = SemXPathNebulaStore([emulator.address], space="test", timeout=60)
    graph, client = store.client, store.client.client
    before = client.statements
    store.upsert_nodes([EntityNode(name=f"v{i}", properties={"n": i}) for i in range(2_000)])
    store.upsert_relations(
        [Relation(label=name, source_id=f"v{i}", target_id=f"v{i - 1}")
         for i in range(1, 2_000) for name in "AB"]
    )  # fmt: skip
    assert client.statements - before <= 40
    starts = [f"v{i}" for i in range(0, 1_000, 10)]
    before = client.statements
    assert len(graph.links(starts)) == 2 * 99
    assert client.statements - before == 1
    before = client.statements
    dialect, reached = NgqlDialect(), tuple(starts)
    for _ in range(3):
        hop = dialect.hop(HopQuery(reached, "A"))
        reached = tuple(row[0] for row in graph.rows(hop.text, hop.parameters))
    assert client.statements - before == 3
    assert len(reached) == 99
    around = store.get_rel_map([EntityNode(name="v500")], depth=3, limit=1_000)
    assert len(around) == 12
    store.close()


def test_a_subtree_is_one_statement(emulator: NebulaEmulator) -> None:
    graph = NebulaGraph(options(emulator, timeout=60))
    keys = ["a0", "a0.a0", "a0.a0.a1", "a0.a00", "a0.a1", "a1"]
    graph.put([Vertex(f"n{key}", "P", order=key, text=key) for key in keys])
    before = graph.client.statements
    assert [v.order for v in graph.subtree("a0.a0")] == ["a0.a0", "a0.a0.a1"]
    assert [v.text for v in graph.subtree("a0")] == keys[:5]
    assert graph.client.statements - before == 2
    graph.close()


def test_reads_are_paged(emulator: NebulaEmulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_nebula, "_PAGE", 7)
    monkeypatch.setattr(graph_nebula, "_LINK_PAGE", 5)
    graph = NebulaGraph(options(emulator, timeout=60))
    graph.put([Vertex(f"v{i:02}", "P", order=f"a0.{i:02}") for i in range(30)])
    graph.put_links([Link("v00", f"R{i:02}", f"v{i:02}") for i in range(1, 30)])
    assert [v.id for v in graph.select(Criteria())] == [f"v{i:02}" for i in range(30)]
    assert [v.id for v in graph.scan()] == [f"v{i:02}" for i in range(30)]
    assert [v.id for v in graph.subtree("a0")] == [f"v{i:02}" for i in range(30)]
    assert [link.target for link in graph.links(["v00"])] == [f"v{i:02}" for i in range(1, 30)]
    assert len(graph.links(None)) == 29
    before = graph.client.statements
    assert [v.id for v in graph.select(Criteria(), after="v03", limit=3)] == ["v04", "v05", "v06"]
    assert len(graph.links(["v00"], limit=4)) == 4
    assert graph.client.statements - before == 2
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


@pytest.mark.parametrize("seed", range(5))
def test_labels_narrow_inside_the_statement(seed: int, emulator: NebulaEmulator) -> None:
    rng = random.Random(seed)
    corpus = Corpus(rng, labelled=True)
    graph = NebulaGraph(options(emulator, timeout=10))
    corpus.fill(graph)
    table = corpus.table
    visible = table.visible_to({"red"} if seed else set())
    assert visible is not None
    hidden = {table.labels(row) for row in np.flatnonzero(~visible)}
    shown = {table.labels(row) for row in np.flatnonzero(visible)[1:]}
    answers: list[str] = []

    def ask(text: str, parameters: Mapping[str, Any]) -> list[list[Any]]:
        assert f"{TAG}.labels" in text or "false" in text
        rows = graph.rows(text, parameters)
        answers.extend(row[0] for row in rows)
        return rows

    engine = NebulaEngine(Dataset(table), ask, properties=graph.properties, check_names=False)
    queries = Queries(rng)
    for _ in range(30):
        with suppress(QueryError):
            engine.run(queries.query(), params=queries.params(), visible=visible)
    for id_ in answers:
        row = table.position(id_)
        assert row is None or table.labels(row) not in hidden - shown
    graph.close()


def _outcome(engine: Any, query: str, params: dict[str, Any]) -> Any:
    try:
        found = engine.run(query, params=params)
    except QueryError as error:
        return str(error)
    value = "nan" if found.value != found.value else found.value
    return found.positions.tolist(), found.scores.tolist(), value
