"""Which mentions in the sources are one entity: merging, homonyms, provenance, undo.

All functions here are pure: the rows live in the catalog (``entity_sources``, ``entity_merges``),
one source row for each entity and document, so an entity's references are its rows and deleting a
document takes away exactly its own.

The rules, in order; each is the ``rule`` of the recorded merge:

- ``same-name``: the canonical keys are equal (see ``entity_names``).
- ``alias``: the name is an alias of the entity, or one of its aliases is the entity's name.
- ``company-form``: equal but for a company's legal form that one of the two leaves out.

Two mentions that a rule would join stay apart when their types differ (a mention without a type
fits any one type, but never two), when their contexts differ, when an identifying property has
different values, or when a person undid that merge before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

from llama_index_semxpath.index.entity_names import canonical_key, name_key
from llama_index_semxpath.index.rows import EntitySource

#: Labels that say nothing about the type.
UNTYPED = frozenset({"", "entity", "Entity", "node", "__Node__"})
#: Properties that identify: two different values are two entities.
IDENTIFYING = frozenset(
    {"id", "uid", "uuid", "email", "isbn", "doi", "lei", "工号", "学号", "编号", "身份证号"}
)


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity as one document speaks of it.

    Args:
        name: The spelling.
        label: Its type, as in ``Person``; one of ``UNTYPED`` when the source does not say.
        context: What tells it from namesakes of the same type (a tenant, a project); names meet
            only within one context.
        properties: What the document says about it.
        aliases: Other names that the document gives it.
    """

    name: str
    label: str = "entity"
    context: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Merge:
    """A decision that a spelling belongs to an entity; recorded so that it can be undone.

    Args:
        kept: Id of the entity.
        absorbed: The spelling that was taken in.
        rule: Name of the rule that joined them.
    """

    kept: str
    absorbed: str
    rule: str


@dataclass(slots=True)
class KnownEntity:
    """What resolution needs to know of an entity.

    Args:
        id: Entity id.
        label: Its type.
        context: Its context.
        names: All spellings and aliases, the display name first.
        properties: Its properties (the identifying ones count).
        apart: Spellings that must not be merged into it.
    """

    id: str
    label: str
    context: str = ""
    names: list[str] = field(default_factory=list)
    properties: dict[str, Any] = field(default_factory=dict)
    apart: frozenset[str] = frozenset()


class EntityResolver:
    """Finds the entity of a mention, or makes a new one.

    Args:
        known: The entities so far; the resolver keeps its own copy up to date.
        identifying: Property keys that identify an entity.

    Example:
        >>> resolver = EntityResolver()
        >>> first, _ = resolver.resolve(Mention("Valve Unit"))
        >>> again, merge = resolver.resolve(Mention("VALVE  UNIT"))
        >>> first == again, merge.rule
        (True, 'same-name')
        >>> resolver.resolve(Mention("Valve Unit 2"))[0] == first
        False
    """

    def __init__(
        self,
        known: Iterable[KnownEntity] = (),
        *,
        identifying: Iterable[str] = IDENTIFYING,
    ) -> None:
        self._identifying = frozenset(identifying)
        self._entities: dict[str, KnownEntity] = {}
        self._by_key: dict[str, list[str]] = {}
        for entity in known:
            self._add(replace(entity, names=list(entity.names), properties={**entity.properties}))

    def resolve(self, mention: Mention) -> tuple[str, Merge | None]:
        """The entity's id, and the merge when the spelling is new to it.

        Raises:
            AttributeValueError: The name has no visible character.
        """
        for rule, keys in self._rules(mention):
            fitting = [e for e in self._candidates(keys) if self._fits(e, mention, keys)]
            chosen = self._choose(fitting, mention)
            if chosen is not None:
                new = mention.name not in chosen.names
                self._learn(chosen, mention)
                return chosen.id, Merge(chosen.id, mention.name, rule) if new else None
        entity = KnownEntity(
            self._free_id(mention),
            mention.label,
            mention.context,
            list(dict.fromkeys((mention.name, *mention.aliases))),
            dict(mention.properties),
        )
        self._add(entity)
        return entity.id, None

    def _rules(self, mention: Mention) -> list[tuple[str, list[str]]]:
        key = name_key(mention.name)
        return [
            ("same-name", [key.full]),
            ("alias", [canonical_key(alias) for alias in mention.aliases]),
            ("company-form", [f"\0{key.base}"]),
        ]

    def _candidates(self, keys: Sequence[str]) -> list[KnownEntity]:
        ids = dict.fromkeys(id_ for key in keys for id_ in self._by_key.get(key, ()))
        return [self._entities[id_] for id_ in ids]

    def _fits(self, entity: KnownEntity, mention: Mention, keys: Sequence[str]) -> bool:
        if entity.context != mention.context or mention.name in entity.apart:
            return False
        if keys[:1] and keys[0].startswith("\0") and not _forms_agree(entity, mention):
            return False
        return all(
            entity.properties[key] == mention.properties[key]
            for key in self._identifying & entity.properties.keys() & mention.properties.keys()
        )

    def _choose(self, fitting: list[KnownEntity], mention: Mention) -> KnownEntity | None:
        # An exact spelling first: a merge that was undone left two entities with one key.
        fitting.sort(key=lambda entity: mention.name not in entity.names)
        same = [e for e in fitting if e.label == mention.label]
        if same:
            return same[0]
        if mention.label in UNTYPED:
            return fitting[0] if len(fitting) == 1 else None
        untyped = [e for e in fitting if e.label in UNTYPED]
        return untyped[0] if untyped else None

    def _learn(self, entity: KnownEntity, mention: Mention) -> None:
        if entity.label in UNTYPED:
            entity.label = mention.label
        entity.properties.update(mention.properties)
        for name in (mention.name, *mention.aliases):
            if name not in entity.names:
                entity.names.append(name)
                self._index(entity, name)

    def _add(self, entity: KnownEntity) -> None:
        self._entities[entity.id] = entity
        for name in entity.names:
            self._index(entity, name)

    def _index(self, entity: KnownEntity, name: str) -> None:
        key = name_key(name)
        for entry in (key.full, f"\0{key.base}"):
            ids = self._by_key.setdefault(entry, [])
            if entity.id not in ids:
                ids.append(entity.id)

    def _free_id(self, mention: Mention) -> str:
        place = 0
        while (id_ := entity_id(mention, place)) in self._entities:
            place += 1
        return id_


