"""Whether a tree holds its source: every visible character in exactly one node's text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.tree.node import TreeNode

# White space is tidied, and the bars between the cells of a row are ours.
_IGNORED = re.compile(r"[\s|\u200b\xad]+")
_CONTEXT = 40


@dataclass(frozen=True, slots=True)
class Loss:
    """What a tree lacks of its source, or has too much.

    Args:
        characters: Visible characters of the source, white space left out.
        missing: How many of them are in no node's text.
        added: How many characters of the nodes the source does not have (twice the same text).
        at: Where source and tree first differ, as ``(source, tree)`` excerpts; ``None`` if nowhere.
    """

    characters: int
    missing: int
    added: int
    at: tuple[str, str] | None


def measure_loss(source: str, nodes: Sequence[TreeNode], format: str) -> Loss:  # noqa: A002
    """Compares the visible text of a source with the texts of its nodes.

    The visible text comes from the format's own parser (lxml's text of the page without what is
    hidden, pulldown-cmark's HTML of the Markdown), not from our blocks.

    Args:
        source: The decoded source.
        nodes: Its tree, in document order.
        format: ``html`` or ``markdown``.

    Raises:
        SemXPathError: The visible text of another format cannot be told apart from its markup.

    Example:
        >>> from llama_index_semxpath.node_parser.registry import parse_bytes
        >>> page = "<h1>Oil</h1><p>Two <b>litres</b>."
        >>> measure_loss(page, parse_bytes(page, "a.html"), "html")
        Loss(characters=13, missing=0, added=0, at=None)
    """
    if format == "markdown":
        source = _markdown_page(source)
    elif format != "html":
        raise SemXPathError(f"cannot measure the loss of {format!r}", hint="give html or markdown")
    seen = _IGNORED.sub("", _page_text(source))
    held = _IGNORED.sub("", "".join(node.text for node in nodes))
    wanted, found = Counter(seen), Counter(held)
    return Loss(
        len(seen),
        sum((wanted - found).values()),
        sum((found - wanted).values()),
        _first_difference(seen, held),
    )


def _page_text(page: str) -> str:
    from llama_index_semxpath.node_parser.html_prune import read_page

    root = read_page(page)
    body = root.find("body")
    for image in root.iter("img"):
        figure = next(image.iterancestors("figure"), None)
        # A caption says what the picture shows; the alternative text is not shown beside it.
        if figure is None or next(figure.iter("figcaption"), None) is None:
            image.text = image.get("alt")
    for quotation in root.iter("q"):
        quotation.text = "“" + (quotation.text or "")
        quotation.tail = "”" + (quotation.tail or "")
    return "".join((root if body is None else body).itertext())


def _markdown_page(source: str) -> str:
    import pyromark

    from llama_index_semxpath.node_parser.frontmatter import split_front_matter
    from llama_index_semxpath.node_parser.markdown import EXTENSIONS

    _, start = split_front_matter(source)
    return pyromark.html(source[start:], options=EXTENSIONS)


def _first_difference(seen: str, held: str) -> tuple[str, str] | None:
    if seen == held:
        return None
    low, high = 0, min(len(seen), len(held))
    while low < high:
        middle = (low + high + 1) // 2
        if seen[:middle] == held[:middle]:
            low = middle
        else:
            high = middle - 1
    start = max(0, low - _CONTEXT // 2)
    return seen[start : low + _CONTEXT], held[start : low + _CONTEXT]
