"""Words for keyword evidence, and sentences. English and Chinese."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import Any

_CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af"
_RUN = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+(?:[.,'’-][^\W_{_CJK}]+)*")
_IS_CJK = re.compile(f"[{_CJK}]")
#: The stemmer keeps state while it works.
_STEMMER_LOCK = threading.Lock()
_PART = re.compile(r"[.,'’-]")
_SENTENCE = re.compile(
    rf"(?<=[。！？!?；;])\s*(?=\S)|(?<=[a-z0-9)\]\"”’][.])\s+(?=[\"“‘(\[A-Z0-9])"
    rf"|(?<=[{_CJK}][.])\s+|\n+"
)

_STOPWORDS_EN = """
a about all also am an and any are as at be been being but by can could did do does doing for
from had has have having he her hers him his how i if in into is it its just me more most my no
not of on or our out please she should so some such than that the their them then there these
they this those to too up us many much was we were what when where which who whom whose why will
with would you your tell show give list find describe explain get say says said mean means
"""
_STOPWORDS_ZH = """
的 了 是 在 和 与 及 或 有 我 你 您 他 她 它 我们 你们 他们 这 那 这个 那个
哪 哪些 哪个 什么 怎么 怎样 如何 吗 呢 吧 啊 请 请问 多少 几 谁 为 为什么 被
把 对 从 到 以 于 中 里 上 下 就 都 而 并 等 其 之 所 要 可以 能 是否 一个
根据 关于 进行 告诉
"""

#: Characters that join words and say nothing themselves.
_FUNCTION_CHARS = frozenset("和与及或的了是在谁被把对从到以于并等其之所")


def is_cjk(text: str) -> bool:
    """Whether a text holds Chinese, Japanese or Korean characters.

    Example:
        >>> is_cjk("年假"), is_cjk("leave")
        (True, False)
    """
    return _IS_CJK.search(text) is not None


def words(text: str, *, pairs: bool = True) -> list[str]:
    """Search words: folded, English plurals cut, Chinese segmented and in character pairs.

    A Chinese segmenter cuts unknown names at will, so each run also gives its character pairs; two
    texts that share a name then share words whatever the segmenter thought.

    Args:
        text: Any text.
        pairs: Whether to add the pairs of Chinese characters that are no words.

    Returns:
        Words in order, repeated as often as they occur.

    Example:
        >>> words("The Contracts of 2,000 pages")
        ['the', 'contract', 'of', '2000', 'page']
        >>> words("年假")
        ['年', '假', '年假']
    """
    found: list[str] = []
    for match in _RUN.finditer(unicodedata.normalize("NFKC", text).lower()):
        run = match.group()
        if _IS_CJK.match(run):
            found.extend(_chinese(run, pairs))
        else:
            found.extend(_latin(run))
    return found


def search_words(*texts: str, pairs: bool = True) -> Counter[str]:
    """Counts of the words that texts are searched by.

    Words that say nothing are left out; English words are cut to their stems (Porter, "Snowball",
    2001).

    Args:
        texts: Any texts.
        pairs: Whether to add the pairs of Chinese characters that are no words.

    Example:
        >>> sorted(search_words("distributing the 年假 of employees"))
        ['distribut', 'employe', '假', '年', '年假']
    """
    return Counter(_root(word) for text in texts for word in words(text) if word not in STOPWORDS)


def content_words(text: str) -> list[str]:
    """Distinct words of a text that carry its meaning, in order of first use.

    Example:
        >>> content_words("How many days of annual leave are there?")
        ['day', 'annual', 'leave']
    """
    found = (word for word in words(text, pairs=False) if word not in STOPWORDS)
    return list(dict.fromkeys(found))


def sentences(text: str) -> list[str]:
    """Sentences of a text, cut at English and Chinese stops and at line ends.

    Example:
        >>> sentences("Open v2.1 first. Then close it.\\n第一句。第二句！")
        ['Open v2.1 first.', 'Then close it.', '第一句。', '第二句！']
    """
    return [part.strip() for part in _SENTENCE.split(text) if part and part.strip()]


@lru_cache(maxsize=65536)
def _chinese(run: str, pairs: bool) -> tuple[str, ...]:
    import rjieba

    cut = [word for word in rjieba.cut_for_search(run) if _IS_CJK.match(word)]
    if not pairs:
        return tuple(cut)
    known = set(cut)
    beside = (run[i : i + 2] for i in range(len(run) - 1))
    return (*cut, *(pair for pair in beside if pair not in known and not _is_accident(pair)))


@lru_cache(maxsize=65536)
def _latin(run: str) -> tuple[str, ...]:
    if run[0].isdigit():
        return (re.sub(r"(?<=\d),(?=\d{3})", "", run),)
    parts = [part for part in _PART.split(run) if part]
    if len(parts) == 2 and parts[1] in ("s", "t", "re", "ll", "ve", "d", "m"):
        parts = parts[:1]
    stems = tuple(_stem(part) for part in parts)
    # A compound ("re-index", "next.js") is searched by its parts and as one word.
    return (*stems, "".join(parts)) if len(parts) > 1 else stems


@lru_cache(maxsize=65536)
def _root(word: str) -> str:
    if not (word.isascii() and word.isalpha()):
        return word
    with _STEMMER_LOCK:
        return str(_stemmer().stemWord(word))


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")


def _is_accident(pair: str) -> bool:
    """Whether a pair of characters runs over a function word ("某和", "院的")."""
    return pair[0] in _FUNCTION_CHARS or pair[1] in _FUNCTION_CHARS


def _stem(word: str) -> str:
    """Plural to singular, after Harman's S-stemmer (JASIS 1991)."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("us", "ss")):
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    return word[:-1]


#: Words that say nothing about what a question is about, as given and as they are stemmed.
STOPWORDS = frozenset(_STOPWORDS_ZH.split()).union(
    *({word, _stem(word)} for word in _STOPWORDS_EN.split())
)
