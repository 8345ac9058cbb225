import asyncio
import json
from collections.abc import Iterator

import pytest
from llama_index.core import Document

from llama_index_semxpath.display import (
    Style,
    TreeView,
    answer_html,
    matches_html,
    matches_text,
    pre_html,
    result_html,
    store_html,
    table_html,
    tree_html,
    tree_lines,
)
from llama_index_semxpath.display.style import clean, cut, width_of
from llama_index_semxpath.index import SemXPathIndex, StoreConfig

EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>"


def _match(**changes: object) -> dict[str, object]:
    match: dict[str, object] = {
        "id": "p1",
        "kind": "Paragraph",
        "parent": "s1",
        "title": None,
        "text": "员工每年享有年假。",
        "attributes": {},
        "path": ["第三章 假期", "第五条 年假"],
        "xpath": "/Document[1]/Section[1]/Paragraph[1]",
        "document": "handbook.md",
        "score": 0.87,
        "why": {"tree": 0.9, "semantic": 0.4},
        "page": None,
    }
    return {**match, **changes}


def test_a_result_shows_path_score_place_and_text() -> None:
    lines = matches_text([_match()], Style(width=80)).splitlines()
    assert "第三章 假期 › 第五条 年假" in lines[0]
    assert lines[0].endswith("0.87")
    assert "Paragraph · handbook.md" in lines[1]
    assert "员工每年享有年假。" in lines[2]
    assert all(width_of(line) <= 80 for line in lines)


def test_rows_show_their_fields() -> None:
    row = _match(kind="Row", text="高级 | 15", attributes={"级别": "高级", "天数": 15})
    assert "级别: 高级; 天数: 15" in matches_text([row], Style(width=80))


@pytest.mark.parametrize("width", [40, 60, 100])
def test_long_and_wide_text_stays_in_the_terminal(width: int) -> None:
    long = _match(text="年假" * 400, path=["很长的标题" * 30])
    lines = matches_text([long], Style(width=width), lines=2).splitlines()
    assert all(width_of(line) <= width for line in lines)
    assert lines[-1].endswith("…")


def test_control_characters_of_a_document_do_not_reach_the_terminal() -> None:
    shown = matches_text([_match(text="a\x1b[2Jb\x07c\u202e", path=["x\x1b]0;y\x07"])], Style())
    assert not any(char in shown for char in "\x1b\x07\u202e")
    assert clean("a\x00b") == "ab"


def test_colours_only_where_they_are_wanted() -> None:
    assert "\x1b[" in matches_text([_match()], Style(color=True))
    assert "\x1b[" not in matches_text([_match()], Style(color=False))


def test_no_results() -> None:
    assert matches_text([], Style()) == "no results"
    assert "0 results" in matches_html([])


@pytest.mark.parametrize(
    "html",
    [
        matches_html([_match(text=EVIL, path=[EVIL], document=EVIL, why={EVIL: 1.0})], query=EVIL),
        tree_html([{"id": EVIL, "kind": EVIL, "parent": None, "title": EVIL}]),
        table_html([{EVIL: EVIL}], [EVIL]),
        pre_html(EVIL),
        result_html([], query=EVIL, value=[{"key": EVIL, "count": 1}]),
        result_html([], query=EVIL, value=EVIL, parts={EVIL: ""}),
        store_html(EVIL, {EVIL: EVIL}, [{"id": EVIL, "title": EVIL, "nodes": 1}]),
        answer_html(
            EVIL, [{"document": EVIL, "path": [EVIL]}], confidence=1, reasons=[EVIL], notes=[EVIL]
        ),
        TreeView([{"id": EVIL, "kind": EVIL, "parent": None, "title": EVIL}])._repr_html_(),
    ],
)
def test_everything_from_a_document_is_escaped(html: str) -> None:
    assert "<script" not in html
    assert "<img" not in html
    assert "&lt;script&gt;" in html


def test_html_is_light_and_at_ease_in_dark_mode() -> None:
    html = matches_html([_match(id=str(n), text="x" * 5000) for n in range(1000)])
    assert len(html) < 200_000
    assert "… and 800 more" in html
    assert "background:#fff" not in html
    assert "currentColor" in html
    assert "http" not in html


