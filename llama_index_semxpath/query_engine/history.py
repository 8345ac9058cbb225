"""Questions that lean on the conversation before them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from llama_index_semxpath.retrievers.words import content_words

_LEANING = re.compile(
    r"^\s*(?:and|but|what about|how about|so|then|why)\b|\b(?:it|its|they|them|their|that|those|"
    r"this|these|he|she|his|her|there|same|one)\b|^(?:那|那么|还有|呢|它|他|她|这|这个|该)|呢[？?]?$|它|他们|这些|那些",
    re.IGNORECASE,
)
#: A question with more words of its own stands for itself.
_FEW_WORDS = 5


def standalone(question: str, history: Sequence[Any] | None) -> str:
    """The question as it is searched: with the last one asked, where it leans on it.

    No model is asked for that. The answer itself is still written to the question as it was put,
    with the conversation before it.

    Args:
        question: What is asked now.
        history: Turns so far, oldest first: chat messages, or texts such as ``user: …``.

    Example:
        >>> standalone("And for juniors?", ["user: How many days of leave do seniors get?"])
        'How many days of leave do seniors get? And for juniors?'
        >>> standalone("How do I change the oil?", ["user: How many days of leave?"])
        'How do I change the oil?'
    """
    if not history or len(content_words(question)) > _FEW_WORDS:
        return question
    if not _LEANING.search(question):
        return question
    for turn in reversed(history):
        said = _asked(turn)
        if said:
            return f"{said} {question}"
    return question


def _asked(turn: Any) -> str:
    if isinstance(turn, str):
        role, colon, text = turn.partition(":")
        return text.strip() if colon and role.strip().lower() in ("user", "human", "用户") else ""
    role = getattr(getattr(turn, "role", ""), "value", "")
    return str(getattr(turn, "content", "") or "").strip() if role == "user" else ""
