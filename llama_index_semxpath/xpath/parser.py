"""Tokens to syntax tree: operator precedence with explicit stacks, nesting by trampoline."""

from __future__ import annotations

from typing import NoReturn, cast, get_args

from llama_index_semxpath.text import name_text, shown
from llama_index_semxpath.xpath import ast
from llama_index_semxpath.xpath.cursor import Cursor
from llama_index_semxpath.xpath.lexer import Token
from llama_index_semxpath.xpath.operators import (
    ASSOCIATIVE,
    MAX_NESTING,
    MINUS,
    PRECEDENCE,
    SIGNS,
    WORDS,
    check_depth,
    context_node,
    reduce,
    too_deep,
)
from llama_index_semxpath.xpath.suggest import nearest
from llama_index_semxpath.xpath.visit import Task, run

#: Most repetitions of a relation in one step.
MAX_REPEAT = 100
AXES: tuple[str, ...] = get_args(ast.Axis)
#: Calls inside which a leading ``/`` starts at the context node (published notation).
EVIDENCE = frozenset(("min", "max", "avg", "gmean", "agg_min", "agg_max", "agg_avg", "agg_gmean"))
NODE_TESTS: dict[str, ast.TestType] = {
    "node": "any-node",
    "text": "text",
    "comment": "comment",
    "processing-instruction": "processing-instruction",
}
_ENDS = frozenset(("/", "//", "[", "]", ")", ",", "end"))
_STEP_START = frozenset(("name", "quoted", "*", "@", ".", ".."))


def parse(text: str) -> ast.Expr:
    """Reads a query.

    Args:
        text: A SemXPath query, at most ``lexer.MAX_LENGTH`` characters.

    Returns:
        Its syntax tree. Published notation is brought to one form: ``~=`` to ``=~``, ``node`` and
        ``content`` left of it to ``.``, a leading ``/`` inside an evidence call to a relative path.

    Raises:
        SemXPathSyntaxError: The text is no query; the error has position, expectation and hint.

    Example:
        >>> from llama_index_semxpath.xpath.printer import to_text
        >>> to_text(parse("//Day[avg(/POI[node ~= 'museum'])]"))
        '//Day[avg(POI[. =~ "museum"])]'
    """
    parser = Parser(text)
    expr = run(parser.expression())
    parser.finish()
    if len(parser.tokens) > MAX_NESTING:
        check_depth(expr, text)
    return expr


