"""Many sources parsed in processes, in order, where that is faster than one after the other."""

from __future__ import annotations

import multiprocessing
import pickle
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import PurePath
from typing import Generic, TypeVar

from llama_index_semxpath.errors import SemXPathError, SourceError
from llama_index_semxpath.node_parser.options import ParseOptions
from llama_index_semxpath.node_parser.registry import parse_bytes
from llama_index_semxpath.tree.node import TreeNode

_T = TypeVar("_T")
#: Bytes that one core parses in a second, about, by extension; other formats are text.
_RATES = {".pdf": 50_000, ".docx": 600_000, ".xlsx": 300_000, ".epub": 800_000, ".odt": 600_000}
_TEXT_RATE = 4_000_000
#: Seconds of parsing from which the start of processes pays.
PAYS_FROM = 6.0
# Sources that wait in memory for each process.
_AHEAD = 3


@dataclass(frozen=True, slots=True)
class Job(Generic[_T]):
    """A source to be parsed.

    Args:
        data: The source.
        name: File name.
        doc_id: Id of the document.
        tag: Anything of the caller's; it comes back with the tree.
    """

    data: bytes
    name: str
    doc_id: str
    tag: _T


def seconds_of(name: str, size: int) -> float:
    """About how long one core parses a source.

    Example:
        >>> seconds_of("a.pdf", 1_000_000), seconds_of("a.md", 1_000_000)
        (20.0, 0.25)
    """
    return size / _RATES.get(PurePath(name).suffix.lower(), _TEXT_RATE)


def parse_many(
    jobs: Iterable[Job[_T]], options: ParseOptions, *, workers: int = 1
) -> Iterator[tuple[Job[_T], list[TreeNode] | SemXPathError]]:
    """Trees of many sources, in their order; a source that cannot be parsed gives its error.

    Args:
        jobs: The sources; a few for each process are taken ahead.
        options: How to parse. Options that cannot be sent to another process (a tokenizer or a
            hook that is a lambda) are used in this one.
        workers: Processes, 1 and up; 1 parses here. More need a program whose main module can be
            imported (``if __name__ == "__main__"``), as :mod:`multiprocessing` says.

    Example:
        >>> job = Job(b"# Oil", "a.md", "a.md", None)
        >>> [nodes[1].text for _, nodes in parse_many([job], ParseOptions())]
        ['Oil']
    """
    if workers < 2 or not _can_travel(options):
        yield from ((job, _here(job, options)) for job in jobs)
        return
    # Threads of stores may run in this process: a fork of it could hang.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        waiting: deque[tuple[Job[_T], Future[list[TreeNode] | _Failure]]] = deque()
        for job in jobs:
            waiting.append((job, pool.submit(_there, job.data, job.name, job.doc_id, options)))
            if len(waiting) >= workers * _AHEAD:
                yield _result(*waiting.popleft(), options)
        while waiting:
            yield _result(*waiting.popleft(), options)


@dataclass(frozen=True, slots=True)
class _Failure:
    """An error on its way between processes."""

    message: str
    where: str | None
    hint: str | None


def _there(data: bytes, name: str, doc_id: str, options: ParseOptions) -> list[TreeNode] | _Failure:
    try:
        return parse_bytes(data, name, doc_id=doc_id, options=options)
    except SemXPathError as error:
        return _Failure(error.message, error.where, error.hint)


def _here(job: Job[_T], options: ParseOptions) -> list[TreeNode] | SemXPathError:
    try:
        return parse_bytes(job.data, job.name, doc_id=job.doc_id, options=options)
    except SemXPathError as error:
        return error


def _result(
    job: Job[_T], future: Future[list[TreeNode] | _Failure], options: ParseOptions
) -> tuple[Job[_T], list[TreeNode] | SemXPathError]:
    try:
        found = future.result()
    except BrokenProcessPool:
        # A process was killed, for want of memory as a rule: what is left is parsed here.
        return job, _here(job, options)
    if isinstance(found, _Failure):
        return job, SourceError(found.message, where=found.where, hint=found.hint)
    return job, found


def _can_travel(options: ParseOptions) -> bool:
    try:
        pickle.dumps(options)
    except Exception:  # pickle raises whatever an object's own methods raise
        return False
    return True
