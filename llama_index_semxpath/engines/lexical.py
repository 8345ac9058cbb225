"""Which share of a phrase's words a text holds together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol, cast

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


#: What a word counts of which only the stem agrees.
_DERIVED = 0.8
#: Attributes that name a record.
NAMES = ("name", "title", "名称", "姓名", "标题")


class Wanted(NamedTuple):
    """A word of a phrase.

    Args:
        singular: The word but for the ending of a plural.
        stem: Its stem.
    """

    singular: str
    stem: str

    @property
    def beginning(self) -> str:
        """What every form of the word begins with: texts without it need no closer look."""
        # The stemmer may change the last letter: "try" is stemmed to "tri".
        return self.stem[: max(2, len(self.stem) - 1)]


class Coverage:
    """Coverage of a phrase by nodes.

    Args:
        keywords: Finds the nodes that hold a word of the phrase; ``None`` reads every text.
    """

    def __init__(self, keywords: KeywordSource | None) -> None:
        self._keywords = keywords

    def of(self, phrase: str, targets: Targets) -> Floats:
        """For each target the share of the phrase's words in its best sentence, in [0, 1]."""
        wanted = content_words(phrase)
        found = np.zeros(len(targets))
        if not wanted or not len(targets):
            return found
        if targets.field is not None:
            texts = attribute_texts(targets.table, targets.rows, targets.field, 4000)
            return np.array([coverage(text, wanted) for text in texts])
        places = self._close(phrase, targets)
        wordings = _own_wording(targets.table, targets.rows[places])
        found[places] = [coverage(text, wanted, name) for name, text in wordings]
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


def coverage(text: str, wanted: Sequence[Wanted], name: str = "") -> float:
    """The greatest share of the wanted words that stand in one sentence of a text.

    A word that agrees but for its number counts whole. One that shares only its stem may be
    another word (``shopping`` and ``shops``), so it counts a little less.

    Args:
        text: The text.
        wanted: From :func:`content_words`.
        name: What the text is about: its words stand in every sentence.

    Example:
        >>> coverage("Boats are shown. The museum is free.", content_words("boat museums"))
        0.5
        >>> coverage("Rents boats.", content_words("boat renting"), name="Harbour")
        0.9
    """
    said = (name + text).casefold()
    if not any(word.beginning in said for word in wanted):
        return 0.0
    best = 0.0
    for part in split_parts(text) or [""]:
        held = words(f"{name} {part}" if name else part)
        numbers, stems = set(map(singular, held)), set(_stems(held))
        found = [1.0 if w.singular in numbers else _DERIVED * (w.stem in stems) for w in wanted]
        best = max(best, sum(found))
    return best / len(wanted)


def singular(word: str) -> str:
    """An English word without the ending of its plural (Harman's S-stemmer, JASIS 1991).

    Example:
        >>> [singular(word) for word in ("boats", "cities", "glass", "bus", "shopping")]
        ['boat', 'city', 'glass', 'bus', 'shopping']
    """
    if word.endswith("ies") and len(word) > 4 and word[-4] not in "ae":
        return f"{word[:-3]}y"
    if word.endswith("es") and len(word) > 3 and word[-3] not in "aeo":
        return word[:-1]
    if word.endswith("s") and len(word) > 3 and word[-2] not in "us":
        return word[:-1]
    return word


@lru_cache(maxsize=256)
def content_words(phrase: str) -> tuple[Wanted, ...]:
    """The distinct words of a phrase, without those that carry no meaning.

    Example:
        >>> [word.stem for word in content_words("the shopping of boutiques")]
        ['shop', 'boutiqu']
    """
    kept = [word for word in words(phrase) if word not in _STOP_WORDS] or list(words(phrase))
    stems = _stems(kept)
    found = {stem: Wanted(singular(word), stem) for word, stem in zip(kept, stems, strict=True)}
    return tuple(found.values())


def _own_wording(table: TreeTable, rows: Rows) -> list[tuple[str, str]]:
    """Name and own text of rows; of records, their values one a line."""
    texts = [("", text) for text in table.texts(rows)]
    for place, row in enumerate(rows.tolist()):
        if table.kind_name(row) not in DOCUMENT_KINDS:
            given = table.attributes(row)
            values = [value for value in given.values() if isinstance(value, str)]
            name = next((v for n in NAMES if isinstance(v := given.get(n), str)), "")
            texts[place] = (name, "\n".join([texts[place][1], *values]))
    return texts


class _Stemmer(Protocol):
    def stemWords(self, words: Sequence[str]) -> list[str]: ...  # noqa: N802


@lru_cache(maxsize=1)
def _stemmer() -> _Stemmer:
    import snowballstemmer

    return cast(_Stemmer, snowballstemmer.stemmer("english"))


def _stems(tokens: Sequence[str]) -> list[str]:
    return _stemmer().stemWords(list(tokens))
