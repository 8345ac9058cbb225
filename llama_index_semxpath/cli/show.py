"""``semxpath show``: a page to look through the documents."""

from __future__ import annotations

import argparse
from html import escape
from pathlib import Path

from llama_index_semxpath.cli.output import opened, print_json
from llama_index_semxpath.display.html import tree_html

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<style>body{{font-family:system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em}}</style>
</head><body><h1>{title}</h1>{body}</body></html>
"""


def show(args: argparse.Namespace) -> int:
    """Writes one self-contained page with the documents as trees to unfold."""
    with opened(args) as reader:
        parts = []
        documents = reader.documents(args.principal)
        for document in documents:
            nodes = [match.to_dict() for match in reader.document(document.id, args.principal)]
            parts.append(tree_html(nodes))
    title = f"{len(documents)} documents"
    Path(args.html).write_text(_PAGE.format(title=escape(title), body="".join(parts)), "utf-8")
    if args.json:
        print_json({"html": args.html, "documents": len(documents)})
    else:
        print(f"wrote {args.html}")
    return 0
