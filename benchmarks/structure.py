"""Structural queries on a large tree: this engine against lxml's compiled XPath and elementpath.

    python benchmarks/structure.py                # 1,000,000 nodes (elementpath: 100,000)
    python benchmarks/structure.py --nodes 50000  # a quick look

Every result is compared with lxml's before it is timed. Times are CPU seconds, the best of three
(one for a peer that takes longer than two seconds).
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Callable
from typing import Any

from lxml import etree

from llama_index_semxpath.engines.base import Dataset
from llama_index_semxpath.engines.memory import MemoryEngine
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.table import TreeTable

QUERIES = (
    "/Document/Section/Section/Table",
    "//Section//Table",
    "//Section[@level=4]/Table",
    "//Section[1]",
    "//Row[last()]",
    "//Table[3]/Row[2]",
    "//Row[@n > 990]",
    "//Table/ancestor::Section",
    "//Table/following-sibling::Paragraph",
    "//Section[Table/Row]",
    "//Section[count(Paragraph) > 4]",
    "//Section[@level=3 and .//Code]/Paragraph[1]",
)


def make_nodes(count: int, seed: int = 7) -> list[TreeNode]:
    """Documents of nested sections with paragraphs, code and tables of rows."""
    rng = random.Random(seed)
    nodes: list[TreeNode] = []

    def add(kind: str, doc: str, parent: str | None, **attributes: Any) -> str:
        node_id = f"n{len(nodes)}"
        nodes.append(TreeNode(node_id, kind, doc or node_id, parent, attributes=attributes))
        return node_id

    def section(doc: str, parent: str, level: int) -> None:
        me = add("Section", doc, parent, level=level)
        blocks = ["Paragraph"] * rng.randint(1, 6) + ["Table"] * rng.choice((0, 0, 1, 1, 3))
        blocks += ["Code"] * (rng.random() < 0.3)
        rng.shuffle(blocks)
        for kind in blocks:
            block = add(kind, doc, me, n=rng.randint(0, 999))
            for _ in range(rng.randint(1, 12) if kind == "Table" else 0):
                add("Row", doc, block, n=rng.randint(0, 999))
        for _ in range(rng.randint(1, 4) if level < 5 else 0):
            section(doc, me, level + 1)

    while len(nodes) < count:
        doc = add("Document", "", None)
        for _ in range(rng.randint(2, 8)):
            section(doc, doc, 1)
    return nodes


def make_xml(nodes: list[TreeNode]) -> Any:
    """The same tree for lxml, below one root element."""
    root = etree.Element("Root")
    elements = {}
    for node in nodes:
        parent = root if node.parent is None else elements[node.parent]
        values = {name: str(value) for name, value in node.attributes.items()}
        elements[node.id] = etree.SubElement(parent, node.kind, values | {"id": node.id})
    return root


def best(action: Callable[[], Any], limit: float = 2.0) -> tuple[float, Any]:
    """Least CPU seconds of three runs, and the result."""
    least, result = math.inf, None
    for _ in range(3):
        began = time.process_time()
        result = action()
        least = min(least, time.process_time() - began)
        if least > limit:
            break
    return least, result


def compare_lxml(nodes: list[TreeNode]) -> None:
    """Prints a row for each query, and the geometric mean."""
    engine = MemoryEngine(Dataset(TreeTable.from_nodes(nodes)))
    table = engine.dataset.table
    root = make_xml(nodes)
    print(f"{len(table) - 1:,} nodes; CPU ms")
    print(f"{'query':48} {'results':>9} {'semxpath':>9} {'lxml':>10} {'ratio':>8}")
    ratios = []
    for query in QUERIES:
        mine, result = best(lambda query=query: engine.run(query))
        compiled = etree.XPath(query.replace("/Document", "/Root/Document", 1))
        theirs, elements = best(lambda compiled=compiled: compiled(root))
        assert [table.ids[row] for row in result.positions] == [e.get("id") for e in elements], (
            query
        )
        ratios.append(theirs / mine)
        print(
            f"{query:48} {len(elements):9,} {mine * 1000:9.1f} {theirs * 1000:10.1f} "
            f"{ratios[-1]:8.1f}",
            flush=True,
        )
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean {mean:.1f} times faster, least {min(ratios):.2f}")
    print(f"structure: {table.nbytes / len(table):.1f} bytes a node")


def compare_elementpath(nodes: list[TreeNode]) -> None:
    """Prints a row for each query against the pure Python engine."""
    import elementpath

    engine = MemoryEngine(Dataset(TreeTable.from_nodes(nodes)))
    root = make_xml(nodes)
    print(f"\n{len(nodes):,} nodes; CPU ms")
    print(f"{'query':48} {'semxpath':>9} {'elementpath':>12} {'ratio':>8}")
    ratios = []
    for query in QUERIES:
        theirs_text = query.replace("/Document", "/Root/Document", 1)
        mine, _ = best(lambda query=query: engine.run(query))
        theirs, _ = best(
            lambda text=theirs_text: elementpath.select(root, text, parser=elementpath.XPath1Parser)
        )
        ratios.append(theirs / mine)
        print(f"{query:48} {mine * 1000:9.1f} {theirs * 1000:12.1f} {ratios[-1]:8.1f}", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean {mean:.1f} times faster, least {min(ratios):.2f}")


def main() -> None:
    """Runs both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1_000_000)
    options = parser.parse_args()
    compare_lxml(make_nodes(options.nodes))
    compare_elementpath(make_nodes(options.nodes // 10))


if __name__ == "__main__":
    main()
