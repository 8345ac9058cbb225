"""The functions of the language: names, arguments, results. One row is one function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: Static types. ``score`` is a figure in [0, 1] from a condition, ``number`` any other figure:
#: a predicate that is a number is a position, one that is a score is a condition.
Type = Literal[
    "nodes", "string", "number", "boolean", "score", "date", "duration", "list", "groups", "unknown"
]
#: What an argument may be: ``any`` value is converted as in XPath 1.0; ``condition`` is graded.
Argument = Literal[
    "nodes", "string", "number", "any", "condition", "phrase", "date", "key", "order", "share"
]


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the language.

    Args:
        name: Its name.
        arguments: Types of its arguments, optional ones last.
        returns: Type of its result; ``min max avg gmean`` and ``not`` depend on their arguments.
        required: Number of arguments that must be given.
        variadic: Whether the last argument may be repeated.
        summary: What it gives, in a few words.
    """

    name: str
    arguments: tuple[Argument, ...]
    returns: Type
    required: int
    variadic: bool
    summary: str

    def arity(self) -> str:
        """The number of arguments in words.

        Example:
            >>> FUNCTIONS["substring"].arity(), FUNCTIONS["concat"].arity()
            ('2 to 3 arguments', 'at least 2 arguments')
        """
        low, high = self.required, len(self.arguments)
        if self.variadic:
            return f"at least {low} argument{'s' * (low != 1)}"
        if low == high:
            return f"{low or 'no'} argument{'s' * (low != 1)}"
        return f"{low} to {high} argument{'s' * (high != 1)}"

    def signature(self) -> str:
        """The function as a reader of the documentation sees it.

        Example:
            >>> FUNCTIONS["substring"].signature()
            'substring(any, number, number?) -> string'
        """
        parts = [
            name + ("" if place < self.required else "?")
            for place, name in enumerate(self.arguments)
        ]
        if self.variadic:
            parts.append("…")
        return f"{self.name}({', '.join(parts)}) -> {self.returns}"


def _function(declaration: str, summary: str) -> Function:
    """Reads ``substring(string, number, number?) -> string``; ``…`` ends a variadic list."""
    head, returns = declaration.split(" -> ")
    name, inner = head[:-1].split("(")
    parts = [part for part in inner.split(", ") if part]
    variadic = bool(parts) and parts[-1] == "…"
    if variadic:
        parts.pop()
    types = tuple(part.rstrip("?") for part in parts)
    required = sum(not part.endswith("?") for part in parts)
    return Function(name, types, returns, required, variadic, summary)  # type: ignore[arg-type]


_DECLARATIONS = (
    # XPath 1.0, section 4
    ("last() -> number", "number of nodes at this step"),
    ("position() -> number", "place of the node among them, from 1"),
    ("count(nodes) -> number", "number of nodes; with a graded path, of those that pass"),
    ("id(any) -> nodes", "the node with this id"),
    ("local-name(nodes?) -> string", "kind of the first node"),
    ("name(nodes?) -> string", "kind of the first node"),
    ("namespace-uri(nodes?) -> string", "always empty"),
    ("string(any?) -> string", "text of a value; of a node its text and that below it"),
    ("concat(any, any, any?, …) -> string", "values joined"),
    ("starts-with(any, any) -> boolean", "whether one text begins with another"),
    ("contains(any, any) -> boolean", "whether one text holds another"),
    ("substring-before(any, any) -> string", "what stands before the first occurrence"),
    ("substring-after(any, any) -> string", "what stands after the first occurrence"),
    ("substring(any, number, number?) -> string", "from a place (from 1), of a length"),
    ("string-length(any?) -> number", "number of characters"),
    ("normalize-space(any?) -> string", "runs of white space as one space"),
    ("translate(any, any, any) -> string", "characters replaced one by one"),
    ("boolean(any) -> boolean", "truth of a value; of nodes: whether there are any"),
    ("not(condition) -> boolean", "negation; of a score 1 minus it"),
    ("true() -> boolean", "true"),
    ("false() -> boolean", "false"),
    ("lang(any) -> boolean", "whether @lang of the node or the nearest above it matches"),
    ("number(any?) -> number", "number that a text stands for, or NaN"),
    ("sum(nodes) -> number", "sum of the nodes' numbers"),
    ("floor(number) -> number", "largest whole number not above"),
    ("ceiling(number) -> number", "smallest whole number not below"),
    ("round(number) -> number", "nearest whole number, halves up"),
    # Added
    ("matches(any, phrase) -> boolean", "whether a linear-time regular expression is found"),
    ("ends-with(any, any) -> boolean", "whether one text ends with another"),
    ("lower-case(any?) -> string", "text in lower case"),
    ("upper-case(any?) -> string", "text in upper case"),
    ("distinct-values(nodes) -> list", "the different string values, in order"),
    ("text-of(nodes) -> list", "the own text of each node"),
    ("today() -> date", "the date of the query"),
    ("now() -> date", "the moment of the query"),
    ("bm25(nodes, phrase) -> score", "keyword relevance in [0, 1]"),
    ("min(condition, condition?, …) -> number", "least of conditions, numbers or evidence"),
    ("max(condition, condition?, …) -> number", "greatest of conditions, numbers or evidence"),
    ("avg(condition, condition?, …) -> number", "mean of conditions, numbers or evidence"),
    ("gmean(condition, condition?, …) -> number", "geometric mean of the same"),
    ("agg_min(nodes) -> score", "least score of the evidence, 0 without any"),
    ("agg_max(nodes) -> score", "greatest score of the evidence"),
    ("agg_avg(nodes) -> score", "mean score of the evidence"),
    ("agg_gmean(nodes) -> score", "geometric mean of the scores of the evidence"),
    ("sort(nodes, key, order?) -> nodes", 'nodes by a key, "asc" or "desc"'),
    ("top(number, nodes) -> nodes", "the best n by score"),
    ("group(nodes, key) -> groups", "rows of key, count and nodes"),
    ("threshold(share, nodes) -> nodes", "a path whose conditions pass from this score on"),
    ("at(date, nodes) -> nodes", "a path in the past (memory)"),
    ("version(number, nodes) -> nodes", "a path at a version (memory)"),
)

#: Every function by name.
FUNCTIONS: dict[str, Function] = {
    function.name: function for function in (_function(*row) for row in _DECLARATIONS)
}

#: What to write instead of a function that other languages have.
INSTEAD = {
    "exists": "a path is true when it selects a node: write the path itself",
    "empty": "write not(path)",
    "text-contains": 'write contains(., "…")',
    "length": "write string-length(…) or count(…)",
    "size": "write count(…)",
    "semantic": 'write . =~ "…"',
    "like": "write contains(…), starts-with(…) or matches(…)",
    "date": 'a date is a string: "2026-01-01"',
    "order-by": "write sort(path, key)",
    "first": "write [1]",
    "len": "write string-length(…) or count(…)",
    "mean": "write avg(…)",
    "average": "write avg(…)",
    "lower": "write lower-case(…)",
    "upper": "write upper-case(…)",
    "substr": "write substring(…)",
    "regex": "write matches(…, …)",
    "year": 'compare dates: @created >= "2026-01-01"',
    "similarity": 'write . =~ "…"',
    "limit": "write top(n, path), or (path)[:n] for the first n in document order",
}
