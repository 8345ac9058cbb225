"""The way from sources to a verified answer, without a model: what to ask, what to make of it.

The algorithm is a generator of questions to a model; synchronous, concurrent and asynchronous
callers differ only in how they carry those out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

from llama_index_semxpath.query_engine.aggregate import (
    Batch,
    batches,
    choose,
    condense,
    cut_tokens,
    drop_weakest,
    replace_batches,
    split_blocks,
)
from llama_index_semxpath.query_engine.answer import Passage, extract_answer, not_found
from llama_index_semxpath.query_engine.language import in_language_of, language_of
from llama_index_semxpath.query_engine.layout import (
    Block,
    Source,
    build_tree,
    natural_order,
    render,
)
from llama_index_semxpath.query_engine.support import SUPPORTED, Support, overlap
from llama_index_semxpath.query_engine.verify import Checked, StatementChecker

#: Tokens left free for what separates the parts of a prompt and for other tokenizers' ways.
_SLACK = 0.06
#: Least room for sources that makes asking a model worth it.
_LEAST_ROOM = 48
_REFUSAL = (
    "not in the documents", "not in the sources", "sources do not", "documents do not",
    "sources don't", "documents don't", "i don't know", "i do not know", "cannot answer",
    "can't answer", "no information", "not mentioned", "not provided", "文档中没有", "资料中没有",
    "来源中没有", "未提及", "没有提到", "没有提及", "无法回答", "不知道", "没有相关",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ask:
    """One call of a model.

    Args:
        prompt: Name of the prompt: ``answer`` or ``part``.
        fields: What fills it.
    """

    prompt: str
    fields: dict[str, str]


#: What a call gave: text, or the error that it raised.
Reply = str | Exception


@dataclass(frozen=True, slots=True)
class Window:
    """How much a model reads and writes.

    Args:
        context: Tokens of prompt and answer together.
        output: Tokens kept free for the answer.
        count: Counts tokens.
        frames: Length of each prompt by name, without what fills it.
        calls: Most calls for one answer, 1 and up.
    """

    context: int
    output: int
    count: Callable[[str], int]
    frames: dict[str, int]
    calls: int = 16


@dataclass(slots=True)
class Written:
    """An answer with what speaks for it.

    Args:
        text: The answer; ``[n]`` leads to ``references``.
        references: Number to the 0-based place of the source among those given.
        found: Whether the sources hold an answer.
        confidence: In [0, 1].
        reasons: What the confidence rests on.
        notes: What was changed or left out.
        removed: Citations of nothing, as the model wrote them.
        unsupported: Statements that no source supports, or not the one cited.
        by_model: Whether a model wrote it; else it is made of the sources' own words.
    """

    text: str
    references: dict[int, int] = field(default_factory=dict)
    found: bool = True
    confidence: float = 0.0
    reasons: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)
    by_model: bool = True


class Composition:
    """One answer in the making.

    Args:
        question: What is asked.
        sources: What it may draw on, best first.
        window: How much the model reads.
        support: Holds statements against sources.
        history: The conversation so far, oldest first, each as ``role: text``.
    """

    def __init__(
        self,
        question: str,
        sources: Sequence[Source],
        window: Window,
        *,
        support: Support | None = None,
        history: Sequence[str] = (),
    ) -> None:
        self.question = question
        self.window = window
        self.notes: list[str] = []
        # The model's numbers run in natural order; citations lead back to the places given.
        self._order = natural_order(sources)
        self._given = list(sources)
        self.sources = [sources[place] for place in self._order]
        self._support = support or Support()
        self._history = self._fitting(history)
        self._calls = 0

    def steps(self) -> Generator[list[Ask], list[Reply], Ask | None]:
        """Rounds of calls that may run side by side; returns the call that gives the answer.

        ``None`` where the window cannot hold what asking needs.
        """
        count, room = self.window.count, self._room("answer")
        part_room = self._room("part")
        if min(room, part_room) < _LEAST_ROOM:
            self.notes.append("the model's context window is too small for sources and a question")
            return None
        root = build_tree(self.sources)
        split_blocks(root, min(room, part_room), count)
        note = min(self.window.output, max(32, room // 6))
        while count(render(root.items)) > room:
            surplus = count(render(root.items)) - room
            found = choose(batches(root, part_room, count), surplus, note)
            left = self.window.calls - self._calls - 1
            if len(found) > left or not found:
                # Costs are bounded: what is least likely to help is left out.
                limit = room + max(0, left) * (part_room - note) if left > 0 and found else room
                if found and left > 0 and count(render(root.items)) <= limit:
                    found = found[:left]
                else:
                    dropped = drop_weakest(root, limit, count)
                    self.notes.append(f"{dropped} weaker pieces were left out: too much for a call")
                    if not dropped:
                        return None
                    continue
            replies = yield [self._part(batch) for batch in found]
            self._calls += len(found)
            done = [
                (batch, self._notes_of(batch, reply, note))
                for batch, reply in zip(found, replies, strict=True)
            ]
            replace_batches(done)
        if not root.items or not any(True for _ in root.blocks()):
            return None
        self._calls += 1
        return self._ask("answer", {"context": render(root.items)})

    def again(self, reply: Reply) -> Ask | None:
        """A second call, where the first answer is in another language than the question."""
        if isinstance(reply, Exception) or not reply.strip() or self._refuses(reply):
            return None
        if in_language_of(reply, self.question):
            return None
        self.notes.append("the model answered in another language; it was asked again")
        tokens = self.window.count(reply)
        if tokens > self._room("answer"):
            return None
        language = language_of(self.question)
        return self._ask("translate", {"answer": reply.strip(), "language": language})

    def checker(self) -> StatementChecker:
        """Checks statements of the answer as they come."""
        return StatementChecker([one.to_check() for one in self.sources], self._support)

    def finish(self, reply: Reply) -> Written:
        """The verified answer, or the sources' own words where the model's are worth nothing."""
        if isinstance(reply, Exception):
            return self.extract(f"the model failed: {type(reply).__name__}: {reply}"[:200])
        if not reply.strip():
            return self.extract("the model answered nothing")
        checker = self.checker()
        checker.add(reply.strip())
        return self.judge(checker.checked)

    def judge(self, checked: Checked, *, final: bool = False) -> Written:
        """What a checked text is worth.

        Args:
            checked: The text with its citations put right.
            final: The text has been shown already, so it cannot be replaced.
        """
        if self._refuses(checked.text) and not checked.supported:
            written = Written(not_found(self.question), {}, False)
            written.reasons = ["the model says that the sources hold no answer"]
            written.notes = [*self.notes, *checked.notes()[: len(checked.removed)]]
            written.removed = checked.removed
            return written
        if not final and checked.statements and not checked.supported:
            return self.extract("no source supports what the model wrote", checked)
        if not in_language_of(checked.text, self.question):
            self.notes.append("the answer is not in the language of the question")
        references = {n: self._order[place] for n, place in checked.references.items()}
        written = Written(checked.text.strip(), references)
        written.confidence, written.reasons = self._confidence(checked)
        written.notes = [*self.notes, *checked.notes()]
        written.removed = checked.removed
        written.unsupported = list(dict.fromkeys([*checked.unsupported, *checked.bare]))
        if not checked.references:
            written.notes.append("the model cites no source; nothing in its answer is verified")
        return written

    def extract(self, problem: str = "", checked: Checked | None = None) -> Written:
        """The answer in the sources' own words."""
        passages = [
            passage for at, source in enumerate(self._given) for passage in _passages(source, at)
        ]
        extract = extract_answer(self.question, passages) if passages else None
        if extract is None or not extract.found:
            written = Written(not_found(self.question), {}, False, 0.0, by_model=False)
            written.reasons = ["no passage holds enough of the question's words"]
        else:
            written = Written(extract.text, dict(extract.cited), True, extract.confidence)
            share = f"{extract.confidence:.0%}"
            written.reasons = [f"the quoted places hold {share} of what the question names"]
        written.by_model = False
        written.notes = list(self.notes)
        if problem:
            written.notes.append(f"{problem}; the answer is made of the sources' own words")
        if checked is not None:
            written.removed, written.unsupported = checked.removed, checked.bare
        return written

    def _confidence(self, checked: Checked) -> tuple[float, list[str]]:
        cited = [self.sources[place].to_check() for place in checked.references.values()]
        said = "\n".join(f"{one.heading}\n{one.text}" for one in cited)
        same = not said or in_language_of(said, self.question)
        about = overlap(self.question, said) if said and same else 0.0
        if not checked.statements:
            grade = 0.2 if checked.references else 0.0
            return grade, ["too short to be held against its sources"]
        share = sum(min(1.0, grade) for grade in checked.grades) / checked.statements
        reasons = [f"{checked.supported} of {checked.statements} statements are supported"]
        if not same:
            reasons.append("question and sources are in different languages: judged by meaning")
            return round(0.8 * share, 3), reasons
        reasons.append(f"the cited sources hold {about:.0%} of what the question names")
        grade = share * math.sqrt(max(about, 0.1))
        if checked.bare:
            reasons.append(f"{len(checked.bare)} without a source")
            grade *= 0.8
        return round(min(1.0, grade), 3), reasons

    def _part(self, batch: Batch) -> Ask:
        return self._ask("part", {"context": batch.text})

    def _notes_of(self, batch: Batch, reply: Reply, room: int) -> Block | None:
        """The notes of a batch; where the model fails, sentences of the sources themselves."""
        text = "" if isinstance(reply, Exception) else self._own_citations(batch, reply)
        if isinstance(reply, Exception) or not reply.strip():
            what = "failed" if isinstance(reply, Exception) else "said nothing"
            self.notes.append(f"the model {what} on a part; its own sentences stand for it")
            text = self._sentences_of(batch, room)
        return condense(batch, cut_tokens(text, room, self.window.count))

    def _own_citations(self, batch: Batch, reply: str) -> str:
        """The reply with citations of sources that the batch holds only, numbers kept."""
        numbers = sorted(batch.numbers)
        places = [number - 1 for number in numbers if number <= len(self.sources)]
        checks = [self.sources[place].to_check() for place in places]
        # The checker numbers by first use; each number is put back to what the model was given.
        own = {number: at for at, number in enumerate(numbers, 1)}
        local = _renumber(reply, own)
        checker = StatementChecker(checks, self._support)
        checker.add(local)
        back = {n: numbers[at] for n, at in checker.checked.references.items()}
        return _renumber(checker.checked.text, back)

    def _sentences_of(self, batch: Batch, room: int) -> str:
        passages = [
            passage
            for number in sorted(batch.numbers)
            for passage in _passages(self.sources[number - 1], number - 1)
        ]
        extract = extract_answer(self.question, passages, characters=room * 3)
        if not extract.found:
            return "NONE"
        return _renumber(extract.text, {n: place + 1 for n, place in extract.cited.items()})

    def _ask(self, prompt: str, fields: dict[str, str]) -> Ask:
        full = {
            "question": self.question,
            "query_str": self.question,
            "not_found": not_found(self.question),
            "language": language_of(self.question),
            "history": self._history,
            "words": str(max(20, min(self.window.output, self._room("answer") // 6) // 2)),
            **fields,
        }
        full.setdefault("context", "")
        full["context_str"] = full["context"]
        return Ask(prompt, full)

    def _room(self, prompt: str) -> int:
        """Tokens for sources in a call."""
        count, window = self.window.count, self.window
        said = (self.question, self._history, not_found(self.question), language_of(self.question))
        fixed = window.frames.get(prompt, 0) + sum(count(one) for one in said)
        return int((window.context - window.output) * (1 - _SLACK)) - fixed

    def _fitting(self, history: Sequence[str]) -> str:
        """The latest turns that fit in a quarter of the window."""
        room = (self.window.context - self.window.output) // 4
        kept: list[str] = []
        for turn in reversed(history):
            room -= self.window.count(turn)
            if room < 0:
                break
            kept.append(turn)
        if len(kept) < len(history):
            self.notes.append(f"{len(history) - len(kept)} older turns were left out")
        return "Conversation so far:\n" + "\n".join(reversed(kept)) + "\n\n" if kept else ""

    def _refuses(self, text: str) -> bool:
        flat = text.strip().lower()
        if not_found(self.question).lower() in flat and len(flat) < 200:
            return True
        return len(flat) < 200 and any(sign in flat for sign in _REFUSAL)


def _passages(source: Source, place: int) -> list[Passage]:
    found = [
        Passage(place, text, "Paragraph", source.path, source.score)
        for text in [*source.texts, *source.facts]
    ]
    for columns, rows in source.tables:
        for cells in rows:
            text = " | ".join(cells)
            found.append(Passage(place, text, "Row", source.path, source.score, columns, cells))
    return found


def _renumber(text: str, numbers: dict[int, int]) -> str:
    """Citations by other numbers; those without one vanish."""

    def change(match: re.Match[str]) -> str:
        kept = [numbers[int(n)] for n in re.findall(r"\d+", match[1]) if int(n) in numbers]
        return "".join(f"[{number}]" for number in dict.fromkeys(kept))

    return re.sub(r"(?<![A-Za-z0-9_)])\[(\d+(?:\s*,\s*\d+)*)\]", change, text)


__all__ = ["SUPPORTED", "Ask", "Composition", "Reply", "Window", "Written"]
