"""Numbered headings: which numbered lines form running series, and how the series nest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from llama_index_semxpath.node_parser.numbering import Number, split_number

#: Units of documents from the outermost in; numbers without a unit are placed by appearance.
_RANKS = {
    "卷": 5,
    "册": 5,
    "volume": 5,
    "book": 6,
    "编": 8,
    "篇": 8,
    "part": 10,
    "部分": 10,
    "单元": 10,
    "unit": 10,
    "module": 10,
    "division": 10,
    "分编": 12,
    "subpart": 14,
    "title": 9,
    "章": 20,
    "回": 20,
    "讲": 20,
    "课": 20,
    "chapter": 20,
    "lesson": 20,
    "phase": 20,
    "subchapter": 25,
    "节": 30,
    # Statutes put sections above articles, contracts below them: equal, so appearance decides.
    "section": 40,
    "条": 40,
    "article": 40,
    "§": 40,
    "rule": 40,
    "clause": 45,
    "款": 50,
    "项": 60,
    "目": 70,
}
#: Units that stand beside the outermost headings of their document.
_ANNEXES = frozenset(
    {"appendix", "annex", "schedule", "exhibit", "attachment", "addendum"}
    | {"附则", "附录", "附件", "附表"}
)
#: Units whose text often follows the number on the same line.
RUN_IN = frozenset({"条", "article", "§", "rule", "clause"})
# "1.1 Terms. The words below …": a name that a sentence follows on the same line.
_NAMED_TEXT = re.compile(r"([A-Z][^.:;!?]{1,60}?)[.:]\s+(?=[A-Z(\"“])")
_STRONG = frozenset(_RANKS) | _ANNEXES

_REFERENCE_ZH = re.compile(
    r"\s?(?:规定|所|的|、|和|及|与|或|至|到|第|中|以|内|之|款|项|条|（[一二三四五六七八九十]+）项|，|。|；)"
)
_REFERENCE_EN = re.compile(
    r"(?:,|;|\)|of|and|or|to|in|is|are|was|were|shall|applies|apply|describes|above|below|for|"
    r"the|that|which|through|has|have|does|may|must|will|can|also|deals|covers|contains)\b|[,;)]",
)
_MEASURE = re.compile(
    r"(?:[a-z%°(]|[-–/×x*=<>+]|\d|jan|feb|mar|apr|may\b|june?\b|july?\b|aug|sep|oct|nov|dec|"
    r"mm|cm|km|kg|GB|MB|kB|KB|TB|kW|MW|Hz|MHz|GHz|EUR|USD|Nm\b|[VWA]\W*$|°)",
)
_MONTH = re.compile(
    r"(?:January|February|March|April|May|June|July|August|September|October|"
    r"November|December)\b(?:,?\s\d{4})?"
)
_END = re.compile(r"[。；，、,;.!！…]$")
# Text after the number of an article, as against its name.
_RUNS_ON = re.compile(r"[，,：:；]|^.{31,}$|^(?:\S+\s+){9,}|\s(?:shall|must|may|is|are)\s")
# How Chinese documents number the levels inside each other.
_INSIDE = {
    "一、": ("(一)", "1.", "1、"),
    "(一)": ("1.", "1、", "(1)"),
    "一.": ("(一)", "1.", "1、"),
}
_LIST_STYLES = re.compile(r"\(?[1AaIi一①](?:[.)、:]|$)")


@dataclass(slots=True)
class Candidate:
    """A line that starts with a number and may be a heading.

    Args:
        line: Index of the line.
        number: Its number.
        title: Whether what follows the number reads as a title (short, no sentence end).
        run_in: Whether the unit allows its text to follow on the same line.
        body: Whether running text comes between this candidate and the next.
        adjacent: Whether the line before belongs to the same paragraph.
        alone: Whether the line is a paragraph of its own.
        bold: Whether the source sets it apart (bold, larger).
        heads: Whether the next candidate counts inside it (1, then 1.1).
    """

    line: int
    number: Number
    title: bool
    run_in: bool = False
    body: bool = False
    adjacent: bool = False
    alone: bool = True
    bold: bool = False
    heads: bool = False


@dataclass(slots=True)
class _Level:
    style: str
    last: Candidate
    members: list[Candidate] = field(default_factory=list)


def read_candidate(index: int, text: str) -> Candidate | None:
    """The candidate that a line is by its own form, without regard to the others.

    Example:
        >>> read_candidate(0, "第十条规定的期限，自抄表之日起计算。") is None
        True
        >>> read_candidate(0, "3.5 mm bits are enough.") is None
        True
        >>> read_candidate(0, "第五条 年假").title
        True
    """
    number = split_number(text)
    if number is None:
        return None
    rest, style = number.rest, number.style
    if style in _STRONG and _is_reference(text, number):
        return None
    title = is_title(rest)
    if not rest:
        title = style in _STRONG
        return Candidate(index, number, True) if title else None
    if (
        style not in _STRONG
        and not number.spaced
        and len(number.parts) < 2
        and style[0] not in "(①"
    ):
        return None
    if style.startswith(("1", "A1")) and (_MEASURE.match(rest) or _MONTH.fullmatch(rest)):
        return None
    run_in = style in RUN_IN or named_text(number) > 0
    return Candidate(index, number, title and not (run_in and _RUNS_ON.search(rest)), run_in)


def named_text(number: Number) -> int:
    """Length of the name in front of the text that a numbered line goes on with; 0 for none.

    Example:
        >>> named_text(split_number("1.1 Terms. The words below have these meanings."))
        6
    """
    dotted = len(number.parts) > 1 or number.style in ("section", *RUN_IN)
    match = _NAMED_TEXT.match(number.rest) if dotted else None
    return match.end(1) + 1 if match and len(match[1].split()) <= 7 else 0


def _is_reference(text: str, number: Number) -> bool:
    """Whether a line starts by pointing at another place instead of naming its own."""
    after = text[len(number.written) :] if text.startswith(number.written) else number.rest
    if number.style[0].isascii():
        follows = after.lstrip()
        return bool(_REFERENCE_EN.match(follows)) or (follows[:1].islower())
    if after[:1].isspace() or not after:
        return bool(re.match(r"\s+(?:规定的|所称的?|所列)", after))
    return bool(_REFERENCE_ZH.match(after))


def is_title(text: str) -> bool:
    """Whether a text reads as a title: short, on one line, not ended like a sentence.

    Example:
        >>> is_title("Use of water"), is_title("为了节约用水，制定本条例。")
        (True, False)
    """
    if not text or _END.search(text) or "。" in text:
        return False
    wide = sum(ord(char) > 0x2E7F for char in text)
    if wide * 2 > len(text):
        return len(text) <= 40 and text.count("，") < 2
    return len(text) <= 100 and len(text.split()) <= 14 and ". " not in text


def accept(candidates: Sequence[Candidate]) -> list[tuple[Candidate, int]]:
    """Choose the candidates that form running series and give each its level.

    A walk keeps the open levels. A candidate continues an open series when its number is the next
    one (units such as 章 may jump forward: statutes are quoted in excerpts), opens a level below
    when it starts at one, and is text otherwise. A series whose members follow each other without
    text between them is a list, not a run of headings.

    Args:
        candidates: In document order.

    Returns:
        The accepted candidates with their levels, 1 and up, in document order.
    """
    for candidate, after in pairwise(candidates):
        inner = after.number
        candidate.heads = inner.parts[:-1] == candidate.number.parts != () or (
            candidate.title
            and inner.n == 1
            and inner.style in _INSIDE.get(candidate.number.style, ())
        )
    rest = _without_lists(candidates)
    accepted = _walk(rest)
    levels = _order_styles(accepted)
    return [(candidate, levels[_key(candidate.number)]) for candidate in accepted]


def _without_lists(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Drop runs 1, 2, 3 … of one weak style with no text between: items of a list."""
    out: list[Candidate] = []
    start = 0
    while start < len(candidates):
        end = start + 1
        while end < len(candidates) and _next_item(candidates[end - 1], candidates[end]):
            end += 1
        run = candidates[start:end]
        if not _is_list(run):
            out.extend(candidate for candidate in run if candidate.title or candidate.run_in)
        start = end
    return out


