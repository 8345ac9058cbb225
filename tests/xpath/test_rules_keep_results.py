"""Rewriting never changes a result: random trees and queries, with the rules and without them."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from llama_index_semxpath.engines.base import Dataset, Scorer, Targets
from llama_index_semxpath.engines.memory import MemoryEngine
from llama_index_semxpath.engines.result import Evaluation
from llama_index_semxpath.tree.columns import Floats
from llama_index_semxpath.tree.edges import Edge
from llama_index_semxpath.tree.node import TreeNode, Value
from llama_index_semxpath.tree.order import assign_order
from llama_index_semxpath.tree.table import TreeTable
from llama_index_semxpath.xpath import parse, rewrite


class Letters(Scorer):
    """Grades by the share of the phrase's letters that the target has."""

    @property
    def name(self) -> str:
        return "letters"

    def grade(self, phrase: str, targets: Targets) -> Floats:
        shares = [len(set(phrase) & set(text)) / len(set(phrase)) for text in targets.texts()]
        return np.array(shares, dtype=np.float64)


@st.composite
def trees(draw: st.DrawFn) -> TreeTable:
    count = draw(st.integers(1, 14))
    nodes = [TreeNode("n0", "a", "n0")]
    for place in range(1, count):
        parent = draw(st.integers(0, place - 1))
        attributes: dict[str, Value] = {}
        for name in ("x", "y"):
            value = draw(st.sampled_from([None, "p", "q", 1, 2]))
            if value is not None:
                attributes[name] = value
        text = draw(st.sampled_from(["", "k", "km", "m", "z"]))
        kind = draw(st.sampled_from("abc"))
        nodes.append(TreeNode(f"n{place}", kind, "n0", f"n{parent}", text, attributes))
    ordered = in_document_order(nodes)
    ends = st.integers(0, count - 1)
    edges = [Edge(f"n{draw(ends)}", "R", f"n{draw(ends)}") for _ in range(draw(st.integers(0, 4)))]
    return TreeTable.from_nodes(list(assign_order(ordered)), edges)


def in_document_order(nodes: list[TreeNode]) -> list[TreeNode]:
    below: dict[str | None, list[TreeNode]] = {}
    for node in nodes:
        below.setdefault(node.parent, []).append(node)
    ordered: list[TreeNode] = []
    waiting = [nodes[0]]
    while waiting:
        node = waiting.pop()
        ordered.append(node)
        waiting.extend(reversed(below.get(node.id, [])))
    return ordered


NAME = st.sampled_from(["a", "b", "c", "*", "*"])
_AXES = """descendant descendant-or-self self parent ancestor following-sibling preceding-sibling
    following preceding"""
AXIS = st.sampled_from(["", "", "", *(f"{axis}::" for axis in _AXES.split())])
NUMBER = st.sampled_from(["1", "2", "3", "1 + 1", "3 - 1", "2 * 1", "0", "(2)", "2.0"])
POSITION = st.one_of(
    st.sampled_from(["1", "2", "-1", "-2", "2:3", "-2:", ":2", "@+1", "@-1", "last()", "(1)"]),
    st.builds(
        "{} {} {}".format,
        st.just("position()"),
        st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
        st.one_of(NUMBER, st.sampled_from(["last()", "last() - 1", "last() - 2"])),
    ),
    st.builds("{} {} position()".format, NUMBER, st.sampled_from(["=", "<", ">="])),
    st.just("position() >= 2 and position() <= 3"),
    st.just("last() - 1"),
)
VALUE = st.sampled_from(["'p'", "'q'", "1", "2"])
ATOM = st.one_of(
    st.builds("@{} {} {}".format, st.sampled_from("xy"), st.sampled_from(["=", "!="]), VALUE),
    st.sampled_from(["@x", "@y", "true()", "1 = 1", "2 < 1", "a", "b/c", ".//c", "../b", "rel::R"]),
    st.sampled_from(["count(a) > 0", "0 < count(b)", "count(*) = 0", "count(c) >= 1", "count(a)"]),
    st.sampled_from([". =~ 'km'", ". =~ 'kz'", "@x in ('p', 1)", "@x in ('q')", "count(*) = 2"]),
    st.sampled_from(["a[2]", "b[@x]/..", "(a | b)[1]", "agg_max(*[. =~ 'km'])", "*[. =~ 'k']"]),
)


def _conditions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{} and {}".format, inner, inner),
        st.builds("({} or {})".format, inner, inner),
        st.builds("{0} or {1} or {2}".format, inner, inner, inner).map("({})".format),
        st.builds("not({})".format, inner),
        st.builds("not(not({}))".format, inner),
        st.builds("boolean({})".format, inner),
    )


CONDITION = st.recursive(ATOM, _conditions, max_leaves=4)
GRADED_FIRST = st.builds("{}][{}".format, st.sampled_from([". =~ 'km'", "b[. =~ 'k']"]), ATOM)
FILTER = st.one_of(CONDITION, POSITION, GRADED_FIRST).map("[{}]".format)
FILTERS = st.lists(FILTER, max_size=3).map("".join)
STEP = st.one_of(
    st.builds("{}{}{}".format, AXIS, NAME, FILTERS),
    st.sampled_from([".", "..", "rel::R", "rel::R/b", "inv::R{1,2}", "self::node()"]),
)
PATHS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["/", "//", "//"]),
    STEP,
    st.lists(st.builds("{}{}".format, st.sampled_from(["/", "//"]), STEP), max_size=2).map("".join),
)
QUERIES = st.one_of(
    PATHS,
    st.builds("({}){}".format, PATHS, FILTERS),
    st.builds("({})/{}".format, PATHS, STEP),
    st.builds("({} | {}){}".format, PATHS, PATHS, FILTERS),
    PATHS.map("count({})".format),
    PATHS.map("top(2, {})".format),
)


def run(table: TreeTable, query: str) -> Evaluation:
    return MemoryEngine(Dataset(table, Letters()), check_names=False).run(query)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(trees(), QUERIES)
def test_same_result_with_and_without_rules(table: TreeTable, query: str) -> None:
    rewritten = run(table, query)
    with patch("llama_index_semxpath.xpath.compile.rewrite", lambda expr: (expr, ())):
        plain = run(table, query)
    assert rewritten.positions.tolist() == plain.positions.tolist()
    assert rewritten.value == plain.value
    np.testing.assert_allclose(rewritten.scores, plain.scores, atol=1e-12)


@settings(max_examples=300, deadline=None)
@given(QUERIES)
@example("//a[not(not(@x))][1 = 1][position() <= 2]")
def test_the_rules_come_to_an_end(query: str) -> None:
    once, _ = rewrite(parse(query))
    assert rewrite(once) == (once, ())
