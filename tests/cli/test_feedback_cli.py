"""``semxpath ask --log`` and ``semxpath feedback``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llama_index_semxpath.cli.main import main
from llama_index_semxpath.index import SemXPathIndex, StoreConfig
from llama_index_semxpath.node_parser import parse_bytes

TEXT = b"# Canteen\n\n## Tea\n\nTea is served from four o'clock.\n\n## Coffee\n\nCoffee ends at noon.\n"


@pytest.fixture
def store(tmp_path: Path) -> str:
    place = tmp_path / "store"
    with SemXPathIndex(StoreConfig(place, milvus_uri="", graph="none")) as index:
        index.insert_tree(parse_bytes(TEXT, "canteen.md", doc_id="canteen.md"))
    return str(place)


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, object]:
    status = main([*argv, "--json", "-q"])
    return status, json.loads(capsys.readouterr().out)


def test_from_a_logged_answer_to_a_regression_run(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ("--store", store)
    assert run(capsys, *at, "feedback")[1] == []
    status, answer = run(capsys, *at, "ask", "--log", "When is tea served?")
    assert status == 0
    (entry,) = run(capsys, *at, "feedback", "list", "--all")[1]
    assert entry["question"] == "When is tea served?"
    assert "four o'clock" in entry["answer"]
    run(capsys, *at, "feedback", "rate", entry["id"], "dislike", "--comment", "too long")
    (bad,) = run(capsys, *at, "feedback", "list")[1]
    assert bad["reasons"] == ["disliked"]
    gold = answer["citations"][0]["id"]
    _, labelled = run(
        capsys, *at, "feedback", "label", entry["id"], "corrected", "--expected", gold
    )
    assert labelled["verdict"] == "corrected"
    target = str(tmp_path / "set.jsonl")
    assert run(capsys, *at, "feedback", "export", target)[1]["rows"] == 1
    row = json.loads(Path(target).read_text("utf-8"))
    assert (row["query"], row["gold"][0]["document"]) == ("When is tea served?", "canteen.md")
    status, report = run(capsys, *at, "feedback", "run")
    assert (status, report["mended"]) == (0, ["When is tea served?"])
    run(capsys, *at, "feedback", "label", entry["id"], "corrected", "--expected", "no-such-node")
    status, report = run(capsys, *at, "feedback", "run")
    assert (status, report["wrong"][0]["missing"]) == (1, ["no-such-node"])
    assert run(capsys, *at, "feedback", "remove", entry["id"])[1] == {"removed": 1}


def test_nothing_is_logged_unasked(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "--store", store, "ask", "When is tea served?")
    assert not (Path(store) / "feedback.db").exists()


def test_text_for_people(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--store", store, "ask", "--log", "-q", "When is tea served?"])
    assert main(["--store", store, "feedback", "list", "--all"]) == 0
    out = capsys.readouterr().out
    assert "When is tea served?" in out
    (id_,) = [line.split()[0] for line in out.splitlines() if line.endswith("When is tea served?")]
    assert main(["--store", store, "feedback", "show", id_]) == 0
    assert "question: When is tea served?" in capsys.readouterr().out
    assert main(["--store", store, "feedback", "rate", id_, "like"]) == 0
    assert capsys.readouterr().out == f"{id_}: liked\n"


@pytest.mark.parametrize(
    "argv",
    [
        ("feedback", "show", "nope"),
        ("feedback", "label", "nope", "good"),
        ("feedback", "rate", "nope", "meh"),
        ("feedback", "dance"),
    ],
)
def test_bad_input(store: str, argv: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--store", store, *argv]) == 2
    assert capsys.readouterr().err.startswith("semxpath: ")


def test_no_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--store", str(tmp_path / "none"), "feedback"]) == 2
    assert not (tmp_path / "none").exists()
