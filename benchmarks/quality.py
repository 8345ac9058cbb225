"""Retrieval quality: stock LlamaIndex recipes and ours, same embeddings, same budget, one run.

    python benchmarks/quality.py --data ../shared/bench
    python benchmarks/quality.py --data ../shared/bench --set awsdocs --html report.html

Each set is a folder with ``docs/`` (Markdown) and ``queries.jsonl``. Every returned token is paid:
contexts are read best first and cut at exactly 1,000 and 2,000 tokens. ``--work`` keeps our store
between runs. The evaluator is ``llama_index_semxpath.evaluation``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import (
    HierarchicalNodeParser,
    MarkdownNodeParser,
    SentenceSplitter,
    get_leaf_nodes,
)
from llama_index.core.retrievers import AutoMergingRetriever, QueryFusionRetriever
from llama_index.core.schema import BaseNode, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.retrievers.bm25 import BM25Retriever

from llama_index_semxpath.evaluation import Context, Dataset, evaluate, to_html, to_text
from llama_index_semxpath.evaluation.pipelines import of_retriever, of_store
from llama_index_semxpath.evaluation.run import Pipeline, Report
from llama_index_semxpath.index import Reader, SemXPathIndex, StoreConfig, index_paths
from llama_index_semxpath.index.keywords import segment

_TOP = 24
_SETS = ("dragonball", "awsdocs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the sets")
    parser.add_argument("--set", nargs="+", default=list(_SETS), dest="sets")
    parser.add_argument("--split", default="dev")
    parser.add_argument("--work", type=Path, default=Path(".bench"), help="where our store is kept")
    parser.add_argument("--ours", action="store_true", help="without the stock recipes")
    parser.add_argument("--html", type=Path, help="write a report with plots (one set)")
    args = parser.parse_args()
    for name in args.sets:
        dataset = answerable(Dataset.load(args.data / name, split=args.split))
        store = StoreConfig(args.work / name, milvus_uri="", graph="none")
        with SemXPathIndex(store) as index:
            # An unchanged file is not read again.
            index_paths(index, [args.data / name / "docs"])
            embed_model = index.embed_model
        with Reader.open(store) as reader:
            stock = {} if args.ours else stock_pipelines(dataset, embed_model)
            ours = {
                "ours, tree route": of_store(reader, "tree", texts=dataset.texts, naming=bench_id),
                "ours": of_store(reader, "auto", texts=dataset.texts, naming=bench_id),
            }
            report = evaluate(dataset, {**stock, **ours})
        print(f"\n{name}, {len(dataset.questions)} questions")
        print(to_text(report))
        print(by_tag(report))
        if args.html is not None:
            args.html.write_text(to_html(report), "utf-8")


def answerable(dataset: Dataset) -> Dataset:
    questions = tuple(one for one in dataset.questions if one.gold)
    return Dataset(dataset.name, questions, dataset.texts)


def bench_id(document: str) -> str:
    return document.removeprefix("docs/").removesuffix(".md")


def stock_pipelines(dataset: Dataset, embed_model: Any) -> dict[str, Pipeline]:
    """Today's recipes over the same texts and embeddings."""
    documents = [Document(text=text, id_=name) for name, text in dataset.texts.items()]
    flat = SentenceSplitter(chunk_size=512, chunk_overlap=64).get_nodes_from_documents(documents)
    vector = VectorStoreIndex(flat, embed_model=embed_model).as_retriever(similarity_top_k=_TOP)
    keyword = Bm25(flat)
    fusion = QueryFusionRetriever(
        [vector, keyword.retriever],
        llm=MockLLM(),
        num_queries=1,
        use_async=False,
        mode="reciprocal_rerank",
        similarity_top_k=_TOP,
    )
    sections = MarkdownNodeParser().get_nodes_from_documents(documents)
    sections_index = VectorStoreIndex(sections, embed_model=embed_model)
    return {
        "flat vector": of_retriever(vector),
        "BM25": keyword,
        "vector + BM25 fused": lambda question: keyword.contexts(
            fusion.retrieve(segment(question))
        ),
        "AutoMerging": of_retriever(auto_merging(documents, embed_model)),
        "Markdown sections": of_retriever(sections_index.as_retriever(similarity_top_k=_TOP)),
    }


def auto_merging(documents: Sequence[Document], embed_model: Any) -> AutoMergingRetriever:
    nodes = HierarchicalNodeParser.from_defaults().get_nodes_from_documents(list(documents))
    store = SimpleDocumentStore()
    store.add_documents(nodes)
    storage = StorageContext.from_defaults(docstore=store)
    leaves = VectorStoreIndex(
        get_leaf_nodes(nodes), storage_context=storage, embed_model=embed_model
    )
    return AutoMergingRetriever(leaves.as_retriever(similarity_top_k=_TOP), storage)


class Bm25:
    """The stock BM25 retriever; Chinese is cut into words for it, and whole again in the result."""

    def __init__(self, nodes: Sequence[BaseNode]) -> None:
        self._texts = {node.node_id: (node.ref_doc_id or "", node.get_content()) for node in nodes}
        cut = [TextNode(id_=node.node_id, text=segment(node.get_content())) for node in nodes]
        self.retriever = BM25Retriever.from_defaults(
            nodes=cut, similarity_top_k=_TOP, token_pattern=r"(?u)\b\w+\b"
        )

    def __call__(self, question: str) -> list[Context]:
        return self.contexts(self.retriever.retrieve(segment(question)))

    def contexts(self, hits: Sequence[Any]) -> list[Context]:
        return [Context(*self._texts[hit.node.node_id]) for hit in hits]


def by_tag(report: Report) -> str:
    """Ours by language and kind of question, and questions for a number."""
    lines = []
    for tag in ("lang", "qtype"):
        values = sorted({tags.get(tag, "") for tags in report.tags} - {""})
        for value in values:
            found = [
                report.mean("ours", metric, {tag: value})
                for metric in ("recall@1000", "recall@2000")
            ]
            lines.append(f"  {tag}={value:<24}{found[0]:.3f} / {found[1]:.3f}")
    return "ours by group, recall@1000 / @2000\n" + "\n".join(lines)


if __name__ == "__main__":
    main()
