"""What a fresh installation must do; run on the installed wheel, away from the checkout.

python smoke.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    """Imports, the command line, and the way from documents to an answer."""
    started = time.process_time()
    import llama_index_semxpath

    light = time.process_time() - started
    assert "llama_index" not in sys.modules, "the package alone must not load LlamaIndex"
    from llama_index.core import Document

    started = time.process_time()
    from llama_index_semxpath import SemXPathIndex

    full = time.process_time() - started
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        text = "# Leave\n\n| Level | Days |\n| --- | --- |\n| Senior | 15 |\n\nStaff rest well."
        with SemXPathIndex.from_documents(
            [Document(text=text, doc_id="a.md")], store=store
        ) as index:
            rows = index.query('//Row[@Level = "Senior"]/@Days')
            assert rows.value == [15], rows
            answer = index.as_query_engine().query("How many days does a senior get?")
            assert "15" in str(answer), answer
            assert index.check().ok
        semxpath = str(Path(sys.executable).with_name("semxpath"))
        done = subprocess.run(
            [semxpath, "--store", str(store), "query", "--json", "count(//Row)"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert json.loads(done.stdout)["value"] == 1
        page = Path(folder) / "page.html"
        subprocess.run(
            [semxpath, "-q", "--store", str(store), "show", "--html", str(page)],
            check=True, capture_output=True,
        )  # fmt: skip
        assert "Senior" in page.read_text("utf-8")
    version = ".".join(map(str, sys.version_info[:3]))
    print(
        f"smoke test passed on Python {version}: llama_index_semxpath "
        f"{llama_index_semxpath.__version__}, import {light:.2f} s, SemXPathIndex {full:.2f} s (CPU)"
    )


if __name__ == "__main__":
    main()
