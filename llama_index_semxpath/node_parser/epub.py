"""E-books: chapters in reading order, levels by the book's own table of contents."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING
from urllib.parse import unquote

from llama_index_semxpath.errors import SourceError
from llama_index_semxpath.node_parser.archive import Archive
from llama_index_semxpath.node_parser.blocks import Block, Parsed
from llama_index_semxpath.node_parser.decode import decode
from llama_index_semxpath.node_parser.options import ParseOptions
from llama_index_semxpath.node_parser.properties import properties
from llama_index_semxpath.tree.node import Value

if TYPE_CHECKING:
    from lxml import etree

_OPF = "{http://www.idpf.org/2007/opf}"
_NCX = "{http://www.daisy.org/z3986/2005/ncx/}"
_XHTML = "{http://www.w3.org/1999/xhtml}"
_CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}"
_MAX_LEVEL = 12


def parse_epub(source: bytes | str, options: ParseOptions) -> Parsed:
    """Blocks of an e-book.

    A chapter file starts at the depth that the table of contents gives it; its inner headings
    keep their distance. A chapter without a heading takes its title from the contents.

    Args:
        source: The file.
        options: How to parse.

    Raises:
        SourceError: The file is no e-book, is encrypted, damaged or a bomb.
    """
    from llama_index_semxpath.node_parser.html import parse_html

    archive = Archive(source if isinstance(source, bytes) else source.encode(), "EPUB")
    package_path = _package(archive)
    package = archive.xml(package_path)
    if "META-INF/encryption.xml" in archive and _is_protected(archive):
        raise SourceError("the EPUB file is encrypted (DRM)", hint="use a copy without protection")
    folder = posixpath.dirname(package_path)
    items = {item.get("id") or "": item for item in package.iter(f"{_OPF}item")}
    places = _contents(archive, package, folder, items)
    blocks: list[Block] = []
    for reference in package.iter(f"{_OPF}itemref"):
        item = items.get(reference.get("idref") or "")
        if item is None or reference.get("linear") == "no":
            continue
        path = _path(folder, item.get("href") or "")
        is_contents = "nav" in (item.get("properties") or "").split()
        if path in archive and not is_contents:
            text = decode(archive.read(path), where=path, html=True)
            chapter = parse_html(text, options).blocks
            _place_pictures(chapter, archive, posixpath.dirname(path))
            blocks.extend(_placed(chapter, places.get(path)))
    if not blocks:
        raise archive.broken("it holds no chapter with text")
    return Parsed(blocks, _metadata(package), "epub")


def _place_pictures(blocks: list[Block], archive: Archive, folder: str) -> None:
    """Names the pictures of a chapter by their place in the book."""
    todo = list(blocks)
    while todo:
        block = todo.pop()
        todo.extend(block.children)
        if block.kind == "Figure":
            path = _path(folder, str(block.attributes.get("src", "")))
            if path in archive:
                block.attributes["src"] = path


def _package(archive: Archive) -> str:
    container = archive.optional_xml("META-INF/container.xml")
    root = None if container is None else next(container.iter(f"{_CONTAINER}rootfile"), None)
    path = "" if root is None else unquote(root.get("full-path") or "")
    if path not in archive:
        raise archive.broken("it holds no package document")
    return path


def _is_protected(archive: Archive) -> bool:
    # Fonts may be obfuscated in a free book; chapters may not.
    root = archive.xml("META-INF/encryption.xml")
    hidden = [element.get("URI") or "" for element in root.iter() if element.get("URI")]
    return any(uri.rpartition(".")[2].lower() in ("xhtml", "html", "htm") for uri in hidden)


def _metadata(package: etree._Element) -> dict[str, Value]:
    fields: dict[str, list[str]] = {}
    for element in package.iterfind(f"{_OPF}metadata/*"):
        if isinstance(element.tag, str) and element.text:
            # "date" is the day of publication here, not of the last change.
            name = element.tag.rpartition("}")[2].replace("date", "created")
            fields.setdefault(name, []).append(element.text)
    return properties(fields)


def _path(folder: str, href: str) -> str:
    target = unquote(href.partition("#")[0])
    return posixpath.normpath(posixpath.join(folder, target)) if target else ""


def _contents(
    archive: Archive, package: etree._Element, folder: str, items: dict[str, etree._Element]
) -> dict[str, tuple[int, str]]:
    """Depth and title that the table of contents gives each file, by its outermost entry."""
    for item in items.values():
        if "nav" in (item.get("properties") or "").split():
            path = _path(folder, item.get("href") or "")
            root = archive.optional_xml(path)
            if root is not None:
                return _from_nav(root, posixpath.dirname(path))
    for item in items.values():
        if item.get("media-type") == "application/x-dtbncx+xml":
            path = _path(folder, item.get("href") or "")
            root = archive.optional_xml(path)
            if root is not None:
                return _from_ncx(root, posixpath.dirname(path))
    return {}


def _from_nav(root: etree._Element, folder: str) -> dict[str, tuple[int, str]]:
    out: dict[str, tuple[int, str]] = {}
    navigation = next(root.iter(f"{_XHTML}nav"), root)
    for link in navigation.iter(f"{_XHTML}a"):
        depth = sum(1 for parent in link.iterancestors(f"{_XHTML}ol"))
        title = " ".join("".join(link.itertext()).split())
        out.setdefault(_path(folder, link.get("href") or ""), (min(depth, _MAX_LEVEL), title))
    return out


def _from_ncx(root: etree._Element, folder: str) -> dict[str, tuple[int, str]]:
    out: dict[str, tuple[int, str]] = {}
    for point in root.iter(f"{_NCX}navPoint"):
        depth = 1 + sum(1 for parent in point.iterancestors(f"{_NCX}navPoint"))
        target = point.find(f"{_NCX}content")
        title = point.findtext(f"{_NCX}navLabel/{_NCX}text") or ""
        if target is not None:
            path = _path(folder, target.get("src") or "")
            out.setdefault(path, (min(depth, _MAX_LEVEL), " ".join(title.split())))
    return out


def _placed(blocks: list[Block], place: tuple[int, str] | None) -> list[Block]:
    """The blocks of a chapter with its levels shifted to its depth in the contents."""
    todo = list(blocks)
    while todo:
        block = todo.pop()
        block.span = None
        todo.extend(block.children)
    if place is None or not blocks:
        return blocks
    depth, title = place
    heads = [block for block in blocks if block.kind in ("Heading", "Section")]
    if heads:
        shift = depth - min(block.level or 1 for block in heads)
        for block in heads:
            block.level = max(1, (block.level or 1) + shift)
    elif title:
        return [Block("Heading", title, level=depth, confidence=0.9), *blocks]
    return blocks
