"""Slides, sheets, e-mail, e-books and OpenDocument texts made here."""

import datetime as dt
import io
import zipfile
from email.message import EmailMessage

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.styles import Font
from pptx import Presentation
from pptx.util import Inches

from llama_index_semxpath.errors import SourceError
from llama_index_semxpath.node_parser import parse_bytes
from llama_index_semxpath.node_parser.elements import from_docling, from_unstructured


def save(document):
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def tree(nodes):
    return [(node.kind, node.text) for node in nodes[1:]]


def rows(nodes):
    return [node.attributes for node in nodes if node.kind == "Row"]


def workbook():
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "销售"
    sheet.append(["2024 sales"])
    sheet.merge_cells("A1:D1")
    sheet.append(["Region", "Q1", None, "Date"])
    sheet.append([None, "Plan", "Real", None])
    for area in ("B2:C2", "A2:A3", "D2:D3"):
        sheet.merge_cells(area)
    sheet.append(["North", 100, 0.125, dt.date(2024, 3, 1)])
    sheet["C4"].number_format = "0.0%"
    sheet.append(["South", "007", 1234.5, dt.datetime(2024, 3, 1, 12, 30)])
    sheet["C5"].number_format = '"$"#,##0.00'
    sheet["A8"] = "A note"
    sheet["A10"], sheet["B10"], sheet["A11"], sheet["B11"] = "Name", "Qty", "Bolt", 3
    sheet["A10"].font = sheet["B10"].font = Font(bold=True)
    hidden = book.create_sheet("hidden")
    hidden["A1"] = "secret"
    hidden.sheet_state = "hidden"
    return book


def test_sheets_hold_tables_notes_and_typed_values():
    nodes = parse_bytes(save(workbook()), "a.xlsx")
    assert [node.text for node in nodes if node.kind == "Section"] == ["销售"]
    assert rows(nodes) == [
        {
            "Region": "North",
            "Q1 / Plan": 100,
            "Q1 / Real": 12.5,
            "Date": dt.date(2024, 3, 1),
        },
        {
            "Region": "South",
            "Q1 / Plan": "007",
            "Q1 / Real": 1234.5,
            "Date": dt.datetime(2024, 3, 1, 12, 30),
        },
        {"Name": "Bolt", "Qty": 3},
    ]
    texts = [node.text for node in nodes]
    assert "A note" in texts
    assert "secret" not in " ".join(texts)
    captions = [n.attributes.get("caption") for n in nodes if n.kind == "Table"]
    assert captions == ["2024 sales", None]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_of_values_are_found(separator):
    text = "\n".join(separator.join(row) for row in (["name", "n"], ["a b", "1"], ["c", "2"]))
    assert rows(parse_bytes(text.encode(), "a.csv")) == [
        {"name": "a b", "n": 1},
        {"name": "c", "n": 2},
    ]


plain = st.text(alphabet=st.characters(categories=["L", "Nd"]), min_size=1, max_size=8)


@given(st.lists(st.lists(plain, min_size=3, max_size=3), min_size=2, max_size=6))
def test_every_value_of_a_csv_stands_in_a_row(grid):
    import csv

    stream = io.StringIO()
    csv.writer(stream).writerows(grid)
    nodes = parse_bytes(stream.getvalue().encode(), "a.csv")
    shown = " | ".join(line for node in nodes for line in node.text.split("\n"))
    assert all(" | ".join(row) in shown for row in grid)


def test_csv_in_a_chinese_encoding_and_with_quoted_line_breaks():
    nodes = parse_bytes('姓名,部门\n李雷,"研发\n一部"\n'.encode("gb18030"), "a.csv")
    assert rows(nodes) == [{"姓名": "李雷", "部门": "研发 一部"}]


def test_slides_are_sections_with_lists_tables_and_notes():
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "1 Goals"
    frame = slide.placeholders[1].text_frame
    frame.text = "First"
    inner = frame.add_paragraph()
    inner.text, inner.level = "deeper", 1
    frame.add_paragraph().text = "Second"
    slide.notes_slide.notes_text_frame.text = "Say hello"
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Yields"
    table = slide.shapes.add_table(3, 3, 0, 0, Inches(5), Inches(2)).table
    table.cell(0, 0).merge(table.cell(1, 0))
    table.cell(0, 1).merge(table.cell(0, 2))
    for (y, x), text in {
        (0, 0): "Farm",
        (0, 1): "2030",
        (1, 1): "Wheat",
        (1, 2): "Oats",
        (2, 0): "Hill",
        (2, 1): "4",
        (2, 2): "2",
    }.items():
        table.cell(y, x).text = text
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    slide.shapes.add_textbox(0, 0, Inches(2), Inches(1)).text_frame.text = "Loose text"
    nodes = parse_bytes(save(deck), "a.pptx")
    assert tree(nodes) == [
        ("Section", "1 Goals"),
        ("List", ""),
        ("ListItem", "First"),
        ("List", ""),
        ("ListItem", "deeper"),
        ("ListItem", "Second"),
        ("Paragraph", "Say hello"),
        ("Section", "Yields"),
        ("Table", "Farm | 2030\nWheat | Oats"),
        ("Row", "Hill | 4 | 2"),
        ("Section", "Slide 3"),
        ("Paragraph", "Loose text"),
    ]
    assert rows(nodes) == [{"Farm": "Hill", "2030 / Wheat": 4, "2030 / Oats": 2}]
    assert [node.page for node in nodes if node.kind == "Section"] == [1, 2, 3]


