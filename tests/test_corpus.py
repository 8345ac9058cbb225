"""The demo corpus parses into the trees that its documents show to a reader."""

from __future__ import annotations

import datetime as dt
from functools import cache

import pytest

from llama_index_semxpath.data import demo_dir
from llama_index_semxpath.node_parser import parse_file
from llama_index_semxpath.tree.node import TreeNode

DOCUMENTS = sorted(path.relative_to(demo_dir()) for path in demo_dir().rglob("*.*"))


@cache
def nodes_of(name: str) -> tuple[TreeNode, ...]:
    return tuple(parse_file(demo_dir() / name, doc_id=name))


def section(name: str, *titles: str) -> TreeNode:
    """The one section below sections with these titles."""
    nodes = nodes_of(name)
    by_id = {node.id: node for node in nodes}

    def path(node: TreeNode) -> list[str]:
        up = [node.text] if node.kind == "Section" else []
        return (path(by_id[node.parent]) if node.parent else []) + up

    (found,) = [
        node
        for node in nodes
        if node.kind == "Section" and path(node)[-len(titles) :] == list(titles)
    ]
    return found


def below(name: str, ancestor: TreeNode, kind: str) -> list[TreeNode]:
    upper = ancestor.order + "/"
    return [n for n in nodes_of(name) if n.kind == kind and ancestor.order <= n.order < upper]


@pytest.mark.parametrize("name", [str(path) for path in DOCUMENTS])
def test_every_document_has_sections_and_text(name: str) -> None:
    nodes = nodes_of(name)
    assert nodes[0].kind == "Document"
    assert nodes[0].title
    assert sum(node.kind == "Section" for node in nodes) >= 9
    assert len({node.id for node in nodes}) == len(nodes)
    assert [node.order for node in nodes] == sorted(node.order for node in nodes)


@pytest.mark.parametrize("name", [str(path) for path in DOCUMENTS if path.suffix == ".html"])
def test_what_surrounds_a_page_is_left_out(name: str) -> None:
    text = "\n".join(node.text for node in nodes_of(name))
    for noise in (
        "console.log",
        "initSearch",
        "dataset.ready",
        "border-collapse",
        "搜索",
        "Imprint",
    ):
        assert noise not in text


def test_article_five_of_chapter_three_is_annual_leave() -> None:
    name = "company/employee_handbook.md"
    article = section(name, "第二编 工作时间与假期", "第三章 假期", "第五条 年假")
    assert (article.number, article.attributes["n"]) == ("第五条", 5)
    days = {
        row.attributes["级别"]: row.attributes["年假天数"] for row in below(name, article, "Row")
    }
    assert days == {"初级": 10, "中级": 12, "高级": 15, "专家": 18, "管理层": 20}


def test_versions_of_the_travel_policy_differ_in_facts_and_status() -> None:
    def facts(year: str) -> tuple[object, ...]:
        name = f"company/travel_policy_{year}.md"
        document = nodes_of(name)[0].attributes
        (row,) = [
            node
            for node in nodes_of(name)
            if node.kind == "Row" and node.attributes.get("一线城市") and "高级" in node.text
        ]
        return document["status"], document["effective"], row.attributes["一线城市"]

    assert facts("2022") == ("废止", dt.date(2022, 1, 1), 500)
    assert facts("2024") == ("现行", dt.date(2024, 3, 1), 650)


def test_register_has_typed_columns() -> None:
    rows = [
        node.attributes
        for node in nodes_of("company/procurement.html")
        if node.kind == "Row" and "Contract" in node.attributes
    ]
    over = [
        row["Contract"]
        for row in rows
        if row["Amount"] > 100_000
        and row["Approved by"] == "Wang Min"
        and row["Branch"] == "Shanghai"
    ]
    assert over == ["INT-2023-02", "INT-2023-03", "INT-2024-01", "INT-2024-04"]
    assert {type(row["Date"]) for row in rows} == {dt.date}


def test_merged_header_cells_give_full_names() -> None:
    (row,) = [
        node
        for node in nodes_of("company/procurement.html")
        if node.kind == "Row"
        and node.attributes.get("供应商") == "量准仪器有限公司"
        and "评分 / 质量" in node.attributes
    ]
    assert row.attributes["评分 / 总分"] == 85


def test_plain_text_manual_has_its_numbered_sections() -> None:
    name = "kestrel/troubleshooting.txt"
    titles = [node.text for node in nodes_of(name) if node.kind == "Section"]
    assert "2 AGENTS CANNOT CONNECT" in titles
    assert "2.1 Certificate errors" in titles
    assert "4.3 A snapshot seems to be gone" in titles
    assert section(name, "2 AGENTS CANNOT CONNECT", "2.1 Certificate errors").number == "2.1"


def test_code_keeps_its_language_and_its_text() -> None:
    name = "kestrel/install.html"
    (code,) = below(name, section(name, "2.3 Containers"), "Code")
    assert code.attributes["language"] == "yaml"
    assert code.text.startswith("services:\n  kestrel:\n")


def test_there_are_ten_documents_in_three_formats() -> None:
    assert len(DOCUMENTS) == 10
    assert {path.suffix for path in DOCUMENTS} == {".html", ".md", ".txt"}
