import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llama_index_semxpath.retrievers.reading import QuestionReader
from llama_index_semxpath.retrievers.reading.bounds import find_bounds
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.table import TreeTable
from llama_index_semxpath.xpath import parse


class Tree:
    """Builds small trees: nested tuples of kind, attributes and children."""

    def __init__(self) -> None:
        self.nodes: list[TreeNode] = []

    def add(self, kind, attributes=None, children=(), parent=None, text=""):
        node = TreeNode(f"n{len(self.nodes)}", kind, "d", parent, text, attributes or {})
        self.nodes.append(node)
        for child in children:
            self.add(*child, parent=node.id)
        return self


PROJECTS = TreeTable.from_nodes(
    Tree()
    .add(
        "Board",
        {},
        [
            (
                "Area",
                {"name": "Garden"},
                [
                    (
                        "Job",
                        {"name": "Fence repair", "state": "Active"},
                        [
                            ("Step", {"name": "Buy timber", "status": "Done", "priority": "High"}),
                            ("Step", {"name": "Paint posts", "status": "Todo", "priority": "Low"}),
                        ],
                    )
                ],
            ),
            (
                "Area",
                {"name": "Kitchen"},
                [
                    (
                        "Job",
                        {"name": "New oven", "state": "Paused"},
                        [("Step", {"name": "Measure gap", "status": "Todo", "priority": "High"})],
                    )
                ],
            ),
        ],
    )
    .nodes
)

CONTRACTS = TreeTable.from_nodes(
    Tree()
    .add(
        "档案",
        {},
        [
            (
                "合同",
                {"名称": "租赁", "部门": "财务部", "金额": 250000, "生效日期": dt.date(2025, 3, 1)},
            ),
            (
                "合同",
                {"名称": "采购", "部门": "研发部", "金额": 80000, "生效日期": dt.date(2023, 6, 1)},
            ),
        ],
    )
    .nodes
)

HANDBOOK = TreeTable.from_nodes(
    Tree()
    .add(
        "Document",
        {"title": "员工手册"},
        [
            (
                "Section",
                {"title": "第三章 假期", "number": "第三章", "n": 3},
                [
                    (
                        "Section",
                        {"title": "第五条 年假", "number": "第五条", "n": 5},
                        [("Paragraph",)],
                    ),
                    ("Section", {"title": "第六条 病假", "number": "第六条", "n": 6}, [("Table",)]),
                ],
            ),
            (
                "Section",
                {"title": "第四章 薪酬", "number": "第四章", "n": 4},
                [
                    (
                        "Section",
                        {"title": "第五条 奖金", "number": "第五条", "n": 5},
                        [("Paragraph",)],
                    )
                ],
            ),
            ("Section", {"title": "2.1 Install guide", "number": "2.1", "n": 1}, [("Code",)]),
        ],
    )
    .nodes
)


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("Which steps are not done yet?", '//Step[not(@status = "Done")]'),
        ("List every step in the Garden area.", '//Area[@name = "Garden"]//Step'),
        ("Which jobs have a step with low priority?", '//Job[child::Step[@priority = "Low"]]'),
        (
            "In which jobs is every step high priority?",
            '//Job[child::Step][not(child::Step[not(@priority = "High")])]',
        ),
        ("Which jobs that are not paused have a todo step?",
         '//Job[not(@state = "Paused")][child::Step[@status = "Todo"]]'),
        ("What is the first step of every job?", "//Job/child::Step[1]"),
        ("What is the last step of the first job in the second area?",
         "//Area[2]/child::Job[1]/child::Step[-1]"),
        ("Show everything except the first item of each job.", "//Job/*[2:]"),
        ("What comes right after Buy timber?", '//Step[@name = "Buy timber"][@+1]'),
        ("What are the first 2 steps?", "(//Step)[:2]"),
    ],
)  # fmt: skip
def test_requests_about_records(question: str, query: str) -> None:
    reading = QuestionReader(PROJECTS).read(question)
    assert reading is not None
    assert reading.query == query
    parse(reading.query)


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("财务部2024年之后生效的合同", '//合同[@部门 = "财务部"][@生效日期 > "2024-12-31"]'),
        ("金额超过10万的合同", "//合同[@金额 > 100000]"),
        ("第二个合同", "//合同[2]"),
        ("最后一个合同", "//合同[-1]"),
    ],
)
def test_requests_in_chinese(question: str, query: str) -> None:
    reading = QuestionReader(CONTRACTS).read(question)
    assert reading is not None
    assert reading.query == query


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("第三章第五条", '//Section[@number = "第三章"]//Section[@number = "第五条"]'),
        ("article 5 of chapter 3", '//Section[@number = "第三章"]//Section[@number = "第五条"]'),
        ("What does section 2.1 say?", '//Section[@number = "2.1"]'),
        ("the install guide", '//Section[@title = "2.1 Install guide"]'),
        ("第六条里的表格", '//Section[@number = "第六条"]//Table'),
        ("《员工手册》第四章", '//Document[@title = "员工手册"]//Section[@number = "第四章"]'),
    ],
)
def test_places(question: str, query: str) -> None:
    reading = QuestionReader(HANDBOOK).read(question)
    assert reading is not None
    assert reading.places
    assert reading.query == query


@pytest.mark.parametrize(
    "question", ["第九章", "section 7.7", "how do I change the oil", "", "!!!"]
)
def test_questions_that_name_nothing_give_no_query(question: str) -> None:
    assert QuestionReader(HANDBOOK).read(question) is None


def test_words_of_a_question_become_literals_only() -> None:
    reading = QuestionReader(PROJECTS).read('Find the step about "] | //Secret[".')
    assert reading is not None
    assert reading.query == '//Step[. =~ "Secret"]'


@given(st.text(max_size=120))
def test_any_question_is_read_without_an_error(question: str) -> None:
    for table in (PROJECTS, CONTRACTS, HANDBOOK):
        reading = QuestionReader(table).read(question)
        if reading is not None:
            parse(reading.query)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("over 100,000", [(">", 100000)]),
        ("at least 3 million", [(">=", 3000000)]),
        ("不超过5万元", [("<=", 50000)]),
        ("三年以上", []),
        ("10天以上", [(">=", 10)]),
        ("since March 2026", [(">=", dt.date(2026, 3, 1))]),
        ("before 2024-02-30", []),
        ("2024年3月之前", [("<", dt.date(2024, 3, 1))]),
        ("version 2024", []),
    ],
)
def test_bounds(text: str, expected: list) -> None:
    assert [(bound.op, bound.value) for bound in find_bounds(text)] == expected
