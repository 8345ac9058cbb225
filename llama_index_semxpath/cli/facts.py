"""``semxpath facts``: list and settle relations that the texts suggest."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from llama_index_semxpath.cli.output import config_of, print_json, style
from llama_index_semxpath.display.style import cut

if TYPE_CHECKING:
    from llama_index_semxpath.index.base import SemXPathIndex
    from llama_index_semxpath.index.facts import StoredFact


def facts(args: argparse.Namespace) -> int:
    """Settles the named facts, then lists those of a status: the proposed ones by default."""
    from llama_index_semxpath.index.base import SemXPathIndex

    config = config_of(args)
    config.open_catalog().close()
    with SemXPathIndex(config) as store:
        accept = [*args.accept]
        proposed = store.facts("proposed", principal=args.principal)
        if args.accept_from is not None:
            sure = [f for f in proposed if f.fact.confidence >= args.accept_from and f.fact.target]
            accept += [found.id for found in sure if found.id not in args.reject]
        accepted, rejected = store.review(accept, args.reject) if accept or args.reject else (0, 0)
        status = None if args.status == "all" else args.status or "proposed"
        found = store.facts(status, principal=args.principal)
        shown = [_described(store, one, args.principal) for one in found]
    if args.json:
        print_json({"facts": shown, "accepted": accepted, "rejected": rejected})
        return 0
    if accept or args.reject:
        print(f"{accepted} accepted, {rejected} rejected")
    _show(shown)
    return 0


def _described(store: SemXPathIndex, found: StoredFact, principal: Any) -> dict[str, Any]:
    """A fact with what a person needs to judge it: the place and the sentence."""
    shown = found.to_dict()
    for end in ("source", "target"):
        match = store.node(shown[end], principal) if shown[end] else None
        node = match.node if match is not None else None
        shown[f"{end}_path"] = list(match.path) if match is not None else []
        shown[f"{end}_text"] = (node.text or node.title or "") if node is not None else ""
    return shown


def _show(shown: list[dict[str, Any]]) -> None:
    paint = style()
    for fact in shown:
        head = f"{fact['confidence']:.2f}  {fact['relation']}"
        print(paint.paint(fact["id"], "bold") + f"  {fact['status']}  {head}")
        print("  " + cut(_place(fact, "source", fact["document"]), paint.width - 2))
        target = (
            _place(fact, "target", "") if fact["target"] else f"{fact['name']} (not known here)"
        )
        print("  " + cut(f"→ {target}", paint.width - 2))
    if not shown:
        print("nothing to settle")


def _place(fact: dict[str, Any], end: str, document: str) -> str:
    path, text = fact[f"{end}_path"], _one_line(fact[f"{end}_text"])
    above = " › ".join(filter(None, (document, *path[-2:])))
    return text if not above else above if path and text == path[-1] else f"{above}: {text}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
