"""``semxpath parse``, ``index``, ``remove``, ``purge`` and ``export``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llama_index_semxpath.cli.output import config_of, opened, print_json, style
from llama_index_semxpath.display.text import tree_lines
from llama_index_semxpath.errors import SourceError

if TYPE_CHECKING:
    from llama_index_semxpath.index.folder import IndexReport
    from llama_index_semxpath.index.writing import Progress
    from llama_index_semxpath.tree.node import TreeNode


def parse(args: argparse.Namespace) -> int:
    """Shows a document as a tree."""
    from llama_index_semxpath.node_parser import parse_file, tree_to_dict

    nodes = parse_file(Path(args.file), format=args.format)
    shown = tree_to_dict(nodes)
    if args.json:
        print_json(shown)
    else:
        for line in tree_lines(shown["nodes"], style()):
            print(line)
    return 0


def index(args: argparse.Namespace) -> int:
    """Adds or refreshes files and folders."""
    from llama_index_semxpath.index.base import SemXPathIndex
    from llama_index_semxpath.index.folder import index_paths

    paths = [Path(path) for path in args.paths]
    for path in paths:
        if not path.exists():
            raise SourceError("no such file or folder", where=str(path))
    acl = None if args.acl is None else frozenset(args.acl)

    def run(progress: Progress | None) -> IndexReport:
        with SemXPathIndex(config_of(args)) as store:
            return index_paths(
                store,
                paths,
                weight=args.weight,
                acl=acl,
                meta=dict(args.meta or ()),
                progress=progress,
                workers=os.cpu_count() or 1,
            )

    if args.quiet or not sys.stderr.isatty():
        report = run(None)
    else:
        from llama_index_semxpath.index.progress import bar

        with bar("indexing") as tell:
            report = run(tell)
    if args.json:
        print_json(report.to_dict())
    else:
        _show_report(args, report)
    return 0


def remove(args: argparse.Namespace) -> int:
    """Removes documents; with an unknown id among them, none is removed."""
    from llama_index_semxpath.index.base import SemXPathIndex

    config = config_of(args)
    catalog = config.open_catalog()
    try:
        for document in args.documents:
            catalog.document(document)
    finally:
        catalog.close()
    with SemXPathIndex(config) as store:
        removed = store.writer.delete(list(dict.fromkeys(args.documents)))
    if args.json:
        print_json({"removed": removed})
    else:
        print(f"removed {removed} document{'' if removed == 1 else 's'}")
    return 0


def purge(args: argparse.Namespace) -> int:
    """Forgets deleted and earlier versions for good."""
    from llama_index_semxpath.index.base import SemXPathIndex

    config = config_of(args)
    config.open_catalog().close()
    before = args.before
    if before is not None and before.isdecimal() and len(before) < len("20260301"):
        before = int(before)
    with SemXPathIndex(config) as store:
        gone = store.purge(before)
    if args.json:
        print_json({"purged": gone})
    else:
        print(f"purged {gone} earlier version{'' if gone == 1 else 's'} of nodes")
    return 0


def export(args: argparse.Namespace) -> int:
    """Writes a document out as Markdown, HTML or JSON."""
    from llama_index_semxpath.node_parser import export as write

    with opened(args) as reader:
        nodes: list[TreeNode] = [
            match.node for match in reader.document(args.document, args.principal)
        ]
    text = write(nodes, args.to)
    if args.json:
        print_json({"document": args.document, "format": args.to, "content": text})
    else:
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
    return 0


def _show_report(args: argparse.Namespace, report: IndexReport) -> None:
    facts: dict[str, Any] = report.to_dict()
    print(
        f"{facts['documents']} document{'' if facts['documents'] == 1 else 's'}, "
        f"{facts['nodes']} nodes"
        f" ({facts['unchanged']} unchanged, {facts['removed']} removed)"
        f" in {facts['seconds']:.1f} s"
    )
    for error in facts["errors"]:
        # Also with -q: a document that is silently missing is no detail.
        print(f"left out: {error['file']}: {error['message']}", file=sys.stderr)
