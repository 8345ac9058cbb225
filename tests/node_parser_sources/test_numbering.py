"""Numbers of headings, and places that a question names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llama_index_semxpath.node_parser.numbering import number_attributes, split_number
from llama_index_semxpath.node_parser.numerals import (
    chinese_to_int,
    int_to_chinese,
    int_to_roman,
    numeral_to_int,
    roman_to_int,
)
from llama_index_semxpath.node_parser.references import parse_references


@given(st.integers(0, 99_999_999))
def test_chinese_numerals_come_back(value):
    assert chinese_to_int(int_to_chinese(value)) == value


@given(st.integers(1, 3999))
def test_roman_numerals_come_back(value):
    assert roman_to_int(int_to_roman(value)) == value
    assert roman_to_int(int_to_roman(value).lower()) == value


@given(st.text())
def test_any_text_is_read_without_failing(text):
    number = split_number(text)
    if number is not None:
        assert text[: number.end].strip() != ""
        assert number.rest == text[number.end :].strip()
    numeral_to_int(text)
    parse_references(text)


@given(st.lists(st.integers(1, 99), min_size=2, max_size=5))
def test_dotted_numbers_keep_their_parts(parts):
    written = ".".join(map(str, parts))
    number = split_number(f"{written} Title")
    assert (number.written, number.parts, number.rest) == (written, tuple(parts), "Title")


@pytest.mark.parametrize(
    ("line", "written", "n"),
    [
        ("1 Scope", "1", 1),
        ("1. Scope", "1", 1),
        ("1) Scope", "1", 1),
        ("(1) Scope", "(1)", 1),
        ("1.2.3 Scope", "1.2.3", 3),
        ("1.0 Scope", "1.0", 1),
        ("A. Lakes", "A", 1),
        ("A.1 Forms", "A.1", 1),
        ("Appendix B", "Appendix B", 2),
        ("Chapter 4: Sea", "Chapter 4", 4),
        ("CHAPTER IV", "CHAPTER IV", 4),
        ("Chapter Four", "Chapter Four", 4),
        ("Part II Sea", "Part II", 2),
        ("Section 3.2 Sea", "Section 3.2", 2),
        ("Section 1.01 Sea", "Section 1.01", 1),
        ("§ 12 Sea", "§ 12", 12),
        ("IV. Sea", "IV", 4),
        ("(iv) sea", "(iv)", 4),
        ("第一编 总则", "第一编", 1),
        ("第二分编 合同", "第二分编", 2),
        ("第五条 年假", "第五条", 5),
        ("第一百零三条", "第一百零三条", 103),
        ("第12条 年假", "第12条", 12),
        ("第１２条 年假", "第１２条", 12),
        ("第十二条之一", "第十二条之一", 12),
        ("一、总则", "一", 1),
        ("（一）总则", "（一）", 1),
        ("1．总则", "1", 1),
        ("（1）总则", "（1）", 1),
        ("①总则", "①", 1),
        ("附则", "附则", None),
        ("附录 B 表格", "附录 B", 2),
        ("附件二", "附件二", 2),
    ],
)
def test_numbers_as_written(line, written, n):
    number = split_number(line)
    assert (number.written, number.n) == (written, n)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "Scope",
        "2031 was the first year",
        "12.05.2031 is a date",
        "10:30 start",
        "3.5亿元",
        "12.5% of all",
        "2024年1月",
        "3D printing",
        "5G网络",
        "U.S. policy",
        "e.g. this",
        "附件请见网站",
        "0007 codes",
    ],
)
def test_lines_without_number(line):
    assert split_number(line) is None
    assert number_attributes(line) == {}


def test_sub_numbers_tell_articles_apart():
    assert split_number("第十二条之一").sub == 1
    assert split_number("§ 2a Discounts").sub == 1
    assert split_number("第十二条").sub is None


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("第三章第五条规定了什么", [("chapter", (3,)), ("article", (5,))]),
        ("第12条之一", [("article", (12,))]),
        ("第3.2节讲什么", [("section", (3, 2))]),
        ("what does section 2.1 say?", [("section", (2, 1))]),
        ("Article V of Part II", [("article", (5,)), ("part", (2,))]),
        ("chapter four", [("chapter", (4,))]),
        ("the 3rd chapter", [("chapter", (3,))]),
        ("the third chapter", [("chapter", (3,))]),
        ("附录B和附件二", [("appendix", (2,)), ("annex", (2,))]),
        ("see 4.2.1", [("", (4, 2, 1))]),
        ("art. 7 and § 12", [("article", (7,)), ("article", (12,))]),
        ("part of the plan in 3.5 million units", []),
        ("Which Python 3.11 release is used in chapter houses?", []),
        ("第一季度的收入", []),
    ],
)
def test_places_named_in_questions(question, expected):
    assert [(found.unit, found.parts) for found in parse_references(question)] == expected


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("article 5", "第五条"),
        ("第五条", "Article V"),
        ("第五条", "第5条"),
        ("section 3.2", "3.2"),
        ("第二章", "Chapter 2"),
        ("Appendix B", "附录 B"),
        ("第十二条之一", "第十二条之一"),
    ],
)
def test_references_meet_numbers_as_written(question, number):
    reference = parse_references(question)[0]
    assert reference.matches(number)


def test_references_keep_units_and_subs_apart():
    assert not parse_references("第五条")[0].matches("第五章")
    assert not parse_references("第十二条")[0].matches("第十二条之一")
    assert not parse_references("section 3.2")[0].matches("3.3")


@given(st.sampled_from(["第{}条", "第{}章", "Article {}", "Chapter {}"]), st.integers(1, 300))
def test_spellings_are_understood_again(form, value):
    reference = parse_references(form.format(value))[0]
    assert all(reference.matches(spelling) for spelling in reference.spellings())
