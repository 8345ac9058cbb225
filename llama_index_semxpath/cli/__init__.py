"""The command ``semxpath``."""

from llama_index_semxpath.cli.main import main

__all__ = ["main"]