class Parser(Cursor):
    """The grammar of queries; ``update.py`` adds the update statements."""

    # Expressions

    def expression(self, relative: bool = False) -> Task[ast.Expr]:
        """One expression; ``relative`` inside an evidence call."""
        operands: list[ast.Expr] = []
        operators: list[tuple[str, int, int]] = []  # sign, precedence, offset
        chained = 0  # operations of one level in a row, which nest to the left
        while True:
            while self.token.type == "-":
                operators.append(("minus", MINUS, self.take().start))
            in_list = bool(operators) and operators[-1][0] == "in"
            operands.append((yield from self.operand(relative, in_list)))
            sign = self.operator()
            if sign is None:
                break
            token = self.take()
            precedence = PRECEDENCE[sign]
            if operators:
                same = operators[-1][1] == precedence and sign not in ASSOCIATIVE
                chained = chained + 1 if same else 0
                if chained > MAX_NESTING:
                    raise too_deep(self.text, token.start)
                reduce(operands, operators, precedence)
            operators.append((sign, precedence, token.start))
        if operators:
            reduce(operands, operators, -1)
        return operands[0]

    def operator(self) -> ast.Operator | None:
        """The operator that stands here, or ``None``; moves nothing."""
        token = self.token
        if token.type == "name":
            return WORDS.get(cast(str, token.value))
        return SIGNS.get(token.type)

    def operand(self, relative: bool, in_list: bool) -> Task[ast.Expr]:
        """A path, or a primary expression with the filters and steps that follow it."""
        token = self.token
        type_ = token.type
        if type_ in ("/", "//"):
            return (yield from self.absolute(relative))
        if type_ in ("name", "quoted") and self.peek() == "(" and self.is_call(token):
            name = str(self.take().value)
            if name == "root" and self.peek() == ")":
                self.go(self.place + 2)
                primary: ast.Expr = ast.Path("root", span=(token.start, self.end()))
                return (yield from self.after_root(primary, token.start))
            primary = yield from self.call(name, token)
        elif type_ in _STEP_START:
            steps = yield from self.steps(())
            return ast.Path(None, (), steps, span=(token.start, self.end()))
        elif type_ in ("(", "["):
            primary = yield from self.group(relative, in_list)
        else:
            primary = self.literal()
        return (yield from self.continued(primary, token.start))

    def is_call(self, token: Token) -> bool:
        """Whether a name before a bracket is a function, as XPath 1.0 (3.7) tells it."""
        if token.type == "quoted":
            self.take()
            self.fail(message="a function name has no back-quotes")
        return token.value not in NODE_TESTS

    def literal(self) -> ast.Expr:
        """A string, number, duration or parameter."""
        token = self.token
        span = (token.start, token.end)
        value = token.value
        if token.type == "string":
            expr: ast.Expr = ast.Str(cast(str, value), span)
        elif token.type == "number":
            expr = ast.Num(cast(float, value), span)
        elif token.type == "duration":
            amount, unit = cast("tuple[float, str]", value)
            expr = ast.Duration(amount, unit, span)
        elif token.type == "param":
            expr = ast.Param(cast(str, value), span)
        else:
            self.fail(["a path", "a value", "'('"])
        self.take()
        return expr

    def call(self, name: str, start: Token) -> Task[ast.Expr]:
        """The arguments of a call; ``start`` is the token of its name."""
        self.enter(self.take())
        relative = name in EVIDENCE
        args: list[ast.Expr] = []
        if self.token.type != ")":
            args.append((yield self.expression(relative)))
            while self.token.type == ",":
                self.take()
                args.append((yield self.expression(relative)))
        if self.token.type != ")":
            self.fail(["an operator", "','", "')'"])
        self.open.pop()
        self.take()
        if name == "bm25" and args:
            args[0] = context_node(args[0])
        return ast.Call(name, tuple(args), span=(start.start, self.end()))

    def group(self, relative: bool, in_list: bool) -> Task[ast.Expr]:
        """``( … )``, the list after ``in``, or the published ``[ … ]`` around a condition."""
        opening = self.take()
        closing = ")" if opening.type == "(" else "]"
        self.enter(opening)
        first: ast.Expr = yield self.expression(relative)
        values = [first]
        while in_list and closing == ")" and self.token.type == ",":
            self.take()
            values.append((yield self.expression(relative)))
        if self.token.type == ",":
            self.fail(
                ["an operator", f"'{closing}'"], hint='a list stands after in: @x in ("a", "b")'
            )
        self.leave(closing)
        if in_list and (len(values) > 1 or isinstance(first, ast.Str | ast.Num)):
            return ast.Items(tuple(values), span=(opening.start, self.end()))
        return first

    # Paths

    def absolute(self, relative: bool) -> Task[ast.Expr]:
        """A path that begins with ``/`` or ``//``."""
        opening = self.take()
        start = opening.start
        head: tuple[ast.Step, ...] = ()
        if opening.type == "//":
            head = (descendants(opening),)
            if self.token.type not in _STEP_START:
                self.fail(["a step"])
        steps = head
        if self.token.type in _STEP_START:
            steps = yield from self.steps(head)
        span = (start, self.end())
        if not relative:
            return ast.Path("root", (), steps, span=span)
        if opening.type == "//" or not steps:
            steps = (ast.Step("self", ast.Test("any-node"), span=(start, start)), *steps)
        return ast.Path(None, (), steps, span=span)

    def after_root(self, root: ast.Expr, start: int) -> Task[ast.Expr]:
        """What follows ``root()``, the root wherever it stands."""
        if self.token.type not in ("/", "//"):
            return (yield from self.continued(root, start))
        steps = yield from self.tail()
        return ast.Path("root", (), steps, span=(start, self.end()))

    def continued(self, primary: ast.Expr, start: int) -> Task[ast.Expr]:
        """Filters and steps behind a primary expression."""
        if self.token.type not in ("[", "/", "//"):
            return primary
        filters = yield from self.filters()
        steps: tuple[ast.Step, ...] = ()
        if self.token.type in ("/", "//"):
            steps = yield from self.tail()
        return ast.Path(primary, filters, steps, span=(start, self.end()))

    def tail(self) -> Task[tuple[ast.Step, ...]]:
        """The steps behind a primary expression."""
        separator = self.take()
        head = (descendants(separator),) if separator.type == "//" else ()
        if self.token.type not in _STEP_START:
            self.fail(["a step"])
        return (yield from self.steps(head))

    def steps(self, head: tuple[ast.Step, ...]) -> Task[tuple[ast.Step, ...]]:
        """Steps joined by ``/`` and ``//``, behind those in ``head``."""
        steps = list(head)
        while True:
            steps.append((yield from self.step(steps[-1] if steps else None)))
            separator = self.token
            if separator.type == "//":
                steps.append(descendants(separator))
            elif separator.type != "/":
                return tuple(steps)
            self.take()
            if self.token.type not in _STEP_START:
                self.fail(["a step"])

    def step(self, before: ast.Step | None) -> Task[ast.Step]:
        """One step; ``before`` is the step to its left."""
        token = self.token
        axis: ast.Axis = "child"
        explicit = False
        repeat: tuple[int, int] | None = None
        if token.type in (".", ".."):
            self.take()
            axis = "self" if token.type == "." else "parent"
            test = ast.Test("any-node", span=(token.start, token.end))
        elif token.type == "@":
            self.take()
            axis = "attribute"
            test = self.test(attribute=True)
        else:
            explicit = self.peek() == "::"
            if explicit:
                axis = self.axis()
            test = self.test()
            if axis in ("rel", "inv"):
                repeat = self.repeat(axis, test)
            elif self.token.type == "{":
                self.fail(
                    message=f"a step on the {axis} axis cannot be repeated",
                    hint="only relations are repeated: rel::NAME{1,3}",
                )
            if not explicit and before is not None and before.axis in ("rel", "inv"):
                # In rel::SIGNED_BY/Person the name tests the node reached.
                axis = "child" if test.type == "text" else "self"
        filters = (yield from self.filters()) if self.token.type == "[" else ()
        explicit = explicit and axis == "child" and test.type == "name"
        return ast.Step(axis, test, filters, repeat, explicit, span=(token.start, self.end()))

    def axis(self) -> ast.Axis:
        """The axis of a step that names one."""
        token = self.token
        name = str(token.value)
        if token.type != "name" or name not in AXES:
            hint = "the language has no namespaces" if name == "namespace" else None
            self.fail(
                message=f"unknown axis '{shown(name)}'",
                suggestions=nearest(name, AXES),
                hint=hint or "an axis is one of: " + " ".join(AXES),
            )
        self.go(self.place + 2)
        return cast(ast.Axis, name)

    def test(self, attribute: bool = False) -> ast.Test:
        """A node test."""
        token = self.token
        if token.type == "*":
            self.take()
            return ast.Test("any-name", span=(token.start, token.end))
        if token.type not in ("name", "quoted"):
            self.fail(["a name", "'*'"] + ([] if attribute else ["'node()'"]))
        name = str(token.value)
        self.take()
        if self.token.type == "(" and token.type == "name":
            if name not in NODE_TESTS or (attribute and name != "node"):
                self.fail(
                    message=f"'{shown(name)}()' cannot be a step",
                    hint="a step is a name, '*', 'node()' or, as the last one, 'text()'",
                    at=token.start,
                )
            self.take()
            target = ""
            if name == "processing-instruction" and self.token.type == "string":
                target = str(self.take().value)
            self.expect(")")
            return ast.Test(NODE_TESTS[name], target, span=(token.start, self.end()))
        return ast.Test("name", name, span=(token.start, token.end))

    # Repetition and filters

    def repeat(self, axis: str, test: ast.Test) -> tuple[int, int] | None:
        """``{low,high}`` behind a relation; anything without an upper bound has its own error."""
        token = self.token
        if token.type in ("*", "+") and token.start == self.end() and self.peek() in _ENDS:
            self.unbounded(axis, test)
        if token.type != "{":
            return None
        self.enter(self.take())
        low = self.bound(axis, test)
        high = low
        if self.token.type == ",":
            self.take()
            high = self.bound(axis, test)
        if self.token.type != "}":
            self.fail(["','", "'}'"])
        if not 1 <= low <= high <= MAX_REPEAT:
            self.fail(
                message=f"a relation cannot be repeated {low} to {high} times",
                hint=f"the bounds are 1 to {MAX_REPEAT}, the lower one first",
                at=token.start,
            )
        self.leave("}")
        return low, high

    def bound(self, axis: str, test: ast.Test) -> int:
        """One bound of a repetition."""
        token = self.token
        if token.type in ("}", "*", "+"):
            self.unbounded(axis, test)
        if token.type != "number" or not isinstance(token.value, int):
            self.fail(["a whole number"])
        self.take()
        return token.value

    def unbounded(self, axis: str, test: ast.Test) -> NoReturn:
        """Refuses a repetition without an upper bound."""
        name = name_text(test.name) if test.name else "*"
        self.fail(
            message="a repetition needs an upper bound",
            hint=f"for example {axis}::{shown(name)}{{1,3}}",
        )

    def filters(self) -> Task[tuple[ast.Filter, ...]]:
        """Everything in brackets behind a step or a primary expression."""
        found: list[ast.Filter] = []
        while self.token.type == "[":
            opening = self.take()
            position = self.position(opening.start)
            if position is None:
                self.enter(opening)
                expr: ast.Expr = yield self.expression()
                self.leave("]")
                position = ast.Predicate(expr, span=(opening.start, self.end()))
            found.append(position)
        return tuple(found)

    def position(self, start: int) -> ast.Filter | None:
        """An index, slice or shift behind ``[``; ``None`` where an expression stands."""
        type_ = self.token.type
        if type_ == "@" and self.peek() in ("+", "-"):
            return self.shift(start)
        if type_ not in ("number", "-", ":"):
            return None
        mark = self.place
        first = self.whole()
        if first is not None and self.token.type == "]":
            self.take()
            return ast.Index(first, span=(start, self.end()))
        if self.token.type != ":":
            self.go(mark)
            return None
        self.take()
        last = self.whole()
        if self.token.type != "]":
            self.fail(["a whole number", "']'"], hint="a slice is [2:4], [:3] or [-2:]")
        self.take()
        if first == 0 or last == 0:
            zero = mark if first == 0 else self.place - 2
            self.fail(
                message="positions start at 1: there is no position 0",
                hint="a slice includes both ends: [1:3] is the first three",
                at=self.tokens[zero].start,
            )
        return ast.Slice(first, last, span=(start, self.end()))

    def whole(self) -> int | None:
        """A whole number with an optional sign; moves only if there is one."""
        negative = self.token.type == "-"
        token = self.tokens[min(self.place + negative, len(self.tokens) - 1)]
        if token.type != "number" or not isinstance(token.value, int):
            return None
        self.go(self.place + 1 + negative)
        return -token.value if negative else token.value

    def shift(self, start: int) -> ast.Shift:
        """``@+1]`` or ``@-1]`` behind ``[``."""
        self.take()
        sign = self.take()
        token = self.token
        if token.type != "number" or not isinstance(token.value, int):
            self.fail(["a whole number"], hint="a shift is [@+1] or [@-2]")
        if token.value == 0:
            self.fail(message="a shift of 0 goes nowhere", hint="the next sibling is [@+1]")
        self.take()
        self.expect("]")
        offset = token.value if sign.type == "+" else -token.value
        return ast.Shift(offset, span=(start, self.end()))

    def end(self) -> int:
        """Where the last token taken ends."""
        return self.tokens[self.place - 1].end


def descendants(token: Token) -> ast.Step:
    """The step that ``//`` abbreviates."""
    span = (token.start, token.end)
    return ast.Step("descendant-or-self", ast.Test("any-node", span=span), span=span)
