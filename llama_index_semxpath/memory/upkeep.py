"""Upkeep of a memory: archive what has faded, purge what has expired, condense what is long."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from llama_index_semxpath.errors import SemXPathError
from llama_index_semxpath.index.access import Principal, principal_labels
from llama_index_semxpath.memory.condense import Condensed, Covers, condense, prompt
from llama_index_semxpath.memory.decay import DecayPolicy
from llama_index_semxpath.memory.recall import corpus_of, ready_for
from llama_index_semxpath.memory.records import Record
from llama_index_semxpath.memory.selecting import select
from llama_index_semxpath.memory.structured import completer

if TYPE_CHECKING:
    from llama_index_semxpath.memory.changes import Change
    from llama_index_semxpath.memory.store import StructuredMemory


def archive_faded(
    memory: StructuredMemory, *, policy: DecayPolicy | None = None, principal: Principal = None
) -> tuple[str, ...]:
    """Archive memories that have faded: they are recalled no more, and can be read by id.

    Args:
        memory: The memory.
        policy: How memories fade, and from which strength they are archived.
        principal: Labels of who does it.

    Returns:
        Ids of what was archived.
    """
    policy = policy or DecayPolicy()
    now = memory.now()
    who = memory.principal if principal is None else principal_labels(principal)
    corpus = corpus_of(memory, who)
    strengths = corpus.strengths(now, policy, ready_for(memory).usage.uses)
    faded = corpus.holding(now) & (strengths < policy.archive_below * corpus.weights)
    ids = [corpus.nodes[row].id for row in np.flatnonzero(faded).tolist()]
    if ids:
        with memory.change("faded", what="archive", principal=who) as edit:
            for id_ in ids:
                edit.set(id_, attributes={"archived": now})
    return tuple(ids)


def purge_expired(
    memory: StructuredMemory,
    *,
    policy: DecayPolicy | None = None,
    history: bool = False,
    principal: Principal = None,
) -> tuple[str, ...]:
    """Remove memories whose last day is over, and those archived long enough ago.

    Until then they can be read by id. They go from catalog, vectors and graph alike; earlier
    revisions still show them unless history is purged as well.

    Args:
        memory: The memory.
        policy: How long expired and archived memories are kept.
        history: Purge all earlier versions too, so that nothing is left of them.
        principal: Labels of who does it.

    Returns:
        Ids of what was removed.
    """
    policy = policy or DecayPolicy()
    now = memory.now()
    who = memory.principal if principal is None else principal_labels(principal)
    until = now - dt.timedelta(days=policy.keep_archived)
    candidates = select(memory, "//*[@expires]", who) + select(memory, "//*[@archived]", who)
    ids = list(dict.fromkeys(m.id for m in candidates if _is_over(m.attributes, until)))
    if ids:
        with memory.change("expired", what="purge", principal=who) as edit:
            for id_ in ids:
                if edit.find(id_) is not None:  # it may stand below one that went before
                    edit.remove(id_)
        ready_for(memory).usage.forget(ids)
        if history:
            memory.purge()
    return tuple(ids)


@dataclass(frozen=True, slots=True)
class Condensation:
    """What condensing did.

    Args:
        result: The facts now, and what stands for which.
        change: The change, ``None`` where nothing changed.
        ids: Ids of the facts that are active now, in the order of ``result.facts``.
    """

    result: Condensed
    change: Change | None
    ids: tuple[str, ...]


def condense_memories(
    memory: StructuredMemory,
    targets: Sequence[str] | str,
    llm: Any,
    *,
    covers: Covers | None = None,
    principal: Principal = None,
) -> Condensation:
    """Condense memories into fewer that say the same, and keep the old ones as their sources.

    A condensed memory names its sources; these are archived, not removed. A reply that says
    nothing, or less, changes nothing; see :func:`condense.condense`.

    Args:
        memory: The memory.
        targets: Ids, or a SemXPath that selects the memories.
        llm: A LlamaIndex LLM, or a function from prompt to reply.
        covers: Whether the second text says all that the first does.
        principal: Labels of who does it.

    Raises:
        SemXPathError: There is nothing to condense.
    """
    who = memory.principal if principal is None else principal_labels(principal)
    if isinstance(targets, str):
        found = list(memory.query(targets, principal=who))
    else:
        found = [one for one in (memory.node(id_, who) for id_ in targets) if one is not None]
    found = [one for one in found if one.text.strip() and "archived" not in one.attributes]
    if not found:
        raise SemXPathError("there is nothing to condense", hint="name memories that have a text")
    texts = [" ".join(match.text.split()) for match in found]
    result = condense(texts, completer(llm)(prompt(texts)) or "", covers=covers)
    if tuple(texts) == result.facts:
        return Condensation(result, None, tuple(match.id for match in found))
    ids: list[str] = []
    with memory.change("condensed", what="condense", principal=who) as edit:
        now = memory.now()
        for text, sources in zip(result.facts, result.sources, strict=True):
            same = [found[place].id for place in sources if texts[place] == text]
            ids += same[:1] or [_write(edit, found, text, sources)]
        for place in result.dropped:
            into = next(i for i, s in zip(ids, result.sources, strict=True) if place in s)
            edit.set(found[place].id, attributes={"archived": now, "replaced_by": into})
    return Condensation(result, edit.change, tuple(ids))


def _write(edit: Any, found: Sequence[Any], text: str, sources: Sequence[int]) -> str:
    first = found[sources[0] if sources else 0]
    values: dict[str, Any] = {"sources": [found[place].id for place in sources]} if sources else {}
    subject = first.attributes.get("subject")
    if isinstance(subject, str):
        values["subject"] = subject
    id_: str = edit.add(Record(first.kind, text, values), first.node.parent)
    return id_


def _is_over(attributes: dict[str, Any], until: dt.datetime) -> bool:
    expires, archived = attributes.get("expires"), attributes.get("archived")
    if isinstance(archived, dt.datetime) and archived <= until:
        return True
    if isinstance(expires, dt.datetime):
        expires = expires.date()
    return isinstance(expires, dt.date) and until.date() > expires
