"""Reads a store as it was: the same questions over the columns of a past revision."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np

from llama_index_semxpath.engines.base import Dataset
from llama_index_semxpath.engines.memory import MemoryEngine
from llama_index_semxpath.engines.scoring import default_scorer
from llama_index_semxpath.index.access import Principal
from llama_index_semxpath.index.columns import past_table
from llama_index_semxpath.index.history import History
from llama_index_semxpath.index.history_rows import Revision
from llama_index_semxpath.index.keyword_source import RankedKeywords, TableKeywords
from llama_index_semxpath.index.moments import Moment
from llama_index_semxpath.index.reader import Reader
from llama_index_semxpath.index.rows import StoredDocument
from llama_index_semxpath.tree.columns import Mask
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.table import TreeTable


class PastReader(Reader):
    """A reader of one past revision.

    Args:
        reader: The reader of the present.
        revision: Number of the revision; it can be read.
    """

    def __init__(self, reader: Reader, revision: int) -> None:
        self._present = reader
        self._seq = revision
        self.config = reader.config
        self.catalog = reader.catalog
        self.embeddings = reader.embeddings
        self.scorer = reader.scorer
        self._past_lock = threading.Lock()
        self._past: tuple[int, Moment] | None = None

    @property
    def revision(self) -> Revision:
        """The revision that is read."""
        return History(self.catalog).revision(self._seq)

    def close(self) -> None:
        """Nothing to close: the reader of the present owns the catalog."""

    def documents(self, principal: Principal = None) -> list[StoredDocument]:
        """The trees whose root the principal may read, in order; they know no source."""
        with self._now() as moment:
            table, mask = moment.table, self._mask(moment, principal)
            time = self.revision.time.isoformat()
            orders = table.orders or []
            return [
                StoredDocument(
                    table.ids[row],
                    orders[row],
                    self._seq,
                    int(table.end[row]) - row,
                    b"",
                    1.0,
                    None,
                    time,
                )
                for row in table.tree_starts.tolist()
                if table.doc[row] >= 0 and (mask is None or mask[row])
            ]

    @contextmanager
    def _now(self) -> Iterator[Moment]:
        with self.catalog.moment():
            present = self._present._refreshed()
            with self._past_lock:
                # Rows that stand unchanged are read from the present, so a newer one is a new past.
                if self._past is None or self._past[0] != present.version:
                    self._past = (present.version, self._of(present))
                moment = self._past[1]
            yield moment

    def _of(self, present: Moment) -> Moment:
        history = History(self.catalog)
        update = past_table(self.catalog, present.table, self._seq)
        assert update.patch is not None
        vectors = present.vectors.carried(
            update.patch,
            nodes=self._read_nodes,
            vectors=partial(history.vectors, revision=self._seq),
        )
        keywords = TableKeywords(update.table)
        scorer = default_scorer(vectors, keywords)
        engine = MemoryEngine(Dataset(update.table, scorer=scorer, keywords=keywords))
        return Moment(present.version, update.table, vectors, engine)

    def _view(self, moment: Moment, labels: frozenset[str]) -> tuple[TreeTable, Mask | None]:
        table, mask = super()._view(moment, labels)
        # What is hidden today was not meant to be read: yesterday's labels do not open it.
        present = self._present._refreshed()
        hidden = self._present._mask(present, labels)
        if hidden is None:
            return table, mask
        rows = [present.table.position(id_) for id_ in table.ids]
        today = np.array([row is None or bool(hidden[row]) for row in rows])
        return table, today if mask is None else mask & today

    def _read_nodes(self, ids: Sequence[str]) -> dict[str, TreeNode]:
        return History(self.catalog).nodes(ids, self._seq)

    def _keywords(self, moment: Moment, mask: Mask | None) -> RankedKeywords:
        return TableKeywords(moment.table, mask)
