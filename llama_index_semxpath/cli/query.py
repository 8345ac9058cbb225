"""``semxpath query`` and ``semxpath explain``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from llama_index_semxpath.cli.output import opened, print_json, remark, style
from llama_index_semxpath.display.text import matches_text

if TYPE_CHECKING:
    from llama_index_semxpath.index.match import QueryResult


def query(args: argparse.Namespace) -> int:
    """Runs a SemXPath query and shows what it finds."""
    with opened(args) as reader:
        result = reader.query(
            args.query,
            top_k=args.top_k,
            params=dict(args.param or ()),
            principal=args.principal,
            trace=args.trace,
        )
    empty = not len(result) and result.value is None
    if args.json:
        shown = result.to_dict()
        if not args.explain:
            shown.pop("plan", None)
        print_json(shown)
    else:
        _show(args, result)
    return 1 if empty and args.fail_empty else 0


def explain(args: argparse.Namespace) -> int:
    """Shows how a query runs."""
    with opened(args) as reader:
        plan = reader.explain(args.query, params=dict(args.param or ()), principal=args.principal)
    if args.json:
        print_json({"plan": plan.to_dict() if hasattr(plan, "to_dict") else str(plan)})
    else:
        print(plan)
    return 0


def _show(args: argparse.Namespace, result: QueryResult) -> None:
    if result.value is not None:
        from llama_index_semxpath.query_engine.pipeline import value_text

        print(value_text(result.value))
    else:
        print(matches_text([match.to_dict() for match in result], style()))
        remark(args, f"\n{len(result)} result{'' if len(result) == 1 else 's'}")
    for note in result.plan.notes if result.plan is not None else ():
        remark(args, f"note: {note}")
    for name, part in (("plan", result.plan), ("trace", result.trace)):
        if part is not None and (name == "trace" or args.explain):
            print(f"\n{part}")
