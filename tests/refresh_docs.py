"""Rewrites outputs in README and docs that are no longer what the commands print.

    python tests/refresh_docs.py [PAGE…]

Run it after a change that alters results or displays, and read the difference before you commit:
what the page said was somebody's expectation. Where a page shortens an output with ``…``, shorten
the new one again. Errors of doctests are left for a person.
"""

from __future__ import annotations

import doctest
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from test_docs import FENCE, PAGES, agrees, commands, shell


def refresh_commands(page: Path, folder: Path) -> str:
    """The page with the outputs of its console blocks made new."""
    text = page.read_text(encoding="utf-8")
    for command, expected in commands(page):
        actual = shell(command + " 2>&1", folder).stdout
        if not agrees(expected, actual):
            print(f"{page.name}: $ {command}")
            lines = [line.rstrip() for line in actual.strip().split("\n")]
            tail = expected[len(expected.rstrip("\n")) :]
            text = text.replace(expected, "\n".join(lines) + tail, 1)
    return text


def refresh_examples(page: Path, text: str) -> str:
    """The page with the outputs of its Python examples made new."""
    fences = [m for m in FENCE.finditer(text) if m[1] == "python" and ">>>" in m[2]]
    source = "\n\n".join(m[2] for m in fences)
    test = doctest.DocTestParser().get_doctest(source, {}, page.name, str(page), 0)
    changed: list[tuple[str, str, str]] = []

    class Collect(doctest.DocTestRunner):
        def report_failure(
            self, out: object, test: doctest.DocTest, example: doctest.Example, got: str
        ) -> None:
            if example.want and not agrees(example.want, got):
                changed.append((example.source, example.want, got))

    Collect(verbose=False, optionflags=doctest.ELLIPSIS).run(test, out=lambda _: 0)
    for code, want, got in changed:
        print(f"{page.name}: >>> {code.strip()}")
        shown = re.sub(r"^\n+|\s+$", "", got)
        text = text.replace(want.rstrip("\n"), shown.replace("\n\n", "\n<BLANKLINE>\n"), 1)
    return text


def main(names: Sequence[str]) -> None:
    """Refreshes the pages named, or all of them."""
    chosen = [page for page in PAGES if not names or page.name in {Path(n).name for n in names}]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        done = shell("semxpath demo", folder)
        if done.returncode:
            sys.exit(done.stderr)
        os.chdir(folder)
        for page in chosen:
            text = refresh_examples(page, refresh_commands(page, folder))
            page.write_text(text, encoding="utf-8")
        os.chdir("/")


if __name__ == "__main__":
    main(sys.argv[1:])
