"""A cursor over the tokens of a query, and the errors that it raises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from llama_index_semxpath.errors import SemXPathSyntaxError
from llama_index_semxpath.text import shown
from llama_index_semxpath.xpath.lexer import Token, tokenize
from llama_index_semxpath.xpath.operators import MAX_NESTING, WORDS, too_deep

_SIGN_HINTS = {
    "==": "write '='",
    "&&": "write 'and'",
    "||": "write 'or'",
    "<>": "write '!='",
}


_CLOSER = {"(": ")", "[": "]", "{": "}"}
_CLOSERS = frozenset(_CLOSER.values())


class Cursor:
    """A cursor over the tokens of one query; ``update.py`` adds the update statements."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise SemXPathSyntaxError(
                f"a query is text, not {type(text).__name__}", query="", offset=0
            )
        self.text = text
        self.tokens = tokenize(text)
        self.place = 0
        self.token = self.tokens[0]  # the next one
        self.open: list[Token] = []  # brackets not closed yet
        if self.tokens[0].type == "end":
            raise SemXPathSyntaxError(
                "the query is empty", query=text, offset=0, expected=["a path or an expression"]
            )

    # Cursor

    def peek(self, ahead: int = 1) -> str:
        """Type of a later token; past the end it is that of the last one."""
        return self.tokens[min(self.place + ahead, len(self.tokens) - 1)].type

    def take(self) -> Token:
        """Moves over the next token and returns it."""
        token = self.token
        self.place += 1
        self.token = self.tokens[self.place]
        return token

    def go(self, place: int) -> None:
        """Moves to a place among the tokens."""
        self.place = place
        self.token = self.tokens[place]

    def expect(self, type_: str, hint: str | None = None) -> Token:
        """Takes a token of one type, or fails."""
        if self.token.type != type_:
            self.fail([f"'{type_}'"], hint=hint)
        return self.take()

    def enter(self, token: Token) -> None:
        """Notes an opening bracket; too many open ones are an error."""
        self.open.append(token)
        if len(self.open) > MAX_NESTING:
            raise too_deep(self.text, token.start)

    def leave(self, type_: str) -> Token:
        """Takes the bracket that closes the innermost open one."""
        if self.token.type != type_:
            self.fail(["an operator", f"'{type_}'"])
        self.open.pop()
        return self.take()

    def finish(self) -> None:
        """Refuses anything behind the query."""
        if self.token.type != "end":
            self.fail(["an operator", "the end of the query"])

    def fail(
        self,
        expected: Sequence[str] = (),
        *,
        message: str | None = None,
        hint: str | None = None,
        suggestions: Sequence[str] = (),
        at: int | None = None,
    ) -> NoReturn:
        """Refuses the current token; a lexical error that stands here is raised as it is."""
        token = self.token
        if isinstance(token.value, SemXPathSyntaxError):
            raise token.value
        if hint is None and message is None:
            hint = self.guess(token)
        raise SemXPathSyntaxError(
            message or f"unexpected {describe(token)}",
            query=self.text,
            offset=token.start if at is None else at,
            expected=expected,
            suggestions=suggestions,
            hint=hint,
        )

    def guess(self, token: Token) -> str | None:
        """A hint for a common slip."""
        before = self.tokens[self.place - 1] if self.place else None
        if token.type in _SIGN_HINTS:
            return _SIGN_HINTS[token.type]
        if self.open and (token.type == "end" or token.type in _CLOSERS):
            opening = self.open[-1]
            if token.type != _CLOSER[opening.type]:
                return f"the '{opening.type}' at character {opening.start + 1} is not closed"
        if before is not None and before.type == "name" and token.type == "name":
            word = str(token.value)
            if word.lower() in WORDS:
                return f"write '{word.lower()}'"
            if before.value == "not":
                return "write not(…)"
            if self.place == 1 and before.value in ("insert", "set", "replace", "delete", "move"):
                return "an update is no query: it is read by parse_update"
            return "a name with a space in it stands in back-quotes"
        if before is not None and before.type == "name" and token.type == ":":
            return "a name with a colon in it stands in back-quotes"
        return None


def describe(token: Token) -> str:
    """A token in words, for messages."""
    if token.type == "end":
        return "end of the query"
    if token.type == "string":
        return f"string '{shown(str(token.value))}'"
    if token.type in ("name", "quoted"):
        return f"name '{shown(str(token.value))}'"
    if token.type == "number":
        return f"number {shown(str(token.value))}"
    if token.type == "duration":
        return "duration"
    if token.type == "param":
        return f"parameter ${shown(str(token.value))}"
    return f"'{token.type}'"
