"""What fits a token budget."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_TOKEN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]|[^\W\u3400-\u9fff\uf900-\ufaff]+|[^\w\s]")


def token_count(text: str) -> int:
    """Tokens of a text as sent: words, Chinese characters, and other visible characters.

    A model's own tokenizer may be given wherever a count is wanted; this one needs none and is
    near the common ones in English and Chinese.

    Example:
        >>> token_count("9 May, Ann: hi!"), token_count("上周五 ok")
        (7, 4)
    """
    return len(_TOKEN.findall(text))


def fill(order: Iterable[int], prices: Sequence[int], budget: int) -> list[int]:
    """The entries, best first, that fit a budget together; one that does not fit is passed over.

    Args:
        order: Places of the entries, best first.
        prices: What each place costs, in tokens.
        budget: Tokens at most.

    Example:
        >>> fill([0, 1, 2], [60, 50, 30], 100)
        [0, 2]
    """
    taken = []
    for place in order:
        if prices[place] <= budget:
            taken.append(place)
            budget -= prices[place]
        if budget <= 0:
            break
    return taken
