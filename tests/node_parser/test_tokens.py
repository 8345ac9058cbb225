"""Token counts: exact, whatever the text is cut into."""

from __future__ import annotations

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st

from llama_index_semxpath.data import demo_dir
from llama_index_semxpath.node_parser import ParseOptions
from llama_index_semxpath.node_parser.tokens import token_counter

COUNT = token_counter(ParseOptions())
PIECES = (
    " ", "  ", "\n", "\r\n", "\t", "\xa0", "\u3000", "\u2028", "\x1c", "\x1f", "\x85", "\x00", "a", "The", "it's",
    "I'LL", "1", "2024", "½", "Ⅳ", ".", ";", "--", "((", "é", "用水", "。", "、", "😀", "e\u0301", "_", "ſ", "'s",
)  # fmt: skip


@pytest.fixture(scope="module")
def encoding() -> tiktoken.Encoding:
    return tiktoken.get_encoding("cl100k_base")


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
@settings(max_examples=3000, deadline=None)
def test_counts_are_those_of_the_encoding(encoding: tiktoken.Encoding, text: str) -> None:
    assert COUNT(text) == len(encoding.encode_ordinary(text))


@pytest.mark.parametrize("path", sorted(demo_dir().rglob("*.*")), ids=lambda path: path.name)
def test_counts_of_whole_files(encoding: tiktoken.Encoding, path) -> None:
    text = path.read_bytes().decode("utf-8", "replace")
    assert COUNT(text) == len(encoding.encode_ordinary(text))
