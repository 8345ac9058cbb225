"""What it costs to restrict a semantic search to a subtree, on a Milvus server.

    python benchmarks/pushdown.py                     # 100,000 nodes, starts a server of its own
    python benchmarks/pushdown.py --uri http://host:19530

One search for the 10 nearest of 100,000: unrestricted; restricted to a subtree of 1 %, 10 % and
50 % of the nodes by the range of order keys that ``VectorSearch`` sends; and restricted to the same
nodes by a list of their ids. Each as the project sends it, with strong consistency, for which the
server waits until it has seen all writes; and without that wait. Medians of wall milliseconds; the
searches take turns, so that a busy machine is unfair to none.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from pymilvus import MilvusClient

from llama_index_semxpath.engines.base import Scope
from llama_index_semxpath.index.milvus import MilvusProjection
from llama_index_semxpath.index.milvus_expr import All, Condition, OneOf, to_expression
from llama_index_semxpath.index.projection import ProjectedNode
from llama_index_semxpath.index.vector_search import scope_condition
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.table import TreeTable

DIMENSION = 512
SHARES = (0.01, 0.1, 0.5)
LIMIT = 10
PORT = 19537


def corpus(count: int) -> TreeTable:
    """One document; its sections are subtrees of 1 %, 10 %, 50 % and the rest of the nodes."""
    nodes = [TreeNode("d", "Document", "d")]
    for s, share in enumerate((*SHARES, 1 - sum(SHARES))):
        section = f"s{s}"
        nodes.append(TreeNode(section, "Section", "d", "d", f"Section {s}"))
        for p in range(round(count * share) - 1):
            # Groups of 50, as documents have them: keys are as deep as real ones.
            if p % 50 == 0:
                group = f"{section}-{p}"
                nodes.append(TreeNode(group, "Section", "d", section, f"Group {p}"))
            else:
                nodes.append(TreeNode(f"{section}-{p}", "Paragraph", "d", group, f"text {p}"))
    return TreeTable.from_nodes(nodes)


def load(milvus: MilvusProjection, table: TreeTable, vectors: Any) -> None:
    """Every node with a random unit vector, as rows of the projection."""
    assert table.orders is not None
    batch = 5_000
    for start in range(1, len(table), batch):
        rows = range(start, min(start + batch, len(table)))
        milvus.upsert(
            [
                ProjectedNode(
                    table.ids[row], "d", None, None, table.kind_name(row), table.orders[row],
                    None, "", {}, None, 1.0, table.ids[row], vectors[row].tobytes(),
                )
                for row in rows
            ]
        )  # fmt: skip


@contextlib.contextmanager
def server(uri: str | None) -> Iterator[str]:
    """A given server, or one that is started and stopped."""
    if uri is not None:
        yield uri
        return
    from milvus import default_server

    with tempfile.TemporaryDirectory(prefix="milvus-", ignore_cleanup_errors=True) as folder:
        default_server.set_base_dir(folder)
        default_server.listen_port = PORT
        default_server.start()
        try:
            yield f"http://127.0.0.1:{PORT}"
        finally:
            default_server.stop()


def medians(actions: dict[str, Callable[[], Any]], runs: int) -> dict[str, float]:
    """Median wall milliseconds of each action, taking turns."""
    spent: dict[str, list[float]] = {name: [] for name in actions}
    for turn in range(runs + 1):
        for name, action in actions.items():
            began = time.perf_counter()
            action()
            if turn:  # the first turn warms up
                spent[name].append((time.perf_counter() - began) * 1000)
    return {name: statistics.median(times) for name, times in spent.items()}


def measure(uri: str, count: int, runs: int) -> None:
    """Prints the table."""
    table = corpus(count)
    random = np.random.default_rng(0)
    vectors = random.standard_normal((len(table), DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    milvus = MilvusProjection(uri, dimension=DIMENSION, collection="pushdown", timeout=300)
    load(milvus, table, vectors)
    questions = _questions(vectors)
    conditions: dict[str, Condition] = {"none": All(())}
    for s, share in enumerate(SHARES):
        root = table.position(f"s{s}")
        assert root is not None
        condition = scope_condition(Scope(table, np.array([root], np.int32)))
        assert condition is not None
        conditions[f"range, {share:.0%}"] = condition
        conditions[f"ids, {share:.0%}"] = OneOf("id", tuple(table.ids[root : table.end[root]]))
    strong: dict[str, Callable[[], Any]] = {
        name: partial(lambda c: milvus.search(next(questions), c, LIMIT), condition)
        for name, condition in conditions.items()
    }
    client = MilvusClient(uri=uri)
    bare: dict[str, Callable[[], Any]] = {
        name: partial(
            lambda text: client.search(
                "pushdown", [next(questions).tolist()], filter=text, limit=LIMIT,
                output_fields=["id"], consistency_level="Eventually",
            ),
            to_expression(condition),
        )
        for name, condition in conditions.items()
    }  # fmt: skip
    print(f"{len(table) - 1:,} nodes, {DIMENSION} dimensions, {LIMIT} nearest; wall ms, median")
    print(f"{'restriction':<14}{'strong':>9}{'times':>8}{'no wait':>12}{'times':>8}")
    one, other = medians(strong, runs), medians(bare, runs)
    for name in conditions:
        print(
            f"{name:<14}{one[name]:>9.1f}{one[name] / one['none']:>8.2f}"
            f"{other[name]:>12.1f}{other[name] / other['none']:>8.2f}"
        )
    milvus.close()


def _questions(vectors: Any) -> Iterator[Any]:
    """Questions near stored vectors, each another one."""
    random = np.random.default_rng(1)
    while True:
        vector = vectors[random.integers(len(vectors))] + random.standard_normal(DIMENSION) / 50
        yield (vector / np.linalg.norm(vector)).astype(np.float32)


def main() -> None:
    """Measures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--uri", help="a running server; the collection 'pushdown' is made there")
    options = parser.parse_args()
    with server(options.uri) as uri:
        measure(uri, options.nodes, options.runs)


if __name__ == "__main__":
    main()
