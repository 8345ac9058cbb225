"""Markdown as people write it."""

from __future__ import annotations

import datetime as dt

import pytest

from llama_index_semxpath.node_parser import parse_bytes


def tree(text: str, name: str = "a.md"):
    return [(node.kind, node.text) for node in parse_bytes(text, name)[1:]]


def sections(text: str):
    nodes = {node.id: node for node in parse_bytes(text, "a.md")}
    return [
        (node.level, node.text, nodes[node.parent].text or None)
        for node in nodes.values()
        if node.kind == "Section"
    ]


P, S, C = "Paragraph", "Section", "Code"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("~~~\n# a\n```\n~~~\n", [(C, "~~~\n# a\n```\n~~~")]),
        ("```\n# a\n", [(C, "# a")]),
        ("- x\n\n  ```sh\n  # a\n  ```\n", [("List", ""), ("ListItem", "x"), (C, "# a")]),
        ("    # indented\n", [(C, "# indented")]),
        (
            "#hashtag\n\n####### seven\n\n\\# escaped",
            [(P, "#hashtag"), (P, "####### seven"), (P, "# escaped")],
        ),
        ("a\n***\nb", [(P, "a"), (P, "b")]),
        ("- # item\n- b", [("List", ""), ("ListItem", ""), (P, "item"), ("ListItem", "b")]),
        ("> - # a\n>   b", [("Quote", ""), ("List", ""), ("ListItem", ""), (P, "a"), (P, "b")]),
        ("# a\r\n\r\nb\r\n", [(S, "a"), (P, "b")]),
        ("\ufeff# a\n\nb", [(S, "a"), (P, "b")]),
        ("# `x` *y* **z** [w](u) ![v](i) <b>t</b>", [(S, "x y z w v t")]),
        ("# a &amp; b &lt;c&gt;", [(S, "a & b <c>")]),
        ("# a<br>b", [(S, "a b")]),
        ("# a <!-- c --> b", [(S, "a b")]),
        ("Use <your-name> and List<String>.", [(P, "Use <your-name> and List<String>.")]),
        ("<bucket-name>\n\nx", [(P, "<bucket-name>"), (P, "x")]),
        ("x<script>evil()</script>y", [(P, "xy")]),
        ("a\\\nb  \nc", [(P, "a\nb\nc")]),
        (
            "第一行没有写完的文字继续写在这里并且很长很长很长\n下一行。",
            [(P, "第一行没有写完的文字继续写在这里并且很长很长很长下一行。")],
        ),
        (
            "A line that is long enough to be wrapped by an editor\nwent on.",
            [(P, "A line that is long enough to be wrapped by an editor went on.")],
        ),
        ("姓名：李雷\n部门：财务", [(P, "姓名：李雷\n部门：财务")]),
        ("- [x] done\n- [ ] open", [("List", ""), ("ListItem", "done"), ("ListItem", "open")]),
        ("Term\n: what it means\n", [("List", ""), ("ListItem", "Term"), (P, "what it means")]),
        ("$$\na^2\n$$", [("Formula", "a^2")]),
        ("Costs $5 and $HOME or $x^2$.", [(P, "Costs $5 and $HOME or $x^2$.")]),
        ("Set $A **now** or $B.", [(P, "Set $A now or $B.")]),
        ("![boat](b.png)", [("Figure", "boat")]),
        ("[![ok](b.svg)](u) [![no](c.svg)](v)", [("Figure", "ok"), ("Figure", "no")]),
        ("a[^1]\n\n[^1]: note\n", [(P, "a[1]"), (P, "note")]),
        (
            "- a\n  - b\n\n    c\n- d",
            [
                ("List", ""),
                ("ListItem", "a"),
                ("List", ""),
                ("ListItem", "b"),
                (P, "c"),
                ("ListItem", "d"),
            ],
        ),
        ("- a\n  ```\n  x\n  ```\n  c", [("List", ""), ("ListItem", "a"), (C, "x"), (P, "c")]),
        (
            "<details><summary>More</summary>\n\ninner **text**\n\n</details>",
            [(P, "More"), (P, "inner text")],
        ),
        (
            "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>",
            [("Table", "a | b"), ("Row", "1 | 2")],
        ),
        ("---\n\ntext", [(P, "text")]),
        ("---\nkey: v\n---\n# a", [(S, "a")]),
        ("---\ntitle: Oil: a guide\n---\n# a", [(S, "a")]),
        ("# a\n\n---\nnot: matter\n---\n", [(S, "a"), (S, "not: matter")]),
    ],
)
def test_blocks(text, wanted):
    assert tree(text) == wanted


