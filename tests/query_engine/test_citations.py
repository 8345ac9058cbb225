import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llama_index_semxpath.query_engine.citations import cited_sources, renumber_citations

CASE = json.loads(
    (
        Path(__file__).parents[1] / "cases/answers/71-citations-renumber-and-exist/case.json"
    ).read_text("utf-8")
)


def test_case_71() -> None:
    sources = CASE["operation"]["sources"]
    cited = renumber_citations(CASE["operation"]["model_reply"], len(sources))
    assert cited.text == CASE["expected"]["text"]
    assert {str(n): sources[s] for n, s in cited.references.items()} == CASE["expected"][
        "references"
    ]
    assert sorted(cited.removed) == ["[9]", "[Summary of 80b5]"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("array[5] and f(x)[2] stay", "array[5] and f(x)[2] stay"),
        ("`a [1] b` but [2].", "`a [1] b` but [1]."),
        ("```\nx [1]\n```\n见[2]。", "```\nx [1]\n```\n见[1]。"),
        ("年假十五天[2]。", "年假十五天[1]。"),
        ("a [2,2, 1]", "a [1, 2]"),
        ("a [2][7].", "a [1]."),
        ("[text](http://x) [1]", "[text](http://x) [1]"),
        ("", ""),
        ("a [[1]] b [[2](#x)]", "a [1] b [[2]]"),
        ("It was cut off [1", "It was cut off"),
        (
            "a [1-2], b [^2], c【1】, d [Source 2], e [来源1]。",
            "a [1, 2], b [2], c[1], d [2], e [1]。",
        ),
        ("a [1](https://x.y/z).", "a [1]."),
        ("a [1] [1] b", "a [1] b"),
        ("a [1].\n\n**References:**\n[1] One\n[2] Two", "a [1]."),
        ("[0] [-1] [99999]", " [-1] [99999]"),
    ],
)
def test_kinds_of_brackets(text: str, expected: str) -> None:
    assert renumber_citations(text, 2).text == expected


@given(st.text(alphabet="ab [],;`.12390\n年", max_size=60), st.integers(0, 4))
def test_what_is_left_exists_and_doing_it_twice_changes_nothing(text: str, sources: int) -> None:
    once = renumber_citations(text, sources)
    assert sorted(once.references) == list(range(1, len(once.references) + 1))
    assert all(0 <= place < sources for place in once.references.values())
    twice = renumber_citations(once.text, len(once.references))
    assert twice.removed == []
    assert cited_sources(once.text, len(once.references)) == list(range(len(once.references)))
