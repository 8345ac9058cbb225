"""Words for the keyword index: Chinese cut into words, everything else left to the tokenizer."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Ideographs (with the extensions that fonts carry), kana and bopomofo: scripts without spaces.
_UNSPACED = re.compile(
    r"[\u2e80-\u2fdf\u3005-\u3007\u3040-\u312f\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
# The tokenizer of the index takes an underscore for a separator.
_WORD = re.compile(r"[^\W_]+")
_MAX_QUERY_WORDS = 256


def segment(text: str) -> str:
    """The text with spaces between Chinese words, long words also in their parts.

    Args:
        text: Any text.

    Returns:
        Text for the keyword index; text without such scripts is returned as it is.

    Example:
        >>> segment("员工规定 policy")
        ' 员工 规定  policy'
    """
    if text.isascii() or not _UNSPACED.search(text):
        return text
    return _UNSPACED.sub(lambda run: f" {' '.join(_cut(run[0], search=True))} ", text)


def query_words(text: str) -> list[str]:
    """The words of a question, in order, each once.

    Example:
        >>> query_words("How is the 年假 counted?")
        ['how', 'is', 'the', '年', '假', 'counted']
    """
    words: dict[str, None] = {}
    for word in _words(text.casefold()):
        words.setdefault(word)
        if len(words) == _MAX_QUERY_WORDS:
            break
    return list(words)


def match_expression(words: list[str]) -> str:
    """An FTS5 expression that matches rows with any of the words, each quoted as data.

    Example:
        >>> match_expression(["年假", 'a"b'])
        '"年假" OR "a""b"'
    """
    return " OR ".join('"' + word.replace('"', '""') + '"' for word in words)


def _words(text: str) -> Iterator[str]:
    for run in _WORD.findall(text):
        start = 0
        for unspaced in _UNSPACED.finditer(run):
            if start < unspaced.start():
                yield run[start : unspaced.start()]
            yield from _cut(unspaced[0], search=True)
            start = unspaced.end()
        if start < len(run):
            yield run[start:]


def _cut(run: str, *, search: bool) -> list[str]:
    import rjieba

    words: list[str] = rjieba.cut_for_search(run, True) if search else rjieba.cut(run, True)
    return words
