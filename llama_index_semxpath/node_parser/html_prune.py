"""What of an HTML page is not its content: scripts, hidden elements, navigation, permalinks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lxml import etree

from llama_index_semxpath.errors import SourceError
from llama_index_semxpath.node_parser.values import typed_value
from llama_index_semxpath.tree.node import Value

#: An lxml element; the library has no types of its own.
Element = Any

_NEVER_NAMES = (
    "script style template noscript nav iframe object embed svg canvas audio video map button "
    "select datalist dialog frameset noframes area applet"
)
_NEVER = frozenset(_NEVER_NAMES.split())
_ROLES = frozenset(("navigation", "search", "contentinfo", "menu", "menubar", "toolbar"))
# Class names that Sphinx, docutils, MkDocs and Pygments give to navigation and line numbers.
_NAVIGATION_NAMES = (
    "headerlink anchor-link related sphinxsidebar sphinxsidebarwrapper linenos linenodiv lineno "
    "gutter breadcrumb breadcrumbs prev-next-area skip-link mobile-nav md-source-file nav navbar "
    "navigation main-nav site-nav top-nav footer-nav side-nav sidenav topnav nav-links pagination"
)
_NAVIGATION = frozenset(_NAVIGATION_NAMES.split())
_CONTENTS = frozenset(("contents", "topic"))
_NOT_SHOWN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.I)
_PERMALINKS = frozenset(("¶", "#", "§", "🔗", "\uf0c1"))
_PERMALINK_PLACES = ("h1", "h2", "h3", "h4", "h5", "h6", "dt", "caption", "figcaption")
_AROUND = frozenset(("header", "footer", "aside"))
_CONTENT_PLACES = ("article", "main", "section")
_TAG = re.compile(r"""<([A-Za-z][\w:-]*+)(?:[^>"']++|"[^"]*+"|'[^']*+')*+""")
_ANY_TAG = re.compile(r"""<(/?)([A-Za-z][\w:-]*+)(?:[^>"']++|"[^"]*+"|'[^']*+')*+>""")
# Spelt out, since a pattern that ignores case is tried at every character.
_BODY_END = re.compile(r"</(?:[Bb][Oo][Dd][Yy]|[Hh][Tt][Mm][Ll])\s*>")
_LONG_TAG = 20_000
_LONG_RUN = re.compile(f"<[^<]{{{_LONG_TAG}}}")
_MANY_ATTRIBUTES = 1_000
_DEEPEST = 500
# Elements without content, and those that the next of their kind closes.
_LEAF_NAMES = (
    "area base br col embed hr img input link meta param source track wbr p li dt dd tr td th "
    "option thead tbody tfoot"
)
_LEAVES = frozenset(_LEAF_NAMES.split())
# Said to browsers and crawlers, not about the document.
_TECHNICAL = re.compile(
    r"viewport|generator|robots|googlebot|theme-color|color-scheme|referrer|format-detection|rating"
    r"|csrf-.*|msapplication-.*|apple-.*|mobile-.*|twitter:.*|og:.*|.*-verification|next-.*"
)


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
    # What follows </html> belongs to the body, says the HTML Standard; libxml2 drops it.
    source = _short_tags(_BODY_END.sub("", source))
    root = _parse(source, parser)
    if any("depth" in error.message for error in parser.error_log):
        # libxml2 drops all that follows a nesting of more than 2,048 elements.
        root = _parse(_flattened(source), parser)
    if root is None:
        raise SourceError("the page is empty", hint="remove it or fill it")
    prune(list(root.iter()))
    return root


def _parse(source: str, parser: etree.HTMLParser) -> Element | None:
    try:
        return etree.fromstring(source.encode("utf-8", "replace"), parser)
    except etree.ParserError:
        return None


def _short_tags(source: str) -> str:
    """The page without the attributes of tags that have thousands: reading those is quadratic."""
    if _LONG_RUN.search(source) is None:
        return source

    def shortened(match: re.Match[str]) -> str:
        many = len(match[0]) > _LONG_TAG and match[0].count("=") > _MANY_ATTRIBUTES
        return f"<{match[1]} " if many else match[0]

    return _TAG.sub(shortened, source)


def _flattened(source: str) -> str:
    """The page without the tags that nest deeper than a limit; their text stays."""
    depth = 0
    parts: list[str] = []
    cursor = 0
    for match in _ANY_TAG.finditer(source):
        name = match[2].lower()
        if name in _LEAVES:
            continue
        depth += -1 if match[1] else 1
        if depth > _DEEPEST or (match[1] and depth == _DEEPEST):
            parts += [source[cursor : match.start()], " "]
            cursor = match.end()
    parts.append(source[cursor:])
    return "".join(parts)


def prune(elements: Sequence[Element]) -> None:
    """Takes out of a tree what a reader of the page does not read.

    Args:
        elements: All of its elements, in document order.
    """
    unwanted: list[Element] = []
    around: list[Element] = []
    has_main = False
    navigation: dict[str, bool] = {}
    for element in elements:
        tag = element.tag
        if tag in _NEVER:
            unwanted.append(element)
            continue
        if tag in _AROUND:
            around.append(element)
        has_main = has_main or tag == "main" or tag == "article"
        names = element.keys()
        if not names:
            continue
        if "class" in names:
            kind = element.get("class")
            found = navigation.get(kind)
            if found is None:
                found = navigation[kind] = _is_navigation(kind)
            if found:
                unwanted.append(element)
                continue
            if len(names) == 1:
                continue
        if (tag == "a" and _is_permalink(element)) or _is_hidden(element, tag):
            unwanted.append(element)
        has_main = has_main or element.get("role") == "main"
    if has_main:
        unwanted += [element for element in around if _is_furniture(element)]
    for element in unwanted:
        _remove(element)


def _is_furniture(element: Element) -> bool:
    """Whether a header, footer or aside belongs to the page and not to its main content."""
    if next(element.iterancestors(*_CONTENT_PLACES), None) is not None:
        return False
    if element.tag == "header":
        return next(element.iter("h1", "h2", "h3", "main", "article"), None) is None
    return next(element.iter("main", "article"), None) is None


def _is_navigation(classes: str) -> bool:
    names = frozenset(classes.split())
    return not names.isdisjoint(_NAVIGATION) or names >= _CONTENTS


def _is_hidden(element: Element, tag: str) -> bool:
    if tag in ("html", "body"):
        return False
    if element.get("hidden") is not None or element.get("aria-hidden") == "true":
        return True
    style = element.get("style")
    return element.get("role") in _ROLES or (style is not None and bool(_NOT_SHOWN.search(style)))


def _is_permalink(link: Element) -> bool:
    """Whether a link in a heading only gives the heading's own address."""
    if link.text not in _PERMALINKS or len(link) or not (link.get("href") or "").startswith("#"):
        return False
    return next(link.iterancestors(*_PERMALINK_PLACES), None) is not None


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
        name = (meta.get("name") or "").strip().lower()
        content = " ".join((meta.get("content") or "").split())
        if not name or not content or _TECHNICAL.fullmatch(name):
            continue
        value = content if meta.get("data-type") == "text" else typed_value(content)
        before = found.get(name)
        if before is None:
            found[name] = value
        elif name != "title":
            # A name that is said several times holds a list, as keywords and authors do.
            found[name] = [*(before if isinstance(before, list) else [str(before)]), content]
    return found
