"""Numerals as documents write them: Chinese, Roman, full-width, circled, letters."""

from __future__ import annotations

import unicodedata

_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")}
_DIGITS |= {"〇": 0, "○": 0, "两": 2, "壹": 1, "贰": 2, "叁": 3, "肆": 4, "伍": 5}
_DIGITS |= {"陆": 6, "柒": 7, "捌": 8, "玖": 9}
_UNITS = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_MYRIADS = {"万": 10_000, "萬": 10_000, "亿": 100_000_000, "億": 100_000_000}
# 廿 (20) and 卅 (30) are numerals of their own.
_TENS = {"廿": 20, "卅": 30}

#: Characters a Chinese numeral is made of, for character classes of patterns.
CHINESE_NUMERAL_CHARS = "".join([*_DIGITS, *_UNITS, *_MYRIADS, *_TENS])

_ROMAN = (
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
)


def chinese_to_int(text: str) -> int | None:
    """Value of a Chinese numeral, or ``None`` when the text is none.

    Positional forms (``二〇二四``) and spoken ones (``两千零三``, ``十一``, ``三百二``) are read.

    Args:
        text: The numeral alone, without 第 or a unit word.

    Example:
        >>> [chinese_to_int(word) for word in ("十一", "一百零三", "两千", "二〇二四", "三百二")]
        [11, 103, 2000, 2024, 320]
        >>> chinese_to_int("十条") is None
        True
    """
    if not text or len(text) > 40 or any(char not in CHINESE_NUMERAL_CHARS for char in text):
        return None
    if all(char in _DIGITS for char in text):
        return int("".join(str(_DIGITS[char]) for char in text))
    return _spoken(text)


def _spoken(text: str) -> int:
    total = section = digit = 0
    unit = 1
    for char in text:
        if char in _DIGITS:
            digit = _DIGITS[char]
            # After 零 a lone digit counts ones (二百零三), not the next lower unit (二百三).
            unit = 10 if digit == 0 else unit
        elif char in _TENS:
            section, digit, unit = section + _TENS[char], 0, 10
        elif char in _UNITS:
            unit = _UNITS[char]
            section, digit = section + (digit or 1) * unit, 0
        else:
            myriad = _MYRIADS[char]
            if myriad > 10_000:
                total = (total + section + digit) * myriad
            else:
                total += (section + digit or 1) * myriad
            section, digit, unit = 0, 0, myriad
    return total + section + digit * (unit // 10 if unit > 10 else 1)


def int_to_chinese(value: int) -> str:
    """Chinese numeral of an integer, as statutes write it.

    Args:
        value: 0 to 99,999,999.

    Raises:
        ValueError: For a value outside that range.

    Example:
        >>> [int_to_chinese(value) for value in (0, 11, 103, 110, 2000, 10_001)]
        ['零', '十一', '一百零三', '一百一十', '二千', '一万零一']
    """
    if not 0 <= value < 100_000_000:
        raise ValueError(f"no Chinese numeral for {value}: outside 0 to 99,999,999")
    if value < 10:
        return "零一二三四五六七八九"[value]
    high, low = divmod(value, 10_000)
    if high:
        gap = "零" if 0 < low < 1000 else ""
        return f"{int_to_chinese(high)}万{gap}{_below_myriad(low) if low else ''}"
    return _below_myriad(low).removeprefix("一") if low < 20 else _below_myriad(low)


def _below_myriad(value: int) -> str:
    out = ""
    gap = False
    for unit, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, value = divmod(value, unit)
        if digit:
            out += ("零" if gap else "") + "零一二三四五六七八九"[digit] + name
        gap = not digit and bool(out)
    return out


def roman_to_int(text: str) -> int | None:
    """Value of a Roman numeral in its regular form, or ``None`` when the text is none.

    Example:
        >>> roman_to_int("XIV"), roman_to_int("iv"), roman_to_int("IIII")
        (14, 4, None)
    """
    upper = text.upper()
    if not upper or len(upper) > 15 or any(char not in "MDCLXVI" for char in upper):
        return None
    total, rest = 0, upper
    for value, sign in _ROMAN:
        while rest.startswith(sign):
            total, rest = total + value, rest[len(sign) :]
    # Only the regular spelling counts: "IIII" and "VX" are words or faults.
    return total if int_to_roman(total) == upper else None


def int_to_roman(value: int) -> str:
    """Roman numeral of a positive integer, in capitals.

    Example:
        >>> int_to_roman(1994)
        'MCMXCIV'
    """
    out = ""
    for number, sign in _ROMAN:
        count, value = divmod(value, number)
        out += sign * count
    return out


def letter_to_int(text: str) -> int | None:
    """Place of one letter of the Latin alphabet, counted from 1.

    Example:
        >>> letter_to_int("B"), letter_to_int("ab")
        (2, None)
    """
    if len(text) != 1 or not ("a" <= text.lower() <= "z"):
        return None
    return ord(text.lower()) - ord("a") + 1


def numeral_to_int(text: str) -> int | None:
    """Value of a numeral in digits (full-width too), Chinese, circled or Roman form.

    Example:
        >>> [numeral_to_int(word) for word in ("12", "１２", "十二", "⑫", "XII", "twelve")]
        [12, 12, 12, 12, 12, None]
    """
    plain = unicodedata.normalize("NFKC", text).strip().strip("()")
    if plain.isascii() and plain.isdigit():
        return int(plain) if len(plain) <= 9 else None
    found = chinese_to_int(plain)
    return roman_to_int(plain) if found is None else found
