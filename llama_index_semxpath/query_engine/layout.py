"""Sources as a model reads them: nested as in their documents, text, tables and relations apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from llama_index_semxpath.query_engine.context import ContextSource
from llama_index_semxpath.query_engine.support import SourceText

ARROW = " > "
#: Lines of a document that look like the frame it stands in: numbers of sources, labels, rules.
_FRAME = re.compile(r"^(?=[ \t]*(?:\[\d+\]|={3,}|-{3,}|Question:|Answer:))", re.MULTILINE)
_TEXT, _TABLES, _RELATIONS = (
    "=== TEXT of the documents ===",
    "=== FACTS from tables ===",
    "=== RELATIONS between things; where they differ from the text, the text is right ===",
)


@dataclass(slots=True)
class Source:
    """What one citation leads to: pieces of one section of one document.

    Args:
        document: Document id or name.
        path: Heading path, outermost first.
        order: Order key of the first piece; sources of a document are read in this order.
        score: Retrieval score, in [0, 1].
        texts: Sentences and blocks.
        tables: Header cells and rows of cells.
        facts: Relations in words.
    """

    document: str
    path: tuple[str, ...] = ()
    order: str = ""
    score: float = 0.0
    texts: list[str] = field(default_factory=list)
    tables: list[tuple[tuple[str, ...], list[tuple[str, ...]]]] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)

    @property
    def heading(self) -> str:
        """Document and path in one line."""
        return ARROW.join(part for part in (self.document, *self.path) if part)

    def add_row(self, columns: tuple[str, ...], cells: tuple[str, ...]) -> None:
        """Adds a row; rows under the same header make one table."""
        if not self.tables or self.tables[-1][0] != columns:
            self.tables.append((columns, []))
        self.tables[-1][1].append(cells)

    def to_check(self) -> SourceText:
        """The source as statements are held against it."""
        rows = [
            "; ".join(f"{n}: {c}" for n, c in zip(columns, cells, strict=True))
            if len(columns) == len(cells)
            else " | ".join(cells)
            for columns, lines in self.tables
            for cells in lines
        ]
        return SourceText("\n".join([*self.texts, *rows, *self.facts]), self.heading)


@dataclass(slots=True)
class Block:
    """A leaf of the context: a piece of a source, or notes made of several.

    Args:
        kind: ``text``, ``table``, ``relation``, or ``notes`` that a model made of siblings.
        text: What is sent; citations inside where it is notes.
        number: Number of its source; 0 for notes.
        score: Score of the source.
        place: Heading line, for parts that stand apart from the text.
    """

    kind: Literal["text", "table", "relation", "notes"]
    text: str
    number: int = 0
    score: float = 0.0
    place: str = ""


@dataclass(slots=True)
class Part:
    """A document or section with what was found in it, in natural order.

    Args:
        title: Its heading; ``""`` for the root.
        items: Own blocks first, then the sections inside, as they stand in the document.
    """

    title: str
    items: list[Part | Block] = field(default_factory=list)

    def blocks(self) -> Iterator[Block]:
        """All blocks below, in order."""
        work: list[Part | Block] = [self]
        while work:
            item = work.pop()
            if isinstance(item, Block):
                yield item
            else:
                work.extend(reversed(item.items))


def to_sources(context: Sequence[ContextSource]) -> list[Source]:
    """Context of the pipeline as sources, in the same order."""
    found = []
    for one in context:
        order = one.matches[0].node.order if one.matches else ""
        source = Source(one.document, one.path, order, one.score)
        for passage in one.passages:
            if passage.kind == "Relation":
                source.facts.extend(passage.text.split("\n"))
            elif passage.cells:
                source.add_row(passage.columns, passage.cells)
            elif passage.kind == "Code":
                source.texts.append(f"```\n{passage.text.rstrip()}\n```")
            elif passage.text:
                source.texts.append(passage.text)
        found.append(source)
    return found


def natural_order(sources: Sequence[Source]) -> list[int]:
    """Places of sources as they are read: best document first, within one by its own order.

    Example:
        >>> later, earlier = Source("b", order="a1", score=0.9), Source("b", order="a0")
        >>> natural_order([later, Source("a"), earlier])
        [2, 0, 1]
    """
    best: dict[str, float] = {}
    first: dict[str, int] = {}
    for place, source in enumerate(sources):
        best[source.document] = max(best.get(source.document, 0.0), source.score)
        first.setdefault(source.document, place)

    def key(place: int) -> tuple[float, int, str, int]:
        source = sources[place]
        document = source.document
        return (-best[document], first[document], source.order, place)

    return sorted(range(len(sources)), key=key)


def build_tree(sources: Sequence[Source]) -> Part:
    """Sources nested under their documents and sections.

    Args:
        sources: In the order they are read; source ``i`` has the number ``i + 1``.
    """
    root = Part("")
    parts: dict[tuple[str, ...], Part] = {(): root}
    for number, source in enumerate(sources, 1):
        way = (source.document or "document", *source.path)
        for depth in range(1, len(way) + 1):
            if way[:depth] not in parts:
                part = parts[way[:depth]] = Part(way[depth - 1])
                parts[way[: depth - 1]].items.append(part)
        parts[way].items.extend(_blocks(source, number))
    return root


def render(items: Sequence[Part | Block], way: Sequence[str] = ()) -> str:
    """Siblings as a model reads them, with the headings that lead to them.

    Args:
        items: Siblings, in order.
        way: Titles of what they stand in, outermost first.
    """
    lines: list[str] = []
    apart: dict[str, list[Block]] = {"table": [], "relation": []}
    heads = [f"{'#' * min(depth, 6)} {title}" for depth, title in enumerate(way, 1) if title]
    depth_now = len(heads)
    # A heading is written when the first text under it is, and only once.
    waiting: list[tuple[int, str]] = list(enumerate(heads, 1))
    work: list[tuple[Part | Block, int]] = [(item, depth_now + 1) for item in reversed(items)]
    while work:
        item, depth = work.pop()
        if isinstance(item, Part):
            waiting = [head for head in waiting if head[0] < depth]
            waiting.append((depth, f"{'#' * min(depth, 6)} {item.title}"))
            work.extend((child, depth + 1) for child in reversed(item.items))
        elif item.kind in apart:
            apart[item.kind].append(item)
        else:
            waiting, ready = [], [head for head in waiting if head[0] < depth]
            lines.extend(text for _, text in ready)
            lines.append(f"[{item.number}] {_plain(item.text)}" if item.number else item.text)
    sections = []
    if lines:
        sections.append("\n".join([_TEXT, *lines]))
    for kind, title in (("table", _TABLES), ("relation", _RELATIONS)):
        if apart[kind]:
            told = [f"[{one.number}] ({one.place})\n{_plain(one.text)}" for one in apart[kind]]
            sections.append("\n".join([title, *told]))
    return "\n\n".join(sections)


def _blocks(source: Source, number: int) -> Iterator[Block]:
    place, score = source.heading, source.score
    if source.texts:
        yield Block("text", "\n".join(source.texts), number, score, place)
    for columns, rows in source.tables:
        lines = [_row(columns)] if columns else []
        yield Block("table", "\n".join(lines + [_row(row) for row in rows]), number, score, place)
    if source.facts:
        yield Block("relation", "\n".join(source.facts), number, score, place)


def _plain(text: str) -> str:
    """A text that cannot pose as another source or as the end of the sources."""
    return _FRAME.sub("· ", text)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("\n", " ") for cell in cells) + " |"
