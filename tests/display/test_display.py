import json

import pytest

from llama_index_semxpath.display import (
    Style,
    matches_html,
    matches_text,
    pre_html,
    table_html,
    tree_html,
    tree_lines,
)
from llama_index_semxpath.display.style import clean, cut, width_of

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
