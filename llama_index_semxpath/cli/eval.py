"""``semxpath eval``."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from llama_index_semxpath.cli.output import opened, print_json, remark
from llama_index_semxpath.errors import SemXPathError

if TYPE_CHECKING:
    from llama_index_semxpath.evaluation.dataset import Dataset
    from llama_index_semxpath.evaluation.run import Report
    from llama_index_semxpath.index.reader import Reader


def evaluate(args: argparse.Namespace) -> int:
    """Measures the routes of a store on a dataset."""
    from llama_index_semxpath.evaluation.dataset import Dataset
    from llama_index_semxpath.evaluation.report import to_html, to_text

    dataset = Dataset.load(args.dataset, split=args.split)
    with opened(args) as reader:
        report = _report(args, dataset, reader)
    if args.html is not None:
        _write(Path(args.html), to_html(report))
        remark(args, f"report: {args.html}")
    if args.json:
        print_json(report.to_dict())
    else:
        print(to_text(report))
    return 1 if report.failures else 0


def _report(args: argparse.Namespace, dataset: Dataset, reader: Reader) -> Report:
    from llama_index_semxpath.evaluation.pipelines import of_store
    from llama_index_semxpath.evaluation.run import evaluate as run

    naming = _naming(dataset, reader)
    if not dataset.texts:
        dataset = _with_texts(dataset, reader, naming, args.principal)
    pipelines = {
        mode: of_store(
            reader,
            mode,
            most=max(args.budget) + 100,
            principal=args.principal,
            texts=dataset.texts,
            naming=lambda document: naming.get(document, document),
        )
        for mode in dict.fromkeys(args.mode)
    }
    if args.quiet or args.json:
        return run(dataset, pipelines, budgets=args.budget)
    from tqdm import tqdm

    with tqdm(total=len(dataset.questions), unit=" questions") as shown:
        return run(
            dataset, pipelines, budgets=args.budget, progress=lambda *_: bool(shown.update(1))
        )


def _naming(dataset: Dataset, reader: Reader) -> dict[str, str]:
    """Ids of the store to those of the dataset, which may leave out the folder and ``.md``."""
    known = set(dataset.texts) or {doc for one in dataset.questions for doc in one.documents}
    found: dict[str, str] = {}
    for document in reader.catalog.documents():
        parts = document.id.split("/")
        shorter = ["/".join(parts[at:]) for at in range(len(parts))]
        names = [name for one in shorter for name in (one, re.sub(r"\.\w{1,5}$", "", one))]
        match = next((name for name in names if name in known), None)
        if match is not None:
            found[document.id] = match
    if not found:
        raise SemXPathError(
            "the store holds none of the dataset's documents",
            where=dataset.name,
            hint="index them first",
        )
    return found


def _with_texts(
    dataset: Dataset, reader: Reader, naming: dict[str, str], principal: list[str] | None
) -> Dataset:
    """The dataset with the texts of its documents as the store holds them."""
    texts = {
        name: "\n".join(node.text for node in reader.document(document, principal))
        for document, name in naming.items()
    }
    return replace(dataset, texts=texts)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise SemXPathError("the report cannot be written", where=str(path)) from error