def _next_item(before: Candidate, after: Candidate) -> bool:
    a, b = before.number, after.number
    follows = a.style == b.style and a.parts[:-1] == b.parts[:-1] and (a.n or 0) + 1 == b.n
    return follows and not before.body and _weak(b.style)


def _is_list(run: Sequence[Candidate]) -> bool:
    if not _weak(run[0].number.style) or (len(run) < 2 and not run[0].adjacent):
        return False
    if len(run) == 1:
        # One item inside a paragraph: "…：\n1. only item".
        return not run[0].title
    # Headings of empty sections stand apart; items of a list follow line on line.
    packed = sum(candidate.adjacent for candidate in run[1:])
    if packed * 2 > len(run) - 1:
        return True
    return not all(candidate.title for candidate in run) or not run[-1].body


def _weak(style: str) -> bool:
    return style not in _STRONG and bool(_LIST_STYLES.match(style))


def _walk(candidates: Sequence[Candidate]) -> list[Candidate]:
    stack: list[_Level] = []
    accepted: list[Candidate] = []
    seen: dict[str, Number] = {}
    for candidate in candidates:
        number = candidate.number
        at = next((i for i, level in enumerate(stack) if level.style == _key(number)), None)
        if at is not None:
            fits = _continues(stack[at].last.number, number, parent=_parent(stack[:at]))
        else:
            fits = _opens(stack, candidate, seen)
            at = _place(stack, number)
        if not fits:
            other = number.other_reading()
            if other is None or not _fits_letter(stack, other):
                continue
            candidate.number = number = other
            at = next(i for i, level in enumerate(stack) if level.style == _key(number))
        del stack[at:]
        stack.append(_Level(_key(number), candidate))
        seen[_key(number)] = number
        accepted.append(candidate)
    return accepted


