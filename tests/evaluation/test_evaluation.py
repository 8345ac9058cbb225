from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llama_index_semxpath.cli import main
from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.evaluation import (
    Context,
    Dataset,
    Gold,
    Question,
    evaluate,
    measure,
    paired,
    to_html,
    to_text,
)
from llama_index_semxpath.evaluation.judges import llama_judge
from llama_index_semxpath.evaluation.measure import Text
from llama_index_semxpath.evaluation.pipelines import of_retriever, of_store
from llama_index_semxpath.index import SemXPathIndex, StoreConfig, index_paths

MANUAL = (
    "# Pump\n\n## Oil\n\nFill in two litres of oil.\n\n## Noise\n\nA loud pump has air in it.\n"
)
ZH = "# 手册\n\n## 年假\n\n高级员工每年十五天。\n"
TEXTS = {"pump": Text(MANUAL), "zh": Text(ZH)}


def question(*gold: tuple[str, str], id_: str = "q") -> Question:
    places = tuple((Gold(doc, text),) for doc, text in gold)
    return Question(id_, "?", places, tuple(doc for doc, _ in gold))


def test_a_passage_counts_within_the_budget_only() -> None:
    asked = question(("pump", "A loud pump has air in it."))
    contexts = [
        Context("pump", "Fill in two litres of oil."),
        Context("pump", "A loud pump has air in it."),
    ]
    values = measure(asked, contexts, TEXTS, budgets=(6, 13), ranks=(1,))
    assert values["recall@6"] == 0.0
    assert values["recall@13"] == 1.0
    assert values["precision@13"] == pytest.approx(7 / 13)
    assert values["doc_recall@1"] == values["ndcg@1"] == 1.0


def test_words_that_are_not_in_the_document_cost_and_earn_nothing() -> None:
    asked = question(("pump", "A loud pump has air in it."))
    made_up = measure(
        asked, [Context("pump", "A loud pump has water in it.")], TEXTS, budgets=(50,)
    )
    assert made_up["recall@50"] == 0.0
    other = measure(asked, [Context("zh", "A loud pump has air in it.")], TEXTS, budgets=(50,))
    assert other["recall@50"] == other["precision@50"] == 0.0
    prefixed = measure(
        asked, [Context("pump", "Manual of 2026\nA loud pump has air in it.")], TEXTS, budgets=(10,)
    )
    assert prefixed["recall@10"] == 1.0
    assert prefixed["precision@10"] == pytest.approx(0.7)


def test_any_of_several_places_will_do() -> None:
    asked = Question("q", "?", ((Gold("pump", "two litres"), Gold("zh", "十五天")),), ("zh",))
    assert measure(asked, [Context("zh", "十五天")], TEXTS, budgets=(9,))["recall@9"] == 1.0


def test_two_documents_and_their_order() -> None:
    asked = question(("pump", "two litres"), ("zh", "十五天"))
    values = measure(asked, [Context("x", "?"), Context("zh", "十五天")], TEXTS, ranks=(2,))
    assert values["doc_recall@2"] == 0.5
    assert values["ndcg@2"] == pytest.approx((1 / 1.5849625) / (1 + 1 / 1.5849625))
    assert values["section_hit"] == 0.0


def test_a_section_is_hit_by_its_title() -> None:
    asked = Question("q", "?", ((Gold("pump", "two litres", "Oil"),),), ("pump",))
    assert measure(asked, [Context("pump", "litres", "Oil")], TEXTS)["section_hit"] == 1.0
    assert measure(asked, [Context("pump", "litres", "Noise")], TEXTS)["section_hit"] == 0.0


@given(st.lists(st.tuples(st.sampled_from(["pump", "zh", "x"]), st.text(max_size=40)), max_size=5))
def test_figures_stay_between_0_and_1(contexts: list[tuple[str, str]]) -> None:
    asked = question(("pump", "A loud pump has air in it."), ("zh", "十五天"))
    values = measure(asked, [Context(*one) for one in contexts], TEXTS, budgets=(1, 20))
    assert all(0.0 <= value <= 1.0 for name, value in values.items() if name != "tokens")


def test_the_interval_holds_the_difference_and_is_the_same_each_time() -> None:
    first, second = [1.0, 1.0, 0.0, 1.0, 0.5] * 8, [0.0, 1.0, 0.0, 0.5, 0.5] * 8
    one = paired(first, second)
    assert one.difference == pytest.approx(0.3)
    assert one.low < 0.3 < one.high
    assert one.certain
    assert (one.better, one.worse) == (16, 0)
    assert paired(first, second) == one
    assert not paired(first, first).certain
    with pytest.raises(ValueError, match="same questions"):
        paired([1.0], [])


