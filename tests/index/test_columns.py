"""The snapshot of the columns saves time and never changes an answer."""

from __future__ import annotations

import random

import pytest
from store_fixtures import HashEmbedder, catalog_only, document

from llama_index_semxpath import SemXPathIndex
from llama_index_semxpath.index import columns
from llama_index_semxpath.index.reader import Reader


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "_SNAPSHOT_NODES", 0)
    made = catalog_only(tmp_path)
    with SemXPathIndex(made, embed_model=HashEmbedder()) as index:
        for doc in "abc":
            index.insert_tree(document(doc, {f"{doc} {s}": ["x", "y"] for s in range(4)}))
        index.query("//*")
    return made


def answers(config) -> list[dict]:
    with Reader(config, embed_model=HashEmbedder()) as reader:
        return [match.to_dict() for match in reader.query("//*")]


def test_with_and_without_a_snapshot(config):
    assert config.columns.exists()
    with_snapshot = answers(config)
    config.columns.unlink()
    assert answers(config) == with_snapshot


def test_a_stale_snapshot_is_brought_up_to_date(config):
    old = config.columns.read_bytes()
    with SemXPathIndex(config, embed_model=HashEmbedder()) as index:
        index.delete_ref_doc("b")
        index.insert_tree(document("c", {"new": ["z"]}))
        index.insert_tree(document("d", {"more": ["z"]}))
    config.columns.unlink(missing_ok=True)
    fresh = answers(config)
    config.columns.write_bytes(old)
    assert answers(config) == fresh


def test_a_damaged_snapshot_is_passed_over(config):
    good, wanted = config.columns.read_bytes(), answers(config)
    choice = random.Random(5)
    damaged = [b"", good[:7], good[:100], good[: len(good) // 2], bytes(len(good))]
    for _ in range(40):
        flipped = bytearray(good)
        flipped[choice.randrange(len(good))] ^= 1 << choice.randrange(8)
        damaged.append(bytes(flipped))
    for content in damaged:
        config.columns.write_bytes(content)
        assert answers(config) == wanted


def test_a_snapshot_of_another_store_is_passed_over(config, tmp_path):
    other = catalog_only(tmp_path / "other")
    with SemXPathIndex(other, embed_model=HashEmbedder()) as index:
        index.insert_tree(document("q", {"q": ["q"]}))
    other.columns.write_bytes(config.columns.read_bytes())
    assert {match["document"] for match in answers(other)} == {"q"}
