"""The explorer in a real browser: what it finds, what it shows, and that documents stay data."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from llama_index.core import Document

from llama_index_semxpath.display.explorer import explorer_page
from llama_index_semxpath.errors import QueryError, SemXPathError, UnknownDocumentError
from llama_index_semxpath.index import Reader, SemXPathIndex, StoreConfig
from llama_index_semxpath.index.rows import EntitySource
from llama_index_semxpath.tree.edges import Edge

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")

ATTACK = (
    "</script><script>document.title='owned'</script><img src=x onerror=document.title='owned'>"
)
MANUAL = f"""# Pump {{manual}}

Intro with {ATTACK} in it.

## 1 Install

Bolt the pump to a base.

- Wrench
- Oil can

## 2 Care

### 2.1 Oil

Use two litres of oil.

| Part | Price |
| --- | --- |
| Valve {ATTACK} | 12 |
| Hose | 30 |

### 2.2 Noise

Air in the pipe makes noise.
"""
HANDBOOK = "# 员工手册\n\n## 第三章 假期\n\n员工有年假。\n\n| 级别 | 天数 |\n| --- | --- |\n| 高级 | 15 |\n"
QUERIES = [
    "//Section", "/Document/Section", "//Section/Section", "//Row", "//*", "//List//ListItem[2]",
    "//Section[2]", "//Section[-1]", "//Section[1:2]", "(//Section)[2]", "(//Row)[1:2]",
    "//Row[@Price > 12]", "//Row[@Price >= 12 and @Price < 30]", '//Row[Part = "Hose"]',
    '//Row[@级别 = "高级"]', "//Section[Table]", "//Section[not(Table)]", "//Row/..",
    '//Section[contains(., "oil")]', '//Paragraph[contains(., "pump")]/ancestor::Section',
    '//Section[@title = "2 Care"]/Section', "//Section[@level = 3]", "//ListItem/parent::List",
    '//Section[starts-with(@title, "2")]', "//ListItem[1]/following-sibling::ListItem",
    "//ListItem[last()]/preceding-sibling::*", "//Section[count(Section) = 2]", "//Table | //List",
    "//Section[.//Row]", "//Paragraph[position() = 1]", '//Person[name="李雷"]/所属部门',
    "//Person/rel::所属部门", "//Department/inv::所属部门", "//Section[Section or Table]",
    "//Row[@Price]", "//Row[not(@Price)]", '//Section[ends-with(@title, "Oil")]//Row[2]',
]  # fmt: skip
GRADED = '//Section[title =~ "oil"]'
VALUES = ["count(//Row)", "count(//Section[Table])", "sum(//Row/@Price)", '"a" = "a"']


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    config = StoreConfig(tmp_path_factory.mktemp("page") / "store", milvus_uri="", graph="none")
    documents = [
        Document(text=MANUAL, doc_id="manual.md", metadata={"acl": ["staff"], "note": ATTACK}),
        Document(text=HANDBOOK, doc_id="handbook.md", metadata={"acl": ["staff"]}),
        Document(
            text="# Board\n\nSalaries are secret.", doc_id="board.md", metadata={"acl": ["b"]}
        ),
    ]
    with SemXPathIndex.from_documents(documents, store=config) as index:
        people = [
            EntitySource("person-1", "handbook.md", "Person", "李雷", {"name": "李雷"}),
            EntitySource("unit-1", "handbook.md", "Department", "工程部", {"name": "工程部"}),
        ]
        index.add_entities(people, "handbook.md")
        index.add_relations([Edge("person-1", "所属部门", "unit-1")], "handbook.md")
        yield index.reader


@pytest.fixture(scope="module")
def page(reader: Reader) -> str:
    return explorer_page(
        reader, principal=["staff"], queries=['//Section[title =~ "oil"]', "//Row"]
    )


def dom(text: str, folder: Path, at: str = "", script: str = "") -> str:
    """The page as the browser has it after its scripts, and one of ours, have run."""
    if script:
        text = re.sub(r"<meta http-equiv=.Content-Security-Policy.*?>", "", text)
        text = text.replace("</body>", f"<script>{script}</script></body>")
    file = folder / "page.html"
    file.write_text(text, "utf-8")
    done = subprocess.run(
        [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=4000",
         f"--user-data-dir={folder / 'profile'}", "--dump-dom", f"file://{file}#{at}"],
        capture_output=True, text=True, timeout=120, check=True, encoding="utf-8",
    )  # fmt: skip
    return done.stdout


def told(shown: str) -> dict[str, Any]:
    """What our script wrote into the page."""
    match = re.search(r'<pre id="out">(.*?)</pre>', shown, re.DOTALL)
    assert match is not None
    found: dict[str, Any] = json.loads(html.unescape(match[1]))
    return found


@browser
def test_the_page_finds_what_the_store_finds(page: str, reader: Reader, tmp_path: Path) -> None:
    script = (
        "const out = {};"
        f"for (const q of {json.dumps(QUERIES)}) {{"
        " try { out[q] = evaluator.run(q).value.map((at) => data.nodes[at].id); }"
        " catch (problem) { out[q] = String(problem); } }"
        f"for (const q of {json.dumps(VALUES)}) out[q] = evaluator.run(q).value;"
        "const box = document.createElement('pre'); box.id = 'out';"
        "box.textContent = JSON.stringify(out); document.body.append(box);"
    )
    found = told(dom(page, tmp_path, script=script))
    for query in QUERIES:
        assert found[query] == reader.query(query, principal=["staff"]).ids, query
    for query in VALUES:
        assert found[query] == reader.query(query, principal=["staff"]).value, query


@browser
def test_documents_stay_data(page: str, tmp_path: Path) -> None:
    for at in ("q=//Row", f"q={quote(ATTACK)}"):
        shown = dom(page, tmp_path, at)
        assert "<title>2 documents</title>" in shown
        assert not re.search(r"<img", shown)


@browser
def test_results_trace_node_and_relations_are_shown(
    page: str, reader: Reader, tmp_path: Path
) -> None:
    graded = dom(page, tmp_path, f"q={quote(GRADED)}&tab=trace")
    assert "threshold 0.50" in graded
    assert 'class="line hit"' in graded
    assert "Plan" in graded
    rows = dom(page, tmp_path, "q=//Row[@Price>12]")
    assert "1 result<" in rows
    assert "/Document[1]/Section[1]/Section[2]/Section[1]/Table[1]/Row[2]" in rows
    person = reader.query("/Person", principal=["staff"])[0].id
    graph = dom(page, tmp_path, f"node={person}&tab=graph")
    assert "所属部门 →" in graph
    assert "<svg" in graph
    words = dom(page, tmp_path, "q=litres oil")
    assert "with all these words" in words
    assert "two litres of oil" in words


MISTAKES = {
    "//Section[": "unexpected end of the query",
    "//section": "did you mean 'Section'",
    "//Section[. =~ 'x']": "graded by the store's model",
    "//Section[matches(., 'x')]": "does not know matches()",
    "///": "expected a name",
    "//Section[not(" + "(" * 300: "nested",
    "//Section[following::Row]": "does not walk the axis",
    "//Section[#]": "unexpected '#'",
}


@browser
def test_mistakes_are_told_with_their_place(page: str, tmp_path: Path) -> None:
    script = (
        "const out = {};"
        f"for (const q of {json.dumps(list(MISTAKES))}) {{ document.getElementById('query').value = q;"
        " run(); const said = document.getElementById('said');"
        " out[q] = said.className + ': ' + said.textContent; }"
        "const box = document.createElement('pre'); box.id = 'out';"
        "box.textContent = JSON.stringify(out); document.body.append(box);"
    )
    found = told(dom(page, tmp_path, script=script))
    for query, said in MISTAKES.items():
        assert said in found[query], query
        assert found[query].startswith("bad: ")
        assert found[query].endswith("^")


def test_nothing_hidden_is_in_the_page(reader: Reader, page: str) -> None:
    assert "Salaries" not in page
    assert "board.md" not in page
    with pytest.raises(UnknownDocumentError):
        explorer_page(reader, documents=["board.md"], principal=["staff"])
    with pytest.raises(SemXPathError, match="nothing to show"):
        explorer_page(reader, principal=["nobody"])


def test_the_page_is_self_contained_and_escaped(page: str) -> None:
    assert ATTACK not in page
    assert page.count("<script") == 2
    assert not re.findall(r'(?:src|href)="?https?:', page)
    assert "default-src 'none'" in page
    assert "prefers-color-scheme:dark" in page
    # Braces of documents are not taken for fields of the template.
    assert "Pump {manual}" in page


def test_documents_and_queries_are_chosen(reader: Reader) -> None:
    page = explorer_page(
        reader, documents=["handbook.md"], queries=["count(//Row)"], principal=["staff"]
    )
    assert "员工手册" in page
    assert "Bolt the pump" not in page
    with pytest.raises(QueryError):
        explorer_page(reader, queries=["//Section["], principal=["staff"])
