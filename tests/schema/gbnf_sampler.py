"""A reader of GBNF grammars that writes random texts from them, for tests."""

from __future__ import annotations

import ast
import random
import re
from dataclasses import dataclass
from typing import Any

_TOKEN = re.compile(
    r"""\s*(?: (?P<text>"(?:[^"\\]|\\.)*") | (?P<chars>\[(?:[^\]\\]|\\.)*\])
        | (?P<name>[a-zA-Z][a-zA-Z0-9-]*) | (?P<sign>::=|[()|?*+]) )""",
    re.VERBOSE,
)


@dataclass
class Grammar:
    rules: dict[str, Any]

    @classmethod
    def read(cls, text: str) -> Grammar:
        rules: dict[str, Any] = {}
        for line in text.splitlines():
            tokens = _tokens(line)
            name, sign = tokens[0][1], tokens[1][1]
            assert sign == "::="
            reader = _Reader(tokens[2:])
            assert name not in rules
            rules[name] = reader.choice()
            assert reader.place == len(reader.tokens)
        return cls(rules)

    def undefined(self) -> set[str]:
        found: set[str] = set()

        def visit(node: Any) -> None:
            if node[0] == "name":
                found.add(node[1])
            elif node[0] in ("choice", "sequence"):
                for part in node[1]:
                    visit(part)
            elif node[0] == "repeat":
                visit(node[1])

        for rule in self.rules.values():
            visit(rule)
        return (found | {"root"}) - set(self.rules)

    def sample(self, noise: random.Random, size: int = 60) -> str:
        """A random text; after ``size`` choices the shortest alternatives are preferred."""
        budget = [size]
        return self._write(("name", "root"), noise, budget)

    def _write(self, node: Any, noise: random.Random, budget: list[int]) -> str:
        kind, value = node[0], node[1]
        budget[0] -= 1
        if kind == "text":
            return str(value)
        if kind == "chars":
            return _pick(value, noise)
        if kind == "name":
            return self._write(self.rules[value], noise, budget)
        if kind == "sequence":
            return "".join(self._write(part, noise, budget) for part in value)
        if kind == "choice":
            options = value
            if budget[0] < 0:
                options = sorted(value, key=lambda part: self._weight(part, 8))[:1]
            return self._write(noise.choice(options), noise, budget)
        least, most = {"?": (0, 1), "*": (0, 3), "+": (1, 3)}[node[2]]
        count = least if budget[0] < 0 else noise.randint(least, most)
        return "".join(self._write(value, noise, budget) for _ in range(count))

    def _weight(self, node: Any, depth: int) -> int:
        """How much the shortest text of a node needs, looking so many rules deep."""
        if depth == 0:
            return 1000
        kind, value = node[0], node[1]
        if kind == "name":
            return 1 + self._weight(self.rules[value], depth - 1)
        if kind == "sequence":
            return sum(self._weight(part, depth) for part in value)
        if kind == "choice":
            return min(self._weight(part, depth) for part in value)
        if kind == "repeat":
            return self._weight(value, depth) if node[2] == "+" else 0
        return 1


class _Reader:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens = tokens
        self.place = 0

    def at(self) -> tuple[str, str]:
        return self.tokens[self.place] if self.place < len(self.tokens) else ("end", "")

    def choice(self) -> Any:
        options = [self.sequence()]
        while self.at() == ("sign", "|"):
            self.place += 1
            options.append(self.sequence())
        return ("choice", options)

    def sequence(self) -> Any:
        parts = []
        while self.at()[0] in ("text", "chars", "name") or self.at() == ("sign", "("):
            kind, text = self.at()
            self.place += 1
            if kind == "sign":
                part = self.choice()
                assert self.at() == ("sign", ")")
                self.place += 1
            elif kind == "text":
                part = ("text", ast.literal_eval(text))
            else:
                part = (kind, text)
            if self.at()[1] in ("?", "*", "+"):
                part = ("repeat", part, self.at()[1])
                self.place += 1
            parts.append(part)
        assert parts
        return ("sequence", parts)


def _tokens(line: str) -> list[tuple[str, str]]:
    found, place = [], 0
    while place < len(line):
        match = _TOKEN.match(line, place)
        assert match is not None, line[place:]
        assert match.lastgroup is not None
        found.append((match.lastgroup, match[match.lastgroup]))
        place = match.end()
    return found


_ALPHABET = "ab Z9'\"`\\[]()/@$=~<>&|,;:.*-+#%{}\n\t\x00\u00a0\u3000年假“é😀\u200b\ud800"


def _pick(chars: str, noise: random.Random) -> str:
    pattern = re.compile(chars)
    if chars.startswith("[^"):
        return noise.choice([char for char in _ALPHABET if pattern.match(char)])
    return noise.choice([chr(code) for code in range(32, 127) if pattern.match(chr(code))])
