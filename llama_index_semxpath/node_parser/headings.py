"""Heading recovery: where a source does not mark its headings, find them and give them levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from llama_index_semxpath.node_parser.blocks import Block
from llama_index_semxpath.node_parser.contents import contents_lines, is_contents_title
from llama_index_semxpath.node_parser.lines import Line
from llama_index_semxpath.node_parser.numbering import Number, number_attributes, split_number
from llama_index_semxpath.node_parser.options import HeadingHook
from llama_index_semxpath.node_parser.series import (
    RUN_IN,
    Candidate,
    accept,
    is_title,
    named_text,
    read_candidate,
)
from llama_index_semxpath.node_parser.titles import (
    Title,
    bracket_titles,
    is_capitals,
    label_titles,
    standalone_titles,
    underlined_titles,
)

_STRONG, _DOTTED, _WEAK = 0.95, 0.9, 0.8
_LONGEST_TITLE = 120
_BRACKET_OPEN = "【〔[(（"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that was found.

    Args:
        line: Index of its first line.
        level: 1 and up.
        title: As a reader sees it, number included.
        rest: Offset in the line where the text of the section starts; 0 when the line is all title.
        lines: How many lines it takes.
        confidence: 0 to 1.
    """

    line: int
    level: int
    title: str
    rest: int = 0
    lines: int = 1
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Outline:
    """What was found in the lines of a source.

    Args:
        headings: In document order.
        titles: How many lines at the start are the title of the whole document.
    """

    headings: list[Heading]
    titles: int = 0


def find_outline(
    lines: Sequence[Line],
    hook: HeadingHook | None = None,
    *,
    bold_only: bool = False,
    strict: bool = False,
) -> Outline:
    """Headings of a text that marks none, and its title.

    Numbered lines that form running series come first, then underlined lines; labels, bracketed
    lines and short lines count where the source has no series, names ("Preface"), bold lines and
    capitals also where it has.

    Args:
        lines: The lines, hard wraps undone.
        hook: Asked to settle the result, for an LLM; ``None`` asks nobody.
        bold_only: Take bold lines only, as in a source that marks some of its headings.
        strict: Take no label, bracket or short line.

    Example:
        >>> [(h.level, h.title) for h in find_outline([Line("第一章 总则", chunk=0),
        ...  Line("第一条 为了节约用水，制定本条例。", chunk=1)]).headings]
        [(1, '第一章 总则'), (2, '第一条')]
    """
    skip = contents_lines(lines)
    if bold_only:
        skip |= {i for i, line in enumerate(lines) if not line.bold}
    numbered = _numbered(lines, skip)
    taken = {heading.line + k for heading in numbered for k in range(heading.lines)} | skip
    titles = [t for t in underlined_titles(lines) if t.line not in taken]
    titles = titles or _unnumbered(lines, taken, bool(numbered) or bold_only or strict)
    count = 0 if bold_only else _title_count(lines, numbered, titles)
    found = _merge(lines, numbered, [title for title in titles if title.line >= count])
    return Outline(found if hook is None else _ask(lines, found, hook), count)


def _title_count(
    lines: Sequence[Line], numbered: Sequence[Heading], titles: Sequence[Title]
) -> int:
    """How many lines at the start are the title of the whole document."""
    firm = [t.line for t in titles if t.kind not in ("bold", "caps", "short")]
    first = min([len(lines) - 1, *firm, *(heading.line for heading in numbered)])
    count = _title_chunk(lines, first)
    loud = {title.line for title in titles if title.kind in ("bold", "caps")}
    run = count
    while run < first and run in loud and lines[run].size >= lines[0].size - 0.5:
        run += 1
    # The last of several loud lines heads the text that follows it, unless all such lines stand
    # here or a numbered heading follows.
    heads = max(count, 1) < run < first and max(loud) > run
    return max(count, run - 1 if heads else run)


def _title_chunk(lines: Sequence[Line], first: int) -> int:
    count = 0
    while count < min(first, 3):
        line = lines[count]
        if line.block is not None or line.bullet or line.chunk != lines[0].chunk:
            break
        if not is_title(line.text) or len(line.text) > 80 or any(c in line.text for c in ":：\t"):
            break
        if split_number(line.text) is not None or line.text[0].islower():
            break
        if is_contents_title(line.text) or (count and line.text[0] in "(（"):
            break  # "(adopted on …)" below a title is not part of it
        count += 1
    # A first paragraph of short lines without end is verse or an address, not a title.
    if sum(len(line.text) for line in lines[:count]) > _LONGEST_TITLE:
        return 0
    together = count < len(lines) and lines[count].chunk == lines[0].chunk
    return 0 if count == 3 and together else count


def _numbered(lines: Sequence[Line], skip: set[int]) -> list[Heading]:
    candidates: list[Candidate] = []
    for i, line in enumerate(lines):
        if i in skip or line.block is not None:
            continue
        found = read_candidate(i, line.text)
        if found is not None:
            found.adjacent = i > 0 and lines[i - 1].chunk == line.chunk
            follows = i + 1 < len(lines) and lines[i + 1].chunk == line.chunk
            found.alone, found.bold = not found.adjacent and not follows, line.bold
            candidates.append(found)
    for k, candidate in enumerate(candidates):
        after = candidates[k + 1].line if k + 1 < len(candidates) else len(lines)
        candidate.body = after > candidate.line + 1
    return [_heading(lines, candidate, level) for candidate, level in accept(candidates)]