def message(**parts):
    mail = EmailMessage()
    mail["Subject"] = "年假申请 2024"
    mail["From"] = '"Li, Lei" <li@example.org>'
    mail["To"] = "Ann <ann@example.org>, Bob <bob@example.org>"
    mail["Date"] = "Fri, 01 Mar 2024 09:30:00 +0800"
    mail.set_content(parts.get("plain", "Hello"))
    if "html" in parts:
        mail.add_alternative(parts["html"], subtype="html")
    return mail


def test_mail_headers_lists_quotes_and_attachments():
    mail = message(plain="Hello Ann,\n\n- one\n- two\n\n> You wrote\n\nBest\nLi\n")
    mail.add_attachment(b"a,b\n1,2\n", maintype="text", subtype="csv", filename="n.csv")
    mail.add_attachment(b"\x00\x01", maintype="application", subtype="x-foo", filename="z.foo")
    nodes = parse_bytes(mail.as_bytes(), "a.eml")
    root = nodes[0].attributes
    assert (root["title"], root["author"], root["from"]) == (
        "年假申请 2024",
        "Li, Lei",
        "li@example.org",
    )
    assert root["to"] == ["Ann <ann@example.org>", "Bob <bob@example.org>"]
    assert root["created"].isoformat() == "2024-03-01T09:30:00+08:00"
    assert root["attachments"] == ["n.csv", "z.foo"]
    assert tree(nodes) == [
        ("Paragraph", "年假申请 2024"),
        ("Paragraph", "Hello Ann,"),
        ("List", ""),
        ("ListItem", "one"),
        ("ListItem", "two"),
        ("Quote", ""),
        ("Paragraph", "You wrote"),
        ("Paragraph", "Best\nLi"),
        ("Section", "n.csv"),
        ("Table", "a | b"),
        ("Row", "1 | 2"),
    ]


def test_the_structured_body_of_a_mail_wins():
    mail = message(plain="Plan one two", html="<h2>Plan</h2><ul><li>one</li><li>two</li></ul>")
    kinds = [node.kind for node in parse_bytes(mail.as_bytes(), "a.eml")]
    assert kinds == ["Document", "Paragraph", "Section", "List", "ListItem", "ListItem"]


def test_a_mail_with_an_unknown_encoding_still_has_its_headers():
    data = b"Subject: x\nContent-Type: text/plain; charset=nonsense\n\n\xff\xfe body\n"
    assert parse_bytes(data, "a.eml")[0].attributes["title"] == "x"


