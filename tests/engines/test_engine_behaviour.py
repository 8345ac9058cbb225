"""What a caller sees beside the nodes: values, reasons, plans, traces, errors, limits."""

from __future__ import annotations

import datetime as dt
import json
import time
import tracemalloc

import numpy as np
import pytest

from llama_index_semxpath.engines.base import (
    Dataset,
    Engine,
    Scope,
    Scorer,
    SearchRequest,
    Targets,
)
from llama_index_semxpath.engines.memory import MemoryEngine
from llama_index_semxpath.engines.scoring import default_scorer
from llama_index_semxpath.errors import (
    QueryCapabilityError,
    QueryError,
    QueryTypeError,
    ScorerError,
)
from llama_index_semxpath.tree.columns import Floats
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.table import TreeTable
from llama_index_semxpath.xpath import parse


class Words(Scorer):
    """1 for a node whose text holds the phrase, 0.2 for others; counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    @property
    def name(self) -> str:
        return "words"

    def grade(self, phrase: str, targets: Targets) -> Floats:
        self.asked.append(len(targets))
        return np.array([1.0 if phrase in text else 0.2 for text in targets.texts()])


def sections(count: int) -> TreeTable:
    nodes = [TreeNode("d", "Document", "d", attributes={"title": "<b>Book</b>"})]
    for place in range(count):
        text = f"museum {place}" if place % 10 == 0 else f"other {place}"
        attributes = {"title": f"T{place}", "n": place}
        nodes.append(TreeNode(f"s{place}", "Section", "d", "d", text, attributes))
    return TreeTable.from_nodes(nodes)


@pytest.fixture
def engine() -> MemoryEngine:
    clock = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    return MemoryEngine(Dataset(sections(100), scorer=Words(), clock=lambda: clock))


def test_it_is_an_engine(engine: MemoryEngine) -> None:
    assert isinstance(engine, Engine)


def test_hard_conditions_spare_the_scorer(engine: MemoryEngine) -> None:
    scorer = engine.dataset.scorer
    assert isinstance(scorer, Words)
    for query in (
        '//Section[@n < 5 and . =~ "museum"]',
        '//Section[. =~ "museum" and @n < 5]',
        '//Section[. =~ "museum"][@n < 5]',
        '//Section[@n >= 5 or . =~ "museum"]',
    ):
        scorer.asked.clear()
        engine.run(query)
        assert sum(scorer.asked) == 5, query


def test_a_phrase_is_graded_once_a_node(engine: MemoryEngine) -> None:
    scorer = engine.dataset.scorer
    assert isinstance(scorer, Words)
    engine.run('//Section[. =~ "museum"][agg_max(self::*[. =~ "museum"])]')
    assert sum(scorer.asked) == 100


def test_reasons_stand_beside_the_results(engine: MemoryEngine) -> None:
    result = engine.run('//Section[. =~ "museum" or @title =~ "T7"]', top_k=3)
    assert set(result.why) == {'. =~ "museum"', '@title =~ "T7"'}
    # The eighth title holds the phrase; its text is not about it.
    assert result.why['. =~ "museum"'].tolist() == [1.0, 0.2, 1.0]
    assert len(result) == 3


def test_top_k_and_all(engine: MemoryEngine) -> None:
    assert len(engine.run("//Section")) == 100
    assert len(engine.run("//Section", top_k=7)) == 7
    assert len(engine.run("//Section", top_k=0)) == 0


def test_plan_names_methods_estimates_and_figures(engine: MemoryEngine) -> None:
    query = '//Section[@n < 50][. =~ "museum"]/..'
    planned = engine.explain(query)
    assert planned.ms is None
    plan = engine.run(query).plan
    by_text = {step.text: step for _, step in plan.walk()}
    assert by_text["[@n < 50]"].actual == 50
    assert by_text['[. =~ "museum"]'].actual == 5
    assert by_text['[. =~ "museum"]'].operation == "grade"
    assert "exact" in by_text['[. =~ "museum"]'].method
    assert plan.scorer == "words"
    assert all(step.estimate is not None for _, step in plan.walk())
    assert plan.ms is not None
    text = str(plan)
    assert text.splitlines()[0] == f"plan of {query}"
    assert text.splitlines()[4].split() == ["part", "engine", "how", "estimated", "found", "ms"]
    (line,) = (row for row in text.splitlines() if row.lstrip().startswith('[. =~ "museum"] '))
    assert line.split()[-2] == "5"
    assert json.loads(json.dumps(plan.to_dict()))["query"] == query
    assert "descendant" in plan.rules


def test_plan_and_trace_escape_html(engine: MemoryEngine) -> None:
    result = engine.run('//Document[@title = "<b>Book</b>"]', trace=True)
    assert "<b>" not in result.plan._repr_html_()
    assert result.trace is not None
    assert "<b>" not in result.trace._repr_html_()
    assert "<b>Book</b>" in str(result.trace)


def test_what_a_document_says_does_not_reach_the_terminal_as_control_characters() -> None:
    nodes = [TreeNode("d", "Document", "d", attributes={"title": "a\x1b[31mred\u202e"})]
    engine = MemoryEngine(Dataset(TreeTable.from_nodes(nodes)))
    text = str(engine.run("//Document[1]", trace=True).trace)
    assert "Document a [31mred" in text
    assert text.replace("\n", "").isprintable()


def test_trace_lists_kept_and_dropped_with_scores(engine: MemoryEngine) -> None:
    trace = engine.run('//Section[@n < 20][. =~ "museum"]', trace=True).trace
    assert trace is not None
    reached, hard, graded = trace.steps
    assert (reached.operation, reached.kept_count) == ("step", 100)
    assert (hard.kept_count, hard.dropped_count, hard.threshold) == (20, 80, None)
    assert (graded.kept_count, graded.dropped_count, graded.threshold) == (2, 18, 0.5)
    assert [(node.id, node.score) for node in graded.kept] == [("s0", 1.0), ("s10", 1.0)]
    assert graded.dropped[0].score == 0.2
    assert "Section T0" in str(trace)
    assert trace.to_dict()[2]["kept"][0]["id"] == "s0"


def test_readers_see_the_number_of_visible_nodes_in_the_plan(engine: MemoryEngine) -> None:
    visible = np.arange(len(engine.dataset.table)) < 11
    assert engine.run("//Section", visible=visible).plan.access == (10, 101)


@pytest.mark.parametrize("mask", [np.ones(5, dtype=bool), np.ones(102, dtype=np.int8)])
def test_a_wrong_mask_is_never_guessed(engine: MemoryEngine, mask: np.ndarray) -> None:
    with pytest.raises(ValueError, match="one boolean a row"):
        engine.run("//Section", visible=mask)


class Failing(Scorer):
    """Fails in a given way."""

    def __init__(self, outcome: object) -> None:
        self.outcome = outcome

    @property
    def name(self) -> str:
        return "failing"

    def grade(self, phrase: str, targets: Targets) -> Floats:
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome  # type: ignore[return-value]


@pytest.mark.parametrize(
    "outcome",
    [RuntimeError("no network"), np.ones(3), np.full(100, np.nan), None, np.ones((100, 2))],
    ids=["raises", "too few", "not a number", "none", "a table"],
)
def test_a_scorer_that_fails_is_one_error(outcome: object) -> None:
    engine = MemoryEngine(Dataset(sections(100), scorer=Failing(outcome)))
    with pytest.raises(ScorerError):
        engine.run('//Section[. =~ "x"]')


def test_without_embeddings_and_without_a_graph() -> None:
    engine = MemoryEngine(Dataset(sections(3), has_graph=False))
    with pytest.raises(QueryCapabilityError, match="line 1, column"):
        engine.run('//Section[. =~ "x"]')
    with pytest.raises(QueryCapabilityError):
        engine.run("//Section/rel::KNOWS")
    assert len(engine.run("//Section[1]/rel::NEXT")) == 1


class Searching(Words):
    """Has an index: it says where it was asked to look."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[SearchRequest] = []

    def search(self, phrase: str, request: SearchRequest) -> tuple[list[str], Floats] | None:
        self.requests.append(request)
        return ["s10", "s20", "hidden or gone"], np.array([0.9, 0.8, 0.7])


