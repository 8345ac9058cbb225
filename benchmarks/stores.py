"""Loading, editing, opening and checking large stores.

Run: ``python benchmarks/stores.py [--nodes 100000] [--million] [--server]``. Vectors are given, so
that the stores are measured and not the model. ``--server`` starts the Milvus server of the test
extra and compares with bare pymilvus inserts of the same rows; without it only the catalog is
measured.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from llama_index_semxpath.index.base import SemXPathIndex
from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.index.reader import Reader
from llama_index_semxpath.index.writing import TreeSource
from llama_index_semxpath.tree.ids import node_id
from llama_index_semxpath.tree.node import TreeNode

DIMENSION = 384
PER_DOCUMENT = 2_000


class GivenVectors:
    """A model that is never asked: all vectors are given."""

    name = "given"

    def embed_texts(self, texts: Sequence[str]) -> Any:
        return np.eye(DIMENSION, dtype=np.float32)[[len(text) % DIMENSION for text in texts]]

    def embed_query(self, text: str) -> Any:
        return self.embed_texts([text])[0]


def document(number: int, edit: str = "") -> TreeSource:
    """About 2,000 nodes: sections of 20 paragraphs, each with a vector."""
    doc = f"document-{number}"
    root = TreeNode(doc, "Document", doc, None, "", {"title": doc}, level=0)
    nodes = [root]
    for s in range(PER_DOCUMENT // 21):
        title = f"Section {s} of {doc}"
        section = TreeNode(
            node_id(doc, doc, "Section", title), "Section", doc, doc, title,
            {"title": title, "number": str(s)}, level=1, tokens=5,
        )  # fmt: skip
        nodes.append(section)
        for p in range(20):
            text = f"Paragraph {p} of section {s}: the rules for case {number} apply from day {p}."
            if s == 40 and p == 10:
                text += edit
            nodes.append(
                TreeNode(
                    node_id(doc, section.id, "Paragraph", text),
                    "Paragraph",
                    doc,
                    section.id,
                    text,
                    {"n": p, "state": "open" if p % 2 else "done"},
                    tokens=18,
                )
            )
    random = np.random.default_rng(number)
    vectors = random.normal(size=(len(nodes), DIMENSION)).astype(np.float32)
    return TreeSource(nodes, vectors={n.id: v for n, v in zip(nodes, vectors, strict=True)})


def documents(nodes: int) -> Iterator[TreeSource]:
    for number in range(nodes // PER_DOCUMENT):
        yield document(number)


class Clock:
    """Prints what a step took, in wall and CPU seconds."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.seconds = 0.0

    def __enter__(self) -> Clock:
        self._start = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._start[0]
        cpu = time.process_time() - self._start[1]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{self.label:<52}{self.seconds:9.3f} s {cpu:9.3f} CPU s {peak:7.0f} MB peak")


def bare_inserts(uri: str, nodes: int) -> float:
    """The same rows by pymilvus alone."""
    from pymilvus import MilvusClient

    from llama_index_semxpath.index.milvus import MilvusProjection

    MilvusProjection(uri, dimension=DIMENSION, collection="bare").close()
    client = MilvusClient(uri=uri)
    rows = []
    for tree in documents(nodes):
        assert tree.vectors is not None
        for node in tree.nodes:
            rows.append(
                {
                    "id": node.id, "vector": tree.vectors[node.id], "doc": node.doc,
                    "order_key": "a0.a1", "kind": node.kind, "level": -1, "weight": 1.0,
                    "labels": "", "fingerprint": node.id[:16], "attributes": dict(node.attributes),
                }
            )  # fmt: skip
    with Clock(f"bare pymilvus: {len(rows)} rows in batches of 2,000") as clock:
        for start in range(0, len(rows), 2_000):
            client.insert("bare", rows[start : start + 2_000])
    row = rows[7]
    with Clock("bare pymilvus: one upsert"):
        client.upsert("bare", [row])
    return clock.seconds


def measure(config: StoreConfig, nodes: int, label: str) -> float:
    with SemXPathIndex(config, embed_model=GivenVectors()) as index:
        with Clock(f"{label}: load {nodes} nodes") as load:
            index.write_trees(documents(nodes))
        index.write_trees([document(0)])
        with Clock(f"{label}: edit one paragraph"):
            written = index.write_trees([document(0, edit=" Edited.")])
        print(f"{'':<4}added {written.added}, changed {written.changed}, removed {written.removed}")
        with Clock(f"{label}: check"):
            report = index.check()
        assert report.ok, report
    return load.seconds


def measure_opening(config: StoreConfig, label: str) -> None:
    config.columns.unlink(missing_ok=True)
    for how in "from rows", "from the snapshot":
        with Reader.open(config, embed_model=GivenVectors()) as reader:
            with Clock(f"{label}: open, {how}") as clock:
                table = reader.table
            print(f"{'':<4}{len(table) / clock.seconds:,.0f} nodes a second")
            with Clock(f"{label}: first structural query"):
                found = reader.query("//Section[@number = '7']/Paragraph[3]")
            print(f"{'':<4}{len(found)} results")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument(
        "--million", action="store_true", help="also open a store of 1,000,000 nodes"
    )
    parser.add_argument("--server", action="store_true", help="also load into a Milvus server")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="stores-"))
    try:
        config = StoreConfig(folder / "catalog", milvus_uri="", graph="none")
        measure(config, options.nodes, "catalog")
        measure_opening(config, "catalog")
        if options.server:
            from milvus import default_server

            default_server.set_base_dir(str(folder / "milvus"))
            default_server.listen_port = 19534
            default_server.start()
            uri = "http://127.0.0.1:19534"
            try:
                bare = bare_inserts(uri, options.nodes)
                server = StoreConfig(folder / "server", milvus_uri=uri, graph="none")
                ours = measure(server, options.nodes, "catalog + Milvus server")
                print(f"rate beside bare pymilvus: {bare / ours:.2f}")
            finally:
                default_server.stop()
        if options.million:
            config = StoreConfig(folder / "million", milvus_uri="", graph="none")
            index = SemXPathIndex(config, embed_model=GivenVectors())
            with index, Clock("catalog: load 1,000,000 nodes"):
                index.write_trees(documents(1_000_000))
            measure_opening(config, "catalog of 1,000,000")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
