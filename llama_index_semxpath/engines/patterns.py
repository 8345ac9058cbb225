"""Regular expressions in linear time (RE2): no pattern can hang the process."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from llama_index_semxpath.errors import QueryTypeError

_MAX_PATTERN = 10_000


def compiled(pattern: str, query: str, offset: int) -> Callable[[str], bool]:
    """A test whether a pattern is found in a text.

    Args:
        pattern: A regular expression in RE2's syntax, at most 10,000 characters.
        query: The query text, for errors.
        offset: Where the pattern stands in it.

    Raises:
        QueryTypeError: The pattern is wrong, or uses what RE2 leaves out to stay linear.

    Example:
        >>> compiled("b+$", "", 0)("abb")
        True
    """
    try:
        if len(pattern) > _MAX_PATTERN:
            raise ValueError("longer than 10,000 characters")
        return _search(pattern)
    except ValueError as error:
        raise QueryTypeError(
            f"not a regular expression: {error}",
            query=query,
            offset=offset,
            hint="patterns follow RE2: no back-references and no look-around",
        ) from error


@lru_cache(maxsize=256)
def _search(pattern: str) -> Callable[[str], bool]:
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        expression = re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise ValueError(text) from None
    except UnicodeError:
        raise ValueError("holds half a character") from None

    def found(text: str) -> bool:
        # RE2 works on UTF-8; half a surrogate pair is no character there.
        return expression.search(text.encode("utf-8", "replace").decode()) is not None

    return found
