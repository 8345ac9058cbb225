"""The keyword index of a catalog: BM25 over text and heading path.

Both forms cut text by one tokenizer and score by one formula, so a node has the same keyword score
in every catalog:

- Robertson, Zaragoza: The Probabilistic Relevance Framework: BM25 and Beyond, 2009, in the form
  of SQLite's FTS5, with k1 = 1.2 and b = 0.75;
- Porter: An algorithm for suffix stripping, 1980, over Unicode words without diacritics.
"""

from __future__ import annotations

import math
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from llama_index_semxpath.index.connection import Connection
from llama_index_semxpath.index.keywords import match_expression

#: How much a word in the heading path counts beside one in the text.
_PATH_WEIGHT = 0.4
TOKENIZER = "porter unicode61 remove_diacritics 2"
_K1, _B = 1.2, 0.75
#: Least weight of a word, for one that stands in more than half of the nodes.
_LEAST_IDF = 1e-6
#: A longer word is cut, since an index of PostgreSQL holds some 2,700 bytes.
_LONGEST = 500

#: Number of the node's row, its heading path and its text, both segmented.
WordRow = tuple[int, str, str]


class Words(ABC):
    """A keyword index in the catalog's database, in a table ``words`` with a ``rowid`` a node."""

    @abstractmethod
    def put(self, connection: Connection, rows: Iterable[WordRow]) -> None:
        """Adds nodes, which must not be there."""

    @abstractmethod
    def search(self, connection: Connection, words: Sequence[str]) -> Iterator[tuple[str, float]]:
        """Ids and scores of the nodes with any of the words, best first, ties in document order.

        Args:
            connection: A reading connection.
            words: At least one word, as ``query_words`` gives them.
        """

    @abstractmethod
    def terms(self, words: Sequence[str]) -> list[str]:
        """Terms that the words stand for in the index; one that comes twice counts twice."""

    @abstractmethod
    def postings(self, connection: Connection, term: str) -> Iterator[tuple[str, float]]:
        """Ids of the nodes with a term, and its weighted count there."""

    @abstractmethod
    def sizes(self, connection: Connection) -> Iterator[tuple[str, int]]:
        """Ids of all nodes of the index, and their counts of words."""


class Fts5Words(Words):
    """The index as SQLite's full-text search keeps it."""

    def __init__(self) -> None:
        self._tokens = Tokenizer()

    def terms(self, words: Sequence[str]) -> list[str]:
        """Terms of words."""
        return self._tokens.terms(words)

    def postings(self, connection: Connection, term: str) -> Iterator[tuple[str, float]]:
        """Nodes with a term, from the vocabulary that :class:`SqliteDatabase` attaches."""
        sql = (
            f"SELECT n.id, sum(CASE v.col WHEN 'path' THEN {_PATH_WEIGHT} ELSE 1.0 END) "
            "FROM temp.word_places v JOIN nodes n ON n.pk = v.doc WHERE v.term = ? GROUP BY v.doc"
        )
        return iter(connection.execute(sql, (term,)))

    def sizes(self, connection: Connection) -> Iterator[tuple[str, int]]:
        """Nodes with their sizes, from the index's own table of them."""
        sql = "SELECT n.id, d.sz FROM words_docsize d JOIN nodes n ON n.pk = d.id"
        for id_, data in connection.execute(sql):
            yield id_, sum(_varints(data))

    def put(self, connection: Connection, rows: Iterable[WordRow]) -> None:
        """Adds nodes."""
        connection.executemany("INSERT INTO words (rowid, path, body) VALUES (?, ?, ?)", rows)

    def search(self, connection: Connection, words: Sequence[str]) -> Iterator[tuple[str, float]]:
        """Ids and scores, best first."""
        sql = (
            f"SELECT n.id, -bm25(words, {_PATH_WEIGHT}, 1.0) AS score FROM words "
            "JOIN nodes n ON n.pk = words.rowid WHERE words MATCH ? "
            "ORDER BY score DESC, n.order_key"
        )
        return iter(connection.execute(sql, (match_expression(list(words)),)))


