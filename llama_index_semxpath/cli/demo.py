"""``semxpath demo``: the shipped corpus, indexed and asked, from end to end."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llama_index_semxpath.cli.ask import show_answer
from llama_index_semxpath.cli.output import config_of, print_json, remark, style
from llama_index_semxpath.display.text import matches_text

if TYPE_CHECKING:
    from llama_index_semxpath.index.config import StoreConfig

#: Where the demo keeps its store, so that a reader can go on asking.
STORE = "./.semxpath-demo"

#: What the demo shows: structure, values of tables, meaning across languages; then questions.
QUERIES = (
    '//Section[@number = "第三章"]/Section[@number = "第五条"]//Row',
    '//Row[@Amount > 100000 and @Branch = "Shanghai" and @`Approved by` = "Wang Min"]',
    '//Section[title =~ "restore a file"]//Code',
    '//Section[. =~ "annual leave days"]',
)
QUESTIONS = (
    "第三章第五条",
    "高级员工有几天年假？",
    "How do I restore a backup?",
)


def demo(args: argparse.Namespace) -> int:
    """Indexes the shipped corpus and shows queries and answers."""
    from llama_index_semxpath.data import demo_dir

    if args.store is None and args.config is None:
        args.store = STORE
    return _run(args, config_of(args), demo_dir())


def _run(args: argparse.Namespace, config: StoreConfig, corpus: Path) -> int:
    from llama_index_semxpath.index.base import SemXPathIndex
    from llama_index_semxpath.index.folder import index_paths
    from llama_index_semxpath.query_engine.pipeline import Pipeline

    paint = style()
    shown: dict[str, Any] = {"queries": [], "answers": []}
    with SemXPathIndex(config) as index:
        remark(args, f"indexing {corpus.name} …")
        report = index_paths(index, [corpus])
        shown["index"] = report.to_dict()
        if not args.json:
            print(f"{report.documents} documents, {report.nodes} nodes in {report.seconds:.1f} s")
        for query in QUERIES:
            result = index.query(query, top_k=3)
            shown["queries"].append({"query": query, **result.to_dict()})
            if not args.json:
                print("\n" + paint.paint(f"$ semxpath query '{query}'", "blue"))
                dicts = [match.to_dict() for match in result]
                print(matches_text(dicts, paint))
        pipeline = Pipeline(index)
        for question in QUESTIONS:
            answer = pipeline.ask(question)
            shown["answers"].append({"question": question, **answer.to_dict()})
            if not args.json:
                print("\n" + paint.paint(f'$ semxpath ask "{question}"', "blue"))
                show_answer(args, answer)
    if args.json:
        print_json(shown)
    else:
        remark(args, f"\nGo on: semxpath --store {config.store} query '//Section[title =~ \"…\"]'")
    return 0
