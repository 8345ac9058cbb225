"""``semxpath mcp``: the store for agents that speak the Model Context Protocol."""

from __future__ import annotations

import argparse

from llama_index_semxpath.cli.output import config_of, opened
from llama_index_semxpath.errors import SemXPathError


def mcp(args: argparse.Namespace) -> int:
    """Serves on standard input and output until the client hangs up."""
    try:
        from llama_index_semxpath.mcp.server import serve
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise SemXPathError(
            "the MCP SDK is not installed", hint="pip install 'llama-index-semxpath[mcp]'"
        ) from None
    if not args.allow_writes:
        with opened(args) as reader:
            serve(reader, principal=args.principal)
        return 0
    from llama_index_semxpath.index.base import SemXPathIndex

    with SemXPathIndex(config_of(args)) as index:
        serve(index, principal=args.principal, allow_writes=True)
    return 0
