"""What a model wrote, held against its sources statement by statement."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from llama_index_semxpath.query_engine.citations import renumber_citations
from llama_index_semxpath.query_engine.support import SUPPORTED, SourceText, Support, says_little
from llama_index_semxpath.retrievers.words import words

#: Support from which an uncited statement is given the citation that it lacks.
_ATTRIBUTED = 0.6
#: What a source must add to a statement that several are cited for together.
_SHARE = 0.2
_MOST_SHOWN = 80
#: Words from which a statement that comes again is a loop and no refrain.
_LOOP = 6
# As in `array[5]`, a bracket right behind a word is no citation by itself.
_CITATION = re.compile(r"(?:\s|(?<![A-Za-z0-9_)]))\[(\d+(?:, \d+)*)\]")
_ATTACHED = re.compile(r"(?<=[A-Za-z0-9_)])\[(\d{1,3}(?:, ?\d{1,3})*)\](?=[\s.,;:!?]|$)")
_FENCE = re.compile(r"(```.*?(?:```|$)|~~~.*?(?:~~~|$))", re.DOTALL)
_AFTER = r"[\"”’』」)]*(?:\s?\[\d+(?:, \d+)*\])*"
# "e.g.", "2.1." and "J." end a sentence only where the next one clearly begins.
_SENTENCE_END = re.compile(
    rf"[。！？；]+{_AFTER}"
    rf"|(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\bcf)(?<![0-9A-Z])[.!?]+{_AFTER}(?=\s|$)"
    rf"|(?<=[0-9A-Z])[.!?]+{_AFTER}(?=\s+[A-Z]|\s*$)"
)
_MARKS = re.compile(r"^[\s#>*\-+|]*(?:\d+[.)]\s+)?")
_TABLE_RULE = re.compile(r"^\s*\|?[\s:|-]+\|?\s*$")


@dataclass(slots=True)
class Checked:
    """A text whose citations exist and are supported.

    Args:
        text: The text; citations are numbered from 1 by first use.
        references: Number to the 0-based place of the source.
        removed: Citations of nothing, as the model wrote them.
        unsupported: Statements whose citation was removed because the source does not say it.
        added: Statements that were given the citation they lacked.
        bare: Statements that no source supports.
        repeated: How many statements were cut because they had been made before.
        grades: Support of each statement that says something, in [0, 1].
    """

    text: str = ""
    references: dict[int, int] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    bare: list[str] = field(default_factory=list)
    repeated: int = 0
    grades: list[float] = field(default_factory=list)

    @property
    def statements(self) -> int:
        """How many statements were held against sources."""
        return len(self.grades)

    @property
    def supported(self) -> int:
        """How many of them a source supports."""
        return sum(grade >= SUPPORTED for grade in self.grades)

    def notes(self) -> list[str]:
        """What was changed and what is not verified, for people."""
        found = [f"removed a citation of nothing: {one}" for one in self.removed]
        found += [f"removed a citation that does not say: {_short(s)}" for s in self.unsupported]
        found += [f"added the citation of: {_short(one)}" for one in self.added]
        found += [f"no source supports: {_short(one)}" for one in self.bare]
        if self.repeated:
            found.append(f"cut {self.repeated} statements that had been made before")
        return found


class StatementChecker:
    """Checks statements one after another, keeping the numbers of citations by first use.

    Args:
        sources: What the model was given, in the order of its numbers.
        support: Grades a statement against sources.

    Example:
        >>> sources = [SourceText("The pump is blue."), SourceText("It weighs 9 kg.")]
        >>> said = "It weighs 9 kg [2]. The pump is blue [2]. It can fly high [1]."
        >>> checked = check_text(said, sources)
        >>> checked.text
        'It weighs 9 kg [1]. The pump is blue [2]. It can fly high.'
        >>> checked.references, checked.unsupported, checked.bare
        ({1: 1, 2: 0}, ['The pump is blue.', 'It can fly high.'], ['It can fly high.'])
    """

    def __init__(self, sources: Sequence[SourceText], support: Support | None = None) -> None:
        self._sources = sources
        self._support = support or Support()
        self._numbers: dict[int, int] = {}
        self._said: set[str] = set()
        self.checked = Checked()

    def add(self, text: str) -> str:
        """The next part of the text, whole statements, with its citations put right."""
        text = "".join(self._detached(one) for one in statements(text))
        cleaned = renumber_citations(text, len(self._sources))
        self.checked.removed.extend(cleaned.removed)
        parts: list[str] = []
        for statement in statements(cleaned.text):
            cited = [cleaned.references[number] for number in _cited(statement)]
            parts.append(self._statement(statement, cited))
        told = "".join(parts)
        self.checked.text += told
        self.checked.references = {n: place for place, n in self._numbers.items()}
        return told

    def _detached(self, statement: str) -> str:
        """Citations without a blank before them set apart, where their source says the sentence."""
        said = _said(_ATTACHED.sub("", _CITATION.sub("", statement)))
        if "`" in statement or not said or says_little(said):
            return statement

        def change(match: re.Match[str]) -> str:
            places = [int(number) - 1 for number in match[1].split(",")]
            known = all(0 <= place < len(self._sources) for place in places)
            cites = known and self._grade(said, places) >= SUPPORTED
            return f" [{match[1]}]" if cites else match[0]

        return _ATTACHED.sub(change, statement)

    def _statement(self, statement: str, cited: list[int]) -> str:
        bare = _CITATION.sub("", statement)
        said = _said(bare)
        if not said:
            return statement if not cited else self._cite(statement, cited)
        if says_little(said):
            return self._cite(statement, cited) if cited else statement
        if said in self._said and len(words(said)) >= _LOOP:
            # Small models fall into loops.
            self.checked.repeated += 1
            return ""
        self._said.add(said)
        kept = self._kept(said, cited)
        if cited and len(kept) < len(cited):
            self.checked.unsupported.append(said)
        grade = self._grade(said, kept)
        if not kept:
            place, grade = self._best(said)
            if grade >= _ATTRIBUTED:
                kept = [place]
                if not cited:
                    self.checked.added.append(said)
            elif not cited and said.endswith((":", "：")):
                return statement  # a lead-in says nothing itself
            else:
                self.checked.bare.append(said)
        self.checked.grades.append(grade if kept else 0.0)
        return self._cite(statement, kept)

    def _kept(self, said: str, cited: list[int]) -> list[int]:
        alone = [place for place in cited if self._grade(said, [place]) >= SUPPORTED]
        if len(cited) < 2 or len(alone) == len(cited) or self._grade(said, cited) < SUPPORTED:
            return alone
        # Sources that support a statement together: each that adds to it stays.
        return [place for place in cited if self._grade(said, [place]) >= _SHARE]

    def _grade(self, said: str, places: Sequence[int]) -> float:
        return self._support.grade(said, [self._sources[place] for place in places])

    def _best(self, said: str) -> tuple[int, float]:
        graded = [(self._grade(said, [place]), -place) for place in range(len(self._sources))]
        grade, place = max(graded, default=(0.0, 0))
        return -place, grade

    def _cite(self, statement: str, places: Sequence[int]) -> str:
        """The statement with exactly these citations, where the model had put its own."""
        numbers = [self._numbers.setdefault(one, len(self._numbers) + 1) for one in places]
        mark = "".join(f"[{number}]" for number in dict.fromkeys(numbers))
        written = list(_CITATION.finditer(statement))
        bare = _CITATION.sub("", statement)
        if not mark:
            return bare
        if written and [int(n) for m in written for n in re.findall(r"\d+", m[1])] == numbers:
            return statement
        if written and len(written) == len(numbers):
            order = iter(numbers)
            return _CITATION.sub(lambda m: f"{_gap(m[0])}[{next(order)}]", statement)
        if written:
            if len(written) == 1 and len(numbers) > 1:
                mark = f"[{', '.join(map(str, dict.fromkeys(numbers)))}]"
            start, gap = written[-1].start(), _gap(written[0][0])
            before = len(_CITATION.sub("", statement[:start]))
            return f"{bare[:before]}{gap}{mark}{bare[before:]}"
        stop = re.search(r"[.!?。！？；]*\s*$", bare)
        place = stop.start() if stop else len(bare)
        blank = "" if place and ord(bare[place - 1]) > 0x2E80 else " "
        return f"{bare[:place]}{blank}{mark}{bare[place:]}"


def check_text(text: str, sources: Sequence[SourceText], support: Support | None = None) -> Checked:
    """A whole text checked; see :class:`StatementChecker`."""
    checker = StatementChecker(sources, support)
    checker.add(text)
    return checker.checked


def statements(text: str) -> Iterator[str]:
    """A text in statements, nothing lost: sentences, list items, table rows, code blocks.

    A citation after the stop belongs to the sentence before it; a line of nothing but citations
    belongs to the table or code above it.

    Example:
        >>> list(statements("It is blue. [1] It weighs 9.5 kg."))
        ['It is blue. [1]', ' It weighs 9.5 kg.']
    """
    blocks: list[str] = []
    for at, part in enumerate(_FENCE.split(text)):
        if at % 2:
            blocks.append(part)
        else:
            blocks.extend(_prose(part))
    held = ""
    for block in blocks:
        if held and block.strip() and not _CITATION.sub("", block).strip():
            held += block
            continue
        if held:
            yield held
        held = block
    if held:
        yield held


def complete(text: str) -> int:
    """How many characters of a growing text are whole statements.

    Example:
        >>> complete("It is blue. [1] It wei")
        15
    """
    if len(_FENCE.split(text)) > 1 and (text.count("```") % 2 or text.count("~~~") % 2):
        return 0
    last = 0
    for match in _SENTENCE_END.finditer(text):
        rest = text[match.end() :]
        # A citation may still follow.
        if rest.strip() and not rest.lstrip().startswith(("[", "【")):
            last = match.end()
    line = text.rfind("\n")
    if line >= 0 and text[line:].strip() and not text[line:].lstrip().startswith(("[", "【", "|")):
        last = max(last, line + 1)
    return last


def _prose(text: str) -> Iterator[str]:
    table = ""
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("|"):
            table += line
            continue
        if table:
            yield table
            table = ""
        start = 0
        marks = _MARKS.match(line)
        for match in _SENTENCE_END.finditer(line, marks.end() if marks else 0):
            yield line[start : match.end()]
            start = match.end()
        if line[start:]:
            yield line[start:]
    if table:
        yield table


def _said(text: str) -> str:
    """A statement without marks of lists, headings and tables; empty for a mere heading or rule."""
    if text.lstrip().startswith("#"):
        return ""
    if text.lstrip().startswith("|"):
        rows = [line for line in text.splitlines() if not _TABLE_RULE.match(line)]
        cells = rows[1:] if len(rows) > 1 else rows
        return " ".join(re.sub(r"[|*`]", " ", row).strip() for row in cells).strip()
    return _MARKS.sub("", text).replace("**", "").strip(" \t\n`*")


def _cited(statement: str) -> list[int]:
    numbers = [int(n) for match in _CITATION.finditer(statement) for n in match[1].split(",")]
    return list(dict.fromkeys(numbers))


def _gap(mark: str) -> str:
    return mark[: len(mark) - len(mark.lstrip())]


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MOST_SHOWN else flat[:_MOST_SHOWN] + " …"
