"""Turns and facts into a memory: kept, compared with what is known, all in one change."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.index.access import Principal, principal_labels
from llama_index_semxpath.memory.extraction import extract_facts
from llama_index_semxpath.memory.facts import Fact, FactSchema, folded
from llama_index_semxpath.memory.reconcile import (
    ConflictPolicy,
    Decision,
    Judge,
    confirmed,
    reconcile_all,
)
from llama_index_semxpath.memory.records import Record
from llama_index_semxpath.memory.selecting import select
from llama_index_semxpath.tree.node import TreeNode

if TYPE_CHECKING:
    from llama_index_semxpath.memory.editing import Edit
    from llama_index_semxpath.memory.store import StructuredMemory

_SUBJECT = "/Subject[lower-case(@name) = $name]"
#: Kinds that keep facts.
FACT_KINDS = ("Fact", "Preference")


@dataclass(frozen=True, slots=True)
class TurnText:
    """One turn as it was said.

    Args:
        text: What was said.
        speaker: Who said it.
        time: When, with a time zone.
        role: ``user``, ``assistant`` …
    """

    text: str
    speaker: str = ""
    time: dt.datetime | None = None
    role: str = "user"


@dataclass(frozen=True, slots=True)
class Learned:
    """What was kept of some turns or facts.

    Args:
        turns: Ids of the turns.
        decisions: What was done with each fact.
        revision: The change that keeps it.
    """

    turns: tuple[str, ...]
    decisions: tuple[Decision, ...]
    revision: int

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Facts that are new."""
        return tuple(one.fact for one in self.decisions if one.action in ("add", "replace"))

    @property
    def conflicts(self) -> tuple[Decision, ...]:
        """Facts that contradict what is known, or each other: nothing of them was kept but the
        turn; the agent should ask."""
        return tuple(one for one in self.decisions if one.action == "conflict")


@dataclass(frozen=True)
class WritingPolicy:
    """How facts are found and compared.

    Args:
        schema: Attributes that are known.
        conflicts: Which of two contradicting facts wins.
        source_weights: How much a speaker or role counts; others count 1. A name goes before a
            role.
        roles: Roles whose statements are taken for facts.
        judge: Says how two values of one attribute stand to each other.
    """

    schema: FactSchema = field(default_factory=FactSchema)
    conflicts: ConflictPolicy = field(default_factory=ConflictPolicy)
    source_weights: Mapping[str, float] | None = None
    roles: tuple[str, ...] = ("user",)
    judge: Judge | None = None

    def weight(self, turn: TurnText) -> float:
        """How much a turn counts as a source.

        Example:
            >>> policy = WritingPolicy(source_weights={"assistant": 0.5})
            >>> policy.weight(TurnText("x", role="assistant"))
            0.5
        """
        weights = self.source_weights or {}
        return float(weights.get(turn.speaker, weights.get(turn.role, 1.0)))


