"""Requests and multi-turn edits over memory trees: exact nodes, and tokens sent.

    python benchmarks/memory_edits.py ../shared/cases/memory

Reading: the requests of ``tree_requests.jsonl``, each answered by its query, by the whole tree in
the context, and by flat retrieval (the nodes as snippets in one embedding index, with the true
count of nodes as top-k, which favours it). Editing: turns in plain English made from each tree by a
seeded generator (delete, move, swap, rename, add, undo), said to ``PlanDialogue``; the tree that
comes out is compared with the one that lxml makes of the same edit, and the nodes touched with
those that had to be. Tokens: what a model would be sent of the memory (cl100k_base); of the nodes
found, what the agent tool ``recall`` returns.

The trees of the published demo are CC BY-NC and not part of this repository.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from pathlib import Path
from typing import Any

from lxml import etree

from llama_index_semxpath.memory import StructuredMemory
from llama_index_semxpath.memory.dialogue import PlanDialogue
from llama_index_semxpath.memory.prompts import match_lines
from llama_index_semxpath.memory.tools import MemoryTools

TURNS = 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--show", action="store_true", help="print what was not exact")
    args = parser.parse_args()
    lines = (args.folder / "tree_requests.jsonl").read_text("utf-8").splitlines()
    requests = [json.loads(line) for line in lines if line]
    trees = sorted({request["tree"] for request in requests})
    totals: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="edits-") as place:
        for name in trees:
            with StructuredMemory.from_defaults(Path(place) / name) as memory:
                memory.load_tree(args.folder / "trees" / name, id="tree")
                for request in requests:
                    if request["tree"] == name:
                        read(memory, request, totals, show=args.show)
                edit(memory, args.folder / "trees" / name, totals, show=args.show)
    for what, values in totals.items():
        print(f"{what:<44} {sum(values):>9,.0f} of {len(values):,}" if set(values) <= {0.0, 1.0}
              else f"{what:<44} {sum(values):>9,.0f}")  # fmt: skip


def read(
    memory: StructuredMemory, request: dict[str, Any], totals: dict[str, list[float]], *, show: bool
) -> None:
    gold = set(request["gold"])
    kind = "semantic" if request["semantic"] else "structural"
    matches = list(memory.query(request["query"]))
    found = {match.xpath for match in matches}
    note(totals, f"{kind}: exact", found == gold)
    sent = MemoryTools(memory, budget=10_000).recall(request["query"])
    note(totals, "reading: tokens, nodes found", memory.count_tokens(sent))
    note(totals, "reading: tokens, whole tree", memory.count_tokens(memory.to_xml("tree")))
    phrase = request["request"]
    flat = memory.reader.semantic_search(phrase, limit=max(1, len(gold)))
    note(totals, f"{kind}: exact by flat retrieval", {m.xpath for m in flat} == gold)
    top = memory.reader.semantic_search(phrase, limit=20)
    note(totals, "reading: tokens, flat retrieval of 20", memory.count_tokens(match_lines(top)))
    if show and found != gold:
        print(request["id"], request["query"], sorted(found ^ gold))


def note(totals: dict[str, list[float]], what: str, value: float) -> None:
    totals.setdefault(what, []).append(float(value))


class Edits:
    """Edits of an XML tree as a person would say them, with what must come out."""

    def __init__(self, root: etree._Element, seed: int = 7) -> None:
        self.root = root
        self.random = random.Random(seed)
        self.before: list[str] = []

    def turn(self, number: int) -> tuple[str, int, etree._Element]:
        """What is said, how many nodes it touches, and the node that is meant."""
        act = ("delete", "move", "swap", "rename", "add", "undo")[number % 6]
        parts = [part for part in self.root if len(part) and part.tag != "Meta"]
        part = self.random.choice(parts)
        node = self.random.choice(list(part))
        name = node.get("name", "")
        other = self.random.choice([one for one in parts if one is not part] or [part])
        if act == "undo" and self.before:
            self.root = etree.fromstring(self.before.pop())
            return "undo", -1, self.root
        self.before.append(etree.tostring(self.root).decode())
        if act == "delete":
            size = sum(1 for _ in node.iter())
            part.remove(node)
            return f"delete '{name}'", size, node
        if act == "move":
            other.append(node)
            return f"move '{name}' to {self.called(other)}", 1, node
        if act == "swap":
            second = self.random.choice(list(other))
            if second is node:
                return self.turn(number + 1)
            marker = etree.Element("Place")
            node.addprevious(marker)
            second.addprevious(node)
            marker.addprevious(second)
            marker.getparent().remove(marker)
            return f"swap '{name}' and '{second.get('name')}'", 2, node
        if act == "rename":
            node.set("name", f"Renamed {number}")
            return f"rename '{name}' to Renamed {number}", 1, node
        kinds = [child.tag for child in part]
        kind = max(dict.fromkeys(kinds), key=kinds.count)
        etree.SubElement(part, kind, name=f"Added {number}")
        return f"add Added {number} to {self.called(part)}", 1, part

    def called(self, part: etree._Element) -> str:
        same = [one for one in self.root if one.tag == part.tag]
        return f"'{part.get('name')}'" if part.get("name") else f"{part.tag} {same.index(part) + 1}"


def edit(
    memory: StructuredMemory, path: Path, totals: dict[str, list[float]], *, show: bool
) -> None:
    # Comparing shapes: the memory keeps text-only elements as attributes, in XML as in lxml.
    edits = Edits(etree.fromstring(memory.to_xml("tree").encode()))
    talk = PlanDialogue(memory, "tree")
    for number in range(TURNS):
        said, size, _ = edits.turn(number)
        reply = talk.say(said)
        if reply.candidates:
            note(totals, "editing: turns asked back", 1.0)
            continue
        now = etree.fromstring(memory.to_xml("tree").encode())
        exact = shape(now) == shape(edits.root)
        touched = len(reply.change.ids) if reply.change else 0
        note(totals, "editing: trees exact", exact)
        note(totals, "editing: exactly the nodes meant touched", size in (-1, touched))
        note(totals, "editing: tokens, request and reply", memory.count_tokens(said + reply.text))
        note(totals, "editing: tokens, whole tree in and out",
             2 * memory.count_tokens(memory.to_xml("tree")))  # fmt: skip
        if show and not (exact and size in (-1, touched)):
            print(path.name, said, "->", reply.text)


def shape(element: etree._Element) -> list[Any]:
    return [element.tag, dict(element.attrib), [shape(child) for child in element]]


if __name__ == "__main__":
    main()
