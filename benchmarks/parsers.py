"""Parsers beside their peers: cases right, MB a second, memory, node objects.

    python benchmarks/parsers.py [--cases ../shared/cases/parser] [--html DIR] [--markdown DIR]
                                 [--formats DIR]

One core, CPU time, best of three for each source, the parsers in turn. Without ``--markdown`` the
demo corpus is repeated to 2 MB; without ``--html`` Debian's ``python3-doc`` is taken where it is
installed.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from llama_index_semxpath.data import demo_dir
from llama_index_semxpath.node_parser import ParseOptions, parse_bytes, to_llama
from llama_index_semxpath.node_parser.registry import EXTENSIONS
from llama_index_semxpath.node_parser.serialize import walk_places
from llama_index_semxpath.node_parser.tokens import token_counter

ROOT = Path(__file__).parents[1]
COPIED = ROOT / "tests" / "cases" / "parser"
PYTHON_DOC = Path("/usr/share/doc/python3.11-doc/html/library")
Sections = list[tuple[int, str, str | None]]


def plain(text: str) -> str:
    return " ".join(text.split())


def our_sections(text: str) -> Sections:
    nodes = parse_bytes(text, "input.md")
    titles = {node.id: node.text for node in nodes if node.kind == "Section"}
    return [
        (node.level or 0, plain(node.text), titles.get(node.parent or ""))
        for node in nodes
        if node.kind == "Section"
    ]


def our_text_path(text: str, needle: str) -> list[str] | None:
    for node, path, _ in walk_places(parse_bytes(text, "input.md")):
        if plain(needle) in plain(node.text):
            return list(path)
    return None


def peer_nodes(text: str):
    from llama_index.core import Document
    from llama_index.core.node_parser import MarkdownNodeParser

    return MarkdownNodeParser().get_nodes_from_documents([Document(text=text)])


def peer_sections(text: str) -> Sections:
    """Headings of LlamaIndex's parser: the first line of a node and its ``header_path``."""
    found: Sections = []
    for node in peer_nodes(text):
        match = re.match(r"(#+)\s+(.*)", node.get_content())
        if match:
            above = [part for part in node.metadata["header_path"].split("/") if part]
            found.append((len(match[1]), plain(match[2]), above[-1] if above else None))
    return found


def peer_text_path(text: str, needle: str) -> list[str] | None:
    for node in peer_nodes(text):
        content = node.get_content()
        if plain(needle) in plain(content):
            match = re.match(r"#+\s+(.*)", content)
            above = [part for part in node.metadata["header_path"].split("/") if part]
            return above + ([plain(match[1])] if match else [])
    return None


def is_right(case: dict, folder: Path, ours: bool) -> bool:
    """Headings, paths of texts, and what the case says about ids, limits, tables and relations."""
    inputs = case["operation"]["input"]
    texts = [
        (folder / name).read_text(encoding="utf-8")
        for name in (inputs if isinstance(inputs, list) else [inputs])
    ]
    expected, options = case["expected"], case["operation"].get("options", {})
    make = (lambda text: our_nodes(text, **options)) if ours else peer_nodes
    sections = our_sections if ours else peer_sections
    text_path = our_text_path if ours else peer_text_path
    nodes = [node for text in texts for node in make(text)]
    found = [heading for text in texts for heading in sections(text)]
    if "count_headings" in expected and len(found) != expected["count_headings"]:
        return False
    optional = [tuple(heading) for heading in expected.get("optional_headings", [])]
    wanted = [tuple(heading) for heading in expected.get("headings", found)]
    if [heading for heading in found if heading in wanted or heading not in optional] != wanted:
        return False
    if any(text_path(texts[0], needle) != path for needle, path in expected.get("text_under", [])):
        return False
    checks = [
        "repeat" not in case["operation"] or ids(nodes) == ids(make(texts[0])),
        "max_tokens" not in options or max(map(embedded_tokens, nodes)) <= options["max_tokens"],
        "table" not in expected or any(node.metadata.get("Note") == "either" for node in nodes),
        not isinstance(inputs, list) or any("PARENT" in related_names(node) for node in nodes),
    ]
    return all(checks)