def learn(
    memory: StructuredMemory,
    turns: Any,
    *,
    session: str = "",
    conversation: str = "conversation",
    speaker: str = "",
    policy: WritingPolicy | None = None,
    llm: Any = None,
    labels: Sequence[str] | frozenset[str] | None = None,
    author: str | None = None,
    principal: Principal = None,
) -> Learned:
    """Keep turns of a conversation, and the facts that they state.

    Turns are kept under ``/Conversation/Session``, facts under ``/Subject``, all as one change:
    when any of it fails, nothing is kept and what was known stands.

    Args:
        memory: The memory.
        turns: A text, a mapping (``text``, ``speaker``, ``time``, ``role``), a LlamaIndex
            ``ChatMessage``, or several of them. Empty ones are passed over.
        session: Name of the session; ``""`` takes the day.
        conversation: Name of the conversation.
        speaker: Who says "I", where a turn names nobody.
        policy: How facts are found and compared.
        llm: A LlamaIndex LLM, or a function from prompt to reply, asked for facts beside the rules;
            when it fails, the rules stand alone.
        labels: Access labels; by default the principal's.
        author: Who writes.
        principal: Labels of who writes.

    Example:
        >>> import tempfile
        >>> from llama_index_semxpath.memory import StructuredMemory
        >>> folder = tempfile.TemporaryDirectory()
        >>> memory = StructuredMemory.from_defaults(folder.name, embed=False)
        >>> learned = learn(memory, "I live in Oslo and I like tea.", speaker="Rio")
        >>> [(fact.attribute, fact.value) for fact in learned.facts]
        [('lives_in', 'Oslo'), ('likes', 'tea')]
        >>> [match.attributes["value"] for match in memory.query('/Subject[@name = "Rio"]/Fact')]
        ['Oslo']
        >>> memory.close(); folder.cleanup()
    """
    policy = policy or WritingPolicy()
    said = [turn for turn in as_turns(turns, speaker) if turn.text.strip()]
    who = memory.principal if principal is None else principal_labels(principal)
    own = who if labels is None else frozenset(labels)
    known_llm = _by_model(said, policy, llm)
    now = _moment_after(memory)
    with memory.change(
        "conversation", what="learn", author=author, principal=who, time=now
    ) as edit:
        ids = _keep_turns(memory, edit, said, session, conversation, now, own, who)
        facts: list[Fact] = []
        for turn, id_, more in zip(said, ids, known_llm, strict=True):
            if turn.role in policy.roles:
                time = turn.time or now
                facts += extract_facts(
                    turn.text, speaker=turn.speaker, time=time, source=id_,
                    schema=policy.schema, weight=policy.weight(turn),
                )  # fmt: skip
                facts += [replace(fact, source=id_, valid_from=time) for fact in more]
        decisions = _keep_facts(memory, edit, facts, policy, now, own, who)
    return Learned(tuple(ids), tuple(decisions), edit.change.revision if edit.change else 0)


def remember_facts(
    memory: StructuredMemory,
    facts: Iterable[Fact],
    *,
    policy: WritingPolicy | None = None,
    labels: Sequence[str] | frozenset[str] | None = None,
    author: str | None = None,
    principal: Principal = None,
    reason: str = "",
) -> Learned:
    """Keep facts, compared with what is known; see :func:`learn`.

    Args:
        memory: The memory.
        facts: The facts. One without ``valid_from`` holds from now.
        policy: How they are compared.
        labels: Access labels; by default the principal's.
        author: Who writes.
        principal: Labels of who writes.
        reason: Why.

    Raises:
        SemXPathError: A fact without subject, attribute or value.
    """
    policy = policy or WritingPolicy()
    given = list(facts)
    for fact in given:
        if not (fact.subject.strip() and fact.attribute.strip() and fact.value.strip()):
            raise SemXPathError("a fact needs a subject, an attribute and a value")
    who = memory.principal if principal is None else principal_labels(principal)
    own = who if labels is None else frozenset(labels)
    now = _moment_after(memory)
    with memory.change(
        reason, what="remember facts", author=author, principal=who, time=now
    ) as edit:
        dated = [replace(fact, valid_from=fact.valid_from or now) for fact in given]
        decisions = _keep_facts(memory, edit, dated, policy, now, own, who)
    return Learned((), tuple(decisions), edit.change.revision if edit.change else 0)


def known_facts(
    memory: StructuredMemory, subject: str | None = None, principal: Principal = None
) -> list[Fact]:
    """Facts that hold now.

    Args:
        memory: The memory.
        subject: Only those about it.
        principal: Labels of who reads.
    """
    who = memory.principal if principal is None else principal_labels(principal)
    place = "/Subject" if subject is None else _SUBJECT
    params = {} if subject is None else {"name": subject.strip().lower()}
    facts = [
        as_fact(match.node)
        for match in select(memory, f"{place}/*", who, params)
        if match.kind in FACT_KINDS and "archived" not in match.attributes
    ]
    now = memory.now()
    return [one for one in facts if one.valid_until is None or one.valid_until > now]


def as_fact(node: TreeNode) -> Fact:
    """The fact that a node keeps.

    Example:
        >>> node = TreeNode("1", "Fact", "d", attributes={"subject": "Rio", "value": "tea"})
        >>> as_fact(node).value
        'tea'
    """
    values = node.attributes
    return Fact(
        subject=str(values.get("subject", "")),
        attribute=str(values.get("attribute", "")),
        value=str(values.get("value", node.text)),
        text=node.text,
        kind=node.kind,
        condition=str(values.get("condition", "")),
        confidence=_number(values.get("confidence"), 0.8),
        weight=_number(values.get("weight"), 1.0),
        source=str(values.get("source", "")),
        valid_from=_time(values.get("valid_from")),
        valid_until=_time(values.get("valid_until")),
        id=node.id,
    )


