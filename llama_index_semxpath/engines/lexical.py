"""Which share of a phrase's words a text holds together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol, cast

import numpy as np

from llama_index_semxpath.engines.base import KeywordSource, Targets
from llama_index_semxpath.engines.parts import split_parts
from llama_index_semxpath.engines.wording import attribute_texts
from llama_index_semxpath.text import words
from llama_index_semxpath.tree.columns import Floats, Rows
from llama_index_semxpath.tree.node import DOCUMENT_KINDS
from llama_index_semxpath.tree.table import TreeTable

#: Nodes with a word of the phrase that are looked at closely, best first.
_CLOSE = 1_000

#: Words that carry no meaning by themselves.
_STOP_WORDS = {
    *("a", "an", "the", "of", "in", "on", "at", "to", "for", "from", "by", "with", "and", "or"),
    *("is", "are", "was", "were", "be", "as", "that", "this", "it", "its", "their"),
    *"的了和与及或在是对于之等为有",
}


class Coverage:
    """Coverage of a phrase by nodes.

    Args:
        keywords: Finds the nodes that hold a word of the phrase; ``None`` reads every text.
    """

    def __init__(self, keywords: KeywordSource | None) -> None:
        self._keywords = keywords

    def of(self, phrase: str, targets: Targets) -> Floats:
        """For each target the share of the phrase's words in its best sentence, in [0, 1]."""
        wanted = content_stems(phrase)
        found = np.zeros(len(targets))
        if not wanted or not len(targets):
            return found
        if targets.field is not None:
            texts = attribute_texts(targets.table, targets.rows, targets.field, 4000)
            return np.array([coverage(text, wanted) for text in texts])
        places = self._close(phrase, targets)
        texts = _own_wording(targets.table, targets.rows[places])
        found[places] = [coverage(text, wanted) for text in texts]
        return found

    def _close(self, phrase: str, targets: Targets) -> Rows:
        """Places of the targets worth reading."""
        everything = np.arange(len(targets), dtype=np.int32)
        if self._keywords is None:
            return everything
        ids, _ = self._keywords.bm25(phrase, None, _CLOSE)
        table = targets.table
        rows = [row for row in map(table.position, ids) if row is not None]
        hits = np.isin(targets.rows, np.array(rows, np.int32))
        # Records are named by their attributes, which the keyword index may not hold.
        codes = [code for kind, code in table.kind_codes.items() if kind not in DOCUMENT_KINDS]
        hits |= np.isin(table.kind[targets.rows], codes)
        return everything[hits]


def coverage(text: str, wanted: Sequence[str]) -> float:
    """The greatest share of the wanted stems that stand in one sentence of a text.

    Example:
        >>> coverage("Boats are shown. The museum is free.", content_stems("boat museums"))
        0.5
    """
    if not any(stem[:3] in text.casefold() for stem in wanted):
        return 0.0
    best = 0
    for part in split_parts(text):
        held = set(_stems(words(part)))
        best = max(best, sum(stem in held for stem in wanted))
    return best / len(wanted)


@lru_cache(maxsize=256)
def content_stems(phrase: str) -> tuple[str, ...]:
    """The distinct stems of a phrase's words, without those that carry no meaning.

    Example:
        >>> content_stems("the shopping of boutiques")
        ('shop', 'boutiqu')
    """
    kept = [word for word in words(phrase) if word not in _STOP_WORDS]
    return tuple(dict.fromkeys(_stems(kept or words(phrase))))


def _own_wording(table: TreeTable, rows: Rows) -> list[str]:
    """Own texts; of records, their values one a line."""
    texts = table.texts(rows)
    for place, row in enumerate(rows.tolist()):
        if table.kind_name(row) not in DOCUMENT_KINDS:
            values = [value for value in table.attributes(row).values() if isinstance(value, str)]
            texts[place] = "\n".join([texts[place], *values])
    return texts


class _Stemmer(Protocol):
    def stemWords(self, words: Sequence[str]) -> list[str]: ...  # noqa: N802


@lru_cache(maxsize=1)
def _stemmer() -> _Stemmer:
    import snowballstemmer

    return cast(_Stemmer, snowballstemmer.stemmer("english"))


def _stems(tokens: Sequence[str]) -> list[str]:
    return _stemmer().stemWords(list(tokens))
