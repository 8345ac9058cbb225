"""The text of nodes: XPath's string value, and the wording that scorers read."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from llama_index_semxpath.engines.sets import distinct, expand
from llama_index_semxpath.text import nfc
from llama_index_semxpath.tree.columns import Mask, Rows, ValueType
from llama_index_semxpath.tree.table import TreeTable


class TextIndex:
    """All own texts in document order as one string: a node's string value is one slice of it."""

    def __init__(self, table: TreeTable) -> None:
        texts = table.texts(np.arange(len(table), dtype=np.int32))
        normal = [nfc(text) for text in texts]
        #: In NFC node by node, as search compares; equal to ``text`` where nothing changed.
        self.text = "".join(texts)
        self.normal = self.text if normal == texts else "".join(normal)
        self.starts = _starts(texts)
        self.normal_starts = self.starts if self.normal is self.text else _starts(normal)
        self.end = table.end

    def values(self, rows: Rows) -> list[str]:
        """String values of rows."""
        text = self.text
        starts, stops = self.starts[rows].tolist(), self.starts[self.end[rows]].tolist()
        return [text[a:b] for a, b in zip(starts, stops, strict=True)]

    def contains(self, rows: Rows, needle: str) -> Mask:
        """Which string values contain the needle: one pass over the text for all rows."""
        needle = nfc(needle)
        if not needle:
            return np.ones(len(rows), dtype=np.bool_)
        places = []
        place = self.normal.find(needle)
        while place >= 0:
            places.append(place)
            place = self.normal.find(needle, place + 1)
        found = np.array(places, dtype=np.int64)
        starts, stops = self.normal_starts[rows], self.normal_starts[self.end[rows]]
        first = np.searchsorted(found, starts)
        inside: Mask = (
            np.append(found, np.iinfo(np.int64).max - len(needle))[first] + len(needle) <= stops
        )
        return inside


def _starts(texts: list[str]) -> npt.NDArray[np.int64]:
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    return np.concatenate([[0], np.cumsum(lengths)])


def text_index(table: TreeTable, rows: Rows) -> TextIndex | None:
    """The index of all texts, where it exists already or the rows cover enough to be worth it."""
    index: TextIndex | None = table.__dict__.get("_text_index")
    if index is None and int(table.size[rows].sum()) * 8 >= len(table):
        index = table.__dict__["_text_index"] = TextIndex(table)
    return index


def string_values(table: TreeTable, rows: Rows) -> list[str]:
    """XPath's string value: the own text followed by that of the descendants.

    Args:
        table: The tree as the reader sees it.
        rows: Distinct rows.
    """
    index = text_index(table, rows)
    if index is not None:
        return index.values(rows)
    item, inside = expand(rows, table.end[rows])
    needed = distinct(inside.astype(np.int32), len(table))
    texts = table.texts(needed)
    places = np.searchsorted(needed, inside).tolist()
    pieces: list[list[str]] = [[] for _ in range(len(rows))]
    for owner, place in zip(item.tolist(), places, strict=True):
        pieces[owner].append(texts[place])
    return ["".join(parts) for parts in pieces]


def node_texts(table: TreeTable, rows: Rows, limit: int) -> list[str]:
    """What a scorer reads of a node: its text and its descendants', else its attributes.

    Args:
        table: The tree as the reader sees it.
        rows: Distinct rows.
        limit: Most characters of one text.
    """
    return [
        _wording(table, row, own.strip(), limit)
        for row, own in zip(rows.tolist(), table.texts(rows), strict=True)
    ]


def attribute_texts(table: TreeTable, rows: Rows, name: str, limit: int) -> list[str]:
    """Values of one attribute as text, for rows that have it."""
    from llama_index_semxpath.engines.values import column_strings

    strings = column_strings(table, table.columns[name], rows)
    return [text[:limit] for text in strings.texts()]


def _wording(table: TreeTable, row: int, own: str, limit: int) -> str:
    parts = [own] if own else _attribute_lines(table, row)
    used = sum(map(len, parts))
    end = int(table.end[row])
    # A batch at a time: a scorer reads the head of a chapter, not all of it.
    for start in range(row + 1, end, 64):
        if used >= limit:
            break
        below = np.arange(start, min(start + 64, end), dtype=np.int32)
        for inner, text in zip(below.tolist(), table.texts(below), strict=True):
            lines = [text.strip()] if text.strip() else _attribute_lines(table, inner)
            parts += lines
            used += sum(map(len, lines))
    return "\n".join(parts)[:limit]


#: Attributes that say where a node stands or how it was read, not what it is about.
ADMINISTRATIVE = {"level", "page", "tokens", "source", "weight", "lang", "created", "version", "n"}


def _attribute_lines(table: TreeTable, row: int) -> list[str]:
    lines: list[Any] = []
    for name, value in table.attributes(row).items():
        column = table.columns[name]
        kind = column.types[column.slots(len(table))[row]]
        if name not in ADMINISTRATIVE and kind in (ValueType.STRING, ValueType.STRINGS):
            lines.append(value if isinstance(value, str) else ", ".join(map(str, _listed(value))))
    return lines


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [value]
