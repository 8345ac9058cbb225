"""From a folder of documents to answers: CPU seconds by stage, store size, milliseconds a query.

    python benchmarks/documents.py /usr/share/doc/python3.11/html --store /tmp/python3-doc

prints one table. Stages are measured where they happen, in one process, in CPU seconds of all its
threads, so that the figures mean something on a busy machine.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

QUERIES = (
    "count(//Section)",
    '//Section[@number = "8.5"]',
    '//Section[contains(@title, "with statement")]//Code',
    '//Section[title =~ "context manager"]//Code',
    '//Paragraph[. =~ "how to close a file"]',
)
QUESTIONS = (
    "section 8.5 of the reference",
    "How do I write a context manager?",
    "What does zip() do when the iterables differ in length?",
)


class Stages:
    """CPU seconds by stage; a stage within another counts for itself only."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._inner: list[float] = []

    def watch(self, owner: Any, name: str, stage: str) -> None:
        """Measures each call of a function or method."""
        call: Callable[..., Any] = getattr(owner, name)

        def measured(*args: Any, **kwargs: Any) -> Any:
            started = time.process_time()
            self._inner.append(0.0)
            try:
                return call(*args, **kwargs)
            finally:
                spent = time.process_time() - started
                self.seconds[stage] += spent - self._inner.pop()
                if self._inner:
                    self._inner[-1] += spent

        setattr(owner, name, measured)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--store", type=Path, required=True, help="a directory to make")
    args = parser.parse_args()

    from llama_index_semxpath.index import (
        SemXPathIndex,
        catalog_writer,
        graph_projection,
        index_paths,
        milvus,
        writing,
    )
    from llama_index_semxpath.node_parser import parallel

    stages = Stages()
    stages.watch(parallel, "parse_bytes", "parse")
    stages.watch(writing.Writer, "_embed", "embed")
    stages.watch(catalog_writer.CatalogWriter, "put_document", "catalog")
    stages.watch(milvus.MilvusProjection, "upsert", "vectors")
    stages.watch(graph_projection.PropertyGraphProjection, "upsert", "graph")

    with SemXPathIndex(args.store) as index:
        started, wall = time.process_time(), time.perf_counter()
        report = index_paths(index, [args.folder])
        total, elapsed = time.process_time() - started, time.perf_counter() - wall
        print(f"{report.documents} documents, {report.nodes} nodes, {len(report.errors)} errors")
        print(f"{report.totals.embedded} texts embedded")
        for stage, seconds in stages.seconds.items():
            print(f"  {stage:8} {seconds:7.1f} CPU s")
        print(f"  {'rest':8} {total - sum(stages.seconds.values()):7.1f} CPU s")
        print(f"  {'all':8} {total:7.1f} CPU s, {elapsed:.1f} s on the clock")
        started = time.process_time()
        again = index_paths(index, [args.folder])
        print(
            f"again    {time.process_time() - started:7.1f} CPU s, {again.unchanged} unchanged, "
            f"{again.totals.embedded} embedded"
        )
        started = time.process_time()
        checked = index.check()
        print(f"check    {time.process_time() - started:7.1f} CPU s, ok: {checked.ok}")
        size = sum(path.stat().st_size for path in args.store.rglob("*") if path.is_file())
        print(f"store    {size / 1e6:7.1f} MB")
        for query in QUERIES:
            first, later = measure(lambda query=query: index.query(query))
            print(f"{first:8.0f} {later:8.1f} ms  {len(index.query(query)):6} results  {query}")
        engine = index.as_query_engine()
        for question in QUESTIONS:
            first, later = measure(lambda question=question: engine.query(question))
            print(f"{first:8.0f} {later:8.1f} ms  {question}")


def measure(call: Callable[[], Any]) -> tuple[float, float]:
    """CPU milliseconds of the first call, and the median of five later ones."""
    spent = []
    for _ in range(6):
        started = time.process_time()
        call()
        spent.append((time.process_time() - started) * 1000)
    return spent[0], statistics.median(spent[1:])


if __name__ == "__main__":
    main()
