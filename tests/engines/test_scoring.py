"""The default scorer with the packaged model: what passes, what does not, in both languages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llama_index_semxpath.engines.base import Scope, Targets, Vectors
from llama_index_semxpath.engines.calibration import Background
from llama_index_semxpath.engines.lexical import content_words, coverage
from llama_index_semxpath.engines.scoring import EmbeddingScorer, KeywordScorer, default_scorer
from llama_index_semxpath.errors import ScorerError
from llama_index_semxpath.index.embedding import PackagedEmbedder
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.table import TreeTable


class MemoryVectors:
    """Vectors of a small tree by the packaged model, made when asked for."""

    model = "packaged"

    def __init__(self, table: TreeTable) -> None:
        self.table = table
        self.embedder = PackagedEmbedder()

    def query_vector(self, phrase: str) -> Vectors:
        return self.embedder.embed_query(phrase)

    def text_vectors(self, texts: Sequence[str]) -> Vectors:
        return self.embedder.embed_texts(list(texts))

    def node_vectors(self, ids: Sequence[str]) -> Vectors:
        rows = np.array([self.table.position(id_) for id_ in ids], np.int32)
        return self.text_vectors(Targets(self.table, rows).texts())

    def sample(self, count: int) -> Vectors:
        return self.node_vectors(self.table.ids[1 : count + 1])

    def search(
        self, vector: Vectors, scope: Scope, limit: int, min_cosine: float
    ) -> list[tuple[str, float]]:
        return []


def passing(nodes: list[TreeNode], phrase: str, kind: str, field: str | None = None) -> list[str]:
    table = TreeTable.from_nodes([TreeNode("root", "Document", "root"), *nodes])
    scorer = default_scorer(MemoryVectors(table))
    targets = Targets(table, table.rows_of(kind), field)
    grades = scorer.grade(phrase, targets)
    assert ((grades >= 0) & (grades <= 1)).all()
    return [id_ for id_, grade in zip(targets.ids, grades, strict=True) if grade >= 0.5]


def paragraph(id_: str, text: str) -> TreeNode:
    return TreeNode(id_, "Paragraph", "root", "root", text)


def section(id_: str, title: str, number: str) -> TreeNode:
    return TreeNode(id_, "Section", "root", "root", title, {"title": title, "number": number})


def record(id_: str, **values: str) -> TreeNode:
    return TreeNode(id_, "Activity", "root", "root", "", dict(values))


@pytest.mark.parametrize("phrase", ["annual leave", "年假"])
def test_a_paragraph_passes_in_a_corpus_of_a_few_whatever_the_language(phrase: str) -> None:
    nodes = [
        paragraph("leave", "员工每年享有五天年假。"),
        paragraph("oil", "Change the oil every year."),
        paragraph("filter", "The filter costs 12 credits."),
    ]
    assert passing(nodes, phrase, "Paragraph") == ["leave"]


def test_a_title_is_graded_without_its_number() -> None:
    nodes = [
        section("a", "第五条 年假", "第五条"),
        section("b", "第六条 付款", "第六条"),
        section("c", "3.2 Troubleshooting", "3.2"),
    ]
    assert passing(nodes, "annual leave", "Section", "title") == ["a"]


def test_one_value_of_a_record_is_enough_and_a_common_value_is_not() -> None:
    nodes = [
        record("a", name="Royal Ontario", notes="Indoor museum; dinosaur bones", by="Walk"),
        record("b", name="Harbour front", notes="Lake views; fresh air", by="Walk"),
        record("c", name="Client meeting", notes="Budget for next year; coffee", by="Walk"),
        record("d", name="Team workshop", notes="Long session in a hotel", by="Walk"),
    ]
    assert passing(nodes, "museum", "Activity") == ["a"]
    table = TreeTable.from_nodes([TreeNode("root", "Document", "root"), *nodes])
    meaning = EmbeddingScorer(MemoryVectors(table))
    assert (meaning.grade("walking", Targets(table, table.rows_of("Activity"))) < 0.5).all()


def test_words_count_within_a_sentence_and_by_stem() -> None:
    nodes = [
        paragraph("together", "All museums with boats are open."),
        paragraph("apart", "The boat leaves at nine. There is a museum behind the church."),
    ]
    table = TreeTable.from_nodes([TreeNode("root", "Document", "root"), *nodes])
    grades = KeywordScorer().grade("boat museum", Targets(table, table.rows_of("Paragraph")))
    assert grades[0] == pytest.approx(0.9)
    assert grades[1] == pytest.approx(0.9 / 8)


@given(
    st.floats(-0.5, 0.9),
    st.floats(-0.5, 0.9),
    st.one_of(st.none(), st.floats(0.001, 0.5)),
    st.floats(-1, 1),
    st.floats(-1, 1),
)
def test_scores_rise_with_the_cosine(
    typical: float, median: float, spread: float | None, a: float, b: float
) -> None:
    background = Background(typical, median, spread)
    low, high = background.scores(np.array(sorted([a, b])))
    assert 0 <= low <= high <= 1


@given(st.floats(-0.2, 0.6), st.floats(0.01, 0.3), st.floats(0.05, 0.95))
def test_the_least_cosine_is_the_border(typical: float, spread: float, score: float) -> None:
    background = Background(typical, typical, spread)
    least = background.least_cosine(score)
    above, below = background.scores(np.array([least + 1e-6, least - 1e-6]))
    assert below <= score <= above


def test_a_model_that_fails_is_one_error() -> None:
    class Broken(MemoryVectors):
        def node_vectors(self, ids: Sequence[str]) -> Vectors:
            raise OSError("model file is gone")

    table = TreeTable.from_nodes([TreeNode("root", "Document", "root", text="x")])
    scorer = EmbeddingScorer(Broken(table))
    with pytest.raises(ScorerError, match="model file is gone"):
        scorer.grade("x", Targets(table, table.all_rows))


def words_grade(text: str, phrase: str, **values: str) -> float:
    """What the words alone give a record of one text, or a paragraph."""
    node = record("a", text=text, **values) if values else paragraph("a", text)
    table = TreeTable.from_nodes([TreeNode("root", "Document", "root"), node])
    grade = KeywordScorer().grade(phrase, Targets(table, table.rows_of(node.kind)))
    return float(grade[0])


@pytest.mark.parametrize(
    ("text", "phrase", "holds"),
    [
        ("Two boats for rent.", "boat", True),
        ("The city has a library.", "cities", True),
        ("Artisan shops line the street.", "shopping", False),
        ("A park by the river.", "parking", False),
        ("How to restore files after a crash.", "restoring a file", True),
        ("员工病假期间的工资照发。", "病假工资", True),
    ],
)
def test_a_plural_is_the_same_word_and_a_derived_word_a_weaker_hint(
    text: str, phrase: str, holds: bool
) -> None:
    assert (words_grade(text, phrase) >= 0.5) is holds


def test_the_name_of_a_record_stands_in_each_of_its_sentences() -> None:
    text = "Built in 1950. Ferries leave every hour."
    assert words_grade(text, "harbour ferry", name="Old Harbour") >= 0.8
    assert words_grade(text, "harbour ferry", name="Old Tower") < 0.5
    # Words that are strewn over sentences say nothing together.
    assert words_grade(text, "1950 ferry", name="Old Harbour") < 0.5


@pytest.mark.parametrize(
    ("word", "text"),
    [("try", "They tried."), ("trying", "Have a try."), ("use", "By using it."), ("fly", "Flies.")],
)
def test_a_text_is_looked_at_for_every_form_of_a_word(word: str, text: str) -> None:
    assert coverage(text, content_words(word)) > 0