def _heading(lines: Sequence[Line], candidate: Candidate, level: int) -> Heading:
    i, number = candidate.line, candidate.number
    text = lines[i].text
    confidence = _WEAK
    if number.style in RUN_IN or not number.style[0].isascii() or number.style[0].islower():
        confidence = _STRONG
    elif len(number.parts) > 1:
        confidence = _DOTTED
    if not number.rest and _names_next(lines, i, strict=number.style in RUN_IN):
        title = f"{text} {lines[i + 1].text}"
        return Heading(i, level, title, lines=2, confidence=confidence)
    if candidate.run_in and not candidate.title:
        end = _title_end(text, number)
        return Heading(
            i, level, text[:end].rstrip(" 　:：.、"), rest=_skip(text, end), confidence=confidence
        )
    return Heading(i, level, text, confidence=confidence)


def _title_end(text: str, number: Number) -> int:
    """End of a run-in heading: the number and the name that stands in brackets or before a stop."""
    end = number.end
    if named := named_text(number):
        return end + named
    if text[end : end + 1] and text[end] in _BRACKET_OPEN:
        close = {"【": "】", "〔": "〕", "[": "]", "(": ")", "（": "）"}[text[end]]
        stop = text.find(close, end, end + 40)
        if stop > 0 and split_number(text[end:]) is None:
            return stop + 1
    return end


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t　:：":
        at += 1
    return at


def _names_next(lines: Sequence[Line], i: int, *, strict: bool) -> bool:
    """Whether the line after "CHAPTER 4" is the name of the chapter.

    An article (``strict``) as often has text there: its name must close the paragraph.
    """
    if i + 2 >= len(lines):
        return False
    line = lines[i + 1]
    if line.block is not None or line.bullet or split_number(line.text) is not None:
        return False
    together = lines[i].chunk == line.chunk
    ends = lines[i + 2].chunk != line.chunk
    if strict and not (together and ends and is_capitals(line.text)):
        return False
    ends = ends or together
    return is_title(line.text) and len(line.text) <= 60 and ends and not line.text[0].islower()


def _unnumbered(lines: Sequence[Line], taken: set[int], has_numbers: bool) -> list[Title]:
    found = {title.line: title for title in standalone_titles(lines, strict=has_numbers)}
    if not has_numbers:
        marked = bracket_titles(lines) or label_titles(lines)
        if marked:
            found = {k: t for k, t in found.items() if t.kind in ("named", "bold")}
        found |= {title.line: title for title in marked}
    kept = [t for k, t in sorted(found.items()) if k not in taken]
    if sum(title.kind == "short" for title in kept) < 2:
        kept = [title for title in kept if title.kind != "short"]
    return [title for title in _without_runs(kept) if not is_contents_title(title.title)]


def _without_runs(titles: Sequence[Title]) -> list[Title]:
    """Drop three and more loud lines on end after the start: signatures, not headings."""
    out: list[Title] = []
    start = 0
    while start < len(titles):
        end = start + 1
        while end < len(titles) and titles[end].line == titles[end - 1].line + 1:
            end += 1
        run = titles[start:end]
        loud = all(title.kind in ("bold", "caps") for title in run)
        if len(run) < 3 or not loud or run[0].line == 0:
            out.extend(run)
        start = end
    return out


def _merge(
    lines: Sequence[Line], numbered: Sequence[Heading], titles: Sequence[Title]
) -> list[Heading]:
    """One list in document order; an unnumbered heading inside a numbered one goes below it."""
    kinds = [kind for kind in ("caps", "bold", "short") if any(t.kind == kind for t in titles)]
    out = list(numbered)
    levels = sorted((heading.line, heading.level) for heading in numbered)
    bold = [title.line for title in titles if title.kind == "bold"]
    sizes = sorted({lines[line].size for line in bold if lines[line].size}, reverse=True)
    for title in titles:
        level = title.rank
        if title.kind in kinds:
            level += kinds.index(title.kind)
            # Of lines set apart the larger ones stand above the smaller.
            if title.kind == "bold":
                size = lines[title.line].size
                level += sizes.index(size) if size else len(sizes)
            elif title.kind == "short":
                level += len(sizes)
        if title.kind in ("caps", "bold", "short"):
            before = [item for at, item in levels if at < title.line]
            if before:
                level += before[-1]
        out.append(
            Heading(title.line, level, title.title, title.rest, title.lines, title.confidence)
        )
    return _compact(sorted(out, key=lambda heading: heading.line))


def _compact(headings: list[Heading]) -> list[Heading]:
    """The same headings with levels that start at one and leave no gap."""
    order = sorted({heading.level for heading in headings})
    return [replace(heading, level=order.index(heading.level) + 1) for heading in headings]


def _ask(lines: Sequence[Line], found: Sequence[Heading], hook: HeadingHook) -> list[Heading]:
    known = {heading.line: heading for heading in found}
    levels = [known[i].level if i in known else 0 for i in range(len(lines))]
    out = []
    for i, level in enumerate(hook([line.text for line in lines], levels)):
        if level > 0:
            heading = known.get(i) or Heading(i, level, lines[i].text, confidence=0.5)
            out.append(replace(heading, level=level))
    return out


def heading_block(heading: Heading, line: Line, end: int) -> Block:
    """The ``Heading`` block of a heading that was found.

    Args:
        heading: What was found.
        line: Its line.
        end: Offset in the source where it ends.
    """
    block = Block("Heading", " ".join(heading.title.split()), level=heading.level, page=line.page)
    block.span = (line.start, end)
    block.attributes |= number_attributes(heading.title)
    if heading.confidence < 1:
        block.confidence = heading.confidence
    return block
