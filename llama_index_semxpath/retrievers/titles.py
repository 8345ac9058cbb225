"""Titles that say what a question asks: people write headings as others ask for them."""

from __future__ import annotations

import math
import threading
from collections import defaultdict
from collections.abc import Sequence

from llama_index_semxpath.node_parser.numbering import split_number
from llama_index_semxpath.retrievers.words import search_words
from llama_index_semxpath.tree.table import TreeTable

#: A title of one word fits too many questions.
_LEAST_WORDS = 2
#: Titles with a word that is in more of them than this are found by their other words.
_MOST_TITLES = 20_000


class TitleIndex:
    """The titles of sections by their words.

    Args:
        table: The tree as the reader sees it.

    Example:
        >>> from llama_index_semxpath.tree.node import TreeNode
        >>> nodes = [TreeNode("d", "Document", "d"), TreeNode("s", "Section", "d", "d",
        ...          attributes={"title": "4.2 Restoring a file"})]
        >>> index = TitleIndex(TreeTable.from_nodes(nodes))
        >>> index.fits(["restor", "file"])
        {2: 1.0}
    """

    def __init__(self, table: TreeTable) -> None:
        self._table = table
        self._lock = threading.Lock()
        self._built = False
        self._sizes: dict[int, int] = {}
        self._rows: defaultdict[str, list[int]] = defaultdict(list)

    def _build(self) -> None:
        table = self._table
        column = table.attribute("title")
        for place, row in enumerate([] if column is None else column.rows.tolist()):
            if column is None or table.kind_name(row) != "Section":
                continue
            title = column.text(place)
            number = split_number(title)
            rest = title if number is None or not number.rest else number.rest
            found = search_words(rest)
            if len(found) >= _LEAST_WORDS:
                self._sizes[row] = len(found)
                for word in found:
                    self._rows[word].append(row)

    def fits(self, asked: Sequence[str], least: float = 0.5) -> dict[int, float]:
        """How far titles and question say the same: the smaller share of the two.

        Args:
            asked: Search words of the question, each once.
            least: Least share, in (0, 1], that is given.

        Returns:
            Share in [0, 1] by row of the section.
        """
        with self._lock:
            if not self._built:
                self._build()
                self._built = True
        rarity = {
            word: math.log(1.0 + (len(self._sizes) + 1) / (len(self._rows.get(word, ())) + 1))
            for word in asked
        }
        total = sum(rarity.values())
        said: defaultdict[int, float] = defaultdict(float)
        held: defaultdict[int, int] = defaultdict(int)
        for word, weight in rarity.items():
            rows = self._rows.get(word, ())
            if len(rows) <= _MOST_TITLES:
                for row in rows:
                    said[row] += weight
                    held[row] += 1
        fits = {
            row: min(weight / total, held[row] / self._sizes[row]) for row, weight in said.items()
        }
        return {row: fit for row, fit in fits.items() if fit >= least and held[row] >= _LEAST_WORDS}
