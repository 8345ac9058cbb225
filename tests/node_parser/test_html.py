"""HTML, semantic and not."""

from __future__ import annotations

import datetime as dt

import pytest

from llama_index_semxpath.node_parser import parse_bytes

P, S, C, L, I = "Paragraph", "Section", "Code", "List", "ListItem"  # noqa: E741


def tree(page: str | bytes):
    return [(node.kind, node.text) for node in parse_bytes(page, "a.html")[1:]]


def sections(page: str):
    nodes = {node.id: node for node in parse_bytes(page, "a.html")}
    return [
        (node.level, node.text, nodes[node.parent].text or None)
        for node in nodes.values()
        if node.kind == "Section"
    ]


@pytest.mark.parametrize(
    ("page", "wanted"),
    [
        ("<div>a<div>b</div>c</div>", [(P, "a"), (P, "b"), (P, "c")]),
        ("<div>a<br><br>b</div>", [(P, "a"), (P, "b")]),
        ("<p>a<br>b</p>", [(P, "a\nb")]),
        ("<p>one\n  two&nbsp;three&shy;s</p>", [(P, "one two three\xads")]),
        ("<span>a</span><div>b</div>", [(P, "a"), (P, "b")]),
        ("<span>a<div>b</div>c</span>", [(P, "a"), (P, "b"), (P, "c")]),
        ("<a href=u><h2>T</h2><p>x</p></a>", [(S, "T"), (P, "x")]),
        ("<p>E=mc<sup>2</sup>, H<sub>2</sub>O, <em>a</em><b>b</b></p>", [(P, "E=mc2, H2O, ab")]),
        ("<p>He said <q>no</q>.</p>", [(P, "He said “no”.")]),
        (
            "<script>x</script><style>y</style><nav>n</nav><p>t</p><template>z</template>",
            [(P, "t")],
        ),
        (
            "<p hidden>a</p><p style='display: none'>b</p><p aria-hidden=true>c</p><p>d</p>",
            [(P, "d")],
        ),
        ("<p>a<span hidden>b</span>c</p><!-- d -->", [(P, "ac")]),
        ("<h2>A<a class=headerlink href='#a'>¶</a></h2>", [(S, "A")]),
        ("<h2>A <a href='#a'>#</a></h2>", [(S, "A")]),
        ("<h2>C#</h2>", [(S, "C#")]),
        ("<h2>Two<br>lines</h2>", [(S, "Two lines")]),
        ("<h2></h2><p>x</p>", [(P, "x")]),
        ("<h2><img alt=Logo src=l.png></h2>", [(S, "Logo")]),
        ("<pre><code class='language-py'>a = 1\n\n  b\n</code></pre>", [(C, "a = 1\n\n  b")]),
        ("<pre>a<br>b</pre>", [(C, "a\nb")]),
        ("<pre><span>a</span> <b>b</b></pre>", [(C, "a b")]),
        (
            "<ul><li>a<ul><li>b</ul><li><p>c</p><p>d</p></ul>",
            [(L, ""), (I, "a"), (L, ""), (I, "b"), (I, "c"), (P, "d")],
        ),
        ("<ul><li>a</li><ul><li>b</li></ul></ul>", [(L, ""), (I, "a"), (L, ""), (I, "b")]),
        ("<ul>stray<li>a</ul>", [(L, ""), (I, "stray"), (I, "a")]),
        ("<li>lonely</li>", [(P, "lonely")]),
        ("<dl><dt>T<dd>d<dd>e</dl>", [(L, ""), (I, "T"), (P, "d"), (P, "e")]),
        ("<blockquote><h2>q</h2><p>x</blockquote>", [("Quote", ""), (P, "q"), (P, "x")]),
        ("<ul><li><h2>Card</h2><p>x</p></li></ul>", [(S, "Card"), (P, "x")]),
        ("<figure><img src=a.png alt=b><figcaption>c</figcaption></figure>", [("Figure", "c")]),
        ("<p><img src=a.png alt=boat></p>", [("Figure", "boat")]),
        ("<p>See <img src=i.png alt=icon> here</p>", [(P, "See icon here")]),
        ("<details><summary>More</summary>x</details>", [(P, "More"), (P, "x")]),
        (
            "<math display=block><mi>x</mi><annotation encoding='application/x-tex'>x^2</annotation></math>",
            [("Formula", "x^2")],
        ),
        ("<table role=presentation><tr><td><h1>A</h1><td>b</table>", [(S, "A"), (P, "b")]),
        ("<table><tr><td>only</table>", [(P, "only")]),
        (
            "<table><caption>Cap</caption><tr><th>a<th>b<tr><td>1<td>2</table>",
            [(P, "Cap"), ("Table", "a | b"), ("Row", "1 | 2")],
        ),
        (
            "<table><tr><th>a<th>b<tr><td><p>x</p><p>y</p><td>l<br>m</table>",
            [("Table", "a | b"), ("Row", "x y | l m")],
        ),
        (
            "<header><nav>x</nav><h1>T</h1></header><main><p>y</p></main><footer>f</footer>",
            [(S, "T"), (P, "y")],
        ),
        ("<header>logo</header><main><p>y</p></main><aside>r</aside>", [(P, "y")]),
        ("<header>only</header><p>y</p><footer>f</footer>", [(P, "only"), (P, "y"), (P, "f")]),
        ("<p>a</p></div></body></html><p>b</p>", [(P, "a"), (P, "b")]),
        ("<p>a <b>b <i>c</b> d</i></p>", [(P, "a b c d")]),
        ("just text", [(P, "just text")]),
    ],
)
def test_blocks(page, wanted):
    assert tree(page) == wanted


