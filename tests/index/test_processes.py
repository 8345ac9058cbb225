"""Several processes and threads on one store, and stores that fail in the middle."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from crash_writer import DOCUMENTS, open_index, version_in, version_of
from store_fixtures import HashEmbedder

from llama_index_semxpath.errors import StoreError, StoreLockedError
from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.index.reader import Reader


@pytest.fixture(scope="module")
def spawn():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["crash_writer", "llama_index_semxpath.index.base"])
    old = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    yield context
    if old is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = old


def read_for_a_while(folder: str, result: Any) -> None:
    """Opens, reads and checks again and again; sends how often, or what was wrong."""
    turns = 0
    end = time.monotonic() + 4
    try:
        with Reader(folder, embed_model=HashEmbedder()) as reader:
            while time.monotonic() < end:
                for document in reader.documents():
                    found = reader.query("id($d) | id($d)//*", params={"d": document.id})
                    if len(found):
                        version_in([match.node for match in found])
                turns += 1
        result.send(turns)
    except BaseException as error:
        result.send(repr(error))


def write_one(folder: str, options: dict[str, Any], version: int, result: Any) -> None:
    try:
        with open_index(StoreConfig(Path(folder), **options)) as index:
            index.insert_tree(version_of("d0", version))
        result.send("written")
    except StoreLockedError as error:
        result.send(str(error))


def outcome(spawn: Any, target: Any, *args: Any) -> Any:
    ours, theirs = spawn.Pipe(duplex=False)
    process = spawn.Process(target=target, args=(*args, theirs))
    process.start()
    return process, ours


def test_reading_processes_beside_a_writer(spawn, tmp_path):
    config = StoreConfig(tmp_path, graph="none", milvus_uri="")
    with open_index(config) as index:
        for number in range(DOCUMENTS):
            index.insert_tree(version_of(f"d{number}", 0))
        readers = [outcome(spawn, read_for_a_while, str(tmp_path)) for _ in range(2)]
        version = 0
        while any(process.is_alive() for process, _ in readers):
            version += 1
            doc = f"d{version % DOCUMENTS}"
            index.delete_ref_doc(doc) if version % 7 == 0 else index.insert_tree(
                version_of(doc, version)
            )
        for process, pipe in readers:
            process.join()
            turns = pipe.recv()
            assert isinstance(turns, int), turns
            assert turns > 3


def test_reading_threads_beside_a_writer(tmp_path):
    config = StoreConfig(tmp_path, graph="none", milvus_uri="")
    wrong: list[str] = []
    stop = threading.Event()
    with open_index(config) as index:
        index.insert_tree(version_of("d0", 0))

        def read() -> None:
            while not stop.is_set():
                try:
                    version_in([m.node for m in index.query("/Document/descendant-or-self::*")])
                    index.semantic_search("version", limit=3)
                except BaseException as error:
                    wrong.append(repr(error))
                    return

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        for version in range(1, 40):
            index.insert_tree(version_of("d0", version))
        stop.set()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_a_second_writer_waits(spawn, tmp_path):
    options = {"graph": "none", "milvus_uri": ""}
    with open_index(StoreConfig(tmp_path, **options)) as index:
        with index.writer.turn():
            process, pipe = outcome(spawn, write_one, str(tmp_path), options, 5)
            time.sleep(1.0)
            assert not pipe.poll()
        assert pipe.poll(20)
        assert pipe.recv() == "written"
        process.join()
        assert version_in(list(index.catalog.walk("d0"))) == 5


def test_a_second_writer_gives_up(spawn, tmp_path):
    options = {"graph": "none", "milvus_uri": "", "patience": 0.3}
    with open_index(StoreConfig(tmp_path, **options)) as index, index.writer.turn():
        process, pipe = outcome(spawn, write_one, str(tmp_path), options, 5)
        assert pipe.poll(20)
        assert "another writer" in pipe.recv()
        process.join()
        assert index.documents() == []


@pytest.mark.parametrize("options", [{"graph": "none"}, {"milvus_uri": ""}])
def test_embedded_stores_are_for_one_process(spawn, tmp_path, options):
    """The other process is refused before it wrote anything, and may read."""
    with open_index(StoreConfig(tmp_path, **options)) as index:
        index.insert_tree(version_of("d0", 1))
        process, pipe = outcome(spawn, write_one, str(tmp_path), options, 2)
        assert pipe.poll(60)
        assert "another process" in pipe.recv()
        process.join()
        assert version_in(list(index.catalog.walk("d0"))) == 1
        process, pipe = outcome(spawn, read_for_a_while, str(tmp_path))
        assert pipe.poll(60)
        assert isinstance(pipe.recv(), int)
        process.join()
        assert index.check().ok
    process, pipe = outcome(spawn, write_one, str(tmp_path), options, 3)
    assert pipe.poll(60)
    assert pipe.recv() == "written"
    process.join()


class Proxy:
    """A TCP relay that can be cut, so that a connection drops while the server lives."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._open: list[socket.socket] = []
        self.port = 0
        self.up()

    def up(self) -> None:
        self._server = socket.create_server(("127.0.0.1", self.port))
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._server,), daemon=True).start()

    def cut(self) -> None:
        for open_ in (self._server, *self._open):
            with contextlib.suppress(OSError):
                open_.shutdown(socket.SHUT_RDWR)
            open_.close()
        self._open.clear()

    def _accept(self, server: socket.socket) -> None:
        while True:
            try:
                near, _ = server.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                return
            self._open += [near, far]
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self._relay, args=(a, b), daemon=True).start()

    @staticmethod
    def _relay(a: socket.socket, b: socket.socket) -> None:
        try:
            while data := a.recv(65_536):
                b.sendall(data)
        except OSError:
            pass


def eventually(action: Any, seconds: float = 60) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            action()
            return True
        except StoreError:
            time.sleep(1)
    return False


@pytest.mark.server
def test_a_dropped_connection_is_an_error_and_then_caught_up(milvus_server, collection, tmp_path):
    proxy = Proxy(int(milvus_server.rsplit(":", 1)[1]))
    config = StoreConfig(
        tmp_path, graph="none", collection=collection, patience=3.0,
        milvus_uri=f"http://127.0.0.1:{proxy.port}",
    )  # fmt: skip
    with open_index(config) as index:
        index.insert_tree(version_of("d0", 1))
        proxy.cut()
        with pytest.raises(StoreError, match=r"Milvus cannot be"):
            index.insert_tree(version_of("d0", 2))
        assert version_in(list(index.catalog.walk("d0"))) == 2
        assert len(index.query("//Section")) == 2
        proxy.up()
        # gRPC lets some seconds pass before it tries an address again.
        assert eventually(lambda: index.insert_tree(version_of("d1", 1)))
        assert index.check().counts == {}
    proxy.cut()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 3 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("needs mount")
    done = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], check=False
    )
    if done.returncode:
        pytest.skip("mount is not allowed here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk(small_disk):
    """A clear error, what was there stays, and with room it works again."""
    ballast = small_disk / "ballast"
    with open_index(StoreConfig(small_disk / "s", graph="none", milvus_uri="")) as index:
        index.insert_tree(version_of("d0", 1))
        free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_bsize
        ballast.write_bytes(bytes(free - 65_536))

        def fill() -> None:
            for version in range(2, 500):
                index.insert_tree(version_of(f"d{version}", version))

        with pytest.raises(StoreError, match=r"full|disk"):
            fill()
        for document in index.documents():
            version_in(list(index.catalog.walk(document.id)))
        ballast.unlink()
        index.insert_tree(version_of("later", 7))
        assert version_in(list(index.catalog.walk("later"))) == 7
