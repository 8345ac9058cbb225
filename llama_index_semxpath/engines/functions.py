"""The function library over arrays: XPath 1.0's core, and what the language adds.

One function here is one row of ``xpath.functions.FUNCTIONS``; names with ``-`` have ``_``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from llama_index_semxpath.engines import aggregates, semijoin
from llama_index_semxpath.engines.ordering import group_rows, sorted_nodes, top_nodes
from llama_index_semxpath.engines.patterns import compiled
from llama_index_semxpath.engines.sets import NodeSet, ValueSet
from llama_index_semxpath.engines.values import (
    Booleans,
    Dates,
    Listed,
    Numbers,
    Scores,
    Strings,
    Value,
    constant,
    counts,
    first_places,
    to_booleans,
    to_numbers,
    to_strings,
)
from llama_index_semxpath.engines.wording import text_index
from llama_index_semxpath.text import nfc
from llama_index_semxpath.tree.columns import Floats, epoch
from llama_index_semxpath.xpath import ast

if TYPE_CHECKING:
    from llama_index_semxpath.engines.evaluate import Context, Evaluator

Function = Callable[["Evaluator", ast.Call, "Context"], Value]
_SPACES = " \t\r\n"
_HERE = ast.Path(None, (), (ast.Step("self", ast.Test("any-node")),))


def call(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    """The value of a function call in every context."""
    return _TABLE[expr.name](evaluator, expr, context)


def _argument(evaluator: Evaluator, expr: ast.Call, context: Context, place: int = 0) -> Value:
    """An argument, the context node by default."""
    arg = expr.args[place] if place < len(expr.args) else _HERE
    return evaluator.value(arg, context)


def _text(evaluator: Evaluator, expr: ast.Call, context: Context, place: int = 0) -> Strings:
    value = _argument(evaluator, expr, context, place)
    return to_strings(evaluator.table, value, len(context))


def _number(evaluator: Evaluator, expr: ast.Call, context: Context, place: int = 0) -> Floats:
    value = _argument(evaluator, expr, context, place)
    return to_numbers(evaluator.table, value, len(context))


def _nodes(
    evaluator: Evaluator, expr: ast.Call, context: Context, place: int = 0
) -> NodeSet | ValueSet:
    value = _argument(evaluator, expr, context, place)
    if not isinstance(value, NodeSet | ValueSet):
        evaluator.fail(f"{expr.name}() takes nodes", expr.args[place])
    assert isinstance(value, NodeSet | ValueSet)
    return value


# -- node sets --------------------------------------------------------------------------------


def _last(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    return Numbers(np.ones(1) if context.last is None else context.last)


def _position(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    return Numbers(np.ones(1) if context.position is None else context.position)


def _count(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    path = expr.args[0]
    if isinstance(path, ast.Path):
        fast = semijoin.counts(evaluator, path, context)
        if fast is not None:
            return Numbers(fast)
    value = evaluator.value(path, context)
    if isinstance(value, Listed):
        return Numbers(np.array([float(len(value.values))]))
    if not isinstance(value, NodeSet | ValueSet):
        evaluator.fail("count() takes nodes", path)
    assert isinstance(value, NodeSet | ValueSet)
    return Numbers(counts(value, len(context)))


def _id(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    value = _argument(evaluator, expr, context)
    if isinstance(value, Listed):
        wanted = [to_strings(evaluator.table, item, 1).texts()[0] for item in value.values]
    elif isinstance(value, NodeSet | ValueSet):
        from llama_index_semxpath.engines.values import item_strings

        wanted = item_strings(evaluator.table, value, np.arange(len(value.rows))).texts()
    else:
        texts = to_strings(evaluator.table, value, len(context)).texts()
        if len(texts) > 1:
            return _ids_by_context(evaluator, texts)
        wanted = texts
    rows = {_row(evaluator, node_id) for node_id in wanted} - {0}
    return NodeSet(np.array(sorted(rows), dtype=np.int32))


def _ids_by_context(evaluator: Evaluator, texts: list[str]) -> NodeSet:
    rows = np.array([_row(evaluator, text) for text in texts], dtype=np.int32)
    some = np.flatnonzero(rows)
    return NodeSet(rows[some], some.astype(np.int32))


def _row(evaluator: Evaluator, node_id: str) -> int:
    return evaluator.table.position(node_id) or 0


def _name(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    found = _nodes(evaluator, expr, context)
    places = first_places(found, len(context))
    table = evaluator.table
    if isinstance(found, NodeSet):
        codes = np.where(places >= 0, table.kind[found.rows[places]] if len(found.rows) else 0, 0)
        return Strings(codes.astype(np.int32), table.kinds)
    names = [column.name if column is not None else "" for column in found.columns]
    which = np.zeros(len(found.rows), np.int32) if found.which is None else found.which
    codes = np.where(places >= 0, which[places] if len(which) else 0, len(names))
    return Strings(codes.astype(np.int32), [*names, ""])


def _namespace(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    return Strings.of([""])


def _lang(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    wanted = nfc(_text(evaluator, expr, context).texts()[0]).lower()
    path = ast.Path(
        None, (), (ast.Step("ancestor-or-self", ast.Test("any-node"), (
            ast.Predicate(ast.Path(None, (), (ast.Step("attribute", ast.Test("name", "lang")),))),
            ast.Index(1),
        )), ast.Step("attribute", ast.Test("name", "lang"))),
    )  # fmt: skip
    languages = to_strings(evaluator.table, evaluator.value(path, context), len(context))
    return Booleans(
        languages.map(lambda text: (text.lower() + "-").startswith(wanted + "-"), np.bool_)
    )


def _distinct_values(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    from llama_index_semxpath.engines.values import item_strings

    found = _nodes(evaluator, expr, context)
    if found.owner is not None and len(context) > 1:
        evaluator.fail("distinct-values() gives one list for the whole query", expr)
    texts = item_strings(evaluator.table, found, np.arange(len(found.rows))).texts()
    return Listed([constant(text) for text in dict.fromkeys(map(nfc, texts))])


def _text_of(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    found = _nodes(evaluator, expr, context)
    return ValueSet(found.rows, found.owner, (None,), None, found.scores)


# -- strings ----------------------------------------------------------------------------------


def _string(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    return _text(evaluator, expr, context)


def _pairwise(
    first: Strings, second: Strings, function: Callable[[str, str], Any], dtype: Any
) -> np.ndarray[Any, Any]:
    """A function of two strings in every context, once a distinct pair."""
    if len(second.codes) == 1:
        other = second.texts()[0]
        return first.map(lambda text: function(text, other), dtype)
    if len(first.codes) == 1:
        own = first.texts()[0]
        return second.map(lambda text: function(own, text), dtype)
    width = len(second.vocab)
    keys = first.codes.astype(np.int64) * width + second.codes
    pairs, back = np.unique(keys, return_inverse=True)
    table = np.empty(len(pairs), dtype=dtype)
    for place, pair in enumerate(pairs.tolist()):
        table[place] = function(first.vocab[pair // width], second.vocab[pair % width])
    return table[back]


def _two(function: Callable[[str, str], Any], dtype: Any) -> Function:
    def run(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
        found = _pairwise(
            _text(evaluator, expr, context, 0), _text(evaluator, expr, context, 1), function, dtype
        )
        return Booleans(found) if dtype is np.bool_ else Strings.of(found.tolist())

    return run


def _one(function: Callable[[str], Any], dtype: Any) -> Function:
    def run(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
        found = _text(evaluator, expr, context).map(function, dtype)
        return Numbers(found) if dtype is np.float64 else Strings.of(found.tolist())

    return run


def _contains(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    """One search through the whole text serves all nodes, where the first argument is nodes."""
    subject = evaluator.value(expr.args[0], context)
    needle = _text(evaluator, expr, context, 1)
    table = evaluator.table
    if isinstance(subject, NodeSet) and len(needle.codes) == 1:
        places = first_places(subject, len(context))
        some = np.flatnonzero(places >= 0)
        rows = subject.rows[places[some]]
        index = text_index(table, rows)
        if index is not None:
            text = needle.texts()[0]
            found = np.full(len(places), not text)
            found[some] = index.contains(rows, text)
            return Booleans(found)
    strings = to_strings(table, subject, len(context))
    return Booleans(_pairwise(strings, needle, lambda a, b: nfc(b) in nfc(a), np.bool_))


def _concat(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    joined = _text(evaluator, expr, context, 0)
    for place in range(1, len(expr.args)):
        part = _text(evaluator, expr, context, place)
        joined = Strings.of(_pairwise(joined, part, lambda a, b: a + b, object).tolist())
    return joined


def _before(text: str, mark: str) -> str:
    place = text.find(mark)
    return text[:place] if place >= 0 else ""


def _after(text: str, mark: str) -> str:
    place = text.find(mark)
    return text[place + len(mark) :] if place >= 0 else ""


def _substring(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    strings = _text(evaluator, expr, context)
    start = np.floor(_number(evaluator, expr, context, 1) + 0.5)
    if len(expr.args) > 2:
        with np.errstate(invalid="ignore"):
            stop = start + np.floor(_number(evaluator, expr, context, 2) + 0.5)
    else:
        stop = np.full(1, np.inf)
    count = _width(len(strings.codes), len(start), len(stop))
    texts = strings.texts() if len(strings.codes) == count else strings.texts() * count
    starts, stops = (np.broadcast_to(bound, count).tolist() for bound in (start, stop))
    return Strings.of([_cut(*row) for row in zip(texts, starts, stops, strict=True)])


def _width(*lengths: int) -> int:
    """Common length of arrays of which those of length 1 stand for all contexts."""
    return next((length for length in lengths if length != 1), 1)


def _cut(text: str, start: float, stop: float) -> str:
    if math.isnan(start) or math.isnan(stop) or start >= stop:
        return ""
    low = max(start, 1.0) - 1
    high = min(stop - 1, float(len(text)))
    return text[int(low) : int(high)] if low < high else ""


def _string_length(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    subject = _argument(evaluator, expr, context)
    if isinstance(subject, NodeSet):
        places = first_places(subject, len(context))
        some = np.flatnonzero(places >= 0)
        rows = subject.rows[places[some]]
        index = text_index(evaluator.table, rows)
        if index is not None:
            found = np.zeros(len(places))
            found[some] = index.starts[index.end[rows]] - index.starts[rows]
            return Numbers(found)
    return Numbers(to_strings(evaluator.table, subject, len(context)).map(len, np.float64))


def _translate(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    strings = _text(evaluator, expr, context)
    source, target = (_text(evaluator, expr, context, place) for place in (1, 2))
    if len(source.codes) == len(target.codes) == 1:
        table = _translation(source.texts()[0], target.texts()[0])
        return Strings.of(strings.map(lambda text: text.translate(table), object).tolist())
    maps = _pairwise(source, target, _translation, object)
    count = _width(len(strings.codes), len(maps))
    texts = strings.texts() if len(strings.codes) == count else strings.texts() * count
    tables = maps.tolist() if len(maps) == count else maps.tolist() * count
    return Strings.of([text.translate(table) for text, table in zip(texts, tables, strict=True)])


def _translation(source: str, target: str) -> dict[int, str | None]:
    table: dict[int, str | None] = {}
    for place, char in enumerate(source):
        table.setdefault(ord(char), target[place] if place < len(target) else None)
    return table


def _normal_space(text: str) -> str:
    for char in _SPACES[1:]:
        text = text.replace(char, " ")
    return " ".join(part for part in text.split(" ") if part)


def _matches(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    pattern = _text(evaluator, expr, context, 1).texts()[0]
    search = compiled(pattern, evaluator.query, expr.args[1].span[0])
    strings = _text(evaluator, expr, context)
    return Booleans(strings.map(lambda text: search(nfc(text)), np.bool_))


# -- truth and numbers ------------------------------------------------------------------------


def _boolean(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    value = evaluator.truth(expr.args[0], context)
    if isinstance(value, Scores):
        return Booleans(value.values >= evaluator.passing)
    return Booleans(to_booleans(evaluator.table, value, len(context)))


def _not(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    value = evaluator.truth(expr.args[0], context)
    if isinstance(value, Scores):
        return Scores(1.0 - value.values)
    return Booleans(~to_booleans(evaluator.table, value, len(context)))


def _true(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    return Booleans(np.array([True]))


def _false(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    return Booleans(np.array([False]))


def _to_number(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    return Numbers(_number(evaluator, expr, context))


def _rounding(function: Callable[[Floats], Floats]) -> Function:
    def run(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
        return Numbers(function(_number(evaluator, expr, context)))

    return run


def _round(values: Floats) -> Floats:
    # Halves go up, also below zero; a large number is whole already and must not gain by + 0.5.
    rounded: Floats = np.where(np.abs(values) < 2**52, np.floor(values + 0.5), values)
    return np.where((rounded == 0) & (values < 0), -0.0, rounded)


# -- time, grades, order ----------------------------------------------------------------------


def _today(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    return Dates(np.array([epoch(evaluator.now.date())]), date_only=True)


def _now(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    return Dates(np.array([epoch(evaluator.now)]), date_only=False)


def _bm25(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    subject = evaluator.value(expr.args[0], context)
    phrase = _text(evaluator, expr, context, 1)
    return evaluator.grader.keywords(subject, phrase, len(context), expr)


def _threshold(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    share = float(_number(evaluator, expr, context)[0])
    if not 0 <= share <= 1:
        evaluator.fail("a threshold lies between 0 and 1", expr.args[0])
    return evaluator.at_threshold(share, lambda: evaluator.value(expr.args[1], context))


def _top(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    count = _number(evaluator, expr, context)
    return top_nodes(_nodes(evaluator, expr, context, 1), count)


def _sort(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    order = _text(evaluator, expr, context, 2).texts()[0] if len(expr.args) > 2 else "asc"
    if order not in ("asc", "desc"):
        evaluator.fail('the order is "asc" or "desc"', expr.args[2])
    found = _nodes(evaluator, expr, context)
    if not isinstance(found, NodeSet):
        evaluator.fail("sort() takes nodes", expr.args[0])
    assert isinstance(found, NodeSet)
    return sorted_nodes(evaluator, found, expr.args[1], descending=order == "desc")


def _group(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    found = _nodes(evaluator, expr, context)
    if not isinstance(found, NodeSet):
        evaluator.fail("group() takes nodes", expr.args[0])
    assert isinstance(found, NodeSet)
    return group_rows(evaluator, found, expr.args[1])


def _past(evaluator: Evaluator, expr: ast.Call, context: Context) -> Value:
    raise evaluator.lacks(
        "this index keeps no versions", expr.span[0], "versions exist in agent memory"
    )


_TABLE: dict[str, Function] = {
    "last": _last,
    "position": _position,
    "count": _count,
    "id": _id,
    "local-name": _name,
    "name": _name,
    "namespace-uri": _namespace,
    "string": _string,
    "concat": _concat,
    "starts-with": _two(lambda a, b: nfc(a).startswith(nfc(b)), np.bool_),
    "contains": _contains,
    "substring-before": _two(_before, object),
    "substring-after": _two(_after, object),
    "substring": _substring,
    "string-length": _string_length,
    "normalize-space": _one(_normal_space, object),
    "translate": _translate,
    "boolean": _boolean,
    "not": _not,
    "true": _true,
    "false": _false,
    "lang": _lang,
    "number": _to_number,
    "sum": aggregates.total,
    "floor": _rounding(np.floor),
    "ceiling": _rounding(np.ceil),
    "round": _rounding(_round),
    "matches": _matches,
    "ends-with": _two(lambda a, b: nfc(a).endswith(nfc(b)), np.bool_),
    "lower-case": _one(str.lower, object),
    "upper-case": _one(str.upper, object),
    "distinct-values": _distinct_values,
    "text-of": _text_of,
    "today": _today,
    "now": _now,
    "bm25": _bm25,
    "min": aggregates.combine,
    "max": aggregates.combine,
    "avg": aggregates.combine,
    "gmean": aggregates.combine,
    "agg_min": aggregates.evidence,
    "agg_max": aggregates.evidence,
    "agg_avg": aggregates.evidence,
    "agg_gmean": aggregates.evidence,
    "sort": _sort,
    "top": _top,
    "group": _group,
    "threshold": _threshold,
    "at": _past,
    "version": _past,
}
