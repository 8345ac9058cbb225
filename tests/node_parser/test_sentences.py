"""Where sentences end, and how long text is cut."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llama_index_semxpath.node_parser import ParseOptions, parse_bytes
from llama_index_semxpath.node_parser.sentences import LINES, glue, split_sentences, split_text
from llama_index_semxpath.node_parser.tokens import token_counter

COUNT = token_counter(ParseOptions())


@pytest.mark.parametrize(
    "sentences",
    [
        ["One.", "Two!", "Three?", "Four"],
        ["Dr. Lee met Mr. Oh at 3.5 p.m. on Main St. in May.", "He left."],
        ["See Fig. 3 and Eq. 2.", "Compare vol. 4, pp. 5-6."],
        ["J. R. Smith wrote it.", "It sold."],
        ["Use e.g. oil, i.e. grease, etc. when it is dry.", "Then wait."],
        ["“Stop!” he said.", "“Why?” she asked.", "Nobody knew."],
        ["It ended (at last.)", "All slept."],
        ["Wait...", "Go on."],
        ["He said 'no.'", "Then he left."],
        ["Version 3.11.2 is out.", "It needs 1.5 GB."],
        ["Really?!", "Yes."],
        ["他说：“走吧。”", "大家都走了！", "为什么？", "没人知道……", "完。"],
        ["甲方应当付款；", "乙方应当交货。"],
        ["价格是3.5元。", "共2.0版。"],
        ["（见附件。）", "请查收。"],
        ["Call it v2.好的。", "完。"],
        ["1. Open the box.", "2. Count the parts."],
        ["No end mark"],
    ],
)
def test_sentences(sentences):
    wide = any("一" <= char <= "鿿" for char in sentences[0])
    assert split_sentences(("" if wide else " ").join(sentences)) == sentences


def test_line_breaks_end_what_has_no_mark():
    text = "Title line\nname: value\n" * 200
    pieces = [text[a:b] for a, b in split_text(text, 64, COUNT)]
    assert all(piece.endswith("\n") for piece in pieces)


@settings(deadline=None, derandomize=True)
@given(
    st.lists(
        st.sampled_from(
            ["word", "Dr.", "end.", "中文字", "。", "3.5", "\n", "“q!”", ", ", "x" * 40, "1,000"]
        ),
        min_size=1,
        max_size=80,
    ).map(" ".join),
    st.integers(4, 40),
)
def test_pieces_cover_the_text_within_the_limit(text, limit):
    ranges = split_text(text, limit, COUNT)
    assert [a for a, _ in ranges] == [0, *(b for _, b in ranges[:-1])]
    assert ranges[-1][1] == len(text)
    assert all(COUNT(text[a:b]) <= limit for a, b in ranges)


@pytest.mark.parametrize(
    "unit",
    ["a 3.5 mm bolt of 1,200 kg, no less. ", "用水单位应当在三十日内缴费，逾期不缴的，暂停供水。"],
)
@pytest.mark.parametrize("limit", [16, 40, 100])
def test_never_inside_a_word_or_number(unit, limit):
    nodes = parse_bytes(unit * 100, "a.txt.md", options=ParseOptions(max_tokens=limit))
    pieces = [node.text for node in nodes if node.kind == "Paragraph"]
    words = set(unit.split())
    if len(words) > 1:
        assert {word for piece in pieces for word in piece.split()} == words
    rebuilt = pieces[0]
    for piece in pieces[1:]:
        rebuilt += glue(rebuilt, piece) + piece
    assert rebuilt == (unit * 100).strip()


def test_code_is_cut_between_lines_only():
    source = "\n".join(
        f"line_{n} = {n} * 2  # note" + ("\n" if n % 10 == 0 else "") for n in range(300)
    )
    nodes = parse_bytes(f"```py\n{source}\n```", "a.md", options=ParseOptions(max_tokens=128))
    codes = [node for node in nodes if node.kind == "Code"]
    assert len(codes) > 10
    assert "\n".join(node.text for node in codes) == source
    assert all(node.attributes["language"] == "py" for node in codes)
    assert [node.attributes["part"] for node in codes] == list(range(1, len(codes) + 1))
    assert max(node.tokens for node in codes) <= 128


def test_a_line_of_code_is_never_cut():
    line = "x" * 5_000
    assert [line[a:b] for a, b in split_text(line, 10, COUNT, LINES)] == [line]


def test_pieces_are_about_equally_long():
    nodes = parse_bytes(
        "One more short sentence here. " * 100, "a.md", options=ParseOptions(max_tokens=512)
    )
    sizes = [node.tokens for node in nodes[1:]]
    assert len(sizes) == 2
    assert max(sizes) - min(sizes) <= 12


def test_pieces_of_an_item_hang_on_the_item():
    nodes = parse_bytes(
        "- " + "A sentence of an item. " * 60 + "\n  - inner",
        "a.md",
        options=ParseOptions(max_tokens=64),
    )
    item = nodes[2]
    pieces = [node for node in nodes if node.parent == item.id]
    assert item.attributes["part"] == 1
    assert [node.attributes.get("part") for node in pieces[:-1]] == list(range(2, len(pieces) + 1))
    assert [node.kind for node in pieces[-2:]] == ["Paragraph", "List"]


def test_spans_of_pieces_are_exact_where_the_source_is_plain():
    text = "# T\n\n" + "Some sentence 中文。 " * 200
    for node in parse_bytes(text, "a.md", options=ParseOptions(max_tokens=64))[2:]:
        assert text[slice(*node.span)] == node.text


def test_a_tokenizer_of_the_users():
    nodes = parse_bytes(
        "one two three. " * 50, "a.md", options=ParseOptions(max_tokens=16, tokenizer=str.split)
    )
    assert max(node.tokens for node in nodes) <= 16
    assert nodes[1].tokens == len(nodes[1].text.split())
