"""Nothing of a source is lost, and nothing is in the tree twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.node_parser import parse_bytes
from llama_index_semxpath.node_parser.decode import decode
from llama_index_semxpath.node_parser.loss import measure_loss

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "llama_index_semxpath" / "data" / "demo"
DEBIAN = Path("/usr/share/doc")
PAGES = sorted(
    [path for ending in ("md", "html") for path in DEMO.rglob(f"*.{ending}")]
    # Debian's python3-doc and debian-policy, where they are installed: a sample of the 500 pages.
    + sorted((DEBIAN / "python3.11-doc/html/library").glob("[a-f]*.html"))[::8]
    + [path for path in (DEBIAN / "debian-policy").glob("*.html") if path.is_file()]
)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_visible_character_is_in_one_node(path):
    kind = "markdown" if path.suffix == ".md" else "html"
    source = decode(path.read_bytes(), where=path.name, html=kind == "html")
    loss = measure_loss(source, parse_bytes(source, path.name), kind)
    assert loss.characters > 0
    assert (loss.missing, loss.added, loss.at) == (0, 0, None)


def test_a_loss_is_seen():
    page = "<h1>Oil</h1><p>Two litres.</p>"
    nodes = parse_bytes(page, "a.html")
    lost = measure_loss(page, nodes[:-1], "html")
    assert (lost.missing, lost.added) == (10, 0)
    assert lost.at == ("OilTwolitres.", "Oil")
    assert measure_loss(page, [*nodes, nodes[-1]], "html").added == 10


def test_other_formats_have_no_measure():
    with pytest.raises(SemXPathError, match="cannot measure"):
        measure_loss("a", [], "docx")
