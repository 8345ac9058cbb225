"""Retrieval quality on the benches: writes run files for ``evaluate.py`` of a bench.

    python benchmarks/retrieval.py --data BENCH/dragonball --store /tmp/dragonball --run run.jsonl
    python BENCH/evaluate.py --data BENCH/dragonball --run run.jsonl --by lang,qtype

A bench is a folder with ``docs/`` (Markdown files) and ``queries.jsonl``. The documents are indexed
once into ``--store``; ``--mode auto`` is what ``index.as_retriever()`` does, ``flat`` is BM25 over
whole nodes from the catalog, as a baseline over the same tree.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

from llama_index_semxpath.index import Reader, SemXPathIndex, StoreConfig, index_paths
from llama_index_semxpath.retrievers.evidence import Evidence
from llama_index_semxpath.retrievers.packs import count_tokens
from llama_index_semxpath.retrievers.readers import Library
from llama_index_semxpath.retrievers.routes import TreeRoute
from llama_index_semxpath.retrievers.search import Search

BUDGET = 2100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the bench")
    parser.add_argument("--store", type=Path, required=True, help="where to index it")
    parser.add_argument("--run", type=Path, required=True, help="run file to write")
    parser.add_argument("--mode", choices=("auto", "tree", "flat"), default="auto")
    parser.add_argument("--split", default="dev")
    args = parser.parse_args()
    if not (args.store / "catalog.db").exists():
        # The figures rest on the catalog; the projections would only take time.
        with SemXPathIndex(StoreConfig(args.store, milvus_uri="", graph="none")) as index:
            report = index_paths(index, [args.data / "docs"])
            print(report.to_dict())
    lines = (args.data / "queries.jsonl").read_text("utf-8").splitlines()
    queries = [json.loads(line) for line in lines]
    config = StoreConfig(args.store, milvus_uri="", graph="none")
    with Reader.open(config) as reader, args.run.open("w", encoding="utf-8") as out:
        texts = {path: path.read_text("utf-8") for path in (args.data / "docs").rglob("*.md")}
        sources = {
            path.relative_to(args.data / "docs").with_suffix("").as_posix(): text
            for path, text in texts.items()
        }
        search = Search(Library(reader))
        for query in queries:
            if args.split not in ("all", query["split"]) or not query["gold_spans"]:
                continue
            started = time.perf_counter()
            evidence = find(search, query["query"], args.mode)
            seconds = time.perf_counter() - started
            contexts = to_contexts(evidence, sources, search.library)
            out.write(
                json.dumps(
                    {"id": query["id"], "contexts": contexts, "seconds": seconds},
                    ensure_ascii=False,
                )
                + "\n"
            )


def find(search: Search, question: str, mode: str) -> Sequence[Evidence]:
    if mode == "auto":
        return search.run(question, limit=120).evidence
    if mode == "tree":
        return TreeRoute(search.library).find(question, limit=120).evidence
    matches = search.library.source.keyword_search(question, limit=60)
    return [Evidence(match, match.score) for match in matches]


def to_contexts(
    evidence: Sequence[Evidence], sources: dict[str, str], library: Library
) -> list[dict[str, str]]:
    """Texts of the documents themselves, best first; a whole section is all that it holds."""
    contexts: list[dict[str, str]] = []
    spent = 0
    for one in evidence:
        doc = one.match.document.removeprefix("docs/").removesuffix(".md")
        text = one.text
        if one.end is None:
            spans = [n.node.span for n in library.source.subtree(one.match.id) if n.node.span]
            if spans:
                text = sources[doc][min(s for s, _ in spans) : max(e for _, e in spans)]
        contexts.append({"doc_id": doc, "text": text})
        spent += count_tokens(text)
        if spent > BUDGET:
            break
    return contexts


if __name__ == "__main__":
    main()
