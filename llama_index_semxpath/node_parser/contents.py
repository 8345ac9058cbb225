"""Parts of a page that are not its text: tables of contents, running heads, page numbers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from llama_index_semxpath.node_parser.lines import Line
from llama_index_semxpath.node_parser.numbering import split_number

_CONTENTS = re.compile(r"(?:table\s+of\s+)?contents:?|目\s*[录錄次]|outline|index", re.IGNORECASE)
# Leaders and a page number, or a wide gap before one.
_ENTRY = re.compile(
    r"(.*?\S)\s*(?:[.·…․‥]{2,}|(?:\s\.){2,}|\t|\s{3,})[.·…\s]*(\d{1,4}|[ivxlc]{1,6})$"
)
_PLAIN_ENTRY = re.compile(r"(.*\D)\s(\d{1,4})$")
_PAGE_NUMBER = re.compile(
    r"(?:[-–—]\s*)?(?:page|p\.|第)?\s*(?:\d{1,4}|[ivxlc]{1,6})\s*(?:页|頁)?"
    r"(?:\s*(?:of|/|共|,\s*共)\s*\d{1,4}\s*(?:页|頁)?)?(?:\s*[-–—])?",
    re.IGNORECASE,
)
_LEAST_RUN = 3
# Lines at each end of a page that may be a running head or foot.
_MARGIN = 2


def contents_lines(lines: Sequence[Line]) -> set[int]:
    """Indexes of the lines of tables of contents, their heading left out.

    A table of contents is a run of lines that end in page numbers after leaders, or, after a
    heading such as "Contents" or 目录, a run of lines that all come again further down.

    Example:
        >>> texts = ["Contents", "1 Scope .... 2", "2 Parts .... 5", "1 Scope", "All.", "2 Parts"]
        >>> sorted(contents_lines([Line(text, chunk=i) for i, text in enumerate(texts)]))
        [1, 2]
    """
    out: set[int] = set()
    later = _last_places(lines)
    index = 0
    while index < len(lines):
        titled = bool(_CONTENTS.fullmatch(lines[index].text))
        first = index + 1 if titled else index
        end = first
        while end < len(lines) and _is_entry(lines, end, later, titled=titled):
            end += 1
        if end - first >= (2 if titled else _LEAST_RUN):
            out.update(range(first, end))
            index = end
        else:
            index += 1
    return out


def is_contents_title(text: str) -> bool:
    """Whether a line is the heading of a table of contents.

    Example:
        >>> is_contents_title("目 录"), is_contents_title("Content policy")
        (True, False)
    """
    return bool(_CONTENTS.fullmatch(text))


def _is_entry(lines: Sequence[Line], at: int, later: dict[str, int], *, titled: bool) -> bool:
    line = lines[at]
    if line.block is not None or len(line.text) > 200:
        return False
    if _ENTRY.fullmatch(line.text):
        return True
    if titled and (match := _PLAIN_ENTRY.fullmatch(line.text)):
        return later.get(_fold(match[1]), -1) > at
    # Without page numbers an entry is known by its coming again.
    return (titled or split_number(line.text) is not None) and later.get(_fold(line.text), -1) > at


def _last_places(lines: Sequence[Line]) -> dict[str, int]:
    return {_fold(line.text): i for i, line in enumerate(lines) if line.block is None}


def _fold(text: str) -> str:
    return re.sub(r"[\s.·…:：]+", "", text[:200]).casefold()


def running_lines(lines: Sequence[Line]) -> set[int]:
    """Indexes of running heads, running feet and page numbers of a paged source.

    A line at the edge of a page runs when the same text, figures aside, stands at the edge of at
    least half of the pages (and of two), or when it is a page number and nothing else.

    Example:
        >>> pages = [["ACME manual", "Text one.", "1"], ["ACME manual", "Text two.", "2"]]
        >>> lines = [Line(t, page=p + 1) for p, texts in enumerate(pages) for t in texts]
        >>> sorted(running_lines(lines))
        [2, 3, 5]
    """
    pages: dict[int, list[int]] = defaultdict(list)
    for index, line in enumerate(lines):
        if line.page is not None:
            pages[line.page].append(index)
    if len(pages) < 2:
        return set()
    edges = {page: sorted({*items[:_MARGIN], *items[-_MARGIN:]}) for page, items in pages.items()}
    counts = Counter(
        key for items in edges.values() for key in {_shape(lines[i].text) for i in items}
    )
    need = max(2, len(pages) // 2)
    out: set[int] = set()
    for items in edges.values():
        for i in items:
            text = lines[i].text
            numbered = bool(_PAGE_NUMBER.fullmatch(text)) and any(char.isdigit() for char in text)
            if i == 0 and not numbered and _is_title_of(lines, text):
                continue
            if numbered or (counts[_shape(text)] >= need and len(text) <= 120):
                out.add(i)
    return out


def _is_title_of(lines: Sequence[Line], text: str) -> bool:
    """Whether the first line is larger than the heads that repeat it, where sizes are known."""
    others = [line.size for line in lines[1:] if _shape(line.text) == _shape(text)]
    return not lines[0].size or not others or lines[0].size > max(others) + 0.5


def _shape(text: str) -> str:
    return re.sub(r"[\W\d]+", " ", text).strip().casefold()
