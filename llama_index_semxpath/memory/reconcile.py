"""What a new fact does to those that are known: add, confirm, replace, end, or ask.

Pure functions with declared parameters. Only facts with the same subject and the same attribute
are ever compared, so that news of one thing never retires another.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from llama_index_semxpath.memory.facts import (
    Fact,
    FactSchema,
    folded,
    same_subject,
    same_value,
)

Action = Literal["add", "confirm", "replace", "history", "end", "ignore", "conflict"]
#: How two facts with other values stand to each other, as a model may say.
Relation = Literal["same", "replaces", "compatible", "contradicts"]
#: Says how a new fact stands to a known one; ``None`` when it cannot tell.
Judge = Callable[[Fact, Fact], Relation | None]


@dataclass(frozen=True, slots=True)
class ConflictPolicy:
    """When one of two contradicting facts wins.

    Args:
        decisive_weight: A source that weighs this many times more wins whatever its age; >= 1.
        merge_confidence: Whether saying the same again raises the confidence, as independent
            evidence does: ``1 - (1 - a)(1 - b)``.
        most_confidence: Confidence that repetition cannot exceed, in (0, 1].
    """

    decisive_weight: float = 2.0
    merge_confidence: bool = True
    most_confidence: float = 0.99


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do with a new fact.

    Args:
        action: ``add`` it; ``confirm`` the known one (raise confidence and recency); ``replace``
            the known ones, which become history; keep it as ``history`` only, since a newer or
            heavier one stands; ``end`` the known ones; ``ignore`` it (kept already, or nothing to
            end); or ``conflict``: neither wins, the agent is asked.
        fact: The new fact, with its validity set.
        known: The facts it concerns.
        reason: Why, one sentence.
    """

    action: Action
    fact: Fact
    known: tuple[Fact, ...] = ()
    reason: str = ""


def reconcile(
    fact: Fact,
    known: Iterable[Fact],
    *,
    schema: FactSchema | None = None,
    policy: ConflictPolicy | None = None,
    judge: Judge | None = None,
) -> Decision:
    """Decide about one new fact.

    Args:
        fact: The new fact.
        known: Facts that are active; those of other subjects or attributes are passed over.
        schema: Which attributes have one value at a time.
        policy: Who wins.
        judge: Asked about two values of one attribute that may have several.

    Example:
        >>> old = Fact("rio", "commutes_by", "bus")
        >>> reconcile(Fact("rio", "commutes_by", "bicycle"), [old]).action
        'conflict'
        >>> june = dt.datetime(2031, 6, 1, tzinfo=dt.timezone.utc)
        >>> reconcile(Fact("rio", "commutes_by", "bicycle", valid_from=june), [old]).action
        'replace'
        >>> reconcile(Fact("pia", "commutes_by", "bicycle"), [old]).action
        'add'
    """
    schema, policy = schema or FactSchema(), policy or ConflictPolicy()
    spec = schema.spec(fact.attribute)
    near = [one for one in known if _same_case(one, fact)]
    peers = [one for one in near if one.attribute == fact.attribute]
    equal = [one for one in peers if same_value(one.value, fact.value)]
    if fact.negated:
        return _end(fact, equal)
    if equal:
        return _again(fact, equal[0])
    rivals = [
        one
        for one in near
        if spec.opposite and one.attribute == spec.opposite and same_value(one.value, fact.value)
    ]
    if spec.single:
        rivals += peers
    elif judge is not None:
        said = [(one, judge(fact, one)) for one in peers]
        same = next((one for one, verdict in said if verdict == "same"), None)
        if same is not None:
            return Decision("confirm", fact, (same,), "the same in other words")
        rivals += [one for one, verdict in said if verdict in ("replaces", "contradicts")]
    if not rivals:
        return Decision("add", fact, (), "nothing known speaks against it")
    rivals = [one for one in rivals if _overlap(fact, one)]
    if not rivals:
        return Decision("add", fact, (), "it holds at another time")
    return _contest(fact, rivals, policy)


