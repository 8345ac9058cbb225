"""Facts without a model: ``key: value`` lines become attributes, named places relations.

The rules, all of them:

1. A paragraph of at least two lines that are all ``key: value`` (``键：值``) carries each pair as
   a typed attribute. Several pairs may stand on one line, two blanks or a tab apart.
2. A list of at least two items that are all ``key: value`` gives each item its own pair.
3. Pairs of rule 1 that stand before the first heading are the document's own: its root carries
   them too, as it does front matter.
4. A sentence that points at a numbered place of its own document ("see section 3.2", 依照第五条)
   refers to the section of that number (``REFERS_TO``, confidence 0.9, or 0.6 where the number
   stands without a unit).
5. A title in 《》 after 修订, 修改, 废止 or 代替, or after "supersedes", "replaces", "amends",
   names a document that this one revises (``REVISES``, 0.8); any other title in 《》 is referred
   to (``REFERS_TO``, 0.7). The target is a name: whoever holds the documents resolves it.
6. An attribute whose value is the one name of an entity (0.9), a document (0.85), a row by its
   first column (0.8) or a section (0.6) relates its node to that, under the attribute's own name:
   ``Approved by: Wang Min`` is ``APPROVED_BY``. See ``named.named_values``.

Attributes are facts of the text itself. Relations are *proposed*: nothing of ours takes them for
true before somebody, or a rule of the caller, accepts them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from llama_index_semxpath.node_parser.blocks import Block, Parsed
from llama_index_semxpath.node_parser.references import Reference, parse_references
from llama_index_semxpath.node_parser.titles import label_of
from llama_index_semxpath.node_parser.values import typed_value
from llama_index_semxpath.tree.node import TreeNode, Value

_GAP = re.compile(r"(?:\t| {2,}|　{2,})\s*")
_LONGEST_VALUE = 200
_LEAST_PAIRS = 2
_TREE_NAMES = (
    "title number level lang page source weight tokens created version n role part joint "
    "confidence format caption columns units"
)
#: Names with a meaning of their own in every tree.
RESERVED = frozenset(_TREE_NAMES.split())
_TITLE = re.compile(r"《([^《》\n]{2,80})》")
_REVISES_ZH = re.compile(r"(?:修订|修改|废止|代替|取代)[^《》。；]{0,12}$")
_REVISES_EN = re.compile(
    r"\b(?:supersedes|replaces|amends|revises|repeals)\s+(?:the\s+)?"
    r"[\"“]?([A-Z][\w'’-]*(?:\s+(?:of|the|and|for|on|in|to|[A-Z0-9][\w'’-]*(?:\.\d+)*)){0,9})"
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A relation that the text suggests.

    Args:
        source: Id of the node that it starts from.
        relation: ``REFERS_TO``, ``REVISES``, or the name of an attribute.
        target: Id of a node of the same document, or ``""`` where only a name is known.
        name: What is named, as written.
        rule: Number of the rule that found it.
        confidence: 0 to 1.
        status: ``proposed``, ``accepted`` or ``rejected``.
        evidence: Id of the node whose text says it; ``""`` for the source itself.
    """

    source: str
    relation: str
    target: str
    name: str
    rule: int
    confidence: float
    status: str = "proposed"
    evidence: str = ""


def add_facts(parsed: Parsed) -> None:
    """Write the pairs of ``key: value`` lines into the attributes of their blocks.

    Args:
        parsed: A parsed source; its text stays as it is.

    Example:
        >>> parsed = Parsed([Block("Paragraph", "Product: Kestrel\\nPrice: $1,200")])
        >>> add_facts(parsed)
        >>> parsed.blocks[0].attributes
        {'Product': 'Kestrel', 'Price': 1200}
    """
    front = True
    said: list[tuple[str, Value]] = []
    todo: list[Block] = list(reversed(parsed.blocks))
    while todo:
        block = todo.pop()
        front = front and block.kind not in ("Heading", "Section")
        if block.kind == "Paragraph":
            pairs = _pairs(block.text)
            _add(block.attributes, pairs)
            if front:
                said.extend(pairs)
        elif block.kind == "List":
            for item, pair in _item_pairs(block.children):
                _add(item.attributes, [pair])
        todo.extend(reversed(block.children))
    # What is said again and again (Q and A, speakers) says nothing about the document.
    times = Counter(name for name, _ in said)
    _add(parsed.attributes, (pair for pair in said if times[pair[0]] == 1))


