"""What "that one", "the second", "第二个" or "she" point to in a conversation.

They point to what was shown or named last. When more than one thing may be meant, the answer is
the candidates, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from llama_index_semxpath.memory.evidence import content_stems
from llama_index_semxpath.node_parser.numerals import CHINESE_NUMERAL_CHARS, chinese_to_int

_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth"),
    *("sixth", "seventh", "eighth", "ninth", "tenth"),
)
#: "The second day" is a place in a plan or a document, unless days were shown.
_PLACES = frozenset(
    [
        *("time", "times", "day", "week", "weekend", "month", "quarter", "year", "hour", "minute"),
        *("half", "part", "place", "thing", "step", "floor", "turn", "session", "version"),
        *("chapter", "section", "paragraph", "page", "line", "row", "column"),
    ]
)
_ANY = ("one", "option", "item", "result", "choice")
_ORDINAL = re.compile(
    rf"\bthe (?P<word>{'|'.join(_ORDINALS)}|last|previous|next)(?: (?P<from>to last))?"
    r"(?: (?P<noun>one|option|item|result|choice|[a-z]+))?\b"
    r"|\b(?:the )?(?P<digit>\d{1,3})(?:st|nd|rd|th)\b(?: (?:one|option|item|result))?"
    r"|(?:\b(?:number|option|item|result|no\.?) ?|#)(?P<number>\d{1,3})\b"
    rf"|(?P<back>倒数)?第(?P<zh>\d{{1,3}}|[{CHINESE_NUMERAL_CHARS}]{{1,4}})(?:个|条|项|家|份|位|种|款|天)?"
    r"|(?P<last>最后)(?:一)?(?:个|条|项|家|份|位|种|款)?",
    re.IGNORECASE,
)
_BOTH = re.compile(
    r"\bboth(?: of them)?\b|\ball (?:of (?:them|these|those)|three|four)\b|\b(?:these|those|them)\b"
    r"|(?:这|那)?(?:两个|两者|些|几个)(?:都)?|全部|它们",
    re.IGNORECASE,
)
_OTHER = re.compile(r"\bthe other(?: one)?\b|另(?:外)?一个", re.IGNORECASE)
_NAMED_ONE = re.compile(
    r"\bthe (?P<which>[a-z][a-z\- ]{1,30}?) one\b|(?P<zh>[\u4e00-\u9fff]{1,8})的(?:那|这)个",
    re.IGNORECASE,
)
_THAT = re.compile(
    r"\b(?:that|this)(?: (?:one|item|option|result))?\b(?! (?:is|was|i|you|he|she|we|they)\b)"
    r"|\bit\b"
    r"|(?:刚才|上面|前面|刚刚)?(?:说的|提到的)?(?:那|这)(?:一)?(?:个|条|项|家|份|位|种|款)|(?<![\u4e00-\u9fff])它",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Shown:
    """Something that the conversation showed.

    Args:
        id: Id of the node.
        label: What a person would call it: title, name or text.
        kind: Kind of the node.
    """

    id: str
    label: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Reference:
    """What a mention points to.

    Args:
        text: The mention as written.
        start: Its first character.
        end: The character after it.
        targets: What it points to, one or more.
        candidates: What it may point to, where that is not clear; then there are no targets.
    """

    text: str
    start: int
    end: int
    targets: tuple[Shown, ...] = ()
    candidates: tuple[Shown, ...] = ()

    @property
    def ambiguous(self) -> bool:
        """Whether the person must be asked."""
        return not self.targets


def resolve_references(
    text: str, shown: Sequence[Shown], *, chosen: str | None = None
) -> list[Reference]:
    """The mentions in a turn of what was shown before it.

    Args:
        text: The turn, English or Chinese.
        shown: What was shown last, in the order shown.
        chosen: Id of the one that was spoken of last, for "it" and "the other one".

    Returns:
        The mentions in order. An ordinal beyond what was shown is ambiguous among all.

    Example:
        >>> shown = [Shown("a", "Thai Palace"), Shown("b", "Pasta Bar"), Shown("c", "Sushi Go")]
        >>> [r.targets[0].id for r in resolve_references("the second, not the last one", shown)]
        ['b', 'c']
        >>> resolve_references("订第二个", shown)[0].targets[0].label
        'Pasta Bar'
        >>> [one.id for one in resolve_references("book that one", shown)[0].candidates]
        ['a', 'b', 'c']
    """
    if not shown:
        return []
    found: list[Reference] = []
    for pattern, reading in _READINGS:
        for match in pattern.finditer(text):
            if any(match.start() < one.end and one.start < match.end() for one in found):
                continue
            targets = reading(match, shown, chosen)
            if targets is None:
                continue
            unclear = () if targets else tuple(_of_kind(text, match.end(), shown))
            end = _end(match, targets)
            mention = text[match.start() : end]
            found.append(Reference(mention, match.start(), end, tuple(targets), unclear))
    return sorted(found, key=lambda one: one.start)


def with_labels(text: str, references: Sequence[Reference]) -> str:
    """The turn with its mentions replaced by what they point to, for a search.

    Example:
        >>> shown = [Shown("a", "Thai Palace"), Shown("b", "Pasta Bar")]
        >>> question = "when does the first close?"
        >>> with_labels(question, resolve_references(question, shown))
        'when does Thai Palace close?'
    """
    for one in sorted(references, key=lambda one: -one.start):
        if one.targets:
            labels = ", ".join(target.label for target in one.targets)
            tail = "" if text[one.end : one.end + 1] in (" ", "?", ".", ",", "!", "") else " "
            text = text[: one.start] + labels + tail + text[one.end :]
    return text


_PRONOUN = re.compile(
    r"\b(?:she|he|her|him|his|hers)\b"
    r"|(?<![\u4e00-\u9fff])[她他](?!们)|(?<=[把让给和跟与])[她他](?!们)",
    re.IGNORECASE,
)


def with_names(text: str, history: Sequence[str], names: Sequence[str]) -> str:
    """A question with "she" or "他" replaced by the person that was named last.

    Only where the question itself names nobody, and where the last turn that names anybody names
    just one person.

    Args:
        text: The question.
        history: The turns before it, oldest first.
        names: Persons that are known.

    Example:
        >>> with_names("Where does she work?", ["Tell me about Pia", "Sure."], ["Pia", "Ben"])
        'Where does Pia work?'
        >>> with_names("她在哪里工作？", ["王敏是谁？"], ["王敏", "李雷"])
        '王敏在哪里工作？'
    """
    if not _PRONOUN.search(text) or any(name in text for name in names):
        return text
    for turn in reversed(history):
        named = [name for name in names if name and name in turn]
        if len(named) == 1:
            return _PRONOUN.sub(partial(_as_form, name=named[0]), text)
        if named:
            return text
    return text


def _as_form(pronoun: re.Match[str], name: str) -> str:
    return f"{name}'s" if pronoun[0].lower() in ("his", "hers") else name


def _by_ordinal(
    match: re.Match[str], shown: Sequence[Shown], chosen: str | None
) -> Sequence[Shown] | None:
    word = (match["word"] or "").lower()
    noun = (match["noun"] or "").lower()
    of_kind = [one for one in shown if noun and noun.rstrip("s") == one.kind.lower()]
    if noun in _PLACES and not of_kind:
        return None
    shown = of_kind or shown
    if word in ("previous", "next"):
        places = [place for place, one in enumerate(shown) if one.id == chosen]
        step = 1 if word == "next" else -1
        if not places or not 0 <= places[0] + step < len(shown):
            return ()
        return (shown[places[0] + step],)
    if word in _ORDINALS and match["from"]:
        return _nth(-_ORDINALS.index(word) - 1, shown)
    if word:
        return _at(word, shown)
    if match["last"]:
        return (shown[-1],)
    digits = match["digit"] or match["number"] or match["zh"]
    number = int(digits) if digits.isdigit() else chinese_to_int(digits)
    return _nth(-number if match["back"] else number, shown) if number else ()


def _end(match: re.Match[str], targets: Sequence[Shown]) -> int:
    """Where the mention ends: a verb after "the first" is no part of it."""
    noun = (match.groupdict().get("noun") or "").lower()
    known = noun in _ANY or any(
        noun.rstrip("s") == one.kind.lower() or noun in one.label.lower() for one in targets
    )
    return match.end() if not noun or known else match.start("noun") - 1


def _at(word: str, shown: Sequence[Shown]) -> Sequence[Shown]:
    return (shown[-1],) if word == "last" else _nth(_ORDINALS.index(word) + 1, shown)


def _nth(number: int, shown: Sequence[Shown]) -> Sequence[Shown]:
    place = number - 1 if number > 0 else len(shown) + number
    return (shown[place],) if 0 <= place < len(shown) else ()


def _by_name(
    match: re.Match[str], shown: Sequence[Shown], chosen: str | None
) -> Sequence[Shown] | None:
    wanted = set(content_stems(match["which"] or match["zh"]))
    if not wanted:
        return None
    holding = [one for one in shown if wanted <= set(content_stems(one.label))]
    if match["zh"]:
        holding = holding or [one for one in shown if match["zh"] in one.label]
    return holding if len(holding) == 1 else None


def _by_all(
    match: re.Match[str], shown: Sequence[Shown], chosen: str | None
) -> Sequence[Shown] | None:
    if re.match("both|.?两", match[0], re.IGNORECASE) and len(shown) != 2:
        return ()
    return shown


def _by_other(
    match: re.Match[str], shown: Sequence[Shown], chosen: str | None
) -> Sequence[Shown] | None:
    rest = [one for one in shown if one.id != chosen]
    return rest if chosen is not None and len(rest) == 1 else ()


def _by_that(
    match: re.Match[str], shown: Sequence[Shown], chosen: str | None
) -> Sequence[Shown] | None:
    if chosen is not None:
        known = [one for one in shown if one.id == chosen]
        if known:
            return known
    return shown if len(shown) == 1 else ()


_READINGS = (
    (_ORDINAL, _by_ordinal),
    (_OTHER, _by_other),
    (_NAMED_ONE, _by_name),
    (_BOTH, _by_all),
    (_THAT, _by_that),
)


def _of_kind(text: str, end: int, shown: Sequence[Shown]) -> Sequence[Shown]:
    """Candidates of the kind that the mention names ("that restaurant"), or all."""
    following = text[end : end + 30].lower().split()
    named = [one for one in shown if following and one.kind.lower() == following[0].strip(".,?!")]
    return named or shown