def as_turns(turns: Any, speaker: str = "") -> list[TurnText]:
    """What a caller gives as turns.

    Raises:
        SemXPathError: It is none of the accepted forms.

    Example:
        >>> as_turns(["hi", {"text": "ho", "speaker": "Bo"}], "Ann")[1].speaker
        'Bo'
    """
    if isinstance(turns, str | Mapping | TurnText) or not isinstance(turns, Iterable):
        turns = [turns]
    return [_turn(one, speaker) for one in turns]


def _turn(one: Any, speaker: str) -> TurnText:
    if isinstance(one, TurnText):
        return one if one.speaker else replace(one, speaker=speaker)
    if isinstance(one, str):
        return TurnText(one, speaker)
    if isinstance(one, Mapping):
        role = str(one.get("role", "user"))
        who = str(one.get("speaker") or (speaker if role == "user" else role))
        return TurnText(
            str(one.get("text") or one.get("content") or ""), who, _time(one.get("time")), role
        )
    speaking, content = getattr(one, "role", None), getattr(one, "content", None)
    if speaking is None or not isinstance(content, str | None):
        raise SemXPathError(
            f"a {type(one).__name__} is no turn", hint="give a text, a mapping or a ChatMessage"
        )
    name = str(getattr(speaking, "value", speaking))
    return TurnText(content or "", speaker if name == "user" else name, None, name)


def _moment_after(memory: StructuredMemory) -> dt.datetime:
    """A moment after all that was written, so that what is said later is newer whatever the clock
    says."""
    last = memory.revisions(1)
    tick = dt.timedelta(microseconds=1)
    return max(memory.now(), last[0].time + tick) if last else memory.now()


def _by_model(said: Sequence[TurnText], policy: WritingPolicy, llm: Any) -> list[list[Fact]]:
    """What a model finds in each turn; its failure is no failure of the memory."""
    if llm is None:
        return [[] for _ in said]
    from llama_index_semxpath.memory.structured import extract_with

    found: list[list[Fact]] = []
    for turn in said:
        try:
            found.append(
                extract_with(llm, turn.text, speaker=turn.speaker, schema=policy.schema,
                             weight=policy.weight(turn))
            )  # fmt: skip
        except Exception:  # any model of anybody may fail in any way; the rules still stand
            found.append([])
    return found


def _keep_turns(
    memory: StructuredMemory,
    edit: Edit,
    said: Sequence[TurnText],
    session: str,
    conversation: str,
    now: dt.datetime,
    labels: frozenset[str] | None,
    who: frozenset[str] | None,
) -> list[str]:
    if not said:
        return []
    started = said[0].time or now
    session = session or f"{started:%Y-%m-%d}"
    params = {"name": conversation, "session": session}
    path = "/Conversation[@name = $name]"
    place = _one(memory, f"{path}/Session[@name = $session]", params, who)
    if place is None:
        parent = _one(memory, path, {"name": conversation}, who)
        if parent is None:
            parent = edit.add(
                Record("Conversation", attributes={"name": conversation}, labels=labels)
            )
        place = edit.add(
            Record("Session", attributes={"name": session, "started": started}), parent
        )
    return [
        edit.add(
            Record("Turn", turn.text, _values(speaker=turn.speaker or turn.role,
                                              time=turn.time or now, role=turn.role)),
            place,
        )
        for turn in said
    ]  # fmt: skip


