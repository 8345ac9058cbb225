"""Trees written as outlines, and the toy scorer with which examples and cases are graded.

A line is ``Kind id @name=value … "own text"``, an indented line a child; values are JSON or ISO
dates; ``a -NAME-> b`` is a relation. What stands at the margin after the first entity (a kind
other than that of the first line) is an entity of the property graph.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from typing import Any

import numpy as np

from llama_index_semxpath.engines.base import Scorer, Targets
from llama_index_semxpath.text import words
from llama_index_semxpath.tree.columns import Floats
from llama_index_semxpath.tree.edges import Edge
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.order import ENTITY_PREFIX, child_key, component

NODE = re.compile(r'(\s*)(\w+) (\w+)((?: @[\w-]+=(?:"[^"]*"|\[[^\]]*\]|\S+))*)(?: "([^"]*)")?$')
ATTRIBUTE = re.compile(r'@([\w-]+)=("[^"]*"|\[[^\]]*\]|\S+)')
EDGE = re.compile(r"(\w+) -(\w+)-> (\w+)$")


class WordShare(Scorer):
    """Grades by the share of the phrase's words that occur in the text."""

    @property
    def name(self) -> str:
        return "word share"

    def grade(self, phrase: str, targets: Targets) -> Floats:
        wanted = set(words(phrase))
        texts = [set(words(text)) for text in targets.texts()]
        return np.array([len(wanted & text) / len(wanted) for text in texts])


def read_outline(text: str) -> tuple[list[TreeNode], list[Edge]]:
    """The nodes in document order, and the relations."""
    nodes: list[TreeNode] = []
    edges: list[Edge] = []
    above: list[TreeNode] = []
    children: dict[str | None, int] = {}
    for line in text.strip("\n").splitlines():
        if found := EDGE.match(line):
            edges.append(Edge(found[1], found[2], found[3]))
            continue
        match = NODE.match(line)
        assert match, line
        del above[len(match[1]) // 2 :]
        parent = above[-1] if above else None
        attributes = {name: typed(value) for name, value in ATTRIBUTE.findall(match[4])}
        entity = parent is None and bool(nodes) and match[2] != nodes[0].kind
        key = parent.id if parent else None
        part = (ENTITY_PREFIX if entity else "") + component(children.get(key, 0))
        children[key] = children.get(key, 0) + 1
        node = TreeNode(
            id=match[3],
            kind=match[2],
            doc="" if entity else (above[0].id if above else match[3]),
            parent=key,
            text=match[5] or (attributes.get("title", "") if match[2] == "Section" else ""),
            attributes=attributes,
            order=child_key(parent.order if parent else "", part),
            level=attributes.get("level") if match[2] == "Section" else None,
        )
        nodes.append(node)
        above.append(node)
    return nodes, edges


def typed(text: str) -> Any:
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return dt.date.fromisoformat(text)
    if re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]+Z", text):
        return dt.datetime.fromisoformat(text)
    return json.loads(text)
