"""Heading recovery on the blocks of a richer source: Markdown, HTML, unstyled Word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from llama_index_semxpath.node_parser.blocks import Block
from llama_index_semxpath.node_parser.headings import (
    Heading,
    find_outline,
    heading_block,
)
from llama_index_semxpath.node_parser.lines import Line
from llama_index_semxpath.node_parser.options import HeadingHook
from llama_index_semxpath.node_parser.series import read_candidate

# Lead-ins that authors set in bold without opening a section.
_ADMONITION = re.compile(
    r"(?:note|notes|important|warning|tip|caution|attention|danger|hint|info|example|examples|"
    r"topics|contents|see also|注意|提示|警告|说明|示例|备注|重要)\W*",
    re.IGNORECASE,
)
# Stands for neighbouring blocks that are neither bold nor headings.
_RUN = "Run"
_LEAST_ARTICLES = 2
#: Fewest bold lines that make headings of a source which marks some of its headings.
LEAST_IMPLICIT = 3


def supply_headings(
    blocks: list[Block], hook: HeadingHook | None = None, *, prose: bool = True
) -> list[Block]:
    """Blocks of a marked-up source with the headings that its author did not mark.

    A source without any heading is read as plain text is; one that marks some keeps them and
    gains its bold lines where there are at least three of them. Sources with fewer stay as they
    are: a single bold line is emphasis.

    Args:
        blocks: Top-level blocks in source order.
        hook: See :data:`options.HeadingHook`.
        prose: Whether short lines, labels and capitals count too, as in Markdown; not in HTML,
            where they are as often buttons and captions.

    Example:
        >>> supply_headings([Block("Paragraph", "Just a line.")])[0].kind
        'Paragraph'
    """
    if not any(block.kind in ("Heading", "Section") for block in blocks):
        found = _recover(blocks, hook, bold_only=False, strict=not prose)
        return found if sum(block.kind == "Heading" for block in found) > 1 else blocks
    if sum(_is_bold_line(block) for block in blocks) >= LEAST_IMPLICIT:
        return implicit_headings(blocks)
    return implicit_articles(blocks)


def implicit_articles(blocks: list[Block]) -> list[Block]:
    """Blocks with the articles of a statute as sections, where only its chapters are marked.

    Example:
        >>> blocks = [Block("Heading", "第一章 总则", level=1), Block("Paragraph", "第一条 甲。"),
        ...           Block("Paragraph", "第二条 乙。")]
        >>> [(block.level, block.text) for block in implicit_articles(blocks) if block.level]
        [(1, '第一章 总则'), (2, '第一条'), (2, '第二条')]
    """
    articles = sum(block.kind == "Paragraph" and _is_article(block.text) for block in blocks)
    if articles < _LEAST_ARTICLES or any(
        block.kind == "Heading" and _is_article(block.text) for block in blocks
    ):
        return blocks
    return _implicit(blocks, None, _is_article, _holds_article)


def _is_article(line: str) -> bool:
    """Whether a line begins an article (条), and does not only speak of one."""
    if line[:1] != "第":
        return False
    candidate = read_candidate(0, line)
    return candidate is not None and candidate.number.style == "条"


def _holds_article(block: Block) -> bool:
    return block.kind == "Paragraph" and any(map(_is_article, block.text.split("\n")))


def _is_bold_line(block: Block) -> bool:
    bold = block.kind == "Paragraph" and block.font is not None and block.font.bold
    return bold and not _ADMONITION.fullmatch(block.text) and len(block.text) <= 150


def recover_headings(blocks: Sequence[Block], hook: HeadingHook | None = None) -> list[Block]:
    """Blocks with the headings that the source does not mark.

    Paragraphs are read line by line; one that holds a heading is cut there, every other block
    stays as it is. A heading without a level gets one. The paragraph that is the title of the
    document gets ``@role`` ``title``.

    Args:
        blocks: Top-level blocks in source order.
        hook: See :data:`options.HeadingHook`.

    Example:
        >>> blocks = [Block("Paragraph", "第一条 免费。"), Block("Paragraph", "第二条 完。")]
        >>> [(block.kind, block.text)
        ...  for block in recover_headings(blocks)]  # doctest: +NORMALIZE_WHITESPACE
        [('Heading', '第一条'), ('Paragraph', '免费。'), ('Heading', '第二条'),
         ('Paragraph', '完。')]
    """
    return _recover(blocks, hook, bold_only=False)


def implicit_headings(blocks: Sequence[Block], hook: HeadingHook | None = None) -> list[Block]:
    """Blocks with the bold lines as headings that an author used in place of marked ones.

    A paragraph that is bold as a whole opens a section below the marked heading before it. A bold
    line that nothing follows before the next heading is left as it is.

    Args:
        blocks: Top-level blocks in source order; bold paragraphs have a bold ``font``.
        hook: See :data:`options.HeadingHook`.

    Example:
        >>> from llama_index_semxpath.node_parser.blocks import Font
        >>> blocks = [Block("Heading", "Act", level=1),
        ...           Block("Paragraph", "Fees", font=Font(0, bold=True)),
        ...           Block("Paragraph", "None are due.")]
        >>> [(block.kind, block.level) for block in implicit_headings(blocks)]
        [('Heading', 1), ('Heading', 2), ('Paragraph', None)]
    """
    return _implicit(blocks, hook, None, _is_bold_line)


def _implicit(
    blocks: Sequence[Block],
    hook: HeadingHook | None,
    loud: Callable[[str], bool] | None,
    holds: Callable[[Block], bool],
) -> list[Block]:
    """Headings from loud lines only; ``loud`` tells them by their text, else they are bold."""
    runs: list[Block] = []
    for block in blocks:
        if block.kind == "Heading" or holds(block):
            runs.append(block)
        elif runs and runs[-1].kind == _RUN:
            runs[-1].children.append(block)
        else:
            runs.append(Block(_RUN, children=[block], span=block.span, page=block.page))
    made = _recover(runs, hook, bold_only=True, loud=loud)
    return [
        inner for block in made for inner in (block.children if block.kind == _RUN else (block,))
    ]


def _recover(
    blocks: Sequence[Block],
    hook: HeadingHook | None,
    *,
    bold_only: bool,
    strict: bool = False,
    loud: Callable[[str], bool] | None = None,
) -> list[Block]:
    lines: list[Line] = []
    owners: list[int] = []
    for index, block in enumerate(blocks):
        for line in _lines(index, block, bold_only=bold_only, loud=loud):
            lines.append(line)
            owners.append(index)
    outline = find_outline(lines, hook, bold_only=bold_only, strict=strict)
    headings = {heading.line: heading for heading in outline.headings}
    for at, index in enumerate(owners):
        block = blocks[index]
        if block.kind == "Heading" and block.level is None:
            headings.setdefault(at, Heading(at, 1, block.text, confidence=block.confidence))
    out: list[Block] = []
    enclosing = at = 0
    while at < len(lines):
        block = blocks[owners[at]]
        end = at + 1
        while end < len(lines) and owners[end] == owners[at]:
            end += 1
        if block.kind == "Heading" and block.level is not None:
            enclosing = block.level
        found = [headings[i] for i in range(at, end) if i in headings]
        titles = min(outline.titles, end) - at
        if titles > 0 and block.kind == "Paragraph":
            out.extend(_paragraph(block, lines[at : at + titles]))
            out[-1].attributes["role"] = "title"
            at += titles
        if at == end:
            continue
        if not found and titles > 0:
            out.extend(_paragraph(block, lines[at:end]))
        elif not found:
            out.append(block)
        else:
            end = max(end, found[-1].line + found[-1].lines)
            out.extend(_cut(block, lines[at:end], found, at, enclosing))
        at = end
    return out


def _lines(
    index: int, block: Block, *, bold_only: bool, loud: Callable[[str], bool] | None
) -> Iterator[Line]:
    """The lines of a paragraph, or one line that stands for a block of another kind."""
    span = block.span or (0, 0)
    bold = _is_bold_line(block)
    size = block.font.size if block.font is not None else 0.0
    if bold_only and not bold and (loud is None or block.kind != "Paragraph"):
        yield Line("", *span, chunk=index, page=block.page, block=block)  # only stands between
        return
    text = block.kind == "Paragraph" or (block.kind == "Heading" and block.level is None)
    if not text or block.children or not block.text.strip():
        yield Line(block.text[:200], *span, chunk=index, page=block.page, block=block)
        return
    exact = span[1] - span[0] == len(block.text)
    offset = 0
    for part in block.text.split("\n"):
        if part.strip():
            start = span[0] + offset + len(part) - len(part.lstrip()) if exact else span[0]
            end = start + len(part.strip()) if exact else span[1]
            stands_out = bold if loud is None else loud(part.strip())
            yield Line(part.strip(), start, end, index, 0, block.page, stands_out, size)
        offset += len(part) + 1


def _cut(
    block: Block, lines: Sequence[Line], found: Sequence[Heading], at: int, enclosing: int
) -> list[Block]:
    """One paragraph as headings and the paragraphs between them."""
    out: list[Block] = []
    at_line = {heading.line - at: heading for heading in found}
    rest: list[Line] = []
    skip = 0
    for i, line in enumerate(lines):
        heading = at_line.get(i)
        if heading is None:
            if i >= skip:
                rest.append(line)
            continue
        out.extend(_paragraph(block, rest))
        rest = []
        skip = i + heading.lines
        end = lines[skip - 1].end
        if heading.rest and block.span is not None:
            end = line.start + len(heading.title)
        made = heading_block(heading, line, end)
        made.level = heading.level + enclosing
        made.span = made.span if block.span is not None else None
        made.font = block.font
        out.append(made)
        if heading.rest:
            rest = [Line(line.text[heading.rest :], line.start + heading.rest, line.end)]
    out.extend(_paragraph(block, rest))
    return out


def _paragraph(block: Block, lines: Sequence[Line]) -> list[Block]:
    if not lines:
        return []
    text = "\n".join(line.text for line in lines)
    span = (lines[0].start, lines[-1].end) if block.span is not None else None
    return [Block("Paragraph", text, attributes=dict(block.attributes), span=span, page=block.page)]
