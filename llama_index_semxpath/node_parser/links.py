"""Where the links and images of a text stand in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from llama_index_semxpath.tree.node import Value

Escape = Callable[[str], str]


@dataclass(slots=True)
class Mark:
    """A link or image over a range of a text.

    Args:
        start: Where it begins.
        end: Where it ends.
        target: Where it leads.
        image: Whether it is an image.
        inner: Images inside a link.
    """

    start: int
    end: int
    target: str
    image: bool = False
    inner: list[Mark] = field(default_factory=list)


def marks(text: str, attributes: Mapping[str, Value]) -> list[Mark]:
    """The links and images of a text, in order, found by the texts that carry them.

    Args:
        text: The text.
        attributes: ``links`` with ``link_texts``, ``images`` with ``image_texts``.

    Example:
        >>> [(mark.start, mark.end, mark.target)
        ...  for mark in marks("See the list.", {"links": ["/a"], "link_texts": ["the list"]})]
        [(4, 12, '/a')]
    """
    links = _located(text, attributes, "links", "link_texts")
    images = _located(text, attributes, "images", "image_texts")
    for image in images:
        image.image = True
    found: list[Mark] = []
    for mark in sorted(links + images, key=lambda m: (m.start, -m.end, m.image)):
        outer = found[-1] if found else None
        if outer is None or mark.start >= outer.end:
            found.append(mark)
        elif mark.image and not outer.image and mark.end <= outer.end:
            outer.inner.append(mark)
    return found


def _located(text: str, attributes: Mapping[str, Value], targets: str, texts: str) -> list[Mark]:
    found: list[Mark] = []
    cursor = 0
    where, what = attributes.get(targets), attributes.get(texts)
    if not isinstance(where, list) or not isinstance(what, list):
        return found
    for target, label in zip(where, what, strict=False):
        start = text.find(label, cursor)
        if start >= 0:
            found.append(Mark(start, start + len(label), target))
            cursor = start + len(label)
    return found
