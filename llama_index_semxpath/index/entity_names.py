"""Canonical keys of entity names: variants of one name share a key, different names do not."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_QUOTES = "\"'`´‘’‚‛“”„‟«»‹›「」『』《》〈〉【】"
_TRAILING = ".,;:!?…。，、；：！？·"
_STRAIGHT = str.maketrans(dict.fromkeys("`´‘’‚‛", "'"))
# Between two digits a separator counts ("Unit 1 2" is not "Unit 12"), and at an end ("A-" is not
# "A"); elsewhere it does not.
_SEPARATORS = re.compile(r"(?<=\d)[\s_\-‐‑‒–—]+(?=\d)|(?<=\w)([\s_\-‐‑‒–—]+)(?=\w)")
_INITIALS = re.compile(r"(?<!\w)[^\W\d_](?:\.[^\W\d_])+(?!\w)")
#: Spelling of a company's legal form -> the form. Longer spellings first: the first match wins.
_FORMS: tuple[tuple[str, str], ...] = (
    ("股份有限公司", "joint-stock"),
    ("有限责任公司", "limited"),
    ("有限公司", "limited"),
    ("public limited company", "plc"),
    ("incorporated", "inc"),
    ("corporation", "corp"),
    ("limited", "limited"),
    ("co ltd", "limited"),
    ("coltd", "limited"),
    ("gmbh", "gmbh"),
    ("corp", "corp"),
    ("ltd", "limited"),
    ("inc", "inc"),
    ("llc", "llc"),
    ("plc", "plc"),
    ("ag", "ag"),
)


@dataclass(frozen=True, slots=True)
class NameKey:
    """The canonical form of a name.

    Args:
        full: Key of the whole name.
        base: Key without the legal form of a company; equal to ``full`` where there is none.
        form: The legal form (``limited``, ``inc`` …), ``""`` for none.
    """

    full: str
    base: str
    form: str


def canonical_key(name: str) -> str:
    """The key under which all variants of a name meet.

    Unicode NFKC, case folding, no quotation marks around it, no punctuation after it, no spaces,
    hyphens or underscores (except between two digits), initials without their dots. Numbers,
    plurals and word order are never touched: "Valve Unit 2" and "Valve Units" stay other names.

    Args:
        name: A name as a text spells it.

    Returns:
        The key; ``""`` only for a name without any visible character.

    Example:
        >>> {canonical_key(n) for n in ("VALVE  UNIT", "“Valve Unit”", "Ｖａｌｖｅ Unit.")}
        {'valveunit'}
        >>> canonical_key("Valve Unit 2"), canonical_key("C++"), canonical_key("U.S.")
        ('valveunit2', 'c++', 'us')
    """
    return _joined(_visible(name))


def name_key(name: str) -> NameKey:
    """The canonical key of a name, and the same without a company's legal form.

    Example:
        >>> name_key("Acme Ltd.").base, name_key("Acme, Limited").form
        ('acme', 'limited')
        >>> name_key("晨光有限公司").base
        '晨光'
    """
    text = _visible(name)
    full = _joined(text)
    words = " ".join(re.sub(r"[.,()]", " ", text).split())
    for spelling, form in _FORMS:
        if words.endswith(spelling):
            head = words[: -len(spelling)]
            # "Flag" does not end in the form "AG"; Chinese writes no space before the form.
            if head and (head[-1].isspace() or not spelling[0].isascii()):
                base = _joined(_stripped(head))
                if base:
                    return NameKey(full, base, form)
    return NameKey(full, full, "")


def _visible(name: str) -> str:
    """Folded text without quotation marks around it and punctuation after it."""
    text = unicodedata.normalize("NFKC", name)
    # Zero-width and bidi marks are not seen; control characters separate words.
    shown = "".join(
        " " if c in "\t\n\r\v\f" else c for c in text if unicodedata.category(c) != "Cf"
    )
    folded = unicodedata.normalize("NFKC", shown.casefold()).translate(_STRAIGHT)
    return _stripped(folded) or " ".join(folded.split())


def _stripped(text: str) -> str:
    before = None
    while before != text:
        before = text
        text = text.strip().strip(_QUOTES).rstrip(_TRAILING)
    return text


def _joined(text: str) -> str:
    text = _INITIALS.sub(lambda match: match.group().replace(".", ""), text)
    return _SEPARATORS.sub(lambda match: "" if match.group(1) else " ", text) or text
