"""Small stores and trees for the tests of this room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.tree.ids import node_id
from llama_index_semxpath.tree.node import TreeNode


class HashEmbedder:
    """A real, tiny embedding: hashed character trigrams; equal texts are equal, near ones near."""

    dimension = 64

    def __init__(self, name: str = "trigrams", salt: int = 0) -> None:
        self._name = name
        self._salt = salt
        self.seen: list[str] = []

    @property
    def name(self) -> str:
        return self._name

    def embed_texts(self, texts: Sequence[str]) -> Any:
        self.seen.extend(texts)
        matrix = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            padded = f"  {text.lower()} "
            for at in range(len(padded) - 2):
                code = sum(ord(c) * 31**i for i, c in enumerate(padded[at : at + 3])) + self._salt
                matrix[row, code % self.dimension] += 1
        return matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)

    def embed_query(self, text: str) -> Any:
        return self.embed_texts([text])[0]


def catalog_only(path: Path, **options: Any) -> StoreConfig:
    return StoreConfig(path, milvus_uri="", graph="none", **options)


def document(
    doc: str,
    sections: Mapping[str, Sequence[str]],
    *,
    attributes: Mapping[str, Any] | None = None,
    labels: Mapping[str, Sequence[str]] | None = None,
) -> list[TreeNode]:
    """A document of sections (by title) of paragraphs; ``labels`` by title or text."""
    marks = {key: frozenset(value) for key, value in (labels or {}).items()}
    root = TreeNode(doc, "Document", doc, None, "", {"title": doc, **(attributes or {})}, level=0)
    root.labels = marks.get(doc)
    nodes = [root]
    for title, paragraphs in sections.items():
        section = TreeNode(
            node_id(doc, doc, "Section", title), "Section", doc, doc, title, {"title": title},
            level=1, tokens=2, labels=marks.get(title),
        )  # fmt: skip
        nodes.append(section)
        seen: dict[str, int] = {}
        for text in paragraphs:
            occurrence = seen[text] = seen.get(text, -1) + 1
            nodes.append(
                TreeNode(
                    node_id(doc, section.id, "Paragraph", text, occurrence),
                    "Paragraph",
                    doc,
                    section.id,
                    text,
                    {},
                    tokens=len(text) // 4,
                    labels=marks.get(text),
                )
            )
    return nodes
