"""Did-you-mean: near names first, nothing far-fetched, and no long wait."""

from __future__ import annotations

import pytest

from llama_index_semxpath.xpath.suggest import nearest

KINDS = ["Document", "Section", "Paragraph", "List", "ListItem", "Table", "Row", "制度", "部门"]


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("Sektion", ["Section"]),
        ("section", ["Section"]),
        ("Secton", ["Section"]),
        ("Setcion", ["Section"]),
        ("Sections", ["Section"]),
        ("Paragraf", ["Paragraph"]),
        ("Tabel", ["Table"]),
        ("Item", ["ListItem"]),
        ("制渡", ["制度"]),
        ("Rwo", ["Row"]),
        ("Invoice", []),
        ("x", []),
        ("", []),
    ],
)
def test_nearest_kind(typed: str, wanted: list[str]) -> None:
    assert nearest(typed, KINDS)[:1] == wanted


def test_best_first_and_no_repeats() -> None:
    assert nearest("price", ["prices", "prize", "price", "Price", "prices"], limit=4) == [
        "Price",
        "price",
        "prices",
        "prize",
    ]
    assert len(nearest("price", [f"price{n}" for n in range(50)])) == 3


def test_many_names_cost_little() -> None:
    names = [f"customer_address_line_{place}" for place in range(50_000)]
    assert nearest("customer_adress_line_7", names)[0] == "customer_address_line_7"
    assert nearest("y" * 100_000, names) == []
