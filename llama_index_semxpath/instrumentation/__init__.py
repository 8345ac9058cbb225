"""Spans and events of LlamaIndex's instrumentation, at no cost where nobody listens.

Every stage of the way (parsing, planning, engines, routes, fusion, synthesis) runs in a span and
ends with a :class:`~llama_index_semxpath.instrumentation.events.StageEvent`. Handlers of
LlamaIndex, its OpenTelemetry integration among them, see them like those of any component. The
rooms below LlamaIndex use this module too: it imports nothing heavy, and does nothing unless the
process has loaded LlamaIndex's dispatcher.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")
_DISPATCHER = "llama_index_instrumentation"


@contextmanager
def span(stage: str, **facts: Any) -> Iterator[dict[str, Any]]:
    """A span around one stage, with what is known of it.

    Args:
        stage: Name of the stage, such as ``parse`` or ``route.tree``.
        facts: What is known at the start; strings, numbers and booleans.

    Yields:
        A dictionary for what becomes known on the way; it travels with the closing event.

    Example:
        >>> with span("parse", document="a.md") as facts:
        ...     facts["nodes"] = 3
    """
    if _DISPATCHER not in sys.modules:
        yield dict(facts)
        return
    from llama_index_semxpath.instrumentation.events import close_span, drop_span, open_span

    opened = open_span(stage, facts)
    known = dict(facts)
    started = time.perf_counter()
    try:
        yield known
    except BaseException as error:
        drop_span(opened, error)
        raise
    close_span(opened, stage, time.perf_counter() - started, known)


def carried(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The function bound to the present context, so that spans in a thread keep their parent.

    Example:
        >>> carried(max)(1, 2)
        2
    """
    context = copy_context()
    return lambda *args, **kwargs: context.run(function, *args, **kwargs)


__all__ = ["carried", "span"]
