"""Recall of evidence turns from long conversations, under token budgets.

    python benchmarks/memory_recall.py --data ../shared/bench/locomo_dev.jsonl

For each question the turns are ranked and taken, best first, while they fit the budget; what is
printed is the share of the question's evidence turns among them. A turn costs what it costs to
send by itself, with the time of its session and its speaker. All rows use the same embeddings.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llama_index_semxpath.index.embedding import PackagedEmbedder
from llama_index_semxpath.memory.evidence import EvidenceIndex, EvidenceWeights, Utterance
from llama_index_semxpath.memory.packing import fill, token_count

BUDGETS = (500, 1000, 2000)
KINDS = ("multi-hop", "open-domain", "temporal", "single-hop")
Scores = NDArray[np.float64]


@dataclass
class Conversation:
    name: str
    index: EvidenceIndex
    prices: list[int]
    vectors: NDArray[np.float32]
    questions: list[dict[str, Any]]
    question_vectors: NDArray[np.float32]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/bench/locomo_dev.jsonl"))
    args = parser.parse_args()
    lines = args.data.read_text("utf-8").splitlines()
    conversations = [read(json.loads(line)) for line in lines]
    print(f"{'':28}" + "".join(f"{budget:>8}" for budget in BUDGETS) + "   at 1,000 by type")
    for name, rank in METHODS.items():
        report(name, conversations, rank)


def read(row: dict[str, Any]) -> Conversation:
    turns, sent = [], []
    for session in row["sessions"]:
        time = dt.datetime.strptime(session["time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=dt.UTC)
        for turn in session["turns"]:
            turns.append(Utterance(turn["id"], turn["text"], session["id"], turn["speaker"], time))
            sent.append(f"{session['time']} {turn['speaker']}: {turn['text']}")
    known = {turn.id for turn in turns}
    questions = [one for one in row["qa"] if known.intersection(one["evidence"])]
    embedder = PackagedEmbedder()
    return Conversation(
        name=row["conversation"],
        index=EvidenceIndex(turns),
        prices=[token_count(text) for text in sent],
        vectors=embedder.embed_texts(sent),
        questions=questions,
        question_vectors=embedder.embed_texts([one["question"] for one in questions]),
    )


def dense(conversation: Conversation, at: int) -> Scores:
    return (conversation.vectors @ conversation.question_vectors[at]).astype(np.float64)


def keywords(conversation: Conversation, at: int) -> Scores:
    only_own = EvidenceWeights(nearby=0, session=0, meaning=0, speaker=0, date=0)
    question = conversation.questions[at]["question"]
    return conversation.index.grade(question, weights=only_own).scores


def reciprocal_rank(conversation: Conversation, at: int) -> Scores:
    total = np.zeros(len(conversation.index))
    for rank in (dense, keywords):
        order = np.argsort(-rank(conversation, at), kind="stable")
        total[order] += 1 / (60 + np.arange(1, len(order) + 1))
    return total


def ours(conversation: Conversation, at: int) -> Scores:
    return conversation.index.grade(
        conversation.questions[at]["question"],
        vectors=lambda rows: conversation.vectors[rows],
        question_vector=conversation.question_vectors[at],
    ).scores


def ours_by_words(conversation: Conversation, at: int) -> Scores:
    return conversation.index.grade(conversation.questions[at]["question"]).scores


METHODS: dict[str, Callable[[Conversation, int], Scores]] = {
    "dense": dense,
    "BM25, stemmed": keywords,
    "reciprocal rank of the two": reciprocal_rank,
    "ours without embeddings": ours_by_words,
    "ours": ours,
}


def report(
    name: str,
    conversations: Sequence[Conversation],
    rank: Callable[[Conversation, int], Scores],
) -> None:
    found: dict[tuple[int, str], list[float]] = defaultdict(list)
    by_conversation = Counter[str]()
    for conversation in conversations:
        for at, question in enumerate(conversation.questions):
            order = np.argsort(-rank(conversation, at), kind="stable").tolist()
            gold = set(question["evidence"]).intersection(conversation.index.ids)
            for budget in BUDGETS:
                taken = fill(order, conversation.prices, budget)
                share = len(gold.intersection(conversation.index.ids[row] for row in taken))
                found[budget, "all"].append(share / len(gold))
                found[budget, question["category"]].append(share / len(gold))
                if budget == 1000:
                    by_conversation[conversation.name] += share / len(gold)
    figures = "".join(f"{np.mean(found[budget, 'all']):8.3f}" for budget in BUDGETS)
    kinds = "  ".join(f"{kind} {np.mean(found[1000, kind]):.3f}" for kind in KINDS)
    print(f"{name:28}{figures}   {kinds}")
    counts = {one.name: len(one.questions) for one in conversations}
    each = "  ".join(f"{key}: {by_conversation[key] / counts[key]:.3f}" for key in counts)
    print(f"{'':28}   by conversation  {each}")


if __name__ == "__main__":
    main()
