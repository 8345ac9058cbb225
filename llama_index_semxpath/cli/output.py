"""What commands print: one JSON document, or text for people; progress and remarks on stderr."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llama_index_semxpath.cli.arguments import DEFAULT_STORE
from llama_index_semxpath.display.style import Style

if TYPE_CHECKING:
    from llama_index_semxpath.index.config import StoreConfig
    from llama_index_semxpath.index.reader import Reader


def print_json(value: Any) -> None:
    """One JSON document on stdout; characters stay as they are."""
    json.dump(value, sys.stdout, ensure_ascii=False, indent=2)
    sys.stdout.write("\n")


def style() -> Style:
    """How to write to stdout."""
    return Style.of(sys.stdout)


def remark(args: argparse.Namespace, text: str) -> None:
    """A line for people on stderr, unless ``-q``."""
    if not args.quiet:
        print(text, file=sys.stderr)


def config_of(args: argparse.Namespace) -> StoreConfig:
    """The store that ``--store`` or ``--config`` names; ``--store`` wins over the file's."""
    from dataclasses import replace

    from llama_index_semxpath.index.config import StoreConfig

    if args.config is None:
        return StoreConfig(Path(args.store or DEFAULT_STORE))
    config = StoreConfig.from_file(args.config)
    return config if args.store is None else replace(config, store=Path(args.store))


@contextmanager
def opened(args: argparse.Namespace) -> Iterator[Reader]:
    """The store, opened for reading."""
    from llama_index_semxpath.index.reader import Reader

    with Reader.open(config_of(args)) as reader:
        yield reader
