"""``semxpath memory`` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llama_index_semxpath.cli import main

PLAN = '<Plan name="Porto"><Day><Visit name="River walk" time="10:00"/></Day><Day/></Plan>'


def run(capsys: pytest.CaptureFixture[str], store: Path, *args: str) -> str:
    assert main(["--store", str(store), "memory", *args]) == 0
    return capsys.readouterr().out


def test_a_plan_from_load_to_undo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, store = tmp_path / "plan.xml", tmp_path / "store"
    file.write_text(PLAN, "utf-8")
    assert "4 added" in run(capsys, store, "load", str(file), "--id", "porto")
    assert run(capsys, store, "show").startswith("porto  /Plan[1] Porto")
    change = run(
        capsys, store, "--json", "update", "set //Visit/@time = $t", "--param", 't="11:00"',
        "--author", "ana", "--reason", "late",
    )  # fmt: skip
    assert json.loads(change)["revision"] == 2
    assert 'time="11:00"' in run(capsys, store, "show", "porto")
    assert 'time="10:00"' in run(capsys, store, "show", "porto", "--at", "1")
    assert run(capsys, store, "diff", "1") == "~ Visit River walk  @time: 10:00 → 11:00\n"
    assert "ana: set //Visit/@time = $t — late" in run(capsys, store, "history")
    assert len(json.loads(run(capsys, store, "--json", "history", "//Visit"))) == 2
    assert "undo of revision 2" in run(capsys, store, "undo")
    assert "River walk" in run(capsys, store, "recall", "river walk")


@pytest.mark.parametrize(
    "args",
    [
        ["show"],
        ["update", "delete //Day"],
        ["history"],
        ["load", "nothing.xml"],
        ["load"],
        ["diff", "-3"],
        ["undo", "x"],
    ],
)
def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str], args: list[str]) -> None:
    assert main(["--store", str(tmp_path / "none"), "memory", *args]) == 2
    assert capsys.readouterr().err.count("semxpath: ") == 1


def test_an_ambiguous_target_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plan.xml"
    file.write_text(PLAN, "utf-8")
    run(capsys, tmp_path / "s", "load", str(file))
    statement = 'insert Visit(@name = "x") into //Day'
    assert main(["--store", str(tmp_path / "s"), "memory", "update", statement]) == 2
    assert "2 nodes may be meant" in capsys.readouterr().err
