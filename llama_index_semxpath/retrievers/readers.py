"""What routes derive from a store, kept while the store stays the same."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from llama_index_semxpath.index.access import principal_labels
from llama_index_semxpath.index.reader import Reader
from llama_index_semxpath.retrievers.evidence import Principal
from llama_index_semxpath.retrievers.packs import DocumentPacks, pack_document
from llama_index_semxpath.retrievers.reading import QuestionReader
from llama_index_semxpath.retrievers.titles import TitleIndex
from llama_index_semxpath.tree.table import TreeTable

_MOST_READERS = 16
_MOST_PACKS = 512


@dataclass(frozen=True, slots=True)
class _Eyes:
    whole: TreeTable
    table: TreeTable
    reader: QuestionReader
    titles: TitleIndex


class Library:
    """What routes derive from a store; safe to share between threads.

    Args:
        source: A ``Reader``, or an index that has one.
    """

    def __init__(self, source: Any) -> None:
        self.source: Reader = getattr(source, "reader", source)
        self._lock = threading.Lock()
        self._eyes: OrderedDict[frozenset[str], _Eyes] = OrderedDict()
        self._packs: OrderedDict[tuple[str, int, frozenset[str]], DocumentPacks] = OrderedDict()

    def table(self, principal: Principal) -> TreeTable:
        """The tree without what the principal may not see."""
        return self._see(principal).table

    def reader(self, principal: Principal) -> QuestionReader:
        """Reads questions in the words of what the principal may see."""
        return self._see(principal).reader

    def titles(self, principal: Principal) -> TitleIndex:
        """Titles of the sections that the principal may see."""
        return self._see(principal).titles

    def packs(self, documents: list[str], principal: Principal) -> list[DocumentPacks]:
        """Documents as packs, those that the principal may not see left out."""
        labels = principal_labels(principal)
        versions = {one.id: one.version for one in self.source.documents(principal)}
        found = []
        for doc in documents:
            if doc not in versions:
                continue
            key = (doc, versions[doc], labels)
            with self._lock:
                packed = self._packs.get(key)
            if packed is None:
                packed = pack_document(doc, self.source.document(doc, principal))
            with self._lock:
                self._packs[key] = packed
                self._packs.move_to_end(key)
                if len(self._packs) > _MOST_PACKS:
                    self._packs.popitem(last=False)
            found.append(packed)
        return found

    def source_weights(self, principal: Principal) -> dict[str, float]:
        """Weight of each document that the principal may see, those of weight 1 left out."""
        return {one.id: one.weight for one in self.source.documents(principal) if one.weight != 1.0}

    def _see(self, principal: Principal) -> _Eyes:
        labels = principal_labels(principal)
        whole = self.source.table
        with self._lock:
            eyes = self._eyes.get(labels)
        if eyes is None or eyes.whole is not whole:
            table = self.source.view(principal)
            eyes = _Eyes(whole, table, QuestionReader(table), TitleIndex(table))
        with self._lock:
            self._eyes[labels] = eyes
            self._eyes.move_to_end(labels)
            if len(self._eyes) > _MOST_READERS:
                self._eyes.popitem(last=False)
        return eyes
