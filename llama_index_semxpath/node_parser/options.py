"""What a caller can say about parsing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.tree.node import TreeNode

#: Turns a text into its tokens; only their number is used.
Tokenizer = Callable[[str], Sequence[object]]

#: Settles headings that the rules are unsure of, for an LLM: gets the lines of a source and the
#: level that the rules found for each (0 for text), and answers the levels that hold.
HeadingHook = Callable[[Sequence[str], Sequence[int]], Sequence[int]]


class Summarizer(Protocol):
    """Writes ``@summary`` into sections; see ``summaries.SectionSummarizer``."""

    def annotate(self, nodes: Sequence[TreeNode]) -> None:
        """Marks the sections of one document."""
        ...


_LEAST_MAX_TOKENS = 16


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """How a source becomes a tree.

    Args:
        max_tokens: Most tokens of a leaf node *with* the heading path that is embedded before it,
            16 and up. Longer paragraphs are split on sentence ends, code on line ends.
        language: ISO 639-1 code of the source (``en``, ``zh``) where known; ``None`` looks.
        tokenizer: Counts the tokens. ``None`` takes the ``cl100k_base`` encoding that ships with
            LlamaIndex; nothing is fetched.
        heading_hook: Asked about the headings of a source that marks none; ``None`` leaves it to
            the rules.
        summarizer: Writes summaries into the sections (``summaries.SectionSummarizer``, with an
            LLM or without); ``None`` leaves them to whoever asks for one.

    Raises:
        SemXPathError: ``max_tokens`` is below 16.

    Example:
        >>> ParseOptions(max_tokens=256).max_tokens
        256
    """

    max_tokens: int = 512
    language: str | None = None
    tokenizer: Tokenizer | None = None
    heading_hook: HeadingHook | None = None
    summarizer: Summarizer | None = None

    def __post_init__(self) -> None:
        if self.max_tokens < _LEAST_MAX_TOKENS:
            raise SemXPathError(
                f"max_tokens is {self.max_tokens}",
                where="ParseOptions",
                hint=f"a node needs at least {_LEAST_MAX_TOKENS} tokens",
            )
