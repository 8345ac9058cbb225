"""A schema as a GBNF grammar: a model that is held to it writes only valid queries.

GBNF is llama.cpp's grammar notation. The grammar is narrower than the language: every text that it
admits parses and checks against the schema, it knows only kinds, attributes and relations that
exist, a child only below a kind that has it, and literals only of the attribute's type. One rule
``node-i`` a kind carries its conditions and what can follow it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from llama_index_semxpath.schema.model import AttributeInfo, KindInfo, RelationInfo, Schema
from llama_index_semxpath.text import name_text

_COMMON = r"""
position ::= "[" (place | "-" place | "last()" | place? ":" place | "-" place ":") "]"
place ::= [1-9] [0-9]? [0-9]?
comparison ::= " = " | " != " | " < " | " <= " | " > " | " >= "
count-test ::= (" = " | " > " | " >= " | " < ") place
number ::= "-"? ("0" | [1-9] [0-9]? [0-9]? [0-9]? [0-9]? [0-9]?) ("." [0-9] [0-9]?)?
date ::= "\"" [12] [0-9] [0-9] [0-9] "-" month "-" day "\"" | "today()" (" - " place [dwy])?
month ::= "0" [1-9] | "1" [0-2]
day ::= "0" [1-9] | "1" [0-9] | "2" [0-8]
string ::= "\"" char* "\""
phrase ::= "\"" solid char* "\""
char ::= [^"\x00-\x1F\x7F-\x9F]
solid ::= [^"\x00-\x20\x7F-\xA0\u1680\u2000-\u200F\u2028-\u202F\u205F\u3000\uD800-\uDFFF\uFEFF]
topic ::= ". =~ " phrase
words ::= "contains(., " phrase ")"
""".strip()


def gbnf_text(schema: Schema) -> str:
    """The grammar, with ``root`` as its start.

    Args:
        schema: A schema with at least one kind.

    Raises:
        ValueError: The schema is empty, so that no query would be admitted.

    Example:
        >>> text = gbnf_text(Schema({"Leave": KindInfo("Leave", 2)}))
        >>> [line for line in text.splitlines() if line.startswith("node-0")]
        ['node-0 ::= "Leave" filter-0* tail-0?']
    """
    if not schema:
        raise ValueError("an empty schema admits no query")
    return "\n".join([*_Grammar(schema).rules(), _COMMON]) + "\n"


class _Grammar:
    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.kinds = list(schema.kinds.values())
        self.number = {kind.name: place for place, kind in enumerate(self.kinds)}
        # Names that a bare step could also be read as: such steps name their axis.
        self.contested = set(schema.attributes) | set(schema.relations)

    def rules(self) -> Iterator[str]:
        sortable = any(kind.attributes for kind in self.kinds)
        yield 'root ::= path | "count(" path ")" | "top(" place ", " path ")"' + (
            " | sorted" if sortable else ""
        )
        starts = ['"//" any']
        tops = [name for name in self.schema.roots if name in self.number]
        if tops:
            starts.append(f'"/" ({self.nodes(tops)})')
        yield f"path ::= {' | '.join(starts)}"
        yield f"any ::= {self.nodes(self.number)}"
        if sortable:
            options = [
                f"{literal(f'//{self.step(kind.name)}')} filter-{place}* "
                f'", @" name-{place} (", \\"desc\\"")?'
                for place, kind in enumerate(self.kinds)
                if kind.attributes
            ]
            yield f'sorted ::= "sort(" ({" | ".join(options)}) ")"'
        for place, kind in enumerate(self.kinds):
            yield from self.kind_rules(place, kind)

    def kind_rules(self, place: int, kind: KindInfo) -> Iterator[str]:
        children = [name for name in kind.children if name in self.number]
        yield f"node-{place} ::= {literal(self.step(kind.name))} filter-{place}* tail-{place}?"
        if any(relation.targets for relation in self.schema.relations.values()):
            # Behind a relation a bare name tests the node reached.
            name = literal(name_text(kind.name))
            yield f"reached-{place} ::= {name} filter-{place}* tail-{place}?"
        tails = ['"//" any', '"/.."']
        if children:
            tails.append(f'"/" ({self.nodes(children)})')
        if kind.attributes:
            tails.append(f'"/@" name-{place}')
            names = " | ".join(literal(name_text(name)) for name in kind.attributes)
            yield f"name-{place} ::= {names}"
        tails += list(self.relation_tails(kind))
        yield f"tail-{place} ::= {' | '.join(tails)}"
        yield f'filter-{place} ::= position | "[" condition-{place} "]"'
        yield f'condition-{place} ::= test-{place} ((" and " | " or ") test-{place})?'
        tests = ["topic", "words", f'"not(" test-{place} ")"']
        tests += [text for info in kind.attributes.values() for text in attribute_tests(info)]
        tests += list(self.child_tests(children))
        yield f"test-{place} ::= {' | '.join(tests)}"

    def child_tests(self, children: Sequence[str]) -> Iterator[str]:
        for name in children:
            step, place = literal(self.step(name)), self.number[name]
            yield f"{step} filter-{place}?"
            yield f'"count(" {step} filter-{place}? ")" count-test'
            yield f'("agg_max" | "agg_min" | "agg_avg") "(" {step} "[" topic "]" ")"'

    def relation_tails(self, kind: KindInfo) -> Iterator[str]:
        for axis, relation, ends in self.relations_of(kind):
            head = literal(f"/{axis}::{name_text(relation.name)}")
            reached = [f"reached-{self.number[end]}" for end in ends if end in self.number]
            repeat = '("{1," [2-5] "}")?'
            yield f"{head} {repeat}" + (f' ("/" ({" | ".join(reached)}))?' if reached else "")

    def relations_of(self, kind: KindInfo) -> Iterator[tuple[str, RelationInfo, Iterable[str]]]:
        for relation in self.schema.relations.values():
            if kind.name in relation.sources:
                yield "rel", relation, relation.targets
            if kind.name in relation.targets:
                yield "inv", relation, relation.sources

    def nodes(self, names: Iterable[str]) -> str:
        return " | ".join(f"node-{self.number[name]}" for name in names)

    def step(self, name: str) -> str:
        return ("child::" if name in self.contested else "") + name_text(name)


def attribute_tests(info: AttributeInfo) -> Iterator[str]:
    """The tests that an attribute admits, by its type."""
    name = literal(f"@{name_text(info.name)}")
    if info.type == "number":
        yield f"{name} comparison number"
    elif info.type in ("date", "datetime"):
        yield f"{name} comparison date"
    elif info.type == "boolean":
        yield f'{name} " = " ("true()" | "false()")'
    else:
        yield f'{name} (" = " | " != ") string'
        yield f'{name} " in (" string (", " string)* ")"'
        yield f'{name} " =~ " phrase'
        yield f'("contains" | "starts-with") "(" {name} ", " string ")"'
    yield name


def literal(text: str) -> str:
    r"""A text as a GBNF literal.

    Example:
        >>> print(literal('a"b\\'))
        "a\"b\\"
    """
    return '"' + "".join(_escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    code = ord(char)
    if 0x20 <= code < 0x7F or (code > 0xA0 and char.isprintable()):
        return char
    return (
        f"\\x{code:02X}"
        if code < 0x100
        else f"\\U{code:08X}"
        if code > 0xFFFF
        else f"\\u{code:04X}"
    )
