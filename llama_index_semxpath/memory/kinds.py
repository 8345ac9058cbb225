"""Declared kinds: what a record of a kind may hold, checked before it is written."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from llama_index_semxpath.errors import AttributeValueError, StoreError
from llama_index_semxpath.tree.record import Record
from llama_index_semxpath.xpath.suggest import nearest

TYPES = ("string", "number", "boolean", "date", "datetime", "list")


@dataclass(frozen=True, slots=True)
class KindSpec:
    """What records of one kind may hold.

    Args:
        attributes: Type of each attribute: ``string``, ``number``, ``boolean``, ``date``,
            ``datetime`` or ``list``.
        required: Attributes that none may lack.
        parents: Kinds that they may stand in, ``""`` for the root of a tree; ``None`` for any.
        extra: Whether other attributes may be written too.

    Raises:
        StoreError: A type is unknown, a required attribute has none, or no place is allowed.

    Example:
        >>> task = KindSpec({"name": "string", "due": "date"}, required=["name"])
        >>> check_record({"Task": task}, Record("Task", attributes={"due": "soon"}), "")
        Traceback (most recent call last):
        ...
        llama_index_semxpath.errors.AttributeValueError: a Task needs a 'name' (name)
    """

    attributes: Mapping[str, str] = field(default_factory=dict)
    required: Collection[str] = ()
    parents: Collection[str] | None = None
    extra: bool = False

    def __post_init__(self) -> None:
        for name, type_ in self.attributes.items():
            if type_ not in TYPES:
                raise StoreError(
                    f"'{type_}' is no type of an attribute", where=name, hint=f"use {_any(TYPES)}"
                )
        for name in self.required:
            if name not in self.attributes:
                raise StoreError("a required attribute is not declared", where=name)
        if self.parents is not None and not self.parents:
            raise StoreError("a kind stands nowhere", hint='name kinds, or "" for the root')

    def __str__(self) -> str:
        names = [
            f"@{name} {type_}{' required' if name in self.required else ''}"
            for name, type_ in self.attributes.items()
        ]
        return ", ".join(names + ["…"] * self.extra)


def check_record(kinds: Mapping[str, KindSpec], record: Record, parent: str) -> None:
    """Refuses a record, or one below it, that is not as its kind was declared.

    Kinds that are not declared are free.

    Args:
        kinds: Declarations by kind.
        record: What is to be written.
        parent: Kind of the node that it is to stand in, ``""`` for the root of a tree.

    Raises:
        AttributeValueError: An attribute is missing, of another type, or not declared.
        StoreError: It stands where it may not.
    """
    for one, above in _below(record, parent):
        if one.kind in kinds:
            check_place(kinds, one.kind, above)
            check_values(kinds, one.kind, one.attributes)


def check_place(kinds: Mapping[str, KindSpec], kind: str, parent: str) -> None:
    """Refuses a place that a kind may not stand in; see :func:`check_record`."""
    spec = kinds.get(kind)
    if spec is None or spec.parents is None or parent in spec.parents:
        return
    place = f"in a {parent}" if parent else "at the root"
    allowed = [f"in a {name}" if name else "at the root" for name in spec.parents]
    raise StoreError(f"a {kind} may not stand {place}", hint=f"it stands {_any(allowed)}")


def check_values(kinds: Mapping[str, KindSpec], kind: str, attributes: Mapping[str, Any]) -> None:
    """Refuses attributes that a kind was not declared with; see :func:`check_record`."""
    spec = kinds.get(kind)
    if spec is None:
        return
    for name in spec.required:
        if attributes.get(name) is None:
            raise AttributeValueError(f"a {kind} needs a '{name}'", where=name)
    for name, value in attributes.items():
        if name not in spec.attributes:
            if spec.extra:
                continue
            near = nearest(name, spec.attributes, 1)
            hint = f"did you mean '{near[0]}'?" if near else f"it has {spec}"
            raise AttributeValueError(f"a {kind} has no '{name}'", where=name, hint=hint)
        found = _type(value)
        if value is not None and found != spec.attributes[name]:
            raise AttributeValueError(
                f"'{name}' of a {kind} is a {spec.attributes[name]}, not a {found}", where=name
            )


def _below(record: Record, parent: str) -> Iterator[tuple[Record, str]]:
    todo = [(record, parent)]
    while todo:
        one, above = todo.pop()
        yield one, above
        todo.extend((child, one.kind) for child in one.children)


def _type(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, dt.datetime):
        return "datetime"
    for types, name in (((int, float), "number"), (dt.date, "date"), ((list, tuple), "list")):
        if isinstance(value, types):
            return name
    return "string"


def _any(names: Collection[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last
