"""Properties of office documents as attributes of the ``Document``."""

from __future__ import annotations

from llama_index_semxpath.node_parser.archive import Archive
from llama_index_semxpath.node_parser.values import parse_date
from llama_index_semxpath.tree.node import Value

# Dublin Core and core-property names to ours.
_NAMES = {
    "title": "title",
    "creator": "author",
    "initial-creator": "author",
    "created": "created",
    "creation-date": "created",
    "modified": "modified",
    "date": "modified",
    "subject": "subject",
    "keywords": "keywords",
    "keyword": "keywords",
    "description": "description",
    "language": "lang",
    "publisher": "publisher",
    "category": "category",
}
_DATES = frozenset({"created", "modified"})


def core_properties(archive: Archive, part: str = "docProps/core.xml") -> dict[str, Value]:
    """Title, author, dates … from a part that holds Dublin Core elements.

    Args:
        archive: The file.
        part: The part: ``docProps/core.xml`` of Open XML, ``meta.xml`` of OpenDocument.
    """
    root = archive.optional_xml(part)
    if root is None:
        return {}
    fields: dict[str, list[str]] = {}
    for element in root.iter():
        if isinstance(element.tag, str) and element.text and not len(element):
            fields.setdefault(element.tag.rpartition("}")[2], []).append(element.text)
    return properties(fields)


def properties(fields: dict[str, list[str]]) -> dict[str, Value]:
    """Attributes from named fields; unknown and empty ones are left out.

    Example:
        >>> properties({"creator": ["Li Lei"], "created": ["2024-03-01"], "revision": ["3"]})
        {'author': 'Li Lei', 'created': datetime.date(2024, 3, 1)}
    """
    out: dict[str, Value] = {}
    for name, values in fields.items():
        ours = _NAMES.get(name)
        text = next((" ".join(value.split()) for value in values if value.strip()), "")
        if ours is None or not text or ours in out:
            continue
        if ours in _DATES:
            found = parse_date(text)
            if found is not None:
                out[ours] = found
        else:
            out[ours] = text
    return out
