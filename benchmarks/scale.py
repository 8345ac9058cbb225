"""What a store of 10^5 to 10^8 nodes takes: measured here as far as it fits, then by a model.

Run: ``python benchmarks/scale.py [--nodes 100000] [--graph-nodes 20000]``. Trees are generated one
document at a time, so that memory does not grow with their number; ``--generate N`` only generates.
Times are CPU seconds of one core. The catalog is measured in SQLite with vectors in its cache, the
graph by what NebulaGraph is sent (the emulator of the tests counts statements and bytes).
Everything is linear in the number of nodes, which two sizes show; the model scales the figures per
node.
"""

from __future__ import annotations

import argparse
import math
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from llama_index_semxpath.index.base import SemXPathIndex
from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.index.graph_projection import PropertyGraphProjection
from llama_index_semxpath.index.nebula_text import MAX_ROWS
from llama_index_semxpath.index.reader import Reader
from llama_index_semxpath.index.writing import TreeSource
from llama_index_semxpath.tree.ids import node_id
from llama_index_semxpath.tree.node import TreeNode

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from nebula_emulator.server import NebulaEmulator

PER_DOCUMENT = 1_000
DIMENSION = 64
_WORDS = (
    "rules",
    "leave",
    "travel",
    "pay",
    "review",
    "backup",
    "harbour",
    "ferry",
    "contract",
    "day",
)


class NoModel:
    """A model that is never asked: all vectors are given."""

    name = "given"

    def embed_texts(self, texts: Sequence[str]) -> Any:
        return np.eye(DIMENSION, dtype=np.float32)[[len(text) % DIMENSION for text in texts]]

    def embed_query(self, text: str) -> Any:
        return self.embed_texts([text])[0]


def trees(nodes: int) -> Iterator[list[TreeNode]]:
    """Documents of 1,000 nodes: a root, 37 sections, 26 paragraphs in each of them."""
    for number in range(math.ceil(nodes / PER_DOCUMENT)):
        yield _tree(number)


def _tree(number: int) -> list[TreeNode]:
    doc = f"corpus/{number:06}.md"
    found = [
        TreeNode(
            doc, "Document", doc, None, "", {"title": doc, "year": 2000 + number % 30}, level=0
        )
    ]
    for s in range(37):
        title = f"Section {s} of {number}"
        section = node_id(doc, doc, "Section", title)
        found.append(
            TreeNode(section, "Section", doc, doc, title, {"title": title}, level=1, tokens=5)
        )
        for p in range(26):
            words = (_WORDS[(number + s * p + at) % len(_WORDS)] for at in range(10))
            text = f"{number} {s} {p} {' '.join(words)}."
            id_ = node_id(doc, section, "Paragraph", text)
            found.append(TreeNode(id_, "Paragraph", doc, section, text, tokens=14))
    return found


def measure_catalog(nodes: int) -> dict[str, float]:
    """Loads a catalog with vectors; figures per node and of opening it."""
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        config = StoreConfig(Path(folder), milvus_uri="", graph="none")
        began = time.process_time()
        with SemXPathIndex(config, embed_model=NoModel()) as index:
            index.write_trees(_with_vectors(tree, rng) for tree in trees(nodes))
            loaded = time.process_time() - began
            count = index.catalog.count_nodes()
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        began = time.process_time()
        with Reader.open(config, embed_model=NoModel()) as reader:
            rows = len(reader.table)
            first = time.process_time() - began
        began = time.process_time()
        with Reader.open(config, embed_model=NoModel()) as reader:
            reader.query("count(//Section)")
            again = time.process_time() - began
    return {
        "nodes": count,
        "rows": rows,
        "nodes per CPU s": count / loaded,
        "bytes/node": size / count,
        "first open, CPU s": first,
        "open and count, CPU s": again,
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _with_vectors(tree: list[TreeNode], rng: np.random.Generator) -> TreeSource:
    matrix = rng.standard_normal((len(tree), DIMENSION), np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    pairs = zip(tree, matrix, strict=True)
    return TreeSource(tree, vectors={n.id: v for n, v in pairs if n.kind != "Document"})


def measure_graph(nodes: int) -> dict[str, float]:
    """What NebulaGraph is sent for so many nodes, in batches as the outbox gives them."""
    with NebulaEmulator() as emulator, tempfile.TemporaryDirectory() as folder:
        host, port = emulator.address
        graph = f"nebula://{host}:{port}/scale?timeout=600"
        config = StoreConfig(Path(folder), milvus_uri="", graph=graph)
        with SemXPathIndex(config, embed_model=NoModel()) as index:
            rng = np.random.default_rng(1)
            opened, sent = len(emulator.statements), emulator.received_bytes
            index.write_trees(_with_vectors(tree, rng) for tree in trees(nodes))
            writes, written = len(emulator.statements) - opened, emulator.received_bytes - sent
            before = len(emulator.statements)
            assert index.check().ok
            checks = len(emulator.statements) - before
            before, sent = len(emulator.statements), emulator.received_bytes
            projection = index._projections.graph()
            assert isinstance(projection, PropertyGraphProjection)
            assert len(list(projection.graph.subtree("a0"))) == PER_DOCUMENT
            reads = len(emulator.statements) - before
        space = emulator.spaces["scale"]
        edges = sum(len(out) for out in space.out.values())
        return {
            "nodes": nodes,
            "write statements": writes,
            "statements/1,000 nodes": writes / nodes * 1000,
            "bytes sent/node": written / nodes,
            "edges/node": edges / len(space.vertices),
            "check statements": checks,
            "statements for one document": reads,
        }


def model(catalog: dict[str, float], graph: dict[str, float]) -> None:
    """The table of what larger stores take, by the figures per node."""
    print(f"\n| nodes | catalog | vectors, {DIMENSION} dim. / 1,024 dim. | graph sent | "
          "statements | CPU hours to load |\n|---|---|---|---|---|---|")  # fmt: skip
    for power in range(5, 9):
        n = 10**power
        statements = graph["statements/1,000 nodes"] * n / 1000
        hours = n / catalog["nodes per CPU s"] / 3600
        print(
            f"| 10^{power} | {n * catalog['bytes/node'] / 1e9:.2f} GB "
            f"| {n * DIMENSION * 4 / 1e9:.2f} / {n * 4096 / 1e9:.1f} GB "
            f"| {n * graph['bytes sent/node'] / 1e9:.1f} GB | {statements:,.0f} | {hours:.2f} h |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[100_000])
    parser.add_argument("--graph-nodes", type=int, nargs="+", default=[20_000])
    parser.add_argument("--generate", type=int, default=0, help="only generate so many nodes")
    args = parser.parse_args()
    if args.generate:
        began, count = time.process_time(), 0
        for tree in trees(args.generate):
            count += len(tree)
        seconds = time.process_time() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{count:,} nodes in {seconds:.1f} s, {count / seconds:,.0f} a second, {peak:.0f} MB")
        return
    print(f"at most {MAX_ROWS} rows in a statement")
    graph = catalog = {}
    for nodes in args.graph_nodes:
        graph = measure_graph(nodes)
        print("graph  ", {name: round(value, 2) for name, value in graph.items()}, flush=True)
    for nodes in args.nodes:
        catalog = measure_catalog(nodes)
        print("catalog", {name: round(value, 2) for name, value in catalog.items()}, flush=True)
    model(catalog, graph)


if __name__ == "__main__":
    main()
