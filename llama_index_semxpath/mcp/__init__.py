"""A Model Context Protocol server over a store. Needs the extra ``mcp``."""

from llama_index_semxpath.mcp.server import build_server, serve

__all__ = ["build_server", "serve"]
