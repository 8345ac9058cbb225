"""What a person asks of a plan, read by rules: add, move, delete, change, swap, compare, show.

English and Chinese. A rule gives words, never SemXPath: names are looked up as data.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_I = re.IGNORECASE
#: Most characters of a request that rules read; what is longer is no short order.
_LONGEST = 500
_TIME = r"(?P<time>\d{1,2}[:：]\d{2}(?:\s*[ap]m)?|\d{1,2}\s*[ap]m)"


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it was read.

    Args:
        act: ``add``, ``move``, ``delete``, ``set``, ``rename``, ``replace``, ``swap``, ``undo``,
            ``compare``, ``show`` or ``create``.
        name: What it is about, in the person's words.
        other: A second thing: what to swap with, or the new name.
        where: ``into``, ``before`` or ``after``.
        anchor: The place, in the person's words.
        attribute: Attribute to set.
        value: Its new value.
        numbers: Versions to compare, or a count.
    """

    act: str
    name: str = ""
    other: str = ""
    where: str = "into"
    anchor: str = ""
    attribute: str = ""
    value: str = ""
    numbers: tuple[int, ...] = ()


_RULES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (act, re.compile(pattern, _I | re.DOTALL))
    for act, pattern in (
        ("undo", r"(?:please )?(?:undo|revert|take (?:that|it) back)\b.*|撤销.*|撤回.*"),
        (
            "compare",
            r"(?:compare|diff)\b.*?(?P<a>\d+)\D+(?P<b>\d+)\D*"
            r"|(?:compare|diff|what (?:has )?changed).*?"
            r"|比较.*?(?P<c>\d+)\D+(?P<d>\d+).*|.*(?:有什么变化|改了什么).*",
        ),
        (
            "create",
            r"(?:create|make|start) (?:an? )?(?:new )?(?P<kind>\w+)(?: (?:called|named|for))? "
            r"(?P<name>.+?)(?: (?:with|of) (?P<count>\d{1,3}) (?P<child>\w+?)s?)?"
            r"|(?:新建|创建)(?P<name2>.+?)(?:，?共?(?P<count2>\d{1,3})天)?",
        ),
        ("swap", r"(?:swap|exchange) (?P<name>.+?) (?:and|with|for) (?P<other>.+)"
                 r"|(?:交换|对调)(?P<name2>.+?)[和与](?P<other2>.+)"),
        (
            "set",
            r"(?:change|set|update) (?:the )?(?P<attribute>[\w -]+?) (?:of|for) (?P<name>.+?) to "
            r"(?P<value>.+)|把(?P<name2>.+?)的(?P<attribute2>.{1,12}?)(?:改成|改为|设为)(?P<value2>.+)",
        ),
        ("rename", r"rename (?P<name>.+?) (?:to|into|as) (?P<other>.+)"),
        (
            "replace",
            r"(?:replace|change) (?P<name>.+?) (?:with|by|to|into) (?P<other>.+)"
            r"|把(?P<name2>.+?)(?:换成|改成|改为)(?P<other2>.+)",
        ),
        (
            "move",
            r"(?:move|put|shift) (?P<name>.+?) (?P<where>to|into|onto|on|before|after) "
            r"(?P<anchor>.+)"
            r"|把(?P<name2>.+?)(?:移|挪|放)到(?P<anchor2>.+?)(?P<where2>之?前面?|之?后面?)?",
        ),
        ("delete", r"(?:delete|remove|drop|cancel|forget) (?P<name>.+)"
                   r"|(?:删除|删掉|取消|去掉|移除)(?P<name2>.+)|把(?P<name3>.+?)(?:删除|删掉|去掉)"),
        (
            "add",
            r"(?:add|insert|schedule) (?P<name>.+?)"
            r"(?: (?P<where>to|into|on|in|before|after) (?P<anchor>.+?))?"
            rf"(?:,? at {_TIME})?"
            r"|在(?P<anchor2>.+?)(?P<where2>之?前面?|之?后面?|里|中)?(?:加上?|添加|增加|安排)(?P<name2>.+)",
        ),
        ("show", r"(?:show|list|what(?:'s| is)(?: planned)?(?: on| in| for)?)(?: me)? ?(?P<name>.*)"
                 r"|(?:显示|查看|看看)(?P<name2>.*)"),
    )
)  # fmt: skip
_QUOTED = re.compile(r"(?<!\w)'(.+?)'(?!\w)|\"(.+?)\"|“(.+?)”|‘(.+?)’|「(.+?)」|《(.+?)》")
#: First of the private characters that stand for what is quoted.
_HIDDEN = 0xE000
_POLITE = re.compile(r"^(?:please|could you|can you|then|now|请|帮我|麻烦)[,， ]*", _I)
_ARTICLE = re.compile(r"^(?:the|a|an|my|our) ", _I)
_PLACES = {"before": "before", "after": "after", "前": "before", "后": "after"}