def test_levels_roles_and_hidden_headings():
    page = (
        "<h1>A</h1><h3>B</h3><div role=heading aria-level=2>C</div><h2 hidden>no</h2>"
        "<nav><h2>menu</h2></nav><section><h4>D</h4></section><div role=heading>E</div>"
    )
    assert sections(page) == [
        (1, "A", None),
        (3, "B", "A"),
        (2, "C", "A"),
        (4, "D", "C"),
        (2, "E", "A"),
    ]


def test_page_attributes():
    page = (
        "<html lang=de><head><title> A \n B </title><meta name=author content=Li>"
        "<meta name=date content=2026-03-01><meta name=viewport content=w>"
        "<meta name=keywords content=a><meta name=keywords content=b></head><body>x"
    )
    attributes = parse_bytes(page, "a.html")[0].attributes
    assert attributes == {
        "title": "A B",
        "lang": "de",
        "author": "Li",
        "date": dt.date(2026, 3, 1),
        "keywords": ["a", "b"],
        "format": "html",
    }


def test_merged_header_cells():
    page = (
        "<table><thead><tr><th rowspan=2>Farm<th colspan=2>2030</tr><tr><th>Wheat<th>Oats</tr></thead>"
        "<tr><td>Hill<td>4<td>2<tr><td colspan=3>All closed</table>"
    )
    nodes = parse_bytes(page, "a.html")
    assert nodes[1].attributes["columns"] == ["Farm", "2030 / Wheat", "2030 / Oats"]
    assert nodes[2].attributes == {"Farm": "Hill", "2030 / Wheat": 4, "2030 / Oats": 2}
    assert nodes[3].text == "All closed"


def test_entries_of_a_manual_are_sections_that_end():
    page = (
        "<section id=m><h2>Module</h2><p>Intro.</p>"
        "<dl class='py class'><dt class='sig sig-object py' id='m.A'><em>class </em>m.A<a class=headerlink"
        " href='#m.A'>¶</a></dt><dd><p>About A.</p><dl class='py method'><dt class='sig'>run()</dt>"
        "<dd><p>Runs.</p></dd></dl></dd></dl><p>After.</p></section>"
    )
    assert sections(page) == [
        (2, "Module", None),
        (3, "class m.A", "Module"),
        (4, "run()", "class m.A"),
    ]
    nodes = parse_bytes(page, "a.html")
    after = next(node for node in nodes if node.text == "After.")
    assert after.parent == nodes[1].id
    assert nodes[1].attributes["anchor"] == "m"
    assert nodes[3].attributes["object"] == "class"


def test_links_stay_with_their_text():
    node = parse_bytes(
        "<p>See <a href='b.html'>the <b>list</b></a> and <a href='#x'>here</a>.</p>", "a.html"
    )[1]
    assert node.text == "See the list and here."
    assert (node.attributes["links"], node.attributes["link_texts"]) == (["b.html"], ["the list"])


def test_language_of_code():
    page = (
        "<div class='highlight-python3 notranslate'><div class=highlight><pre>x</pre></div></div>"
    )
    assert parse_bytes(page, "a.html")[1].attributes["language"] == "python3"


def test_line_numbers_beside_code_are_left_out():
    page = (
        "<table class=highlighttable><tr><td class=linenos><pre>1\n2</pre></td>"
        "<td class=code><pre>a\nb</pre></td></tr></table>"
    )
    assert tree(page) == [(C, "a\nb")]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("<p>中文</p>".encode("utf-16"), "中文"),
        ("\ufeff<p>中文</p>".encode(), "中文"),
        ("<meta charset=gb2312><p>中文</p>".encode("gbk"), "中文"),
        (
            "<meta http-equiv=Content-Type content='text/html; charset=big5'><p>水</p>".encode(
                "big5"
            ),
            "水",
        ),
        ("<meta charset=iso-8859-1><p>caf\x92</p>".encode("latin-1"), "caf’"),
        ("<?xml version='1.0' encoding='utf-8'?><html><body><p>é</p></body></html>".encode(), "é"),
        (b"<meta charset=no-such><p>x</p>", "x"),
        (b"<p>a\0b</p>", "a\ufffdb"),
    ],
)
def test_encodings(data, text):
    assert parse_bytes(data, "a.html")[-1].text == text


def test_spans_lead_to_the_text_in_the_source():
    page = (
        "<title>Two</title><h1>Oil &amp; gas</h1>\n<p title='a > b'>Two <b>litres</b>\n of <!-- no --> oil.</p>"
        "<ul><li>Two</li><li>x &lt; y</li></ul><table><tr><th>a<th>b<tr><td>1<td>2</table><p>中文</p>"
    )
    nodes = {node.text: node for node in parse_bytes(page, "a.html")[1:] if node.text}
    shown = {text: page[slice(*node.span)] for text, node in nodes.items()}
    assert shown == {
        "Oil & gas": "Oil &amp; gas",
        "Two litres of oil.": "Two <b>litres</b>\n of <!-- no --> oil.",
        "Two": "Two",
        "x < y": "x &lt; y",
        "a | b": "a<th>b<tr><td>1<td>2",
        "1 | 2": "1<td>2",
        "中文": "中文",
    }
    items = parse_bytes(page, "a.html")
    assert page[slice(*next(n.span for n in items if n.kind == "List"))] == "Two</li><li>x &lt; y"
