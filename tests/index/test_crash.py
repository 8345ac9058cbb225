"""Kill -9 of the writer anywhere: nothing acknowledged is lost, nothing is half there."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from crash_writer import open_index, version_in, write_until_killed

from llama_index_semxpath.index.config import StoreConfig

EMBEDDED: dict[str, Any] = {}
CATALOG: dict[str, Any] = {"milvus_uri": "", "graph": "none"}
GRAPH: dict[str, Any] = {"milvus_uri": ""}


@pytest.fixture(scope="module")
def spawn():
    """Processes from a server that has imported everything once, but opened nothing."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["crash_writer", "llama_index_semxpath.index.base"])
    old = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    yield context
    if old is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = old


def kill_somewhere(spawn: Any, config: StoreConfig, options: dict, seed: int) -> list[tuple]:
    """Lets a writer run for a random while, kills it, and returns what it said."""
    ours, theirs = spawn.Pipe(duplex=False)
    process = spawn.Process(
        target=write_until_killed, args=(str(config.store), options, seed, theirs)
    )
    process.start()
    theirs.close()
    said: list[tuple] = []
    assert ours.poll(60), "the writer did not start"
    said.append(ours.recv())
    time.sleep(random.Random(seed).uniform(0.0, 0.4))
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    try:
        while ours.poll(1):
            said.append(ours.recv())
    except EOFError:
        pass
    return said


def verify(config: StoreConfig, said: list[tuple], before: dict[str, int]) -> dict[str, int]:
    """The store after a crash, as versions by document; checks it against what was said."""
    with open_index(config) as index:
        index.recover()
        after = {d.id: version_in(list(index.catalog.walk(d.id))) for d in index.documents()}
        allowed: dict[str, set[int]] = {doc: {version} for doc, version in before.items()}
        for what, doc, version in said:
            if what == "begin":
                # It may have been killed before or after this took effect.
                allowed[doc] = {*allowed.get(doc, {-1}), version}
            elif what == "done":
                allowed[doc] = {version}
        for doc, versions in allowed.items():
            assert after.get(doc, -1) in versions, f"{doc}: {after.get(doc)} not in {versions}"
        report = index.check(repair=True)
        # What recovery replays leaves nothing to repair.
        assert report.ok
        assert report.counts == {}
        assert index.check().counts == {}
    return after


def crash(spawn: Any, folder: Path, options: dict, rounds: range) -> None:
    config = StoreConfig(folder, **options)
    state: dict[str, int] = {}
    for seed in rounds:
        said = kill_somewhere(spawn, config, options, seed)
        state = verify(config, said, state)


def test_the_catalog_survives(spawn, tmp_path):
    crash(spawn, tmp_path, CATALOG, range(1, 16))


def test_catalog_and_graph_survive(spawn, tmp_path):
    crash(spawn, tmp_path, GRAPH, range(1, 9))


def test_all_stores_survive(spawn, tmp_path):
    crash(spawn, tmp_path, EMBEDDED, range(1, 5))


def test_a_catalog_in_postgres_survives(spawn, tmp_path, postgres_server):
    place = {"catalog_url": postgres_server.url, "catalog_schema": postgres_server.schema()}
    crash(spawn, tmp_path, {**CATALOG, **place}, range(1, 6))


@pytest.mark.slow
def test_all_stores_survive_200_times(spawn, tmp_path):
    crash(spawn, tmp_path, EMBEDDED, range(1, 201))