def _key(number: Number) -> str:
    """Series that a number belongs to: A.1 counts like 1.1, an annex like any other annex."""
    if number.style in _ANNEXES:
        return "annex"
    if number.style in ("section", "article") and len(number.parts) > 1:
        return ".".join("1" * len(number.parts))
    return number.style.removeprefix("A") if number.style.startswith("A1") else number.style


def _fits_letter(stack: list[_Level], number: Number) -> bool:
    return any(
        level.style == _key(number) and (level.last.number.n or 0) + 1 == number.n
        for level in stack
    )


def _parent(stack: list[_Level]) -> Number | None:
    return stack[-1].last.number if stack else None


def _continues(last: Number, number: Number, parent: Number | None) -> bool:
    if number.style in _ANNEXES or _is_dotted(number):
        return _advances(last, number, parent)
    before, now = last.n or 0, number.n or 0
    if number.style in _STRONG:
        # 第十二条之一 follows 第十二条; a second book starts again at one.
        return now > before or (now == before and (number.sub or 0) > (last.sub or 0)) or now == 1
    return before < now <= before + 1


def _is_dotted(number: Number) -> bool:
    return len(number.parts) > 1


def _advances(last: Number, number: Number, parent: Number | None) -> bool:
    if number.style in _ANNEXES:
        return last.style != number.style or (number.n or 0) > (last.n or 0)
    if number.parts[:-1] == last.parts[:-1]:
        return number.parts > last.parts
    return _below(parent, number)


def _below(parent: Number | None, number: Number) -> bool:
    """Whether a dotted number names a place inside its parent: 2.1 in 2, A.1 in Appendix A."""
    if parent is None:
        return True
    prefix = number.parts[:-1]
    if parent.style in _RANKS and parent.style not in ("section", "article"):
        return parent.n == prefix[0] or len(prefix) == len(parent.parts)
    return parent.parts == prefix


def _opens(stack: list[_Level], candidate: Candidate, seen: dict[str, Number]) -> bool:
    number = candidate.number
    if number.style in _STRONG:
        return True
    if _is_dotted(number):
        above = _parent(stack[: _place(stack, number)])
        return _below(above, number) and (above is not None or not stack or number.n in (0, 1))
    # "3. Price" may open Part II: some sources number through their parts.
    before = seen.get(_key(number))
    follows = before is not None and number.n == (before.n or 0) + 1
    stands = candidate.alone or candidate.body or candidate.bold or candidate.heads
    return stands and (number.n in (0, 1) or follows)


def _place(stack: list[_Level], number: Number) -> int:
    """Where in the stack of open levels a number of a new style belongs."""
    rank = _rank(number)
    for i, level in enumerate(stack):
        other = _rank(level.last.number)
        if rank is not None and other is not None and other >= rank:
            return i
    return len(stack)


def _rank(number: Number) -> float | None:
    key = _key(number)
    if key == "annex":
        return 0.0
    if set(key) <= {"1", "."}:
        return 100.0 + key.count("1")
    if number.style in _RANKS:
        return float(_RANKS[number.style])
    return None


def _order_styles(accepted: Sequence[Candidate]) -> dict[str, int]:
    """Level of every series: units by their rank, the rest by where they first appear."""
    order: list[str] = []
    ranks: dict[str, float | None] = {}
    current: str | None = None
    for candidate in accepted:
        key = _key(candidate.number)
        if key == "annex":
            current = None
            continue
        if key not in ranks:
            ranks[key] = _rank(candidate.number)
            order.insert(_slot(order, ranks, key, current), key)
        current = key
    levels = {key: index + 1 for index, key in enumerate(order)}
    # An annex stands beside the outermost headings.
    return levels | {"annex": 1}


def _slot(order: list[str], ranks: dict[str, float | None], key: str, current: str | None) -> int:
    rank = ranks[key]
    slot = order.index(current) + 1 if current is not None else len(order)
    if rank is None:
        return slot
    outer = [i for i, other in enumerate(order) if (ranks[other] or 1e9) < rank]
    inner = [i for i, other in enumerate(order) if (ranks[other] or 0.0) > rank]
    if rank < 100 and (outer or rank < 30):
        # Units keep their rank whatever stands between: 节 goes right below 章.
        beside = current is not None and ranks[current] == rank
        slot = slot if beside else outer[-1] + 1 if outer else 0
    return min([max([slot, *(i + 1 for i in outer)]), *inner])
