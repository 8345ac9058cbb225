"""What of an HTML page is not its content: scripts, hidden elements, navigation, permalinks."""

from __future__ import annotations

import re
from typing import Any

from lxml import etree

from llama_index_semxpath.errors import SourceError
from llama_index_semxpath.tree.node import Value

#: An lxml element; the library has no types of its own.
Element = Any

_NEVER = (
    "script|style|template|noscript|nav|iframe|object|embed|svg|canvas|audio|video|map|button|select"
    "|datalist|dialog|frameset|noframes|area|applet"
)
# Class names that Sphinx, docutils, MkDocs and Pygments give to navigation and line numbers.
_NAVIGATION = (
    "headerlink|anchor-link|related|sphinxsidebar|sphinxsidebarwrapper|linenos|linenodiv|lineno"
    "|gutter|breadcrumb|breadcrumbs|prev-next-area|skip-link|mobile-nav|md-source-file"
)


def _has_class(names: str) -> str:
    padded = "concat(' ', normalize-space(@class), ' ')"
    return " or ".join(f"contains({padded}, ' {name} ')" for name in names.split("|"))


_UNWANTED = etree.XPath("|".join(f"//{name}" for name in _NEVER.split("|")))
_HIDDEN = etree.XPath(
    "//body//*[@hidden or @aria-hidden='true' or @role='navigation' or @role='search'"
    " or @role='contentinfo' or @role='menu' or @role='menubar']"
    f"|//body//*[@class and ({_has_class(_NAVIGATION)})]"
    "|//body//*[contains(@class, 'contents') and contains(@class, 'topic')]"
)
_STYLED = etree.XPath("//body//*[contains(@style, 'none') or contains(@style, 'hidden')]")
_NOT_SHOWN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.I)
_MAIN = etree.XPath("boolean(//main|//article|//*[@role='main'])")
_PAGE_FOOTER = etree.XPath(
    "//footer[not(ancestor::article or ancestor::main or ancestor::section)]"
)
_PERMALINK = etree.XPath(
    "//*[self::h1 or self::h2 or self::h3 or self::h4 or self::h5 or self::h6 or self::dt"
    " or self::caption or self::figcaption]//a[starts-with(@href, '#') and"
    " (.='¶' or .='#' or .='§' or .='🔗' or .='\uf0c1')]"
)
_META = {
    "author": "author",
    "date": "date",
    "dc.date": "date",
    "dcterms.created": "date",
    "description": "description",
    "keywords": "keywords",
    "generator": "generator",
}


def read_page(source: str) -> Element:
    """The element tree of a page, without what is not content.

    No entity is expanded beyond HTML's own characters and nothing is fetched.

    Raises:
        SourceError: There is no element in it.
    """
    parser = etree.HTMLParser(
        encoding="utf-8",
        huge_tree=True,
        no_network=True,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(source.encode("utf-8", "replace"), parser)
    except etree.ParserError:
        root = None
    if root is None:
        raise SourceError("the page is empty", hint="remove it or fill it")
    prune(root)
    return root


def prune(root: Element) -> None:
    """Takes out of a tree what a reader of the page does not read."""
    unwanted = _UNWANTED(root) + _HIDDEN(root) + _PERMALINK(root)
    unwanted += [el for el in _STYLED(root) if _NOT_SHOWN.search(el.get("style", ""))]
    if _MAIN(root):
        unwanted += _PAGE_FOOTER(root)
    for element in unwanted:
        _remove(element)


def _remove(element: Element) -> None:
    """Takes out an element and leaves the text after it where it was."""
    parent = element.getparent()
    if parent is None:
        return
    if element.tail:
        before = element.getprevious()
        if before is None:
            parent.text = (parent.text or "") + element.tail
        else:
            before.tail = (before.tail or "") + element.tail
        element.tail = None
    parent.remove(element)


def page_attributes(root: Element) -> dict[str, Value]:
    """Attributes of the document: title, language and what ``<meta>`` says."""
    found: dict[str, Value] = {}
    title = root.find(".//head/title")
    text = " ".join("".join(title.itertext()).split()) if title is not None else ""
    if text:
        found["title"] = text
    if language := (root.get("lang") or root.get("{http://www.w3.org/XML/1998/namespace}lang")):
        found["lang"] = language
    for meta in root.iterfind(".//head/meta"):
        name = _META.get((meta.get("name") or "").lower())
        content = " ".join((meta.get("content") or "").split())
        if name and content:
            found.setdefault(name, content)
    return found
