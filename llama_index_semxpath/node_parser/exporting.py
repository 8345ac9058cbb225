"""A tree as a document again: Markdown, HTML or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.node_parser.export_html import HtmlWriter
from llama_index_semxpath.node_parser.export_markdown import MarkdownWriter
from llama_index_semxpath.node_parser.outline import Outline
from llama_index_semxpath.node_parser.sentences import glue
from llama_index_semxpath.node_parser.serialize import tree_to_dict
from llama_index_semxpath.tree.node import TreeNode


def export(nodes: Sequence[TreeNode], to: str) -> str:
    """The document that a tree is.

    Parsing the Markdown or HTML with the same options gives the tree again: the same kinds, texts,
    titles, levels and order, with links, languages of code and values of tables. Emphasis is not
    kept by the tree, so it is not in the export. Pieces of a split paragraph are joined. Entries of
    a reference manual (sections with ``@object``) nest in HTML only.

    Args:
        nodes: Nodes of one document in document order, the root first.
        to: ``md``, ``html`` or ``json`` (what ``semxpath parse --json`` prints).

    Raises:
        SemXPathError: ``to`` is none of the three, or there are no nodes.

    Example:
        >>> from llama_index_semxpath.node_parser.registry import parse_bytes
        >>> print(export(parse_bytes("<h1>Oil</h1><ul><li>2 *</ul>", "a.html"), "md"))
        # Oil
        <BLANKLINE>
        - 2 \\*
        <BLANKLINE>
    """
    writers: dict[str, Callable[[], str]] = {
        "md": lambda: MarkdownWriter(Outline(_joined(nodes))).document(),
        "html": lambda: HtmlWriter(Outline(_joined(nodes))).document(),
        "json": lambda: json.dumps(tree_to_dict(nodes), ensure_ascii=False, indent=2) + "\n",
    }
    if to not in writers:
        raise SemXPathError(f"cannot export to {to!r}", hint="choose md, html or json")
    if not nodes:
        raise SemXPathError("there are no nodes to export", hint="give a whole document")
    return writers[to]()


def _joined(nodes: Sequence[TreeNode]) -> list[TreeNode]:
    """The nodes with each split paragraph, item or code block in one piece again."""
    kept: list[TreeNode] = []
    texts: list[list[str]] = []
    # The node whose pieces are being joined: later pieces are its siblings, or an item's children.
    whole = -1
    for node in nodes:
        part = node.attributes.get("part")
        if part is None or part == 1 or whole < 0:
            if part == 1:
                whole = len(kept)
            kept.append(node)
            texts.append([node.text])
            continue
        code = kept[whole].kind == "Code"
        joint = "\n" if code else node.attributes.get("joint", glue(texts[whole][-1], node.text))
        texts[whole] += [str(joint), node.text]
    return [
        node if len(pieces) == 1 else replace(node, text="".join(pieces))
        for node, pieces in zip(kept, texts, strict=True)
    ]