class ArrayWords(Words):
    """The index as arrays of terms and their weighted counts, for PostgreSQL."""

    def __init__(self) -> None:
        self._tokens = Tokenizer()

    def terms(self, words: Sequence[str]) -> list[str]:
        """Terms of words."""
        return self._tokens.terms(words)

    def postings(self, connection: Connection, term: str) -> Iterator[tuple[str, float]]:
        """Nodes with a term."""
        sql = (
            "SELECT n.id, w.weights[array_position(w.terms, CAST(? AS text))] FROM words w "
            "JOIN nodes n ON n.pk = w.rowid WHERE w.terms @> ARRAY[CAST(? AS text)]"
        )
        return iter(connection.execute(sql, (term, term)))

    def sizes(self, connection: Connection) -> Iterator[tuple[str, int]]:
        """Nodes with their sizes."""
        sql = "SELECT n.id, w.size FROM words w JOIN nodes n ON n.pk = w.rowid"
        return iter(connection.execute(sql))

    def put(self, connection: Connection, rows: Iterable[WordRow]) -> None:
        """Adds nodes."""
        connection.executemany(
            "INSERT INTO words (rowid, terms, weights, size) VALUES (?, ?, ?, ?)",
            [
                (pk, list(weights), list(weights.values()), size)
                for pk, (weights, size) in self._tokens.cut(rows)
            ],
        )

    def search(self, connection: Connection, words: Sequence[str]) -> Iterator[tuple[str, float]]:
        """Ids and scores, best first."""
        terms = self.terms(words)
        count, size = connection.execute("SELECT count(*), sum(size) FROM words").fetchone()
        if not terms or not count:
            return iter(())
        hits = dict(
            connection.execute(
                "SELECT q.term, (SELECT count(*) FROM words WHERE terms @> ARRAY[q.term]) "
                "FROM unnest(CAST(? AS text[])) AS q(term)",
                (list(dict.fromkeys(terms)),),
            ).fetchall()
        )
        weights = [rarity(count, hits[term]) for term in terms]
        sql = (
            "SELECT n.id, s.score FROM (SELECT w.rowid, sum(q.idf * w.f * (? + 1) / "
            "(w.f + ? * (1 - ? + ? * w.size / ?))) AS score "
            "FROM unnest(CAST(? AS text[]), CAST(? AS float8[])) AS q(term, idf), "
            "LATERAL (SELECT rowid, size, weights[array_position(terms, q.term)] AS f "
            "FROM words WHERE terms @> ARRAY[q.term]) AS w GROUP BY w.rowid) AS s "
            "JOIN nodes n ON n.pk = s.rowid ORDER BY s.score DESC, n.order_key"
        )
        mean = float(size) / count
        return iter(connection.execute(sql, (_K1, _K1, _B, _B, mean, terms, weights)))


def rarity(rows: int, hits: int) -> float:
    """Inverse document frequency of a term that stands in ``hits`` of ``rows`` nodes."""
    weight = math.log((rows - hits + 0.5) / (hits + 0.5))
    return weight if weight > 0 else _LEAST_IDF


def bm25(count: float, size: int, mean: float) -> float:
    """How much a term says of a node, to be multiplied by its rarity.

    Args:
        count: Weighted count of the term in the node, > 0.
        size: Words of the node.
        mean: Mean of the sizes of all nodes, > 0.

    Example:
        >>> bm25(1.0, 8, 8.0)
        1.0
    """
    return count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * size / mean))


def _varints(data: bytes) -> Iterator[int]:
    """Numbers in SQLite's form: seven bits a byte, the highest first; sizes are below 2**56."""
    value = 0
    for byte in data:
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            yield value
            value = 0


class Tokenizer:
    """Terms of texts, cut by SQLite's tokenizer in a table that nothing else uses."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sqlite = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._sqlite.executescript(
            f"CREATE VIRTUAL TABLE t USING fts5 (path, body, content='', tokenize='{TOKENIZER}');"
            "CREATE VIRTUAL TABLE v USING fts5vocab (t, instance);"
        )

    def terms(self, words: Sequence[str]) -> list[str]:
        """Terms of words, in their order; a word may have none, or more than one."""
        cut = self.cut((place, "", word) for place, word in enumerate(words))
        return [term for _, (weights, _) in cut for term in weights]

    def cut(self, rows: Iterable[WordRow]) -> Iterator[tuple[int, tuple[dict[str, float], int]]]:
        """For each row its number, the weighted counts of its terms, and its count of tokens."""
        found: dict[int, dict[str, float]] = {}
        sizes: dict[int, int] = defaultdict(int)
        with self._lock:
            self._sqlite.execute("BEGIN")
            for number, path, body in rows:
                found[number] = {}
                self._sqlite.execute(
                    "INSERT INTO t (rowid, path, body) VALUES (?, ?, ?)", (number, path, body)
                )
            for term, number, column in self._sqlite.execute("SELECT term, doc, col FROM v"):
                weights, term = found[number], term[:_LONGEST]
                weight = _PATH_WEIGHT if column == "path" else 1.0
                weights[term] = weights.get(term, 0.0) + weight
                sizes[number] += 1
            self._sqlite.execute("INSERT INTO t (t) VALUES ('delete-all')")
            self._sqlite.execute("COMMIT")
        return iter([(number, (weights, sizes[number])) for number, weights in found.items()])
