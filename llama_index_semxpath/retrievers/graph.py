"""The relation route: entities that a question names, and short paths from them as facts."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

from llama_index_semxpath.index.match import Match
from llama_index_semxpath.retrievers.evidence import Evidence, Found, Principal
from llama_index_semxpath.retrievers.readers import Library
from llama_index_semxpath.retrievers.reading.vocabulary import fold, spoken
from llama_index_semxpath.retrievers.words import content_words
from llama_index_semxpath.tree.table import TreeTable

_NAMES = ("name", "title", "aliases", "姓名", "名称")
_MOST_FACTS = 200


@dataclass(frozen=True, slots=True)
class Fact:
    """One relation between two nodes.

    Args:
        source: Row that it leaves.
        name: Its name.
        target: Row that it reaches.
        hops: How far it is from an entity that the question names, from 1.
    """

    source: int
    name: str
    target: int
    hops: int


class GraphRoute:
    """Relations around the entities that a question names.

    Args:
        library: What is derived from the store.
        hops: Length of the paths, 1 to 3.
    """

    name = "graph"

    def __init__(self, library: Library, *, hops: int = 2) -> None:
        self._library = library
        self._hops = min(max(hops, 1), 3)

    def find(
        self, question: str, *, limit: int, principal: Principal = None, scope: str | None = None
    ) -> Found:
        """Facts, nearest first, those whose relation the question names before others.

        Args:
            question: What is asked.
            limit: Most facts, 1 and up.
            principal: Labels of who asks; paths run over visible nodes only.
            scope: Not used: relations leave every subtree.
        """
        table = self._library.table(principal)
        if not table.relations:
            return Found(reasons=("the store holds no relations",))
        starts = linked(question, table)
        if not starts:
            return Found(reasons=("the question names no entity",))
        asked = set(content_words(question))
        facts = sorted(
            _facts(table, starts, self._hops),
            key=lambda fact: (not _said(fact.name, asked, question), fact.hops),
        )
        evidence: list[Evidence] = []
        for fact in facts[:limit]:
            text = (
                f"{_name(table, fact.source)} — {spoken(fact.name)} → {_name(table, fact.target)}"
            )
            match = self._match(table.ids[fact.target], text, principal)
            if match is not None:
                score = (1.0 if _said(fact.name, asked, question) else 0.6) / fact.hops
                evidence.append(Evidence(match, score, {self.name: score}))
        reasons = tuple(f"“{_name(table, row)}” is an entity" for row in starts[:4])
        return Found(_once(evidence), reasons=reasons)

    def _match(self, node_id: str, fact: str, principal: Principal) -> Match | None:
        found = self._library.source.nodes([node_id], principal)
        if not found:
            return None
        match = found[0]
        text = fact if not match.document else f"{fact}\n{match.text}"
        return replace(match, view=replace(match.view, node=replace(match.node, text=text)))


def linked(question: str, table: TreeTable) -> list[int]:
    """Rows of the nodes with relations whose name the question says, longest names first."""
    said = fold(question)
    found: dict[int, int] = {}
    for row in _related(table):
        for name in _names(table, row):
            folded = fold(name)
            if len(folded) >= 2 and _stands_in(folded, said):
                found[row] = max(found.get(row, 0), len(folded))
    return sorted(found, key=lambda row: (-found[row], row))


def _related(table: TreeTable) -> list[int]:
    rows: set[int] = set()
    for name in table.relations:
        sources, targets = table.relation_pairs(name)
        rows.update(sources.tolist())
        rows.update(targets.tolist())
    return sorted(rows)


def _names(table: TreeTable, row: int) -> Iterator[str]:
    for attribute in _NAMES:
        column = table.attribute(attribute)
        place = -1 if column is None else int(column.slots(len(table))[row])
        if column is not None and place >= 0:
            value = column.value(place)
            yield from value if isinstance(value, list) else [str(value)]


def _name(table: TreeTable, row: int) -> str:
    return next(_names(table, row), "") or table.kind_name(row)


def _stands_in(name: str, text: str) -> bool:
    if not name.isascii():
        return name in text
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _facts(table: TreeTable, starts: list[int], hops: int) -> list[Fact]:
    """Relations within some steps of the start rows, breadth first."""
    facts: list[Fact] = []
    seen: set[tuple[int, str, int]] = set()
    depth = dict.fromkeys(starts, 0)
    work = deque(starts)
    while work and len(facts) < _MOST_FACTS:
        row = work.popleft()
        if depth[row] >= hops:
            continue
        for name in table.relations:
            for inverse in (False, True):
                adjacency = table.neighbours(name, inverse=inverse)
                near = adjacency.rows[adjacency.starts[row] : adjacency.starts[row + 1]]
                for other in near.tolist():
                    edge = (other, name, row) if inverse else (row, name, other)
                    if edge not in seen:
                        seen.add(edge)
                        source, _, target = edge
                        facts.append(Fact(source, name, target, depth[row] + 1))
                    if other not in depth:
                        depth[other] = depth[row] + 1
                        work.append(other)
    return facts


def _said(relation: str, asked: set[str], question: str) -> bool:
    name = spoken(relation)
    if not name.isascii():
        return name in question
    return any(word[:5] == other[:5] for word in name.split() for other in asked if len(word) > 3)


def _once(evidence: list[Evidence]) -> list[Evidence]:
    """One piece of evidence a node, with all that is said of it."""
    merged: dict[str, Evidence] = {}
    for one in evidence:
        known = merged.get(one.match.id)
        if known is None:
            merged[one.match.id] = one
        elif one.match.text not in known.match.text:
            text = f"{known.match.text}\n{one.match.text}"
            node = replace(known.match.node, text=text)
            view = replace(known.match.view, node=node)
            merged[one.match.id] = replace(known, match=replace(known.match, view=view))
    return list(merged.values())
