"""Tokens of nGQL, by the rules of the server's scanner."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .errors import NebulaSyntaxError

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n]+|\#[^\n]*|//[^\n]*|--(?=\s|$)[^\n]*|/\*.*?\*/)
  | (?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\.\d+|\d+[eE][+-]?\d+)
  | (?P<hex>0[xX][0-9a-fA-F]+)
  | (?P<int>\d+)
  | (?P<ref>\$\$|\$\^|\$-|\$[A-Za-z_][A-Za-z_0-9]*)
  | (?P<quoted>`[^`\n]+`)
  | (?P<name>[^\W\d]\w*)
  | (?P<sign>->|<-|==|!=|<>|<=|>=|=~|\.\.|[-+*/%<>=!()\[\]{},.:;|@!])
    """,
    re.VERBOSE | re.DOTALL,
)
_PLAIN = {quote: re.compile(rf"[^{quote}\\\n]+") for quote in "\"'"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


@dataclass(frozen=True)
class Token:
    """A token: its type, its text or value, where it starts, and the word or sign that it is."""

    type: str
    value: Any
    offset: int
    word: str = ""


def tokens(text: str) -> list[Token]:
    """All tokens of a statement.

    Raises:
        NebulaSyntaxError: A character or string that the scanner does not accept.
    """
    found: list[Token] = []
    place = 0
    while place < len(text):
        if text[place] in "\"'":
            value, end = _string(text, place)
            found.append(Token("string", value, place))
            place = end
            continue
        match = _TOKEN.match(text, place)
        if match is None:
            raise NebulaSyntaxError(f"syntax error near `{text[place : place + 20]}'")
        kind, piece = match.lastgroup or "", match.group()
        if kind == "int":
            found.append(Token("int", int(piece), place))
        elif kind == "hex":
            found.append(Token("int", int(piece, 16), place))
        elif kind == "float":
            found.append(Token("float", float(piece), place))
        elif kind == "quoted":
            found.append(Token("quoted", piece[1:-1], place))
        elif kind != "space":
            found.append(Token(kind, piece, place, piece.upper()))
        place = match.end()
    found.append(Token("end", "", len(text)))
    return found


def _string(text: str, start: int) -> tuple[str, int]:
    """A string literal: backslash escapes, octal bytes, and no raw line break inside."""
    quote, place = text[start], start + 1
    data = bytearray()
    while place < len(text):
        char = text[place]
        if char == quote:
            return data.decode("utf-8", "replace"), place + 1
        if char == "\n":
            break
        if char != "\\":
            plain = _PLAIN[quote].match(text, place)
            assert plain is not None
            data += plain.group().encode("utf-8", "surrogatepass")
            place = plain.end()
            continue
        octal = re.compile(r"[0-7]{1,3}").match(text, place + 1)
        if octal:
            if int(octal.group(), 8) > 255:
                break
            data.append(int(octal.group(), 8))
            place = octal.end()
        elif place + 1 < len(text) and not text[place + 1].isdigit():
            data += _ESCAPES.get(text[place + 1], text[place + 1]).encode()
            place += 2
        else:
            break
    raise NebulaSyntaxError(f"Unterminated string: near `{text[start : start + 20]}'")
