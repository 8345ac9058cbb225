"""Random trees and random queries, from a seed."""

from __future__ import annotations

import random
import re

from lxml import etree

from llama_index_semxpath.tree.node import TreeNode

KINDS = ("a", "b", "c", "Sec")
AXES = (
    *("child", "descendant", "descendant-or-self", "self", "parent", "ancestor"),
    *("ancestor-or-self", "following-sibling", "preceding-sibling", "following", "preceding"),
)
REVERSE_OR_SELF = (
    r"//(?=\.\.|(?:self|parent|ancestor|ancestor-or-self|following|preceding|following-sibling"
    r"|preceding-sibling|descendant-or-self)::)"
)


class RandomXml:
    """A tree as lxml elements and as nodes of ours, with one id each."""

    def __init__(self, rng: random.Random) -> None:
        root = etree.Element("Doc")
        elements = [root]
        for _ in range(rng.choice((0, 3, 10, 40, 120))):
            deep = max(0, len(elements) - 1 - int(rng.expovariate(0.4)))
            parent = elements[deep] if rng.random() < 0.8 else rng.choice(elements)
            elements.append(etree.SubElement(parent, rng.choice(KINDS)))
        self.tree = root.getroottree()
        self.ids = {element: f"i{place}" for place, element in enumerate(root.iter())}
        self.nodes = [self._node(rng, element) for element in root.iter()]

    def _node(self, rng: random.Random, element: etree._Element) -> TreeNode:
        attributes: dict[str, str | float] = {}
        if rng.random() < 0.5:
            attributes["n"] = rng.choice((0, 1, 2, 3, 10, 2.5, -1))
        if rng.random() < 0.4:
            attributes["t"] = rng.choice(("x", "y", "xy", "abc", "", "10", " x  y "))
        for name, value in attributes.items():
            element.set(name, str(value))
        element.text = rng.choice((None, None, "x", "hello", "12", "3", " a b "))
        above = element.getparent()
        parent = None if above is None else self.ids[above]
        text = element.text or ""
        return TreeNode(self.ids[element], element.tag, "i0", parent, text, dict(attributes))