def test_many_candidates_are_searched_and_the_plan_says_so() -> None:
    scorer = Searching()
    engine = MemoryEngine(Dataset(sections(100), scorer=scorer, exact_limit=50))
    result = engine.run('/Document//Section[. =~ "museum"]')
    assert [engine.dataset.table.ids[row] for row in result.positions] == ["s10", "s20"]
    assert result.scores.tolist() == [0.9, 0.8]
    assert scorer.asked == []
    request = scorer.requests[0]
    assert request.scope.kinds == ("Section",)
    assert request.scope.row_ranges == [(1, 102)]
    assert request.least == 0.5
    step = next(step for _, step in result.plan.walk() if step.operation == "search")
    assert step.engine == "vectors"
    assert "approximate" in step.method
    assert len(engine.run('//Section[@n < 40][. =~ "museum"]')) == 4
    assert scorer.asked == [40]


def test_negation_is_never_answered_by_a_search() -> None:
    scorer = Searching()
    engine = MemoryEngine(Dataset(sections(100), scorer=scorer, exact_limit=50))
    assert len(engine.run('//Section[not(. =~ "museum")]')) == 90
    assert scorer.requests == []


def test_parameters_are_values_not_text(engine: MemoryEngine) -> None:
    hostile = '"] | //* | //Section[@title = "'
    assert len(engine.run("//Section[@title = $t]", params={"t": hostile})) == 0
    assert len(engine.run("//Section[@n in $l]", params={"l": [1, 2, 2]})) == 2
    assert len(engine.run("//Section[$i]", params={"i": 3})) == 1
    assert len(engine.run("//Section[$yes]", params={"yes": True})) == 100
    day = {"d": dt.date(2026, 3, 1)}
    assert engine.run("today() = $d", params=day).value is True
    week = {"w": dt.timedelta(days=7)}
    assert engine.run("today() - $w", params=week).value == dt.date(2026, 2, 22)


