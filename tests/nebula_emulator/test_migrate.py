"""Moving a store between back ends: embedded, PostgreSQL, NebulaGraph (the emulator)."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llama_index_semxpath import SemXPathIndex
from llama_index_semxpath.cli.main import main
from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.index.migrate import migrate
from llama_index_semxpath.index.rows import EntitySource
from llama_index_semxpath.tree.edges import Edge

from .server import NebulaEmulator

sys.path.insert(0, str(Path(__file__).parents[1] / "index"))
from postgres_server import PostgresServer, bundled_binaries, debian_binaries
from store_fixtures import HashEmbedder, document

QUERIES = (
    "//Section",
    "//Paragraph[2]",
    "count(//Paragraph)",
    '//Section[title =~ "ferries"]/Paragraph',
    '//*[bm25(., "pier") > 0]',
    "//Boat/rel::SERVES",
)
#: Dies in the transaction after the n-th step, as a killed process does.
_CRASH = """
import os, sys
from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.index import migrate as room
left = [int(sys.argv[3])]
room._BATCH = 5
def step(what, count):
    left[0] -= 1
    if not left[0]:
        os._exit(9)
report = room.migrate(StoreConfig.from_file(sys.argv[1]), StoreConfig.from_file(sys.argv[2]),
                      progress=step)
