"""Files and folders: what is new, changed, gone, broken."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from store_fixtures import HashEmbedder, catalog_only

from llama_index_semxpath import SemXPathIndex
from llama_index_semxpath.errors import SourceError
from llama_index_semxpath.index import folder
from llama_index_semxpath.index.folder import index_paths
from llama_index_semxpath.node_parser import parallel


@pytest.fixture
def index(tmp_path):
    made = SemXPathIndex(catalog_only(tmp_path / "store"), embed_model=HashEmbedder())
    yield made
    made.close()


@pytest.fixture
def handbook(tmp_path) -> Path:
    root = tmp_path / "handbook"
    (root / "hr").mkdir(parents=True)
    (root / "hr" / "leave.md").write_text("# Leave\n\nTen days.\n")
    (root / "rules.html").write_text("<h1>Rules</h1><p>Be kind.</p>")
    (root / "notes.txt").write_text("Notes\n\nSome words.\n")
    (root / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (root / ".hidden.md").write_text("# Hidden\n")
    return root


def ids(index: SemXPathIndex) -> list[str]:
    return [document.id for document in index.documents()]


def test_a_folder(index, handbook):
    report = index_paths(index, [handbook])
    assert ids(index) == ["handbook/notes.txt", "handbook/rules.html", "handbook/hr/leave.md"]
    assert (report.documents, report.unchanged, report.removed, report.errors) == (3, 0, 0, [])
    assert report.nodes == index.catalog.count_nodes()
    source = index.node("handbook/hr/leave.md").attributes["source"]
    assert source == str(handbook / "hr" / "leave.md")


def test_unchanged_files_are_not_read(index, handbook, monkeypatch):
    index_paths(index, [handbook])
    monkeypatch.setattr(Path, "read_bytes", lambda self: pytest.fail("it was read"))
    report = index_paths(index, [handbook])
    assert (report.documents, report.unchanged) == (3, 3)


def test_touched_files_are_not_parsed(index, handbook, monkeypatch):
    index_paths(index, [handbook])
    os.utime(handbook / "rules.html", (1, 1))
    monkeypatch.setattr(parallel, "parse_bytes", lambda *a, **k: pytest.fail("it was parsed"))
    assert index_paths(index, [handbook]).unchanged == 3


def test_changed_and_removed_files(index, handbook):
    index_paths(index, [handbook])
    (handbook / "rules.html").write_text("<h1>Rules</h1><p>Be very kind.</p>")
    (handbook / "notes.txt").unlink()
    report = index_paths(index, [handbook])
    assert (report.documents, report.unchanged, report.removed) == (2, 1, 1)
    assert index.keyword_search("very kind")
    assert ids(index) == ["handbook/rules.html", "handbook/hr/leave.md"]


def test_a_single_file_removes_nothing(index, handbook):
    index_paths(index, [handbook])
    report = index_paths(index, [handbook / "rules.html"])
    assert report.removed == 0
    assert "rules.html" in ids(index)
    assert len(ids(index)) == 4


def test_two_folders_of_one_name(index, handbook, tmp_path):
    other = tmp_path / "elsewhere" / "handbook"
    shutil.copytree(handbook, other)
    index_paths(index, [handbook])
    index_paths(index, [other])
    assert len(ids(index)) == 6
    marked = [id_ for id_ in ids(index) if "~" in id_]
    assert len(marked) == 3
    assert index_paths(index, [other]).unchanged == 3
    assert index_paths(index, [handbook]).unchanged == 3


def test_options_become_attributes_and_labels(index, handbook):
    options = {"weight": 2.0, "acl": ["staff"], "meta": {"owner": "HR", "year": 2031}}
    report = index_paths(index, [handbook], **options)
    assert report.documents == 3
    assert index.query("//Document", principal=None).ids == []
    (match,) = index.query('//Document[@owner = "HR"][@year = 2031][2]', principal=["staff"])
    assert match.attributes["weight"] == 2.0
    assert (
        index_paths(
            index, [handbook], weight=2.0, acl=["staff"], meta={"owner": "HR", "year": 2031}
        ).unchanged
        == 3
    )
    assert index_paths(index, [handbook], acl=["board"]).unchanged == 0
    assert index.query("//Document", principal=["staff"]).ids == []
    with pytest.raises(SourceError, match="weight"):
        index_paths(index, [handbook], weight=0)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("empty.md", b""),
        ("binary.md", bytes(range(256)) * 20),
        ("zip.docx", b"PK\x03\x04 this is no document"),
        ("broken.pdf", b"%PDF-1.7 nothing"),
        ("broken.json", b"{"),
        ("nul.txt", b"\0" * 100),
    ],
)
def test_one_bad_file_is_reported_and_the_rest_indexed(index, handbook, name, data):
    (handbook / name).write_bytes(data)
    report = index_paths(index, [handbook])
    assert report.documents == 3
    assert [Path(error.file).name for error in report.errors] == [name]
    assert report.errors[0].message
    again = index_paths(index, [handbook])
    assert (again.unchanged, len(again.errors)) == (3, 1)


def test_a_file_that_turns_bad_keeps_its_last_state(index, handbook):
    index_paths(index, [handbook])
    (handbook / "rules.html").write_bytes(b"")
    report = index_paths(index, [handbook])
    assert len(report.errors) == 1
    assert report.removed == 0
    assert index.keyword_search("kind")


def test_a_file_that_is_too_large(index, handbook, monkeypatch):
    monkeypatch.setattr(folder, "MAX_BYTES", 2**20)
    (handbook / "big.md").write_bytes(b"word " * 2**19)
    report = index_paths(index, [handbook])
    assert "MiB" in report.errors[0].message
    assert report.documents == 3


def test_a_text_of_50_mb_is_refused_before_it_is_read(index, handbook):
    with (handbook / "big.txt").open("wb") as file:
        file.truncate(50_000_000)
    report = index_paths(index, [handbook])
    assert [error.message for error in report.errors] == ["the file has 47 MiB, more than 32"]
    assert report.documents == 3


def test_nothing_to_index(index, tmp_path):
    (tmp_path / "empty").mkdir()
    for path, message in ((tmp_path / "empty", "no documents"), (tmp_path / "nope", "no such")):
        with pytest.raises(SourceError, match=message):
            index_paths(index, [path])
    lonely = tmp_path / "lonely.md"
    lonely.write_bytes(b"")
    with pytest.raises(SourceError, match="empty"):
        index_paths(index, [lonely])
    unknown = tmp_path / "x.unknown"
    unknown.write_text("x")
    with pytest.raises(SourceError):
        index_paths(index, [unknown])
    assert ids(index) == []


def test_a_folder_whose_files_all_went(index, handbook):
    index_paths(index, [handbook])
    for path in ("hr/leave.md", "rules.html"):
        (handbook / path).unlink()
    assert index_paths(index, [handbook]).removed == 2
    assert ids(index) == ["handbook/notes.txt"]


def test_odd_names(index, tmp_path):
    root = tmp_path / "odd 文件"
    root.mkdir()
    names = [
        "a b.md",
        "新建 文件(1).md",
        "it's.md",
        'quote".md',
        "per%cent.md",
        "semi;colon.md",
        "new\nline.md",
    ]
    for name in names:
        (root / name).write_text("# T\n\nText of it.\n")
    report = index_paths(index, [root])
    assert report.errors == []
    assert set(ids(index)) == {f"odd 文件/{name}" for name in names}
    undecodable = os.fsencode(root) + b"/bad\xff.md"
    with open(undecodable, "wb") as file:
        file.write(b"# T\n\nText.\n")
    report = index_paths(index, [root])
    assert len(report.errors) == 1
    assert report.unchanged == len(names)
    str(report.to_dict()).encode()