def _keep_facts(
    memory: StructuredMemory,
    edit: Edit,
    facts: Sequence[Fact],
    policy: WritingPolicy,
    now: dt.datetime,
    labels: frozenset[str] | None,
    who: frozenset[str] | None,
) -> list[Decision]:
    if not facts:
        return []
    names = {folded(fact.subject): fact.subject for fact in facts}
    known = [one for name in names.values() for one in known_facts(memory, name, who)]
    subjects = {
        key: id_
        for key, name in names.items()
        if (id_ := _one(memory, _SUBJECT, {"name": name.strip().lower()}, who)) is not None
    }
    done = []
    for fact in _in_order(facts):
        for decision in reconcile_all(
            [fact, *_same_time(fact, facts)], known,
            schema=policy.schema, policy=policy.conflicts, judge=policy.judge,
        )[:1]:  # fmt: skip
            key = folded(fact.subject)
            if decision.action in ("add", "replace", "history") and key not in subjects:
                root = Record("Subject", attributes={"name": fact.subject}, labels=labels)
                subjects[key] = edit.add(root)
            decision, known = _carry_out(edit, decision, known, subjects.get(key), policy, now)
            done.append(decision)
    return done


def _in_order(facts: Sequence[Fact]) -> list[Fact]:
    """Facts by time, each statement of one time once."""
    kept: list[Fact] = []
    for fact in facts:
        key = (folded(fact.subject), fact.attribute, folded(fact.value), folded(fact.condition))
        if not any(
            key == (folded(o.subject), o.attribute, folded(o.value), folded(o.condition))
            and o.valid_from == fact.valid_from and o.negated == fact.negated
            for o in kept
        ):  # fmt: skip
            kept.append(fact)
    return sorted(kept, key=lambda one: one.valid_from.timestamp() if one.valid_from else 0.0)


def _same_time(fact: Fact, facts: Sequence[Fact]) -> list[Fact]:
    """What was said together with a fact."""
    return [
        o
        for o in facts
        if o is not fact and (o.source, o.valid_from) == (fact.source, fact.valid_from)
    ]


def _carry_out(
    edit: Edit,
    decision: Decision,
    known: list[Fact],
    subject: str | None,
    policy: WritingPolicy,
    now: dt.datetime,
) -> tuple[Decision, list[Fact]]:
    """Write what a decision says; returns it with ids, and what is known after it."""
    fact, old = decision.fact, decision.known
    since = fact.valid_from or now
    if decision.action == "confirm":
        level = confirmed(old[0], fact, policy.conflicts)
        edit.set(old[0].id, attributes={"confidence": round(level, 4), "said": since})
        again = replace(old[0], confidence=level)
        return decision, [again if one.id == old[0].id else one for one in known]
    if decision.action == "end":
        for one in old:
            edit.set(one.id, attributes={"valid_until": since, "ended_by": fact.source or None})
        return decision, [one for one in known if one not in old]
    if decision.action not in ("add", "replace", "history"):
        return decision, known
    ends: dict[str, Any] = {}
    if decision.action == "history":
        begun = [one.valid_from for one in old if one.valid_from and one.valid_from > since]
        fact = replace(fact, valid_until=min(begun, default=since))
        ends = {"replaced_by": old[0].id}
    elif decision.action == "replace":
        ends = {"replaces": [one.id for one in old]}
    id_ = edit.add(_record(fact, ends), subject)
    fact = replace(fact, id=id_)
    if decision.action == "replace":
        for one in old:
            edit.set(one.id, attributes={"valid_until": since, "replaced_by": id_})
        known = [one for one in known if one not in old]
    if decision.action != "history":
        known = [*known, fact]
    return replace(decision, fact=fact), known


def _record(fact: Fact, more: Mapping[str, Any]) -> Record:
    values = _values(
        subject=fact.subject,
        attribute=fact.attribute,
        value=fact.value,
        condition=fact.condition,
        confidence=fact.confidence,
        weight=fact.weight,
        source=fact.source,
        valid_from=fact.valid_from,
        valid_until=fact.valid_until,
    )
    return Record(fact.kind, fact.sentence(), {**values, **more})


def _one(
    memory: StructuredMemory, path: str, params: Mapping[str, Any], who: frozenset[str] | None
) -> str | None:
    found = select(memory, path, who, params)
    return found[0].id if found else None


def _values(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in ("", None)}


def _number(value: Any, default: float) -> float:
    return (
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) else default
    )


def _time(value: Any) -> dt.datetime | None:
    if isinstance(value, str):
        try:
            value = dt.datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, dt.datetime):
        return value if value.tzinfo else value.replace(tzinfo=dt.UTC)
    return None