def reconcile_all(
    facts: Sequence[Fact],
    known: Sequence[Fact],
    *,
    schema: FactSchema | None = None,
    policy: ConflictPolicy | None = None,
    judge: Judge | None = None,
) -> list[Decision]:
    """Decide about several facts said together; those that contradict each other are not applied.

    Example:
        >>> both = [Fact("rio", "age", "30", source="t1"), Fact("rio", "age", "31", source="t1")]
        >>> [d.action for d in reconcile_all(both, [])]
        ['conflict', 'conflict']
    """
    schema = schema or FactSchema()
    decisions: list[Decision] = []
    for place, fact in enumerate(facts):
        if any(_twins(fact, earlier) for earlier in facts[:place]):
            continue
        rivals = tuple(other for other in facts if _contradict(fact, other, schema))
        if rivals:
            decisions.append(Decision("conflict", fact, rivals, "said together with its contrary"))
        else:
            decisions.append(reconcile(fact, known, schema=schema, policy=policy, judge=judge))
    return decisions


def confirmed(known: Fact, again: Fact, policy: ConflictPolicy | None = None) -> float:
    """The confidence of a fact that was said again.

    Example:
        >>> known, again = (Fact("a", "b", "c", confidence=level) for level in (0.8, 0.5))
        >>> round(confirmed(known, again), 3)
        0.9
    """
    policy = policy or ConflictPolicy()
    if not policy.merge_confidence:
        return max(known.confidence, again.confidence)
    merged = 1.0 - (1.0 - known.confidence) * (1.0 - again.confidence)
    return max(known.confidence, min(merged, policy.most_confidence))


def _end(fact: Fact, equal: Sequence[Fact]) -> Decision:
    if equal:
        return Decision("end", fact, tuple(equal), "it is said to hold no longer")
    return Decision("ignore", fact, (), "what is said to have ended was not known")


def _again(fact: Fact, known: Fact) -> Decision:
    if (fact.source, fact.valid_from) == (known.source, known.valid_from):
        return Decision("ignore", fact, (known,), "it was said there and then already")
    return Decision("confirm", fact, (known,), "the same was known already")


def _contest(fact: Fact, rivals: Sequence[Fact], policy: ConflictPolicy) -> Decision:
    heaviest = max(one.weight for one in rivals)
    if fact.weight >= heaviest * policy.decisive_weight:
        return Decision("replace", fact, tuple(rivals), "its source weighs more")
    if heaviest >= fact.weight * policy.decisive_weight:
        return Decision("history", fact, tuple(rivals), "the source of what is known weighs more")
    newest = max((one.valid_from or _DAWN for one in rivals), key=_moment)
    mine = fact.valid_from or _DAWN
    if _moment(mine) > _moment(newest):
        return Decision("replace", fact, tuple(rivals), "it is newer")
    if _moment(mine) < _moment(newest):
        return Decision("history", fact, tuple(rivals), "what is known is newer")
    return Decision("conflict", fact, tuple(rivals), "neither is newer, nor of heavier source")


def _contradict(one: Fact, other: Fact, schema: FactSchema) -> bool:
    if one.negated or other.negated or not _same_case(one, other):
        return False
    spec = schema.spec(one.attribute)
    if other.attribute == one.attribute:
        return spec.single and not same_value(one.value, other.value) and _overlap(one, other)
    return other.attribute == spec.opposite and same_value(one.value, other.value)


def _same_case(one: Fact, other: Fact) -> bool:
    """Whether two facts speak of one subject under one condition."""
    return same_subject(one.subject, other.subject) and folded(one.condition) == folded(
        other.condition
    )


def _twins(one: Fact, other: Fact) -> bool:
    return (
        _same_case(one, other)
        and one.attribute == other.attribute
        and one.negated == other.negated
        and same_value(one.value, other.value)
    )


def _overlap(one: Fact, other: Fact) -> bool:
    """Whether two facts hold at some moment both, as far as their ends are known."""
    if one.valid_until and other.valid_from and one.valid_until <= other.valid_from:
        return False
    return not (other.valid_until and one.valid_from and other.valid_until <= one.valid_from)


_DAWN = dt.datetime.min.replace(tzinfo=dt.UTC)


def _moment(time: dt.datetime) -> float:
    return -1e12 if time is _DAWN else time.timestamp()