def archive(members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as out:
        for name, text in members.items():
            out.writestr(name, text)
    return stream.getvalue()


def book(nav):
    page = "<html xmlns='http://www.w3.org/1999/xhtml'><body>{}</body></html>"
    return archive(
        {
            "META-INF/container.xml": "<container xmlns='urn:oasis:names:tc:opendocument:xmlns:"
            "container'><rootfiles><rootfile full-path='o/p.opf'/></rootfiles></container>",
            "o/p.opf": "<package xmlns='http://www.idpf.org/2007/opf' "
            "xmlns:dc='http://purl.org/dc/elements/1.1/'><metadata><dc:title>Sea</dc:title>"
            "<dc:creator>Ann</dc:creator></metadata><manifest>"
            "<item id='n' href='nav.xhtml' properties='nav'/><item id='a' href='a.xhtml'/>"
            "<item id='b' href='b%20c.xhtml'/></manifest><spine><itemref idref='n'/>"
            "<itemref idref='a'/><itemref idref='b'/></spine></package>",
            "o/nav.xhtml": page.format(nav),
            "o/a.xhtml": page.format("<h1>Harbour</h1><p>Quiet.</p><h2>Boats</h2><p>Old.</p>"),
            "o/b c.xhtml": page.format("<h1>Storm</h1><p>Loud.</p>"),
        }
    )


def test_chapters_of_a_book_take_their_depth_from_its_contents():
    nav = (
        "<nav><ol><li><a href='a.xhtml'>Harbour</a><ol><li><a href='b%20c.xhtml#x'>Storm</a>"
        "</li></ol></li></ol></nav>"
    )
    nodes = parse_bytes(book(nav), "a.epub")
    assert (nodes[0].attributes["title"], nodes[0].attributes["author"]) == ("Sea", "Ann")
    sections = [(node.level, node.text) for node in nodes if node.kind == "Section"]
    assert sections == [(1, "Harbour"), (2, "Boats"), (2, "Storm")]


ODT = """<office:document-content
 xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0">
<office:body><office:text>
<text:h text:outline-level="1">Scope</text:h>
<text:p>All<text:s text:c="2"/>the <text:span>words</text:span>.<text:note><text:note-citation>1
</text:note-citation><text:note-body><text:p>A note.</text:p></text:note-body></text:note></text:p>
<text:h text:outline-level="2">Parts</text:h>
<text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>deep</text:p>
</text:list-item></text:list></text:list-item></text:list>
<table:table><table:table-header-rows><table:table-row>
<table:table-cell table:number-columns-spanned="2"><text:p>2030</text:p></table:table-cell>
<table:covered-table-cell/></table:table-row><table:table-row>
<table:table-cell><text:p>Wheat</text:p></table:table-cell>
<table:table-cell><text:p>Oats</text:p></table:table-cell></table:table-row>
</table:table-header-rows><table:table-row>
<table:table-cell table:number-columns-repeated="2"><text:p>4</text:p></table:table-cell>
</table:table-row></table:table>
</office:text></office:body></office:document-content>"""


def test_open_document_text():
    nodes = parse_bytes(archive({"content.xml": ODT}), "a.odt")
    assert tree(nodes) == [
        ("Section", "Scope"),
        ("Paragraph", "All  the words."),
        ("Paragraph", "A note."),
        ("Section", "Parts"),
        ("List", ""),
        ("ListItem", "one"),
        ("List", ""),
        ("ListItem", "deep"),
        ("Table", "2030\nWheat | Oats"),
        ("Row", "4 | 4"),
    ]
    assert rows(nodes) == [{"2030 / Wheat": 4, "2030 / Oats": 4}]


NUMBERED_ODT = """<office:document-content
 xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0">
<office:automatic-styles><text:list-style style:name="L1">
<text:list-level-style-number text:level="1" style:num-format="a" style:num-suffix=")"/>
<text:list-level-style-bullet text:level="2" text:bullet-char="*"/></text:list-style>
<text:list-style style:name="W1">
<text:list-level-style-number text:level="1" style:num-format="I" style:num-suffix="."/>
</text:list-style></office:automatic-styles>
<office:body><office:text>
<text:h text:outline-level="1">Scope</text:h>
<text:h text:outline-level="2">Rules</text:h>
<text:list text:style-name="L1"><text:list-item><text:p>one</text:p><text:list><text:list-item>
<text:p>deep</text:p></text:list-item></text:list></text:list-item>
<text:list-item><text:p>two</text:p></text:list-item></text:list>
<text:h text:outline-level="2">Exceptions</text:h>
<text:h text:outline-level="1" text:is-list-header="true">Preface</text:h>
<text:h text:outline-level="1">Terms</text:h>
<text:list text:style-name="W1"><text:list-item><text:h text:outline-level="1">Law</text:h>
</text:list-item></text:list><text:p>Between.</text:p>
<text:list text:style-name="W1" text:continue-numbering="true"><text:list-item>
<text:h text:outline-level="1">Order</text:h></text:list-item></text:list>
</office:text></office:body></office:document-content>"""
OUTLINE = """<office:document-styles
 xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:styles><text:outline-style>
<text:outline-level-style text:level="1" style:num-format="1" style:num-suffix="."/>
<text:outline-level-style text:level="2" style:num-format="1" text:display-levels="2"/>
</text:outline-style></office:styles></office:document-styles>"""


def test_automatic_numbers_of_open_document_texts():
    data = archive({"content.xml": NUMBERED_ODT, "styles.xml": OUTLINE})
    nodes = parse_bytes(data, "a.odt")
    sections = [(n.level, n.text, n.number) for n in nodes if n.kind == "Section"]
    assert sections == [
        (1, "1. Scope", "1"),
        (2, "1.1 Rules", "1.1"),
        (2, "1.2 Exceptions", "1.2"),
        (1, "Preface", None),
        (1, "2. Terms", "2"),
        (1, "I. Law", "I"),
        (1, "II. Order", "II"),
    ]
    items = [(n.text, n.number) for n in nodes if n.kind == "ListItem"]
    assert items == [("one", "a)"), ("deep", None), ("two", "b)")]


def test_elements_of_unstructured_are_taken_as_they_come():
    from unstructured.documents.elements import (
        ElementMetadata,
        Footer,
        ListItem,
        NarrativeText,
        Table,
        Title,
    )

    elements = [
        Title("1 Scope"),
        NarrativeText("All words."),
        Title("1.1 Parts"),
        ListItem("one"),
        ListItem("two"),
        Table(
            "a b 1 2",
            metadata=ElementMetadata(
                text_as_html="<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr>"
                "</table>",
                page_number=2,
            ),
        ),
        Footer("page 2"),
    ]
    parsed = from_unstructured(elements)
    assert [(block.kind, block.level, block.text) for block in parsed.blocks] == [
        ("Heading", 1, "1 Scope"),
        ("Paragraph", None, "All words."),
        ("Heading", 2, "1.1 Parts"),
        ("List", None, ""),
        ("Table", None, "a | b"),
    ]
    assert parsed.blocks[-1].children[0].attributes == {"a": 1, "b": 2}
    assert parsed.blocks[-1].page == 2


def test_what_is_no_element_and_no_document_is_refused():
    with pytest.raises(SourceError, match="no unstructured element"):
        from_unstructured(["text"])
    with pytest.raises(SourceError, match="no docling document"):
        from_docling("text")
