"""A place in the tokens of a statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .errors import NebulaSyntaxError
from .lexer import Token, tokens

#: Keywords that may be names; the server's scanner keeps no case of them.
_KEYWORDS = frozenset(
    [
        "ACCOUNT",
        "ADMIN",
        "ATOMIC_EDGE",
        "CHARSET",
        "COLLATE",
        "COMMENT",
        "DATA",
        "GROUP",
        "HOST",
        "HOSTS",
        "JOB",
        "JOBS",
        "LEADER",
        "PARTITION_NUM",
        "PASSWORD",
        "REPLICA_FACTOR",
        "ROLE",
        "ROLES",
        "SPACE",
        "SPACES",
        "STATUS",
        "TTL_COL",
        "TTL_DURATION",
        "USER",
        "USERS",
        "UUID",
        "VALUE",
        "VALUES",
        "VID_TYPE",
    ]
)


class Cursor:
    """A place in the tokens of a statement, with the questions that a parser asks."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.all = tokens(text)
        self.place = 0

    @property
    def token(self) -> Token:
        return self.all[self.place]

    def at(self, *words: str) -> bool:
        """Whether the next tokens are these words, in capital letters, or signs."""
        if self.all[self.place].word != words[0]:
            return False
        following = self.all[self.place : self.place + len(words)]
        return [token.word for token in following] == list(words)

    def take(self, *words: str) -> bool:
        """Goes past these words, if they are next."""
        if self.at(*words):
            self.place += len(words)
            return True
        return False

    def need(self, *words: str) -> None:
        """Goes past these words; anything else is a syntax error."""
        if not self.take(*words):
            self.fail()

    def name(self) -> str:
        """An identifier."""
        if self.token.type not in ("name", "quoted"):
            self.fail()
        token = self.next()
        is_keyword = token.type == "name" and token.value.upper() in _KEYWORDS
        return str(token.value).lower() if is_keyword else str(token.value)

    def integer(self) -> int:
        """A whole number, with its sign."""
        negative = self.take("-")
        if self.token.type != "int":
            self.fail()
        value = int(self.next().value)
        return -value if negative else value

    def count(self) -> int:
        """A whole number without a sign."""
        if self.token.type != "int":
            self.fail()
        return int(self.next().value)

    def next(self) -> Token:
        self.place += 1
        return self.all[self.place - 1]

    def fail(self, message: str = "") -> None:
        near = self.text[self.token.offset :][:40]
        raise NebulaSyntaxError(f"{message or 'syntax error'} near `{near}'")

    def listed(self, part: Callable[[], Any]) -> Iterator[Any]:
        """Parts between commas."""
        yield part()
        while self.take(","):
            yield part()