def test_an_expression_walks_on_from_rows_of_another_engine(engine: MemoryEngine) -> None:
    rows = np.array([2, 12, 30], dtype=np.int32)
    result = engine.evaluate(parse('self::*[. =~ "museum"]'), rows, query="x")
    assert result.positions.tolist() == [2, 12]
    visible = np.arange(len(engine.dataset.table)) != 12
    result = engine.evaluate(parse('self::*[. =~ "museum"]'), rows, query="x", visible=visible)
    assert result.positions.tolist() == [2]


# -- extremes ---------------------------------------------------------------------------------


def test_an_empty_tree() -> None:
    engine = MemoryEngine(Dataset(TreeTable.from_nodes([]), scorer=Words()))
    for query in ("//*", "/", "//*[1]", '//*[. =~ "x"]', "//*[@a = 1]", "(//*)[-1]", "//*/@*"):
        assert len(engine.run(query)) == 0, query
    assert engine.run("count(//*)").value == 0
    assert engine.run("string(/)").value == ""


def test_ten_thousand_levels() -> None:
    nodes = [TreeNode("n0", "Document", "n0")]
    nodes += [
        TreeNode(f"n{level}", "a", "n0", f"n{level - 1}", "x", {"level": level})
        for level in range(1, 10_001)
    ]
    engine = MemoryEngine(Dataset(TreeTable.from_nodes(nodes)))
    assert len(engine.run("//a//a")) == 9_999
    assert len(engine.run("//a[@level = 10000]/ancestor::*")) == 10_000
    assert len(engine.run("//a[a]")) == 9_999
    assert engine.run("string-length(/*)").value == 10_000
    assert len(engine.run("//a[string-length(.) > 5000]")) == 5_000
    assert len(engine.run("//a[contains(., 'xxx')]")) == 9_998
    assert len(engine.run("//a[count(ancestor::a) >= 9990]")) == 10
    assert len(engine.run("//a[@level > 9990]/ancestor::a[1]")) == 10


