"""A writer to be killed: random inserts, refreshes and deletes, each acknowledged on a pipe."""

from __future__ import annotations

import random
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from store_fixtures import HashEmbedder, document

from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.tree.node import TreeNode

DOCUMENTS = 4
PARAGRAPHS = 30


def version_of(doc: str, version: int) -> list[TreeNode]:
    """A document whose paragraphs all say which version they are of; some never change."""
    texts = [f"{doc} fixed {i}" for i in range(PARAGRAPHS)]
    texts += [f"{doc} version {version} paragraph {i}" for i in range(PARAGRAPHS)]
    random.Random(version).shuffle(texts)
    return document(doc, {"A": texts[:PARAGRAPHS], "B": texts[PARAGRAPHS:]})


def version_in(nodes: list[TreeNode]) -> int:
    """Which version stored nodes are of; mixed or half documents fail."""
    texts = [node.text for node in nodes if node.kind == "Paragraph"]
    versions = {int(text.split()[2]) for text in texts if " version " in text}
    assert len(versions) == 1, f"mixed versions {versions}"
    version = versions.pop()
    assert texts == [n.text for n in version_of(nodes[0].id, version) if n.kind == "Paragraph"]
    return version


def open_index(config: StoreConfig) -> Any:
    from llama_index_semxpath.index.base import SemXPathIndex

    return SemXPathIndex(config, embed_model=HashEmbedder())


def write_until_killed(folder: str, options: dict[str, Any], seed: int, acks: Connection) -> None:
    config = StoreConfig(Path(folder), **options)
    index = open_index(config)
    index.recover()
    choice = random.Random(seed)
    acks.send(("ready", "", 0))
    for version in range(seed * 10_000, seed * 10_000 + 5_000):
        doc = f"d{choice.randrange(DOCUMENTS)}"
        delete = choice.random() < 0.2
        acks.send(("begin", doc, -1 if delete else version))
        if delete:
            index.delete_ref_doc(doc)
        else:
            index.insert_tree(version_of(doc, version))
        acks.send(("done", doc, -1 if delete else version))
