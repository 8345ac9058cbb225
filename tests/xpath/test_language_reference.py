"""The examples of docs/language.md, executed."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from outline import WordShare, read_outline

from llama_index_semxpath.engines.base import Dataset
from llama_index_semxpath.engines.memory import MemoryEngine
from llama_index_semxpath.errors import QueryError
from llama_index_semxpath.tree.table import TreeTable
from llama_index_semxpath.xpath import check, parse, parse_update, to_text, update_text
from llama_index_semxpath.xpath.functions import FUNCTIONS
from llama_index_semxpath.xpath.parser import AXES

PAGE = Path(__file__).parents[2] / "docs" / "language.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass
class Example:
    query: str
    params: dict[str, Any] = field(default_factory=dict)
    results: list[str] = field(default_factory=list)


def blocks(language: str) -> Iterator[str]:
    for found in BLOCK.finditer(PAGE.read_text(encoding="utf-8")):
        if found[1] == language:
            yield found[2]


def examples() -> Iterator[Example]:
    for block in blocks("semxpath"):
        for text in block.strip().split("\n\n"):
            query: list[str] = []
            example = Example("")
            for line in text.splitlines():
                if line.startswith("let $"):
                    name, value = line[5:].split(" = ", 1)
                    example.params[name] = json.loads(value)
                elif line[:2] in ("=>", "!!", "=="):
                    example.results.append(line)
                else:
                    query.append(line)
            example.query = "\n".join(query)
            yield example


def read_tree() -> TreeTable:
    (text,) = blocks("tree")
    return TreeTable.from_nodes(*read_outline(text))


@pytest.fixture(scope="module")
def engine() -> MemoryEngine:
    clock = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
    return MemoryEngine(Dataset(read_tree(), WordShare(), clock=lambda: clock))


def shown_value(engine: MemoryEngine, value: Any) -> str:
    ids = engine.dataset.table.ids
    if isinstance(value, list) and value and not isinstance(value[0], str | float | int):
        return "; ".join(
            f"{group.key:g}: " + ", ".join(ids[row] for row in group.positions) for group in value
        )
    if isinstance(value, float):
        return f"{value:g}"
    return json.dumps(value, ensure_ascii=False)


def answer(engine: MemoryEngine, example: Example) -> str:
    result = engine.run(example.query, params=example.params)
    if result.value is not None:
        single = isinstance(result.value, list) and len(result.value) == 1 and len(result) == 1
        return shown_value(engine, result.value[0] if single else result.value)
    ids = [engine.dataset.table.ids[row] for row in result.positions.tolist()]
    if (result.graded and any(score < 1 for score in result.scores)) or has_scores(example):
        ids = [f"{id_} {score:.4g}" for id_, score in zip(ids, result.scores, strict=True)]
        ids = [re.sub(r" 1$", " 1.0", text) for text in ids]
    return ", ".join(ids) or "nothing"


def has_scores(example: Example) -> bool:
    return any(re.search(r" \d\.\d", line) for line in example.results)


@pytest.mark.parametrize("example", [pytest.param(e, id=e.query) for e in examples()])
def test_example(engine: MemoryEngine, example: Example) -> None:
    assert len(example.results) == 1
    mark, expected = example.results[0][:2], example.results[0][3:]
    if mark == "=>":
        assert answer(engine, example) == expected
    elif mark == "==":
        checked = check(parse(example.query), engine.schema(), {}, text=example.query)
        assert to_text(checked.expr) == expected
    else:
        with pytest.raises(QueryError) as caught:
            engine.run(example.query, params=example.params)
        assert str(caught.value).splitlines()[0] == expected


def test_update_examples() -> None:
    rows = re.findall(r"^\| `.*` \| `(.*)` \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == 5
    for text in rows:
        assert update_text(parse_update(text)) == text


def function_table() -> str:
    rows = ["| function | gives |", "|---|---|"]
    rows += [f"| `{info.signature()}` | {info.summary} |" for info in FUNCTIONS.values()]
    return "\n".join(rows)


def test_function_table_is_the_registry() -> None:
    page = PAGE.read_text(encoding="utf-8")
    begin, end = "<!-- functions: begin -->\n", "<!-- functions: end -->"
    assert page.split(begin)[1].split(end)[0].strip() == function_table()


def test_every_axis_and_function_has_an_example() -> None:
    queries = "\n".join(example.query for example in examples())
    assert [axis for axis in AXES if f"{axis}::" not in queries] == []
    assert [name for name in FUNCTIONS if f"{name}(" not in queries] == []
