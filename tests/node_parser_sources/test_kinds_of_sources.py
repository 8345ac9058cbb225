"""Kinds of documents that people have, each with the tree that a careful human draws."""

from __future__ import annotations

import datetime as dt
import io

import docx
import pytest
from docx.shared import Pt

from llama_index_semxpath.node_parser import parse_bytes


def outline(source: str | bytes, name: str) -> list[tuple[int, str]]:
    return [(n.level, n.text) for n in parse_bytes(source, name) if n.kind == "Section"]


def rows(source: str | bytes, name: str) -> list[dict]:
    return [n.attributes for n in parse_bytes(source, name) if n.kind == "Row"]


def saved(document) -> bytes:
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def test_a_notice_numbered_in_chinese_with_lines_on_end():
    text = (
        "关于印发办法的通知\n\n各部门：\n\n请遵照执行。\n\n一、总体要求\n（一）坚持节约。\n应当节约。\n"
        "二、采购流程\n（一）申请\n1．填写申请单；\n2．负责人审批。\n（二）验收\n三、附则\n自发布之日起施行。\n"
    )
    assert outline(text, "a.txt") == [
        (1, "一、总体要求"),
        (1, "二、采购流程"),
        (2, "（一）申请"),
        (2, "（二）验收"),
        (1, "三、附则"),
    ]


@pytest.mark.parametrize("name", ["a.md", "a.html", "a.docx"])
def test_articles_below_marked_chapters_are_sections(name):
    articles = ["第一条 甲应当守时。", "第二条 乙应当诚信。", "依照第一条的规定办理。"]
    if name.endswith("docx"):
        document = docx.Document()
        document.add_heading("第一章 总则", 1)
        for text in articles:
            document.add_paragraph(text)
        source = saved(document)
    elif name.endswith("html"):
        source = "<h1>第一章 总则</h1>" + "".join(f"<p>{text}</p>" for text in articles)
    else:
        source = "# 第一章 总则\n\n" + "\n\n".join(articles)
    assert outline(source, name) == [(1, "第一章 总则"), (2, "第一条"), (2, "第二条")]
    texts = [n.text for n in parse_bytes(source, name) if n.kind == "Paragraph"]
    assert texts == ["甲应当守时。", "乙应当诚信。", "依照第一条的规定办理。"]


def test_marked_articles_are_the_only_ones():
    text = "# 第一条 目的\n\n第二条 在此。\n\n第三条 在此。\n"
    assert outline(text, "a.md") == [(1, "第一条 目的")]


def test_contents_are_not_wrapped_into_one_line_and_measures_are_no_numbers():
    text = (
        "Contents\n\n1. Start ........ 1\n2. Steps ........ 4\nAppendix A: Codes ...... 9\n\n"
        "1. Start\n\nYou need\n\n2.4 GHz processors.\n\n2. Steps\n\nGo.\n\nAppendix A: Codes\n\nE1\n"
    )
    nodes = parse_bytes(text, "a.txt")
    items = [n.text for n in nodes if n.kind == "ListItem"]
    assert items == ["1. Start ........ 1", "2. Steps ........ 4", "Appendix A: Codes ...... 9"]
    assert not [n for n in nodes if n.kind == "Paragraph" and n.number]
    assert outline(text, "a.txt") == [(1, "1. Start"), (1, "2. Steps"), (1, "Appendix A: Codes")]


def test_front_matter_says_what_its_author_sees():
    text = "---\nversion: 007\nopen: 12:30\nfree: yes\ndraft: false\ndate: 2024-05-01\nn: 3\n---\nHi.\n"
    attributes = parse_bytes(text, "a.md")[0].attributes
    assert {key: attributes[key] for key in ("version", "open", "free", "draft", "date", "n")} == {
        "version": "007",
        "open": "12:30",
        "free": "yes",
        "draft": False,
        "date": dt.date(2024, 5, 1),
        "n": 3,
    }


