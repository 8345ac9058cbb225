"""Tenants: partitions apart in every back end."""

from __future__ import annotations

import pytest
from store_fixtures import HashEmbedder, document

from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.base import SemXPathIndex
from llama_index_semxpath.index.config import StoreConfig
from llama_index_semxpath.testing.hostile import hostile_strings

NAMES = ("acme", "Acme", "ACME/../acme", "第三公司", "a b", "a_b", "' OR 1=1 --", "x" * 300)


def test_every_name_is_a_partition_of_its_own(tmp_path):
    base = StoreConfig(tmp_path, graph="nebula://u:p@h:9669/space")
    for part in ("store", "catalog_schema", "collection", "graph"):
        names = [text for text in hostile_strings() if text]
        made = [str(getattr(base.for_tenant(name), part)) for name in names]
        assert len(set(made)) == len(names)
    for name in names:
        config = base.for_tenant(name)
        assert config.store.parent == tmp_path / "tenants"
        assert config.collection.isidentifier()
        assert config.collection.isascii()
        assert len(config.catalog_schema) <= 63
    with pytest.raises(StoreError, match="needs a name"):
        base.for_tenant("")


@pytest.mark.parametrize("where", ["directory", "postgres"])
def test_a_tenant_sees_nothing_of_another(where, tmp_path, request):
    options = {"vectors": "catalog", "graph": "none"}
    if where == "postgres":
        server = request.getfixturevalue("pgvector_server")
        options |= {"catalog_url": server.url, "catalog_schema": server.schema()}
    base, names = StoreConfig(tmp_path, **options), NAMES if where == "directory" else NAMES[:3]
    for number, name in enumerate(names):
        with SemXPathIndex(base.for_tenant(name), embed_model=HashEmbedder()) as index:
            index.insert_tree(document("d", {"Plan": [f"secret {number}", "shared words"]}))
    for number, name in enumerate(names):
        with SemXPathIndex.load(base.for_tenant(name), embed_model=HashEmbedder()) as index:
            assert len(index.documents()) == 1
            assert [m.text for m in index.keyword_search("secret", limit=99)] == [
                f"secret {number}"
            ]
            found = index.semantic_search("secret", limit=99, kinds=["Paragraph"])
            assert {m.text for m in found} == {f"secret {number}", "shared words"}
            assert index.check().counts == {}


def test_a_tenant_in_a_config_file(tmp_path):
    file = tmp_path / "store.toml"
    file.write_text('store = "s"\ntenant = "acme"\n[vectors]\nstore = "catalog"\n')
    config = StoreConfig.from_file(file)
    assert config == StoreConfig(tmp_path / "s", vectors="catalog").for_tenant("acme")
