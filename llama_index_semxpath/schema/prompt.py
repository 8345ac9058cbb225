"""A schema in words: a table for people, a compact text for language models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from llama_index_semxpath.schema.model import AttributeInfo, KindInfo, Schema
from llama_index_semxpath.text import name_text, padded, shown, string_text, width

#: The language in a few lines, for a model that has never seen it.
GUIDE = """\
SemXPath is XPath 1.0 over the tree of kinds below, with conditions on meaning.
//K: every node of kind K; /K: top-level; A/B: child; A//B: anywhere below; A/..: parent.
K[@a = "x"], K[@n >= 3], K[@d > today() - 90d], K[contains(., "word")], K[@a in ("x", "y")].
K[2], K[-1], K[2:4]: by position below each parent; (//K)[1]: the first of all.
K[. =~ "topic"]: graded by meaning; K[@title =~ "topic"]: by one attribute.
K[B[. =~ "topic"]]: that has such a child; K[not(B)]; conditions join with and, or, not(…).
K[agg_max(B[. =~ "topic"])]: graded by its best B; also agg_min, agg_avg.
A/rel::R/B: the B that A has relation R to; A/inv::R: the other way.
count(//K[…]), sort(//K, @a, "desc"), top(3, //K[…]), group(//K, @a).
A name with spaces or signs stands in back-quotes: `Sales Order`."""


def prompt_text(
    schema: Schema,
    *,
    guide: bool = True,
    max_kinds: int = 60,
    max_attributes: int = 16,
    examples: int = 3,
) -> str:
    """The schema as a compact text for a language model.

    Values come from documents: each is cut, put on one line and quoted as a literal of the
    language, so that a value cannot pose as an instruction line.

    Args:
        schema: The schema.
        guide: Whether the language is explained first.
        max_kinds: Most kinds shown, the frequent ones first.
        max_attributes: Most attributes shown for a kind, the frequent ones first.
        examples: Most example values for an attribute.

    Example:
        >>> days = AttributeInfo("days", "number", 2, 1.0, ("5", "10"))
        >>> kind = KindInfo("Leave", 2, {"days": days}, {"Row": 4})
        >>> print(prompt_text(Schema({"Leave": kind}, roots={"Leave": 2}), guide=False))
        Top level: Leave
        Leave (2) > Row; @days number, e.g. 5, 10
    """
    lines = [GUIDE, ""] if guide else []
    if schema.roots:
        lines.append("Top level: " + _names(_most(schema.roots)))
    kinds = sorted(schema.kinds.values(), key=lambda kind: (-kind.count, kind.name))
    lines += [_kind_line(kind, max_attributes, examples) for kind in kinds[:max_kinds]]
    if len(kinds) > max_kinds:
        lines.append(f"… and {len(kinds) - max_kinds} kinds more")
    for relation in schema.relations.values():
        ends = [_names(_most(end)) or "*" for end in (relation.sources, relation.targets)]
        lines.append(f"{ends[0]} -rel::{name_text(relation.name)}-> {ends[1]} ({relation.count})")
    return "\n".join(lines)


def table_text(schema: Schema, columns: int = 100) -> str:
    """The schema as a table for a terminal.

    Args:
        schema: The schema.
        columns: Widest line, in terminal columns.

    Example:
        >>> days = AttributeInfo("days", "number", 2, 0.5, ("5", "10"))
        >>> print(table_text(Schema({"Leave": KindInfo("Leave", 4, {"days": days})})))
        Leave                               4 nodes
          @days            number      50%  5, 10
    """
    lines: list[str] = []
    for kind in schema.kinds.values():
        name = padded(shown(name_text(kind.name)), 28)
        head = f"{name}{kind.count:>9,} node{'s' * (kind.count != 1)}"
        below = f"  > {_names(_most(kind.children))}" if kind.children else ""
        lines.append(_cut(head + below, columns))
        for attribute in kind.attributes.values():
            name = padded("@" + shown(name_text(attribute.name), 24), 16)
            line = f"  {name} {attribute.type:<8} {attribute.share:>6.0%}  "
            values = ", ".join(shown(value, 24) for value in attribute.examples)
            lines.append(_cut(line + values, columns).rstrip())
    for relation in schema.relations.values():
        ends = [_names(_most(end)) or "*" for end in (relation.sources, relation.targets)]
        name = padded(f"rel::{shown(name_text(relation.name))}", 28)
        many = "s" * (relation.count != 1)
        lines.append(
            _cut(f"{name}{relation.count:>9,} edge{many}  {ends[0]} -> {ends[1]}", columns)
        )
    return "\n".join(lines) if lines else "empty: no nodes yet"


def _kind_line(kind: KindInfo, max_attributes: int, examples: int) -> str:
    line = f"{name_text(kind.name)} ({kind.count})"
    if kind.children:
        line += " > " + _names(_most(kind.children))
    attributes = sorted(kind.attributes.values(), key=lambda info: (-info.count, info.name))
    parts = [_attribute_text(info, examples) for info in attributes[:max_attributes]]
    if len(attributes) > max_attributes:
        parts.append(f"and {len(attributes) - max_attributes} attributes more")
    return "; ".join([line, *parts])


def _attribute_text(info: AttributeInfo, examples: int) -> str:
    values = [
        shown(value, 30) if info.type in ("number", "boolean") else string_text(shown(value, 30))
        for value in info.examples[:examples]
    ]
    text = f"@{name_text(info.name)} {info.type}"
    return f"{text}, e.g. {', '.join(values)}" if values else text


def _most(counts: Mapping[str, int]) -> list[str]:
    return sorted(counts, key=lambda name: (-counts[name], name))


def _names(names: Iterable[str]) -> str:
    return ", ".join(name_text(name) for name in names)


def _cut(line: str, columns: int) -> str:
    if width(line) <= columns:
        return line
    cut = line[: columns - 1]
    while width(cut) > columns - 1:
        cut = cut[:-1]
    return cut + "…"
