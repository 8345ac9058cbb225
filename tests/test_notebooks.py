"""Every notebook runs from top to bottom, and is stored with the outputs that a reader sees."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def kinds(cell: nbformat.NotebookNode) -> list[str]:
    """Kinds of a cell's outputs; a stream may arrive in one piece or in several."""
    return [kind for kind, _ in groupby(out.output_type for out in cell.get("outputs", []))]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()
    stored = nbformat.read(path, as_version=4)
    for fresh, kept in zip(notebook.cells, stored.cells, strict=True):
        assert kinds(fresh) == kinds(kept), (
            f"outputs differ in kind, run the notebook again:\n{fresh.source}"
        )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_stored_with_clean_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    assert all(cell.execution_count for cell in code)
    assert any(cell.outputs for cell in code)
    assert not [out for cell in code for out in cell.outputs if out.output_type == "error"]
    # A machine's own paths mean nothing to a reader.
    text = path.read_text(encoding="utf-8")
    assert not [word for word in ("/root/", "/tmp/tmp", "site-packages") if word in text]
