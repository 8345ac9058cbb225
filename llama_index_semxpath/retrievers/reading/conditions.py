"""What a question demands of one thing, as filters of a step."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index_semxpath.retrievers.reading import build
from llama_index_semxpath.retrievers.reading.nouns import Noun, Phrase
from llama_index_semxpath.retrievers.reading.scan import Mark
from llama_index_semxpath.retrievers.reading.vocabulary import Vocabulary
from llama_index_semxpath.xpath import ast
from llama_index_semxpath.xpath.operators import combine


def conditions(noun: Noun, vocabulary: Vocabulary) -> list[ast.Filter]:
    """Values, bounds, phrases, neighbours and evidence of a thing, in that order.

    Args:
        noun: The thing.
        vocabulary: Names of the tree.
    """
    filters: list[ast.Filter] = []
    for test in noun.values:
        expr = build.equals(test.attribute, test.values)
        filters.append(build.where(build.negated(expr) if test.negated else expr))
    for name, mark in noun.bounds:
        filters.extend(build.where(expr) for expr in _bound(name, mark))
    if noun.phrases:
        filters.extend(_phrases(noun.phrases))
    filters.extend(build.where(test) for test in noun.tests)
    filters.extend(build.where(build.beside(axis, test)) for axis, test in noun.sides)
    for phrase in noun.evidence:
        held = build.below("*", build.where(build.means(phrase.text)))
        step = ast.Path(None, steps=(build.child("*", build.where(build.means(phrase.text))),))
        evidence: ast.Expr = step if vocabulary.items.get(noun.kind) else held
        filters.append(build.where(build.negated(evidence) if phrase.negated else evidence))
    return filters


def negate(predicate: ast.Predicate) -> ast.Predicate:
    """The predicate that fits where this one does not.

    Args:
        predicate: A condition.
    """
    return ast.Predicate(build.negated(predicate.expr))


def _phrases(phrases: Sequence[Phrase]) -> list[ast.Filter]:
    """One predicate a phrase; phrases joined by “and” or “or” are alternatives."""
    groups: list[list[Phrase]] = []
    for phrase in phrases:
        if phrase.joined and groups:
            groups[-1].append(phrase)
        else:
            groups.append([phrase])
    filters: list[ast.Filter] = []
    for group in groups:
        tests = [
            build.negated(build.means(one.text)) if one.negated else build.means(one.text)
            for one in group
        ]
        filters.append(build.where(combine("or", tests)))
    return filters


def _bound(name: str, mark: Mark) -> list[ast.Expr]:
    bound = mark.payload

    def literal(value: object) -> ast.Expr:
        return ast.Num(value) if isinstance(value, int | float) else ast.Str(str(value))

    if bound.op == "=" and bound.until is not None:
        return [
            ast.Binary(">=", build.attribute(name), literal(bound.value)),
            ast.Binary("<=", build.attribute(name), literal(bound.until)),
        ]
    return [ast.Binary(bound.op, build.attribute(name), literal(bound.value))]
