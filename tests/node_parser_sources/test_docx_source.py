"""Word documents made here: outline levels, automatic numbers, lists, tables, what is not seen."""

import io

import docx
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn

from llama_index_semxpath.node_parser import parse_bytes


def save(document):
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def parse(document):
    return parse_bytes(save(document), "a.docx")


def child(parent, name, value=None):
    element = OxmlElement(name)
    if value is not None:
        element.set(qn("w:val"), value)
    parent.append(element)
    return element


def outline(nodes):
    return [(node.level, node.text) for node in nodes if node.kind == "Section"]


def test_levels_of_renamed_styles_and_their_heirs():
    document = docx.Document()
    base = document.styles.add_style("Kapitel", WD_STYLE_TYPE.PARAGRAPH)
    child(base.element.get_or_add_pPr(), "w:outlineLvl", "0")
    heir = document.styles.add_style("Kapitel rot", WD_STYLE_TYPE.PARAGRAPH)
    heir.base_style = base
    local = document.styles.add_style("标题 2", WD_STYLE_TYPE.PARAGRAPH)
    document.add_paragraph("One", style=base)
    document.add_paragraph("Two", style=heir)
    document.add_paragraph("里面", style=local)
    document.add_paragraph("Text")
    direct = document.add_paragraph("Deep")
    child(direct._p.get_or_add_pPr(), "w:outlineLvl", "2")
    body = document.add_paragraph("Not a heading", style=base)
    child(body._p.get_or_add_pPr(), "w:outlineLvl", "9")
    nodes = parse(document)
    assert outline(nodes) == [(1, "One"), (1, "Two"), (2, "里面"), (3, "Deep")]
    assert nodes[-1].text == "Not a heading"


def test_numeric_style_ids_of_other_office_suites():
    document = docx.Document()
    style = document.styles["Heading 2"]
    style.element.set(qn("w:styleId"), "3")
    paragraph = document.add_paragraph("运行要求")
    child(paragraph._p.get_or_add_pPr(), "w:pStyle", "3")
    assert outline(parse(document)) == [(2, "运行要求")]


def numbered(document, levels):
    numbering = document.part.numbering_part.element
    abstract = OxmlElement("w:abstractNum")
    abstract.set(qn("w:abstractNumId"), "77")
    for index, (form, text) in enumerate(levels):
        level = child(abstract, "w:lvl")
        level.set(qn("w:ilvl"), str(index))
        child(level, "w:start", "1")
        child(level, "w:numFmt", form)
        child(level, "w:lvlText", text)
    numbering.insert(0, abstract)
    num = child(numbering, "w:num")
    num.set(qn("w:numId"), "77")
    child(num, "w:abstractNumId", "77")


def number(paragraph, level):
    properties = child(paragraph._p.get_or_add_pPr(), "w:numPr")
    child(properties, "w:ilvl", str(level))
    child(properties, "w:numId", "77")
    return paragraph


def test_automatic_numbers_stand_before_headings():
    document = docx.Document()
    numbered(document, [("chineseCountingThousand", "第%1章"), ("decimal", "%1.%2")])
    for text, level in (("总则", 0), ("目的", 1), ("范围", 1), ("罚则", 0), ("数额", 1)):
        number(document.add_heading(text, level + 1), level)
    nodes = parse(document)
    assert [text for _, text in outline(nodes)] == [
        "第一章 总则",
        "一.1 目的",
        "一.2 范围",
        "第二章 罚则",
        "二.1 数额",
    ]
    assert nodes[1].attributes["number"] == "第一章"
    assert nodes[2].attributes["n"] == 1


def test_lists_nest_by_level_and_count():
    document = docx.Document()
    numbered(document, [("decimal", "%1."), ("lowerLetter", "(%2)")])
    for text, level in (("Wash", 0), ("cold", 1), ("warm", 1), ("Dry", 0)):
        number(document.add_paragraph(text), level)
    document.add_paragraph("Apples", style="List Bullet")
    nodes = parse(document)
    items = [(n.text, n.attributes.get("number")) for n in nodes if n.kind == "ListItem"]
    assert items == [
        ("Wash", "1"),
        ("cold", "(a)"),
        ("warm", "(b)"),
        ("Dry", "2"),
        ("Apples", None),
    ]
    inner = next(node for node in nodes if node.text == "cold")
    listing = next(node for node in nodes if node.id == inner.parent)
    assert next(node for node in nodes if node.id == listing.parent).text == "Wash"


