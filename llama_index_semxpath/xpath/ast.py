"""The abstract syntax of SemXPath. Every node knows where it stands in the query text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

#: ``[start, end)`` character offsets in the query text.
Span = tuple[int, int]
NOWHERE: Span = (0, 0)

Axis = Literal[
    "child",
    "descendant",
    "descendant-or-self",
    "self",
    "parent",
    "ancestor",
    "ancestor-or-self",
    "following-sibling",
    "preceding-sibling",
    "following",
    "preceding",
    "attribute",
    "rel",
    "inv",
    "version",
]
Operator = Literal[
    "or", "and", "=", "!=", "<", "<=", ">", ">=", "=~", "in", "+", "-", "*", "div", "mod", "|"
]
#: There are no comments and no processing instructions in a tree: those two tests match nothing.
TestType = Literal["name", "any-name", "any-node", "text", "comment", "processing-instruction"]
Place = Literal["into", "before", "after"]


@dataclass(frozen=True, slots=True)
class Str:
    """A string literal."""

    value: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Num:
    """A number literal."""

    value: int | float
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time, as in ``90d``; units ``s min h d w mo y``."""

    amount: int | float
    unit: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Param:
    """A bound parameter ``$name``."""

    name: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Items:
    """``("Todo", "Done")``: the values right of ``in``; true when any of them is equal."""

    values: tuple[Expr, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Negative:
    """Unary minus."""

    operand: Expr
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Binary:
    """Two operands and an operator; ``~=`` is read as ``=~``."""

    op: Operator
    left: Expr
    right: Expr
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A function call."""

    name: str
    args: tuple[Expr, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Test:
    """A node test: a name, ``*``, ``node()``, or ``text()`` as a last step.

    ``name`` is in Unicode NFC; it is empty for every test but ``name`` (and the optional target of
    ``processing-instruction``).
    """

    type: TestType
    name: str = ""
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Index:
    """``[3]``, ``[-1]``: 1-based, negative from the end; 0 selects nothing, as in XPath."""

    position: int
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Slice:
    """``[2:4]``, inclusive on both ends; ``None`` leaves an end open."""

    first: int | None
    last: int | None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Shift:
    """``[@+1]``: the k-th following (negative: preceding) sibling of each node kept so far."""

    offset: int
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Predicate:
    """``[expr]``: a hard or graded condition, or a computed position when it is a number."""

    expr: Expr
    span: Span = field(default=NOWHERE, compare=False)


Filter = Index | Slice | Shift | Predicate


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a path.

    ``//`` is the step ``descendant-or-self::node()`` without filters, as XPath 1.0 defines it.
    ``repeat`` is ``(low, high)`` for ``rel::NAME{low,high}``, else ``None``.
    ``explicit`` tells ``child::NAME`` from a bare ``NAME``, which a schema may read as an attribute
    or a relation (``check``); engines ignore it.
    """

    axis: Axis
    test: Test
    filters: tuple[Filter, ...] = ()
    repeat: tuple[int, int] | None = None
    explicit: bool = False
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Path:
    """A location path.

    ``start`` is ``None`` for a relative path, ``"root"`` for one that begins with ``/``, and an
    expression for ``(expr)[filters]/…``, whose ``filters`` count over the whole result. Without a
    start there is at least one step; with an expression there are filters or steps.
    """

    start: Expr | Literal["root"] | None
    filters: tuple[Filter, ...] = ()
    steps: tuple[Step, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)


Expr = Str | Num | Duration | Param | Items | Negative | Binary | Call | Path


@dataclass(frozen=True, slots=True)
class NewNode:
    """``Task(@name = "x", "own text", Note("child"))``: a node to insert."""

    kind: str
    attributes: tuple[tuple[str, Expr], ...] = ()
    text: Expr | None = None
    children: tuple[NewNode, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Insert:
    """``insert NODE into|before|after [all] PATH``; the node may be a parameter."""

    node: NewNode | Param
    place: Place
    target: Expr
    every: bool = False
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class SetValue:
    """``set [all] PATH/@NAME = VALUE``; ``target`` is the path without its attribute step."""

    target: Expr
    name: str
    value: Expr
    every: bool = False
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Replace:
    """``replace [all] PATH with NODE``."""

    target: Expr
    node: NewNode | Param
    every: bool = False
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Delete:
    """``delete [all] PATH``."""

    target: Expr
    every: bool = False
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Move:
    """``move [all] PATH into|before|after PATH``."""

    source: Expr
    place: Place
    target: Expr
    every: bool = False
    span: Span = field(default=NOWHERE, compare=False)


Update = Insert | SetValue | Replace | Delete | Move
