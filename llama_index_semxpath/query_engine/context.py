"""From evidence to context: what is sent to a model or quoted, with its place said once.

A passage alone rarely says enough: a row needs its header, a sentence its section, a heading its
content. Completion adds them under a token budget that counts what is really sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from llama_index_semxpath.index.match import Match
from llama_index_semxpath.query_engine.answer import Passage
from llama_index_semxpath.query_engine.relations import split_relations
from llama_index_semxpath.retrievers.evidence import Evidence, Principal
from llama_index_semxpath.retrievers.packs import count_tokens
from llama_index_semxpath.retrievers.readers import Library

#: Kinds that mean little without what they hold.
_HOLDERS = frozenset({"Section", "Document", "List", "Table", "Quote", "ListItem"})
_SEPARATOR = " > "


@dataclass(slots=True)
class ContextSource:
    """Everything found in one section of one document: what one citation leads to.

    Args:
        document: Document id.
        path: Heading path.
        passages: Pieces in the order they are to be read.
        matches: The nodes they come from.
        score: Best score among them.
        tokens: Tokens of the pieces and the path.
    """

    document: str
    path: tuple[str, ...]
    passages: list[Passage] = field(default_factory=list)
    matches: list[Match] = field(default_factory=list)
    score: float = 0.0
    tokens: int = 0

    def to_prompt(self) -> str:
        """The source as a model reads it: where it stands, then its text."""
        head = _SEPARATOR.join(part for part in (self.document, *self.path) if part)
        lines = [f"({head})" if head else ""]
        columns: tuple[str, ...] = ()
        for passage in self.passages:
            if passage.cells:
                if passage.columns and passage.columns != columns:
                    columns = passage.columns
                    lines.append("| " + " | ".join(columns) + " |")
                lines.append("| " + " | ".join(passage.cells) + " |")
            else:
                lines.append(passage.text)
        return "\n".join(line for line in lines if line)

    def citation(self, number: int) -> dict[str, Any]:
        """What the citation ``[number]`` leads to, as JSON values."""
        first = self.matches[0]
        spans = [one.node.span for one in self.matches if one.node.span is not None]
        pages = [one.node.page for one in self.matches if one.node.page is not None]
        return {
            "number": number,
            "id": first.id,
            "document": self.document,
            "path": list(self.path),
            "xpath": first.xpath,
            "section": first.node.number,
            "page": min(pages) if pages else None,
            "span": [min(s for s, _ in spans), max(e for _, e in spans)] if spans else None,
            "nodes": [one.id for one in self.matches],
        }


class ContextBuilder:
    """Completes evidence and groups it by section, best section first.

    Args:
        library: What is derived from the store.
        budget: Most tokens of the whole context, 50 and up.
    """

    def __init__(self, library: Library, *, budget: int = 2000) -> None:
        self._library = library
        self._budget = max(50, budget)

    def build(
        self, evidence: Sequence[Evidence], principal: Principal = None
    ) -> list[ContextSource]:
        """Sources of an answer.

        Args:
            evidence: Best first.
            principal: Labels of who asks; nothing else is added to the context.
        """
        groups: dict[tuple[str, tuple[str, ...]], ContextSource] = {}
        seen: set[str] = set()
        left = self._budget
        for one in evidence:
            for match, passage in self._complete(one, principal, left):
                place = f"{match.id}#{one.start if match.id == one.match.id else 0}"
                if passage.kind == "Relation":
                    place += passage.kind
                key = (match.document, match.path)
                cost = count_tokens(passage.text)
                head = 0 if key in groups else count_tokens(" ".join(match.path))
                if place in seen or (cost + head > left and groups):
                    continue
                seen.add(place)
                group = groups.setdefault(key, ContextSource(*key))
                group.tokens += cost + head
                left -= cost + head
                group.score = max(group.score, one.score)
                group.passages.append(passage)
                group.matches.append(match)
            if left <= 0:
                break
        sources = list(groups.values())
        for at, source in enumerate(sources):
            source.passages = [replace(passage, source=at) for passage in source.passages]
        return sources

    def _complete(
        self, one: Evidence, principal: Principal, left: int
    ) -> list[tuple[Match, Passage]]:
        """The evidence with what it needs to be understood."""
        match = one.match
        if "graph" in one.why and one.end is None:
            return self._related(one)
        if one.end is not None or match.kind not in _HOLDERS:
            return [(match, self._passage(one, match, one.text, principal))]
        inside = self._library.source.subtree(match.id, principal)
        parts: list[tuple[Match, Passage]] = []
        spent = 0
        for node in inside:
            heading = node.kind in ("Section", "Document") and node.id == match.id
            text = "" if heading and len(inside) > 1 else node.text
            if node.kind == "Table" and len(inside) > 1:
                continue
            passage = self._passage(one, node, text, principal)
            if not (passage.text or passage.cells):
                continue
            spent += count_tokens(passage.text)
            if parts and spent > left:
                break
            parts.append((node, passage))
        return parts or [(match, self._passage(one, match, match.text, principal))]

    def _related(self, one: Evidence) -> list[tuple[Match, Passage]]:
        """Relations apart from the text of the node that they lead to."""
        facts, text = split_relations(one.text)
        node = one.match
        parts = [("Relation", "\n".join(facts)), (node.kind, text)]
        return [
            (node, Passage(0, said, kind, node.path, one.score, exact=one.exact))
            for kind, said in parts
            if said
        ]

    def _passage(self, one: Evidence, node: Match, text: str, principal: Principal) -> Passage:
        columns: tuple[str, ...] = ()
        cells: tuple[str, ...] = ()
        if node.kind == "Row":
            columns, cells = self._row(node, principal)
        elif not text and node.kind not in ("Section", "Document", "List", "Table", "Quote"):
            text = "; ".join(f"{name}: {value}" for name, value in node.attributes.items())
        meaning = one.why.get("semantic") or 0.0
        text = text.strip()
        return Passage(0, text, node.kind, node.path, one.score, columns, cells, one.exact, meaning)

    def _row(self, row: Match, principal: Principal) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Header and cells of a table row, each cell as its table writes it."""
        cells = tuple(part.strip() for part in row.text.split(" | "))
        parent = row.node.parent
        table = self._library.source.nodes([parent], principal) if parent else []
        named = table[0].attributes.get("columns") if table else None
        columns = tuple(str(name) for name in named) if isinstance(named, list) else ()
        if len(columns) != len(cells):
            columns = tuple(name for name in row.attributes if name not in ("number", "n"))
            if len(columns) != len(cells):
                columns, cells = columns, tuple(str(row.attributes[name]) for name in columns)
        return (columns, cells) if cells else ((), (row.text,))
