"""Headings without a number: labels, bracketed and bold lines, capitals, short lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from llama_index_semxpath.node_parser.lines import Line
from llama_index_semxpath.node_parser.numbering import split_number
from llama_index_semxpath.node_parser.series import is_title

_NAMED = re.compile(
    r"(?:abstract|preface|foreword|introduction|summary|executive summary|acknowledge?ments?|"
    r"references|bibliography|glossary|conclusions?|appendix|appendices|annexes|index|epilogue|"
    r"prologue|notes|table of contents|contents|"
    r"摘\s*要|前\s*言|引\s*言|序\s*言?|绪\s*论|导\s*论|结\s*论|结\s*语|总\s*结|参考文献|致\s*谢|"
    r"后\s*记|附\s*录|目\s*[录次]|术语表|概\s*述|说\s*明)[:：]?",
    re.IGNORECASE,
)
_LABEL = re.compile(r"([^\s:：][^:：\n]{0,59}?)\s*[:：]")
_BRACKETED = re.compile(r"[【\[〔][^【】\[\]〔〕]{1,30}[】\]〕]")
_UNDERLINE = re.compile(r"([=\-~^*#+\"'`])\1{2,}")
# Room left for a hand to fill in.
_BLANK = re.compile(r"_{4,}|＿{3,}|[（(]\s*(?:签字|签章|盖章|签名)\s*[)）]")
_STOP = re.compile(r"[，。；！？,;!?]|\. ")


@dataclass(frozen=True, slots=True)
class Title:
    """An unnumbered heading.

    Args:
        line: Index of its line.
        kind: ``underlined``, ``named``, ``label``, ``sublabel``, ``bracket``, ``bold``, ``caps``
            or ``short``.
        title: The heading as a reader sees it.
        rest: Offset in the line where text that follows a label starts; 0 for none.
        rank: Level among the unnumbered headings, 1 and up.
        confidence: 0 to 1.
        lines: How many lines it takes (an underline is one of them).
    """

    line: int
    kind: str
    title: str
    rest: int = 0
    rank: int = 1
    confidence: float = 0.7
    lines: int = 1


def underlined_titles(lines: Sequence[Line]) -> list[Title]:
    """Lines underlined with a run of ``=``, ``-``, ``~`` … as long as they are.

    Example:
        >>> underlined_titles([Line("Scope"), Line("=====")])[0].title
        'Scope'
    """
    out = []
    order: list[str] = []
    for i in range(len(lines) - 1):
        line, under = lines[i], lines[i + 1]
        match = _UNDERLINE.fullmatch(under.text)
        if match is None or line.chunk != under.chunk or _UNDERLINE.fullmatch(line.text):
            continue
        # A rule between paragraphs is longer or shorter than the words above it.
        if abs(_columns(line.text) - len(under.text)) > 2 or (
            i and lines[i - 1].chunk == line.chunk
        ):
            continue
        if match[1] not in order:
            order.append(match[1])
        rank = order.index(match[1]) + 1
        out.append(Title(i, "underlined", line.text, rank=rank, confidence=0.95, lines=2))
    return out


def _columns(text: str) -> int:
    return sum(2 if ord(char) > 0x2E7F else 1 for char in text)


def label_of(text: str) -> tuple[str, int] | None:
    """The label that a line starts with and the offset of what follows it.

    Example:
        >>> label_of("Chief Complaint:"), label_of("主诉：发热3天"), label_of("Note that: x")[0]
        (('Chief Complaint', 16), ('主诉', 3), 'Note that')
        >>> label_of("http://a.example") is None
        True
    """
    match = _LABEL.match(text)
    if match is None or _STOP.search(match[1]) or text.startswith("//", match.end()):
        return None
    label = match[1].strip()
    wide = sum(ord(char) > 0x2E7F for char in label)
    fits = len(label) <= 12 if wide * 2 > len(label) else len(label.split()) <= 6
    starts = label[0].isupper() or ord(label[0]) > 0x2E7F
    return (label, match.end()) if fits and starts else None


def label_titles(lines: Sequence[Line]) -> list[Title]:
    """``Label:`` lines that head what follows them, where a source is built of such lines.

    A label alone on the first line of a paragraph is a heading, one further down a heading below
    it. Where such headings exist, a paragraph of one line ``Label: text`` beside them is one too.
    """
    heads: list[Title] = []
    inline: list[Title] = []
    for i, line in enumerate(lines):
        found = None if line.block is not None else label_of(line.text)
        if any(_BLANK.search(near.text) for near in lines[i : i + 2]):
            continue
        if found is None or split_number(line.text) is not None:
            continue
        rest = found[1]
        label = line.text[:rest]
        first = i == 0 or lines[i - 1].chunk != line.chunk
        last = i + 1 == len(lines) or lines[i + 1].chunk != line.chunk
        if rest < len(line.text):
            if first and last:
                inline.append(Title(i, "label", label, rest, confidence=0.6))
        elif i + 1 < len(lines) and not (lines[i + 1].bullet and last is False):
            rank = 1 if first else 2
            heads.append(Title(i, "label", label, rank=rank, confidence=0.75))
    tops = [head for head in heads if head.rank == 1]
    if len(tops) < 2:
        return []
    return sorted(heads + inline, key=lambda title: title.line)


def bracket_titles(lines: Sequence[Line]) -> list[Title]:
    """Lines that are 【…】 or start with it, where the source has at least two.

    Example:
        >>> [t.title for t in bracket_titles([Line("【主诉】"), Line("【现病史】发热")])]
        ['【主诉】', '【现病史】']
    """
    out = []
    for i, line in enumerate(lines):
        match = _BRACKETED.match(line.text) if line.block is None else None
        if match is not None and line.text[0] in "【〔":
            rest = match.end() if match.end() < len(line.text) else 0
            out.append(Title(i, "bracket", match[0], rest, confidence=0.8))
    return out if len(out) >= 2 else []


def standalone_titles(lines: Sequence[Line], *, strict: bool) -> list[Title]:
    """Paragraphs of one short line that stand before text: bold, capitals, or plain words.

    Args:
        lines: The lines.
        strict: Take only those set apart by more than their shortness (names such as "Preface",
            bold, capitals), as in a source that numbers its headings.
    """
    out = []
    for i, line in enumerate(lines):
        if line.block is not None or line.bullet or not _alone(lines, i) or i + 1 == len(lines):
            continue
        near = lines[i : i + (1 if line.bold else 3)]
        if any(_BLANK.search(other.text) for other in near):
            continue  # a form to be filled in, or signatures
        if _NAMED.fullmatch(line.text):
            out.append(Title(i, "named", line.text, confidence=0.9))
        elif line.bold and len(line.text) <= 150 and line.text[-1] not in "。.；;，,":
            out.append(Title(i, "bold", line.text, confidence=0.8))
        elif not is_title(line.text) or split_number(line.text) is not None:
            continue
        elif is_capitals(line.text):
            out.append(Title(i, "caps", line.text, confidence=0.75))
        elif not strict and _heads_text(lines, i):
            out.append(Title(i, "short", line.text, confidence=0.6))
    return out


def _alone(lines: Sequence[Line], i: int) -> bool:
    before = i == 0 or lines[i - 1].chunk != lines[i].chunk
    return before and (i + 1 == len(lines) or lines[i + 1].chunk != lines[i].chunk)


def is_capitals(text: str) -> bool:
    """Whether a line is set in capitals.

    Example:
        >>> is_capitals("TERMS OF USE"), is_capitals("Terms")
        (True, False)
    """
    letters = [char for char in text if char.isalpha()]
    return len(letters) >= 4 and all(char.isupper() for char in letters) and len(text) <= 80


def _heads_text(lines: Sequence[Line], i: int) -> bool:
    """Whether a short line is followed by text that is longer and reads as sentences."""
    text, after = lines[i].text, lines[i + 1]
    if not (text[0].isupper() or ord(text[0]) > 0x2E7F) or len(text) > 60:
        return False
    if label_of(text) is not None or _STOP.search(text) or after.block is not None:
        return False
    return len(after.text) > 2 * len(text) and bool(re.search(r"[。！？.!?;；:：]$", after.text))
