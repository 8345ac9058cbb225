"""Fitting a tree of sources into a context window: batches of siblings become notes, bottom up.

Sizes are known before anything is asked, so as few calls are made as the window allows: whole
subtrees stay together while they fit, runs of siblings fill a call to the limit, and only as many
runs are condensed as the final call needs. Notes take the place of the siblings they were made of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from llama_index_semxpath.query_engine.layout import Block, Part, render
from llama_index_semxpath.retrievers.words import sentences

Count = Callable[[str], int]
_NOTHING = re.compile(r"^\W*(?:none|n/a|nothing|无|没有)\W*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Batch:
    """A run of siblings that one call condenses.

    Args:
        parent: What they stand in.
        start: First of them among its items.
        stop: One after the last.
        way: Titles that lead to the parent, outermost first.
        tokens: What the run is long.
    """

    parent: Part
    start: int
    stop: int
    way: tuple[str, ...]
    tokens: int

    @property
    def items(self) -> list[Part | Block]:
        """The siblings."""
        return self.parent.items[self.start : self.stop]

    @property
    def text(self) -> str:
        """The siblings as a model reads them."""
        return render(self.items, self.way)

    @property
    def numbers(self) -> set[int]:
        """Numbers of the sources in it."""
        return numbers_in(self.items)


def batches(root: Part, room: int, count: Count) -> list[Batch]:
    """Runs of siblings, each as long as the room allows, in order.

    What fits whole is never taken apart: only parents that do not fit are looked into.
    """
    found: list[Batch] = []
    work: list[tuple[Part, tuple[str, ...]]] = [(root, ())]
    while work:
        part, way = work.pop()
        start = 0
        for at in range(len(part.items) + 1):
            run = part.items[start:at]
            item = part.items[at] if at < len(part.items) else None
            if item is not None and count(render([*run, item], way)) <= room:
                continue
            if run:
                found.append(Batch(part, start, at, way, count(render(run, way))))
            start = at
            if item is not None and count(render([item], way)) > room:
                if isinstance(item, Part):
                    work.append((item, (*way, item.title)))
                start = at + 1
    return found


def choose(found: Sequence[Batch], surplus: int, note: int) -> list[Batch]:
    """As few batches as bring the whole down by the surplus; all that help where none suffice.

    Args:
        found: All batches.
        surplus: Tokens over the limit.
        note: Most tokens of the notes that a batch becomes.
    """
    helping = sorted((b for b in found if b.tokens > note), key=lambda batch: -batch.tokens)
    chosen: list[Batch] = []
    for batch in helping:
        if surplus <= 0:
            break
        chosen.append(batch)
        surplus -= batch.tokens - note
    return chosen


def condense(batch: Batch, notes: str) -> Block | None:
    """The notes of a batch as a block; ``None`` where they say that nothing helps."""
    text = notes.strip()
    score = max((block.score for block in _leaves(batch.items)), default=0.0)
    return None if not text or _NOTHING.match(text) else Block("notes", text, 0, score)


def replace_batches(done: Sequence[tuple[Batch, Block | None]]) -> None:
    """Puts notes in the place of their batches; later runs first, so that places stay right."""
    for batch, block in sorted(done, key=lambda pair: -pair[0].start):
        batch.parent.items[batch.start : batch.stop] = [] if block is None else [block]


def split_blocks(root: Part, room: int, count: Count) -> None:
    """Cuts blocks that no call could hold at sentences, rows, or words as a last resort."""
    for part, way in _parts(root):
        items: list[Part | Block] = []
        for item in part.items:
            if isinstance(item, Part) or count(render([item], way)) <= room:
                items.append(item)
                continue
            frame = count(render([_with(item, "")], way))
            pieces = _pieces(item, max(8, room - frame - 4), count)
            items.extend(_with(item, piece) for piece in pieces)
        part.items = items


def drop_weakest(root: Part, room: int, count: Count) -> int:
    """Leaves out the blocks of least score until the rest fits; returns how many."""
    dropped = 0
    ranked = sorted(root.blocks(), key=lambda block: block.score)
    while ranked and count(render(root.items)) > room:
        # Several at a time where far too much is there; the rendering is what costs.
        surplus = count(render(root.items)) - room
        gone: set[int] = set()
        while ranked and surplus > 0:
            block = ranked.pop(0)
            gone.add(id(block))
            surplus -= count(block.text)
        dropped += len(gone)
        for part, _ in _parts(root):
            part.items = [item for item in part.items if id(item) not in gone]
    return dropped


def numbers_in(items: Sequence[Part | Block]) -> set[int]:
    """Numbers of the sources in some items, those that notes cite included."""
    found: set[int] = set()
    for block in _leaves(items):
        if block.number:
            found.add(block.number)
        else:
            found.update(int(n) for n in re.findall(r"\[(\d+)\]", block.text))
    return found


def cut_tokens(text: str, room: int, count: Count) -> str:
    """The first whole sentences of a text that fit."""
    if count(text) <= room:
        return text
    kept = ""
    for sentence in sentences(text):
        if kept and count(f"{kept} {sentence}") > room:
            break
        kept = f"{kept} {sentence}".strip()
    return kept if count(kept) <= room else _clip(kept, room, count)


def _pieces(block: Block, room: int, count: Count) -> list[str]:
    lines = block.text.split("\n")
    head = lines[:1] if block.kind == "table" and len(lines) > 1 else []
    parts = lines[1:] if head else [one for line in lines for one in (sentences(line) or [line])]
    if head and count(head[0]) * 2 > room:
        head = []
    found: list[str] = []
    run = list(head)
    glue = "\n" if block.kind == "table" else " "
    for part in parts:
        for piece in _clipped(part, room - (count(head[0]) if head else 0) - 2, count):
            if len(run) > len(head) and count(glue.join([*run, piece])) > room:
                found.append(glue.join(run))
                run = list(head)
            run.append(piece)
    if len(run) > len(head):
        found.append(glue.join(run))
    return found


def _clipped(text: str, room: int, count: Count) -> Iterator[str]:
    """A sentence, or what it must be cut to where it alone is too long."""
    while count(text) > room:
        head = _clip(text, room, count)
        yield head
        text = text[len(head) :]
    if text:
        yield text


def _clip(text: str, room: int, count: Count) -> str:
    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(text[:middle]) <= room else (low, middle - 1)
    return text[:low]


def _with(block: Block, text: str) -> Block:
    return Block(block.kind, text, block.number, block.score, block.place)


def _leaves(items: Sequence[Part | Block]) -> Iterator[Block]:
    return Part("", list(items)).blocks()


def _parts(root: Part) -> list[tuple[Part, tuple[str, ...]]]:
    found: list[tuple[Part, tuple[str, ...]]] = []
    work: list[tuple[Part, tuple[str, ...]]] = [(root, ())]
    while work:
        part, way = work.pop()
        found.append((part, way))
        for item in part.items:
            if isinstance(item, Part):
                work.append((item, (*way, item.title)))
    return found
