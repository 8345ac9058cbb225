"""One writer among processes; what survives kill -9."""

import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from llama_index_semxpath.errors import StoreError, StoreLockedError, StoreVersionError
from llama_index_semxpath.index.graph_ladybug import LadybugGraph
from llama_index_semxpath.index.graph_model import Criteria, Link, Vertex

WRITER = """
import sys
from llama_index_semxpath.index.graph_ladybug import LadybugGraph
from llama_index_semxpath.index.graph_model import Criteria, Link, Vertex
graph = LadybugGraph(sys.argv[1])
batch = int(sys.argv[2])
while True:
    ids = [f"{batch}-{i}" for i in range(20)]
    with graph.write():
        graph.put([Vertex(i, "P", doc=str(batch), text="x" * 500) for i in ids])
        graph.put_links([Link(a, "NEXT", b) for a, b in zip(ids, ids[1:])])
        if batch % 3 == 2:
            graph.remove([f"{batch - 1}-{i}" for i in range(20)])
    print(batch, flush=True)
    batch += 1
"""

OPEN = """
import sys
from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.graph_ladybug import LadybugGraph
from llama_index_semxpath.index.graph_model import Vertex
try:
    graph = LadybugGraph(sys.argv[1], read_only=sys.argv[2] == "read")
    print("opened", graph.counts())
    graph.put([Vertex("x", "P")])
    print("wrote")
except StoreError as error:
    print(type(error).__name__, error)
"""


def other_process(path: Path, mode: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", OPEN, str(path), mode], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_kill_9_leaves_whole_transactions(tmp_path: Path) -> None:
    path = tmp_path / "g.lbug"
    chance = random.Random(7)
    start = 0
    for _ in range(5):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(start)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        acknowledged = start - 1
        for _ in range(chance.randint(1, 12)):
            acknowledged = int(writer.stdout.readline())
        timer = threading.Timer(chance.random() * 0.03, os.kill, (writer.pid, signal.SIGKILL))
        timer.start()
        rest = writer.stdout.read().split()
        writer.wait()
        acknowledged = int(rest[-1]) if rest else acknowledged

        graph = LadybugGraph(path)
        batches: dict[str, int] = {}
        for vertex in graph.select(Criteria()):
            batches[vertex.doc] = batches.get(vertex.doc, 0) + 1
        last = max(map(int, batches))
        assert acknowledged <= last <= acknowledged + 1, "an acknowledged write is lost"
        assert set(batches.values()) == {20}, "half a transaction"
        gone = {b - 1 for b in range(last + 1) if b % 3 == 2}
        assert set(map(int, batches)) == set(range(last + 1)) - gone
        assert graph.counts()[1] == 19 * len(batches)
        graph.close()
        start = last + 1


def test_another_process_may_only_read(tmp_path: Path) -> None:
    path = tmp_path / "g.lbug"
    graph = LadybugGraph(path)
    graph.put([Vertex("a", "P")])
    (refused,) = other_process(path, "write")
    assert refused.startswith("StoreLockedError another process holds the graph")
    opened, refused = other_process(path, "read")
    assert opened == "opened (1, 0)"
    assert refused.startswith("StoreLockedError")
    graph.put([Vertex("b", "P")])
    graph.close()
    assert other_process(path, "write") == ["opened (2, 0)", "wrote"]


def test_one_process_shares_the_file(tmp_path: Path) -> None:
    first = LadybugGraph(tmp_path / "g.lbug")
    second = LadybugGraph(tmp_path / "x" / ".." / "g.lbug")
    reader = LadybugGraph(tmp_path / "g.lbug", read_only=True)
    first.put([Vertex("a", "P")])
    assert second.counts() == reader.counts() == (1, 0)
    first.close()
    first.close()
    second.put([Vertex("b", "P")])
    assert reader.counts() == (2, 0)
    second.close()
    reader.close()
    assert other_process(tmp_path / "g.lbug", "write")[-1] == "wrote"


def test_a_closed_graph_says_so(tmp_path: Path) -> None:
    graph = LadybugGraph(tmp_path / "g.lbug")
    graph.close()
    with pytest.raises(StoreError, match="closed"):
        graph.counts()
    with pytest.raises(StoreError, match="closed"):
        graph.put([Vertex("a", "P")])


def test_a_handle_opened_for_reading_never_writes(tmp_path: Path) -> None:
    writer = LadybugGraph(tmp_path / "g.lbug")
    reader = LadybugGraph(tmp_path / "g.lbug", read_only=True)
    with pytest.raises(StoreLockedError):
        reader.put([Vertex("a", "P")])
    assert writer.counts() == (0, 0)
    reader.close()
    writer.close()


def test_threads_read_while_one_writes(tmp_path: Path) -> None:
    graph = LadybugGraph(tmp_path / "g.lbug")
    graph.put([Vertex(f"v{i}", "P") for i in range(10)])
    faults: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            count, links = graph.counts()[0], len(graph.links(["v0"]))
            if count % 10 or links > 1:
                faults.append((count, links))

    def write(place: int) -> None:
        try:
            for turn in range(5):
                ids = [f"{place}-{turn}-{i}" for i in range(10)]
                graph.put([Vertex(i, "P") for i in ids])
                graph.put_links([Link("v0", "R", "v1", properties={"turn": turn})])
        except StoreError as error:
            faults.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    writers = [threading.Thread(target=write, args=(i,)) for i in range(3)]
    for thread in (*readers, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    for thread in readers:
        thread.join()
    assert faults == []
    assert graph.counts() == (160, 1)
    graph.close()


def test_what_is_no_graph_is_refused(tmp_path: Path) -> None:
    import ladybug

    junk = tmp_path / "junk"
    junk.write_bytes(b"not a database" * 1000)
    with pytest.raises(StoreError, match="junk"):
        LadybugGraph(junk)
    with pytest.raises(StoreError, match="no graph"):
        LadybugGraph(tmp_path / "missing", read_only=True)
    assert not (tmp_path / "missing").exists()
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(StoreError, match="folder"):
        LadybugGraph(folder)

    database = ladybug.Database(str(tmp_path / "foreign"))
    connection = ladybug.Connection(database)
    connection.execute("CREATE NODE TABLE Other(id STRING, PRIMARY KEY(id))").close()
    connection.close()
    database.close()
    with pytest.raises(StoreVersionError, match="not a graph"):
        LadybugGraph(tmp_path / "foreign")


def test_a_graph_of_another_format_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from llama_index_semxpath.index import ladybug_file

    LadybugGraph(tmp_path / "g.lbug").close()
    monkeypatch.setattr(ladybug_file, "FORMAT", "2")
    with pytest.raises(StoreVersionError, match="format 1"):
        LadybugGraph(tmp_path / "g.lbug")
