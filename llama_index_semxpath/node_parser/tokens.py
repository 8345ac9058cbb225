"""Token counts with the encoding that LlamaIndex ships, without importing LlamaIndex."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from llama_index_semxpath.errors import SemXPathError

if TYPE_CHECKING:
    from llama_index_semxpath.node_parser.options import ParseOptions

Counter = Callable[[str], int]

_ENCODING = "cl100k_base"
# tiktoken names a cached file by the SHA-1 of the address that it would be fetched from.
_CACHED_FILE = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
_CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"
_lock = Lock()


def token_counter(options: ParseOptions) -> Counter:
    """The function that counts tokens under these options.

    Raises:
        SemXPathError: No tokenizer is given and the installed LlamaIndex ships no encoding.

    Example:
        >>> from llama_index_semxpath.node_parser.options import ParseOptions
        >>> token_counter(ParseOptions())("Two litres of oil."), token_counter(
        ...     ParseOptions(tokenizer=str.split))("Two litres of oil.")
        (5, 4)
    """
    if options.tokenizer is not None:
        tokenizer = options.tokenizer
        return lambda text: len(tokenizer(text))
    return _shipped_counter()


@cache
def _shipped_counter() -> Counter:
    import tiktoken

    with _lock:
        before = os.environ.get(_CACHE_VARIABLE)
        os.environ[_CACHE_VARIABLE] = str(_shipped_directory())
        try:
            encode = tiktoken.get_encoding(_ENCODING).encode_ordinary
        finally:
            if before is None:
                del os.environ[_CACHE_VARIABLE]
            else:
                os.environ[_CACHE_VARIABLE] = before
    return lambda text: len(encode(text))


def _shipped_directory() -> Path:
    """Directory of the encoding files inside the installed LlamaIndex."""
    spec = find_spec("llama_index.core")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        directory = Path(place) / "_static" / "tiktoken_cache"
        if (directory / _CACHED_FILE).is_file():
            return directory
    # Without this check tiktoken would fetch the file from the network.
    raise SemXPathError(
        "no token encoding is installed",
        where=_ENCODING,
        hint="reinstall llama-index-core, or give a tokenizer",
    )
