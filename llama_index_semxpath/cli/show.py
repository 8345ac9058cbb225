"""``semxpath show``: a page to look through the documents."""

from __future__ import annotations

import argparse
from pathlib import Path

from llama_index_semxpath.cli.output import opened, print_json


def show(args: argparse.Namespace) -> int:
    """Writes one self-contained page: documents, search, queries with their traces, relations."""
    from llama_index_semxpath.display.explorer import explorer_page

    with opened(args) as reader:
        page = explorer_page(
            reader,
            documents=args.document,
            queries=args.query or (),
            principal=args.principal,
        )
    Path(args.html).write_text(page, "utf-8")
    if args.json:
        print_json({"html": args.html, "bytes": len(page.encode())})
    else:
        print(f"wrote {args.html} ({len(page.encode()) / 1000:,.0f} kB): open it in a browser")
    return 0
