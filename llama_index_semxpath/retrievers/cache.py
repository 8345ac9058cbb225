"""Answers to questions asked before, as long as the store stays what it was."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from llama_index_semxpath.index.access import principal_labels
from llama_index_semxpath.retrievers.evidence import Principal
from llama_index_semxpath.retrievers.readers import Library

T = TypeVar("T")

_MOST = 256


class Recent(Generic[T]):
    """What was found lately, by question, state of the store and who asked.

    Args:
        library: What is derived from the store.
        most: Entries that are kept, 1 and up; those used longest ago go first.
    """

    def __init__(self, library: Library, most: int = _MOST) -> None:
        self._library = library
        self._most = most
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, T] = OrderedDict()

    def get(self, key: Hashable, principal: Principal) -> T | None:
        """What was kept for the same key, store and reader."""
        whole = self._whole(key, principal)
        with self._lock:
            if whole not in self._entries:
                return None
            self._entries.move_to_end(whole)
            return self._entries[whole]

    def put(self, key: Hashable, principal: Principal, value: T) -> None:
        """Keeps a value until the store changes or others push it out."""
        with self._lock:
            self._entries[self._whole(key, principal)] = value
            if len(self._entries) > self._most:
                self._entries.popitem(last=False)

    def _whole(self, key: Hashable, principal: Principal) -> Hashable:
        return key, principal_labels(principal), self._library.source.catalog.version
