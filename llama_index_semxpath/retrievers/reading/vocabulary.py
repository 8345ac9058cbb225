"""The words that a corpus itself gives a question: kinds, fields, values, titles and numbers.

Built from the reader's own view of the tree, so that a hidden value is an unknown word.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from llama_index_semxpath.node_parser.numbering import split_number
from llama_index_semxpath.retrievers.words import STOPWORDS, is_cjk, words
from llama_index_semxpath.tree.columns import Column, ValueType
from llama_index_semxpath.tree.node import DOCUMENT_KINDS
from llama_index_semxpath.tree.table import TreeTable

#: An attribute with more distinct values than this is text, not a field one filters by.
_MOST_VALUES = 20_000
_LONGEST_VALUE = 80
_TECHNICAL_WORDS = """
title number n level page tokens source lang language columns caption alt src units format role
align ordered start checked href url weight created version index id
"""
#: Attributes that front ends set on parts of documents: not fields that a person names.
_TECHNICAL = frozenset(_TECHNICAL_WORDS.split())
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\-\s]+")


@dataclass(frozen=True, slots=True)
class FieldValue:
    """A value that some nodes hold.

    Args:
        attribute: Attribute that holds it.
        value: The value as stored.
        kinds: Kinds of the nodes that hold it.
    """

    attribute: str
    value: str
    kinds: frozenset[str]


@dataclass(frozen=True, slots=True)
class Field:
    """An attribute that a question may name.

    Args:
        name: Attribute name.
        type: Type of its values (the commonest one).
        kinds: Kinds that have it.
    """

    name: str
    type: ValueType
    kinds: frozenset[str]


@dataclass(frozen=True, slots=True)
class Titled:
    """A node with a title.

    Args:
        row: Its row in the table.
        kind: Its kind.
        title: The title as stored.
        words: Distinct words of the title without its number, those that carry meaning.
    """

    row: int
    kind: str
    title: str
    words: frozenset[str] = field(compare=False)


class Vocabulary:
    """What can be named in one tree.

    Args:
        table: The tree as the reader sees it.

    Example:
        >>> from llama_index_semxpath.tree.node import TreeNode
        >>> nodes = [TreeNode("d", "Plan", "d"), TreeNode("t", "Task", "d", "d",
        ...          attributes={"status": "In Progress"})]
        >>> vocabulary = Vocabulary(TreeTable.from_nodes(nodes))
        >>> vocabulary.values["in progress"][0].attribute, vocabulary.record_kinds
        ('status', ['Plan', 'Task'])
    """

    def __init__(self, table: TreeTable) -> None:
        self.table = table

    @cached_property
    def kinds(self) -> dict[str, int]:
        """Kinds of the tree with the number of their nodes."""
        counts = np.bincount(self.table.kind, minlength=len(self.table.kinds))
        return {
            name: int(count)
            for name, count in zip(self.table.kinds, counts, strict=True)
            if name and count
        }

    @cached_property
    def record_kinds(self) -> list[str]:
        """Kinds that are not those of documents."""
        return [kind for kind in self.kinds if kind not in DOCUMENT_KINDS]

    @cached_property
    def only_records(self) -> bool:
        """Whether the tree holds no text of documents beside records."""
        return not set(self.kinds) & (set(DOCUMENT_KINDS) - {"Document"})

    @cached_property
    def children(self) -> dict[str, dict[str, int]]:
        """Kinds of the children of each kind, with their number; ``""`` is the root."""
        codes = self.table.kind.astype(np.int64)
        pairs = codes[self.table.parent[1:]] * len(self.table.kinds) + codes[1:]
        found: dict[str, dict[str, int]] = defaultdict(dict)
        for pair, count in zip(*np.unique(pairs, return_counts=True), strict=True):
            parent, kind = divmod(int(pair), len(self.table.kinds))
            found[self.table.kinds[parent]][self.table.kinds[kind]] = int(count)
        return dict(found)

    def is_above(self, outer: str, inner: str) -> bool:
        """Whether nodes of one kind hold nodes of another, at any depth."""
        seen: set[str] = set()
        work = [outer]
        while work:
            for kind in self.children.get(work.pop(), {}):
                if kind == inner:
                    return True
                if kind not in seen:
                    seen.add(kind)
                    work.append(kind)
        return False

    @cached_property
    def items(self) -> dict[str, list[str]]:
        """Kinds of the things a record tree lists, by the kind that holds them.

        A thing is a record without records below it that occurs more than once.
        """
        things = {
            kind
            for kind in self.record_kinds
            if self.kinds[kind] > 1 and not set(self.children.get(kind, {})) - {kind}
        }
        holders = {
            holder: sorted(things & set(kinds))
            for holder, kinds in self.children.items()
            if holder and holder not in DOCUMENT_KINDS
        }
        return {holder: kinds for holder, kinds in holders.items() if kinds}

    @cached_property
    def fields(self) -> dict[str, Field]:
        """Attributes that a question may name, by name."""
        found = {}
        for name, column in self.table.columns.items():
            kinds = self._kinds_of(column)
            if name in _TECHNICAL and not (kinds - set(DOCUMENT_KINDS)):
                continue
            types = np.bincount(column.types)
            found[name] = Field(name, ValueType(int(types.argmax())), kinds)
        return found

    @cached_property
    def values(self) -> dict[str, list[FieldValue]]:
        """Short text values by their folded form."""
        found: dict[str, list[FieldValue]] = defaultdict(list)
        for name in self.fields:
            column = self.table.columns[name]
            if name in _TECHNICAL or not len(column.codes) or len(column.vocab) > _MOST_VALUES:
                continue
            for value, kinds in self._holders(column).items():
                folded = fold(value)
                if 1 < len(folded) <= _LONGEST_VALUE and not folded.isdigit():
                    found[folded].append(FieldValue(name, value, kinds))
        return dict(found)

    def holding(self, phrase: str) -> list[FieldValue]:
        """The value that has the words of a phrase in it, where exactly one has."""
        wanted = fold(phrase)
        edge = r"(?<!\w)%s(?!\w)" if wanted.isascii() else "%s"
        pattern = re.compile(edge % re.escape(wanted))
        found = [readings for value, readings in self.values.items() if pattern.search(value)]
        return found[0] if len(found) == 1 else []

    @cached_property
    def titles(self) -> list[Titled]:
        """Nodes with a title, in document order."""
        column = self.table.attribute("title")
        found = []
        for place in range(0 if column is None else len(column)):
            assert column is not None
            row, title = int(column.rows[place]), column.text(place)
            found.append(
                Titled(row, self.table.kind_name(row), title, frozenset(title_words(title)))
            )
        return found

    @cached_property
    def numbered(self) -> dict[int, list[tuple[int, str]]]:
        """Numbered nodes by ``@n``: row, and the number as written."""
        numbers, last = self.table.attribute("number"), self.table.attribute("n")
        found: dict[int, list[tuple[int, str]]] = defaultdict(list)
        if numbers is None or last is None:
            return found
        slots = last.slots(len(self.table))
        for place, row in enumerate(numbers.rows.tolist()):
            if slots[row] >= 0 and len(last.numbers):
                found[int(last.numbers[slots[row]])].append((row, numbers.text(place)))
        return dict(found)

    def _kinds_of(self, column: Column) -> frozenset[str]:
        return frozenset(self.table.kinds[code] for code in np.unique(self.table.kind[column.rows]))

    def _holders(self, column: Column) -> dict[str, frozenset[str]]:
        """Distinct strings of a column with the kinds of their nodes."""
        found: dict[str, set[str]] = defaultdict(set)
        plain = column.types == ValueType.STRING
        kinds = self.table.kind[column.rows[plain]].astype(np.int64)
        pairs = column.codes[plain].astype(np.int64) * len(self.table.kinds) + kinds
        for pair in np.unique(pairs).tolist():
            code, kind = divmod(pair, len(self.table.kinds))
            found[column.vocab[code]].add(self.table.kinds[kind])
        for place in np.flatnonzero(column.types == ValueType.STRINGS).tolist():
            for value in column.members(place):
                found[value].add(self.table.kind_name(int(column.rows[place])))
        return {value: frozenset(kinds) for value, kinds in found.items()}


def fold(text: str) -> str:
    """A value or word as it is compared: lower case, single blanks.

    Example:
        >>> fold("In  Progress")
        'in progress'
    """
    return " ".join(text.casefold().split())


def spoken(name: str) -> str:
    """A name of the schema as a person says it.

    Example:
        >>> spoken("due_date"), spoken("SalesOrder"), spoken("生效日期")
        ('due date', 'sales order', '生效日期')
    """
    return " ".join(part for part in _CAMEL.split(name) if part).casefold()


def title_words(title: str) -> list[str]:
    """Words of a title that carry meaning, without its number.

    Example:
        >>> title_words("3.2 Install the server")
        ['install', 'server']
    """
    number = split_number(title)
    rest = title if number is None or not number.rest else number.rest
    found = [word for word in words(rest, pairs=False) if word not in STOPWORDS]
    # One character of Chinese says too little unless the title is nothing more.
    longer = [word for word in found if len(word) > 1 or not is_cjk(word)]
    return longer or found