def test_pipelines_are_compared_and_a_failing_one_is_told() -> None:
    asked = question(("pump", "two litres of oil"), id_="<b>1</b>")
    dataset = Dataset("<pumps>", (asked,), {"pump": MANUAL})

    def fails(text: str) -> Any:
        raise RuntimeError("down <now>")

    report = evaluate(
        dataset, {"bad & worse": fails, "good": lambda _: [Context("pump", "two litres of oil")]}
    )
    assert report.mean("good", "recall@1000") == 1.0
    assert report.mean("bad & worse", "recall@1000") == 0.0
    assert report.failures == ["bad & worse: <b>1</b>: down <now>"]
    text, page = to_text(report), to_html(report)
    assert "good" in text
    assert "+1.000" in text
    assert "<svg" in page
    assert "bad &amp; worse" in page
    assert "<now>" not in page
    assert "http" not in page
    assert (
        json.loads(json.dumps(report.to_dict()))["compared"]["bad & worse"]["recall@1000"][0] == 1.0
    )


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", "no questions"),
        ("not json", "no JSON object"),
        ('{"id": 1, "query": "?"}', "needs the texts"),
        ('{"id": "1", "query": "?", "gold": [{"document": "a"}]}', "gold passages"),
        ('{"id": "1", "query": "?"}\n{"id": "1", "query": "!"}', "one id"),
    ],
)
def test_bad_datasets_are_one_clear_error(tmp_path: Path, lines: str, message: str) -> None:
    (tmp_path / "set.jsonl").write_text(lines, "utf-8")
    with pytest.raises(SemXPathError, match=message):
        Dataset.load(tmp_path / "set.jsonl")
    with pytest.raises(SemXPathError, match="cannot be read"):
        Dataset.load(tmp_path / "missing.jsonl")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench")
    (folder / "docs").mkdir()
    (folder / "docs" / "pump.md").write_text(MANUAL, "utf-8")
    (folder / "docs" / "zh.md").write_text(ZH, "utf-8")
    start = MANUAL.index("A loud")
    lines = [
        {"id": "1", "query": "why is the pump loud", "doc_ids": ["pump"], "lang": "en", "split": "dev",
         "gold_spans": [{"text": "A loud pump has air in it.", "occ": [["pump", start, start + 26]]}]},
        {"id": "2", "query": "高级员工年假几天", "lang": "zh", "split": "other",
         "gold": [{"document": "zh", "text": "高级员工每年十五天", "section": "年假"}]},
    ]  # fmt: skip
    (folder / "queries.jsonl").write_text("\n".join(json.dumps(line) for line in lines), "utf-8")
    with SemXPathIndex(StoreConfig(folder / "store", milvus_uri="", graph="none")) as index:
        index_paths(index, [folder / "docs"])
    return folder


def test_splits_and_tags_are_read(bench: Path) -> None:
    dataset = Dataset.load(bench, split="dev")
    assert [one.id for one in dataset.questions] == ["1"]
    assert dataset.questions[0].tags["lang"] == "en"
    assert Dataset.load(bench).questions[1].documents == ("zh",)


def test_stores_and_retrievers_are_measured_alike(bench: Path) -> None:
    dataset = Dataset.load(bench)
    with SemXPathIndex.load(StoreConfig(bench / "store", milvus_uri="", graph="none")) as index:

        def naming(document: str) -> str:
            return document.removeprefix("docs/").removesuffix(".md")

        report = evaluate(
            dataset,
            {
                "retriever": of_retriever(index.as_retriever(), naming),
                "store": of_store(index, texts=dataset.texts, naming=naming),
            },
        )
    for name in report.rows:
        assert report.mean(name, "recall@1000") == 1.0
        assert report.mean(name, "recall@1000", {"lang": "zh"}) == 1.0
        assert report.quantile(name, "seconds", 0.95) > 0
    with pytest.raises(SemXPathError, match="unknown mode"):
        of_store(index, "magic")


def test_the_command_measures_and_writes_a_page(bench: Path, capsys: Any) -> None:
    page = bench / "report.html"
    config = bench / "store.toml"
    config.write_text(f'store = "{bench / "store"}"\nmilvus_uri = ""\ngraph = "none"\n', "utf-8")
    arguments = ["--config", str(config), "-q", "--json", "eval", str(bench), "--html", str(page)]
    assert main([*arguments, "--mode", "semantic", "auto"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["questions"] == 2
    assert found["pipelines"]["auto"]["recall@1000"] == 1.0
    assert page.read_text("utf-8").startswith("<!doctype html>")
    other = bench / "other.jsonl"
    other.write_text('{"id": "1", "query": "?", "doc_ids": ["elsewhere"]}', "utf-8")
    assert main(["--config", str(config), "-q", "eval", str(other)]) == 2
    assert "none of the dataset's documents" in capsys.readouterr().err


def test_a_model_judges_and_one_that_fails_is_left_out() -> None:
    from llama_index.core.llms.mock import MockLLM

    dataset = Dataset("one", (question(("pump", "two litres")),), {"pump": MANUAL})
    pipeline = {"one": lambda _: [Context("pump", "two litres")]}
    judge = llama_judge(MockLLM(), lambda asked, contexts: "two litres")
    report = evaluate(dataset, pipeline, judge=judge)
    assert {"faithfulness", "relevancy"} <= set(report.metrics)

    def fails(asked: str, contexts: Any) -> str:
        raise RuntimeError("down")

    report = evaluate(dataset, pipeline, judge=llama_judge(MockLLM(), fails))
    assert "faithfulness" not in report.metrics
    assert report.mean("one", "recall@1000") == 1.0