def read_request(text: str) -> Request | None:
    """The request that a text makes, ``None`` where no rule reads it.

    Example:
        >>> read_request("Please move the river walk before lunch.")
        Request(act='move', name='river walk', other='', where='before', anchor='lunch', \
attribute='', value='', numbers=())
        >>> read_request("把江边散步移到第2天").anchor
        '第2天'
    """
    if len(text) > _LONGEST:
        return None
    plain = " ".join(text.split()).rstrip(".!。！?？")
    while (shorter := _POLITE.sub("", plain)) != plain:
        plain = shorter
    # What stands in quotes is one name, whatever words are in it.
    quoted: list[str] = []

    def hide(found: re.Match[str]) -> str:
        quoted.append(next(group for group in found.groups() if group))
        return chr(_HIDDEN + len(quoted) - 1)

    plain = _QUOTED.sub(hide, plain)
    for act, pattern in _RULES:
        found = pattern.fullmatch(plain)
        if found is not None:
            return _request(act, found, quoted)
    return None


def _request(act: str, found: re.Match[str], quoted: Sequence[str]) -> Request:
    parts = {key: _shown(value, quoted) for key, value in found.groupdict().items() if value}

    def part(name: str) -> str:
        for key in (name, f"{name}2", f"{name}3"):
            if key in parts:
                return _ARTICLE.sub("", parts[key].strip())
        return ""

    where = next((place for word, place in _PLACES.items() if word in part("where")), "into")
    if act == "compare":
        pair = [parts[key] for key in ("a", "b", "c", "d") if key in parts]
        return Request(act, numbers=tuple(map(int, pair)))
    if act == "create":
        count = part("count")
        return Request(
            act, part("name"), attribute=part("kind") or "Plan", value=part("child") or "Day",
            numbers=(int(count),) if count else (),
        )  # fmt: skip
    if act == "add":
        return Request(act, part("name"), where=where, anchor=part("anchor"), value=part("time"))
    attribute = part("attribute").replace(" ", "_")
    return Request(
        act, part("name"), part("other"), where, part("anchor"), attribute, part("value")
    )


def _shown(text: str, quoted: Sequence[str]) -> str:
    return "".join(
        quoted[ord(char) - _HIDDEN] if 0 <= ord(char) - _HIDDEN < len(quoted) else char
        for char in text
    )


_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7,
    "eighth": 8, "ninth": 9, "tenth": 10, "last": -1, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4,
    "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10, "最后": -1,
}  # fmt: skip
_PLACE = re.compile(
    r"(?:the )?(?:(?P<kind>\w+?) ?#?(?P<number>\d{1,4})|(?P<word>\w+) (?P<kind2>\w+)"
    r"|第(?P<zh>[\d一二两三四五六七八九十]+)个?(?P<zh_kind>\w+)|(?P<zh_last>最后一?)个?(?P<zh_kind2>\w+))",
    _I,
)
_CHOICE = re.compile(
    r"(?:the )?(?:(?P<number>\d{1,3})(?:st|nd|rd|th)?"
    r"|(?P<word>first|second|third|fourth|fifth|last)"
    r"|第(?P<zh>[\d一二两三四五六七八九十]+)个?)(?: one| of them)?",
    _I,
)


def read_place(text: str) -> tuple[str, int] | None:
    """Kind and number of a place such as "day 2", "the last day", "第二天".

    Example:
        >>> read_place("day 2"), read_place("the last day"), read_place("第二天")
        (('day', 2), ('day', -1), ('天', 2))
        >>> read_place("river walk") is None
        True
    """
    found = _PLACE.fullmatch(text.strip())
    if found is None:
        return None
    if found["number"]:
        return found["kind"], int(found["number"])
    if found["zh"]:
        return found["zh_kind"], _number(found["zh"])
    if found["zh_last"]:
        return found["zh_kind2"], -1
    number = _ORDINALS.get(found["word"].lower())
    return None if number is None else (found["kind2"], number)


def read_choice(text: str) -> int | None:
    """The number of the candidate that an answer picks: "the second", "2", "第二个"; -1 the last.

    Example:
        >>> read_choice("the second one."), read_choice("3"), read_choice("the walk")
        (2, 3, None)
    """
    found = _CHOICE.fullmatch(text.strip().rstrip(".。!！"))
    if found is None:
        return None
    if found["number"]:
        return int(found["number"])
    return _ORDINALS[found["word"].lower()] if found["word"] else _number(found["zh"])


def _number(text: str) -> int:
    if text.isdecimal():
        return int(text)
    if "十" in text:
        tens, _, ones = text.partition("十")
        return _ORDINALS.get(tens, 1) * 10 + _ORDINALS.get(ones, 0)
    return _ORDINALS.get(text, 0)
