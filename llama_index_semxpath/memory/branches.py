"""Branches: copies of a memory in a directory of their own, merged back node by node."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from llama_index_semxpath.errors import MergeConflictError, StoreError
from llama_index_semxpath.index.catalog import Catalog
from llama_index_semxpath.index.codec import printable
from llama_index_semxpath.index.history import History
from llama_index_semxpath.tree.node import TreeNode

if TYPE_CHECKING:
    from llama_index_semxpath.index.base import SemXPathIndex

_DIRECTORY = "branches"
_NAME = re.compile(r"[\w-]{1,64}")
_BASE = "branch.base"


def open_branch(index: SemXPathIndex, name: str) -> SemXPathIndex:
    """The store of a branch, made as a copy of the catalog where there is none yet."""
    from llama_index_semxpath.index.base import SemXPathIndex

    folder = _folder(index, name)
    config = replace(index.config, store=folder, milvus_uri="", graph="none")
    if not config.catalog.exists():
        if not index.config.catalog.exists():
            raise StoreError(
                "only a memory in a directory of its own can be branched",
                hint="its catalog must be a SQLite file",
            )
        folder.mkdir(parents=True, exist_ok=True)
        draft = config.catalog.with_suffix(".draft")
        with (
            closing(sqlite3.connect(index.config.catalog)) as source,
            closing(sqlite3.connect(draft)) as target,
        ):
            source.backup(target)
        draft.replace(config.catalog)
    branch = SemXPathIndex(config, embed_model=index.reader.embeddings.embedder)
    if branch.catalog.meta(_BASE) is None:
        with branch.catalog.write() as writer:
            writer.set_meta(_BASE, str(branch.catalog.version))
    return branch


def names(index: SemXPathIndex) -> list[str]:
    """Names of a store's branches, sorted."""
    folder = Path(index.config.store) / _DIRECTORY
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def drop(index: SemXPathIndex, name: str) -> None:
    """Deletes a branch.

    Raises:
        StoreError: There is no such branch.
    """
    folder = _folder(index, name)
    if not folder.is_dir():
        raise StoreError("there is no such branch", where=printable(name))
    shutil.rmtree(folder)


@contextmanager
def existing(index: SemXPathIndex, name: str) -> Iterator[Catalog]:
    """The catalog of a branch that is there.

    Raises:
        StoreError: There is no such branch.
    """
    path = replace(index.config, store=_folder(index, name)).catalog
    if not path.exists():
        raise StoreError(
            "there is no such branch", where=printable(name), hint="make it with branch()"
        )
    catalog = replace(index.config, store=_folder(index, name)).open_catalog()
    try:
        yield catalog
    finally:
        catalog.close()


def difference(
    branch: Catalog, main: Catalog, prefer: Literal["branch", "main"] | None
) -> dict[str, TreeNode | None]:
    """What a branch changed, as the nodes that the main memory is to have.

    Raises:
        MergeConflictError: Both changed the same nodes, and neither is preferred.
    """
    base = int(branch.meta(_BASE) or 0)
    history = History(branch)
    ids = history.between(base, branch.version)
    before, after = history.nodes(ids, base), branch.nodes(ids)
    now = main.nodes(ids)
    wanted: dict[str, TreeNode | None] = {}
    clashing: list[str] = []
    for id_ in ids:
        mine, theirs, common = now.get(id_), after.get(id_), before.get(id_)
        if theirs in (mine, common):
            continue
        if mine != common:
            clashing.append(id_)
            if prefer == "main":
                continue
        wanted[id_] = theirs
    if clashing and prefer is None:
        raise MergeConflictError(
            f"{len(clashing)} nodes were changed on both sides",
            clashing,
            hint='say prefer="branch" or prefer="main"',
        )
    return wanted


def mark_merged(branch: Catalog) -> None:
    """Notes that all changes of a branch so far are taken over."""
    with branch.write() as writer:
        writer.set_meta(_BASE, str(branch.version))


def _folder(index: SemXPathIndex, name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise StoreError(
            "this is no name for a branch",
            where=printable(name),
            hint="use 1 to 64 letters, digits, - and _",
        )
    return Path(index.config.store) / _DIRECTORY / name
