"""Each rewrite pass on its own, before and after; data in ``rules``, one file a pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from llama_index_semxpath.xpath import RULES, parse, rewrite, to_text
from llama_index_semxpath.xpath.visit import transform

FIXTURES = Path(__file__).parent / "rules"
BY_NAME = {rule.name: rule for rule in RULES}
ROWS = [
    pytest.param(path.stem, row, id=f"{path.stem}:{row.get('before', row.get('unchanged'))}")
    for path in sorted(FIXTURES.glob("*.json"))
    for row in json.loads(path.read_text(encoding="utf-8"))
]


def test_every_rule_has_a_fixture_file() -> None:
    assert {path.stem for path in FIXTURES.glob("*.json")} == set(BY_NAME)
    assert all(rule.summary for rule in RULES)


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_rule(name: str, row: dict[str, Any]) -> None:
    before = row.get("before", row.get("unchanged"))
    expr = parse(before)
    after = transform(expr, BY_NAME[name].apply)
    assert to_text(after) == row.get("after", before)
    if "unchanged" in row:
        assert after is expr


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ("//a", "/descendant::a", ("descendant",)),
        ("//a[1]", "//a[1]", ()),
        (
            "//a[count(b) > 0 and @c = 1][. =~ 'x'][not(not(@d))]",
            '/descendant::a[b][@c = 1][@d][. =~ "x"]',
            ("not-not", "exists", "plain-conditions", "split-and", "hard-first", "descendant"),
        ),
        ("//a[1 = 1][position() = 1 + 1]", "//a[2]",
         ("constants", "plain-conditions", "positions")),
        ("(.//a)/./b[@c = 'x' or @c = 'y']", 'descendant::a/b[@c in ("x", "y")]',
         ("nested-paths", "self-steps", "membership", "descendant")),
    ],
)  # fmt: skip
def test_all_rules_together(before: str, after: str, names: tuple[str, ...]) -> None:
    new, applied = rewrite(parse(before))
    assert to_text(new) == after
    assert set(applied) == set(names)
    assert rewrite(new) == (new, ())
