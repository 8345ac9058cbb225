"""``semxpath migrate``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from llama_index_semxpath.cli.output import print_json
from llama_index_semxpath.errors import StoreError

if TYPE_CHECKING:
    from llama_index_semxpath.index.config import StoreConfig
    from llama_index_semxpath.index.migrate import MigrationReport


def migrate(args: argparse.Namespace) -> int:
    """Copies a store to other back ends and compares both."""
    from llama_index_semxpath.index.migrate import migrate as run

    source, target = _config(args.source), _config(args.target)
    if args.quiet or not sys.stderr.isatty():
        report = run(source, target)
    else:
        from llama_index_semxpath.index.progress import bar

        with bar("migrating") as progress:
            report = run(source, target, progress=progress)
    if args.json:
        print_json(report.to_dict())
    else:
        _show(report, args.source, args.target)
    return 0 if report.ok else 1


def _config(text: str) -> StoreConfig:
    """The store that a directory or a configuration file names."""
    from llama_index_semxpath.index.config import StoreConfig

    path = Path(text)
    if path.is_file():
        return StoreConfig.from_file(path)
    if path.suffix == ".toml":
        raise StoreError("there is no such configuration file", where=text)
    return StoreConfig(path)


def _show(report: MigrationReport, source: str, target: str) -> None:
    again = ", taken up where an earlier run stopped" if report.resumed else ""
    print(f"{source} -> {target}: {report.documents} documents, {report.nodes} nodes{again}")
    for table, count in report.rows.items():
        if count:
            print(f"{count:>10}  {table}")
    for store, count in report.check.checked.items():
        print(f"{count:>10}  rows in {store} compared")
    if report.ok:
        print("the new store holds what the old one does")
        return
    for table in report.differing:
        print(f"table {table} differs")
    for kind, count in report.check.counts.items():
        print(f"{count} {kind}")
