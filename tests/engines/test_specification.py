"""The sentences of the language's specification, each with queries that hold it to its word.

``specification.txt`` names a sentence (``##``), then queries. ``=>`` is the result: ids, with
scores where they matter, or a value; ``!!`` an error's class and a part of its message; ``==`` the
query as it runs; ``??`` another tree, in one line; ``let`` binds a parameter.
"""

from __future__ import annotations

import datetime as dt
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from llama_index_semxpath import errors
from llama_index_semxpath.engines.base import Dataset, Scorer, Targets
from llama_index_semxpath.engines.memory import MemoryEngine
from llama_index_semxpath.engines.result import Evaluation, Group
from llama_index_semxpath.tree.columns import Floats
from llama_index_semxpath.tree.table import TreeTable
from llama_index_semxpath.xpath import SemXPathSyntaxError, parse

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "xpath"))
from outline import WordShare, read_outline  # noqa: E402


@dataclass
class Entry:
    sentence: str
    query: str
    params: dict[str, Any] = field(default_factory=dict)
    tree: str = ""
    marks: list[tuple[str, str]] = field(default_factory=list)


def read() -> tuple[str, list[Entry]]:
    text = (HERE / "specification.txt").read_text(encoding="utf-8")
    tree, _, rest = text.partition("\n\n")
    entries: list[Entry] = []
    sentence, params = "", {}
    for line in rest.splitlines():
        if line.startswith("## "):
            sentence = line[3:]
        elif line.startswith("let $"):
            name, value = line[5:].split(" = ", 1)
            params[name] = json.loads(value)
        elif line[:2] in ("=>", "!!", "=="):
            entries[-1].marks.append((line[:2], line[3:]))
        elif line.startswith("??"):
            entries[-1].tree = line[3:].replace("; ", "\n")
        elif line:
            entries.append(Entry(sentence, line, params))
            params = {}
    return tree.partition("\n")[2], entries


TREE, ENTRIES = read()


def engine_of(outline: str) -> MemoryEngine:
    clock = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
    table = TreeTable.from_nodes(*read_outline(outline))
    return MemoryEngine(Dataset(table, WordShare(), clock=lambda: clock))


@pytest.fixture(scope="module")
def engine() -> MemoryEngine:
    return engine_of(TREE)


def shown(engine: MemoryEngine, found: Evaluation, scores: bool) -> str:
    ids = engine.dataset.table.ids
    value = found.value
    if isinstance(value, list) and value and isinstance(value[0], Group):
        groups = [g for g in value if isinstance(g, Group)]
        return "; ".join(f"{g.key:g}: " + ", ".join(ids[r] for r in g.positions) for g in groups)
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, float):
        return f"{value:g}"
    if value is not None:
        return json.dumps(value, ensure_ascii=False)
    rows = found.positions.tolist()
    if not scores:
        return ", ".join(ids[row] for row in rows)
    pairs = zip(rows, found.scores.tolist(), strict=True)
    return ", ".join(f"{ids[row]} {score:.4g}" for row, score in pairs)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: f"{e.sentence}: {e.query}")
def test_sentence(engine: MemoryEngine, entry: Entry) -> None:
    assert entry.marks
    if entry.tree:
        engine = engine_of(entry.tree)
    for mark, wanted in entry.marks:
        if mark == "!!":
            name, _, message = wanted.partition(": ")
            with pytest.raises(getattr(errors, name)) as caught:
                engine.run(entry.query, params=entry.params)
            assert message in str(caught.value)
            assert "^" in str(caught.value)
            continue
        found = engine.run(entry.query, params=entry.params)
        if mark == "==":
            assert found.plan.canonical == wanted
        else:
            scores = wanted != "" and wanted.rpartition(" ")[2].replace(".", "", 1).isdecimal()
            assert shown(engine, found, scores and found.value is None) == wanted


# -- sentences that take more than a query ----------------------------------------------------


def test_parsing_never_raises_anything_else_and_never_recurses_without_bound() -> None:
    assert parse("(" * 199 + "1" + ")" * 199) is not None
    for text in ("(" * 100_000, "//a[" * 201 + "]" * 201, "\x00", "", "//", "a" * 1_000_000):
        with pytest.raises(SemXPathSyntaxError):
            parse(text)