def test_a_tree_unfolds_to_what_was_matched() -> None:
    nodes = [
        {"id": "d", "kind": "Document", "parent": None, "title": "T"},
        {"id": "s", "kind": "Section", "parent": "d", "title": "S"},
        {"id": "p", "kind": "Paragraph", "parent": "s", "text": "words"},
        {"id": "o", "kind": "Section", "parent": "d", "title": "Other"},
        {"id": "q", "kind": "Paragraph", "parent": "o", "text": "more"},
    ]
    html = tree_html(nodes, matched=["p"])
    assert html.count("<details open>") == 2
    assert html.count("<details>") == 1
    assert "<mark>words</mark>" in html
    lines = list(tree_lines(nodes, Style()))
    assert lines == [
        "Document  T",
        "  Section  S",
        "    Paragraph  words",
        "  Section  Other",
        "    Paragraph  more",
    ]


def test_a_tree_of_any_depth_is_shown() -> None:
    nodes = [
        {"id": str(n), "kind": "List", "parent": str(n - 1) if n else None, "text": "x"}
        for n in range(2000)
    ]
    assert tree_html(nodes).count("</details>") == 1999
    assert len(list(tree_lines(nodes, Style()))) == 2000


def test_cut_counts_columns() -> None:
    assert cut("年假制度", 5) == "年假…"
    assert json.loads(json.dumps(cut("abc", 5))) == "abc"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SemXPathIndex]:
    config = StoreConfig(tmp_path_factory.mktemp("show") / "store", milvus_uri="", graph="none")
    documents = [
        Document(text=f"# Pump\n\n## {EVIL}\n\nTwo litres of oil. {EVIL}", doc_id="pump.md"),
        Document(text="# Board\n\nSecret salaries.", doc_id="b.md", metadata={"acl": ["board"]}),
        Document(text="# Open\n\nFor all.", doc_id="open.md", metadata={"acl": ["all"]}),
    ]
    with SemXPathIndex.from_documents(documents, store=config) as built:
        yield built


def test_what_a_notebook_shows(index: SemXPathIndex) -> None:
    principal = ["board", "all"]
    result = index.query('//Section[. =~ "board"]', principal=principal, trace=True)
    shown = {
        "index": index._repr_html_(),
        "tree": index.show("b.md", principal)._repr_html_(),
        "result": result._repr_html_(),
        "match": result[0]._repr_html_(),
        "value": index.query("count(//Section)", principal=principal)._repr_html_(),
        "groups": index.query("group(//Section, @level)", principal=principal)._repr_html_(),
        "plan": result.plan._repr_html_(),
        "trace": result.trace._repr_html_(),
        "answer": index.as_query_engine(principal=principal).ask("secret salaries")._repr_html_(),
    }
    for name, html in shown.items():
        assert len(html) < 30_000, name
        assert "<script" not in html, name
        assert "http" not in html, name
        assert "background:#fff" not in html, name
    assert "<mark>Board</mark>" in shown["result"]
    assert "<summary>plan</summary>" in shown["result"]
    assert "<summary>trace</summary>" in shown["result"]
    assert "<details" in shown["tree"]
    assert "confidence" in shown["answer"]
    # A notebook is passed around: it shows what one without labels may read.
    assert "Board" not in shown["index"]


def test_a_match_prints_its_place_and_not_its_innards(index: SemXPathIndex) -> None:
    match = index.query("//Section/Paragraph", principal=["board"])[0]
    text = repr(match)
    assert len(text.splitlines()) <= 4
    assert "Board" in text
    assert "1.00" in text
    assert "order" not in text


def test_a_cell_in_a_running_loop(index: SemXPathIndex) -> None:
    async def cell() -> tuple[list[str], list[str]]:
        retriever = index.as_retriever(principal=["board"])
        found = retriever.retrieve("salaries")
        later = await retriever.aretrieve("salaries")
        engine = index.as_query_engine(principal=["board"])
        assert str(engine.query("salaries")) == str(await engine.aquery("salaries"))
        assert repr(index.query("//*")) == repr(await index.aquery("//*"))
        return [n.node.node_id for n in found], [n.node.node_id for n in later]

    found, later = asyncio.run(cell())
    assert found == later
    assert found
