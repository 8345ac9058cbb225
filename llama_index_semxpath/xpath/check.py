"""Checking a query against a schema: names, types, parameters, capabilities, bare-name sugar."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from llama_index_semxpath.errors import (
    AmbiguousNameError,
    QueryCapabilityError,
    QueryTypeError,
    UnknownNameError,
)
from llama_index_semxpath.schema import RESERVED_ATTRIBUTES, Schema
from llama_index_semxpath.text import name_text, shown
from llama_index_semxpath.xpath import ast
from llama_index_semxpath.xpath.functions import FUNCTIONS, INSTEAD, Type
from llama_index_semxpath.xpath.names import ROOT, TREE_RELATIONS, Kinds, Names
from llama_index_semxpath.xpath.parser import parse
from llama_index_semxpath.xpath.printer import to_text
from llama_index_semxpath.xpath.suggest import nearest
from llama_index_semxpath.xpath.types import is_evidence, is_graded, type_of
from llama_index_semxpath.xpath.typing_rules import TypeRules
from llama_index_semxpath.xpath.visit import Task, run

#: Parts of an index that a query may need.
CAPABILITIES = frozenset(("graph", "scorer", "keywords", "versions"))
_EVIDENCE = {"min": "agg_min", "max": "agg_max", "avg": "agg_avg", "gmean": "agg_gmean"}
_KEYED = ("sort", "group")
_COMPARED = ("=", "!=", "<", "<=", ">", ">=", "=~")
_ALIASES = ("node", "content")
_Checked = tuple[ast.Expr, Kinds]


@dataclass(frozen=True, slots=True)
class Checked:
    """A query that is known to make sense.

    Args:
        expr: The tree with every bare name resolved; evidence calls over a path are ``agg_…``.
        type: What it gives.
        graded: Whether any part of it grades by meaning or keywords.
        kinds: Kinds that the resulting nodes can have, ``None`` for any.
        notes: What is right by the grammar, yet hardly what was meant.
    """

    expr: ast.Expr
    type: Type
    graded: bool
    kinds: Kinds = None
    notes: tuple[str, ...] = ()


def check(
    expr: ast.Expr,
    schema: Schema | None = None,
    params: Mapping[str, Any] | None = None,
    *,
    text: str | None = None,
    capabilities: frozenset[str] = CAPABILITIES,
) -> Checked:
    """Checks a query and resolves its bare names.

    Args:
        expr: A tree from ``parse``.
        schema: Schema of the corpus; without one, or with an empty one, every kind, attribute and
            relation is taken as known and bare names stay child steps.
        params: Values of the parameters; ``None`` if they are not bound yet.
        text: The text that ``expr`` was parsed from, for the caret in errors.
        capabilities: What the index can do, out of ``CAPABILITIES``.

    Raises:
        UnknownNameError: A kind, attribute, relation or function that does not exist.
        AmbiguousNameError: A bare name with more than one reading.
        QueryTypeError: An operand or argument of the wrong type, or a wrong number of arguments.
        ParameterError: A parameter without a value, or with one that cannot be one.
        QueryCapabilityError: A part of the language that this index does not have.

    Example:
        >>> from llama_index_semxpath.schema import AttributeInfo, KindInfo
        >>> days = AttributeInfo("days", "number", 2, 1.0)
        >>> schema = Schema({"Leave": KindInfo("Leave", 2, {"days": days})})
        >>> to_text(check(parse("//Leave[days > 3]"), schema).expr)
        '//Leave[@days > 3]'
    """
    if text is None:
        text = to_text(expr)
        expr = parse(text)
    checker = _Checker(Names(schema), params, text, capabilities)
    resolved, kinds = run(checker.expr(expr, ROOT, inside=False))
    found = type_of(resolved, params)
    if found == "duration":
        checker.rules.fail("a duration is no result", expr.span[0], hint="add it to a date")
    notes = tuple(dict.fromkeys(checker.notes))
    return Checked(resolved, found, is_graded(resolved), kinds, notes)


class _Checker:
    def __init__(
        self,
        names: Names,
        params: Mapping[str, Any] | None,
        text: str,
        capabilities: frozenset[str],
    ) -> None:
        self.names = names
        self.params = params
        self.text = text
        self.capabilities = capabilities
        self.rules = TypeRules(names, params, text)
        self.notes: list[str] = []

    # Expressions

    def expr(self, expr: ast.Expr, here: Kinds, inside: bool) -> Task[_Checked]:
        """Checks an expression on nodes of some kinds; ``inside`` a predicate or a key."""
        match expr:
            case ast.Param():
                self.rules.parameter(expr)
                return expr, None
            case ast.Items(values):
                return replace(expr, values=(yield from self.all(values, here, inside))), None
            case ast.Negative(operand):
                inner, _ = yield self.expr(operand, here, inside)
                self.rules.negative(inner)
                return replace(expr, operand=inner), None
            case ast.Binary():
                return (yield from self.binary(expr, here, inside))
            case ast.Call():
                return (yield from self.call(expr, here, inside))
            case ast.Path():
                return (yield from self.path(expr, here, inside))
        return expr, None

    def all(self, exprs: Sequence[ast.Expr], here: Kinds, inside: bool) -> Task[tuple[Any, ...]]:
        found: list[ast.Expr] = []
        for expr in exprs:
            found.append((yield self.expr(expr, here, inside))[0])
        return tuple(found)

    def binary(self, expr: ast.Binary, here: Kinds, inside: bool) -> Task[_Checked]:
        self.unquoted(expr)
        left, left_kinds = yield self.expr(expr.left, here, inside)
        right, right_kinds = yield self.expr(expr.right, here, inside)
        checked = replace(expr, left=left, right=right)
        self.rules.binary(checked)
        if expr.op == "=~":
            self.need("scorer", "grading by meaning", expr)
        if expr.op != "|" or left_kinds is None or right_kinds is None:
            return checked, None
        return checked, left_kinds | right_kinds

    def unquoted(self, expr: ast.Binary) -> None:
        """Refuses ``@number = 5a`` without quotes better than as an unknown name."""
        match expr.right:
            case ast.Path(None, (), (ast.Step("child", ast.Test("name", name), (), _, False),)):
                known = name in _ALIASES or any(
                    (
                        self.names.is_attribute(name),
                        self.names.is_kind(name),
                        self.names.is_relation(name),
                        self.names.innermost(name, None),
                    )
                )
                if expr.op in _COMPARED and not known:
                    raise UnknownNameError(
                        f"unknown name '{shown(name)}'",
                        query=self.text,
                        offset=expr.right.span[0],
                        suggestions=self.names.like_any(name),
                        hint=f'a text stands in quotes: "{shown(name)}"',
                    )

    def call(self, expr: ast.Call, here: Kinds, inside: bool) -> Task[_Checked]:
        function = FUNCTIONS.get(expr.name)
        if function is None:
            raise UnknownNameError(
                f"unknown function '{shown(expr.name)}'",
                query=self.text,
                offset=expr.span[0],
                suggestions=nearest(expr.name, FUNCTIONS),
                hint=INSTEAD.get(expr.name.casefold()),
            )
        count = len(expr.args)
        if count < function.required or (count > len(function.arguments) and not function.variadic):
            raise QueryTypeError(
                f"{expr.name}() takes {function.arity()}, not {count}",
                query=self.text,
                offset=expr.span[0],
                hint=function.signature(),
            )
        if expr.name == "bm25":
            self.need("keywords", "keyword relevance", expr)
        if expr.name in ("at", "version"):
            self.need("versions", "reading the past", expr)
        kinds: Kinds = None
        args: list[ast.Expr] = []
        for place, arg in enumerate(expr.args):
            keyed = expr.name in _KEYED and place == 1
            context, within = (kinds, True) if keyed else (here, inside)
            value, found = yield self.expr(arg, context, within)
            kinds = found if found is not None else kinds
            if expr.name in _EVIDENCE and is_evidence(value):
                value = ast.Call(_EVIDENCE[expr.name], (value,), span=value.span)
            args.append(value)
        if count == 1 and expr.name in _EVIDENCE and is_evidence(expr.args[0]):
            return args[0], None
        checked = replace(expr, args=tuple(args))
        self.rules.call(checked, function)
        return checked, kinds if function.returns == "nodes" and expr.name != "id" else None

    # Paths

    def path(self, path: ast.Path, here: Kinds, inside: bool) -> Task[_Checked]:
        start = path.start
        kinds = here
        if start == "root":
            kinds = ROOT
        elif start is not None:
            start, kinds = yield self.expr(start, here, inside)
            self.rules.is_nodes(start, "a path cannot go on from {}")
        filters = yield from self.filters(path.filters, kinds)
        steps: list[ast.Step] = []
        owners: Kinds = None  # kinds of the nodes whose attribute was reached
        for place, step in enumerate(path.steps):
            before = steps[-1] if steps else None
            last = place + 1 == len(path.steps)
            step = self.resolve(step, before, kinds, value=last and inside)
            self.text_test(step, last)
            if before is not None and before.axis == "attribute":
                steps.pop()
                kinds = None if step.axis == "self" else owners
                checked = yield from self.filters(step.filters, kinds)
                step = self.back(before, replace(step, filters=checked))
                kinds = self.after(step, kinds)
            else:
                owners, kinds = kinds, self.after(step, kinds)
                checked = yield from self.filters(step.filters, kinds)
                step = replace(step, filters=checked)
            steps.append(step)
        return replace(path, start=start, filters=filters, steps=tuple(steps)), kinds

    def filters(self, filters: Sequence[ast.Filter], kinds: Kinds) -> Task[tuple[ast.Filter, ...]]:
        found: list[ast.Filter] = []
        for part in filters:
            if isinstance(part, ast.Predicate):
                inner, _ = yield self.expr(part.expr, kinds, inside=True)
                self.rules.condition(inner)
                if isinstance(inner, ast.Str) and inner.value:
                    self.notes.append(
                        f"[{to_text(inner)}] holds for every node: write contains(., …) or . =~ …"
                    )
                part = replace(part, expr=inner)
            found.append(part)
        return tuple(found)

    def back(self, attribute: ast.Step, step: ast.Step) -> ast.Step:
        """``@a/..`` is the node if it has the attribute; nothing else follows an attribute."""
        if step.axis not in ("parent", "self") or step.test.type == "text":
            self.rules.fail(
                "an attribute has no nodes below or beside it",
                step.span[0],
                hint="conditions on the node stand before it: a[b]/@c",
            )
        if step.axis == "self":
            return replace(attribute, filters=attribute.filters + step.filters)
        has = ast.Predicate(ast.Path(None, (), (attribute,), attribute.span), attribute.span)
        return replace(step, axis="self", filters=(has, *step.filters))

    def text_test(self, step: ast.Step, last: bool) -> None:
        if step.test.type != "text":
            return
        if not last:
            self.rules.fail("text() is the last step of a path", step.span[0])
        if step.axis not in ("child", "descendant", "descendant-or-self", "self"):
            self.rules.fail(
                f"there is no text() on the {step.axis} axis",
                step.span[0],
                hint="a node's own text is node/text()",
            )

    def after(self, step: ast.Step, kinds: Kinds) -> Kinds:
        """Kinds of the nodes that a step selects from nodes of some kinds."""
        if step.axis in ("rel", "inv"):
            return self.names.reached(step.axis, step.test.name)
        if step.axis == "attribute" or step.test.type == "text":
            return None
        if step.test.type == "name":
            return frozenset((step.test.name,))
        if step.axis == "self":
            return kinds
        return self.names.children(kinds) if step.axis == "child" else None

    # Names

    def resolve(
        self, step: ast.Step, before: ast.Step | None, kinds: Kinds, *, value: bool
    ) -> ast.Step:
        """A step with its name checked, and read as the schema has it if it is bare."""
        if step.axis in ("rel", "inv"):
            return self.relation(step)
        if step.axis == "version":
            self.need("versions", "reading versions", step)
        name = step.test.name
        if step.test.type != "name" or not self.names.active:
            return step
        if step.axis == "attribute":
            return self.attribute(step, kinds)
        reached = before is not None and before.axis in ("rel", "inv")
        if reached and step.axis in ("child", "self") and not step.explicit:
            return self.reached(step, kinds, value)
        if step.axis != "child" or step.explicit:
            self.kind(step)
            return step
        readings = self.names.readings(name, kinds, value=value)
        if len(readings) > 1 and step.filters:
            # Row[price > 3] asks about nodes: an attribute has nothing to ask about.
            readings = [reading for reading in readings if reading != "attribute"]
        if len(readings) > 1:
            raise AmbiguousNameError(
                f"'{shown(name)}' can be read in {len(readings)} ways",
                query=self.text,
                offset=step.span[0],
                expected=[self.written(name, reading) for reading in readings],
            )
        if readings:
            if readings[0] == "attribute":
                self.elsewhere(name, kinds)
            return self.read(step, readings[0])
        return self.unread(step, kinds, value)

    def reached(self, step: ast.Step, kinds: Kinds, value: bool) -> ast.Step:
        """A name behind a relation tests the node reached, or goes on from it."""
        name = step.test.name
        if name in self.names.schema.kinds:
            return replace(step, axis="self")
        readings = self.names.readings(name, kinds, value=value)
        if readings:
            return self.read(step, readings[0])
        self.kind(step)
        return replace(step, axis="self")

    def unread(self, step: ast.Step, kinds: Kinds, value: bool) -> ast.Step:
        """A bare name that the schema does not have: given by the language, or unknown."""
        name = step.test.name
        if value and self.names.is_attribute(name) and not self.names.is_kind(name):
            return self.read(step, "attribute")
        if name == "Version":
            self.need("versions", "reading versions", step)
            return replace(step, axis="version", test=replace(step.test, type="any-node", name=""))
        if value and name in _ALIASES and not step.filters:
            return replace(step, axis="self", test=replace(step.test, type="any-node", name=""))
        if self.names.is_kind(name):
            return step
        if value and self.names.innermost(name, None):
            return self.attribute(replace(step, axis="attribute"), kinds)
        if not value:
            self.kind(step, bare=True)
        raise UnknownNameError(
            f"unknown name '{shown(name)}'",
            query=self.text,
            offset=step.span[0],
            suggestions=self.names.like_any(name),
            hint="it is no attribute, no kind and no relation of this index",
        )

    def read(self, step: ast.Step, reading: str) -> ast.Step:
        if reading == "attribute":
            return replace(step, axis="attribute")
        return self.relation(replace(step, axis="rel")) if reading == "relation" else step

    def written(self, name: str, reading: str) -> str:
        prefix = {"attribute": "@", "child": "child::", "relation": "rel::"}[reading]
        return prefix + name_text(name)

    def kind(self, step: ast.Step, bare: bool = False) -> None:
        name = step.test.name
        if self.names.is_kind(name):
            return
        is_attribute = name in self.names.schema.attributes
        near = [f"@{name}"] if is_attribute else self.names.like_kind(name, bare)
        raise UnknownNameError(
            f"unknown kind '{shown(name)}'",
            query=self.text,
            offset=step.test.span[0],
            suggestions=near,
            hint=None if near else listed("the kinds are", self.names.schema.kinds),
        )

    def attribute(self, step: ast.Step, kinds: Kinds) -> ast.Step:
        """An attribute step with its name known, or completed to the one header path it ends."""
        name = step.test.name
        if self.names.has_attribute(name, kinds) or name in RESERVED_ATTRIBUTES:
            return step
        known = self.names.is_attribute(name)
        meant = self.names.innermost(name, kinds)
        if not meant and not known:
            meant = self.names.innermost(name, None)
        if len(meant) == 1:
            return replace(step, test=replace(step.test, name=meant[0]))
        if meant:
            raise AmbiguousNameError(
                f"'@{shown(name)}' can be the end of {len(meant)} names",
                query=self.text,
                offset=step.span[0],
                expected=[f"@{name_text(shown(full))}" for full in meant[:5]],
            )
        if not known:
            near = self.names.like_attribute(name, kinds)
            raise UnknownNameError(
                f"unknown attribute '@{shown(name)}'",
                query=self.text,
                offset=step.span[0],
                suggestions=near,
                hint=None if near else self.owned(kinds),
            )
        self.elsewhere(name, kinds)
        return step

    def owned(self, kinds: Kinds) -> str | None:
        """What a kind's attributes are, where there is one kind."""
        kind = next(iter(kinds)) if kinds is not None and len(kinds) == 1 else None
        info = self.names.schema.kinds.get(kind) if kind else None
        if kind is None or info is None:
            return None
        return listed(f"{kind} has", [f"@{name_text(name)}" for name in info.attributes])

    def elsewhere(self, name: str, kinds: Kinds) -> None:
        """Notes an attribute that nodes of other kinds have, and these do not."""
        owners = self.names.schema.attributes.get(name, ())
        if kinds and owners and not self.names.has_attribute(name, kinds):
            here, there = (", ".join(sorted(some)[:3]) for some in (kinds, owners))
            self.notes.append(f"no {here} has @{name}, which stands on {there}")

    def relation(self, step: ast.Step) -> ast.Step:
        name = step.test.name
        if step.test.type == "name" and name in TREE_RELATIONS:
            return step
        self.need("graph", "a path over a relation", step)
        if not self.names.active:
            return step
        bare = not self.names.schema.relations
        if bare and step.test.type != "name":
            raise QueryCapabilityError(
                f"{step.axis}::* follows the relations of the graph, and it holds none",
                query=self.text,
                offset=step.span[0],
                hint=f"{step.axis}::CONTAINS and {step.axis}::NEXT walk the tree",
            )
        if step.test.type == "name" and not self.names.is_relation(name):
            raise UnknownNameError(
                f"unknown relation '{shown(name)}'",
                query=self.text,
                offset=step.test.span[0],
                suggestions=self.names.like_relation(name),
                hint="the graph holds none beside CONTAINS and NEXT" if bare else None,
            )
        return step

    def need(self, capability: str, what: str, node: ast.Expr | ast.Step) -> None:
        if capability not in self.capabilities:
            raise QueryCapabilityError(
                f"{what} needs {_NEEDED[capability]}, and this index has none",
                query=self.text,
                offset=node.span[0],
            )


def listed(head: str, names: Iterable[str], most: int = 6) -> str | None:
    """The first of some names in a row; ``None`` for none.

    Example:
        >>> listed("the kinds are", ["Day", "POI"])
        'the kinds are Day, POI'
    """
    known = [shown(name) for name in names]
    more = ", …" if len(known) > most else ""
    return f"{head} {', '.join(known[:most])}{more}" if known else None


_NEEDED = {
    "graph": "a graph",
    "scorer": "embeddings",
    "keywords": "a keyword index",
    "versions": "versions",
}