def test_memory_stays_bounded() -> None:
    nodes = [TreeNode("n0", "Document", "n0")]
    # A comb: 300 levels deep with 40 leaves each, so that nested contexts overlap a lot.
    for level in range(1, 301):
        parent = "n0" if level == 1 else f"n{level - 1}"
        nodes.append(TreeNode(f"n{level}", "a", "n0", parent))
        nodes += [TreeNode(f"n{level}.{leaf}", "b", "n0", f"n{level}") for leaf in range(40)]
    order = sorted(nodes[1:], key=lambda n: (n.kind == "a", n.id))
    assert len(order) == 12_300
    table = TreeTable.from_nodes(_preorder(nodes))
    engine = MemoryEngine(Dataset(table))
    tracemalloc.start()
    assert len(engine.run("//*//*//*")) == 12_299
    assert len(engine.run("//*[.//*[.//*]]")) > 0
    assert len(engine.run("//*[count(.//b) > count(following::b)]")) > 0
    assert len(engine.run("//*[.//b[last()]]")) > 0
    assert len(engine.run("//b[preceding::b[3]]")) > 0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000_000


def _preorder(nodes: list[TreeNode]) -> list[TreeNode]:
    children: dict[str | None, list[TreeNode]] = {}
    for node in nodes:
        children.setdefault(node.parent, []).append(node)
    found, waiting = [], [nodes[0]]
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting.extend(reversed(children.get(node.id, [])))
    return found


def test_nested_to_the_limit() -> None:
    engine = MemoryEngine(Dataset(sections(3)), check_names=False)
    query = "//Section" + "[self::*" * 190 + "]" * 190
    assert len(engine.run(query)) == 3
    deep = "//Section[" + "not(" * 190 + "@n" + ")" * 190 + "]"
    assert len(engine.run(deep)) == 3


@pytest.mark.parametrize(
    ("pattern", "found"), [("^T1", 11), ("(a*)*b", 0), ("(T|T)*9$", 10), ("[", None), (r"\1", None)]
)
def test_regular_expressions_cannot_hang(
    engine: MemoryEngine, pattern: str, found: int | None
) -> None:
    began = time.perf_counter()
    query = "//Section[matches(@title, $p)]"
    if found is None:
        with pytest.raises(QueryTypeError):
            engine.run(query, params={"p": pattern})
    else:
        assert len(engine.run(query, params={"p": pattern})) == found
    assert engine.run("matches($t, '(a+)+$')", params={"t": "a" * 50_000 + "b"}).value is False
    assert time.perf_counter() - began < 30


def test_odd_numbers_and_names() -> None:
    values = [float("nan"), float("inf"), -float("inf"), -0.0, 2**53 + 1, 10**400, 1e-300, True]
    nodes = [TreeNode("d", "Document", "d")]
    nodes += [TreeNode(f"i{i}", "i", "d", "d", attributes={"v": v}) for i, v in enumerate(values)]
    nodes.append(TreeNode("w", "名-前_1", "d", "d", attributes={"a b": 1, "": 2, "<&>": 3, "é": 4}))
    engine = MemoryEngine(Dataset(TreeTable.from_nodes(nodes)))
    ids = engine.dataset.table.ids

    def run(query: str) -> list[str]:
        return [ids[row] for row in engine.run(query).positions]

    assert run("//i[@v = @v]") == ["i1", "i2", "i3", "i4", "i5", "i6", "i7"]
    assert run("//i[@v != @v]") == ["i0"]
    assert run("//i[@v > 9007199254740992]") == ["i1", "i5"]
    assert run("//i[@v = 0]") == ["i3"]
    assert engine.run("string(//i[@v = 9007199254740993][last()]/@v)").value == str(2**53 + 1)
    assert engine.run("string(//i[4]/@v)").value == "0"
    assert engine.run("string(//i[6]/@v)").value == str(10**400)
    assert run("//`名-前_1`[@`a b` = 1]") == ["w"]
    assert run("//*[@`<&>` = 3][@`e\u0301` = 4]") == ["w"]


