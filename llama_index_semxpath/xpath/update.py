"""Update statements: a language of their own, so that no query can ever change anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from llama_index_semxpath.errors import QueryTypeError
from llama_index_semxpath.schema import Schema
from llama_index_semxpath.text import name_text, nfc
from llama_index_semxpath.xpath import ast
from llama_index_semxpath.xpath.check import CAPABILITIES, check
from llama_index_semxpath.xpath.operators import check_depth
from llama_index_semxpath.xpath.parser import Parser
from llama_index_semxpath.xpath.printer import to_text
from llama_index_semxpath.xpath.visit import Task, run

#: The words that updates begin with.
UPDATES = ("insert", "set", "replace", "delete", "move")
_PLACES = ("into", "before", "after")
_VALUES = (ast.Str, ast.Num, ast.Negative, ast.Param, ast.Call, ast.Binary)


def parse_update(text: str) -> ast.Update:
    """Reads an update statement.

    Statements are ``insert NODE into|before|after PATH``, ``set PATH/@name = VALUE``,
    ``replace PATH with NODE``, ``delete PATH`` and ``move PATH into|before|after PATH``. A new
    node is ``Kind(@name = value, "own text", Child(…))`` or a parameter. ``all`` before a target
    path lets it be more than one node.

    Args:
        text: The statement.

    Raises:
        SemXPathSyntaxError: The text is no update statement.

    Example:
        >>> update_text(parse_update("insert Task( @name='Buy milk' ) into //Project[1]"))
        'insert Task(@name = "Buy milk") into //Project[1]'
    """
    parser = _UpdateParser(text)
    update = run(parser.statement())
    for expr in expressions(update):
        check_depth(expr, text)
    return update


def update_text(update: ast.Update) -> str:
    """The canonical text of an update; ``parse_update`` reads it back.

    Example:
        >>> update_text(parse_update("delete all //Task[@status='Done']"))
        'delete all //Task[@status = "Done"]'
    """
    every = "all " if update.every else ""
    match update:
        case ast.Insert(node, place, target):
            return f"insert {_node_text(node)} {place} {every}{_target_text(target)}"
        case ast.SetValue(target, name, value):
            return f"set {every}{_target_text(target)}/@{name_text(name)} = {to_text(value)}"
        case ast.Replace(target, node):
            return f"replace {every}{_target_text(target)} with {_node_text(node)}"
        case ast.Delete(target):
            return f"delete {every}{_target_text(target)}"
        case ast.Move(source, place, target):
            return f"move {every}{_target_text(source)} {place} {_target_text(target)}"


def expressions(update: ast.Update) -> list[ast.Expr]:
    """Every path and value of an update, for checking."""
    match update:
        case ast.Insert(node, _, target) | ast.Replace(target, node):
            return [target, *_values(node)]
        case ast.SetValue(target, _, value):
            return [target, value]
        case ast.Delete(target):
            return [target]
        case ast.Move(source, _, target):
            return [source, target]


def check_update(
    update: ast.Update,
    schema: Schema | None = None,
    params: Mapping[str, Any] | None = None,
    *,
    text: str,
    capabilities: frozenset[str] = CAPABILITIES,
) -> ast.Update:
    """Checks the paths and values of an update as ``check`` does; kinds of new nodes may be new.

    Args:
        update: From ``parse_update``.
        schema: Schema of the tree, if it has one.
        params: Values of the parameters; ``None`` if they are not bound yet.
        text: The statement, for the caret in errors.
        capabilities: What the index can do.

    Raises:
        QueryTypeError: A target that is no path, or any misfit that ``check`` finds.

    Example:
        >>> text = "delete //Task[$done]"
        >>> update_text(check_update(parse_update(text), params={"done": True}, text=text))
        'delete //Task[$done]'
    """

    def checked(expr: ast.Expr) -> ast.Expr:
        return check(expr, schema, params, text=text, capabilities=capabilities).expr

    def path(expr: ast.Expr) -> ast.Expr:
        found = check(expr, schema, params, text=text, capabilities=capabilities)
        if found.type not in ("nodes", "unknown"):
            raise QueryTypeError("a target is a path", query=text, offset=expr.span[0])
        return found.expr

    for expr in expressions(update):
        checked(expr)
    match update:
        case ast.Move():
            return replace(update, source=path(update.source), target=path(update.target))
        case ast.SetValue():
            return replace(update, target=path(update.target), value=checked(update.value))
        case _:
            return replace(update, target=path(update.target))


class _UpdateParser(Parser):
    def statement(self) -> Task[ast.Update]:
        token = self.token
        steps = (self.insert, self.set, self.replace, self.delete, self.move)
        verbs: dict[str, Callable[[int], Task[ast.Update]]] = dict(zip(UPDATES, steps, strict=True))
        verb = verbs.get(str(token.value)) if token.type == "name" else None
        if verb is None:
            self.fail([f"'{name}'" for name in verbs])
        self.take()
        update = yield from verb(token.start)
        self.finish()
        return update

    def insert(self, start: int) -> Task[ast.Update]:
        node = yield from self.node()
        place = self.where()
        every = self.every()
        target = yield from self.target()
        return ast.Insert(node, place, target, every, span=(start, self.end()))

    def set(self, start: int) -> Task[ast.Update]:
        every = self.every()
        at = self.token.start
        target = yield from self.target()
        steps = target.steps if isinstance(target, ast.Path) else ()
        last = steps[-1] if steps else None
        if last is None or last.axis != "attribute" or last.test.type != "name" or last.filters:
            self.fail(
                message="set changes an attribute",
                hint='for example set //Task[@id = "t1"]/@status = "Done"',
                at=at,
            )
        if self.token.type != "=":
            self.fail(["'='"])
        self.take()
        value: ast.Expr = yield self.expression()
        assert isinstance(target, ast.Path)
        owner = self.owner(target)
        return ast.SetValue(owner, last.test.name, value, every, span=(start, self.end()))

    def owner(self, path: ast.Path) -> ast.Expr:
        """The path without its attribute step."""
        steps = path.steps[:-1]
        if path.start == "root" and not steps:
            self.fail(message="the root has no attributes", at=path.span[0])
        if steps:
            return ast.Path(path.start, path.filters, steps, span=path.span)
        if path.start is None:
            here = ast.Step("self", ast.Test("any-node"))
            return ast.Path(None, (), (here,), span=path.span)
        if path.filters or path.start == "root":
            return ast.Path(path.start, path.filters, (), span=path.span)
        return path.start

    def replace(self, start: int) -> Task[ast.Update]:
        every = self.every()
        target = yield from self.target()
        self.word("with")
        node = yield from self.node()
        return ast.Replace(target, node, every, span=(start, self.end()))

    def delete(self, start: int) -> Task[ast.Update]:
        every = self.every()
        target = yield from self.target()
        return ast.Delete(target, every, span=(start, self.end()))

    def move(self, start: int) -> Task[ast.Update]:
        every = self.every()
        source = yield from self.target()
        place = self.where()
        target = yield from self.target()
        return ast.Move(source, place, target, every, span=(start, self.end()))

    def every(self) -> bool:
        """``all`` where a path follows; a kind of that name is written in back-quotes."""
        if self.token.type == "name" and self.token.value == "all":
            self.take()
            return True
        return False

    def target(self) -> Task[ast.Expr]:
        """A path, without operators around it: what follows it belongs to the statement."""
        start = self.token.start
        target = yield from self.operand(relative=False, in_list=False)
        if not isinstance(target, ast.Path | ast.Call | ast.Binary | ast.Param):
            self.fail(message="a target is a path", at=start)
        return target

    def where(self) -> ast.Place:
        token = self.token
        if token.type != "name" or token.value not in _PLACES:
            self.fail([f"'{place}'" for place in _PLACES])
        self.take()
        return cast(ast.Place, token.value)

    def word(self, word: str) -> None:
        if self.token.type != "name" or self.token.value != word:
            self.fail([f"'{word}'"])
        self.take()

    def node(self) -> Task[ast.NewNode | ast.Param]:
        token = self.token
        if token.type == "param":
            self.take()
            return ast.Param(str(token.value), (token.start, token.end))
        if token.type not in ("name", "quoted") or self.peek() != "(":
            self.fail(
                ["a new node", "a parameter"],
                hint='a new node is Kind(@name = value, "own text", Child(…))',
            )
        new: ast.NewNode = yield self.new_node()
        return new

    def new_node(self) -> Task[ast.NewNode]:
        token = self.take()
        self.enter(self.take())
        attributes: list[tuple[str, ast.Expr]] = []
        text: ast.Expr | None = None
        children: list[ast.NewNode] = []
        while self.token.type != ")":
            if self.token.type == "@":
                attributes.append((yield from self.new_attribute([name for name, _ in attributes])))
            elif self.token.type in ("name", "quoted") and self.peek() == "(":
                children.append((yield self.new_node()))
            elif text is None and not children and self.token.type in ("string", "param"):
                text = self.literal()
            else:
                self.fail(["an attribute", "the own text", "a child node", "')'"])
            if self.token.type != ",":
                break
            self.take()
        if self.token.type != ")":
            self.fail(["','", "')'"])
        self.leave(")")
        span = (token.start, self.end())
        return ast.NewNode(str(token.value), tuple(attributes), text, tuple(children), span)

    def new_attribute(self, taken: list[str]) -> Task[tuple[str, ast.Expr]]:
        self.take()
        token = self.token
        name = self.test(attribute=True).name
        if not name:
            self.fail(["a name"], at=token.start)
        if name in taken:
            self.fail(message=f"attribute @{name} is given twice", at=token.start)
        self.expect("=")
        start = self.token.start
        value: ast.Expr = yield self.expression()
        if not isinstance(value, _VALUES):
            self.fail(message="an attribute's value is a string, number or parameter", at=start)
        return nfc(name), value


def _node_text(node: ast.NewNode | ast.Param) -> str:
    if isinstance(node, ast.Param):
        return to_text(node)
    parts = [f"@{name_text(name)} = {to_text(value)}" for name, value in node.attributes]
    if node.text is not None:
        parts.append(to_text(node.text))
    parts.extend(_node_text(child) for child in node.children)
    return f"{name_text(node.kind)}({', '.join(parts)})"


def _target_text(target: ast.Expr) -> str:
    text = to_text(target)
    begins_like_all = text.startswith("all") and not text[3:4].isidentifier()
    return f"({text})" if isinstance(target, ast.Binary) or begins_like_all else text


def _values(node: ast.NewNode | ast.Param) -> list[ast.Expr]:
    if isinstance(node, ast.Param):
        return [node]
    found = [value for _, value in node.attributes]
    if node.text is not None:
        found.append(node.text)
    for child in node.children:
        found.extend(_values(child))
    return found