def entity_id(mention: Mention, occurrence: int = 0) -> str:
    """Deterministic id of the entity that a first mention makes.

    Example:
        >>> entity_id(Mention("Acme")) == entity_id(Mention("ACME"))
        True
    """
    digest = blake2b(digest_size=16, person=b"entity")
    label = "" if mention.label in UNTYPED else mention.label
    for part in (mention.context, label, canonical_key(mention.name), str(occurrence)):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()


def merge_sources(
    rows: Sequence[EntitySource],
) -> tuple[str, str, dict[str, Any], tuple[str, ...]]:
    """What an entity is, from all documents that support it.

    Args:
        rows: Its living source rows in document order, at least one.

    Returns:
        ``(label, name, properties, aliases)``: the first label that says something, the first
        spelling seen, the properties of all rows (a later document over an earlier one), and the
        other spellings in order of appearance.

    Example:
        >>> merge_sources([EntitySource("e", "d1", "entity", "Acme", {"a": 1}),
        ...                EntitySource("e", "d2", "Company", "ACME", {"b": 0})])
        ('Company', 'Acme', {'a': 1, 'b': 0}, ('ACME',))
    """
    name = rows[0].name
    label = next((row.label for row in rows if row.label not in UNTYPED), rows[0].label)
    properties: dict[str, Any] = {}
    for row in rows:
        properties.update(row.properties)
    spellings = dict.fromkeys(s for row in rows for s in (row.name, *row.aliases))
    return label, name, properties, tuple(s for s in spellings if s != name)


def undo_merge(
    rows: Sequence[EntitySource], merge: Merge
) -> tuple[list[EntitySource], list[EntitySource]]:
    """Takes a spelling out of an entity again.

    Args:
        rows: All source rows of the entity.
        merge: The recorded merge to undo.

    Returns:
        ``(staying, moved)``: the rows to write for the entity, and those of a new entity of that
        spelling. A row that knows both spellings is divided; its properties stay where its name
        stays. The caller marks the merge as undone and gives its ``absorbed`` as ``apart`` of the
        entity from then on (``apart_names``).

    Example:
        >>> rows = [EntitySource("e", "d1", "entity", "Acme"),
        ...         EntitySource("e", "d2", "entity", "ACME")]
        >>> staying, moved = undo_merge(rows, Merge("e", "ACME", "same-name"))
        >>> [r.name for r in staying], [r.name for r in moved]
        (['Acme'], ['ACME'])
    """
    staying, moved = [], []
    for row in rows:
        spelled = (row.name, *row.aliases)
        if merge.absorbed not in spelled:
            staying.append(row)
            continue
        id_ = entity_id(Mention(merge.absorbed, row.label, context=f"\0{merge.kept}"))
        others = tuple(s for s in spelled if s != merge.absorbed)
        if row.name == merge.absorbed:
            moved.append(replace(row, entity=id_, aliases=()))
            if others:
                staying.append(replace(row, name=others[0], aliases=others[1:], properties={}))
        else:
            staying.append(replace(row, aliases=others[1:]))
            moved.append(replace(row, entity=id_, name=merge.absorbed, aliases=(), properties={}))
    return staying, moved


def apart_names(undone: Iterable[Merge]) -> dict[str, frozenset[str]]:
    """Entity id to the spellings that must stay out of it, from the merges that were undone.

    Example:
        >>> apart_names([Merge("e", "ACME Ltd", "company-form")])
        {'e': frozenset({'ACME Ltd'})}
    """
    names: dict[str, set[str]] = {}
    for merge in undone:
        names.setdefault(merge.kept, set()).add(merge.absorbed)
    return {entity: frozenset(values) for entity, values in names.items()}


def _forms_agree(entity: KnownEntity, mention: Mention) -> bool:
    """Whether at most one legal form is among the names: "X Inc" and "X Ltd" are two companies."""
    base = name_key(mention.name).base
    forms = {key.form for key in map(name_key, (*entity.names, mention.name)) if key.base == base}
    return len(forms - {""}) <= 1
