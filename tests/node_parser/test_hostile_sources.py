"""Broken, hostile and huge sources: one clear error or a sensible tree, in bounded time."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

from llama_index_semxpath.errors import SourceError
from llama_index_semxpath.node_parser import ParseOptions, parse_bytes, parse_file

N = 10_000
DEEP = {
    "md-list.md": "- " * N + "end",
    "md-list-lines.md": "\n".join("  " * depth + "- x" for depth in range(1_000)) + "\n\nend",
    "md-numbers.md": "1. " * N + "end",
    "md-quote.md": "> " * N + "end",
    "md-mixed.md": "> - 1. " * N + "end",
    "html-div.html": "<div>" * N + "end",
    "html-span.html": "<p>" + "<span>" * N + "end",
    "html-list.html": "<ul><li>" * N + "end",
    "html-quote.html": "<blockquote>a" * N + "end",
    "html-table.html": "<table><tr><td>" * N + "end",
    "html-definitions.html": "<dl><dt>a<dd>" * N + "end",
    "html-objects.html": "<dl class=py><dt class=sig>a</dt><dd>" * N + "end",
    "html-headings.html": "<section><h2>a</h2>" * N + "end",
    "html-links.html": "<a href=x>" * N + "end",
    "html-bold.html": "<b>" * N + "end",
    "html-levels.html": "".join(f"<p role=heading aria-level={n}>a</p>" for n in range(1, 999))
    + "end",
}


@pytest.mark.parametrize("name", DEEP)
def test_ten_thousand_levels(name):
    nodes = parse_bytes(DEEP[name], name)
    assert "end" in nodes[-1].text
    assert max(len(node.order) for node in nodes) < 1_000
    assert max(node.order.count(".") for node in nodes) <= 130


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.md", b"", "the file is empty (a.md)"),
        ("a.md", b" \n\t\n", "the file is empty (a.md)"),
        ("a.md", b"\xef\xbb\xbf", "the file is empty (a.md)"),
        ("a.html", b"<!-- x -->", "the page is empty (a.html)"),
        ("a.md", bytes(range(256)) * 9, "the file is binary (a.md)"),
        ("a.html", b"\x89PNG\r\n\x1a\n" + bytes(500), "the file is binary (a.html)"),
        (
            "a.md",
            "Привет, caf\xe9".encode("cp1251", "ignore"),
            "the text is not UTF-8 at byte 0 (a.md)",
        ),
        ("a.md", b"\xff\xfea", "the text is not UTF-16 at byte"),
        ("a.xyz", b"x", "no reader for this kind of file (a.xyz)"),
    ],
)
def test_unreadable_sources(name, data, message):
    with pytest.raises(SourceError) as caught:
        parse_bytes(data, name)
    assert message in str(caught.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(SourceError, match="cannot read the file: No such file"):
        parse_file(tmp_path / "none.md")
    (tmp_path / "dir.md").mkdir()
    with pytest.raises(SourceError, match="Is a directory"):
        parse_file(tmp_path / "dir.md")


def test_entities_are_not_expanded_and_files_not_read(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("top secret")
    bomb = '<!ENTITY a "aaaaaaaaaa">' + "".join(
        f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(20)
    )
    page = f'<!DOCTYPE html [{bomb}<!ENTITY x SYSTEM "file://{secret}">]><p>&u; &x; end</p>'
    texts = [node.text for node in parse_bytes(page, "a.html")]
    assert sum(map(len, texts)) < 5_000
    assert not any("top secret" in text for text in texts)


@pytest.mark.parametrize(
    "front",
    [
        "a: &a [x, x]\n"
        + "\n".join(
            f"{chr(98 + n)}: &{chr(98 + n)} [{f'*{chr(97 + n)}, ' * 9}]" for n in range(20)
        ),
        "a: &a {x: 1}\n"
        + "\n".join(
            f"{chr(98 + n)}: &{chr(98 + n)} {{p: *{chr(97 + n)}, q: *{chr(97 + n)}}}"
            for n in range(20)
        ),
        "a: " + "[" * 20_000,
        'a: !!python/object/apply:os.system ["exit 3"]',
        "a: 2024-13-45",
        "? [x]\n: y",
    ],
)
def test_hostile_front_matter(front):
    nodes = parse_bytes(f"---\n{front}\n---\nend", "a.md")
    assert nodes[-1].text.endswith("end")
    assert len(nodes[0].attributes) < 3_000


@pytest.mark.parametrize(
    "text",
    [
        "字" * 70_000,
        "word " * 40_000,
        "a" * 200_000,
        "😀" * 50_000,
        "1234567890" * 20_000,
        "a,b;" * 50_000,
    ],
)
def test_a_paragraph_without_punctuation(text):
    nodes = parse_bytes(text, "a.md", options=ParseOptions(max_tokens=256))
    pieces = [node.text for node in nodes[1:]]
    assert max(node.tokens for node in nodes) <= 256
    assert "".join(pieces).replace(" ", "") == text.replace(" ", "")
    assert all(set(piece.split()) <= {"word"} for piece in pieces) or "word" not in text


def test_thousands_of_attributes_and_huge_spans():
    tag = "<p " + " ".join(f"a{n}=b" for n in range(50_000)) + ">end</p>"
    assert parse_bytes(tag, "a.html")[-1].text == "end"
    table = "<table><tr><th>a<th>b" + "<tr><td rowspan=65000 colspan=999999>y" * 300 + "</table>"
    assert len(parse_bytes(table, "a.html")) < 400


def test_a_heading_as_long_as_a_page_is_text():
    nodes = parse_bytes("# " + "word " * 5_000, "a.md", options=ParseOptions(max_tokens=128))
    assert {node.kind for node in nodes[1:]} == {"Paragraph"}
    assert max(node.tokens for node in nodes) <= 128


def test_text_that_is_no_unicode():
    assert parse_bytes("a\0b\ud800c", "a.md")[-1].text == "a\ufffdb\ufffdc"


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("ending", ["md", "html"])
def test_garbage_gives_a_tree(seed, ending):
    random_source = random.Random(seed)
    pieces = [
        "<div>",
        "</p>",
        "<table>",
        "<td>",
        "<ul>",
        "<li>",
        "#",
        "```",
        ">",
        "-",
        "1.",
        "|",
        "|-|-|",
        "$$",
        "[x](",
        "![",
        "***",
        "\n",
        "\n\n",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "&#0;",
        "&#xD800;",
        "&amp",
        "<b",
        "</",
        "<h1>",
        "<pre>",
        "</pre>",
        "<dl>",
        "<dt>",
        "<dd>",
        "中",
        "…",
        "[^1]:",
        ":",
        "---",
        "===",
        "\t",
        "<a",
        "href=",
        "<svg>",
        "<math>",
    ]
    source = "".join(random_source.choice(pieces) for _ in range(3_000))
    nodes = parse_bytes("x" + source, f"a.{ending}")
    ids = [node.id for node in nodes]
    assert len(set(ids)) == len(ids)
    known = {nodes[0].id}
    for node in nodes[1:]:
        assert node.parent in known
        known.add(node.id)
    orders = [node.order for node in nodes]
    assert orders == sorted(orders)


def test_reading_files_does_not_import_llama_index():
    code = (
        "import sys; from llama_index_semxpath.node_parser import parse_bytes;"
        "parse_bytes('# a', 'a.md'); parse_bytes('<p>a', 'a.html');"
        "sys.exit('llama_index.core' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