print(report.ok, report.resumed)
"""


@pytest.fixture
def emulator() -> Iterator[NebulaEmulator]:
    with NebulaEmulator() as made:
        yield made


def config(folder: Path, **tables: Any) -> Path:
    """A TOML file beside the store it names."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ['store = "store"', 'default_access = "allow"']
    for name, values in {"vectors": {"uri": ""}, **tables}.items():
        lines.append(f"[{name}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    path = folder / "config.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def nebula(emulator: NebulaEmulator, space: str) -> str:
    host, port = emulator.address
    return f"nebula://{host}:{port}/{space}?timeout=60"


def fill(path: Path) -> None:
    with SemXPathIndex(StoreConfig.from_file(path), embed_model=HashEmbedder()) as index:
        for number in range(12):
            texts = [f"Boat {number} leaves the pier at {hour}." for hour in range(6)]
            labels = {"Crew": ["staff"]} if number == 3 else None
            index.insert_tree(
                document(f"d{number}", {"Ferries": texts, "Crew": texts[:2]}, labels=labels)
            )
        index.delete_ref_doc("d5")
        index.add_entities(
            [EntitySource("mira", "d1", "Boat", "Mira", {"seats": 40}),
             EntitySource("pier", "d1", "Place", "pier")], "d1",
        )  # fmt: skip
        index.add_entities([EntitySource("mira", "d2", "Boat", "M. Mira", {"year": 1999})], "d2")
        index.add_relations([Edge("mira", "SERVES", "pier", {"since": 2001})], "d1")


def answers(path: Path) -> Any:
    store = StoreConfig.from_file(path)
    with SemXPathIndex.load(store, embed_model=HashEmbedder()) as index:
        found = [
            (query, index.query(query, principal=principal).to_dict())
            for query in QUERIES
            for principal in (None, frozenset({"staff"}))
        ]
        history = [(d.id, d.version, d.hash) for d in index.documents(frozenset({"staff"}))]
    for _, result in found:
        result.pop("plan", None)
    # The two databases add up BM25 in different orders: the last digit of it may differ.
    rounded = json.loads(json.dumps(found), parse_float=lambda text: round(float(text), 12))
    return rounded, history


def test_to_a_cluster_and_back(tmp_path: Path, emulator: NebulaEmulator) -> None:
    old = config(tmp_path / "old")
    fill(old)
    cluster = config(tmp_path / "cluster", graph={"store": nebula(emulator, "ferries")})
    back = config(tmp_path / "back")
    for one, other in ((old, cluster), (cluster, back)):
        report = migrate(StoreConfig.from_file(one), StoreConfig.from_file(other))
        assert (report.ok, report.resumed) == (True, False), report
        assert (report.documents, report.check.counts) == (11, {})
        assert report.check.checked["graph"] == report.nodes + 2
        assert answers(other) == answers(old)
    assert len(emulator.spaces["ferries"].vertices) > 100


def test_to_postgresql_and_on(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    binaries = debian_binaries() or bundled_binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL server is installed")
    server = PostgresServer(binaries)
    try:
        old, back = config(tmp_path / "old"), config(tmp_path / "back")
        catalog = {"url": server.url, "schema": server.schema()}
        cluster = config(tmp_path / "cluster", catalog=catalog)
        fill(old)
        assert migrate(StoreConfig.from_file(old), StoreConfig.from_file(cluster)).ok
        assert answers(cluster) == answers(old)
        with SemXPathIndex(StoreConfig.from_file(cluster), embed_model=HashEmbedder()) as index:
            index.insert_tree(document("later", {"New": ["After the move."]}))
            index.add_relations([Edge("mira", "MEETS", "pier")], "d2")
            index.add_entities([EntitySource("tug", "d3", "Boat", "Tug")], "d3")
            assert index.check().ok
        assert migrate(StoreConfig.from_file(cluster), StoreConfig.from_file(back)).ok
        assert answers(back) == answers(cluster)
    finally:
        server.remove()


def test_killed_at_every_step_it_goes_on(tmp_path: Path, emulator: NebulaEmulator) -> None:
    old = config(tmp_path / "old")
    fill(old)
    new = config(tmp_path / "new", graph={"store": nebula(emulator, "killed")})

    def run(steps: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", _CRASH, str(old), str(new), str(steps)]
        return subprocess.run(command, capture_output=True, text=True)

    for steps in (1, 4, 9, 30):
        assert run(steps).returncode == 9
        if steps < 30:
            with pytest.raises(StoreError, match="migration into this store broke off"):
                SemXPathIndex.load(StoreConfig.from_file(new), embed_model=HashEmbedder())
    last = run(10_000)
    assert (last.returncode, last.stdout) == (0, "True True\n"), last.stderr
    assert answers(new) == answers(old)


def test_a_source_that_changed_between_two_runs(tmp_path: Path) -> None:
    old, new = config(tmp_path / "old"), config(tmp_path / "new")
    fill(old)
    command = [sys.executable, "-c", _CRASH, str(old), str(new), "8"]
    assert subprocess.run(command, check=False).returncode == 9
    with SemXPathIndex(StoreConfig.from_file(old), embed_model=HashEmbedder()) as index:
        index.insert_tree(document("late", {"Late": ["Came in between."]}))
    report = migrate(StoreConfig.from_file(old), StoreConfig.from_file(new))
    assert (report.ok, report.documents) == (True, 12)
    assert answers(new) == answers(old)


def test_bad_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = config(tmp_path / "old"), config(tmp_path / "new")
    fill(old)
    fill(new)
    before = answers(new)
    dead = config(tmp_path / "dead", graph={"store": "nebula://127.0.0.1:1/x?retries=0&timeout=1"})
    for source, target, message in (
        (old, new, "holds a store already"),
        (old, old, "same store"),
        (tmp_path / "nothing", new, "no store here"),
        (tmp_path / "no.toml", new, "no such configuration file"),
        (old, dead, "NebulaGraph does not answer"),
    ):
        assert main(["migrate", "--from", str(source), "--to", str(target)]) == 2
        shown = capsys.readouterr()
        assert message in shown.err
        assert not shown.out
    assert answers(new) == before
    # The catalog was whole by then: with a graph that answers, the same call ends the work.
    config(tmp_path / "dead")
    assert main(["migrate", "--from", str(old), "--to", str(dead), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["ok"], shown["resumed"], shown["documents"]) == (True, True, 11)
    assert answers(dead) == answers(old)
