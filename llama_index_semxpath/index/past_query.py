"""Queries that read the past: ``at(date, …)``, ``version(n, …)`` and the version axis.

What stands in ``at()`` or ``version()`` runs over the columns of that revision, so the call goes
to the outside of a query: ``count(at(d, //X))`` is ``at(d, count(//X))``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from llama_index_semxpath.errors import QueryCapabilityError, QueryTypeError
from llama_index_semxpath.index.history import History, When
from llama_index_semxpath.index.match import Match, QueryResult
from llama_index_semxpath.xpath import ast, parse, to_text
from llama_index_semxpath.xpath.types import is_graded

if TYPE_CHECKING:
    from llama_index_semxpath.index.access import Principal
    from llama_index_semxpath.index.reader import Reader

_CALLS = ("at", "version")
#: Most versions that one query goes through.
_MOST_VERSIONS = 1_000


@dataclass(frozen=True, slots=True)
class Asked:
    """A query with what it was asked with."""

    text: str
    params: Mapping[str, Any]
    principal: Principal
    top_k: int | None
    trace: bool

    def used(self, text: str) -> dict[str, Any]:
        """The parameters that a part of the query names."""
        return {name: value for name, value in self.params.items() if f"${name}" in text}


def past_query(reader: Reader, asked: Asked) -> QueryResult | None:
    """The result of a query that reads the past; ``None`` for one that does not.

    Raises:
        QueryError: The past is read inside an expression that cannot be read as a whole there.
        StoreError: There was no such moment, or it was purged.
    """
    if not any(name in asked.text for name in ("at", "ersion")):
        return None
    expr = parse(asked.text)
    if isinstance(expr, ast.Path):
        return _versions(reader, asked, expr)
    outside = _hoisted(expr)
    if outside is None or outside.name not in _CALLS or len(outside.args) != 2:
        return None
    when = _moment(reader, asked, outside)
    text = to_text(outside.args[1])
    return reader.at(when).query(
        text,
        top_k=asked.top_k,
        params=asked.used(text),
        principal=asked.principal,
        trace=asked.trace,
    )


def _hoisted(expr: ast.Expr) -> ast.Call | None:
    """The expression with the call that reads the past at its outside, where it has one."""
    around: list[tuple[ast.Call, int]] = []
    while isinstance(expr, ast.Call) and expr.name not in _CALLS:
        places = [
            at for at, arg in enumerate(expr.args) if isinstance(arg, ast.Call) and _is_past(arg)
        ]
        if len(places) != 1:
            return None
        around.append((expr, places[0]))
        inner = expr.args[places[0]]
        assert isinstance(inner, ast.Call)
        expr = inner
    if not isinstance(expr, ast.Call):
        return None
    call = expr
    for outer, place in reversed(around):
        args = (*outer.args[:place], call.args[-1], *outer.args[place + 1 :])
        call = replace(call, args=(*call.args[:-1], replace(outer, args=args)))
    return call


def _is_past(call: ast.Call) -> bool:
    """Whether a call reads the past, or its one path does."""
    while call.name not in _CALLS:
        inner = [arg for arg in call.args if isinstance(arg, ast.Call)]
        if len(inner) != 1:
            return False
        call = inner[0]
    return True


def _moment(reader: Reader, asked: Asked, call: ast.Call) -> When:
    """The moment that the first argument of a call names."""
    value = _value(reader, asked, call.args[0])
    if call.name == "version":
        if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
            raise QueryTypeError(
                "a version is a whole number", query=asked.text, offset=call.args[0].span[0]
            )
        number = int(value)
        return number if number >= 0 else reader.catalog.version + number
    if not isinstance(value, str | dt.date):
        raise QueryTypeError(
            "at() takes a date or time", query=asked.text, offset=call.args[0].span[0],
            hint='for example at("2026-03-01", //Task)',
        )  # fmt: skip
    return value


def _value(reader: Reader, asked: Asked, expr: ast.Expr) -> Any:
    if isinstance(expr, ast.Str):
        return expr.value
    if isinstance(expr, ast.Param) and expr.name in asked.params:
        return asked.params[expr.name]
    text = to_text(expr)
    return reader.query(text, params=asked.used(text), principal=asked.principal).value


# The version axis


def _versions(reader: Reader, asked: Asked, path: ast.Path) -> QueryResult | None:
    """A path with a version step: each version that passes is walked on its own."""
    declared = "Version" in reader.table.kind_codes
    places = [at for at, one in enumerate(path.steps) if _is_version(one, declared)]
    if not places:
        return None
    place, step = places[0], path.steps[places[0]]
    before, after = path.steps[:place], path.steps[place + 1 :]
    found = _Walk(reader, asked).run(path, before, step, after, bare=step.axis != "version")
    graded = any(
        isinstance(item, ast.Predicate) and is_graded(item.expr)
        for one in (step, *after)
        for item in one.filters
    )
    matches = list(found)
    if graded:
        matches.sort(key=lambda match: -match.score)
    return QueryResult(matches[: asked.top_k], query=asked.text)


def _is_version(step: ast.Step, declared: bool) -> bool:
    """Whether a step goes to versions; a bare ``Version`` is a kind where one is declared."""
    bare = step.axis == "child" and step.test.name == "Version" and not step.explicit
    return step.axis == "version" or (bare and not declared)


class _Walk:
    """Walks versions of nodes."""

    def __init__(self, reader: Reader, asked: Asked) -> None:
        self._reader = reader
        self._asked = asked
        self._history = History(reader.catalog)
        self._readers: dict[int, Reader] = {}

    def run(
        self,
        path: ast.Path,
        before: tuple[ast.Step, ...],
        step: ast.Step,
        after: tuple[ast.Step, ...],
        *,
        bare: bool,
    ) -> Iterator[Match]:
        """Matches of the steps after the version step, version by version, oldest first."""
        seen: set[tuple[str, str, Any]] = set()
        for id_ in self._context(path, before, bare):
            kept = [(number, 1.0) for number in self._numbers(id_)]
            for item in step.filters:
                kept = list(self._filtered(id_, kept, item))
            for number, score in kept:
                for match in self._walked(id_, number, after):
                    key = (match.id, match.text, repr(match.attributes))
                    # A node below that no version changed is one result, whichever it is read in.
                    if not after or key not in seen:
                        seen.add(key)
                        why = {**match.why, "version": float(number)}
                        yield Match(match.view, score * match.score, why)

    def _context(self, path: ast.Path, before: tuple[ast.Step, ...], bare: bool) -> list[str]:
        # `//Version` is what the published notation has for the versions of each tree.
        anywhere = bare and all(item.axis == "descendant-or-self" for item in before)
        base = ast.Path(path.start, path.filters, before, span=path.span)
        text = "/*" if anywhere and path.start == "root" else to_text(base)
        found = self._reader.query(
            text, params=self._asked.used(text), principal=self._asked.principal
        )
        return found.ids

    def _numbers(self, id_: str) -> list[int]:
        """Revisions that changed a node or something below it, oldest first."""
        numbers = self._history.subtree_revisions(id_)
        if len(numbers) > _MOST_VERSIONS:
            raise QueryCapabilityError(
                f"the node has {len(numbers)} versions, more than {_MOST_VERSIONS}",
                query=self._asked.text,
                offset=0,
                hint="read one of them with version(n, …) or at(date, …)",
            )
        return numbers

    def _filtered(
        self, id_: str, kept: list[tuple[int, float]], item: ast.Filter
    ) -> Iterator[tuple[int, float]]:
        if isinstance(item, ast.Index):
            place = item.position - 1 if item.position > 0 else len(kept) + item.position
            if item.position and 0 <= place < len(kept):
                yield kept[place]
        elif isinstance(item, ast.Slice):
            first = _start(item.first, len(kept))
            last = len(kept) if item.last is None else _end(item.last, len(kept))
            yield from kept[first:last]
        else:
            step = ast.Step("self", ast.Test("any-node"), (item,))
            for number, score in kept:
                found = self._at(number, f"id($version-node)/{to_text(_relative(step))}", id_)
                if len(found):
                    yield number, score * found[0].score

    def _walked(self, id_: str, number: int, after: tuple[ast.Step, ...]) -> list[Match]:
        if not after:
            return list(self._at(number, "id($version-node)", id_))
        text = to_text(ast.Path(None, (), after))
        return list(self._at(number, f"id($version-node)/{text}", id_))

    def _at(self, number: int, text: str, id_: str) -> QueryResult:
        reader = self._readers.get(number)
        if reader is None:
            reader = self._readers[number] = self._reader.at(number)
        params = {**self._asked.used(text), "version-node": id_}
        # A version need not have every kind that others have.
        return reader.query(text, params=params, principal=self._asked.principal, check_names=False)


def _relative(step: ast.Step) -> ast.Path:
    return ast.Path(None, (), (step,))


def _start(first: int | None, count: int) -> int:
    if first is None:
        return 0
    return max(0, first - 1 if first > 0 else count + first)


def _end(last: int, count: int) -> int:
    return last if last >= 0 else count + last + 1
