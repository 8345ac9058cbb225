"""README and docs: links lead somewhere, and every example prints what the page says.

A ```console block holds ``$ semxpath …`` commands and their output; a ```python block with ``>>>``
is a doctest. Both run in a folder where ``semxpath demo`` has run. In expected output, ``…`` stands
for anything, and numbers with a decimal point (scores, seconds) may differ.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from llama_index_semxpath.index.reader import Reader

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def commands(page: Path) -> Iterator[tuple[str, str]]:
    """(command, expected output) of each console block."""
    for language, body in FENCE.findall(page.read_text(encoding="utf-8")):
        if language != "console":
            continue
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            while command.endswith("\\"):
                more, _, expected = expected.partition("\n")
                command = command[:-1] + more
            yield command, expected


def loose(text: str) -> str:
    """Text without what may differ from run to run: decimals, and space at line ends."""
    return "\n".join(re.sub(r"\d+\.\d+", "#.#", line).rstrip() for line in text.strip().split("\n"))


def agrees(expected: str, actual: str) -> bool:
    """Whether output is what the page shows."""
    pattern = ".*".join(re.escape(part) for part in loose(expected).split("…"))
    return re.fullmatch(pattern, loose(actual), re.DOTALL) is not None


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the demo has run."""
    folder = tmp_path_factory.mktemp("demo")
    done = shell("semxpath demo", folder)
    assert done.returncode == 0, done.stderr
    return folder


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs one command line with this environment's programs first on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "100", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        check=False,
        timeout=300,
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_that_exist(page: Path) -> None:
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text(encoding="utf-8")))
    links = [link for link in LINK.findall(prose) if "://" not in link]
    for link in links:
        target, _, anchor = link.partition("#")
        file = (page.parent / target) if target else page
        assert file.exists(), f"{page.name}: {link}"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}
            assert anchor in slugs, f"{page.name}: {link}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_print_what_the_page_says(page: Path, demo_folder: Path) -> None:
    for command, expected in commands(page):
        assert command.startswith("semxpath "), f"not a command of ours: {command}"
        done = shell(command + " 2>&1", demo_folder)
        assert agrees(expected, done.stdout), (
            f"$ {command}\n-- page\n{expected}\n-- now\n{done.stdout}"
        )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_prints_what_the_page_says(
    page: Path, demo_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "\n\n".join(
        body
        for language, body in FENCE.findall(page.read_text(encoding="utf-8"))
        if language == "python" and ">>>" in body
    )
    monkeypatch.chdir(demo_folder)
    checker = doctest.OutputChecker()
    # A page is read from top to bottom: its blocks share their names.
    globs: dict[str, object] = {}
    test = doctest.DocTestParser().get_doctest(source, globs, page.name, str(page), 0)
    report: list[str] = []

    class Loose(doctest.OutputChecker):
        def check_output(self, want: str, got: str, optionflags: int) -> bool:
            return checker.check_output(want, got, optionflags) or agrees(want, got)

    runner = doctest.DocTestRunner(checker=Loose(), optionflags=doctest.ELLIPSIS)
    runner.run(test, out=report.append)
    assert not runner.failures, "".join(report)


def test_queries_of_the_readme_find_something(demo_folder: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    queries = re.findall(r"^\| `([^`]*(?:/|top)[^`]*)` \|", readme, re.MULTILINE)
    assert len(queries) >= 6
    with Reader.open(demo_folder / ".semxpath-demo") as reader:
        for query in queries:
            assert len(reader.query(query)) > 0, query


def test_readme_names_the_test_command_that_ci_runs() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    spread = "-n 2 --dist loadfile"
    assert f".venv/bin/pip install -e '.[test]' && .venv/bin/pytest {spread}" in readme
    assert "pip\" install -q -e '.[test,lint,docs]'" in script
    assert f'"$venv/pytest" {spread} ' in script
