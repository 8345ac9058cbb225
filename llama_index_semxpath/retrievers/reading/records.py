"""A question about records (kinds, fields, values, order), as a path to them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from llama_index_semxpath.retrievers.reading.attaching import (
    attach_bounds,
    attach_fields,
    attach_hours,
    attach_sides,
    join_names,
    shift_of,
    without_hours,
)
from llama_index_semxpath.retrievers.reading.nouns import (
    Noun,
    attach_phrases,
    attach_values,
    find_nouns,
)
from llama_index_semxpath.retrievers.reading.paths import PathDraft
from llama_index_semxpath.retrievers.reading.result import COUNT, Reading
from llama_index_semxpath.retrievers.reading.scan import Mark, Scanner
from llama_index_semxpath.retrievers.reading.times import time_fields
from llama_index_semxpath.retrievers.words import is_cjk
from llama_index_semxpath.xpath import to_text

#: “最后一天做什么” asks for what the day holds, not for the day.
_WHAT_IN_IT = re.compile(r"(?:有|做|干|安排|去|吃|看)[^，。？?]{0,4}(?:什么|哪些|哪儿|哪里)")


class RecordReader:
    """Reads questions about the records of one tree.

    Args:
        scanner: Marks questions by the names of the tree.
    """

    def __init__(self, scanner: Scanner) -> None:
        self._scanner = scanner
        self._vocabulary = scanner.vocabulary

    @cached_property
    def _times(self) -> list[str]:
        """Fields of records whose values begin with a time of day."""
        return time_fields(self._vocabulary.table, self._vocabulary.record_kinds)

    def read(self, question: str) -> Reading | None:
        """The query that a question asks, ``None`` when it names no record.

        Args:
            question: What is asked.
        """
        marks = _main_marks(self._scanner.marks(question))
        if self._times:
            marks = without_hours(question, marks)
        marks = join_names(marks, self._vocabulary)
        nouns = find_nouns(marks, self._vocabulary)
        attach_values(marks, nouns, self._vocabulary)
        shift = shift_of(question, marks)
        target = self._target(question, marks, nouns)
        if target is None:
            return None
        attach_sides(marks, nouns, target, shift)
        attach_bounds(question, marks, nouns, target, self._vocabulary)
        attach_fields(marks, nouns, target, self._vocabulary)
        attach_phrases(marks, nouns, target, self._vocabulary)
        hours = attach_hours(question, marks, target, self._times)
        named = [noun for noun in nouns if not noun.implied or noun.values]
        told = target.bounds or target.phrases or target.sides or hours
        if not named and not told:
            return None
        draft = PathDraft(self._vocabulary)
        draft.enter(nouns, target)
        expr = draft.finish(nouns, target, shift)
        graded = any(noun.phrases or noun.evidence for noun in (*nouns, target))
        return Reading(
            to_text(expr),
            tuple(draft.reasons),
            graded=graded,
            records=self._certain(nouns, target, graded),
            counts=COUNT.search(question) is not None,
        )

    def _certain(self, nouns: Sequence[Noun], target: Noun, graded: bool) -> bool:
        """Whether the question means records: there is nothing else, or it says just what."""
        if self._vocabulary.only_records:
            return True
        # Beside documents, “how many days of leave” need not mean records of the kind Day.
        return not graded and any(not one.implied and one.kind != "*" for one in (target, *nouns))

    def _target(self, question: str, marks: Sequence[Mark], nouns: list[Noun]) -> Noun | None:
        last = max((at for at, mark in enumerate(marks[:-1]) if mark.type == "stop"), default=-1)
        inside = [noun for noun in nouns if noun.at > last and not noun.implied]
        asked = next((at for at, mark in enumerate(marks) if mark.type == "wh" and at > last), None)
        if is_cjk(question):
            named = [noun for noun in nouns if not noun.implied]
            holds = bool(named) and named[-1].kind in self._vocabulary.items
            if holds and named[-1].position is not None and _WHAT_IN_IT.search(question):
                return self._implied_target(nouns, len(marks))
            return named[-1] if named else self._implied_target(nouns, len(marks))
        first = inside[0] if inside else None
        if first is not None and (asked is None or not _only_scope(marks, asked, first)):
            return first
        return self._implied_target(nouns, len(marks))

    def _implied_target(self, nouns: list[Noun], at: int) -> Noun | None:
        implied = [noun for noun in nouns if noun.implied]
        named = [noun for noun in nouns if not noun.implied]
        if implied and not named:
            return implied[0]
        if not self._vocabulary.items:
            return named[0] if named else None
        target = Noun("*", at)
        things = {kind for kinds in self._vocabulary.items.values() for kind in kinds}
        for noun in implied:
            # What a value implies is one of the things asked for, not another thing beside them.
            if noun.kind in things:
                target.values.extend(noun.values)
                nouns.remove(noun)
        nouns.append(target)
        return target


def _main_marks(marks: list[Mark]) -> list[Mark]:
    """The last sentence, with what earlier ones say of a place (“… on day 7. Which …”)."""
    ends = [
        at for at, mark in enumerate(marks) if mark.type == "stop" and mark.payload in ".。!！;；"
    ]
    cut = max((at for at in ends if at < len(marks) - 1), default=-1)
    earlier = [mark for mark in marks[: cut + 1] if mark.type in ("kind", "number", "position")]
    stop = [marks[cut]] if earlier else []
    return [*earlier, *stop, *marks[cut + 1 :]]


def _only_scope(marks: Sequence[Mark], asked: int, noun: Noun) -> bool:
    """Whether “what … on day 3” asks for something in the thing named, not for the thing."""
    word = marks[asked].payload
    between = marks[asked + 1 : noun.at]
    return word in ("what", "where", "when", "who") and any(m.type == "in" for m in between)
