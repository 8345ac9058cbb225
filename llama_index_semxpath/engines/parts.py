"""The short parts of nodes: titles, and the values of records. A phrase may mean just one of them.

A record's description says many things, so as a whole it is like nothing in particular. Its parts
are compared one by one, and the best counts (as in late interaction, Khattab & Zaharia, SIGIR 2020,
with phrases for tokens). A value that most records share tells little about any of them, so a part
counts by the share of records that do not have it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from llama_index_semxpath.engines.wording import ADMINISTRATIVE
from llama_index_semxpath.tree.columns import Column, Floats, Rows, ValueType
from llama_index_semxpath.tree.node import DOCUMENT_KINDS
from llama_index_semxpath.tree.table import TreeTable

#: Scores in [0, 1] of distinct texts.
TextScorer = Callable[[Sequence[str]], Floats]

_TITLED = frozenset({"Document", "Section"})
_BORDER = re.compile(r"[.;!?]\s+|[。；！？;\n]+")
_LETTER = re.compile(r"[^\W\d_]")
_LONGEST = 400


def has_parts(kind: str) -> bool:
    """Whether nodes of a kind are also graded by their title or values."""
    return kind in _TITLED or kind not in DOCUMENT_KINDS


def split_parts(text: str) -> list[str]:
    """The sentences or list items of a value that hold a letter.

    Example:
        >>> split_parts("Indoor museum; City views. 2:00 - 3:00")
        ['Indoor museum', 'City views']
    """
    pieces = (piece.strip(" .")[:_LONGEST] for piece in _BORDER.split(text))
    return [piece for piece in pieces if _LETTER.search(piece)]


def bare_title(title: str, number: str | None) -> str:
    """A title without the number in front and a label's colon, which say nothing about its meaning.

    Example:
        >>> bare_title("第五条 年假", "第五条"), bare_title("3.2 Install", "3.2")
        ('年假', 'Install')
        >>> bare_title("主诉：", None)
        '主诉'
    """
    title = title.rstrip(":：") or title
    if number and title.startswith(number):
        return title[len(number) :].lstrip(" \t.、:：-–—)）") or title
    return title


def bare_titles(table: TreeTable, rows: Rows) -> list[str]:
    """Titles of rows that have one, without their numbers."""
    size = len(table)
    titles, numbers = table.columns["title"], table.attribute("number")
    number_slots = None if numbers is None else numbers.slots(size)
    found = []
    for row, slot in zip(rows.tolist(), titles.slots(size)[rows].tolist(), strict=True):
        place = -1 if number_slots is None else int(number_slots[row])
        number = numbers.text(place) if numbers is not None and place >= 0 else None
        found.append(bare_title(titles.text(slot), number))
    return found


def part_scores(table: TreeTable, rows: Rows, score: TextScorer) -> Floats:
    """The best score among each node's parts; 0 for nodes without any.

    Args:
        table: The tree as the reader sees it.
        rows: Distinct rows.
        score: Scores texts.
    """
    best = np.zeros(len(rows))
    for kind, places in _by_kind(table, rows):
        own = rows[places]
        if kind in _TITLED:
            best[places] = _title_scores(table, own, score)
        elif kind not in DOCUMENT_KINDS:
            for name, column in table.columns.items():
                if name not in ADMINISTRATIVE:
                    best[places] = np.maximum(
                        best[places], _value_scores(table, column, own, score)
                    )
    return best


def _by_kind(table: TreeTable, rows: Rows) -> Iterator[tuple[str, Rows]]:
    codes = table.kind[rows]
    for code in np.unique(codes).tolist():
        yield table.kinds[code], np.flatnonzero(codes == code).astype(np.int32)


def _title_scores(table: TreeTable, rows: Rows, score: TextScorer) -> Floats:
    found = np.zeros(len(rows))
    column = table.attribute("title")
    if column is None:
        return found
    titled = np.flatnonzero(column.slots(len(table))[rows] >= 0)
    texts = bare_titles(table, rows[titled])
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    if places:
        scores = score(list(places))
        found[titled] = scores[[places[text] for text in texts]]
    return found


def _value_scores(table: TreeTable, column: Column, rows: Rows, score: TextScorer) -> Floats:
    """For each row the best score of a part of its value of one attribute."""
    found = np.zeros(len(rows))
    slots = column.slots(len(table))[rows]
    has = np.flatnonzero(slots >= 0)
    has = has[column.types[slots[has]] == ValueType.STRING]
    if not len(has):
        return found
    codes, place = np.unique(column.codes[slots[has]], return_inverse=True)
    strings = column.types == ValueType.STRING
    counts = np.bincount(column.codes[strings], minlength=len(column.vocab))
    rarity = 1.0 - counts[codes] / max(int(counts.sum()), 1)
    if counts.sum() == 1:
        rarity[:] = 1.0  # the only value there is cannot be compared with others
    found[has] = (_best_of_parts([column.vocab[code] for code in codes], score) * rarity)[place]
    return found


def _best_of_parts(values: Sequence[str], score: TextScorer) -> Floats:
    parts = [split_parts(value) for value in values]
    places: dict[str, int] = {}
    for pieces in parts:
        for piece in pieces:
            places.setdefault(piece, len(places))
    best = np.zeros(len(values))
    if places:
        scores = score(list(places))
        for index, pieces in enumerate(parts):
            if pieces:
                best[index] = scores[[places[piece] for piece in pieces]].max()
    return best
