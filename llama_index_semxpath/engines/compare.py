"""Typed comparisons, existential over sets: by column and distinct value, never pair by pair.

A set is cut into blocks of one class (string, number, boolean, date). Two sets are compared by
what decides the question: the least and greatest value of each context for ``<`` and ``!=``, a join
on (context, value) for ``=``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from llama_index_semxpath.engines.sets import NodeSet, ValueSet, expand, group_starts
from llama_index_semxpath.engines.values import (
    Booleans,
    Dates,
    Listed,
    Numbers,
    Scores,
    Strings,
    Value,
    column_strings,
    exists,
    item_strings,
    parse_date,
    parse_number,
    to_booleans,
)
from llama_index_semxpath.text import nfc
from llama_index_semxpath.tree.columns import Column, Floats, Mask, Rows, ValueType
from llama_index_semxpath.tree.table import TreeTable

Class = Literal["string", "number", "boolean", "date"]
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TYPE_CLASS: dict[int, Class] = {
    ValueType.NUMBER: "number",
    ValueType.BOOLEAN: "boolean",
    ValueType.DATE: "date",
    ValueType.DATETIME: "date",
}


@dataclass(slots=True)
class Block:
    """Values of one class; ``owner`` is the context of each, ``None`` where place = context."""

    kind: Class
    data: Floats | Strings
    owner: Rows | None

    def at(self, places: Any) -> Block:
        """The values at some places (a single value serves every place)."""
        if isinstance(self.data, Strings):
            codes = self.data.codes
            data: Any = Strings(codes if len(codes) == 1 else codes[places], self.data.vocab)
        else:
            data = self.data if len(self.data) == 1 else self.data[places]
        return Block(self.kind, data, None)


def compare(table: TreeTable, op: str, left: Value, right: Value, count: int) -> Mask:
    """``left op right`` in each of ``count`` contexts (an array of 1: the same in all)."""
    if isinstance(left, Listed) or isinstance(right, Listed):
        return _compare_listed(table, op, left, right, count)
    if _is_set(left):
        if _is_set(right):
            return _compare_sets(table, op, left, right, count)
        return _compare_set(table, op, left, right, count)
    if _is_set(right):
        return _compare_set(table, _FLIPPED[op], right, left, count)
    if op in ("=", "!=") and (isinstance(left, Booleans) or isinstance(right, Booleans)):
        a, b = to_booleans(table, left, count), to_booleans(table, right, count)
        found: Mask = OPERATORS[op](a, b)
        return found
    return _elementwise(op, _scalar_block(left), _scalar_block(right))


def _compare_listed(table: TreeTable, op: str, left: Value, right: Value, count: int) -> Mask:
    found = np.zeros(1, dtype=np.bool_)
    lefts = left.values if isinstance(left, Listed) else [left]
    rights = right.values if isinstance(right, Listed) else [right]
    for a in lefts:
        for b in rights:
            found = found | compare(table, op, a, b, count)
    return found


def _compare_set(table: TreeTable, op: str, found: Value, other: Value, count: int) -> Mask:
    """A set against one value a context: some entry must fit."""
    if isinstance(other, Booleans) and isinstance(found, NodeSet):
        truth = exists(found, count)
        if op not in ("=", "!="):
            return _elementwise(op, _scalar_block(Booleans(truth)), _scalar_block(other))
        fits: Mask = OPERATORS[op](truth, other.values)
        return fits
    assert isinstance(found, NodeSet | ValueSet)
    scalar = _scalar_block(other)
    result = np.zeros(1 if found.owner is None and _length(scalar) == 1 else count, np.bool_)
    for block in blocks(table, found):
        if found.owner is not None:
            assert block.owner is not None
            fits = _elementwise(op, block, scalar.at(block.owner))
            result[block.owner[fits]] = True
        elif _length(scalar) == 1:
            result |= bool(_elementwise(op, block, scalar).any())
        else:
            # The same set in all contexts against a value of each: make every context own it.
            owner = np.repeat(np.arange(count), _length(block))
            every = block.at(np.tile(np.arange(_length(block)), count))
            result[owner[_elementwise(op, every, scalar.at(owner))]] = True
    return result


def _compare_sets(table: TreeTable, op: str, left: Value, right: Value, count: int) -> Mask:
    assert isinstance(left, NodeSet | ValueSet)
    assert isinstance(right, NodeSet | ValueSet)
    single = left.owner is None and right.owner is None
    width = 1 if single else count
    result = np.zeros(width, dtype=np.bool_)
    for a in blocks(table, left):
        for b in blocks(table, right):
            x, y = _aligned(a, b)
            result |= _ranged(op, *_owned(x, a, left, width), *_owned(y, b, right, width), width)
    return result


def _owned(
    values: Floats, block: Block, found: NodeSet | ValueSet, width: int
) -> tuple[Rows, Floats]:
    """Owner and value of each entry; a set of every context is given to each."""
    if found.owner is not None:
        assert block.owner is not None
        return block.owner, values
    values = np.unique(values)
    return np.repeat(np.arange(width), len(values)), np.tile(values, width)


def _ranged(op: str, ao: Rows, av: Floats, bo: Rows, bv: Floats, width: int) -> Mask:
    """Whether some value of a context on the left fits some on the right."""
    result = np.zeros(width, dtype=np.bool_)
    if not len(av) or not len(bv):
        return result
    if op == "=":
        _, ids = np.unique(np.concatenate([av, bv]), return_inverse=True)
        a = ao.astype(np.int64) * len(ids) + ids[: len(av)]
        b = bo.astype(np.int64) * len(ids) + ids[len(av) :]
        hit = np.isin(a, b) & ~np.isnan(av)
        result[ao[hit]] = True
        return result
    (alow, ahigh, ahas, anan), (blow, bhigh, bhas, bnan) = (
        _bounds(ao, av, width),
        _bounds(bo, bv, width),
    )
    both = ahas & bhas
    if op == "!=":
        # NaN differs from everything; else all values must be one and the same to fail.
        same = (alow == ahigh) & (blow == bhigh) & (alow == blow)
        differs: Mask = both & (~same | anan | bnan)
        return differs
    ends = (alow, bhigh) if op in ("<", "<=") else (ahigh, blow)
    with np.errstate(invalid="ignore"):
        fits: Mask = both & OPERATORS[op](*ends)
    return fits


def _bounds(owner: Rows, values: Floats, width: int) -> tuple[Floats, Floats, Mask, Mask]:
    nan = np.isnan(values)
    low, high = np.full(width, np.nan), np.full(width, np.nan)
    has = np.zeros(width, dtype=np.bool_)
    has[owner] = True
    with_nan = np.zeros(width, dtype=np.bool_)
    with_nan[owner[nan]] = True
    owner, values = owner[~nan], values[~nan]
    if len(owner):
        order = np.argsort(owner, kind="stable")
        owner, values = owner[order], values[order]
        starts = group_starts(owner)
        low[owner[starts]] = np.minimum.reduceat(values, starts)
        high[owner[starts]] = np.maximum.reduceat(values, starts)
    return low, high, has, with_nan


# -- blocks -----------------------------------------------------------------------------------


def blocks(table: TreeTable, found: NodeSet | ValueSet) -> Iterator[Block]:
    """The entries of a set by class, each with its context."""
    owners = found.owners()
    if isinstance(found, NodeSet):
        if len(found.rows):
            strings = item_strings(table, found, np.arange(len(found.rows)))
            yield Block("string", strings, owners)
        return
    for column, places in found.parts():
        if len(places):
            yield from _column_blocks(table, column, found.rows[places], owners[places])


def _column_blocks(
    table: TreeTable, column: Column | None, rows: Rows, owner: Rows
) -> Iterator[Block]:
    if column is None:
        yield Block("string", column_strings(table, None, rows), owner)
        return
    places = column.slots(len(table))[rows]
    uniform = column.uniform
    types = column.types[places]
    present = [uniform] if uniform is not None else [ValueType(t) for t in np.unique(types)]
    for kind in present:
        mine = slice(None) if uniform is not None else types == kind
        if kind == ValueType.STRING:
            yield Block("string", Strings(column.codes[places[mine]], column.vocab), owner[mine])
        elif kind == ValueType.STRINGS:
            lists = column.codes[places[mine]]
            starts = np.concatenate([[0], column.list_ends])[lists]
            item, index = expand(starts, column.list_ends[lists])
            strings = Strings(column.list_codes[index], column.vocab)
            yield Block("string", strings, owner[mine][item])
        else:
            yield Block(_TYPE_CLASS[kind], column.numbers[places[mine]], owner[mine])


def _scalar_block(value: Value) -> Block:
    if isinstance(value, Strings):
        return Block("string", value, None)
    if isinstance(value, Booleans):
        return Block("boolean", value.values.astype(np.float64), None)
    if isinstance(value, Dates):
        return Block("date", value.values, None)
    if isinstance(value, Numbers | Scores):
        return Block("number", value.values, None)
    return Block("number", np.array([np.nan]), None)


# -- typed values -----------------------------------------------------------------------------


def _elementwise(op: str, left: Block, right: Block) -> Mask:
    if isinstance(left.data, Strings) and isinstance(right.data, Strings):
        if len(right.data.codes) == 1:
            return _with_constant(op, left.data, right.data)
        if len(left.data.codes) == 1:
            return _with_constant(_FLIPPED[op], right.data, left.data)
    x, y = _aligned(left, right)
    found: Mask = OPERATORS[op](x, y)
    return found


def _with_constant(op: str, strings: Strings, other: Strings) -> Mask:
    value, test = nfc(other.texts()[0]), OPERATORS[op]
    found: Mask = strings.map(lambda text: test(nfc(text), value), np.bool_)
    return found


def _aligned(left: Block, right: Block) -> tuple[Floats, Floats]:
    """Both sides as numbers that compare as the values do."""
    kinds = {left.kind, right.kind}
    if "date" in kinds:
        return _as_date(left), _as_date(right)
    if kinds == {"string"} or kinds == {"string", "boolean"}:
        return _string_ranks(left, right)
    return _as_number(left), _as_number(right)


def _as_date(block: Block) -> Floats:
    if isinstance(block.data, Strings):
        dates: Floats = block.data.map(parse_date, np.float64)
        return dates
    # A number or a truth value is no date: it compares false.
    return block.data if block.kind == "date" else np.full(len(block.data), np.nan)


def _as_number(block: Block) -> Floats:
    if isinstance(block.data, Strings):
        numbers: Floats = block.data.map(parse_number, np.float64)
        return numbers
    return block.data


def _string_ranks(left: Block, right: Block) -> tuple[Floats, Floats]:
    """Strings as their places among all strings of both sides, in order of code points."""
    sides = [_as_strings(left), _as_strings(right)]
    normal = [[nfc(side.vocab[code]) for code in np.unique(side.codes).tolist()] for side in sides]
    rank = {text: float(place) for place, text in enumerate(sorted({*normal[0], *normal[1]}))}
    # A string that no context holds has no rank, and is not looked at.
    a, b = (side.map(lambda text: rank.get(nfc(text), -1.0), np.float64) for side in sides)
    return a, b


def _as_strings(block: Block) -> Strings:
    if isinstance(block.data, Strings):
        return block.data
    return Strings((block.data != 0).astype(np.int32), ["false", "true"])


def _length(block: Block) -> int:
    return len(block.data.codes) if isinstance(block.data, Strings) else len(block.data)


def _is_set(value: Value) -> bool:
    return isinstance(value, NodeSet | ValueSet)
