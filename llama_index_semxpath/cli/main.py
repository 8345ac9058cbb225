"""Entry point: reads the arguments, runs one command, turns every error into one message."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from llama_index_semxpath.cli.arguments import UsageError, build_parser
from llama_index_semxpath.errors import SemXPathError

DONE, FINDINGS, BAD_INPUT = 0, 1, 2
# What a shell reports for a process that SIGINT or SIGPIPE ended.
_INTERRUPTED, _PIPE_CLOSED = 130, 141

Command = Callable[[argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs ``semxpath``.

    Args:
        argv: Arguments without the program's name; those of the process by default.

    Returns:
        0 = done, 1 = done with findings, 2 = bad input.

    Example:
        >>> main(["query"])
        2
    """
    _write_utf8()
    try:
        return _run(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:
        print("semxpath: stopped", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader (`| head`) has gone; Python must not try to flush to it at exit either.
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        return _PIPE_CLOSED


def _run(argv: list[str]) -> int:
    try:
        for argument in argv:
            if any("\ud800" <= char <= "\udfff" for char in argument) or "\0" in argument:
                raise UsageError("an argument is not valid UTF-8 text", where=ascii(argument)[:80])
        parser = build_parser()
        args = parser.parse_args(argv)
        if args.version:
            from llama_index_semxpath import __version__

            print(f"semxpath {__version__}")
            return DONE
        if args.command is None:
            raise UsageError("no command given", hint="see 'semxpath --help'")
        status = _load(args.run)(args)
        sys.stdout.flush()
        return status
    except SystemExit as stop:  # argparse's --help
        return int(stop.code or 0)
    except SemXPathError as error:
        print(f"semxpath: {error}", file=sys.stderr)
    except MemoryError:
        print("semxpath: not enough memory", file=sys.stderr)
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        print(f"semxpath: {error.strerror or error}{where}", file=sys.stderr)
    return BAD_INPUT


def _load(run: str) -> Command:
    module, _, name = run.partition(":")
    command: Command = getattr(import_module(module), name)
    return command


def _write_utf8() -> None:
    """Results are UTF-8 whatever the locale says, and no character can break the output."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and (
            stream.encoding.lower().replace("-", "") != "utf8" or stream.errors == "strict"
        ):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
