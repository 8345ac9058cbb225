"""Typed values, and tables whose rows know the full header of each value."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llama_index_semxpath.node_parser.tables import (
    Cell,
    join_tables,
    row_sentence,
    table_block,
)
from llama_index_semxpath.node_parser.values import parse_quantity, typed_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,337", 1337),
        ("1 337", 1337),
        ("-5", -5),
        ("−5", -5),
        ("(5.2)", -5.2),
        ("3.14", 3.14),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("12.5%", 12.5),
        ("$5.20", 5.2),
        ("US$ 1,200", 1200),
        ("1200元", 1200),
        ("¥1,200.50", 1200.5),
        ("1.5亿元", 150_000_000),
        ("3万", 30_000),
        ("$2.5 million", 2_500_000),
        ("１２３", 123),
        ("true", True),
        ("2024-03-01", dt.date(2024, 3, 1)),
        ("2024/3/1", dt.date(2024, 3, 1)),
        ("2024年3月1日", dt.date(2024, 3, 1)),
        ("1 March 2024", dt.date(2024, 3, 1)),
        ("March 1, 2024", dt.date(2024, 3, 1)),
        ("12.05.2031", dt.date(2031, 5, 12)),
        ("2024-03-01 09:30", dt.datetime(2024, 3, 1, 9, 30)),
        ("2024-03-01T09:30:00Z", dt.datetime(2024, 3, 1, 9, 30, tzinfo=dt.UTC)),
        # Text stays text.
        ("007", "007"),
        ("0123.5", "0123.5"),
        ("03/04/2024", "03/04/2024"),
        ("2024-13-01", "2024-13-01"),
        ("9:00 AM", "9:00 AM"),
        ("5 apples", "5 apples"),
        ("1,33", "1,33"),
        ("12345678901234567890", "12345678901234567890"),
        ("3.5.1", "3.5.1"),
        ("USD 80-120", "USD 80-120"),
        ("n/a", "n/a"),
        ("", ""),
    ],
)
def test_values(text, value):
    found = typed_value(text)
    assert found == value
    assert type(found) is type(value) or isinstance(value, int | float)


@given(st.text())
def test_any_text_has_a_value(text):
    assert typed_value(text) is not None


@given(st.integers(-(10**12), 10**12))
def test_integers_come_back_with_and_without_separators(value):
    assert typed_value(str(value)) == value
    assert typed_value(f"{value:,}") == value


@given(st.dates(min_value=dt.date(1000, 1, 1)))
def test_iso_dates_come_back(value):
    assert typed_value(value.isoformat()) == value


def test_units_of_figures():
    assert parse_quantity("12%").unit == "%"
    assert parse_quantity("£3").unit == "GBP"
    assert parse_quantity("3").unit == ""


def rows(block):
    return [row.attributes for row in block.children]


def test_merged_and_multi_level_headers():
    block = table_block(
        [
            [Cell("Farm", rowspan=2), Cell("2030", colspan=2), Cell("2031", colspan=2)],
            ["Wheat", "Oats", "Wheat", "Oats"],
            [Cell("Hill", rowspan=2), "4", "2", "5", "3"],
            ["6", "1", "7", "2"],
        ]
    )
    assert block.text == "Farm | 2030 | 2031\nWheat | Oats | Wheat | Oats"
    assert rows(block) == [
        {"Farm": "Hill", "2030 / Wheat": 4, "2030 / Oats": 2, "2031 / Wheat": 5, "2031 / Oats": 3},
        {"Farm": "Hill", "2030 / Wheat": 6, "2030 / Oats": 1, "2031 / Wheat": 7, "2031 / Oats": 2},
    ]
    assert [row.text for row in block.children] == ["Hill | 4 | 2 | 5 | 3", "6 | 1 | 7 | 2"]


def test_three_levels_and_equal_neighbours():
    block = table_block(
        [
            [Cell("Region", rowspan=3), Cell("2024", colspan=3)],
            [Cell("Q3", colspan=2), Cell("Q4", rowspan=2)],
            ["Revenue", "Cost"],
            ["North", "1", "2", "3"],
        ]
    )
    assert block.attributes["columns"] == [
        "Region",
        "2024 / Q3 / Revenue",
        "2024 / Q3 / Cost",
        "2024 / Q4",
    ]


def test_a_merged_row_counts_once_and_heads_no_column():
    block = table_block([["a", "b"], [Cell("closed", colspan=2)], ["1", "2"]])
    assert [row.text for row in block.children] == ["closed", "1 | 2"]
    assert rows(block) == [{}, {"a": 1, "b": 2}]


def test_a_first_row_over_the_whole_width_is_the_caption():
    block = table_block([[Cell("Sales 2024", colspan=2)], ["Item", "Price"], ["Bolt", "3"]])
    assert block.attributes["caption"] == "Sales 2024"
    assert block.text == "Sales 2024\nItem | Price"
    assert rows(block) == [{"Item": "Bolt", "Price": 3}]


def test_headers_printed_again_are_dropped_and_pages_joined():
    first = table_block([["a", "b"], ["1", "2"], ["a", "b"], ["3", "4"]], page=1)
    assert [row.text for row in first.children] == ["1 | 2", "3 | 4"]
    second = table_block([["a", "b"], ["5", "6"]], page=2)
    other = table_block([["a", "b"], ["7", "8"]], page=4)
    joined = join_tables([first, second, other])
    assert [len(table.children) for table in joined] == [3, 1]


def test_a_table_of_figures_has_no_header():
    block = table_block([["1", "2"], ["3", "4"]])
    assert block.attributes["columns"] == ["column 1", "column 2"]
    assert len(block.children) == 2


def test_names_are_unique_and_gaps_are_named():
    block = table_block([["", "x", "x", ""], ["North", "1", "2", "3"]])
    assert block.attributes["columns"] == ["row", "x", "x (2)", "column 4"]


def test_units_come_from_brackets_or_from_all_figures():
    block = table_block([["Item", "Weight (kg)", "Price"], ["Bolt", "3", "$1"], ["Nut", "1", "$2"]])
    assert block.attributes["units"] == ["", "kg", "USD"]


def test_hostile_spans_are_bounded():
    block = table_block([[Cell("x", colspan=10**9, rowspan=10**9)] for _ in range(2000)])
    assert len(block.attributes["columns"]) <= 2000
    assert len(block.children) <= 2000


def test_sentence_form():
    assert row_sentence({"Farm": "Hill", "2030 / Wheat": 4}) == "Farm: Hill; 2030 / Wheat: 4"


cells = st.text(alphabet="abc1 |", max_size=4)


@given(st.lists(st.lists(st.builds(Cell, cells, st.integers(1, 4), st.integers(0, 4))), max_size=6))
def test_every_cell_stands_in_exactly_one_place(grid):
    block = table_block(grid)
    shown = " | ".join([block.text, *(row.text for row in block.children)])
    for cell in (cell for row in grid for cell in row):
        assert " ".join(cell.text.split()) in shown
    for row in block.children:
        assert set(row.attributes) <= set(block.attributes["columns"])
