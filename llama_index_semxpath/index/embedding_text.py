"""Which text of a node is embedded: its content once, under the titles it stands below."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index_semxpath.index.access import Labels, reads_too
from llama_index_semxpath.tree.node import DOCUMENT_KINDS, TreeNode

_SEPARATOR = " > "
#: Characters of Latin script that make about one token; a Han character is about one by itself.
_LATIN, _HAN = 4, 1
_SECTION_TOKENS = 128
_BLOCK_TOKENS = 256
_SHORTEST_ITEM = 12
_OWN = frozenset({"Paragraph", "Row", "Code", "Figure", "Formula", "ListItem"})
_WITH_CHILDREN = {
    "Section": _SECTION_TOKENS,
    "List": _BLOCK_TOKENS,
    "Quote": _BLOCK_TOKENS,
    "Table": _BLOCK_TOKENS,
}


#: A title, and the access labels in force on the node that carries it.
Title = tuple[str, Labels]


def heading_paths(
    nodes: Sequence[TreeNode],
    around: Sequence[Title] = (),
    labels: Sequence[Labels] | None = None,
) -> list[str]:
    """For each node of a document in pre-order, the titles around it, outermost first.

    The document's own title and the node's own title are left out, and titles that some of the
    node's readers may not read.

    Args:
        nodes: A whole document, or a node with all that is below it.
        around: The titles around the first node.
        labels: The access labels in force on each node; ``None`` for none on any.

    Example:
        >>> d = TreeNode("d", "Document", "d", attributes={"title": "Handbook"})
        >>> s = TreeNode("s", "Section", "d", "d", "Leave", {"title": "Leave"})
        >>> p = TreeNode("p", "Paragraph", "d", parent="s", text="Ten days.")
        >>> heading_paths([d, s, p])
        ['', '', 'Leave']
    """
    below: dict[str | None, tuple[Title, ...]] = {nodes[0].parent: tuple(around)} if nodes else {}
    paths = []
    for place, node in enumerate(nodes):
        own = None if labels is None else labels[place]
        titles = below[node.parent]
        paths.append(_SEPARATOR.join([title for title, other in titles if reads_too(own, other)]))
        title = None if node.parent is None else node.title
        below[node.id] = (*titles, (title, own)) if title else titles
    return paths


def embedding_texts(
    nodes: Sequence[TreeNode], paths: Sequence[str], labels: Sequence[Labels] | None = None
) -> list[str | None]:
    """The text to embed for each node, ``None`` for kinds that wait until a query asks.

    Children are left out that some of the node's readers may not read.

    Args:
        nodes: The nodes of a document in pre-order.
        paths: Their heading paths.
        labels: The access labels in force on each node; ``None`` for none on any.
    """
    known = labels or [None] * len(nodes)
    in_force = dict(zip((node.id for node in nodes), known, strict=True))
    children: dict[str, list[TreeNode]] = {}
    for node, own in zip(nodes, known, strict=True):
        if node.parent in in_force and reads_too(in_force[node.parent], own):
            children.setdefault(node.parent, []).append(node)
    texts: list[str | None] = []
    for node, path in zip(nodes, paths, strict=True):
        content = _content(node, children.get(node.id, ()))
        texts.append(f"{path}\n{content}" if content and path else content)
    return texts


def text_to_embed(node: TreeNode, path: str, children: Sequence[TreeNode]) -> str:
    """The text to embed for one node of any kind, for a query that asks for it."""
    content = _content(node, children) or cut(node.text or _joined(children), _BLOCK_TOKENS)
    return f"{path}\n{content}" if content and path else content


def cut(text: str, tokens: int) -> str:
    """The head of a text, about ``tokens`` tokens long, cut at a space where there is one.

    Example:
        >>> cut("one two three", 2)
        'one two'
    """
    if len(text) <= tokens:
        return text
    budget, end = tokens * _LATIN, len(text)
    for place, char in enumerate(text):
        budget -= _HAN if char < "\u2e80" else _LATIN
        if budget < 0:
            end = place
            break
    if end == len(text):
        return text
    space = text.rfind(" ", 0, end + 1)
    return text[: space if space > end // 2 else end]


def _content(node: TreeNode, children: Sequence[TreeNode]) -> str | None:
    if node.kind not in DOCUMENT_KINDS:
        return cut(_record(node), _BLOCK_TOKENS) or None
    if node.kind in _WITH_CHILDREN:
        own = [child for child in children if child.kind not in ("Section", "Table")]
        below = children if node.kind == "Table" else own
        summary = node.attributes.get("summary") if node.kind == "Section" else None
        gist = summary if isinstance(summary, str) else _joined(below)
        text = "\n".join(part for part in (_caption(node), node.text, gist) if part)
        return cut(text, _WITH_CHILDREN[node.kind]) or None
    if node.kind not in DOCUMENT_KINDS:
        return cut(node.text, _BLOCK_TOKENS) or None
    if node.kind not in _OWN or (node.kind == "ListItem" and node.tokens < _SHORTEST_ITEM):
        return None
    if node.kind == "Row":
        fields = [f"{key}: {value}" for key, value in node.attributes.items()]
        return cut("; ".join(fields) or node.text, _BLOCK_TOKENS) or None
    return cut(node.text or _caption(node), _BLOCK_TOKENS) or None


def keyword_text(node: TreeNode) -> str:
    """What the keyword index holds of a node: its text, and the values of a record.

    Example:
        >>> keyword_text(TreeNode("t", "Task", "d", attributes={"name": "Buy milk", "n": 3}))
        'Buy milk'
    """
    return node.text if node.kind in DOCUMENT_KINDS else _record(node)


def _record(node: TreeNode) -> str:
    """What a record says of itself: its text and its values, without their names."""
    values = [value for value in node.attributes.values() if isinstance(value, str)]
    return "; ".join(part for part in (node.text.strip(), *values) if part)


def _caption(node: TreeNode) -> str:
    caption = node.attributes.get("caption")
    return caption if isinstance(caption, str) and caption != node.text else ""


def _joined(children: Sequence[TreeNode]) -> str:
    parts: list[str] = []
    size = 0
    for child in children:
        parts.append(child.text)
        size += len(child.text)
        if size > _BLOCK_TOKENS * _LATIN:
            break
    return "\n".join(part for part in parts if part)
