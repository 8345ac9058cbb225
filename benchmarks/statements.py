"""Statements and bytes that NebulaGraph is sent, by ours and by LlamaIndex' own adapter.

Run: ``python benchmarks/statements.py [--nodes 10000] [--stock-nodes 1000]``. Both talk to the
emulator of the tests over a loopback socket, with the unmodified client; what counts is what they
send, not how fast the emulator is. The stock adapter (``llama-index-graph-stores-nebula``) is
measured where it is installed; where the emulator does not know its statement, the statement is
counted and the answer marked. It sends one statement a row, so that a smaller load tells its rate.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llama_index.core.graph_stores.types import EntityNode, Relation

from llama_index_semxpath.engines.graph_query import HopQuery
from llama_index_semxpath.engines.ngql import NgqlDialect
from llama_index_semxpath.index.graph_model import Vertex
from llama_index_semxpath.index.nebula_store import SemXPathNebulaStore

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from nebula_emulator.server import NebulaEmulator
from nebula_emulator.session import Session
from nebula_emulator.statements import execute

_SUBTREE = 1_000


@dataclass
class Count:
    """What one operation sent."""

    statements: int = 0
    bytes: int = 0
    note: str = ""

    def __str__(self) -> str:
        return f"{self.statements:,} / {self.bytes / 1e3:,.1f} kB{self.note}"


@contextmanager
def counted(emulator: NebulaEmulator, count: Count) -> Iterator[None]:
    before, sent = len(emulator.statements), emulator.received_bytes
    yield
    texts = [text for text, _ in emulator.statements[before:]]
    # The client asks a connection whether it lives; that is no statement of the adapter.
    pings = sum(text.startswith("YIELD 1;") for text in texts)
    count.statements = len(texts) - pings
    count.bytes = emulator.received_bytes - sent


def entities(count: int) -> list[EntityNode]:
    return [
        EntityNode(name=f"boat {i}", label="Boat", properties={"file_path": f"fleet/{i % 7}.md"})
        for i in range(count)
    ]


def relations(count: int) -> list[Relation]:
    # The stock adapter has no statement for a relation without properties.
    return [
        Relation(
            label=name,
            source_id=f"boat {i}",
            target_id=f"boat {(i * 7 + step) % count}",
            properties={"file_path": "fleet/routes.md"},
        )
        for i in range(count)
        for step, name in ((1, "FOLLOWS"), (2, "MEETS"))
    ]


def operations(store: Any, nodes: int) -> dict[str, Callable[[], Any]]:
    """What both adapters offer."""
    starts = entities(nodes)[:100]
    return {
        f"write {nodes:,} nodes": lambda: store.upsert_nodes(entities(nodes)),
        f"write {2 * nodes:,} relations": lambda: store.upsert_relations(relations(nodes)),
        "read 100 nodes by id": lambda: store.get(ids=[node.id for node in starts]),
        "three steps around 100 nodes": lambda: store.get_rel_map(starts, depth=3, limit=10**6),
        "triplets of 100 names": lambda: store.get_triplets(
            entity_names=[node.name for node in starts]
        ),
    }


def measure(emulator: NebulaEmulator, calls: dict[str, Callable[[], Any]]) -> dict[str, Count]:
    found = {}
    for name, call in calls.items():
        count = found[name] = Count()
        with counted(emulator, count):
            try:
                call()
            except Exception as error:
                count.note = " *" if "emulator" in str(error) or "yntax" in str(error) else " !"
    return found


def ours(nodes: int) -> dict[str, Count]:
    with NebulaEmulator() as emulator:
        store = SemXPathNebulaStore([emulator.address], space="ours", timeout=600)
        graph = store.client
        found = measure(emulator, operations(store, nodes))
        tree = [
            Vertex(f"n{i}", "Paragraph", doc="d", order=f"a0.{i:05d}", text="text")
            for i in range(_SUBTREE)
        ]
        graph.put(tree)
        found |= measure(
            emulator,
            {
                "three hops over a relation from 100 nodes": lambda: _hops(store),
                f"a subtree of {_SUBTREE:,} nodes": lambda: list(graph.subtree("a0")),
            },
        )
        store.close()
    return found


def _hops(store: SemXPathNebulaStore) -> None:
    """As the query engine walks ``rel::FOLLOWS{3,3}``."""
    dialect = NgqlDialect()
    starts = tuple(node.id for node in entities(100))
    for _ in range(3):
        statement = dialect.hop(HopQuery(starts, "FOLLOWS"))
        rows = store.client.rows(statement.text, statement.parameters)
        starts = tuple(row[0] for row in rows)
    assert starts


def stock(nodes: int) -> dict[str, Count] | None:
    try:
        from llama_index.graph_stores.nebula import NebulaPropertyGraphStore
    except ImportError:
        return None
    with NebulaEmulator() as emulator:
        execute(Session(emulator.spaces), "CREATE SPACE stock(vid_type = FIXED_STRING(256))")
        host, port = emulator.address
        store = NebulaPropertyGraphStore("stock", url=f"nebula://{host}:{port}")
        found = measure(emulator, operations(store, nodes))
        with suppress(Exception):
            store.client.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--stock-nodes", type=int, default=1_000)
    args = parser.parse_args()
    mine, theirs = ours(args.nodes), stock(args.stock_nodes)
    small = dict(zip(mine, ours(args.stock_nodes).values(), strict=True))
    print(f"| operation | ours, {args.nodes:,} nodes | ours, {args.stock_nodes:,} | stock, "
          f"{args.stock_nodes:,} |\n|---|---|---|---|")  # fmt: skip
    other = [] if theirs is None else list(theirs.values())
    for place, name in enumerate(mine):
        shown = str(other[place]) if place < len(other) else "not offered"
        print(f"| {name} | {mine[name]} | {small[name]} | {shown} |")
    print("statements / bytes sent; * the emulator does not know the statement, ! it failed")
    if theirs is None:
        print("llama-index-graph-stores-nebula is not installed: nothing to compare with")


if __name__ == "__main__":
    main()
