"""From marks to the things a question speaks of, each with its conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from llama_index_semxpath.retrievers.reading import build
from llama_index_semxpath.retrievers.reading.lexicon import NONE_OF
from llama_index_semxpath.retrievers.reading.scan import Mark
from llama_index_semxpath.retrievers.reading.vocabulary import FieldValue, Vocabulary, spoken
from llama_index_semxpath.xpath import ast


@dataclass(slots=True)
class Phrase:
    """Words that describe a thing by meaning.

    Args:
        text: The words.
        negated: Whether the question excludes what they describe.
        joined: Whether “and” or “or” joins them to the phrase before: either will do.
    """

    text: str
    negated: bool = False
    joined: bool = False


@dataclass(slots=True)
class ValueTest:
    """A value that a thing must (not) have."""

    attribute: str
    values: list[str]
    negated: bool = False


@dataclass(slots=True)
class Noun:
    """A thing that the question speaks of.

    Args:
        kind: Its kind; ``*`` for whatever the tree lists.
        at: Place of its mark; a thing that is only implied has that of what implied it.
        position: Which of its siblings.
        every: Whether the question says every or each.
        implied: Whether no word of the question names the thing itself.
        excepted: Whether the question asks for everything except the position.
        labelled: Whether a number after the kind gave the position, as in “day 3”.
        values: Values it must have.
        phrases: What it is about.
        bounds: Field and mark of each bound.
        evidence: What it must hold.
        none: Whether there must be none of it.
        count: Comparison and number of how many of it there must be.
        sides: Axis and test of a sibling that stands on one side of it.
        tests: Other conditions.
    """

    kind: str
    at: int
    position: ast.Filter | None = None
    every: bool = False
    implied: bool = False
    excepted: bool = False
    labelled: bool = False
    values: list[ValueTest] = field(default_factory=list)
    phrases: list[Phrase] = field(default_factory=list)
    bounds: list[tuple[str, Mark]] = field(default_factory=list)
    evidence: list[Phrase] = field(default_factory=list)
    none: bool = False
    count: tuple[ast.Operator, int] | None = None
    sides: list[tuple[ast.Axis, ast.Expr]] = field(default_factory=list)
    tests: list[ast.Expr] = field(default_factory=list)

    @property
    def bare(self) -> bool:
        """Whether nothing narrows the thing down."""
        return not (self.position or self.values or self.phrases or self.bounds or self.evidence)


@dataclass(slots=True)
class _Pending:
    """What was said before the next thing and belongs to it."""

    position: ast.Filter | None = None
    every: bool = False
    excepted: bool = False
    none: bool = False
    count: tuple[ast.Operator, int] | None = None


def find_nouns(marks: Sequence[Mark], vocabulary: Vocabulary) -> list[Noun]:
    """Things named in the question, in order, with their positions."""
    nouns: list[Noun] = []
    pending = _Pending()
    for at, mark in enumerate(marks):
        if mark.type == "position":
            pending.position = mark.payload
        elif mark.type == "every":
            pending.every = True
        elif mark.type == "except":
            pending.excepted = True
        elif mark.type == "count":
            pending.count = mark.payload
        elif mark.type == "not":
            pending.none = mark.payload in NONE_OF
        elif mark.type in ("kind", "thing"):
            noun = Noun(mark.payload, at, pending.position, pending.every)
            noun.excepted, noun.none, noun.count = pending.excepted, pending.none, pending.count
            pending = _Pending()
            if noun.position is None:
                _number(noun, marks, at + 1)
            if not _joins(noun, nouns, marks):
                nouns.append(noun)
        elif mark.type == "stop":
            pending = _Pending(excepted=pending.excepted)
        elif mark.type not in ("value", "field", "in"):
            pending.none = False
    return nouns


def _number(noun: Noun, marks: Sequence[Mark], at: int) -> None:
    """“day 3”, “days 2 to 4”, “days 1, 3 and 5” as positions."""
    numbers: list[int] = []
    listed = False
    while at < len(marks) and (
        marks[at].type == "number"
        or (numbers and marks[at].type in ("and", "or", "stop") and _is_number(marks, at + 1))
    ):
        if marks[at].type == "number":
            numbers.append(int(marks[at].payload))
        else:
            listed = True
        at += 1
    if not numbers:
        return
    noun.labelled = True
    noun.position = _positions(numbers, listed)


def _is_number(marks: Sequence[Mark], at: int) -> bool:
    return at < len(marks) and marks[at].type == "number"


def _positions(numbers: Sequence[int], listed: bool) -> ast.Filter:
    if len(numbers) == 1:
        return ast.Index(numbers[0])
    if not listed and len(numbers) == 2 and numbers[0] < numbers[1]:
        return ast.Slice(numbers[0], numbers[1])
    return build.where(build.at_positions(numbers))


def _joins(noun: Noun, nouns: Sequence[Noun], marks: Sequence[Mark]) -> bool:
    """Whether a thing is one more of the thing before: “day 2 and day 5”, “day 2 to day 4”."""
    last = nouns[-1] if nouns else None
    if (
        last is None
        or last.kind != noun.kind
        or not (last.labelled and noun.labelled)
        or not isinstance(last.position, ast.Index)
        or not isinstance(noun.position, ast.Index)
    ):
        return False
    between = [mark.type for mark in marks[last.at + 2 : noun.at]]
    if any(type_ not in ("and", "or", "in", "stop") for type_ in between):
        return False
    numbers = [last.position.position, noun.position.position]
    last.position = _positions(numbers, listed=bool({"and", "or"} & set(between)))
    return True


def attach_values(marks: Sequence[Mark], nouns: list[Noun], vocabulary: Vocabulary) -> None:
    """Gives each value to the nearest thing whose kind has it, or lets it imply a thing."""
    for at, mark in enumerate(marks):
        if mark.type != "value":
            continue
        readings = _readings(marks, at)
        holder = _nearest(nouns, at, marks, {kind for value in readings for kind in value.kinds})
        if holder is None:
            kinds = sorted({kind for value in readings for kind in value.kinds})
            if not kinds:
                continue
            holder = Noun(kinds[0] if len(kinds) == 1 else "*", at, implied=True)
            nouns.append(holder)
        mine = [value for value in readings if holder.kind in value.kinds or holder.kind == "*"]
        first = mine[0].attribute
        same = list(dict.fromkeys(value.value for value in mine if value.attribute == first))
        negated = _is_negated(marks, at)
        last = holder.values[-1] if holder.values else None
        if last is not None and last.attribute == first and last.negated == negated:
            last.values.extend(value for value in same if value not in last.values)
        else:
            holder.values.append(ValueTest(first, same, negated))


def _readings(marks: Sequence[Mark], at: int) -> list[FieldValue]:
    """The fields a value may belong to; a field named beside it decides."""
    values: list[FieldValue] = marks[at].payload
    beside = {
        marks[place].payload
        for place in (at - 1, at + 1)
        if 0 <= place < len(marks) and marks[place].type == "field"
    }
    return [value for value in values if value.attribute in beside] or values


def _nearest(nouns: Sequence[Noun], at: int, marks: Sequence[Mark], kinds: set[str]) -> Noun | None:
    fitting = [noun for noun in nouns if noun.kind in kinds and not noun.implied]
    if not fitting:
        return next((noun for noun in nouns if noun.implied and noun.kind in kinds), None)

    def distance(noun: Noun) -> tuple[int, int, int]:
        low, high = sorted((noun.at, at))
        crossed = sum(mark.type in ("have", "stop") for mark in marks[low:high])
        return crossed, abs(noun.at - at), int(noun.at > at)

    return min(fitting, key=distance)


def _is_negated(marks: Sequence[Mark], at: int) -> bool:
    """Whether a “not” stands before a mark, with nothing but a joined value between."""
    place = at - 1
    while place >= 0 and marks[place].type in ("value", "field", "or", "in", "not"):
        if marks[place].type == "not":
            # “no urgent task”: there is no task; “neither done nor paused”: it is not.
            rest = (mark.type for mark in marks[at:] if mark.type not in ("value", "field"))
            negates_thing = marks[place].payload in ("no", "without", "没有")
            return not (negates_thing and next(rest, "") in ("kind", "thing"))
        place -= 1
    return place >= 0 and marks[place].type == "except"


def word_runs(marks: Sequence[Mark]) -> list[tuple[int, int]]:
    """``[start, end)`` of the runs of words that no name of the tree takes."""
    runs: list[tuple[int, int]] = []
    for at, mark in enumerate(marks):
        if mark.type != "word":
            continue
        if runs and runs[-1][1] == at:
            runs[-1] = (runs[-1][0], at + 1)
        else:
            runs.append((at, at + 1))
    return runs


#: “activities before lunch”: the lunch follows them.
SIDES: dict[str, ast.Axis] = {"before": "following-sibling", "after": "preceding-sibling"}


def attach_phrases(
    marks: Sequence[Mark], nouns: Sequence[Noun], target: Noun, vocabulary: Vocabulary
) -> None:
    """Gives each run of words to the thing it describes; words of a bound's field are said."""
    said = {
        word
        for noun in (*nouns, target)
        for name, _ in noun.bounds
        for word in spoken(name).split()
    }
    for start, end in word_runs(marks):
        text = " ".join(mark.payload for mark in marks[start:end] if mark.payload not in said)
        if not text:
            continue
        before = marks[start - 1].type if start else "stop"
        phrase = Phrase(text, before == "not", before in ("and", "or"))
        if before in SIDES and not any(m.type == "value" for m in marks[start:end]):
            target.sides.append((SIDES[before], build.means(text)))
            continue
        noun = _described(marks, nouns, start, end) or target
        # "days that include a museum": the words describe what the day holds.
        if before == "have" and vocabulary.items.get(noun.kind):
            noun.evidence.append(phrase)
        else:
            _add_phrase(noun.phrases, phrase)


def _add_phrase(phrases: list[Phrase], phrase: Phrase) -> None:
    """Two runs of words about one thing are one description, unless “and” or “not” parts them."""
    last = phrases[-1] if phrases else None
    if last is not None and not phrase.joined and last.negated == phrase.negated:
        last.text = f"{last.text} {phrase.text}"
    else:
        phrases.append(phrase)


def _described(marks: Sequence[Mark], nouns: Sequence[Noun], start: int, end: int) -> Noun | None:
    following = next((noun for noun in nouns if noun.at == end and not noun.implied), None)
    if following is not None:
        return following
    for noun in sorted(nouns, key=lambda one: -one.at):
        between = marks[noun.at + 1 : start]
        if (
            noun.at < start
            and not noun.implied
            and not any(m.type in ("stop", "wh") for m in between)
        ):
            return noun
    return None
