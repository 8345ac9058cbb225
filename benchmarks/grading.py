"""One graded predicate over many candidates, against the bare matrix-vector product and top-k.

    python benchmarks/grading.py                      # 10,000 candidates, 512 dimensions
    python benchmarks/grading.py --candidates 50000

The scorer is calibrated; vectors are in memory beside the tree, as an index holds them. Random unit
vectors stand for embeddings: the arithmetic is the same. Medians of CPU milliseconds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from llama_index_semxpath.engines.base import Dataset, Scope, Vectors
from llama_index_semxpath.engines.memory import MemoryEngine
from llama_index_semxpath.engines.scoring import EmbeddingScorer
from llama_index_semxpath.tree.columns import Rows
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.table import TreeTable

TOP = 10


class MatrixVectors:
    """Unit vectors of the rows of a table."""

    def __init__(self, table: TreeTable, matrix: Vectors) -> None:
        self.table = table
        self.matrix = matrix

    @property
    def model(self) -> str:
        return "random"

    def query_vector(self, phrase: str) -> Vectors:
        rng = np.random.default_rng(len(phrase))
        return unit(self.matrix[1] + 3 * rng.standard_normal(self.matrix.shape[1]) / 23)

    def node_vectors(self, ids: Sequence[str]) -> Vectors:
        rows = [self.table.position(node_id) for node_id in ids]
        return self.matrix[np.array(rows)]

    def text_vectors(self, texts: Sequence[str]) -> Vectors:
        rng = np.random.default_rng(1)
        return unit(rng.standard_normal((len(texts), self.matrix.shape[1])))

    def sample(self, count: int) -> Vectors:
        step = max(1, len(self.matrix) // count)
        return self.matrix[1::step][:count]

    def cosines(self, vector: Vectors, rows: Rows) -> Any:
        first, last = int(rows[0]), int(rows[-1]) + 1
        if last - first == len(rows):
            return self.matrix[first:last] @ vector
        return self.matrix[rows] @ vector

    def search(
        self, vector: Vectors, scope: Scope, limit: int, min_cosine: float
    ) -> list[tuple[str, float]]:
        return []


def unit(vectors: Any) -> Vectors:
    """Vectors of length 1."""
    scaled: Vectors = (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)
    return scaled


def median(action: Callable[[], Any], runs: int = 25) -> float:
    """Median CPU milliseconds."""
    action()
    spent = []
    for _ in range(runs):
        began = time.process_time()
        action()
        spent.append((time.process_time() - began) * 1000)
    return statistics.median(spent)


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--candidates", type=int, default=10_000)
    parser.add_argument("--dimensions", type=int, default=512)
    options = parser.parse_args()
    count = options.candidates
    nodes = [TreeNode("d", "Document", "d")]
    nodes += [TreeNode(f"p{i}", "Paragraph", "d", "d", f"paragraph {i}") for i in range(count)]
    table = TreeTable.from_nodes(nodes)
    rng = np.random.default_rng(0)
    matrix = unit(rng.standard_normal((len(table), options.dimensions)))
    vectors = MatrixVectors(table, matrix)
    engine = MemoryEngine(Dataset(table, scorer=EmbeddingScorer(vectors)))
    query = '//Paragraph[. =~ "a question about something"]'
    vector = vectors.query_vector("a question about something")

    def bare() -> Any:
        cosines = matrix[2:] @ vector
        top = np.argpartition(-cosines, TOP)[:TOP]
        return top[np.argsort(-cosines[top])]

    product, graded = median(bare), median(lambda: engine.run(query, top_k=TOP))
    hard = median(lambda: engine.run("//Paragraph", top_k=TOP))
    print(f"{count:,} candidates, {options.dimensions} dimensions; CPU ms, median of 25")
    print(f"matrix-vector product and top {TOP:<4} {product:8.2f}")
    print(f"//Paragraph                      {hard:8.2f}")
    print(f"{query} {graded:8.2f}")
    print(f"ratio {graded / product:.2f}")


if __name__ == "__main__":
    main()
