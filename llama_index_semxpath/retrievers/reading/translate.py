"""From a question to SemXPath by rules over the live schema, without a model.

The reader knows the kinds, fields and values of the tree, and a few hundred closed-class words of
English and Chinese. A question becomes marks (``scan``), marks become things with conditions
(``nouns``), and the things, ordered by which kind holds which, become one path.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from llama_index_semxpath.retrievers.reading import build
from llama_index_semxpath.retrievers.reading.fields import (
    FieldConditions,
    field_conditions,
    field_for,
)
from llama_index_semxpath.retrievers.reading.lexicon import NONE_OF
from llama_index_semxpath.retrievers.reading.narrowing import nested_rows, told_apart
from llama_index_semxpath.retrievers.reading.nouns import (
    SIDES,
    Noun,
    Phrase,
    attach_phrases,
    attach_values,
    find_nouns,
    word_runs,
)
from llama_index_semxpath.retrievers.reading.places import Place, find_places
from llama_index_semxpath.retrievers.reading.scan import Mark, Phrases, phrase_table, scan
from llama_index_semxpath.retrievers.reading.times import (
    MEALS,
    begins_within,
    find_hours,
    time_fields,
)
from llama_index_semxpath.retrievers.reading.vocabulary import Vocabulary, spoken
from llama_index_semxpath.retrievers.words import content_words, is_cjk, search_words
from llama_index_semxpath.tree.node import DOCUMENT_KINDS
from llama_index_semxpath.tree.table import TreeTable
from llama_index_semxpath.xpath import ast, to_text
from llama_index_semxpath.xpath.operators import combine

#: Questions that want a number of things.
COUNT = re.compile(
    r"\bhow\s+many\b|\b(?:the\s+)?number\s+of\b|\bcount\b|多少(?:个|条|份|项|次|种|人)|有几|几个",
    re.IGNORECASE,
)
#: “最后一天做什么” asks for what the day holds, not for the day.
_WHAT_IN_IT = re.compile(r"(?:有|做|干|安排|去|吃|看)[^，。？?]{0,4}(?:什么|哪些|哪儿|哪里)")
#: Longer questions are no look-ups; reading them is a waste.
_MAX_QUESTION = 600


@dataclass(frozen=True, slots=True)
class Reading:
    """A question as a query.

    Args:
        query: SemXPath text.
        reasons: What was read, in plain words.
        topic: Words of the question that the query says nothing about.
        places: Whether the query rests on places that the question names.
        graded: Whether a part of the query is decided by meaning.
        records: Whether it rests on kinds, fields and values, so that an empty result is an answer.
        counts: Whether the question asks how many there are.
        notes: What a person should know of the reading.
        wider: A query for the looser sense of a word, and what it takes it for.
    """

    query: str
    reasons: tuple[str, ...]
    topic: tuple[str, ...] = ()
    places: bool = False
    graded: bool = False
    records: bool = False
    counts: bool = False
    notes: tuple[str, ...] = ()
    wider: tuple[str, str] | None = None


@dataclass(slots=True)
class _Draft:
    steps: list[ast.Step] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)


class QuestionReader:
    """Reads questions about one tree.

    Args:
        table: The tree as the reader sees it; what it hides is an unknown word.

    Example:
        >>> from llama_index_semxpath.tree.node import TreeNode
        >>> nodes = [TreeNode("p", "Plan", "p")] + [
        ...     TreeNode(f"t{n}", "Task", "p", "p", attributes={"status": status})
        ...     for n, status in enumerate(["Todo", "Done"])]
        >>> reader = QuestionReader(TreeTable.from_nodes(nodes))
        >>> reader.read("Which tasks are not done yet?").query
        '//Task[not(@status = "Done")]'
    """

    def __init__(self, table: TreeTable) -> None:
        self.vocabulary = Vocabulary(table)

    @cached_property
    def _phrases(self) -> Phrases:
        return phrase_table(self.vocabulary)

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of record kinds and fields, as people say them."""
        kinds = set(self.vocabulary.record_kinds)
        fields = [f.name for f in self.vocabulary.fields.values() if f.kinds & kinds]
        return frozenset(spoken(name) for name in (*kinds, *fields))

    def read(self, question: str) -> Reading | None:
        """The query that a question asks, ``None`` when it names nothing of the tree."""
        if len(question) > _MAX_QUESTION:
            return None
        places = [place for place in find_places(question, self.vocabulary) if place.condition]
        if places:
            return self._read_places(question, places)
        found = self._read_records(question) if self.vocabulary.record_kinds else None
        found = found or self._read_fields(question)
        if found is None:
            titled = find_places(question, self.vocabulary, titles=True)
            places = [place for place in titled if place.condition]
            found = self._read_places(question, places) if places else None
        return found

    def means_records(self, question: str) -> bool:
        """Whether a question asks for records, be it not put as a filter."""
        if not self.vocabulary.record_kinds or len(question) > _MAX_QUESTION:
            return False
        reading = self.read(question)
        return reading is not None and reading.records and not reading.topic

    def missing(self, question: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Places that a question names and the tree does not have, and the words left over."""
        lost = [one for one in find_places(question, self.vocabulary) if one.condition is None]
        rest = question
        for place in lost:
            rest = rest.replace(place.said, " ")
        topic = [word for word in content_words(rest) if word not in _SAID_OF_PLACES]
        return tuple(place.said for place in lost), tuple(topic)

    # -- places -------------------------------------------------------------------------------

    def _read_places(self, question: str, places: Sequence[Place]) -> Reading:
        table = self.vocabulary.table
        places = _merged(places)
        chain = [places[0]]
        for place in places[1:]:
            if any(_holds(table, chain[-1].rows, place.rows)):
                chain.append(place)
            elif any(_holds(table, place.rows, chain[0].rows)):
                chain.insert(0, place)
        others = [place for place in places if place not in chain]
        rest = question
        for place in sorted(places, key=lambda one: -one.start):
            rest = f"{rest[: place.start]} {rest[place.end :]}"
        topic = [word for word in content_words(rest) if word not in _SAID_OF_PLACES]
        reasons = [f"“{place.said}” is a place" for place in chain]
        notes: tuple[str, ...] = ()
        steps: list[ast.Step] = []
        rows = nested_rows(table, [place.rows for place in chain])
        if not others and len(rows) > 1:
            # Several places are called so: what else the question says tells which is meant.
            meant, said = told_apart(table, rows, topic)
            if meant is not None:
                own, kind, title = meant
                test = build.equals("title", [title])
                if own:
                    condition = chain[-1].condition
                    assert condition is not None
                    both = ast.Binary("and", condition, test)
                    chain[-1] = replace(chain[-1], condition=both)
                else:
                    steps.extend(build.descend(kind, build.where(test)))
                topic = [word for word in topic if word not in said]
                reasons.append(f"of {len(rows)} the one in “{title}” is meant")
            else:
                notes = (_where(table, rows, chain[-1].said),)
        for place in chain:
            assert place.condition is not None
            steps.extend(build.descend(place.kind, build.where(place.condition)))
        wanted = self._part_wanted(rest)
        if wanted is not None:
            steps.extend(build.descend(wanted))
            reasons.append(f"it asks for {wanted} there")
        query = to_text(build.path(steps))
        if others:
            # Two places that do not nest are both meant, as in a comparison.
            paths = [query] + [
                to_text(build.path(build.descend(place.kind, build.where(place.condition))))
                for place in others
                if place.condition is not None
            ]
            query = " | ".join(paths)
            reasons.extend(f"“{place.said}” is a place" for place in others)
        return Reading(query, tuple(reasons), tuple(topic), places=True, notes=notes)

    def _part_wanted(self, rest: str) -> str | None:
        """A kind of block that the question asks for inside the place."""
        for mark in scan(rest, self.vocabulary, self._phrases):
            if mark.type == "kind" and mark.payload in DOCUMENT_KINDS and mark.payload != "Section":
                return str(mark.payload)
        return None

    # -- records ------------------------------------------------------------------------------

    def _read_records(self, question: str) -> Reading | None:
        marks = self._main_marks(scan(question, self.vocabulary, self._phrases))
        marks = self._named(self._without_hours(question, marks))
        nouns = find_nouns(marks, self.vocabulary)
        attach_values(marks, nouns, self.vocabulary)
        shift = _shift(question, marks)
        target = self._target(question, marks, nouns)
        if target is None:
            return None
        self._attach_sides(marks, nouns, target, question, shift)
        self._attach_bounds(marks, nouns, target, question)
        self._attach_fields(marks, nouns, target)
        attach_phrases(marks, nouns, target, self.vocabulary)
        hours = self._attach_hours(question, marks, target)
        named = [noun for noun in nouns if not noun.implied or noun.values]
        told = target.bounds or target.phrases or target.sides or hours
        if not named and not told:
            return None
        draft = _Draft()
        self._scopes(draft, nouns, target)
        expr = self._target_path(draft, nouns, target, shift)
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
        if self.vocabulary.only_records:
            return True
        # Beside documents, “how many days of leave” need not mean records of the kind Day.
        return not graded and any(not one.implied and one.kind != "*" for one in (target, *nouns))

    def _main_marks(self, marks: list[Mark]) -> list[Mark]:
        """The last sentence, with what earlier ones say of a place (“… on day 7. Which …”)."""
        ends = [
            at
            for at, mark in enumerate(marks)
            if mark.type == "stop" and mark.payload in ".。!！;；"
        ]
        cut = max((at for at in ends if at < len(marks) - 1), default=-1)
        earlier = [mark for mark in marks[: cut + 1] if mark.type in ("kind", "number", "position")]
        stop = [marks[cut]] if earlier else []
        return [*earlier, *stop, *marks[cut + 1 :]]

    def _target(self, question: str, marks: Sequence[Mark], nouns: list[Noun]) -> Noun | None:
        last = max((at for at, mark in enumerate(marks[:-1]) if mark.type == "stop"), default=-1)
        inside = [noun for noun in nouns if noun.at > last and not noun.implied]
        asked = next((at for at, mark in enumerate(marks) if mark.type == "wh" and at > last), None)
        if is_cjk(question):
            named = [noun for noun in nouns if not noun.implied]
            holds = bool(named) and named[-1].kind in self.vocabulary.items
            if holds and named[-1].position is not None and _WHAT_IN_IT.search(question):
                return self._implied_target(nouns, len(marks))
            return named[-1] if named else self._implied_target(nouns, len(marks))
        first = inside[0] if inside else None
        if first is not None and (asked is None or not self._only_scope(marks, asked, first)):
            return first
        return self._implied_target(nouns, len(marks))

    def _only_scope(self, marks: Sequence[Mark], asked: int, noun: Noun) -> bool:
        """Whether “what … on day 3” asks for something in the thing named, not for the thing."""
        word = marks[asked].payload
        between = marks[asked + 1 : noun.at]
        return word in ("what", "where", "when", "who") and any(m.type == "in" for m in between)

    def _implied_target(self, nouns: list[Noun], at: int) -> Noun | None:
        implied = [noun for noun in nouns if noun.implied]
        named = [noun for noun in nouns if not noun.implied]
        if implied and not named:
            return implied[0]
        if not self.vocabulary.items:
            return named[0] if named else None
        target = Noun("*", at)
        things = {kind for kinds in self.vocabulary.items.values() for kind in kinds}
        for noun in implied:
            # What a value implies is one of the things asked for, not another thing beside them.
            if noun.kind in things:
                target.values.extend(noun.values)
                nouns.remove(noun)
        nouns.append(target)
        return target

    def _attach_fields(self, marks: Sequence[Mark], nouns: Sequence[Noun], target: Noun) -> None:
        """“tasks with a note”, “without a note”: the field is there, or not."""
        for at, mark in enumerate(marks):
            before = marks[at - 1] if at else None
            after = marks[at + 1].type if at + 1 < len(marks) else "stop"
            if mark.type != "field" or before is None or after in ("value", "bound", "not", "in"):
                continue
            known = self.vocabulary.fields[mark.payload]
            holder = next(
                (one for one in (target, *nouns) if one.kind in known.kinds or one.kind == "*"),
                None,
            )
            if holder is None:
                continue
            if before.type == "have":
                holder.tests.append(build.attribute(mark.payload))
            elif before.type == "not" and before.payload in NONE_OF:
                holder.tests.append(build.negated(build.attribute(mark.payload)))

    def _without_hours(self, question: str, marks: list[Mark]) -> list[Mark]:
        """Marks but for those of times of day, where the records have any."""
        if not self._times:
            return marks
        spans = [(one.start, one.stop) for one in find_hours(question)]
        return [
            mark
            for mark in marks
            if mark.type in ("kind", "value")
            or not any(start < mark.end and mark.start < stop for start, stop in spans)
        ]

    def _named(self, marks: list[Mark]) -> list[Mark]:
        """Words after “before”, “after” or “between” that are a part of one name, as that name."""
        found = list(marks)
        for start, end in reversed(word_runs(marks)):
            before = marks[start - 1].type if start else "stop"
            text = " ".join(mark.payload for mark in marks[start:end])
            proper = end - start > 1 or text[:1].isupper() or not text.isascii()
            if before in ("before", "after", "between", "and") and proper:
                values = self.vocabulary.holding(text)
                if values:
                    found[start:end] = [
                        Mark("value", values, marks[start].start, marks[end - 1].end)
                    ]
        return found

    @cached_property
    def _times(self) -> list[str]:
        """Fields of records whose values begin with a time of day."""
        return time_fields(self.vocabulary.table, self.vocabulary.record_kinds)

    def _attach_hours(self, question: str, marks: Sequence[Mark], target: Noun) -> bool:
        """Times of day as a condition; a meal has its hour where no record speaks of it."""
        if not self._times:
            return False
        # “Night” in the name of a show is no time of day.
        names = [(mark.start, mark.end) for mark in marks if mark.type == "value"]
        found = [
            one
            for one in find_hours(question)
            if not any(start <= one.start < end for start, end in names)
        ]
        for one in found:
            target.tests.append(begins_within(self._times, one.first, one.end))
        for at, (axis, test) in enumerate(target.sides):
            meal = next((hours for name, hours in MEALS.items() if _says(test, name)), None)
            if meal is not None:
                first, end = (0, meal[0]) if axis == "following-sibling" else (meal[1], 24)
                clock = begins_within(self._times, first, end)
                other = build.beside(axis, test)
                target.tests.append(ast.Binary("or", other, clock))
                del target.sides[at]
                break
        return bool(found or target.tests)

    def _attach_sides(
        self, marks: Sequence[Mark], nouns: list[Noun], target: Noun, question: str, shift: int
    ) -> None:
        """“between A and B”, “tasks that come before A”: siblings on one side or both."""
        for at, mark in enumerate(marks):
            beside = [
                (place, one)
                for place, one in enumerate(marks[at + 1 :], at + 1)
                if one.type == "value"
            ]
            if mark.type == "between" and len(beside) >= 2:
                axes: tuple[ast.Axis, ...] = ("preceding-sibling", "following-sibling")
                for axis, (place, one) in zip(axes, beside[:2], strict=True):
                    self._stand(axis, place, one, nouns, target)
            elif mark.type in SIDES and beside and beside[0][0] == at + 1 and not shift:
                self._stand(SIDES[mark.type], *beside[0], nouns, target)

    def _stand(self, axis: ast.Axis, at: int, mark: Mark, nouns: list[Noun], target: Noun) -> None:
        """A value names a sibling, not the thing that is asked for."""
        values = mark.payload
        name = values[0].attribute
        wanted = [one.value for one in values if one.attribute == name]
        target.sides.append((axis, build.equals(name, wanted)))
        for noun in (*nouns, target):
            for test in noun.values:
                if test.attribute == name:
                    test.values = [value for value in test.values if value not in wanted]
            noun.values = [test for test in noun.values if test.values]
        for noun in [one for one in nouns if one.implied and not one.values and one is not target]:
            nouns.remove(noun)

    def _attach_bounds(
        self, marks: Sequence[Mark], nouns: Sequence[Noun], target: Noun, question: str
    ) -> None:
        for mark in marks:
            if mark.type != "bound":
                continue
            for noun in (target, *nouns):
                field = field_for(noun.kind, question, mark, self.vocabulary)
                if field is not None:
                    noun.bounds.append((field[0], mark))
                    break

    # -- fields of tables and documents -------------------------------------------------------

    def _read_fields(self, question: str) -> Reading | None:
        """Conditions on table rows or documents, where the question states enough of them."""
        marks = scan(question, self.vocabulary, self._phrases)
        found = field_conditions(question, marks, self.vocabulary)
        if found is None:
            return None
        topic = self._left_over(question, marks, found)
        if topic and found.kind != "Row":
            # Values that name a document beside a question about something in it.
            return None
        noun = Noun(found.kind, 0, values=found.values, bounds=found.bounds)
        query = to_text(build.path(build.descend(found.kind, *self._conditions(noun))))
        said = [f"{test.attribute} = {test.values[0]}" for test in found.values]
        said += [f"{name} {mark.payload.op} {mark.payload.value}" for name, mark in found.bounds]
        return Reading(
            query,
            (f"it asks for a {found.kind} with {', '.join(said)}",),
            topic,
            counts=COUNT.search(question) is not None,
            wider=self._from_then_on(noun),
        )

    def _left_over(
        self, question: str, marks: Sequence[Mark], found: FieldConditions
    ) -> tuple[str, ...]:
        """Words of the question that are no value, bound, field or name of a table."""
        rest = question
        for mark in marks:
            if mark.type in ("value", "bound", "field", "count", "wh"):
                rest = f"{rest[: mark.start]}{' ' * (mark.end - mark.start)}{rest[mark.end :]}"
        said = [test.attribute for test in found.values] + [name for name, _ in found.bounds]
        known = search_words(*said, *found.said)
        for test in found.values:
            known.update(search_words(*test.values))
        left = (
            word for word in content_words(rest) if not search_words(word).keys() & known.keys()
        )
        return tuple(word for word in left if word not in _SAID_OF_PLACES and len(word) > 1)

    def _from_then_on(self, noun: Noun) -> tuple[str, str] | None:
        """“After 2024” may mean from 2024 on: tried where nothing is later."""
        loose = [
            (name, Mark(mark.type, mark.payload.from_then_on(), mark.start, mark.end))
            for name, mark in noun.bounds
        ]
        if [mark.payload for _, mark in loose] == [mark.payload for _, mark in noun.bounds]:
            return None
        other = replace(noun, bounds=loose)
        query = to_text(build.path(build.descend(noun.kind, *self._conditions(other))))
        return query, "nothing is later than that period; from its first day on"

    # -- paths --------------------------------------------------------------------------------

    def _scopes(self, draft: _Draft, nouns: Sequence[Noun], target: Noun) -> None:
        """Steps for the things around the target, outermost first."""
        inner = target.kind
        holders = list(self.vocabulary.items) if inner == "*" else [inner]
        above = self.vocabulary.is_above
        around = [
            noun
            for noun in nouns
            if noun is not target
            and noun.kind != "*"
            and (
                (inner == "*" and noun.kind in holders)
                or any(above(noun.kind, holder) for holder in holders)
            )
        ]
        # How many of the others a thing holds says how far out it stands.
        rank = {id(noun): sum(above(noun.kind, o.kind) for o in around) for noun in around}
        for noun in sorted(around, key=lambda one: -rank[id(one)]):
            filters = self._conditions(noun)
            if noun.position is not None:
                # "day 4" is the fourth day; "the first open task" the first of those.
                position = _other(noun.position) if noun.excepted else noun.position
                filters.insert(0 if noun.labelled else len(filters), position)
            draft.steps.extend(self._step(draft, noun, filters))
            draft.reasons.append(f"within {noun.kind}")

    def _step(self, draft: _Draft, noun: Noun, filters: Sequence[ast.Filter]) -> Sequence[ast.Step]:
        outer = draft.steps[-1].test.name if draft.steps else ""
        if outer and noun.kind in self.vocabulary.children.get(outer, {}):
            return [build.child(noun.kind, *filters)]
        return build.descend(noun.kind, *filters)

    def _target_path(
        self, draft: _Draft, nouns: Sequence[Noun], target: Noun, shift: int
    ) -> ast.Expr:
        conditions = self._conditions(target)
        conditions.extend(self._held(draft, nouns, target))
        position = _complement(target.position) if target.excepted else target.position
        if shift:
            conditions.append(ast.Shift(shift))
        draft.reasons.append(f"it asks for {target.kind if target.kind != '*' else 'items'}")
        scoped = bool(draft.steps)
        if target.kind == "*":
            if not scoped or draft.steps[-1].test.name not in self.vocabulary.items:
                draft.steps.extend(build.descend(self._holder()))
            step: Sequence[ast.Step] = [build.child("*")]
        else:
            step = self._step(draft, target, ())
        if position is None:
            return build.path([*draft.steps, *step[:-1], _with(step[-1], conditions)])
        if scoped or self._one_each(target.kind):
            return build.path([*draft.steps, *step[:-1], _with(step[-1], [*conditions, position])])
        whole = build.path([*draft.steps, *step[:-1], _with(step[-1], conditions)])
        return ast.Path(whole, filters=(position,))

    def _holder(self) -> str:
        counts = {
            holder: sum(self.vocabulary.children[holder].get(kind, 0) for kind in kinds)
            for holder, kinds in self.vocabulary.items.items()
        }
        return max(counts, key=lambda holder: counts[holder])

    def _one_each(self, kind: str) -> bool:
        """Whether all nodes of a kind stand directly below the root of their document."""
        starts = self.vocabulary.table.tree_starts
        parents = self.vocabulary.table.parent[self.vocabulary.table.rows_of(kind)]
        return len(parents) > 0 and bool(set(parents.tolist()) <= set(starts.tolist()))

    def _conditions(self, noun: Noun) -> list[ast.Filter]:
        filters: list[ast.Filter] = []
        for test in noun.values:
            expr = build.equals(test.attribute, test.values)
            filters.append(build.where(build.negated(expr) if test.negated else expr))
        for name, mark in noun.bounds:
            filters.extend(build.where(expr) for expr in _bound(name, mark))
        if noun.phrases:
            filters.extend(_phrases(noun.phrases))
        filters.extend(build.where(test) for test in noun.tests)
        filters.extend(build.where(build.beside(axis, test)) for axis, test in noun.sides)
        for phrase in noun.evidence:
            held = build.below("*", build.where(build.means(phrase.text)))
            step = ast.Path(None, steps=(build.child("*", build.where(build.means(phrase.text))),))
            evidence: ast.Expr = step if self.vocabulary.items.get(noun.kind) else held
            filters.append(build.where(build.negated(evidence) if phrase.negated else evidence))
        return filters

    def _held(self, draft: _Draft, nouns: Sequence[Noun], target: Noun) -> list[ast.Filter]:
        """Conditions on what the target holds: some of it, or every one."""
        filters: list[ast.Filter] = []
        for noun in nouns:
            if (
                noun is target
                or noun.kind == "*"
                or not self.vocabulary.is_above(target.kind, noun.kind)
            ):
                continue
            conditions = self._conditions(noun)
            direct = noun.kind in self.vocabulary.children.get(target.kind, {})
            steps = [build.child(noun.kind)] if direct else list(build.below(noun.kind).steps)
            some: ast.Expr = ast.Path(None, steps=(*steps[:-1], _with(steps[-1], conditions)))
            if noun.count is not None:
                op, many = noun.count
                some = ast.Binary(op, ast.Call("count", (some,)), ast.Num(many))
            elif noun.none:
                some = build.negated(some)
            if noun.every and conditions:
                every = [_negate(one) for one in conditions if isinstance(one, ast.Predicate)]
                failing = build.where(combine("or", [one.expr for one in every]))
                plain = ast.Path(None, steps=tuple(steps))
                other = ast.Path(None, steps=(*steps[:-1], _with(steps[-1], [failing])))
                filters.extend([build.where(plain), build.where(build.negated(other))])
                draft.reasons.append(f"whose every {noun.kind} fits")
            else:
                filters.append(build.where(some))
                draft.reasons.append(f"with a {noun.kind} that fits")
        return filters


_SAID_OF_PLACES_WORDS = """
say says said about content contents read text 说
说了 内容 规定 讲 写 写了 包括 section chapter article mean
cover covers state states provide provides 哪里
怎么说 说什么 讲什么 是什么 具体
"""
#: What is said of a place that asks for nothing more than the place.
_SAID_OF_PLACES = frozenset(_SAID_OF_PLACES_WORDS.split())


def _merged(places: Sequence[Place]) -> list[Place]:
    """Places that may be one (“第五条年假”: a number and a title) as one place."""
    found: list[Place] = []
    for place in places:
        same = next((at for at, one in enumerate(found) if one.rows & place.rows), None)
        if same is None or place.condition is None or found[same].condition is None:
            found.append(place)
            continue
        one = found[same]
        assert one.condition is not None
        found[same] = replace(
            one,
            said=f"{one.said} {place.said}",
            start=min(one.start, place.start),
            end=max(one.end, place.end),
            condition=ast.Binary("and", one.condition, place.condition),
            rows=one.rows & place.rows,
        )
    return found


def _where(table: TreeTable, rows: Sequence[int], said: str) -> str:
    """In which documents the places stand that are called alike."""
    docs = dict.fromkeys(table.docs[int(table.doc[row])] for row in rows if table.doc[row] >= 0)
    shown = ", ".join(list(docs)[:5])
    return f"“{said}” stands in {len(rows)} places of {len(docs)} documents: {shown}"


def _holds(table: TreeTable, outer: frozenset[int], inner: frozenset[int]) -> list[bool]:
    return [any(row < other < int(table.end[row]) for other in inner) for row in outer]


_AT_ONCE = re.compile(r"\b(?:right|just|immediately|directly|next)\b|紧接|紧挨", re.IGNORECASE)


def _shift(question: str, marks: Sequence[Mark]) -> int:
    """“right before X” asks for the sibling before, “what comes after X” for the one after.

    Where things are asked for by name ("tasks before X") all of them on that side are meant.
    """
    things = any(mark.type in ("kind", "thing") for mark in marks)
    if things and not _AT_ONCE.search(question):
        return 0
    for at, mark in enumerate(marks[:-1]):
        if mark.type in ("before", "after") and marks[at + 1].type == "value":
            return -1 if mark.type == "before" else 1
    return 0


def _other(position: ast.Filter) -> ast.Filter:
    """Every place but these."""
    if isinstance(position, ast.Index) and position.position > 0:
        return build.where(build.negated(build.at_positions([position.position])))
    if isinstance(position, ast.Predicate):
        return _negate(position)
    return _complement(position) or position


def _says(test: ast.Expr, word: str) -> bool:
    """Whether a test by meaning is about a word."""
    return (
        isinstance(test, ast.Binary)
        and isinstance(test.right, ast.Str)
        and (word in test.right.value.casefold())
    )


def _complement(position: ast.Filter | None) -> ast.Filter | None:
    """Everything except a position at either end."""
    if isinstance(position, ast.Index):
        return ast.Slice(2, None) if position.position == 1 else ast.Slice(None, -2)
    if isinstance(position, ast.Slice) and position.last is not None:
        return ast.Slice(position.last + 1, None)
    if isinstance(position, ast.Slice) and position.first is not None:
        return ast.Slice(None, position.first - 1)
    return position


def _with(step: ast.Step, filters: Sequence[ast.Filter]) -> ast.Step:
    return ast.Step(step.axis, step.test, (*step.filters, *filters), step.repeat, step.explicit)


def _negate(predicate: ast.Predicate) -> ast.Predicate:
    return ast.Predicate(build.negated(predicate.expr))


def _phrases(phrases: Sequence[Phrase]) -> list[ast.Filter]:
    """One predicate a phrase; phrases joined by “and” or “or” are alternatives."""
    groups: list[list[Phrase]] = []
    for phrase in phrases:
        if phrase.joined and groups:
            groups[-1].append(phrase)
        else:
            groups.append([phrase])
    filters: list[ast.Filter] = []
    for group in groups:
        tests = [
            build.negated(build.means(one.text)) if one.negated else build.means(one.text)
            for one in group
        ]
        filters.append(build.where(combine("or", tests)))
    return filters


def _bound(name: str, mark: Mark) -> list[ast.Expr]:
    bound = mark.payload

    def literal(value: object) -> ast.Expr:
        return ast.Num(value) if isinstance(value, int | float) else ast.Str(str(value))

    if bound.op == "=" and bound.until is not None:
        return [
            ast.Binary(">=", build.attribute(name), literal(bound.value)),
            ast.Binary("<=", build.attribute(name), literal(bound.until)),
        ]
    return [ast.Binary(bound.op, build.attribute(name), literal(bound.value))]
