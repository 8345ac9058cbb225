"""Speed of retrieval on a large store: what the router adds to the stores' own searches.

    python benchmarks/retrieval.py --store STORE [--questions FILE]

STORE is an existing store of any size (100,000 nodes for the figures of docs/quality.md). For each
question: ``bare`` embeds it and searches the vectors, ``normal`` is ``Search.run(question)`` over
documents that were asked before, ``overhead`` is that without the time of the embedding model,
the keyword index, the vector search and reading nodes, ``again`` is the same question once more.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llama_index_semxpath.index import Reader, StoreConfig
from llama_index_semxpath.retrievers import Search

QUESTIONS = """
How do I open a file?
How to sort a list of dicts?
What does zip() do when the iterables differ in length?
How are default arguments evaluated?
read a csv file
How do I write a context manager?
What is the difference between a list and a tuple?
How can I run a subprocess and capture its output?
Which exceptions does int() raise?
How do I format a date?
What does the walrus operator do?
How do I create a virtual environment?
How do I parse command line arguments?
What is a generator expression?
How do I make a class iterable?
Is dict ordered?
"""


class Stopwatch:
    """Time spent inside some functions; what one of them calls is counted once."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._inside = False

    def watch(self, owner: Any, name: str) -> None:
        function: Callable[..., Any] = getattr(owner, name)

        def timed(*args: Any, **kwargs: Any) -> Any:
            if self._inside:
                return function(*args, **kwargs)
            self._inside, started = True, time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self._inside = False
                self.seconds += time.perf_counter() - started

        setattr(owner, name, timed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--questions", type=Path, help="one a line")
    args = parser.parse_args()
    text = args.questions.read_text("utf-8") if args.questions else QUESTIONS
    questions = [line for line in text.splitlines() if line.strip()]
    with Reader.open(StoreConfig(args.store, milvus_uri="", graph="none")) as reader:
        print(f"{len(reader.table):,} nodes, {len(questions)} questions, milliseconds (median)")
        search = Search(reader)
        search.run("warm up the model, the columns and the vocabulary")
        reader.semantic_search("warm up the vectors")
        watch = Stopwatch()
        for owner, name in (
            (reader.embeddings, "query_vector"),
            (reader.catalog, "keyword"),
            (reader, "nearest"),
            (reader, "semantic_search"),
            (reader, "document"),
            (reader, "query"),
        ):
            watch.watch(owner, name)
        rows: dict[str, list[float]] = {"bare": [], "normal": [], "overhead": [], "again": []}
        for question in questions:
            # The vector of a question is kept; another wording asks the model again.
            rows["bare"].append(timed(lambda q=question: reader.semantic_search(f"{q} ", limit=10)))
            search.run(question, limit=9)  # cuts the documents into packs, once for all questions
            watch.seconds = 0.0
            normal = timed(lambda q=question: search.run(q, limit=10))
            rows["normal"].append(normal)
            rows["overhead"].append(normal - watch.seconds)
            rows["again"].append(timed(lambda q=question: search.run(q, limit=10)))
        for name, seconds in rows.items():
            print(f"{name:<10}{1e3 * statistics.median(seconds):>10.2f}")
        ratio = statistics.median(rows["normal"]) / statistics.median(rows["bare"])
        print(f"normal / bare{ratio:>7.2f}")


def timed(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
