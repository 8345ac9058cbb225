"""Generated Word, PowerPoint and PDF files: every visible word in exactly one node, in order."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

import docx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pptx import Presentation
from pptx.util import Inches
from reportlab.lib import colors
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import ListFlowable, ListItem, Paragraph, SimpleDocTemplate, Table

from llama_index_semxpath.node_parser import export, parse_bytes

Part = tuple[str, int]
#: What a document is made of: kind and how many words it has (rows, for a table).
PARTS = st.lists(
    st.tuples(
        st.sampled_from(["head1", "head2", "text", "long", "bullet", "bullet2", "number", "table"]),
        st.integers(2, 5),
    ),
    min_size=1,
    max_size=12,
)


class Words:
    """Words that occur once each."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def take(self, count: int) -> str:
        fresh = [f"wort{len(self.made) + n}x" for n in range(count)]
        self.made += fresh
        return " ".join(fresh)


def rows(words: Words, count: int) -> list[list[str]]:
    return [[words.take(1), words.take(2)] for _ in range(count)]


def as_docx(parts: list[Part], words: Words) -> bytes:
    document = docx.Document()
    styles = {"bullet": "List Bullet", "bullet2": "List Bullet 2", "number": "List Number"}
    for kind, size in parts:
        if kind.startswith("head"):
            document.add_heading(words.take(size), int(kind[-1]))
        elif kind == "table":
            cells = rows(words, size)
            table = document.add_table(len(cells), 2)
            for y, row in enumerate(cells):
                for x, text in enumerate(row):
                    table.cell(y, x).text = text
        else:
            text = words.take(size * (20 if kind == "long" else 1))
            document.add_paragraph(text, style=styles.get(kind))
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def as_pptx(parts: list[Part], words: Words) -> bytes:
    slides = Presentation()
    for kind, size in parts:
        slide = slides.slides.add_slide(slides.slide_layouts[1 if "bullet" in kind else 5])
        slide.shapes.title.text = words.take(2)
        if kind == "table":
            cells = rows(words, size)
            shape = slide.shapes.add_table(size, 2, 0, 0, Inches(4), Inches(2))
            for y, row in enumerate(cells):
                for x, text in enumerate(row):
                    shape.table.cell(y, x).text = text
        elif "bullet" in kind:
            frame = slide.placeholders[1].text_frame
            frame.text = words.take(size)
            inner = frame.add_paragraph()
            inner.text, inner.level = words.take(size), 1
        else:
            box = slide.shapes.add_textbox(0, 0, Inches(4), Inches(2))
            box.text_frame.text = words.take(size)
    stream = io.BytesIO()
    slides.save(stream)
    return stream.getvalue()


def as_pdf(parts: list[Part], words: Words) -> bytes:
    styles = getSampleStyleSheet()
    story = []
    for kind, size in parts:
        if kind.startswith("head"):
            story.append(Paragraph(words.take(size), styles[f"Heading{kind[-1]}"]))
        elif kind == "table":
            grid = ("GRID", (0, 0), (-1, -1), 0.5, colors.black)
            story.append(Table(rows(words, size), style=[grid]))
        elif "bullet" in kind or kind == "number":
            item = ListItem(Paragraph(words.take(size), styles["BodyText"]))
            story.append(ListFlowable([item], bulletType="bullet"))
        else:
            count = size * (20 if kind == "long" else 1)
            story.append(Paragraph(words.take(count), styles["BodyText"]))
    stream = io.BytesIO()
    SimpleDocTemplate(stream).build(story)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("make", "name"), [(as_docx, "a.docx"), (as_pptx, "a.pptx"), (as_pdf, "a.pdf")]
)
@given(parts=PARTS)
@settings(max_examples=12, deadline=None)
def test_every_word_stands_in_one_node_in_order(
    make: Callable[[list[Part], Words], bytes], name: str, parts: list[Part]
) -> None:
    words = Words()
    data = make(parts, words)
    nodes = parse_bytes(data, name)
    assert re.findall(r"\w+", " ".join(node.text for node in nodes)) == words.made


@given(parts=PARTS)
@settings(max_examples=12, deadline=None)
def test_word_documents_come_back_from_markdown_and_html(parts: list[Part]) -> None:
    words = Words()
    nodes = parse_bytes(as_docx(parts, words), "a.docx")
    wanted = [(node.kind, node.level) for node in nodes]
    for form in ("md", "html"):
        again = parse_bytes(export(nodes, form), f"a.{form}")
        assert [(node.kind, node.level) for node in again] == wanted
        assert re.findall(r"\w+", " ".join(node.text for node in again)) == words.made
