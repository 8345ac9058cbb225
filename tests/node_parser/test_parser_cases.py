"""Every folder of ``tests/cases/parser``: an input and the tree that a careful reader would draw.

Besides what the handed cases say (see their ``expected``), cases of our own may give ``tree``: the
list of ``[kind, text]`` in document order without the root, and ``attributes``: a list of
``[text of a node, attribute, value]``.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from llama_index_semxpath.node_parser import ParseOptions, parse_bytes
from llama_index_semxpath.node_parser.serialize import walk_places
from llama_index_semxpath.tree.node import TreeNode

CASES = Path(__file__).parents[1] / "cases" / "parser"
FOLDERS = sorted(path.parent for path in CASES.glob("*/case.json"))
RENUMBERED = ("text", "pdf")


def plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).split())


@lru_cache(maxsize=256)
def load(folder: Path) -> tuple[dict[str, Any], list[tuple[TreeNode, list[str], str]]]:
    case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    operation = case["operation"]
    inputs = operation["input"]
    places = []
    for name in inputs if isinstance(inputs, list) else [inputs]:
        options = ParseOptions(**operation.get("options", {}))
        data = (folder / name).read_bytes()
        nodes = parse_bytes(data, name, operation["format"], options=options)
        places += [(node, list(path), xpath) for node, path, xpath in walk_places(nodes)]
    return case, places


def sections(places: list[tuple[TreeNode, list[str], str]]) -> list[list[Any]]:
    titles = {node.id: plain(node.text) for node, _, _ in places if node.kind == "Section"}
    return [
        [node.level, plain(node.text), titles.get(node.parent or "")]
        for node, _, _ in places
        if node.kind == "Section"
    ]


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def case(
    request: pytest.FixtureRequest,
) -> tuple[dict[str, Any], list[tuple[TreeNode, list[str], str]]]:
    return load(request.param)


def test_headings(case):
    data, places = case
    expected = data["expected"]
    found = sections(places)
    if "count_headings" in expected:
        assert len(found) == expected["count_headings"]
    if "headings" not in expected:
        return
    wanted = expected["headings"]
    optional = expected.get("optional_headings", [])
    root = expected.get("optional_root")
    found = [heading for heading in found if heading in wanted or heading not in optional]
    if root is not None:
        found = [
            [lv, title, None if up == root else up] for lv, title, up in found if title != root
        ]
    if data["operation"]["format"] in RENUMBERED:
        assert [heading[1:] for heading in found] == [heading[1:] for heading in wanted]
    else:
        assert found == wanted


def test_lines_that_are_no_headings(case):
    data, places = case
    titles = [title for _, title, _ in sections(places)]
    for text in data["expected"].get("not_headings", []):
        assert not any(plain(text) in title for title in titles)


def test_text_lies_under_its_path(case):
    data, places = case
    root = data["expected"].get("optional_root")
    for text, path in data["expected"].get("text_under", []):
        holders = [p for node, p, _ in places if plain(text) in plain(node.text)]
        assert holders, f"{text!r} is lost"
        paths = [[plain(title) for title in p if plain(title) != root] for p in holders]
        assert path in paths


def test_kept_and_left_out_text(case):
    data, places = case
    texts = [node.text.replace("\r\n", "\n") for node, _, _ in places]
    for text in data["expected"].get("must_keep", []):
        assert any(text in own for own in texts), f"{text!r} is lost"
    for text in data["expected"].get("body_excludes", []):
        assert not any(text in own for own in texts)


def test_tables(case):
    data, places = case
    wanted = data["expected"].get("table")
    if wanted is None:
        return
    table = next(node for node, _, _ in places if node.kind == "Table")
    rows = [node for node, _, _ in places if node.kind == "Row" and node.parent == table.id]
    columns = table.attributes["columns"]
    if "columns" in wanted:
        assert columns == wanted["columns"]
    if "column_paths" in wanted:
        assert columns == [" / ".join(path) for path in wanted["column_paths"]]
    for row, cells in zip(rows, wanted.get("rows", []), strict="rows" in wanted):
        bare = [plain(re.sub(r"<br>", " ", cell.replace("`", ""))) for cell in cells]
        assert [plain(str(row.attributes.get(name, ""))) for name in columns] == bare
    for row, record in zip(rows, wanted.get("records", []), strict=False):
        for name, value in record["values"].items():
            assert str(row.attributes[name.replace("/", " / ")]) == value


def test_trees_of_our_own_cases(case):
    data, places = case
    expected = data["expected"]
    if "tree" in expected:
        assert [[node.kind, node.text] for node, _, _ in places[1:]] == expected["tree"]
    for text, name, value in expected.get("attributes", []):
        values = [node.attributes.get(name) for node, _, _ in places if node.text == text]
        assert value in values


def test_ids_are_unique_and_repeatable(case):
    data, places = case
    ids = [node.id for node, _, _ in places]
    assert len(ids) == len(set(ids))
    operation = data["operation"]
    if isinstance(operation["input"], str):
        folder = next(path for path in FOLDERS if load(path)[0] is data)
        again = parse_bytes(
            (folder / operation["input"]).read_bytes(),
            operation["input"],
            operation["format"],
            options=ParseOptions(**operation.get("options", {})),
        )
        assert [node.id for node in again] == ids


def test_no_node_is_over_the_limit(case):
    data, places = case
    limit = data["operation"].get("options", {}).get("max_tokens", 512)
    leaves = [n for n, _, _ in places if n.kind in ("Paragraph", "ListItem")]
    assert all(node.tokens <= limit for node in leaves)
