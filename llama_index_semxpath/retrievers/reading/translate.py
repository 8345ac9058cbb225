"""From a question to SemXPath by rules over the live schema, without a model.

The reader knows the kinds, fields and values of the tree, and a few hundred closed-class words of
English and Chinese. A question becomes marks (``scan``), marks become things with conditions
(``nouns``, ``attaching``, ``conditions``), and the things, ordered by which kind holds which,
become one path (``paths``). Places (``placed``) and table rows (``tabular``) are read on their own.
"""

from __future__ import annotations

from functools import cached_property

from llama_index_semxpath.retrievers.reading.placed import read_places, read_titles
from llama_index_semxpath.retrievers.reading.places import find_places
from llama_index_semxpath.retrievers.reading.records import RecordReader
from llama_index_semxpath.retrievers.reading.result import Reading, topic_words
from llama_index_semxpath.retrievers.reading.scan import Scanner
from llama_index_semxpath.retrievers.reading.tabular import read_fields
from llama_index_semxpath.retrievers.reading.vocabulary import Vocabulary, spoken
from llama_index_semxpath.tree.table import TreeTable

#: Longer questions are no look-ups; reading them is a waste.
_MAX_QUESTION = 600


class QuestionReader:
    """Reads questions about one tree.

    Args:
        table: The tree as the reader sees it; what it hides is an unknown word.

    Example:
        >>> from llama_index_semxpath.tree.node import TreeNode
        >>> nodes = [TreeNode("p", "Plan", "p")] + [
        ...     TreeNode(f"t{n}", "Task", "p", "p", attributes={"status": status})
        ...     for n, status in enumerate(["Todo", "Done"])]
        >>> reader = QuestionReader(TreeTable.from_nodes(nodes))
        >>> reader.read("Which tasks are not done yet?").query
        '//Task[not(@status = "Done")]'
    """

    def __init__(self, table: TreeTable) -> None:
        self.vocabulary = Vocabulary(table)
        self._scanner = Scanner(self.vocabulary)
        self._records = RecordReader(self._scanner)

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of record kinds and fields, as people say them."""
        kinds = set(self.vocabulary.record_kinds)
        fields = [f.name for f in self.vocabulary.fields.values() if f.kinds & kinds]
        return frozenset(spoken(name) for name in (*kinds, *fields))

    def read(self, question: str) -> Reading | None:
        """The query that a question asks, ``None`` when it names nothing of the tree."""
        if len(question) > _MAX_QUESTION:
            return None
        places = [place for place in find_places(question, self.vocabulary) if place.condition]
        if places:
            return read_places(question, places, self._scanner)
        found = self._records.read(question) if self.vocabulary.record_kinds else None
        found = found or read_fields(question, self._scanner)
        if found is None:
            titled = find_places(question, self.vocabulary, titles=True)
            places = [place for place in titled if place.condition]
            found = read_titles(question, places, self._scanner) if places else None
        return found

    def means_records(self, question: str) -> bool:
        """Whether a question asks for records, be it not put as a filter."""
        if not self.vocabulary.record_kinds or len(question) > _MAX_QUESTION:
            return False
        reading = self.read(question)
        return reading is not None and reading.records and not reading.topic

    def missing(self, question: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Places that a question names and the tree does not have, and the words left over."""
        lost = [one for one in find_places(question, self.vocabulary) if one.condition is None]
        rest = question
        for place in lost:
            rest = rest.replace(place.said, " ")
        return tuple(place.said for place in lost), tuple(topic_words(rest))


__all__ = ["QuestionReader", "Reading"]