def test_tables_keep_merges_and_nested_text():
    document = docx.Document()
    table = document.add_table(4, 3)
    table.cell(0, 0).merge(table.cell(1, 0)).text = "Farm"
    table.cell(0, 1).merge(table.cell(0, 2)).text = "2030"
    table.cell(1, 1).text, table.cell(1, 2).text = "Wheat", "Oats"
    table.cell(2, 0).merge(table.cell(3, 0)).text = "Hill"
    for row, values in ((2, ("4", "2")), (3, ("6", "1"))):
        table.cell(row, 1).text, table.cell(row, 2).text = values
    inner = table.cell(3, 2).add_table(1, 1)
    inner.cell(0, 0).text = "inner"
    nodes = parse(document)
    rows = [node.attributes for node in nodes if node.kind == "Row"]
    assert rows[0] == {"Farm": "Hill", "2030 / Wheat": 4, "2030 / Oats": 2}
    assert rows[1]["Farm"] == "Hill"
    assert "inner" in rows[1]["2030 / Oats"]
    assert sum("Hill" in node.text for node in nodes) == 1


def test_repeated_header_rows_are_marked_by_the_file():
    document = docx.Document()
    table = document.add_table(3, 2)
    for y, values in enumerate((("1", "2"), ("3", "4"), ("5", "6"))):
        table.cell(y, 0).text, table.cell(y, 1).text = values
    child(table.rows[0]._tr.get_or_add_trPr(), "w:tblHeader")
    rows = [node.attributes for node in parse(document) if node.kind == "Row"]
    assert rows == [{"1": 3, "2": 4}, {"1": 5, "2": 6}]


def test_unseen_text_is_left_out_and_inserted_text_kept():
    document = docx.Document()
    paragraph = document.add_paragraph("seen ")
    hidden = paragraph.add_run("hidden")
    hidden.font.hidden = True
    deleted = child(paragraph._p, "w:del")
    run = child(deleted, "w:r")
    child(run, "w:delText").text = "deleted"
    inserted = child(paragraph._p, "w:ins")
    run = child(inserted, "w:r")
    child(run, "w:t").text = "inserted"
    texts = [node.text for node in parse(document) if node.kind == "Paragraph"]
    assert texts == ["seen inserted"]


def test_properties_title_code_and_quotes():
    document = docx.Document()
    document.core_properties.author = "Li Lei"
    document.core_properties.title = "Old title"
    document.add_paragraph("Annual report", style="Title")
    document.add_heading("1 Sales", 1)
    document.add_paragraph("Words of others.", style="Quote")
    document.styles.add_style("Source Code", WD_STYLE_TYPE.PARAGRAPH)
    document.add_paragraph("x = 1", style="Source Code")
    document.add_paragraph("y = 2", style="Source Code")
    nodes = parse(document)
    assert nodes[0].attributes["author"] == "Li Lei"
    assert nodes[0].attributes["title"] == "Annual report"
    assert [(n.kind, n.text) for n in nodes[1:]] == [
        ("Paragraph", "Annual report"),
        ("Section", "1 Sales"),
        ("Quote", ""),
        ("Paragraph", "Words of others."),
        ("Code", "x = 1\ny = 2"),
    ]


def test_an_unstyled_document_is_recovered_from_its_numbers():
    document = docx.Document()
    for text in ("1 Scope", "This is for all.", "1.1 Use", "Use it.", "2 Parts", "Some parts."):
        document.add_paragraph(text)
    nodes = parse(document)
    assert outline(nodes) == [(1, "1 Scope"), (2, "1.1 Use"), (1, "2 Parts")]
    assert all(0 < n.attributes["confidence"] < 1 for n in nodes if n.kind == "Section")


def test_a_picture_is_a_figure_with_its_alternative_text():
    document = docx.Document()
    paragraph = document.add_paragraph()
    drawing = child(child(paragraph._p, "w:r"), "w:drawing")
    inline = child(drawing, "wp:inline")
    info = child(inline, "wp:docPr")
    info.set("id", "1")
    info.set("descr", "boats on the lake")
    figure = next(node for node in parse(document) if node.kind == "Figure")
    assert (figure.text, figure.attributes["alt"]) == ("boats on the lake", "boats on the lake")


@pytest.mark.parametrize("level", range(1, 10))
def test_all_nine_built_in_levels(level):
    document = docx.Document()
    document.add_heading("Deep", level)
    assert outline(parse(document)) == [(level, "Deep")]