def test_larger_lines_of_an_unstyled_word_document_stand_above_smaller_ones():
    document = docx.Document()

    def add(text: str, size: float | None = None, bold: bool = False) -> None:
        run = document.add_paragraph().add_run(text)
        run.bold, run.font.size = bold, Pt(size) if size else None

    add("Travel policy", 18, True)
    for head, subs in (("Booking", ("Flights", "Hotels")), ("Payment", ())):
        add(head, 13, True)
        for sub in subs:
            add(sub, None, True)
            add("A sentence about it that is long enough to be text.")
        add("Another sentence that is long enough to be text.")
    assert outline(saved(document), "a.docx") == [
        (1, "Booking"),
        (2, "Flights"),
        (2, "Hotels"),
        (1, "Payment"),
    ]


def test_list_styles_of_word_nest_by_their_names():
    document = docx.Document()
    for text, style in (("a", "List Bullet"), ("b", "List Bullet 2"), ("1", "List Number")):
        document.add_paragraph(text, style=style)
    nodes = parse_bytes(saved(document), "a.docx")
    kinds = {node.id: node for node in nodes}
    inner = next(node for node in nodes if node.text == "b")
    assert kinds[kinds[inner.parent].parent].text == "a"
    assert sum(node.kind == "List" for node in nodes) == 3


def test_a_second_header_row_in_markdown_names_columns_of_groups():
    text = (
        "| Region | 2023 | | 2024 | |\n|---|---|---|---|---|\n| | Q1 | Q2 | Q1 | Q2 |\n"
        "| North | 1,200 | 1,300 | 12% | 5 |\n"
    )
    assert rows(text, "a.md") == [
        {"Region": "North", "2023 / Q1": 1200, "2023 / Q2": 1300, "2024 / Q1": 12, "2024 / Q2": 5}
    ]
    plain = "| a | b | |\n|---|---|---|\n| | x | y |\n| 1 | z | w |\n"
    assert len(rows(plain, "a.md")) == 2


def test_versions_are_no_numbers():
    assert rows("| Version | n |\n|---|---|\n| 1.10 | 1.10 |\n", "a.md") == [
        {"Version": "1.10", "n": 1.1}
    ]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("Müller zahlt 5 €.".encode("cp1252"), "Müller zahlt 5 €."),
        ("Größe: ".encode() + "Maße, naïve".encode("latin-1"), "Größe: Maße, naïve"),
        ("本办法自发布之日起施行。".encode("gbk"), "本办法自发布之日起施行。"),
    ],
)
def test_western_chinese_and_mixed_encodings(data, text):
    assert parse_bytes(data, "a.txt")[-1].text == text


def test_questions_and_speakers_are_no_facts_about_the_document():
    faq = "FAQ\n\nQ: How?\nA: So.\n\nQ: Why?\nA: Because.\n"
    assert not {"Q", "A"} & set(parse_bytes(faq, "a.txt")[0].attributes)
    talk = "Anna: Hello.\nBen: Hi.\nAnna: Bye.\n"
    assert not {"Anna", "Ben"} & set(parse_bytes(talk, "a.txt")[1].attributes)


def test_navigation_of_div_soup_goes():
    page = '<div class="nav"><a href="/">Home</a></div><div>Text <span>of</span> the page.</div>'
    assert [n.text for n in parse_bytes(page, "a.html")[1:]] == ["Text of the page."]


def test_labels_keep_their_colon_and_signature_lines_are_no_sections():
    text = "基本信息：\n姓名张三\n\n主诉：\n发热3天。\n\n现病史：\n患者发热。\n"
    assert outline(text, "a.txt") == [(1, "基本信息："), (1, "主诉："), (1, "现病史：")]
    form = (
        "RENTAL AGREEMENT\n\n1. Term\n\nOne year.\n\n2. Rent\n\n500 EUR.\n\nLANDLORD:\n\n"
        "Signature: ________\n\nDate: ________\n\nTENANT:\n\nSignature: ________\n"
    )
    assert outline(form, "a.txt") == [(1, "1. Term"), (1, "2. Rent")]


def test_verse_is_no_title():
    text = (
        "Two roads diverged in a yellow wood,\nAnd sorry I could not travel both\n" * 2 + "\nSo.\n"
    )
    assert not [n for n in parse_bytes(text, "a.txt") if n.attributes.get("role") == "title"]
