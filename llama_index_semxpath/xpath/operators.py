"""Operators: how tightly they bind, and the trees that the parser and the rewrite rules build."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from llama_index_semxpath.errors import SemXPathSyntaxError
from llama_index_semxpath.xpath import ast

#: How deep brackets, calls and operands may nest, in the text and in the tree.
MAX_NESTING = 200
#: Binary operators by how tightly they bind, loosest first; XPath 1.0 with ``=~`` and ``in`` added.
LEVELS: tuple[tuple[ast.Operator, ...], ...] = (
    ("or",),
    ("and",),
    ("=", "!="),
    ("<", "<=", ">", ">="),
    ("=~", "in"),
    ("+", "-"),
    ("*", "div", "mod"),
    (),  # unary minus
    ("|",),
)
PRECEDENCE = {op: level for level, ops in enumerate(LEVELS) for op in ops}
#: Chains of these become balanced trees: a thousand alternatives stay ten levels deep.
ASSOCIATIVE = frozenset(("or", "and", "|"))
#: Precedence of the unary minus.
MINUS = 7
#: Signs and words as tokens to operators.
SIGNS: dict[str, ast.Operator] = {op: op for op in PRECEDENCE if not op.isalpha()} | {"~=": "=~"}
WORDS: dict[str, ast.Operator] = {op: op for op in PRECEDENCE if op.isalpha()}
_SELF_ALIASES = ("node", "content")


def reduce(
    operands: list[ast.Expr], operators: list[tuple[str, int, int]], precedence: int
) -> None:
    """Builds every waiting operation that binds at least as tightly as the next operator."""
    while operators:
        sign, level, offset = operators[-1]
        if level < precedence or (level == precedence and sign in ASSOCIATIVE):
            return
        if sign == "minus":
            operators.pop()
            operand = operands[-1]
            operands[-1] = ast.Negative(operand, span=(offset, operand.span[1]))
            continue
        count = 0
        while operators and operators[-1][0] == sign and (sign in ASSOCIATIVE or not count):
            operators.pop()
            count += 1
        parts = operands[-count - 1 :]
        del operands[-count - 1 :]
        op = cast(ast.Operator, sign)
        operands.append(combine(op, parts) if op in ASSOCIATIVE else binary(op, *parts))


def binary(op: ast.Operator, left: ast.Expr, right: ast.Expr) -> ast.Expr:
    """An operation as the parser builds it: ``node`` left of ``=~`` is the context node."""
    if op == "=~":
        left = context_node(left)
    return ast.Binary(op, left, right, span=(left.span[0], right.span[1]))


def combine(op: ast.Operator, operands: Sequence[ast.Expr]) -> ast.Expr:
    """A balanced tree over the operands of ``or``, ``and`` or ``|``, in their order.

    Operands that are such a chain themselves are taken apart first: the operators are associative,
    for hard and for graded conditions (minimum, maximum) and for node-sets (union).

    Args:
        op: One of ``ASSOCIATIVE``.
        operands: At least one.

    Example:
        >>> combine("or", [ast.Num(1), ast.Num(2), ast.Num(3)]).left.right.value
        2
    """
    return _balanced(op, [leaf for operand in operands for leaf in chain(op, operand)])


def chain(op: str, expr: ast.Expr) -> list[ast.Expr]:
    """The operands of a chain of one associative operator; any other expression alone."""
    leaves: list[ast.Expr] = []
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Binary) and node.op == op:
            waiting += [node.right, node.left]
        else:
            leaves.append(node)
    return leaves


def _balanced(op: ast.Operator, operands: Sequence[ast.Expr]) -> ast.Expr:
    if len(operands) == 1:
        return operands[0]
    middle = (len(operands) + 1) // 2
    left, right = _balanced(op, operands[:middle]), _balanced(op, operands[middle:])
    return ast.Binary(op, left, right, span=(left.span[0], right.span[1]))


def context_node(expr: ast.Expr) -> ast.Expr:
    """``.`` for the published ``node`` and ``content``; any other expression as it is."""
    if isinstance(expr, ast.Path) and expr.start is None and len(expr.steps) == 1:
        step = expr.steps[0]
        plain = step.axis == "child" and not step.filters and not step.explicit
        if plain and step.test.name in _SELF_ALIASES:
            here = ast.Step("self", ast.Test("any-node", span=step.span), span=step.span)
            return ast.Path(None, (), (here,), span=expr.span)
    return expr


def check_depth(expr: ast.Expr, text: str) -> None:
    """Refuses a tree deeper than ``MAX_NESTING`` levels, as a long chain of ``+`` makes one."""
    level: list[ast.Expr] = [expr]
    for _ in range(MAX_NESTING + 1):
        level = [part for node in level for part in subexpressions(node)]
        if not level:
            return
    raise too_deep(text, level[0].span[0])


def subexpressions(expr: ast.Expr) -> list[ast.Expr]:
    """The expressions directly inside one, in the order of the text."""
    if isinstance(expr, ast.Binary):
        return [expr.left, expr.right]
    if isinstance(expr, ast.Negative):
        return [expr.operand]
    if isinstance(expr, ast.Call):
        return list(expr.args)
    if isinstance(expr, ast.Items):
        return list(expr.values)
    if not isinstance(expr, ast.Path):
        return []
    found = [] if expr.start is None or expr.start == "root" else [expr.start]
    filters = [f for part in (expr.filters, *(s.filters for s in expr.steps)) for f in part]
    found.extend(f.expr for f in filters if isinstance(f, ast.Predicate))
    return found


def too_deep(text: str, offset: int) -> SemXPathSyntaxError:
    """The error of a query that nests too deep."""
    return SemXPathSyntaxError(
        f"the query is nested deeper than {MAX_NESTING} levels", query=text, offset=offset
    )
