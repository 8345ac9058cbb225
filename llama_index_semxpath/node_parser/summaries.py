"""Summaries of sections: the author's headings, the sentences that carry a section, its captions.

Sentences are chosen as MEAD does (Radev, Jing, Styś, Tam, "Centroid-based summarization of multiple
documents", 2004): those nearest to the section's centroid of TF-IDF weights, earlier ones first
where they are alike. A section chooses from its own sentences and from those that its subsections
chose, so time is linear in the text.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llama_index_semxpath.node_parser.build import is_caption_text
from llama_index_semxpath.node_parser.options import ParseOptions
from llama_index_semxpath.node_parser.paths import PATH_SEPARATOR
from llama_index_semxpath.node_parser.sentences import split_sentences
from llama_index_semxpath.node_parser.tables import row_sentence
from llama_index_semxpath.node_parser.tokens import token_counter
from llama_index_semxpath.tree.node import TreeNode

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

_WORD = re.compile(r"[^\W\d_]{2,}|\d+(?:\.\d+)?")
_HAN = re.compile(r"[\u3400-\u9fff]{2,}")
_PROSE = ("Paragraph", "ListItem", "Quote")
_HOLDERS = ("Section", "Document")
# Sentences of one section that are weighed; what comes later is rarely its gist.
_MOST_SENTENCES = 200
# Rows that stand for a section which holds nothing else.
_ROWS = 3
_LONGEST_SOURCE = 12_000
_PROMPT = (
    "Summarize this section of a document in at most {sentences} sentences, in the language of the "
    "section. Say only what it says.\n\nSection: {path}\n\n{text}\n\nSummary:"
)


@dataclass(frozen=True, slots=True)
class Summary:
    """What a section is about.

    Args:
        path: Titles from the document down to the section, joined by ``" > "``: the author's own
            summary.
        text: The sentences that carry it; ``""`` for a section without prose and tables.
        captions: Captions of the tables and figures in it, or what a figure shows.
    """

    path: str
    text: str
    captions: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(part for part in (self.path, self.text, *self.captions) if part)


class SectionSummarizer:
    """Summarizes the sections of a document.

    Args:
        llm: A LlamaIndex LLM that writes the text; ``None`` takes sentences of the section itself.
            An empty answer is replaced by those.
        sentences: Most sentences of a text, 1 and up.
        max_tokens: Most tokens of a text, 16 and up; its first sentence stands in any case.
        options: How tokens are counted.

    Example:
        >>> from llama_index_semxpath.node_parser import parse_bytes
        >>> nodes = parse_bytes("# Oil\\n\\nUse 5W-30. Change the oil each year.", "car.md")
        >>> found = SectionSummarizer(sentences=1).summarize(nodes)
        >>> found[nodes[1].id].path, found[nodes[1].id].text
        ('Oil', 'Change the oil each year.')
    """

    def __init__(
        self,
        llm: LLM | None = None,
        *,
        sentences: int = 3,
        max_tokens: int = 120,
        options: ParseOptions | None = None,
    ) -> None:
        self.llm = llm
        self.sentences = max(1, sentences)
        self.max_tokens = max(16, max_tokens)
        self._count = token_counter(options or ParseOptions())

    def summarize(self, nodes: Sequence[TreeNode]) -> dict[str, Summary]:
        """Summaries of a document and of its sections, by id.

        Args:
            nodes: A document, or a section with all below it, in document order.
        """
        parts = _Parts(nodes)
        chosen: dict[str, list[str]] = {}
        found: dict[str, Summary] = {}
        for node in reversed(nodes):
            if node.kind not in _HOLDERS and node is not nodes[0]:
                continue
            inner = [text for child in parts.sections[node.id] for text in chosen[child]]
            sentences = [*parts.sentences[node.id], *inner] or parts.rows[node.id]
            chosen[node.id] = self._choose(sentences, parts)
            captions = tuple(dict.fromkeys(parts.captions[node.id]))
            path = PATH_SEPARATOR.join(parts.paths[node.id])
            text = self._ask(path, sentences) or _joined(chosen[node.id])
            found[node.id] = Summary(path, text, captions)
        return {node.id: found[node.id] for node in nodes if node.id in found}

    async def asummarize(self, nodes: Sequence[TreeNode]) -> dict[str, Summary]:
        """:meth:`summarize` without blocking the event loop."""
        return await asyncio.to_thread(self.summarize, nodes)

    def annotate(self, nodes: Sequence[TreeNode]) -> None:
        """Writes the texts into the nodes as ``@summary``, where they say more than the title.

        A section so marked is embedded by its summary instead of by its first words.
        """
        found = self.summarize(nodes)
        for node in nodes:
            summary = found.get(node.id)
            text = "\n".join((summary.text, *summary.captions)) if summary is not None else ""
            if text.strip():
                node.attributes["summary"] = text.strip()

    def _choose(self, sentences: Sequence[str], parts: _Parts) -> list[str]:
        words = [parts.words(sentence) for sentence in sentences[:_MOST_SENTENCES]]
        centroid = Counter(word for found in words for word in found)
        scored = []
        for place, found in enumerate(words):
            weight = sum(centroid[word] * parts.rarity(word) for word in set(found))
            # Long sentences hold more words of any kind: the root keeps them from winning by that.
            near = weight / math.sqrt(len(found)) if found else 0.0
            scored.append((-near * (1 + 0.5 / (1 + place)), place))
        kept: list[int] = []
        room = self.max_tokens
        for _, place in sorted(scored):
            tokens = self._count(sentences[place])
            if len(kept) < self.sentences and (not kept or tokens <= room):
                kept.append(place)
                room -= tokens
        return [sentences[place] for place in sorted(kept)]

    def _ask(self, path: str, sentences: Sequence[str]) -> str:
        if self.llm is None or not sentences:
            return ""
        text = _joined(sentences)[:_LONGEST_SOURCE]
        prompt = _PROMPT.format(sentences=self.sentences, path=path, text=text)
        return str(self.llm.complete(prompt)).strip()


class _Parts:
    """What belongs to each section: its own sentences, its subsections, its captions."""

    def __init__(self, nodes: Sequence[TreeNode]) -> None:
        self.sections: dict[str, list[str]] = {}
        self.sentences: dict[str, list[str]] = {}
        self.rows: dict[str, list[str]] = {}
        self.captions: dict[str, list[str]] = {}
        self.paths: dict[str, list[str]] = {}
        self._documents: Counter[str] = Counter()
        self._known: dict[str, list[str]] = {}
        around: dict[str, str] = {}
        for node in nodes:
            holder = around.get(node.parent or "", "")
            if node.kind in _HOLDERS or not holder:
                self._open(node, holder)
                around[node.id] = node.id
                continue
            around[node.id] = holder
            if node.kind in ("Table", "Figure"):
                caption = node.attributes.get("caption") or node.attributes.get("alt")
                if caption:
                    self.captions[holder].append(str(caption))
            elif node.kind in _PROSE and _is_prose(node):
                self.sentences[holder] += split_sentences(" ".join(node.text.split()))
            elif node.kind == "Row" and len(self.rows[holder]) < _ROWS:
                self.rows[holder].append(row_sentence(node.attributes) or node.text)
        for sentences in self.sentences.values():
            for sentence in sentences:
                self._documents.update(set(self.words(sentence)))

    def _open(self, node: TreeNode, holder: str) -> None:
        above, title = self.paths.get(holder, []), node.title or node.text
        # The one top heading of a document is its title said again.
        self.paths[node.id] = [*above, title] if title and above[-1:] != [title] else above
        self.sections[node.id], self.sentences[node.id] = [], []
        self.rows[node.id], self.captions[node.id] = [], []
        if holder:
            self.sections[holder].append(node.id)

    def words(self, sentence: str) -> list[str]:
        """Words of a sentence; Chinese by pairs of characters."""
        found = self._known.get(sentence)
        if found is None:
            han = _HAN.findall(sentence)
            found = [run[i : i + 2] for run in han for i in range(len(run) - 1)]
            found += [word for word in _WORD.findall(_HAN.sub(" ", sentence.lower())) if word]
            self._known[sentence] = found
        return found

    def rarity(self, word: str) -> float:
        """Inverse document frequency of a word, a sentence being a document."""
        return math.log((1 + len(self._known)) / (1 + self._documents[word])) + 0.1


def _is_prose(node: TreeNode) -> bool:
    """Whether a node is text of its own, no caption, title or line of a table of contents."""
    return node.attributes.get("role") is None and not is_caption_text(node.text)


def _joined(sentences: Iterable[str]) -> str:
    text = ""
    for sentence in sentences:
        wide = text and text[-1] > "\u2e7f"
        text += sentence if wide or not text else f" {sentence}"
    return text
