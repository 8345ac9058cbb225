"""The heading path as it is embedded before a node's text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

PATH_SEPARATOR = " > "
_ELLIPSIS = "…"
# A line break between path and text, and what a tokenizer may do at the seam.
_SEAM = 3


def fit_path(path: Sequence[str], max_tokens: int, count: Callable[[str], int]) -> tuple[str, int]:
    """The heading path in at most half of a node's tokens.

    The innermost titles are kept, since they tell most about the node; a single title that is too
    long is cut.

    Args:
        path: Titles, outermost first.
        max_tokens: Token limit of the whole node.
        count: Counts tokens.

    Returns:
        The path as one line, and the tokens to set aside for it (0 for no path).

    Example:
        >>> fit_path(["Menu", "Soups"], 64, lambda text: len(text.split()))
        ('Menu > Soups', 6)
    """
    if not path:
        return "", 0
    limit = max_tokens // 2 - _SEAM
    text = PATH_SEPARATOR.join(path)
    tokens = count(text)
    titles = list(path)
    while tokens > limit and len(titles) > 1:
        # Halving keeps a path of thousands of titles linear.
        titles = titles[(len(titles) + 1) // 2 :]
        text = PATH_SEPARATOR.join([_ELLIPSIS, *titles])
        tokens = count(text)
    while tokens > limit and len(text) > 1:
        text = text[: max(1, len(text) * limit // (tokens + 1))].rstrip()[:-1] + _ELLIPSIS
        tokens = count(text)
    return text, tokens + _SEAM
