"""``semxpath check``, ``schema`` and ``stats``."""

from __future__ import annotations

import argparse
from typing import Any

from llama_index_semxpath.cli.output import config_of, opened, print_json, style
from llama_index_semxpath.display.style import cut


def check(args: argparse.Namespace) -> int:
    """Compares the catalog with its vectors and graph."""
    from llama_index_semxpath.index.base import SemXPathIndex

    config = config_of(args)
    config.open_catalog().close()
    with SemXPathIndex(config) as store:
        report = store.check(repair=args.repair)
    shown = report.to_dict()
    if args.json:
        print_json(shown)
    else:
        _show_check(shown)
    return 0 if shown["ok"] else 1


def schema(args: argparse.Namespace) -> int:
    """Shows what queries can name."""
    with opened(args) as reader:
        found = reader.schema(args.principal)
    if args.json:
        print_json(found.to_dict())
        return 0
    paint = style()
    for kind in found.kinds.values():
        print(paint.paint(kind.name, "bold") + f"  {kind.count}")
        for attribute in kind.attributes.values():
            examples = ", ".join(attribute.examples)
            line = f"@{attribute.name}  {attribute.type}  {attribute.share:.0%}  {examples}"
            print("  " + cut(line, paint.width - 2))
    for relation in found.relations.values():
        ends = f"{', '.join(relation.sources)} → {', '.join(relation.targets)}"
        print(f"rel::{relation.name}  {relation.count}  {ends}")
    return 0


def stats(args: argparse.Namespace) -> int:
    """Shows what the store holds."""
    config = config_of(args)
    with opened(args) as reader:
        documents = reader.documents(args.principal)
        found = reader.schema(args.principal)
        whole = reader.visible(args.principal) is None
    shown: dict[str, Any] = {
        "store": str(config.store),
        "documents": len(documents),
        "nodes": sum(kind.count for kind in found.kinds.values()),
        "kinds": {kind.name: kind.count for kind in found.kinds.values()},
        "relations": {one.name: one.count for one in found.relations.values()},
    }
    held = f"{len(documents)} documents, {shown['nodes']} nodes"
    if whole:
        # The size of the files would tell how much there is that somebody may not read.
        files = (path for path in config.store.rglob("*") if path.is_file())
        shown["bytes"] = sum(path.stat().st_size for path in files)
        held += f", {shown['bytes'] / 1e6:.1f} MB"
    if args.json:
        print_json(shown)
        return 0
    print(f"{held} in {config.store}")
    for kind, count in sorted(shown["kinds"].items(), key=lambda item: -item[1]):
        print(f"{count:>8}  {kind}")
    return 0


def _show_check(shown: dict[str, Any]) -> None:
    if shown["ok"]:
        print("vectors and graph agree with the catalog")
    for name in ("missing", "orphans", "stale"):
        for fault in shown[name]:
            where = f"{fault['id']} of {fault['document']} in {fault['store']}"
            print(f"{name}: {where}: {fault['reason']}")
    unlisted = sum(shown["counts"].values()) - sum(
        len(shown[name]) for name in ("missing", "orphans", "stale")
    )
    if unlisted:
        print(f"and {unlisted} more")
    for path in shown["set_aside"]:
        print(f"damaged, set aside and built anew: {path}")
    if shown["repaired"]:
        print(f"repaired: {shown['repaired']} rows")
