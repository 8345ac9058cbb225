"""Metrics of one answer: what was returned, cut at a token budget, against the gold passages.

Tokens are those of ``retrievers.packs.count_tokens``: each CJK character, each run of other
letters and digits. What does not stand in the named document costs budget and earns nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from llama_index_semxpath.evaluation.dataset import Gold, Question
from llama_index_semxpath.retrievers.packs import TOKEN

#: Share of a passage's tokens from which it counts as returned.
_COVERED = 0.9
_LINE = re.compile(r"\n+")
_CLAUSE = re.compile(r"(?<=[.!?。！？；;:：,，|])")


@dataclass(frozen=True, slots=True)
class Context:
    """A piece of text that a pipeline returns.

    Args:
        document: Document id.
        text: The text.
        section: Title of the section that it stands in, where known.
    """

    document: str
    text: str
    section: str | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """The figures of one question.

    Args:
        question: Its id.
        values: Each metric in [0, 1] by name; ``seconds`` and ``tokens`` as they are.
    """

    question: str
    values: Mapping[str, float] = field(default_factory=dict)


class Text:
    """A document as tokens, to find places in."""

    def __init__(self, text: str) -> None:
        self.tokens = tokens(text)
        self._joined = "\x1f" + "\x1f".join(self.tokens) + "\x1f"
        self._starts: dict[int, int] = {}
        at = 0
        for place, token in enumerate(self.tokens):
            self._starts[at] = place
            at += len(token) + 1

    def find(self, wanted: Sequence[str], after: int = 0) -> int:
        """Place of the first token of a run, from some place on if it stands there; or -1."""
        if not wanted:
            return -1
        run = "\x1f" + "\x1f".join(wanted) + "\x1f"
        found = -1
        while True:
            found = self._joined.find(run, found + 1)
            if found < 0:
                return self.find(wanted) if after else -1
            if self._starts[found] >= after:
                return self._starts[found]


def tokens(text: str) -> list[str]:
    """Tokens of a text, folded."""
    return [match.group().lower() for match in TOKEN.finditer(text)]


def measure(
    question: Question,
    contexts: Sequence[Context],
    texts: Mapping[str, Text],
    *,
    budgets: Sequence[int] = (1000, 2000),
    ranks: Sequence[int] = (5, 10),
) -> dict[str, float]:
    """Metrics of what was returned for a question.

    ``recall@B``: share of the gold passages with 90 % of their tokens within the first B tokens;
    ``precision@B``: share of those tokens that are gold; ``doc_recall@k``, ``ndcg@k``: documents
    among the first k of them (binary gain); ``section_hit``: whether the first context stands in a
    gold passage's section, or in its document where no section is known.

    Args:
        question: With its gold passages.
        contexts: What was returned, best first.
        texts: The documents.
        budgets: Token budgets, each 1 and up.
        ranks: Ranks k, each 1 and up.
    """
    returned = _places(contexts, texts, max(budgets))
    gold = [
        [places for one in alike if (places := _gold_places(one, texts))] for alike in question.gold
    ]
    gold = [alike for alike in gold if alike]
    wanted = set().union(*(places for alike in gold for places in alike))
    values: dict[str, float] = {}
    for budget in budgets:
        within = returned[:budget]
        held = {place for place in within if place is not None}
        full = [
            max(len(places & held) / len(places) for places in alike) >= _COVERED for alike in gold
        ]
        values[f"recall@{budget}"] = sum(full) / len(full) if full else 0.0
        values[f"precision@{budget}"] = len(held & wanted) / len(within) if within else 0.0
    documents = list(dict.fromkeys(one.document for one in contexts))
    right = set(question.documents)
    for rank in ranks:
        first = documents[:rank]
        values[f"doc_recall@{rank}"] = len(right & set(first)) / len(right) if right else 0.0
        gain = sum(1 / math.log2(at + 2) for at, doc in enumerate(first) if doc in right)
        best = sum(1 / math.log2(at + 2) for at in range(min(rank, len(right))))
        values[f"ndcg@{rank}"] = gain / best if best else 0.0
    values["section_hit"] = float(bool(contexts) and _hits(contexts[0], question))
    values["tokens"] = float(sum(len(tokens(one.text)) for one in contexts))
    return values


def _hits(context: Context, question: Question) -> bool:
    for alike in question.gold:
        for one in alike:
            if one.document == context.document and one.section in (None, context.section):
                return True
    return context.document in question.documents and not question.gold


def _gold_places(gold: Gold, texts: Mapping[str, Text]) -> frozenset[tuple[str, int]]:
    text = texts.get(gold.document)
    wanted = tokens(gold.text)
    start = -1 if text is None else text.find(wanted)
    return (
        frozenset((gold.document, start + at) for at in range(len(wanted)))
        if start >= 0
        else frozenset()
    )


def _places(
    contexts: Sequence[Context], texts: Mapping[str, Text], most: int
) -> list[tuple[str, int] | None]:
    """For each returned token its place, ``None`` where it is not of the document."""
    found: list[tuple[str, int] | None] = []
    for context in contexts:
        text = texts.get(context.document)
        for place in _aligned(text, context.text):
            found.append(None if place is None else (context.document, place))
        if len(found) >= most:
            break
    return found


def _aligned(text: Text | None, returned: str) -> list[int | None]:
    wanted = tokens(returned)
    if text is None:
        return [None] * len(wanted)
    start = text.find(wanted)
    if start >= 0:
        return list(range(start, start + len(wanted)))
    found: list[int | None] = []
    after = 0
    for line in _LINE.split(returned):
        run = tokens(line)
        parts = [run] if text.find(run) >= 0 else [tokens(part) for part in _CLAUSE.split(line)]
        for part in parts:
            start = text.find(part, after)
            if start < 0:
                found.extend([None] * len(part))
            else:
                found.extend(range(start, start + len(part)))
                after = start + len(part)
    return found
