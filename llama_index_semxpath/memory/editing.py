"""Edits of a memory: a unit of work that becomes one change, and update statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from llama_index_semxpath.errors import (
    AmbiguousTargetError,
    ParameterError,
    QueryTypeError,
    StoreError,
)
from llama_index_semxpath.index.edits import TreeEditor
from llama_index_semxpath.index.match import Match
from llama_index_semxpath.memory.changes import Change
from llama_index_semxpath.memory.kinds import KindSpec, check_place, check_record, check_values
from llama_index_semxpath.memory.records import as_record
from llama_index_semxpath.memory.views import lenient_query
from llama_index_semxpath.node_parser.values import typed_value
from llama_index_semxpath.tree.record import Record
from llama_index_semxpath.xpath import ast, to_text
from llama_index_semxpath.xpath.types import is_graded

if TYPE_CHECKING:
    from llama_index_semxpath.index.reader import Reader

#: Candidates that a refusal shows.
_CANDIDATES = 10


class Edit(TreeEditor):
    """A unit of work on a memory: all of it becomes one change, or nothing does.

    Attributes:
        change: What was done, once the work is over.
    """

    change: Change | None = None

    #: Declarations that what is written must follow.
    kinds: Mapping[str, KindSpec] = MappingProxyType({})

    def add(
        self,
        record: Record,
        parent: str | None = None,
        *,
        before: str | None = None,
        after: str | None = None,
    ) -> str:
        """See ``TreeEditor.add``; declared kinds are checked."""
        check_record(self.kinds, record, self._above(parent))
        return super().add(record, parent, before=before, after=after)

    def set(
        self,
        id_: str,
        *,
        attributes: Mapping[str, Any] | None = None,
        text: str | None = None,
        kind: str | None = None,
        labels: frozenset[str] | None = None,
    ) -> bool:
        """See ``TreeEditor.set``; declared kinds are checked."""
        changed = super().set(id_, attributes=attributes, text=text, kind=kind, labels=labels)
        # Not as the writer sees it: new labels may leave the writer out, the parent may be hidden.
        row = self.row(id_)
        if row is None:
            return changed
        node = row[0]
        above = None if node.parent is None else self.row(node.parent)
        check_place(self.kinds, node.kind, "" if above is None else above[0].kind)
        check_values(self.kinds, node.kind, node.attributes)
        return changed

    def move(
        self, id_: str, parent: str, *, before: str | None = None, after: str | None = None
    ) -> None:
        """See ``TreeEditor.move``; declared kinds are checked."""
        check_place(self.kinds, self.node(id_).kind, self._above(parent))
        super().move(id_, parent, before=before, after=after)

    def _above(self, parent: str | None) -> str:
        return "" if parent is None else self.node(parent).kind


class Targets:
    """Finds the nodes that a statement names.

    Args:
        reader: The memory's reader.
        principal: Labels of who writes.
        params: Values of ``$name``.
    """

    def __init__(
        self,
        reader: Reader,
        principal: frozenset[str] | None,
        params: Mapping[str, Any] | None = None,
    ) -> None:
        self._reader = reader
        self._principal = principal
        self._params = dict(params or {})

    def matches(self, path: ast.Expr, *, one: bool, every: bool) -> list[Match]:
        """The nodes of a path, in document order.

        Args:
            path: The path.
            one: One node is meant, however the path is written.
            every: ``all`` was said: any number will do.

        Raises:
            StoreError: It selects nothing.
            AmbiguousTargetError: It selects more nodes than are meant.
        """
        text = to_text(path)
        found = list(
            lenient_query(self._reader, text, params=self._used(text), principal=self._principal)
        )
        if not found and not every:
            raise StoreError(
                "the target selects no node", where=text, hint="it may have been removed"
            )
        if len(found) > 1 and not every and (one or is_graded(path)):
            raise AmbiguousTargetError(
                f"{len(found)} nodes may be meant by {text}",
                found[:_CANDIDATES],
                hint="name one of them, or write all before the path",
            )
        return found

    def value(self, expr: ast.Expr) -> Any:
        """The value of an expression that no node is needed for."""
        if isinstance(expr, ast.Str):
            return expr.value
        if isinstance(expr, ast.Param):
            return self.param(expr)
        text = to_text(expr)
        result = self._reader.query(text, params=self._used(text), principal=self._principal)
        value = result.value
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if value is None or isinstance(value, list):
            raise QueryTypeError("a value is one string, number, date or boolean", query=text,
                                 offset=0)  # fmt: skip
        return value

    def param(self, expr: ast.Param) -> Any:
        """The value of a parameter."""
        if expr.name not in self._params:
            text = to_text(expr)
            raise ParameterError(f"no value for ${expr.name}", query=text, offset=0)
        return self._params[expr.name]

    def record(self, node: ast.NewNode | ast.Param) -> Record:
        """The record of a new node, without recursion."""
        if isinstance(node, ast.Param):
            return as_record(self.param(node))
        done: dict[int, Record] = {}
        todo: list[tuple[ast.NewNode, bool]] = [(node, False)]
        while todo:
            item, ready = todo.pop()
            if not ready:
                todo.append((item, True))
                todo.extend((child, False) for child in item.children)
                continue
            values = {name: self.value(expr) for name, expr in item.attributes}
            text = "" if item.text is None else self._text(item.text)
            children = [done[id(child)] for child in item.children]
            done[id(item)] = Record(item.kind, text, values, children)
        return done[id(node)]

    def _text(self, expr: ast.Expr) -> str:
        if isinstance(expr, ast.Str):
            return expr.value
        return str(self.value(expr))

    def _used(self, text: str) -> dict[str, Any]:
        return {name: value for name, value in self._params.items() if f"${name}" in text}


def carry_out(edit: Edit, statement: ast.Update, targets: Targets) -> None:
    """Does what an update statement says.

    Args:
        edit: The unit of work.
        statement: The statement, checked.
        targets: Finds its nodes.

    Raises:
        StoreError: A target selects nothing, or the place is no place.
        AmbiguousTargetError: A target selects more nodes than are meant.
    """
    match statement:
        case ast.Insert(node, place, target, every):
            record = targets.record(node)
            for match_ in targets.matches(target, one=True, every=every):
                put(edit, record, place, match_.id)
        case ast.SetValue(target, name, value, every):
            new = targets.value(value)
            for match_ in targets.matches(target, one=False, every=every):
                old = edit.node(match_.id).attributes.get(name)
                edit.set(match_.id, attributes={name: as_typed(new, old)})
        case ast.Replace(target, node, every):
            record = targets.record(node)
            for match_ in targets.matches(target, one=True, every=every):
                edit.replace(match_.id, record)
        case ast.Delete(target, every):
            remove(edit, targets.matches(target, one=False, every=every))
        case ast.Move(source, place, target, every):
            anchor = targets.matches(target, one=True, every=False)[0].id
            moving = targets.matches(source, one=False, every=every)
            shift(edit, [match_.id for match_ in moving], place, anchor)


def as_typed(new: Any, old: Any) -> Any:
    """A new value in the type of the one it replaces, where its text can be read so.

    Example:
        >>> import datetime as dt
        >>> as_typed("2026-03-01", dt.date(2025, 1, 1)), as_typed("7", "six"), as_typed("x", 5)
        (datetime.date(2026, 3, 1), '7', 'x')
    """
    if isinstance(new, str) and old is not None and not isinstance(old, str | list):
        typed = typed_value(new)
        if isinstance(typed, type(old)) or (
            isinstance(old, int | float) and isinstance(typed, int | float)
        ):
            return typed
    return new


def put(edit: Edit, record: Record, place: str, anchor: str) -> str:
    """Writes a record into, before or after a node; returns its id."""
    if place == "into":
        return edit.add(record, anchor)
    sibling = edit.node(anchor)
    if place == "before":
        return edit.add(record, sibling.parent, before=anchor)
    return edit.add(record, sibling.parent, after=anchor)


def remove(edit: Edit, matches: Sequence[Match]) -> None:
    """Takes nodes away; one below another goes with it."""
    gone: set[str] = set()
    for match_ in matches:
        if match_.id not in gone:
            gone.update(edit.remove(match_.id))


def shift(edit: Edit, ids: Sequence[str], place: str, anchor: str) -> None:
    """Moves nodes into, before or after a node, in the given order."""
    for id_ in ids:
        if place == "into":
            edit.move(id_, anchor)
            continue
        above = edit.node(anchor).parent
        if above is None:
            raise StoreError(
                "nothing can be moved beside the root of a tree", hint="move it into a tree"
            )
        if place == "before":
            edit.move(id_, above, before=anchor)
        else:
            edit.move(id_, above, after=anchor)
            anchor = id_
