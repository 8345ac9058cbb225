import pytest

from llama_index_semxpath.retrievers.intent import looks_like_query, quoted_words, read_intent


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("第三章第五条", "lookup"),
        ("第五条的内容", "lookup"),
        ("What does section 2.1 say?", "lookup"),
        ("What is in the install guide?", "lookup"),
        ("《员工手册》", "lookup"),
        ("金额超过100000的合同", "filter"),
        ("contracts over 100,000", "filter"),
        ("list all tables", "filter"),
        ("how do I change the oil", "procedure"),
        ("怎么换机油", "procedure"),
        ("Who does Wang report to?", "relation"),
        ("Compare plan A and plan B", "comparison"),
        ("两家公司的净利润谁更高，请比较", "comparison"),
        ("Summarize the travel policy", "summary"),
        ("总结差旅制度", "summary"),
        ("why is the sky blue", "concept"),
        ("How do I restart it according to section 3.2?", "mixed"),
    ],
)
def test_kinds(question: str, kind: str) -> None:
    intent = read_intent(question)
    assert intent.kind == kind
    assert intent.reasons
    assert any(intent.weights.values())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('//section[@title="Oil"]', True),
        ("/Plan/Day[3]/*", True),
        ("(//Row)[1]", True),
        ("count(//Section)", True),
        ('top(3, //Paragraph[. =~ "leave days"])', True),
        ('//Task[@status = "Todo" and @n > 3]', True),
        ("how do I change the oil", False),
        ("/etc or not?", False),
        ("", False),
        ("count the sections", False),
    ],
)
def test_queries_are_told_from_sentences(text: str, expected: bool) -> None:
    assert looks_like_query(text) is expected


def test_a_query_asks_structure_only() -> None:
    assert read_intent("//Section").routes == ["structured"]


def test_names_of_the_schema_make_a_filter() -> None:
    assert read_intent("budget of the Berlin office", ["budget"]).kind == "filter"
    assert read_intent("预算多的部门", ["预算"]).kind == "filter"


def test_quotes_of_every_kind() -> None:
    assert quoted_words("《甲》“乙”「丙」\"d d\" `e` it's 'f g'") == (
        "甲",
        "乙",
        "丙",
        "d d",
        "e",
        "f g",
    )
