"""Files made to hurt: bombs, deep nesting, lies, passwords, links. One clear error or a tree."""

import io
import tracemalloc
import zipfile
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llama_index_semxpath.errors import SourceError
from llama_index_semxpath.node_parser import FORMATS, ParseOptions, parse_bytes
from llama_index_semxpath.node_parser.text import parse_text

OFFICE = ["docx", "pptx", "xlsx", "epub", "odt"]
MAIN = {
    "docx": "word/document.xml",
    "pptx": "ppt/presentation.xml",
    "xlsx": "xl/workbook.xml",
    "epub": "META-INF/container.xml",
    "odt": "content.xml",
}
BOMB = (
    b'<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
    b'<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;">]><a>&d;</a>'
)
LEAK = b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600


def archive(members, method=zipfile.ZIP_DEFLATED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as out:
        for name, data in members.items():
            out.writestr(name, data)
    return stream.getvalue()


def message(data, name):
    with pytest.raises(SourceError) as caught:
        parse_bytes(data, name)
    text = str(caught.value)
    assert name in text
    assert "Traceback" not in text
    return text


@pytest.mark.parametrize("format_name", OFFICE)
def test_a_member_that_unpacks_without_end_is_refused_in_bounded_memory(format_name):
    data = archive({MAIN[format_name]: b" " * (64 * 1024 * 1024)})
    assert len(data) < 100_000
    tracemalloc.start()
    text = message(data, f"a.{format_name}")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "zip bomb" in text
    assert peak < 48 * 1024 * 1024


@pytest.mark.parametrize("format_name", OFFICE)
@pytest.mark.parametrize("payload", [BOMB, LEAK], ids=["bomb", "leak"])
def test_entities_are_refused_in_archives(format_name, payload):
    assert "declares entities" in message(archive({MAIN[format_name]: payload}), f"a.{format_name}")


@pytest.mark.parametrize("payload", [BOMB, LEAK], ids=["bomb", "leak"])
def test_entities_are_refused_in_xml(payload):
    assert "declares entities" in message(payload, "a.xml")


def test_an_external_dtd_is_not_fetched():
    data = b'<!DOCTYPE a SYSTEM "http://127.0.0.1:9/x.dtd"><a><b k="1">t</b></a>'
    assert [node.kind for node in parse_bytes(data, "a.xml")] == ["a", "b"]


@pytest.mark.parametrize("format_name", OFFICE)
def test_protected_files_say_so(format_name):
    assert "password" in message(OLE, f"a.{format_name}")


@pytest.mark.parametrize("format_name", OFFICE)
def test_what_is_no_archive_or_another_archive_is_refused(format_name):
    message(b"hello", f"a.{format_name}")
    message(archive({"x.txt": b"hello"}), f"a.{format_name}")
    message(archive({MAIN[format_name]: b"<open"}), f"a.{format_name}")
    message(archive({"x": b"y"})[:-30], f"a.{format_name}")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.json", b"[" * 100_000),
        ("a.json", b'{"a":' * 100_000),
        ("a.json", b"[" * 500 + b"]" * 500),
        ("a.yaml", b"- " * 100_000 + b"x"),
        ("a.yaml", b"[" * 100_000),
        ("a.yaml", b"a: &a [*a]"),
        ("a.xml", b"<a>" * 100_000),
        ("a.xml", b"<a>" * 300 + b"</a>" * 300),
    ],
)
def test_nesting_is_bounded(name, data):
    text = message(data, name)
    assert any(word in text.lower() for word in ("deep", "nesting", "premature"))


def test_aliases_that_multiply_are_refused():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]
    assert "aliases" in message("\n".join(lines).encode(), "a.yaml")


def test_yaml_builds_no_objects():
    assert "constructor" in message(b'!!python/object/apply:os.system ["true"]', "a.yaml")


@pytest.mark.parametrize("data", [b"{", b"", b'{"a": 1,}', b"[1" + b"0" * 5000 + b"]"])
def test_broken_json_names_the_place(data):
    message(data, "a.json")


def test_a_sheet_with_a_cell_in_the_last_corner_stays_small():
    cells = (
        '<row r="1"><c r="A1" t="str"><v>a</v></c></row>'
        '<row r="1048576"><c r="XFD1048576" t="str"><v>z</v></c></row>'
    )
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    data = archive(
        {
            "xl/workbook.xml": f'<workbook xmlns="{space}" xmlns:r="{kind}"><sheets>'
            '<sheet name="s" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}"><Relationship '
            f'Id="r1" Type="{kind}/worksheet" Target="worksheets/s.xml"/></Relationships>',
            "xl/worksheets/s.xml": f'<worksheet xmlns="{space}"><sheetData>{cells}</sheetData>'
            '<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells></worksheet>',
        }
    )
    assert len(parse_bytes(data, "a.xlsx")) < 10


@given(st.binary(max_size=400))
@settings(max_examples=30, deadline=None)
def test_any_bytes_in_any_format_give_a_tree_or_our_error(data):
    for name in FORMATS:
        try:
            nodes = parse_bytes(data, f"a.{name}", name)
        except SourceError:
            continue
        assert nodes[0].parent is None


@given(st.text(max_size=300))
@settings(max_examples=30, deadline=None)
def test_any_text_in_any_text_format_gives_a_tree_or_our_error(text):
    for name in ("text", "csv", "json", "yaml", "xml", "eml"):
        with suppress(SourceError):
            assert parse_bytes(text.encode("utf-8", "surrogatepass"), "a", name)


def visible(text):
    return sorted(char for char in text if not char.isspace() and char.isalnum())


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "1 Scope",
                "1.1 Use",
                "2. Open it.",
                "- item",
                "第一章 总则",
                "第一条 水免费。",
                "Label:",
                "Some words that go on.",
                "CAPS LINE",
                "",
                "  indented",
                "===",
                "（一）子项；",
            ]
        ),
        max_size=25,
    )
)
def test_plain_text_loses_no_letter_and_spans_point_at_it(lines):
    source = "\n".join(lines)
    if not source.strip():
        return
    nodes = parse_bytes(source, "a.txt")
    assert visible("".join(node.text for node in nodes)) == visible(source)
    for node in nodes[1:]:
        if node.span and node.kind in ("Section", "Paragraph", "ListItem"):
            start, end = node.span
            assert "".join(node.text.split()) in "".join(source[start:end].split())


@pytest.mark.parametrize(
    "text",
    [
        "水" * 200_000,
        "a " * 100_000,
        "x\n" + ". " * 50_000,
        "1." * 50_000,
        "a:" * 50_000,
        "a" + " " * 100_000 + "b",
        "1. x\n" * 20_000,
        "|" * 100_000,
        "【" * 100_000,
    ],
    ids=range(9),
)
def test_monotonous_text_loses_nothing(text):
    blocks = parse_text(text, ParseOptions()).blocks
    seen = []
    while blocks:
        block = blocks.pop()
        seen.append(block.text)
        blocks.extend(block.children)
    assert visible("".join(seen)) == visible(text)
