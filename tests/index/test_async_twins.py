"""Every public call has its async twin, and the twin gives what the call gives."""

from __future__ import annotations

from pathlib import Path

from llama_index.core import Document

from llama_index_semxpath import SemXPathIndex
from llama_index_semxpath.index.config import StoreConfig


async def test_twins_do_what_the_calls_do(tmp_path: Path) -> None:
    config = StoreConfig(tmp_path / "store", milvus_uri="", graph="none")
    with SemXPathIndex(config) as index:
        await index.ainsert(Document(text="# Oil\n\nChange the oil.\n", id_="car"))
        changed = Document(text="# Oil\n\nChange the oil every year.\n", id_="car")
        assert (await index.arefresh([changed])).changed == 1
        found = await index.aquery("//Paragraph")
        assert [match.node.text for match in found] == ["Change the oil every year."]
        assert str(await index.aschema()) == str(index.schema())
        assert (await index.aexplain("//Paragraph")).canonical
        words = await index.akeyword_search("oil")
        assert [match.id for match in words] == [match.id for match in index.keyword_search("oil")]
        assert await index.asemantic_search("oil", limit=1)
        assert (await index.acheck()).ok
        assert await index.adelete_ref_doc("car")
        assert len(await index.aquery("//*")) == 0
