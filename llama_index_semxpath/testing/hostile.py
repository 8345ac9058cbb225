"""Strings that break stores which splice text: for every position that user text can reach."""

from __future__ import annotations

from itertools import product

_PIECES = (
    "'", '"', "`", "\\", "\\'", '\\"', "''", '""', "\\\\", "{", "}", "{id}", "${x}", "$x", "%s",
    "%", "_", "*", "?", "[", "]", "(", ")", ";", ":", "::", "|", "&", "#", "@", "!", "~", "=",
    "--", "-- ", "/*", "*/", "//", "<!--", "-->", "]]>", "<", ">", "&amp;", "&#0;", ",", ".",
    "\n", "\r", "\r\n", "\t", "\x01", "\x1b[31m", "\x7f", "\x85", "\u00a0", "\u200b", "\u2028",
    "\u202e", "\ufeff", "\ufffe", "\uffff", "é", "e\u0301", "İ", "ß", "第五条", "木 工", "ﾊﾝｶｸ",
    "😀", "👩\u200d👩\u200d👧", "\U0010ffff", "مرحبا", "..", "../", "C:\\", "/etc/passwd", "~",
    "null", "NULL", "None", "nan", "true", "0", "-1", "1e309", "\x00", "a\x00b", "\ud800",
    "\udfff", "\ud83d",
)  # fmt: skip
_ATTACKS = (
    "' OR '1'='1", "x'; DROP SPACE y; --", "x;DROP SPACE y", '"}) DETACH DELETE n //',
    "'}) MATCH (n) DETACH DELETE n RETURN ({id:'", "`) DELETE n //", "a' or id != '",
    'id != ""', "') OR 1=1 --", "$ids", "$rows", "n.id", "UNWIND [1] AS x", "{key: [], value: []}",
    "id in ['a','b']", '" || TRUE || "', "\\u0027", "\\x27", "&apos;", "%27", "LOAD FROM",
    "VALUES \"a\":(1)", "COMMIT", "'); ATTACH DATABASE 'x' AS y; --", "=cmd|'/c calc'!A0",
    "{{7*7}}", "//*[1=1]", "]] //x [[", "' and count(//*) > 0 or '", "end with backslash\\",
    "O'Hara \"memo\"", "a|b-c:d@e", "guides/2031/intro.md#part-1", "C:\\docs\\plan.md",
    " lead and trail ", "新建 文件(1).docx", "第三章/第五条", "main", "1 2", "a..b",
)  # fmt: skip


def hostile_strings() -> list[str]:
    """More than 500 distinct strings: quotes, comment marks, controls, NUL, surrogates, long ones.

    Example:
        >>> len(hostile_strings()) > 500
        True
    """
    mixed = (f"{a}{b}" for a, b in product(_PIECES[::4], _PIECES[1::4]))
    framed = (f"{attack}{piece}" for attack, piece in product(_ATTACKS[:12], _PIECES[:10]))
    long = ("x" * 5_000, "'" * 5_000, "\\" * 4_999, "字" * 5_000, "{" * 5_000, "x" * 200_000)
    return list(dict.fromkeys((*_PIECES, *_ATTACKS, *mixed, *framed, *long)))


def is_text(value: str) -> bool:
    """Whether a store may be asked to keep the string: no NUL, no unpaired surrogate.

    Example:
        >>> is_text("a'b"), is_text("a\\x00b"), is_text("\\ud800")
        (True, False, False)
    """
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return "\x00" not in value
