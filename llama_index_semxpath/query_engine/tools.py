"""The toolbox as tools for LlamaIndex agents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from llama_index.core.tools import FunctionTool

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.query_engine.toolbox import Toolbox
from llama_index_semxpath.retrievers.evidence import Principal

_Tool = Callable[..., dict[str, Any]]


def build_tools(
    index: Any, *, principal: Principal = None, names: Sequence[str] | None = None
) -> list[FunctionTool]:
    """Tools over an index for an agent of LlamaIndex.

    A mistake in a call comes back as ``{"error": …}``, with what was expected: the agent can do
    better the next time. Whom the tools read for is fixed here and is no argument of any tool.

    Args:
        index: A ``SemXPathIndex`` or a ``Reader``.
        principal: Labels of who asks; ``None`` holds none.
        names: Which tools, of ``search query ask read schema explain``; all by default.

    Raises:
        SemXPathError: A tool that does not exist.
    """
    tools = Toolbox(index, principal).tools
    unknown = set(names or ()) - set(tools)
    if unknown:
        raise SemXPathError(
            "unknown tool", where=", ".join(sorted(unknown)), hint=f"use {', '.join(tools)}"
        )
    return [_tool(name, tools[name]) for name in names or tools]


def _tool(name: str, run: _Tool) -> FunctionTool:
    @wraps(run)
    def call(*args: Any, **kwargs: Any) -> str:
        try:
            answer = run(*args, **kwargs)
        except SemXPathError as error:
            answer = {"error": str(error)}
        return json.dumps(answer, ensure_ascii=False)

    @wraps(run)
    async def acall(*args: Any, **kwargs: Any) -> str:
        return await asyncio.to_thread(call, *args, **kwargs)

    return FunctionTool.from_defaults(
        call, name=name, description=" ".join((run.__doc__ or "").split()), async_fn=acall
    )
