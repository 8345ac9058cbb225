"""Query text to tokens, in one pass and linear time.

Names follow XML's NCName without the CJK and full-width punctuation that XML lets in, so that a
bracket typed on a Chinese keyboard is a bracket. Whether ``*``, ``and``, ``or``, ``div``, ``mod``
and ``in`` are names or operators depends on the place, as in XPath 1.0 (3.7), and is the parser's
business: it knows whether an operand or an operator may stand there.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from llama_index_semxpath.errors import SemXPathSyntaxError
from llama_index_semxpath.text import NAME, NAME_CHARS, nfc, shown

#: A longer query is refused: values belong into parameters. It bounds the work of every pass.
MAX_LENGTH = 100_000
UNITS = ("s", "min", "h", "d", "w", "mo", "y")
_UNIT_PREFIXES = (
    ("sec", "s"),
    ("mi", "min"),
    ("ho", "h"),
    ("hr", "h"),
    ("da", "d"),
    ("we", "w"),
    ("mo", "mo"),
    ("ye", "y"),
    ("m", "min"),
)
_WORD_OPERATORS = frozenset(("and", "or", "div", "mod", "in"))
_LARGEST = 1.7e308
_SPACED = "put a space between a number and a name"

_SPACE = " \t\r\n\u00a0\u3000\ufeff\u200b"
_TOKEN = re.compile(
    rf"""[{_SPACE}]*+(?:
    (?P<name>{NAME})
  | (?P<string>"[^"]*+(?:""[^"]*+)*+" | '[^']*+(?:''[^']*+)*+'
      | \u201c[^\u201d]*+(?:\u201d\u201d[^\u201d]*+)*+\u201d
      | \u2018[^\u2019]*+(?:\u2019\u2019[^\u2019]*+)*+\u2019)
  | (?P<date>[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:T[0-9:.]*+(?:Z|[+-][0-9:]++)?)?(?![{NAME_CHARS}]))
  | (?P<number>(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?P<suffix>{NAME})?)
  | (?P<quoted>`[^`]*+(?:``[^`]*+)*+`)
  | (?P<param>[$＄](?P<param_name>{NAME}|`[^`]*+(?:``[^`]*+)*+`))
  | (?P<symbol>[:：]{{2}}|[/／]{{2}}|\.\.|[=＝][~～]|[~～][=＝]|[!！<＜>＞=＝][=＝]|&&|\|\||<>
      |[/\[\]()@|.,*+\-=<>:{{}}$～≥≤≠／［］（）＠｜，＊＋－＝＜＞：｛｝])
  | (?P<end>\Z)
  )""",
    re.VERBOSE,
)
#: What full-width and mathematical signs stand for outside strings.
_NARROW = str.maketrans(
    {**{chr(ord(c) + 0xFEE0): c for c in "/[](){}@|,*+-=<>:~!"}, "≥": ">=", "≤": "<=", "≠": "!="}
)
_HINTS = {
    "!": "write not(…)",
    "&": "write 'and'",
    "%": "write 'mod'",
    "\\": "a quote inside a string is doubled: 'it''s'",
    ";": "one query at a time",
    "#": "a comment has no place in a query",
    "~": "write =~ to grade by meaning",
}
QUESTION = "a question in plain words goes to ask, not into a query"
#: Signs of which a query in earnest has at least one, when it is longer than two words.
SIGNS = frozenset("/@[]()=<>|:$\"'*")
_CLOSING = {'"': '"', "'": "'", "“": "”", "‘": "’", "`": "`"}  # opening: closing


class Token(NamedTuple):
    """A lexical unit.

    ``type`` is ``name quoted string number duration param end error`` or, for a sign, the sign
    itself. ``value`` is the decoded value: the name in NFC, the content of the string, the number.
    """

    type: str
    value: str | int | float | tuple[int | float, str] | SemXPathSyntaxError
    start: int
    end: int


def tokenize(text: str) -> list[Token]:
    """Cuts a query into tokens.

    Args:
        text: The query.

    Returns:
        The tokens; the last one is of type ``end``, or of type ``error`` with the error as its
        value, so that the parser reports an earlier fault first.

    Example:
        >>> [(t.type, t.value) for t in tokenize("//a[@b = 90d]")][:5]
        [('//', '//'), ('name', 'a'), ('[', '['), ('@', '@'), ('name', 'b')]
    """
    tokens: list[Token] = []
    try:
        _scan(text, tokens)
    except SemXPathSyntaxError as error:
        tokens.append(Token("error", error, error.offset, error.offset))
    return tokens


def _scan(text: str, tokens: list[Token]) -> None:
    if len(text) > MAX_LENGTH:
        raise SemXPathSyntaxError(
            f"the query is longer than {MAX_LENGTH:,} characters",
            query=text,
            offset=MAX_LENGTH,
            hint="pass long values as parameters ($name)",
        )
    position = 0
    match = _TOKEN.match
    new = tuple.__new__  # half the time of calling Token, and this is the inner loop
    while True:
        found = match(text, position)
        if found is None:
            raise _unexpected(text, position)
        kind = found.lastgroup
        assert kind is not None
        start, end = found.span(kind)
        if kind == "name":
            tokens.append(new(Token, ("name", nfc(text[start:end]), start, end)))
        elif kind == "symbol":
            sign = text[start:end]
            sign = sign if sign.isascii() else sign.translate(_NARROW)
            tokens.append(new(Token, (sign, sign, start, end)))
        elif kind == "end":
            tokens.append(Token("end", "", start, end))
            return
        else:
            tokens.append(_valued(kind, found, start, end))
        position = tokens[-1].end


def _valued(kind: str, found: re.Match[str], start: int, end: int) -> Token:
    text = found.group(kind)
    if kind == "string":
        closing = _CLOSING[text[0]]
        return Token("string", text[1:-1].replace(closing * 2, closing), start, end)
    if kind == "quoted":
        return Token("quoted", _unquoted(found, text, start), start, end)
    if kind == "param":
        name = found.group("param_name")
        value = _unquoted(found, name, start + 1) if name.startswith("`") else nfc(name)
        return Token("param", value, start, end)
    if kind == "date":
        raise SemXPathSyntaxError(
            "a date is written as a string",
            query=found.string,
            offset=start,
            expected=[f'"{text}"'],
        )
    return _number(found, start, end)


def _unquoted(found: re.Match[str], text: str, start: int) -> str:
    name = nfc(text[1:-1].replace("``", "`"))
    if not name:
        raise SemXPathSyntaxError(
            "a name in back-quotes is empty",
            query=found.string,
            offset=start,
            expected=["a name"],
        )
    return name


def _number(found: re.Match[str], start: int, end: int) -> Token:
    """A number, a duration, or a number that runs into a word operator (``10div 2``)."""
    suffix = found.group("suffix")
    digits = found.group("number")
    if suffix is not None:
        digits = digits[: -len(suffix)]
    value = _value(found, digits, start)
    if suffix is None:
        return Token("number", value, start, end)
    if suffix in UNITS:
        return Token("duration", (value, suffix), start, end)
    if suffix in _WORD_OPERATORS:
        return Token("number", value, start, start + len(digits))
    guess = next((unit for prefix, unit in _UNIT_PREFIXES if suffix.startswith(prefix)), None)
    exponent = suffix[0] in "eE" and suffix[1:].isdecimal()
    raise SemXPathSyntaxError(
        f"'{shown(suffix)}' is no unit of time",
        query=found.string,
        offset=start + len(digits),
        expected=[f"'{unit}'" for unit in UNITS],
        suggestions=[guess] if guess else [],
        hint="a number has no exponent" if exponent else None if guess else _SPACED,
    )


def _value(found: re.Match[str], digits: str, start: int) -> int | float:
    # int() refuses long strings, and from 400 digits on a whole number is beyond a double anyway.
    exact = digits.isdecimal() and len(digits) < 400
    value = int(digits) if exact else float(digits)
    if value < _LARGEST:
        return value
    raise SemXPathSyntaxError(
        "the number is too large", query=found.string, offset=start, hint="at most 1.7e308"
    )


def _unexpected(text: str, position: int) -> SemXPathSyntaxError:
    """Why nothing matches here: an unclosed quote, a lone sign, or a stray character."""
    while position < len(text) and text[position] in _SPACE:
        position += 1
    char = text[position]
    if char in _CLOSING:
        what = "name in back-quotes" if char == "`" else "string"
        return SemXPathSyntaxError(
            f"unterminated {what}",
            query=text,
            offset=position,
            expected=[f"a closing {_CLOSING[char]}"],
        )
    if char in "?？" and not text[position + 1 :].strip() and SIGNS.isdisjoint(text):
        return SemXPathSyntaxError(
            f"unexpected character {_character(char)}", query=text, offset=position, hint=QUESTION
        )
    hint = f"write '{chr(ord(char) - 0xFEE0)}'" if "０" <= char <= "９" else _HINTS.get(char)
    return SemXPathSyntaxError(
        f"unexpected character {_character(char)}", query=text, offset=position, hint=hint
    )


def _character(char: str) -> str:
    if char.isprintable():
        return f"'{char}'"
    name = unicodedata.name(char, "")
    return f"U+{ord(char):04X}" + (f" ({name.lower()})" if name else "")
