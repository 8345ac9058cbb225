"""One family of errors: each says what is wrong, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class SemXPathError(Exception):
    """Base of every error that this package raises on purpose.

    Args:
        message: What is wrong, one sentence.
        where: The thing it concerns (a file, a store, a node id, an attribute key).
        hint: What the reader can do about it.

    Example:
        >>> print(SemXPathError("file is empty", where="a.md", hint="remove it or fill it"))
        file is empty (a.md); remove it or fill it
    """

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        self.message = message
        self.where = where
        self.hint = hint
        super().__init__(message)

    def __str__(self) -> str:
        text = self.message if self.where is None else f"{self.message} ({self.where})"
        return text if self.hint is None else f"{text}; {self.hint}"


class QueryError(SemXPathError):
    """A fault at a place in a SemXPath query.

    Args:
        message: What is wrong.
        query: The whole query text.
        offset: 0-based character offset of the fault, 0 to ``len(query)``.
        expected: What would have been accepted there.
        suggestions: The nearest known names ("did you mean").
        hint: What to do about it.

    Attributes:
        line: 1-based line of the fault.
        column: 1-based column of the fault, in characters.

    Example:
        >>> print(QueryError("unknown kind 'Sektion'", query="//Sektion", offset=2,
        ...                  suggestions=["Section"]))
        unknown kind 'Sektion' at line 1, column 3; did you mean 'Section'?
          //Sektion
            ^
    """

    def __init__(
        self,
        message: str,
        *,
        query: str,
        offset: int,
        expected: Sequence[str] = (),
        suggestions: Sequence[str] = (),
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.query = query
        self.offset = max(0, min(offset, len(query)))
        self.expected = tuple(expected)
        self.suggestions = tuple(suggestions)
        self.line = query.count("\n", 0, self.offset) + 1
        self.column = self.offset - (query.rfind("\n", 0, self.offset) + 1) + 1

    def __str__(self) -> str:
        parts = [f"{self.message} at line {self.line}, column {self.column}"]
        if self.expected:
            parts.append(f"expected {' or '.join(self.expected)}")
        if self.hint:
            parts.append(self.hint)
        if self.suggestions:
            names = ", ".join(f"'{name}'" for name in self.suggestions)
            parts.append(f"did you mean {names}?")
        return "; ".join(parts) + "\n" + self.caret()

    def caret(self) -> str:
        """The faulty line with a caret under the fault, cut to a readable width."""
        start = self.query.rfind("\n", 0, self.offset) + 1
        end = self.query.find("\n", self.offset)
        line = self.query[start : len(self.query) if end < 0 else end]
        column = self.offset - start
        # One for one, so that the caret stands: a terminal cannot show controls or surrogates.
        line = "".join(c if c.isprintable() or c == "\t" else "\ufffd" for c in line)
        if len(line) > 100:
            left = max(0, column - 60)
            line, column = line[left : left + 100], column - left
        pad = "".join("\t" if char == "\t" else _blank(char) for char in line[:column])
        return f"  {line}\n  {pad}^"


class SemXPathSyntaxError(QueryError):
    """The query text does not follow the grammar."""


class UnknownNameError(QueryError):
    """A kind, attribute, relation or function that neither language nor schema knows."""


class AmbiguousNameError(QueryError):
    """A bare name that the schema allows to be read in more than one way."""


class QueryTypeError(QueryError):
    """An operand or argument of the wrong type."""


class ParameterError(QueryError):
    """A ``$name`` without a value, or a value that cannot be one."""


class QueryCapabilityError(QueryError):
    """The query asks for a part that this index does not have (graph, embeddings, versions)."""


class ScorerError(SemXPathError):
    """A scorer failed; nothing partial is returned."""


class SourceError(SemXPathError):
    """A source file or document that cannot be read."""


class StoreError(SemXPathError):
    """A store that cannot be opened, read or written."""


class StoreVersionError(StoreError):
    """A store written by another version of the format."""


class StoreLockedError(StoreError):
    """Another process holds the store."""


class UnknownDocumentError(StoreError):
    """A document id that the store does not hold."""


class EmbeddingMismatchError(StoreError):
    """The given embedding model is not the one that made the store's vectors."""


class AttributeValueError(StoreError):
    """An attribute value that cannot be stored; ``where`` names the key."""


class AccessError(SemXPathError):
    """A read or write that the principal may not do; it fails closed."""


class AmbiguousTargetError(SemXPathError):
    """An update's target that keeps more than one node where one is meant.

    Args:
        message: What is wrong.
        candidates: The nodes that it may be (``Match`` objects), best first.
    """

    def __init__(self, message: str, candidates: Sequence[Any], *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.candidates = tuple(candidates)


class MergeConflictError(StoreError):
    """A branch and the memory it came from changed the same nodes in different ways.

    Args:
        message: What is wrong.
        nodes: Ids of those nodes.
    """

    def __init__(self, message: str, nodes: Sequence[str], *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.nodes = tuple(nodes)


def _blank(char: str) -> str:
    # A caret must stand under full-width characters too.
    return "　" if ord(char) > 0x2E7F else " "
