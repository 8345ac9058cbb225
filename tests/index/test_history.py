"""Earlier versions of documents: readable for a time, hidden where today hides, purged for good."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from llama_index.core import Document

from llama_index_semxpath import SemXPathIndex
from llama_index_semxpath.cli import main
from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.index.config import StoreConfig


def config(folder: Path, **options: object) -> StoreConfig:
    return StoreConfig(folder, milvus_uri="", graph="none", **options)  # type: ignore[arg-type]


def note(*paragraphs: str, doc_id: str = "d.md", **metadata: object) -> Document:
    return Document(text="# T\n\n" + "\n\n".join(paragraphs), doc_id=doc_id, metadata=metadata)


def texts(reader: object, query: str = "//Paragraph") -> list[str]:
    return [match.text for match in reader.query(query)]  # type: ignore[attr-defined]


def test_versions_of_a_document(tmp_path: Path) -> None:
    with SemXPathIndex(config(tmp_path)) as index:
        index.insert(note("one", "two", "three"))
        index.insert(note("one", "changed", "three", "four"))
        index.insert(note("other", doc_id="e.md"))
        index.delete_ref_doc("d.md")
        assert texts(index) == ["other"]
        assert texts(index.at(1)) == ["one", "two", "three"]
        assert texts(index.at(2)) == ["one", "changed", "three", "four"]
        assert texts(index, "version(2, /Document[1]//Paragraph[last()])") == ["four"]
        assert [d.id for d in index.at(3).documents()] == ["d.md", "e.md"]
        assert [m.text for m in index.at(1).document("d.md")][-1] == "three"
        assert index.at(2).keyword_search("changed")[0].text == "changed"
        assert index.at(2).semantic_search("changed", limit=1)[0].text == "changed"
        assert index.keyword_search("changed") == []
        assert index.query('count(at("2020-01-01", //Paragraph))').value == 0
        assert index.check().ok
        assert index.purge(2) >= 1
        with pytest.raises(StoreError, match="can be read no more"):
            index.at(1)
        assert texts(index.at(3))[-1] == "other"
        index.purge()
        assert texts(index) == ["other"]
    content = (tmp_path / "catalog.db").read_bytes()
    assert sqlite3.connect(tmp_path / "catalog.db").execute(
        "SELECT count(*) FROM node_history"
    ).fetchone() == (0,)
    assert content


def test_what_is_hidden_today_was_hidden_then(tmp_path: Path) -> None:
    with SemXPathIndex(config(tmp_path)) as index:
        index.insert(note("plain", acl=["staff"]))
        index.insert(note("plain", acl=["board"]))
        assert texts(index.at(1)) == []
        assert index.at(1).query("//Paragraph", principal=["staff"]).ids == []
        assert index.query("//Paragraph", principal=["board"]).ids != []
        index.delete_ref_doc("d.md")
        index.insert(note("x", doc_id="e.md", acl=["staff"]))
        # A document that is gone is read as it was labelled then.
        assert index.at(2).query("//Paragraph", principal=["staff"]).ids == []
        assert len(index.at(2).query("//Paragraph", principal=["board"])) == 1


def test_versions_are_kept_for_the_chosen_time(tmp_path: Path) -> None:
    with SemXPathIndex(config(tmp_path, keep_versions=0)) as index:
        index.insert(note("one"))
        index.insert(note("two"))
    # The first write of a day purges what is old enough; the clock is moved by moving the mark.
    with sqlite3.connect(tmp_path / "catalog.db") as database:
        database.execute("DELETE FROM meta WHERE key = 'purged'")
    with SemXPathIndex(config(tmp_path, keep_versions=0)) as index:
        index.insert(note("three"))
        with pytest.raises(StoreError, match="can be read no more"):
            index.at(1)
        assert texts(index) == ["three"]
    with pytest.raises(StoreError, match="keep_versions"):
        config(tmp_path, keep_versions=-1)


def test_purge_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "c.toml"
    file.write_text('store = "s"\n[vectors]\nuri = ""\n[graph]\nstore = "none"\n', "utf-8")
    with SemXPathIndex(StoreConfig.from_file(file)) as index:
        index.insert(note("one"))
        index.insert(note("two"))
    assert main(["--config", str(file), "purge", "--before", "2020-01-01"]) == 0
    assert capsys.readouterr().out == "purged 0 earlier versions of nodes\n"
    assert main(["--config", str(file), "purge"]) == 0
    assert "purged 0" not in capsys.readouterr().out
    assert main(["--config", str(file), "purge", "--before", "soon"]) == 2


@pytest.mark.server
def test_history_in_postgres(postgres_server, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    at = {"catalog_url": postgres_server.url, "catalog_schema": postgres_server.schema()}
    with SemXPathIndex(config(tmp_path, **at)) as index:
        index.insert(note("one", "two"))
        index.insert(note("one", "changed"))
        index.delete_ref_doc("d.md")
        assert texts(index.at(1)) == ["one", "two"]
        assert texts(index.at(2)) == ["one", "changed"]
        assert len(index.query('//Version[.//Paragraph[. = "two"]]')) == 0  # the tree is gone
        assert [r.seq for r in index.revisions()] == [3, 2, 1]
        assert index.purge() >= 3
        with pytest.raises(StoreError, match="can be read no more"):
            index.at(1)
    from llama_index_semxpath.memory import StructuredMemory

    at["catalog_schema"] = postgres_server.schema()
    with StructuredMemory.from_defaults(config(tmp_path / "m", **at), embed=False) as memory:
        memory.load_tree("<Plan><Day><Visit name='a'/></Day><Day/></Plan>", id="p")
        memory.update("move //Visit into /Plan/Day[2]")
        memory.update("delete /Plan/Day[1]")
        memory.undo()
        assert memory.query("/Plan/Day[2]/Visit/@name").value == ["a"]
        assert len(memory.query("//Day/version::node()")) >= 2
        assert len(memory.diff(1).moved) == 1