def test_scores_of_a_scorer_that_fails_half_way_are_no_result(engine: MemoryEngine) -> None:
    class Tiring(Scorer):
        calls = 0

        @property
        def name(self) -> str:
            return "tiring"

        def grade(self, phrase: str, targets: Targets) -> Floats:
            self.calls += 1
            if self.calls > 1:
                raise TimeoutError("no answer")
            return WordShare().grade(phrase, targets)

    tired = MemoryEngine(Dataset(engine.dataset.table, Tiring()))
    with pytest.raises(errors.ScorerError, match="tiring failed on 'rent'") as caught:
        tired.run('//Paragraph[. =~ "leave" or . =~ "rent"]')
    assert "no result is returned" in str(caught.value)


def test_an_index_without_embeddings_or_graph_says_what_it_lacks(engine: MemoryEngine) -> None:
    bare = MemoryEngine(Dataset(engine.dataset.table, has_graph=False))
    with pytest.raises(errors.QueryCapabilityError, match="grading by meaning needs embeddings"):
        bare.run('//Paragraph[. =~ "leave"]')
    with pytest.raises(errors.QueryCapabilityError, match="a path over a relation needs a graph"):
        bare.run("//Employee/rel::WORKS_IN")
    assert len(bare.run('//Paragraph[bm25(., "leave") > 0]')) == 3


def test_explain_shows_each_step_with_engine_counts_and_milliseconds(engine: MemoryEngine) -> None:
    query = '//Section[@n = 1]/Paragraph[. =~ "leave"][1]'
    planned = engine.explain(query)
    assert all(step.actual is None and step.ms is None for _, step in planned.walk())
    plan = engine.run(query).plan
    for _, step in plan.walk():
        assert step.engine == "memory"
        assert step.method
        assert step.estimate is not None
        assert step.actual is not None
        assert step.ms is not None
    assert plan.scorer == "word share"
    assert "estimated" in str(plan)
    assert "<table" in plan._repr_html_()


def test_a_trace_lists_for_every_step_the_nodes_kept_and_dropped(engine: MemoryEngine) -> None:
    query = '//Section[@n = 2]/Paragraph[avg(. =~ "paid leave", . =~ "ten") and not(. =~ "early")]'
    trace = engine.run(query, trace=True).trace
    assert trace is not None
    assert [step.operation for step in trace.steps] == ["step", "filter", "step", "filter"]
    last = trace.steps[-1]
    assert [node.id for node in last.kept] == ["days"]
    assert [node.id for node in last.dropped] == ["ask"]
    assert last.kept[0].parts == {
        '. =~ "paid leave"': 1.0,
        '. =~ "ten"': 1.0,
        '. =~ "early"': 0.0,
    }
    for text in (str(trace), trace._repr_html_()):
        for part in ("kept 1, dropped 1", "threshold 0.50", '=~ "early"'):
            assert part in text.replace("&quot;", '"')


@pytest.mark.parametrize("query", ["//Row/@years", "text-of(//Row)", "group(//Row, @years)"])
def test_the_first_n_are_the_first_n_values(engine: MemoryEngine, query: str) -> None:
    value = engine.run(query, top_k=2).value
    assert isinstance(value, list)
    assert len(value) == 2
    assert engine.run("count(//Row)", top_k=1).value == 3


def test_position_zero_selects_nothing_and_the_plan_says_why(engine: MemoryEngine) -> None:
    result = engine.run("//Row[0]")
    assert len(result) == 0
    assert result.plan.notes == ["[0] selects nothing: positions start at 1"]
    assert "positions start at 1" in str(result.plan)
    assert engine.run("//Row[1]").plan.notes == []


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ('/Employee[@name = "han"]', 'no @name is "han"; one is Han'),
        ('/Employee[@name = " Han "]', 'no @name is " Han "; one is Han'),
        ('/Employee[@name = "Han" or @name = "hans"]', None),
    ],
)
def test_a_value_missed_by_its_case_alone_is_noted(
    engine: MemoryEngine, query: str, note: str | None
) -> None:
    assert engine.run(query).plan.notes == ([] if note is None else [note])
    table = engine.dataset.table
    without = np.array([id_ != "han" for id_ in table.ids])
    # Not to a reader who may not see it.
    assert engine.run(query, visible=without).plan.notes == []


def test_names_that_exist_are_told_where_none_is_near(engine: MemoryEngine) -> None:
    with pytest.raises(errors.UnknownNameError, match="the kinds are Day, Department, Document"):
        engine.run("//Zebra")
    with pytest.raises(errors.UnknownNameError, match="Row has @allowance, @since, @years"):
        engine.run("//Row[@zebra]")