def _add(attributes: dict[str, Value], pairs: Iterable[tuple[str, Value]]) -> None:
    for name, value in pairs:
        if name.lower() not in RESERVED:
            attributes.setdefault(name, value)


def _pairs(text: str) -> list[tuple[str, Value]]:
    """The pairs of a paragraph that consists of pairs alone."""
    if ":" not in text and "：" not in text:
        return []
    out: list[tuple[str, Value]] = []
    for line in text.split("\n"):
        for piece in _GAP.split(line.strip()):
            pair = _pair(piece)
            if pair is None:
                return []
            out.append(pair)
    names = {name for name, _ in out}
    return out if len(out) >= _LEAST_PAIRS and len(names) == len(out) else []


def _item_pairs(items: Sequence[Block]) -> list[tuple[Block, tuple[str, Value]]]:
    """The pairs of a list that consists of pairs alone."""
    out = []
    for item in items:
        pair = _pair(item.text) if not item.children else None
        if pair is None:
            return []
        out.append((item, pair))
    return out if len(out) >= _LEAST_PAIRS else []


def _pair(text: str) -> tuple[str, Value] | None:
    if ":" not in text and "：" not in text:
        return None
    found = label_of(text)
    if found is None:
        return None
    name, end = found
    value = text[end:].strip()
    if not value or len(value) > _LONGEST_VALUE or "\n" in value:
        return None
    return " ".join(name.split()), typed_value(value)


def propose_relations(nodes: Sequence[TreeNode]) -> list[Fact]:
    """Relations that the sentences of one document suggest (rules 4 and 5).

    Args:
        nodes: The nodes of the document, in document order.

    Example:
        >>> nodes = [TreeNode("d", "Document", "d"),
        ...          TreeNode("s", "Section", "d", "d", "第五条", {"number": "第五条", "n": 5}),
        ...          TreeNode("p", "Paragraph", "d", "d", "依照第五条的规定执行。")]
        >>> [(fact.source, fact.relation, fact.target) for fact in propose_relations(nodes)]
        [('p', 'REFERS_TO', 's')]
    """
    places: dict[int, list[TreeNode]] = {}
    parents: dict[str, str | None] = {}
    for node in nodes:
        parents[node.id] = node.parent
        n = node.attributes.get("n")
        if node.kind == "Section" and node.number and isinstance(n, int):
            places.setdefault(n, []).append(node)
    out: list[Fact] = []
    for node in nodes:
        if node.kind not in ("Section", "Document") and node.text:
            out.extend(_references(node, places, parents))
            out.extend(_named_documents(node))
    return list(dict.fromkeys(out))


def _references(
    node: TreeNode, places: dict[int, list[TreeNode]], parents: dict[str, str | None]
) -> Iterator[Fact]:
    own = set(_ancestors(node.id, parents))
    for reference in parse_references(node.text):
        if _is_foreign(node.text, reference):
            continue
        found = [
            place
            for place in places.get(reference.n, [])
            if place.id not in own and place.number and reference.matches(place.number)
        ]
        # 第一条 of every chapter is named alike: only one candidate is a finding.
        if len(found) == 1:
            sure = 0.9 if reference.unit else 0.6
            yield Fact(node.id, "REFERS_TO", found[0].id, reference.text, 4, sure)


def _is_foreign(text: str, reference: Reference) -> bool:
    """Whether the place lies in another document: 《合同法》第五条, "article 5 of the Treaty"."""
    before, after = text[: reference.start].rstrip(), text[reference.end :]
    return before.endswith("》") or bool(re.match(r"\s+of\s+(?:the\s+)?[A-Z]", after))


def _ancestors(node_id: str, parents: dict[str, str | None]) -> Iterator[str]:
    current: str | None = node_id
    while current is not None:
        yield current
        current = parents.get(current)


def _named_documents(node: TreeNode) -> Iterator[Fact]:
    for match in _TITLE.finditer(node.text):
        revises = _REVISES_ZH.search(node.text[max(0, match.start() - 16) : match.start()])
        name = "REVISES" if revises else "REFERS_TO"
        yield Fact(node.id, name, "", match[1], 5, 0.8 if revises else 0.7)
    for match in _REVISES_EN.finditer(node.text):
        yield Fact(node.id, "REVISES", "", match[1].strip(), 5, 0.8)
