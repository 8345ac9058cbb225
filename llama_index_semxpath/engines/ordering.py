"""Results in another order than the document's: ``top``, ``sort``, ``group``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from llama_index_semxpath.engines.result import Group
from llama_index_semxpath.engines.sets import NodeSet, ValueSet, ranks
from llama_index_semxpath.engines.values import (
    Booleans,
    Dates,
    Groups,
    Numbers,
    Scores,
    Strings,
    Value,
    first_places,
    item_numbers,
    to_strings,
)
from llama_index_semxpath.text import nfc
from llama_index_semxpath.tree.columns import Floats, ValueType
from llama_index_semxpath.xpath import ast

if TYPE_CHECKING:
    from llama_index_semxpath.engines.evaluate import Evaluator


def top_nodes(found: NodeSet | ValueSet, count: Floats) -> NodeSet | ValueSet:
    """The best ``count`` of each context by score, best first; ties in document order."""
    owners = found.owners()
    scores = np.ones(len(found.rows)) if found.scores is None else found.scores
    order = np.lexsort((-scores, owners))
    position, _ = ranks(owners[order])
    limit = count[0] if len(count) == 1 else count[owners[order]]
    order = order[position <= limit]
    picked = replace(
        found,
        rows=found.rows[order],
        owner=None if found.owner is None else found.owner[order],
        scores=None if found.scores is None else found.scores[order],
    )
    if isinstance(picked, NodeSet):
        return replace(picked, sequence=True)
    return replace(picked, which=None if picked.which is None else picked.which[order])


def sorted_nodes(
    evaluator: Evaluator, found: NodeSet, key: ast.Expr, *, descending: bool
) -> NodeSet:
    """Nodes by a key, ties in document order; a node without the key comes last."""
    missing, figures = _sort_key(evaluator, found, key)
    if descending:
        figures = -figures
    order = np.lexsort((figures, missing, found.owners()))
    return NodeSet(
        found.rows[order],
        None if found.owner is None else found.owner[order],
        None if found.scores is None else found.scores[order],
        sequence=True,
    )


def _sort_key(evaluator: Evaluator, found: NodeSet, key: ast.Expr) -> tuple[Any, Floats]:
    """Whether each node lacks the key, and figures that sort as the keys do."""
    from llama_index_semxpath.engines.evaluate import Context

    count = len(found.rows)
    with evaluator.recorder.nested():
        value = evaluator.value(key, Context(found.rows))
    figures, texts = _figures(evaluator, value, count)
    if texts is not None:
        absent = np.array([text is None for text in texts], dtype=np.bool_)
        distinct = sorted({text for text in texts if text is not None})
        place = {text: float(rank) for rank, text in enumerate(distinct)}
        figures = np.array([0.0 if text is None else place[text] for text in texts])
        return absent, figures
    figures = np.broadcast_to(figures, count)
    absent = np.isnan(figures)
    return absent, np.where(absent, 0.0, figures)


def _figures(
    evaluator: Evaluator, value: Value, count: int
) -> tuple[Floats, list[str | None] | None]:
    """Numbers where the values are numbers, dates or truths; else their strings."""
    table = evaluator.table
    if isinstance(value, Numbers | Scores | Dates):
        return value.values, None
    if isinstance(value, Booleans):
        return value.values.astype(np.float64), None
    if isinstance(value, ValueSet):
        typed = [c.uniform for c in value.columns if c is not None]
        strings = (ValueType.STRING, ValueType.STRINGS, None)
        if typed and len(typed) == len(value.columns) and not any(t in strings for t in typed):
            places = first_places(value, count)
            figures = np.full(len(places), np.nan)
            some = places >= 0
            figures[some] = item_numbers(table, value, places[some])
            return figures, None
    texts: list[str | None] = [
        nfc(text) for text in _spread(to_strings(table, value, count), count)
    ]
    if isinstance(value, NodeSet | ValueSet):
        places = np.broadcast_to(first_places(value, count), count)
        texts = [None if p < 0 else text for p, text in zip(places.tolist(), texts, strict=True)]
    return np.zeros(0), texts


def _spread(strings: Strings, count: int) -> list[str]:
    texts = strings.texts()
    return texts if len(texts) == count else texts * count


def group_rows(evaluator: Evaluator, found: NodeSet, key: ast.Expr) -> Groups:
    """Nodes by a common key: most nodes first, ties by first appearance; no key, no group."""
    from llama_index_semxpath.engines.evaluate import Context

    count = len(found.rows)
    with evaluator.recorder.nested():
        value = evaluator.value(key, Context(found.rows))
    keys = _group_keys(evaluator, value, count)
    # The type is part of the key: Python takes 1 and True for one.
    places: dict[tuple[bool, str | float | bool], list[int]] = {}
    for place, own in enumerate(keys):
        for one in own:
            places.setdefault((isinstance(one, bool), one), []).append(place)
    groups = [
        Group(name, len(members), found.rows[np.array(members)])
        for (_, name), members in places.items()
    ]
    groups.sort(key=lambda group: -group.count)
    return Groups(groups)


def _group_keys(evaluator: Evaluator, value: Value, count: int) -> list[list[str | float | bool]]:
    """The keys of each node: those of a list of strings are several."""
    keys: list[list[str | float | bool]] = [[] for _ in range(count)]
    if isinstance(value, ValueSet):
        owners = value.owners().tolist() if value.owner is not None else [0] * len(value.rows)
        for column, places in value.parts():
            if column is None:
                break
            slots = column.slots(len(evaluator.table))[value.rows[places]]
            for place, slot in zip(places.tolist(), slots.tolist(), strict=True):
                keys[owners[place]] += _typed_keys(column.value(slot))
        else:
            return [list(dict.fromkeys(own)) for own in keys]
    if isinstance(value, Booleans):
        return [[bool(truth)] for truth in np.broadcast_to(value.values, count)]
    if isinstance(value, Numbers | Scores):
        return [[float(number)] for number in np.broadcast_to(value.values, count)]
    texts = _spread(to_strings(evaluator.table, value, count), count)
    if isinstance(value, NodeSet | ValueSet):
        places = np.broadcast_to(first_places(value, count), count).tolist()
        return [[] if p < 0 else [nfc(t)] for p, t in zip(places, texts, strict=True)]
    return [[nfc(text)] for text in texts]


def _typed_keys(value: Any) -> list[str | float | bool]:
    if isinstance(value, list):
        return [nfc(item) for item in value]
    if isinstance(value, str):
        return [nfc(value)]
    if isinstance(value, bool | int | float):
        return [value]
    return [value.isoformat()]
