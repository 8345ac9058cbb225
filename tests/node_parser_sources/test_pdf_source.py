"""PDF files made here: bookmarks, fonts, columns, tables, running heads, Chinese."""

import io

import pytest
from reportlab.lib import colors
from reportlab.lib.pagesizes import A5
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.styles import ParagraphStyle, getSampleStyleSheet
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Table

from llama_index_semxpath.errors import SourceError
from llama_index_semxpath.node_parser import parse_bytes

STYLES = getSampleStyleSheet()
BODY = STYLES["BodyText"]
LOREM = "The pump moves water from the well to the tank and runs at night when power is cheap. " * 4


def build(story, head=None, **info):
    stream = io.BytesIO()

    def decorate(canvas, document):
        if head:
            canvas.setFont("Helvetica", 8)
            canvas.drawString(40, 570, head)
            canvas.drawString(200, 20, f"Page {document.page}")

    document = SimpleDocTemplate(stream, pagesize=A5, **info)
    document.build(story, onFirstPage=decorate, onLaterPages=decorate)
    return stream.getvalue()


def outline(nodes):
    titles = {node.id: node.text for node in nodes if node.kind == "Section"}
    return [(node.text, titles.get(node.parent)) for node in nodes if node.kind == "Section"]


def test_numbers_and_fonts_give_levels_and_heads_are_left_out():
    story = [
        Paragraph("Pump Handbook", STYLES["Title"]),
        Paragraph(LOREM, BODY),
        Paragraph("1 Safety", STYLES["Heading2"]),
        Paragraph(LOREM, BODY),
        Paragraph("1.1 Clothing", STYLES["Heading2"]),
        Paragraph(LOREM, BODY),
        Paragraph("3.5 mm gloves are enough.", BODY),
        PageBreak(),
        Paragraph("2 Service", STYLES["Heading2"]),
        Paragraph(LOREM, BODY),
        PageBreak(),
        Paragraph("The end.", BODY),
    ]
    nodes = parse_bytes(build(story, head="ACME Pumps", author="Li Lei"), "a.pdf")
    assert outline(nodes) == [
        ("Pump Handbook", None),
        ("1 Safety", "Pump Handbook"),
        ("1.1 Clothing", "1 Safety"),
        ("2 Service", "Pump Handbook"),
    ]
    assert nodes[0].attributes["author"] == "Li Lei"
    texts = [node.text for node in nodes]
    assert not any("ACME" in text or text.startswith("Page ") for text in texts)
    assert LOREM.strip() in texts
    pages = {node.text: node.page for node in nodes if node.kind == "Section"}
    assert (pages["1 Safety"], pages["2 Service"]) == (1, 2)


def test_unnumbered_headings_take_their_level_from_the_size():
    story = []
    for style, text in (
        ("Heading1", "Sea"),
        ("Heading2", "Fish"),
        ("Heading2", "Birds"),
        ("Heading1", "Land"),
    ):
        story += [Paragraph(text, STYLES[style]), Paragraph(LOREM, BODY)]
    nodes = parse_bytes(build(story), "a.pdf")
    assert outline(nodes) == [("Sea", None), ("Fish", "Sea"), ("Birds", "Sea"), ("Land", None)]
    assert all(n.attributes["confidence"] < 1 for n in nodes if n.kind == "Section")


def test_bookmarks_win_over_fonts():
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=A5)
    lines = [("Manual", 0), ("1 Safety", 1), ("Wear gloves.", None), ("2 Service", 1)]
    for index, (text, level) in enumerate(lines):
        canvas.setFont("Helvetica", 11)
        canvas.drawString(36, 550 - 40 * index, text)
        if level is not None:
            canvas.bookmarkPage(str(index))
            canvas.addOutlineEntry(text.split(" ", 1)[-1], str(index), level)
    canvas.save()
    nodes = parse_bytes(stream.getvalue(), "a.pdf")
    assert outline(nodes) == [("Manual", None), ("1 Safety", "Manual"), ("2 Service", "Manual")]


def test_ruled_tables_keep_merged_heads_and_join_over_pages():
    grid = [["Farm", "2030", ""], ["", "Wheat", "Oats"], ["Hill", "4", "2"], ["Dale", "6", "1"]]
    style = [
        ("GRID", (0, 0), (-1, -1), 1, colors.black),
        ("SPAN", (1, 0), (2, 0)),
        ("SPAN", (0, 0), (0, 1)),
    ]
    nodes = parse_bytes(build([Paragraph(LOREM, BODY), Table(grid, style=style)]), "a.pdf")
    rows = [node.attributes for node in nodes if node.kind == "Row"]
    assert rows == [
        {"Farm": "Hill", "2030 / Wheat": 4, "2030 / Oats": 2},
        {"Farm": "Dale", "2030 / Wheat": 6, "2030 / Oats": 1},
    ]
    grid = [["Part", "Price"], *([f"Bolt {i}", f"${i}.50"] for i in range(60))]
    table = Table(grid, style=[("GRID", (0, 0), (-1, -1), 1, colors.black)], repeatRows=1)
    nodes = parse_bytes(build([table]), "a.pdf")
    assert sum(node.kind == "Table" for node in nodes) == 1
    rows = [node.attributes for node in nodes if node.kind == "Row"]
    assert rows == [{"Part": f"Bolt {i}", "Price": i + 0.5} for i in range(60)]


