"""Packs: runs of neighbouring sentences of one section, the unit of keyword evidence.

A sentence alone has too few words to be ranked, a section too many to be sent. A pack is about 110
tokens of one section, searched together with its heading path and the first line of the document:
what a sentence leaves unsaid ("the company", "the defendant") stands there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from llama_index_semxpath.index.match import Match
from llama_index_semxpath.retrievers.words import search_words

#: Tokens of a pack, as :func:`count_tokens` counts them.
PACK_TOKENS = 110
_FIRST_LINE = 120
_CUT = re.compile(r"(?<=[。！？!?；;])\s*|(?<=[a-z0-9)\]\"”’][.])\s+(?=[\"“‘(\[A-Z0-9])|\n+")
#: A token: each CJK character, each run of other letters and digits.
TOKEN = re.compile(
    r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af]"
    r"|[^\W_\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af]+"
)
_DATE = re.compile(
    r"(?:19|20)\d\d\s*年|\d{1,2}\s*月\s*\d{1,2}\s*[日号]|\b(?:19|20)\d\d\b|\d{1,2}:\d\d"
    r"|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?\s+\d"
)
_NUMBER = re.compile(r"\d|[一二三四五六七八九十百千万]+\s*(?:年|元|次|名|人|个|天|岁|%)")
#: Kinds that are read whole or not at all.
_WHOLE = frozenset({"Row", "Code", "Table", "Formula"})


@dataclass(frozen=True, slots=True)
class Piece:
    """A node, or some sentences of a long one.

    Args:
        match: The node.
        start: Where the piece begins in its text.
        end: Where it ends; ``None`` for the whole node.
        tokens: Its length.
    """

    match: Match
    start: int
    end: int | None
    tokens: int

    @property
    def text(self) -> str:
        """The words of the piece."""
        return self.match.text[self.start : self.end]


@dataclass(slots=True)
class Pack:
    """Neighbouring pieces of one section.

    Args:
        section: Order key of the section (or document) whose own content this is.
        path: Its heading path.
        pieces: In document order.
        tokens: Length of all of them.
        dated: Whether a date or a time of day stands in it.
        counted: Whether a number stands in it.
    """

    section: str
    path: tuple[str, ...]
    pieces: list[Piece] = field(default_factory=list)
    tokens: int = 0
    dated: bool = False
    counted: bool = False


@dataclass(slots=True)
class DocumentPacks:
    """One document as packs, with the words that it is searched by.

    Args:
        id: Document id.
        packs: In document order.
        head: Search words of the document's id, title and first line, with their counts.
        body: Those of the whole document.
        postings: Place of a pack and count in it, for each word of paths and pieces.
        lengths: Search words of each pack.
    """

    id: str
    packs: list[Pack]
    head: Counter[str]
    body: Counter[str] = field(default_factory=Counter)
    postings: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    lengths: list[int] = field(default_factory=list)

    def spread(self, word: str) -> int:
        """In how many packs a word stands."""
        return len(self.postings.get(word, ()))

    def recurrence(self, word: str) -> float:
        """Share of the packs that a word stands in; 1 for a word of the head, 0 for none."""
        if word in self.head:
            return 1.0
        return self.spread(word) / len(self.packs) if self.packs else 0.0


def count_tokens(text: str) -> int:
    """Tokens of a text: each CJK character, each run of other letters and digits.

    Example:
        >>> count_tokens("年假 15 days")
        4
    """
    return sum(1 for _ in TOKEN.finditer(text))


def pack_document(doc: str, nodes: Sequence[Match], size: int = PACK_TOKENS) -> DocumentPacks:
    """Cuts a document into packs.

    Args:
        doc: Document id.
        nodes: All its nodes that the reader may see, in document order.
        size: Tokens of a pack; a single longer sentence, row or code block stays whole.

    Returns:
        The packs with their search words.
    """
    packs: list[Pack] = []
    for section, path, pieces in _by_section(nodes):
        current: Pack | None = None
        for piece in pieces:
            if current is None or (current.tokens and current.tokens + piece.tokens > size):
                current = Pack(section, path)
                packs.append(current)
            current.pieces.append(piece)
            current.tokens += piece.tokens
    title = next((node.title for node in nodes if node.kind == "Document" and node.title), "")
    first = next((node.text for node in nodes if node.text.strip()), "")[:_FIRST_LINE]
    head = search_words(re.sub(r"[/_.\-]+", " ", doc), title or "", first)
    document = DocumentPacks(doc, packs, head, Counter(head))
    for place, pack in enumerate(packs):
        _index(document, place, pack)
    return document


def _index(document: DocumentPacks, place: int, pack: Pack) -> None:
    # The innermost heading says what a section is about: its words count once more.
    titles = (" ".join(pack.path), pack.path[-1] if pack.path else "")
    counts = search_words(*titles, *(_searched(piece) for piece in pack.pieces))
    document.lengths.append(max(1, counts.total()))
    document.body.update(counts)
    for word, count in counts.items():
        document.postings.setdefault(word, []).append((place, count))
    text = " ".join(piece.text for piece in pack.pieces)
    pack.dated = _DATE.search(text) is not None
    pack.counted = _NUMBER.search(text) is not None


def _searched(piece: Piece) -> str:
    match = piece.match
    if match.kind == "Row":
        return "; ".join(f"{name}: {value}" for name, value in match.attributes.items())
    caption = match.attributes.get("caption") if match.kind == "Table" else None
    return f"{caption} {piece.text}" if caption else piece.text


def _by_section(nodes: Sequence[Match]) -> Iterator[tuple[str, tuple[str, ...], list[Piece]]]:
    """Pieces by the innermost section that holds them, in document order."""
    section_of: dict[str, str] = {}
    runs: list[tuple[str, tuple[str, ...], list[Piece]]] = []
    for node in nodes:
        parent = node.node.parent
        if node.kind in ("Section", "Document") or parent is None:
            section_of[node.id] = node.node.order
        else:
            section_of[node.id] = section_of.get(parent, node.node.order)
        section = section_of[node.id]
        if not runs or runs[-1][0] != section:
            runs.append((section, node.path, []))
        runs[-1][2].extend(_pieces(node))
    yield from (run for run in runs if run[2])


def _pieces(node: Match) -> Iterable[Piece]:
    text = node.text or _values(node)
    if not text.strip():
        return
    tokens = count_tokens(text)
    if node.kind in ("Section", "Document"):
        # The heading alone, not what stands below it.
        yield Piece(node, 0, len(text), tokens)
        return
    if node.kind in _WHOLE or tokens <= PACK_TOKENS or not node.text:
        yield Piece(node, 0, None, tokens)
        return
    start = 0
    for match in (*_CUT.finditer(text), None):
        end = len(text) if match is None else match.end()
        if text[start:end].strip():
            yield Piece(node, start, end, count_tokens(text[start:end]))
            start = end


def _values(node: Match) -> str:
    """A record without text is searched by its values."""
    if node.kind in ("Section", "Document", "List", "Table"):
        return ""
    return "; ".join(f"{name}: {value}" for name, value in node.attributes.items())
