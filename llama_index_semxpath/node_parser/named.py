"""Names that values can mean: documents, entities, rows and sections of a corpus."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath

from llama_index_semxpath.node_parser.facts import RESERVED, Fact
from llama_index_semxpath.node_parser.numbering import split_number
from llama_index_semxpath.node_parser.tables import LEVEL_SEPARATOR
from llama_index_semxpath.tree.node import TreeNode

#: What a name belongs to, the surest first, with the confidence of a value that equals it.
CONFIDENCE = {"entity": 0.9, "document": 0.85, "row": 0.8, "section": 0.6}
_SHORTEST, _LONGEST = 2, 80
# A shorter part of a title says too little.
_SHORTEST_CITED = 4
_OWN_NAMES = "src alt anchor object href links link_texts images image_texts heading footnote type"
# Attributes that say how a node is made, not what it is about.
_TECHNICAL = frozenset(f"{_OWN_NAMES} ordered start checked alert lang language".split())
_UNIT = re.compile(r"\s*[(（][^()（）]*[)）]$")


class Names:
    """The nodes and entities of a corpus by their names.

    Example:
        >>> nodes = [TreeNode("d", "Document", "d", attributes={"title": "Leave policy"})]
        >>> names = Names()
        >>> names.add_nodes(nodes)
        >>> names.find("leave  Policy")
        ('d', 0.85)
    """

    def __init__(self) -> None:
        self._ids: dict[str, dict[str, set[str]]] = {kind: {} for kind in CONFIDENCE}

    def add(self, kind: str, name: str, id_: str) -> None:
        """Notes one name of a thing; ``kind`` is a key of ``CONFIDENCE``."""
        plain = _plain(name)
        if _SHORTEST <= len(plain) <= _LONGEST:
            self._ids[kind].setdefault(plain, set()).add(id_)

    def add_nodes(self, nodes: Iterable[TreeNode]) -> None:
        """Notes the names in nodes: titles, and the first value of a row."""
        for node in nodes:
            if node.kind == "Document":
                self.add("document", node.title or "", node.id)
                self.add("document", PurePath(node.id).stem, node.id)
            elif node.kind == "Section":
                number = split_number(node.text)
                self.add("section", number.rest if number else node.text, node.id)
            elif node.kind == "Row":
                first = next(iter(node.attributes.values()), None)
                if isinstance(first, str):
                    self.add("row", first, node.id)

    def find(self, name: str, *, kinds: Sequence[str] = tuple(CONFIDENCE)) -> tuple[str, float]:
        """Id of the one thing of that name, with its confidence; ``("", 0.0)`` for none or many."""
        plain = _plain(name)
        for kind in kinds:
            ids = self._ids[kind].get(plain, ())
            if ids:
                return (next(iter(ids)), CONFIDENCE[kind]) if len(ids) == 1 else ("", 0.0)
        return "", 0.0

    def find_document(self, name: str) -> str:
        """Id of the one document or entity that a title means, ``""`` for none or many.

        A title is often cited without the name of who issued it or its edition: a document whose
        own title contains it is meant where it is the only one.
        """
        target, _ = self.find(name, kinds=("document", "entity"))
        plain = _plain(name)
        if target or plain in self._ids["document"] or len(plain) < _SHORTEST_CITED:
            return target
        titles = self._ids["document"].items()
        found = {id_ for title, ids in titles if plain in title for id_ in ids}
        return found.pop() if len(found) == 1 else ""


def named_values(nodes: Iterable[TreeNode], names: Names) -> Iterator[Fact]:
    """Relations from attributes whose value is the name of something else (rule 6).

    The relation is called as the attribute is: ``Approved by`` gives ``APPROVED_BY``.

    Args:
        nodes: Nodes of one document in document order.
        names: The names of the whole corpus.

    Example:
        >>> names = Names()
        >>> names.add("entity", "Wang Min", "person/wang-min")
        >>> row = TreeNode("r", "Row", "d", "t", "…", {"No": "C-1", "Approved by": "Wang Min"})
        >>> [(fact.relation, fact.target) for fact in named_values([row], names)]
        [('APPROVED_BY', 'person/wang-min')]
    """
    parents: dict[str, str | None] = {}
    for node in nodes:
        parents[node.id] = node.parent
        # What a row is called is no relation of it.
        values = list(node.attributes.items())[1 if node.kind == "Row" else 0 :]
        for key, value in values:
            if not isinstance(value, str) or key.lower() in RESERVED or key in _TECHNICAL:
                continue
            target, confidence = names.find(value)
            if target and not _is_around(target, node.id, parents):
                yield Fact(node.id, relation_name(key), target, value, 6, confidence)


def relation_name(key: str) -> str:
    """Name of the relation that an attribute stands for.

    Example:
        >>> relation_name("2024 / Approved by (name)"), relation_name("所属部门")
        ('APPROVED_BY', '所属部门')
    """
    inner = _UNIT.sub("", key.rsplit(LEVEL_SEPARATOR, 1)[-1])
    name = re.sub(r"\W+", "_", inner).strip("_").upper()
    return name if name and not name[0].isdigit() else f"R_{name}"


def _is_around(target: str, id_: str | None, parents: dict[str, str | None]) -> bool:
    while id_ is not None:
        if id_ == target:
            return True
        id_ = parents.get(id_)
    return False


def _plain(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split()).strip("《》“”\"'")