class XPathQueries:
    """XPath 1.0 queries where the two languages say the same.

    Left out, because SemXPath differs on purpose: ``<`` on two strings (code points), ``!=`` with
    an absent attribute against a truth value, text nodes (there are none, so ``//`` followed by any
    axis but child is written ``//*/``), namespaces.
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def query(self) -> str:
        share = self.rng.random()
        if share < 0.85:
            text = self.path(2)
        elif share < 0.93:
            text = f"count({self.path(2)})"
        elif share < 0.96:
            text = f"string({self.path(1)})"
        else:
            text = f"sum(({self.path(1)})/@n)"
        return re.sub(REVERSE_OR_SELF, "//*/", text)

    def pick(self, *choices: str) -> str:
        return self.rng.choice(choices)

    def step(self, depth: int) -> str:
        share = self.rng.random()
        if share < 0.05:
            return ".."
        test = self.pick(*KINDS, "*", "*")
        text = test if share < 0.55 else f"{self.pick(*AXES)}::{test}"
        while depth > 0 and self.rng.random() < 0.45:
            text += f"[{self.predicate(depth - 1)}]"
        return text

    def relative(self, depth: int) -> str:
        text = self.step(depth)
        if self.rng.random() < 0.12 and not text.startswith(".."):
            text = ".//" + text
        while self.rng.random() < 0.4:
            text += self.pick("/", "/", "//") + self.step(depth)
        return text

    def path(self, depth: int) -> str:
        text = self.pick("/", "//", "//") + self.relative(depth).lstrip("./")
        if text in ("/", "//"):
            text = "//*"
        share = self.rng.random()
        if share < 0.15:
            return f"({text})[{self.predicate(depth - 1)}]"
        if share < 0.2 and depth > 0:
            return f"{text} | {self.path(depth - 1)}"
        if share < 0.25:
            return f"({text})/{self.relative(depth - 1)}"
        return text

    def number(self, depth: int) -> str:
        inner = (lambda: self.number(depth - 1)) if depth > 0 else (lambda: self.pick("@n", "2"))
        choices = (
            lambda: self.pick("1", "2", "3", "0", "5", "position()", "last()", "@n"),
            lambda: f"count({self.relative(depth - 1) if depth > 0 else '*'})",
            lambda: f"string-length({self.string(depth)})",
            lambda: f"sum({self.pick('*/@n', './/@n', '@n')})",
            lambda: f"({inner()} {self.pick('+', '-', '*', 'mod', 'div')} {inner()})",
            lambda: f"{self.pick('floor', 'ceiling', 'round', 'number')}({inner()})",
            lambda: f"-{self.pick('@n', '1', 'last()')}",
        )
        return self.rng.choice(choices)()

    def string(self, depth: int) -> str:
        start = self.pick("1", "2", "0", "-1", "1.5", "2.5")
        length = self.pick("", ", 1", ", 2.5", ", 99")
        choices = (
            lambda: self.pick("'x'", "'y'", "'a'", "'10'", "''", "'hello'", "'3'"),
            lambda: self.pick("@t", ".", "name()"),
            lambda: f"string({self.pick('@n', '@t', '*', '..', '.')})",
            lambda: f"concat(@t, {self.string(depth - 1) if depth > 0 else '@n'})",
            lambda: f"substring({self.string(depth - 1) if depth > 0 else '.'}, {start}{length})",
            lambda: f"normalize-space({self.pick('', '@t', '.')})",
            lambda: "translate(@t, 'xya', 'ab')",
            lambda: f"substring-before({self.pick('@t', '.')}, 'y')",
            lambda: f"substring-after({self.pick('@t', '.')}, 'x')",
        )
        return self.rng.choice(choices)()

    def predicate(self, depth: int) -> str:
        equal = self.pick("=", "!=")
        order = self.pick("=", "!=", "<", "<=", ">", ">=")
        choices = [
            lambda: self.pick("1", "1", "2", "3", "0", "last()", "@n", "@t = 'x'", "boolean(@t)"),
            lambda: f"position() {order} {self.pick('1', '2', 'last()', 'last() - 1')}",
            lambda: f"@n {order} {self.pick('1', '2', '2.5')}",
            lambda: f"@t {equal} {self.pick(repr('x'), repr('y'), repr('10'), repr(''))}",
            lambda: f"contains({self.string(depth)}, {self.string(depth)})",
            lambda: f"starts-with({self.string(depth)}, {self.string(0)})",
            lambda: f"{self.string(depth)} {equal} {self.string(depth)}",
        ]
        if depth > 0:
            below = depth - 1
            other = self.pick("2", "1", "'x'", "'hello'", "@t", ".")
            choices += [
                lambda: self.relative(below),
                lambda: self.relative(below),
                lambda: self.path(below),
                lambda: f"not({self.condition(below)})",
                lambda: f"{self.condition(below)} {self.pick('and', 'or')} {self.condition(below)}",
                lambda: f"count({self.relative(below)}) {order} {self.pick('0', '1', '2', '3')}",
                lambda: f"{self.relative(below)} {equal} {other}",
                lambda: f"{self.relative(below)}/@n {order} {self.pick('2', '@n', '*/@n')}",
                lambda: f"{self.number(below)} {order} {self.number(below)}",
                lambda: f"{self.relative(below)} {equal} {self.relative(below)}",
            ]
        return self.rng.choice(choices)()

    def condition(self, depth: int) -> str:
        text = self.predicate(depth)
        return f"(position() = {text})" if text.isdigit() else f"({text})"


class GradedQueries:
    """Queries of the whole language that `naive.Naive` knows."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def pick(self, *choices: str) -> str:
        return self.rng.choice(choices)

    def query(self) -> str:
        text = self.pick("/", "//", "//") + self.relative(2)
        if self.rng.random() < 0.2:
            text = f"({text}){self.filter(1)}"
        return text

    def relative(self, depth: int) -> str:
        text = self.step(depth)
        while self.rng.random() < 0.4:
            text += self.pick("/", "/", "//") + self.step(depth)
        return text

    def step(self, depth: int) -> str:
        text = self.pick(*KINDS, "*", "*")
        if self.rng.random() < 0.3:
            text = f"{self.pick(*AXES)}::{text}"
        while depth > 0 and self.rng.random() < 0.5:
            text += self.filter(depth - 1)
        return text

    def filter(self, depth: int) -> str:
        if self.rng.random() < 0.3:
            return self.pick(
                *("[1]", "[2]", "[-1]", "[-2]", "[0]", "[1:2]", "[2:]", "[:2]", "[-2:]", "[:-2]"),
                *("[@+1]", "[@-1]", "[@+2]", "[-3:-1]", "[last()]", "[position() > 1]"),
            )
        return f"[{self.condition(depth)}]"

    def condition(self, depth: int) -> str:
        grade = f'. =~ "{self.pick("p", "q", "r")}"'
        hard = f"@n {self.pick('=', '!=', '<', '>')} {self.pick('1', '2', '2.5')}"
        choices = [
            lambda: grade,
            lambda: grade,
            lambda: hard,
            lambda: "@n",
            lambda: f"not({grade})",
        ]
        choices += [lambda: f"1 - ({self.pick(grade, hard)})"]
        if depth > 0:
            below = depth - 1
            combine = self.pick("min", "max", "avg", "gmean")
            choices += [
                lambda: f"({self.condition(below)}) and ({self.condition(below)})",
                lambda: f"({self.condition(below)}) or ({self.condition(below)})",
                lambda: f"(. =~ 'p') * ({self.score(below)})",
                lambda: f"{combine}({self.score(below)}, {self.score(below)})",
                lambda: f"agg_{combine}({self.relative(0)}[{self.condition(below)}])",
                lambda: f"{combine}(/{self.pick(*KINDS)}[{self.condition(below)}])",
                lambda: self.relative(below),
                lambda: f"not({self.relative(below)})",
                lambda: f"count({self.relative(below)}) {self.pick('>', '=', '>=')} 1",
            ]
        return self.rng.choice(choices)()

    def score(self, depth: int) -> str:
        return self.pick(". =~ 'p'", ". =~ 'q'", "not(. =~ 'r')", "@n = 2", "@n > 1")
