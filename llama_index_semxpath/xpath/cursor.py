"""A cursor over the tokens of a query, and the errors that it raises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from llama_index_semxpath.errors import SemXPathSyntaxError
from llama_index_semxpath.text import shown
from llama_index_semxpath.xpath.lexer import QUESTION, SIGNS, Token, tokenize
from llama_index_semxpath.xpath.operators import MAX_NESTING, WORDS, too_deep

_SIGN_HINTS = {
    "==": "write '='",
    "&&": "write 'and'",
    "||": "write 'or'",
    "<>": "write '!='",
}


#: Words of other languages between two operands.
_WORD_HINTS = {
    **{word: f"write {word}(…, …)" for word in ("contains", "starts-with", "ends-with", "matches")},
    "like": "write contains(…, …), starts-with(…, …) or matches(…, …)",
    "between": "write @x >= 2 and @x <= 3",
    "union": "write '|'",
    "except": "write a condition: [not(…)]",
    "intersect": "write both conditions: […][…]",
    **dict(
        zip(
            ("eq", "ne", "lt", "le", "gt", "ge", "is", "equals"),
            (f"write '{sign}'" for sign in ("=", "!=", "<", "<=", ">", ">=", "=", "=")),
            strict=True,
        )
    ),
    **dict.fromkeys(("then", "else"), "there is no if; conditions stand in brackets"),
}
_LOOPS = frozenset(("for", "some", "every", "let"))
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
        if token.type in ("=~", "~=") and (before is None or before.type in ("[", "(")):
            return 'write . =~ "…" or @title =~ "…"'
        inside = self.open[-1].type if self.open else ""
        if token.type == "," and inside == "[":
            listed = self.place > 1 and self.tokens[self.place - 2].value == "in"
            return "a list stands in parentheses: in (2, 3)" if listed else "a slice is [2:4]"
        if before is not None and before.type == token.type == "number" and inside == "[":
            return "a slice is [2:4]"
        if before is not None and before.type == "string" and str(before.value).endswith("\\"):
            return "a quote inside a string is doubled; a back-slash is a back-slash"
        if before is not None and token.type == "param" and before.value in _LOOPS:
            return f"there is no '{before.value}': a path goes through all its nodes by itself"
        if self.open and (token.type == "end" or token.type in _CLOSERS):
            opening = self.open[-1]
            if token.type != _CLOSER[opening.type]:
                return f"the '{opening.type}' at character {opening.start + 1} is not closed"
        if before is not None and token.type == "name":
            return self.guess_word(before, str(token.value).lower())
        if before is not None and before.type == "name" and token.type == ":":
            return "a name with a colon in it stands in back-quotes"
        return None

    def guess_word(self, before: Token, word: str) -> str | None:
        """A hint for a name where an operator is due."""
        asks = len(self.tokens) > 4 or self.text.rstrip().endswith(("?", "？"))
        if asks and SIGNS.isdisjoint(self.text):
            return QUESTION
        if word in WORDS:
            return f"write '{word}'"
        if word in _WORD_HINTS:
            return _WORD_HINTS[word]
        if before.type != "name":
            return None
        if before.value == "not":
            return "write not(…)"
        if self.place == 1 and before.value in ("insert", "set", "replace", "delete", "move"):
            return "an update is no query: it is read by parse_update"
        return "a name with a space in it stands in back-quotes"


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
