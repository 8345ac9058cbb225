"""Requests over memory trees: are the nodes found that a person wants?

    python benchmarks/memory_trees.py ../shared/cases/memory
    python benchmarks/memory_trees.py ../shared/cases/memory --show

The folder holds ``tree_requests.jsonl`` (id, tree, query, gold paths, semantic or not) and the XML
trees that it names. The trees of the published demo are CC BY-NC and not part of this repository.
Each tree is a store of its own; each query is run as given. Structural requests count when exact;
semantic ones are measured by precision, recall and F1 of the nodes found.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from llama_index_semxpath import SemXPathIndex
from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.index.folder import index_paths


@contextmanager
def stores(folder: Path, names: set[str]) -> Iterator[dict[str, SemXPathIndex]]:
    """One store a tree."""
    with tempfile.TemporaryDirectory(prefix="trees-") as place:
        found = {}
        for name in sorted(names):
            config = StoreConfig(Path(place) / name, milvus_uri="", graph="none")
            found[name] = SemXPathIndex(config)
            index_paths(found[name], [folder / "trees" / name])
        yield found
        for index in found.values():
            index.close()


def overlap(found: set[str], gold: set[str]) -> tuple[float, float, float]:
    """Precision, recall and F1."""
    hits = len(found & gold)
    precision = hits / len(found) if found else float(not gold)
    recall = hits / len(gold) if gold else 1.0
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


def show(request: dict[str, Any], found: dict[str, float], gold: set[str]) -> None:
    """A request that was not answered exactly."""
    print(f"{request['id']}  {request['request']}\n     {request['query']}")
    for path, score in found.items():
        if path not in gold:
            print(f"     not wanted {score:.2f}  {path}")
    for path in sorted(gold - found.keys()):
        print(f"     missed           {path}")


def main() -> None:
    """Measures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--show", action="store_true", help="print what was not exact")
    options = parser.parse_args()
    lines = (options.folder / "tree_requests.jsonl").read_text("utf-8").splitlines()
    requests = [json.loads(line) for line in lines if line]
    exact, figures = [0, 0], []
    structural = sum(not request["semantic"] for request in requests)
    with stores(options.folder, {request["tree"] for request in requests}) as indexes:
        for request in requests:
            matches = indexes[request["tree"]].query(request["query"])
            found = {match.xpath: match.score for match in matches}
            gold = set(request["gold"])
            exact[request["semantic"]] += found.keys() == gold
            if request["semantic"]:
                figures.append(overlap(set(found), gold))
            if options.show and found.keys() != gold:
                show(request, found, gold)
    means = [sum(column) / len(figures) for column in zip(*figures, strict=True)]
    print(f"structural  {exact[0]} of {structural} exact")
    print(f"semantic    {exact[1]} of {len(figures)} exact, ", end="")
    print("precision {:.2f}, recall {:.2f}, F1 {:.2f}".format(*means))


if __name__ == "__main__":
    main()