def ids(nodes) -> list[str]:
    return [node.node_id for node in nodes]


def related_names(node) -> set[str]:
    return {relation.name for relation in node.relationships}


def embedded_tokens(node) -> int:
    from llama_index.core.schema import MetadataMode

    return token_counter(ParseOptions())(node.get_content(MetadataMode.EMBED))


def our_nodes(text: str, **options):
    from llama_index.core import Document

    from llama_index_semxpath.node_parser import SectionNodeParser

    document = Document(text=text, id_="input.md")
    return SectionNodeParser(format="markdown", **options).get_nodes_from_documents([document])


def print_cases(folder: Path) -> None:
    print("| Markdown case | ours | LlamaIndex MarkdownNodeParser |\n|---|---|---|")
    score = [0, 0]
    for path in sorted(folder.glob("*/case.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        if case["operation"].get("format") != "markdown":
            continue
        ours, peer = is_right(case, path.parent, True), is_right(case, path.parent, False)
        score[0] += ours
        score[1] += peer
        marks = ["right" if good else "wrong" for good in (ours, peer)]
        print(f"| {path.parent.name} | {' | '.join(marks)} |")
    print(f"| **right** | **{score[0]}** | **{score[1]}** |\n")


def cpu_seconds(work: Callable[[], object], times: int = 3) -> float:
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def rates(
    works: dict[str, Callable[[str], object]], sources: Sequence[str], times: int = 3
) -> dict[str, float]:
    """MB a CPU second of each, source by source in turn: so noise meets all of them alike."""
    size = sum(len(source.encode()) for source in sources) / 1e6
    spent = dict.fromkeys(works, 0.0)
    for work in works.values():
        work(sources[0])
    for source in sources:
        for name, work in works.items():
            spent[name] += cpu_seconds(lambda work=work, source=source: work(source), times)
    return {name: size / seconds for name, seconds in spent.items()}


def markdown_peers() -> dict[str, Callable[[str], object]]:
    """The named peers; those that are not installed are left out."""
    import pyromark

    found: dict[str, Callable[[str], object]] = {
        "LlamaIndex MarkdownNodeParser": peer_nodes,
        "pulldown-cmark, events alone": lambda s: list(pyromark.events(s)),
    }
    try:
        from markdown_it import MarkdownIt

        found["markdown-it-py, tokens"] = MarkdownIt("commonmark").enable("table").parse
    except ImportError:
        pass
    try:
        import mistune

        found["mistune, AST"] = mistune.create_markdown(renderer=None, plugins=["table"])
    except ImportError:
        pass
    return found


def print_speeds(markdown: Sequence[str], pages: Sequence[str]) -> None:
    from lxml import etree

    words = ParseOptions(tokenizer=str.split)
    parser = etree.HTMLParser(encoding="utf-8")
    tables: list[tuple[Sequence[str], dict[str, Callable[[str], object]]]] = [
        (
            markdown,
            {
                "Markdown to tree, tokens counted": lambda s: parse_bytes(s, "a.md"),
                "Markdown to tree, words counted": lambda s: parse_bytes(s, "a.md", options=words),
                **markdown_peers(),
            },
        )
    ]
    if pages:
        tables.append(
            (
                pages,
                {
                    "HTML to tree, tokens counted": lambda s: parse_bytes(s, "a.html"),
                    "lxml tree alone": lambda s: etree.fromstring(s.encode(), parser),
                },
            )
        )
    print("| on one core | MB a CPU second | against the first |\n|---|---:|---:|")
    for sources, works in tables:
        found = rates(works, sources)
        first = next(iter(found.values()))
        for name, rate in found.items():
            print(f"| {name} | {rate:.1f} | {rate / first:.2f} |")
    print()


def print_formats(folder: Path) -> None:
    """Every file of a folder by its format: what one core reads in a second."""
    spent: dict[str, list[float]] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in EXTENSIONS:
            data = path.read_bytes()
            seconds = cpu_seconds(lambda data=data, path=path: parse_bytes(data, path.name))
            nodes = len(parse_bytes(data, path.name))
            found = spent.setdefault(path.suffix.lower(), [0.0, 0.0, 0.0])
            found[:] = [found[0] + len(data) / 1e6, found[1] + seconds, found[2] + nodes]
    print("| format | MB | MB a CPU second | nodes a CPU second |\n|---|---:|---:|---:|")
    for suffix, (size, seconds, nodes) in sorted(spent.items()):
        print(f"| {suffix} | {size:.1f} | {size / seconds:.2f} | {nodes / seconds:,.0f} |")
    print()


def print_scale() -> None:
    text = "".join(
        f"# h{number}\nline {number} of the text, a few words\n" for number in range(5_000)
    )
    dense = text + "x" * (250_000 - len(text)) if len(text) < 250_000 else text
    prose = "word " * 40_000
    wide = "用水单位" * 16_000
    print("| source | ours, s | LlamaIndex, s |\n|---|---:|---:|")
    ours = cpu_seconds(lambda: parse_bytes(dense, "a.md"))
    start = time.process_time()
    peer_nodes(dense)
    print(f"| 250 KB, 5,000 headings | {ours:.2f} | {time.process_time() - start:.1f} |")
    for name, source in (("200 KB of words, no mark", prose), ("190 KB of Chinese, no mark", wide)):
        print(f"| {name} | {cpu_seconds(lambda s=source: parse_bytes(s, 'a.md')):.2f} | |")
    print()


def print_objects(markdown: Sequence[str]) -> None:
    """Time a node: LlamaIndex objects made from our trees, and by LlamaIndex's own parser."""
    trees = [parse_bytes(source, "a.md") for source in markdown]
    count = sum(map(len, trees))
    ours = cpu_seconds(lambda: [to_llama(tree) for tree in trees]) / count
    peers = len([node for source in markdown for node in peer_nodes(source)])
    theirs = cpu_seconds(lambda: [peer_nodes(source) for source in markdown]) / peers
    print("| LlamaIndex objects | µs a node |\n|---|---:|")
    print(f"| to_llama | {ours * 1e6:.0f} |")
    print(f"| MarkdownNodeParser, parsing included | {theirs * 1e6:.0f} |\n")


def print_memory(markdown: Sequence[str]) -> None:
    """Peak memory over that of an empty run, for one large file, in a process of its own."""
    source = "\n\n".join(markdown)
    while len(source.encode()) < 20_000_000:
        source += "\n\n" + source
    code = (
        "import resource, sys; from llama_index_semxpath.node_parser import parse_bytes;"
        "parse_bytes('# a', 'a.md'); before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "data = sys.stdin.buffer.read(); nodes = parse_bytes(data, 'a.md');"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "print((peak - before) * 1024 / len(data))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], input=source.encode(), capture_output=True, check=True
    )
    print(f"Memory: {float(out.stdout):.1f} times the input of {len(source) / 1e6:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, default=COPIED)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--html", type=Path, default=PYTHON_DOC)
    parser.add_argument("--formats", type=Path, help="a folder of files of any format")
    arguments = parser.parse_args()
    folder = arguments.markdown or demo_dir()
    markdown = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.md"))]
    while sum(map(len, markdown)) < 2_000_000:
        markdown += markdown
    pages = [p.read_text(encoding="utf-8") for p in sorted(arguments.html.rglob("*.html"))[:120]]
    print_cases(arguments.cases)
    print_speeds(markdown, pages)
    if arguments.formats:
        print_formats(arguments.formats)
    print_scale()
    print_objects(markdown)
    print_memory(markdown)


if __name__ == "__main__":
    main()
