"""``semxpath memory``: load, read, change and compare what an agent remembers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from llama_index_semxpath.cli.arguments import DEFAULT_STORE
from llama_index_semxpath.cli.output import config_of, print_json, remark, style
from llama_index_semxpath.display.style import clean_lines, cut
from llama_index_semxpath.errors import StoreError
from llama_index_semxpath.memory.prompts import brief_line

if TYPE_CHECKING:
    from llama_index_semxpath.index.history import When
    from llama_index_semxpath.memory.changes import Change
    from llama_index_semxpath.memory.store import StructuredMemory


def load(args: argparse.Namespace) -> int:
    """Writes a tree from a file."""
    with _opened(args, create=True) as memory:
        change = memory.load_tree(
            Path(args.file), id=args.id, labels=args.acl, reason=args.reason, author=args.author
        )
    return _told(args, change)


def show(args: argparse.Namespace) -> int:
    """Shows the trees, or one of them, now or at an earlier time."""
    with _opened(args) as memory:
        view = memory if args.at is None else memory.at(_when(args.at))
        if args.tree is None:
            roots = view.trees(args.principal)
            if args.json:
                print_json([root.to_dict() for root in roots])
                return 0
            for root in roots:
                print(f"{clean_lines(root.id)}  {clean_lines(brief_line(root))}")
        elif args.json:
            print_json(view.to_json(args.tree, args.principal))
        else:
            print(view.to_xml(args.tree, args.principal))
    return 0


def update(args: argparse.Namespace) -> int:
    """Runs one update statement."""
    with _opened(args) as memory:
        change = memory.update(
            args.statement,
            params=dict(args.param or ()),
            reason=args.reason,
            author=args.author,
            principal=args.principal,
        )
    return _told(args, change)


def history(args: argparse.Namespace) -> int:
    """Lists the changes of the memory, of a tree, or the versions of a node."""
    with _opened(args) as memory:
        if args.node is None:
            found = [(one, "") for one in memory.revisions(args.limit)]
        else:
            versions = memory.history(args.node, args.principal)
            found = [
                (one.revision, "gone" if one.node is None else brief_node(one.node))
                for one in versions
            ]
    if args.json:
        print_json(
            [
                {
                    "revision": one.seq,
                    "time": one.time.isoformat(),
                    "author": one.author,
                    "reason": one.reason,
                    "what": one.what,
                    **({"node": said} if said else {}),
                }
                for one, said in found
            ]
        )
        return 0
    width = style().width
    for one, said in found:
        line = f"{one.seq:>5}  {one.time:%Y-%m-%d %H:%M}  {one.author}: {one.what}"
        why = f" — {one.reason}" if one.reason else ""
        print(cut(clean_lines(line + why + (f"  {said}" if said else "")), width))
    return 0


def diff(args: argparse.Namespace) -> int:
    """Shows what separates two versions."""
    with _opened(args) as memory:
        second = None if args.second is None else _when(args.second)
        found = memory.diff(_when(args.first), second, args.principal)
    if args.json:
        print_json(found.to_dict())
    else:
        print(clean_lines(str(found)))
    return 0


def undo(args: argparse.Namespace) -> int:
    """Takes back a change."""
    with _opened(args) as memory:
        change = memory.undo(args.revision, author=args.author, principal=args.principal)
    return _told(args, change)


def recall(args: argparse.Namespace) -> int:
    """Shows what is remembered on a question."""
    with _opened(args) as memory:
        found = memory.recall(args.question, budget=args.budget, principal=args.principal)
    if args.json:
        print_json(found.to_dict())
    else:
        print(clean_lines(found.text))
    return 0


def brief_node(node: object) -> str:
    """A node of the past in a few words."""
    from llama_index_semxpath.memory.changes import name_of_node
    from llama_index_semxpath.tree.node import TreeNode

    assert isinstance(node, TreeNode)
    values = [str(value) for name, value in node.attributes.items() if name != "name"]
    return "; ".join([name_of_node(node), *values])


@contextmanager
def _opened(args: argparse.Namespace, *, create: bool = False) -> Iterator[StructuredMemory]:
    from llama_index_semxpath.index.config import StoreConfig
    from llama_index_semxpath.memory.store import StructuredMemory

    if args.config is None:
        store = Path(args.store or DEFAULT_STORE)
        config = StoreConfig(store, milvus_uri="", graph="none")
    else:
        config = config_of(args)
    if not create:
        config.open_catalog().close()
    with StructuredMemory.from_defaults(config) as memory:
        yield memory


def _when(text: str) -> When:
    if text.lstrip("-").isdecimal() and len(text) < 10:
        number = int(text)
        if number < 0:
            raise StoreError("a revision is a number above 0", where=text)
        return number
    return text


def _told(args: argparse.Namespace, change: Change) -> int:
    if args.json:
        print_json(change.to_dict())
    else:
        print(clean_lines(str(change)))
        for id_ in change.added[:1]:
            remark(args, f"new: {clean_lines(id_)}")
    return 0