def test_any_query_gives_a_result_or_one_of_our_errors(engine: MemoryEngine) -> None:
    pieces = ["//Section", "@n", "[1]", ". =~ 'x'", "count(", ")", " = ", "'a'", "today()", "/", "*",
              "90d", " - ", "sort(//Section, @n)", "top(1, //Section)", "group(//*, @n)", "$p", " | ",
              "//@n", "agg_avg(", "[@+1]", "[-1:]", "(", "and ", "min(", ", "]  # fmt: skip
    rng = np.random.default_rng(5)
    ran = 0
    for _ in range(1500):
        query = "".join(rng.choice(pieces, rng.integers(1, 7)))
        try:
            engine.run(query, params={"p": "x"})
            ran += 1
        except (QueryError, ScorerError):
            pass
    assert ran > 50


class Near:
    """Vectors along two axes: texts with "museum" on one, all others on the other."""

    model = "two axes"

    def __init__(self, table: TreeTable) -> None:
        self.table = table

    def text_vectors(self, texts: list[str]) -> np.ndarray:
        return np.array([[1, 0] if "museum" in t else [0, 1] for t in texts], dtype=np.float32)

    def query_vector(self, phrase: str) -> np.ndarray:
        return self.text_vectors([phrase])[0]

    def node_vectors(self, ids: list[str]) -> np.ndarray:
        rows = np.array([self.table.position(node_id) for node_id in ids], dtype=np.int32)
        return self.text_vectors(self.table.texts(rows))

    def sample(self, count: int) -> np.ndarray:
        return self.node_vectors(self.table.ids[1 : count + 1])

    def search(
        self, vector: np.ndarray, scope: Scope, limit: int, min_cosine: float
    ) -> list[tuple[str, float]]:
        hits = []
        for low, high in scope.row_ranges:
            ids = self.table.ids[low:high]
            cosines = self.node_vectors(ids) @ vector
            hits += [(i, float(c)) for i, c in zip(ids, cosines, strict=True) if c >= min_cosine]
        return sorted(hits, key=lambda hit: -hit[1])[:limit]


class Holds:
    """Keywords by plain containment."""

    def __init__(self, table: TreeTable) -> None:
        self.table = table

    def bm25(
        self, query: str, ids: list[str] | None, limit: int | None
    ) -> tuple[list[str], Floats]:
        wanted = self.table.ids[1:] if ids is None else ids
        rows = np.array([self.table.position(node_id) for node_id in wanted], dtype=np.int32)
        words = query.split()
        texts = zip(wanted, self.table.texts(rows), strict=True)
        found = [i for i, text in texts if any(word in text.split() for word in words)]
        return found[:limit], np.ones(len(found[:limit]))


@pytest.mark.parametrize("phrase", ["museum", "other 7", "museum 40"])
def test_the_default_scorer_searches_what_it_would_grade(phrase: str) -> None:
    table = sections(100)
    scorer = default_scorer(Near(table), Holds(table))
    exact = MemoryEngine(Dataset(table, scorer=scorer))
    searched = MemoryEngine(Dataset(table, scorer=scorer, exact_limit=10))
    query, params = "//Section[. =~ $p]", {"p": phrase}
    one, other = exact.run(query, params=params), searched.run(query, params=params)
    assert "approximate" in str(other.plan)
    assert len(one) > 0
    assert other.positions.tolist() == one.positions.tolist()
    assert other.scores.tolist() == pytest.approx(one.scores.tolist())
    visible = np.arange(len(table)) % 2 == 0
    hidden = searched.run(query, params=params, visible=visible)
    assert visible[hidden.positions].all()
