"""The slice on documents that nobody wrote for it: pages of Debian's python3-doc, where present."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from llama_index_semxpath import SemXPathIndex
from llama_index_semxpath.index import index_paths

HTML = next(iter(sorted(Path("/usr/share/doc").glob("python3.*-doc/html"))), None) or next(
    iter(sorted(Path("/usr/share/doc").glob("python3.*/html"))), None
)
PAGES = (
    "library/contextlib.html",
    "library/csv.html",
    "library/json.html",
    "library/sched.html",
    "library/zipfile.html",
    "reference/compound_stmts.html",
    "tutorial/errors.html",
)
pytestmark = pytest.mark.skipif(HTML is None, reason="Debian's python3-doc is not installed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert HTML is not None
    folder = tmp_path_factory.mktemp("real") / "html"
    for page in PAGES:
        target = folder / page
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(HTML / page, target)
    return folder


@pytest.fixture(scope="module")
def index(folder: Path) -> Iterator[SemXPathIndex]:
    with SemXPathIndex(folder.parent / "store") as index:
        report = index_paths(index, [folder])
        assert (report.documents, report.errors) == (len(PAGES), [])
        yield index


def test_sections_by_meaning_lead_to_their_code(index: SemXPathIndex) -> None:
    found = index.query('//Section[title =~ "context manager"]//Code', top_k=5)
    assert found
    assert {match.document for match in found} <= {
        "html/library/contextlib.html",
        "html/reference/compound_stmts.html",
        "html/tutorial/errors.html",
    }


def test_sections_by_structure(index: SemXPathIndex) -> None:
    (section,) = index.query(
        '//Document[contains(@title, "csv")]//Section[contains(@title, "Examples")]'
    )
    assert section.path[-1] == "Examples"
    assert len(index.query("id($id)//Code", params={"id": section.id})) >= 4


def test_a_question_is_answered_from_the_right_page(index: SemXPathIndex) -> None:
    response = index.as_query_engine().query(
        "How do I ignore an exception with contextlib.suppress?"
    )
    assert "suppress" in str(response)
    assert response.source_nodes
    first = index.node(response.source_nodes[0].node_id)
    assert first is not None
    assert first.document == "html/library/contextlib.html"


def test_indexing_again_changes_nothing(index: SemXPathIndex, folder: Path) -> None:
    before = index.catalog.count_nodes()
    report = index_paths(index, [folder])
    assert (report.unchanged, report.removed) == (len(PAGES), 0)
    assert report.totals.embedded == 0
    assert index.catalog.count_nodes() == before
    assert index.check().ok
