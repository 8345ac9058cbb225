"""Text, links and images of one HTML element."""

from __future__ import annotations

from lxml import etree

from llama_index_semxpath.node_parser.html_prune import Element
from llama_index_semxpath.node_parser.inline import Inline, tidy

_NAMES = (
    "address article aside body center dd details dialog div fieldset figcaption figure footer "
    "form header hgroup html legend li main menu ol p section summary tbody td tfoot th thead tr "
    "ul dl dt blockquote pre table search h1 h2 h3 h4 h5 h6 hr caption textarea"
)
#: Elements that begin and end a block.
FLOW = frozenset(_NAMES.split())
# A run of blanks becomes one when the whole text is tidied.
_BLANKS = str.maketrans("\t\r\n\f", "    ")


def one_line(text: str) -> str:
    """The text with a blank for each character that a browser shows as one."""
    return text.translate(_BLANKS) if "\r" in text else text.replace("\n", " ")


def inline_of(element: Element) -> Inline:
    """The text, links and images of an element, whatever it holds."""
    inline = Inline()
    for event, inner in etree.iterwalk(element, events=("start", "end")):
        tag = inner.tag
        if event == "start":
            if tag in FLOW:
                inline.parts.append(" ")
            elif tag == "br":
                inline.parts.append("\n")
            elif tag == "a":
                inline.open_link(target_of(inner))
            elif tag == "img":
                alternative = tidy(inner.get("alt") or "")
                inline.add(alternative)
                inline.add_image((inner.get("src") or "").strip(), alternative)
            if inner.text:
                inline.add(one_line(inner.text))
            continue
        if tag == "a":
            inline.close_link()
        elif tag in FLOW:
            inline.parts.append(" ")
        if inner.tail and inner is not element:
            inline.add(one_line(inner.tail))
    return inline


def target_of(link: Element) -> str:
    """Where a link leads, if it leads out of the page."""
    target = (link.get("href") or "").strip()
    return "" if target.startswith(("#", "javascript:")) else target