def test_aligned_columns_without_rules_are_a_table():
    grid = [["Part", "Price", "Stock"], *([f"Bolt {i}", f"${i}.50", str(i)] for i in range(1, 5))]
    nodes = parse_bytes(build([Paragraph(LOREM, BODY), Table(grid)]), "a.pdf")
    rows = [node.attributes for node in nodes if node.kind == "Row"]
    assert rows[0] == {"Part": "Bolt 1", "Price": 1.5, "Stock": 1}
    assert len(rows) == 4


def test_two_columns_are_read_one_after_the_other():
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=A5)
    canvas.setFont("Helvetica", 9)
    canvas.drawString(36, 560, "A title that crosses the middle of the page from left to right")
    for i in range(6):
        canvas.drawString(36, 520 - 11 * i, f"left column line {i} runs on and on")
        canvas.drawString(220, 520 - 11 * i, f"right column line {i} runs on and on")
    canvas.save()
    text = "\n".join(node.text for node in parse_bytes(stream.getvalue(), "a.pdf"))
    assert text.index("left column line 5") < text.index("right column line 0")


def test_chinese_articles():
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    body = ParagraphStyle("zh", fontName="STSong-Light", fontSize=11, leading=15, wordWrap="CJK")
    head = ParagraphStyle("zh1", parent=body, fontSize=16, leading=22)
    long = "为了加强安全生产工作，防止和减少生产安全事故，保障人民群众生命和财产安全，制定本办法。"
    story = [
        Paragraph("第三章 安全管理", head),
        Paragraph(f"第一条 {long}", body),
        Paragraph("第二条 依照第一条规定的要求执行。", body),
    ]
    nodes = parse_bytes(build(story), "a.pdf")
    assert outline(nodes) == [
        ("第三章 安全管理", None),
        ("第一条", "第三章 安全管理"),
        ("第二条", "第三章 安全管理"),
    ]
    assert long in [node.text for node in nodes]


def test_an_encrypted_file_says_so():
    stream = io.BytesIO()
    canvas = Canvas(stream, encrypt=StandardEncryption("secret", canPrint=0))
    canvas.drawString(100, 100, "hidden")
    canvas.save()
    with pytest.raises(SourceError, match="encrypted"):
        parse_bytes(stream.getvalue(), "a.pdf")


def test_a_scan_says_so():
    stream = io.BytesIO()
    canvas = Canvas(stream)
    canvas.rect(100, 100, 200, 200, fill=1)
    canvas.save()
    with pytest.raises(SourceError, match="scan") as caught:
        parse_bytes(stream.getvalue(), "a.pdf")
    assert "OCR" in str(caught.value)


@pytest.mark.parametrize("cut", [20, 200, 600])
def test_a_damaged_file_is_read_as_far_as_it_goes_or_refused(cut):
    data = build([Paragraph(LOREM, BODY)])
    try:
        nodes = parse_bytes(data[:-cut], "a.pdf")
    except SourceError:
        return
    assert any("pump" in node.text for node in nodes)


def test_what_is_no_pdf_is_refused():
    with pytest.raises(SourceError, match="no PDF"):
        parse_bytes(b"hello", "a.pdf")


@pytest.mark.parametrize(("font", "size"), [("Helvetica-Bold", 12), ("Helvetica", 14)])
def test_flat_headings_without_bookmarks_take_their_levels_from_the_numbers(font, size):
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=A5)
    heads = ["Pump manual", "1 Safety", "1.1 Boots", "2 Service"]
    texts = ["Read it.", "Wear gloves.", "Wear boots.", "2.5 litres of oil are needed."]
    for index, text in enumerate(text for pair in zip(heads, texts, strict=True) for text in pair):
        head = index % 2 == 0
        canvas.setFont(font if head else "Helvetica", size if head else 11)
        canvas.drawString(36, 550 - 22 * index, text)
    canvas.save()
    assert outline(parse_bytes(stream.getvalue(), "a.pdf")) == [
        ("Pump manual", None),
        ("1 Safety", "Pump manual"),
        ("1.1 Boots", "1 Safety"),
        ("2 Service", "Pump manual"),
    ]


def test_bullets_drawn_apart_belong_to_their_items():
    from reportlab.platypus import ListFlowable, ListItem

    style = getSampleStyleSheet()["BodyText"]
    items = [ListItem(Paragraph(text, style)) for text in ("first thing", "second thing")]
    nodes = parse_bytes(
        build([Paragraph("We need:", style), ListFlowable(items, bulletType="bullet")]), "a.pdf"
    )
    assert [n.text for n in nodes if n.kind == "ListItem"] == ["first thing", "second thing"]
    assert not [n for n in nodes if n.kind == "Section"]


def test_a_paragraph_of_a_column_is_one_paragraph():
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=(600, 800))
    for x in (40, 320):
        for row in range(8):
            # Every sentence ends inside a line of its column.
            canvas.drawString(x, 700 - 14 * row, "water flows. Then the pump stops and water")
    canvas.save()
    nodes = parse_bytes(stream.getvalue(), "a.pdf")
    assert len([n for n in nodes if n.kind == "Paragraph"]) == 1
