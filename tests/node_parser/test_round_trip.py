"""``parse(export(tree)) == tree``, on generated documents and on every case."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.node_parser import ParseOptions, build_tree, export, parse_bytes
from llama_index_semxpath.node_parser.blocks import Block, Parsed
from llama_index_semxpath.node_parser.inline import tidy
from llama_index_semxpath.node_parser.tables import table_block

OPTIONS = ParseOptions(max_tokens=64)
FORMATS = ("md", "html")
CASES = Path(__file__).parents[1] / "cases" / "parser"
DEMO = Path(__file__).parents[2] / "llama_index_semxpath" / "data" / "demo"
SOURCES = sorted(
    path
    for folder in (CASES, DEMO)
    for ending in ("md", "html")
    for path in folder.rglob(f"*.{ending}")
    if path.stat().st_size < 200_000
)
# How a source was read, not what it says.
UNSAID = {"format", "confidence", "role"}


def signature(nodes):
    places = {node.id: place for place, node in enumerate(nodes)}
    return [
        (
            node.kind,
            node.text,
            node.level,
            places.get(node.parent),
            {name: value for name, value in node.attributes.items() if name not in UNSAID},
        )
        for node in nodes
    ]


def again(tree, to, options=OPTIONS):
    return parse_bytes(export(tree, to), f"doc.{to}", doc_id=tree[0].id, options=options)


HARD = r"""oil two litres. C# a_b _x_ **bold** *i* `code` [link](x) [^1] <b> <tag> &amp; &lt; 1. 12)
- + > # ## === --- ~~~ ``` | a|b $5 $x$ $$ \\ \\* ! :def ~~s~~ {#id} http://e.org/?a=1&b=2
第五条 用水。 “引号” 3.5 e.g. … ！ __init__ x^2 H~2~O <!-- c --> </p> &nbsp; %20
[x] [ ] : | |- [!NOTE] +++ ... @x"""
words = st.one_of(
    st.sampled_from(HARD.split()),
    st.text(alphabet="ab1#*_-+.>|`~[]()<>&\\!$:{}=^ 一。", min_size=1, max_size=8),
)
lines = st.lists(words, min_size=1, max_size=8).map(" ".join).map(tidy).filter(bool)
prose = (
    st.lists(lines, min_size=1, max_size=3)
    .map("\n".join)
    .map(tidy)
    .filter(lambda text: text and "\n\n" not in text)
)
code = (
    st.lists(
        st.one_of(
            st.sampled_from(["# x", "", "    indented", "```", "~~~", "\tt", "<b>&amp;", "---"]),
            lines,
        ),
        min_size=1,
        max_size=5,
    )
    .map("\n".join)
    .filter(lambda text: text.strip() and not text.endswith("\n"))
)
languages = st.sampled_from(["", "python", "c++", "bash"])


def code_block(text, language):
    return Block("Code", text, attributes={"language": language} if language else {})


@st.composite
def linked(draw, kind="Paragraph"):
    before, label, after = draw(lines), draw(lines), draw(lines)
    text = tidy(f"{before} {label} {after}")
    label = tidy(label)
    # The first place where the label stands is the one that can be told from the tree.
    target = draw(
        st.sampled_from(["/a", "https://e.org/a(b)?x=1&y=<2>", "a b", "x\\y", "mailto:a@b"])
    )
    return Block(kind, text, attributes={"links": [target], "link_texts": [label]})


@st.composite
def tables(draw):
    width = draw(st.integers(2, 4))
    columns = [f"col {place} {draw(words)}".strip() for place in range(width)]
    columns = [" ".join(name.split()).replace(" | ", " ").replace(" / ", " ") for name in columns]
    cell = lines.map(lambda text: " ".join(text.split())).filter(
        lambda text: text and "|" not in (text[0], text[-1]) and " | " not in text
    )
    rows = draw(st.lists(st.lists(cell, min_size=width, max_size=width), min_size=1, max_size=4))
    return table_block([columns, *rows], header_rows=1)


leaves = st.one_of(
    prose.map(lambda text: Block("Paragraph", text)),
    linked(),
    st.builds(code_block, code, languages),
    tables(),
    lines.map(
        lambda text: Block(
            "Figure", text.replace("\n", " "), attributes={"src": "a.png", "alt": text}
        )
    ),
)


def item(text, children, checked):
    attributes = {} if checked is None else {"checked": checked}
    return Block("ListItem", text, children=children, attributes=attributes)


def list_block(items, ordered, start):
    attributes = {"ordered": True} if ordered else {}
    if ordered and start != 1:
        attributes["start"] = start
    return Block("List", children=items, attributes=attributes)


def containers(inner):
    children = st.lists(inner, max_size=2)
    items = st.builds(item, prose, children, st.sampled_from([None, None, True, False]))
    return st.one_of(
        st.builds(
            list_block, st.lists(items, min_size=1, max_size=3), st.booleans(), st.integers(1, 9)
        ),
        st.lists(inner, min_size=1, max_size=2).map(lambda blocks: Block("Quote", children=blocks)),
    )


blocks = st.recursive(leaves, containers, max_leaves=6)
headings = st.builds(
    lambda text, level: Block("Heading", text.replace("\n", " "), level=level),
    lines,
    st.integers(1, 8),
)
documents = st.builds(
    lambda first, rest: [first, *rest], headings, st.lists(st.one_of(headings, blocks), max_size=6)
)


@pytest.mark.parametrize("to", FORMATS)
@settings(max_examples=150, deadline=None, derandomize=True)
@given(blocks=documents)
def test_generated_documents(to, blocks):
    tree = build_tree(Parsed(blocks, {"title": "doc"}, "markdown"), "doc", OPTIONS)
    assert signature(again(tree, to)) == signature(tree)


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_cases_and_demo(path, to):
    options = ParseOptions()
    tree = parse_bytes(path.read_bytes(), path.name, doc_id="doc", options=options)
    assert signature(again(tree, to, options)) == signature(tree)


def test_json_is_the_interface():
    tree = parse_bytes("# A\n\nb", "a.md")
    data = json.loads(export(tree, "json"))
    assert data["document"]["kind"] == "Document"
    assert data["nodes"][2]["xpath"] == "/Document[1]/Section[1]/Paragraph[1]"


def test_unknown_target():
    with pytest.raises(SemXPathError, match="cannot export to 'pdf'"):
        export(parse_bytes("# A", "a.md"), "pdf")
    with pytest.raises(SemXPathError, match="no nodes"):
        export([], "md")