def test_levels_below_no_top_heading():
    text = "### a\n\n## b\n\n#### c\n\n# d\n\n##### e"
    assert sections(text) == [
        (3, "a", None),
        (2, "b", None),
        (4, "c", "b"),
        (1, "d", None),
        (5, "e", "d"),
    ]


def test_tables():
    nodes = parse_bytes("a | b\n:-: | -\n1,200 | x \\| y\n| 007 |\n| c | d | lost |\n", "a.md")
    assert nodes[1].attributes["columns"] == ["a", "b"]
    rows = [node.attributes for node in nodes if node.kind == "Row"]
    assert rows == [{"a": 1200, "b": "x | y"}, {"a": "007"}, {"a": "c", "b": "d"}]


def test_a_caption_belongs_to_the_table_after_it():
    nodes = parse_bytes("表 2 库存\n\n|a|\n|-|\n|1|\n", "a.md")
    assert [node.kind for node in nodes[1:]] == ["Paragraph", "Table", "Row"]
    assert nodes[2].attributes["caption"] == "表 2 库存"


def test_front_matter_is_typed():
    source = "---\ntitle: Leave\ndate: 2026-03-01\ntags: [hr, paid]\nauthor:\n  name: Li\nn: 3\nx:\n---\nb"
    root = parse_bytes(source, "a.md")[0]
    wanted = {
        "title": "Leave",
        "date": dt.date(2026, 3, 1),
        "tags": ["hr", "paid"],
        "author.name": "Li",
        "n": 3,
    }
    assert {key: root.attributes[key] for key in wanted} == wanted
    assert "x" not in root.attributes
    toml = parse_bytes('+++\ntitle = "T"\n+++\nb', "a.md")
    assert (toml[0].attributes["title"], toml[1].text) == ("T", "b")


def test_title_of_the_document():
    assert parse_bytes("# One\n\n## Two", "a.md")[0].title == "One"
    assert parse_bytes("# One\n\n# Two", "guide.md")[0].title == "guide"


def test_links_and_anchors_are_kept():
    nodes = parse_bytes("# A {#top}\n\n[x][r] <https://e.org> [y](#in)\n\n[r]: /u 'T'\n", "a.md")
    assert nodes[1].attributes["anchor"] == "top"
    assert nodes[1].text == "A"
    assert nodes[2].attributes["links"] == ["/u", "https://e.org", "#in"]
    assert nodes[2].attributes["link_texts"] == ["x", "https://e.org", "y"]


def test_numbers_of_headings():
    nodes = parse_bytes("# 3.2 Install\n\n# 第五条 年假\n\n# Appendix B\n\n# Plain", "a.md")
    found = [(node.number, node.attributes.get("n")) for node in nodes[1:]]
    assert found == [("3.2", 2), ("第五条", 5), ("Appendix B", 2), (None, None)]


@pytest.mark.parametrize(
    "text",
    [
        "# Grün\n\nÄpfel 中文\n\n## ok\n\nplain",
        "---\na: 中\n---\n# b\n\ncdé\n\n- 1\n- 二",
        "# a\r\n\r\nb\r\nc\r\n",
    ],
)
def test_spans_are_characters_of_the_source(text):
    for node in parse_bytes(text, "a.md")[1:]:
        assert node.span is not None
        part = text[slice(*node.span)]
        assert part == part.rstrip()
        assert " ".join(node.text.split()) in " ".join(part.split())


def test_bold_lines_are_headings_where_they_are_a_habit():
    text = "# Act\n\n" + "\n\n".join(f"**Part {name}**\n\nText of {name}." for name in "ABCD")
    assert [title for _, title, _ in sections(text)] == [
        "Act",
        "Part A",
        "Part B",
        "Part C",
        "Part D",
    ]
    assert [title for _, title, _ in sections("# Act\n\n**Note**\n\nOne.")] == ["Act"]


def test_recovered_headings_of_an_unmarked_file():
    text = "第一章 总则\n\n第一条 为了节约用水，制定本条例。\n\n第二条 本条例适用于本市。\n"
    assert [title for _, title, _ in sections(text)] == ["第一章 总则", "第一条", "第二条"]


def test_github_alerts():
    nodes = parse_bytes("> [!WARNING]\n> Hot.\n", "a.md")
    assert (nodes[1].kind, nodes[1].attributes["alert"], nodes[2].text) == (
        "Quote",
        "warning",
        "Hot.",
    )
