import pytest
from hypothesis import given
from hypothesis import strategies as st

from llama_index_semxpath.query_engine.answer import Passage, extract_answer, not_found

LEAVE = Passage(0, "Staff get 15 days of annual leave. The office is in Berlin.", path=("Leave",))
SICK = Passage(1, "Sick leave needs a note after three days.", path=("Leave", "Sick"))
ROW = Passage(
    2,
    "Senior | 15 | 5",
    "Row",
    ("Leave",),
    columns=("Level", "Days", "Carry"),
    cells=("Senior", "15", "5"),
)


def test_the_best_sentence_is_quoted_with_its_citation() -> None:
    extract = extract_answer("How many days of annual leave do staff get?", [SICK, LEAVE])
    assert extract.text == "Staff get 15 days of annual leave. [1]"
    assert extract.cited == {1: 0}
    assert extract.found


def test_rows_come_as_a_table() -> None:
    extract = extract_answer("How many days does a senior get?", [ROW])
    assert extract.text.splitlines()[:3] == [
        "| Level | Days | Carry |",
        "| --- | --- | --- |",
        "| Senior | 15 | 5 |",
    ]
    assert extract.text.endswith("[1]")


def test_code_keeps_its_lines() -> None:
    code = Passage(0, "backup --all\nverify", "Code", ("Backup",))
    extract = extract_answer("backup", [code])
    assert "```\nbackup --all\nverify\n```\n[1]" in extract.text


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Who is the king of France?", "This is not in the documents."),
        ("法国国王是谁？", "文档中没有找到相关内容。"),
    ],
)
def test_missing_evidence_is_said_in_the_language_of_the_question(question: str, said: str) -> None:
    extract = extract_answer(question, [LEAVE, SICK])
    assert (extract.text, extract.found, extract.cited) == (said, False, {})
    assert not_found(question) == said


def test_a_place_named_exactly_needs_no_shared_word() -> None:
    exact = Passage(0, "员工每年享有年假。连续工作满一年。", exact=True)
    extract = extract_answer("第三章第五条", [exact])
    assert extract.text == "员工每年享有年假。连续工作满一年。 [1]"
    assert extract.confidence == 1.0


def test_chinese_numbers_are_preferred_where_a_number_is_asked() -> None:
    passages = [Passage(0, "年假由员工申请。高级员工的年假为15天。", path=("假期",))]
    assert "15天" in extract_answer("高级员工的年假有多少天？", passages).text


def level(name: str, days: str, source: int = 0) -> Passage:
    return Passage(
        source, f"{name} | {days}", "Row", ("Leave",), columns=("Level", "Days"), cells=(name, days)
    )


def test_a_comparison_shows_the_rows_that_are_compared() -> None:
    rows = [level("Junior", "10"), level("Middle", "12"), level("Senior", "15"), LEAVE]
    extract = extract_answer(
        "Compare the days of leave of junior and senior level", rows, comparison=True, limit=8
    )
    table = [line for line in extract.text.splitlines() if line.startswith("|")]
    assert table == ["| Level | Days |", "| --- | --- |", "| Junior | 10 |", "| Senior | 15 |"]


def test_words_that_ask_for_a_comparison_need_not_be_found() -> None:
    rows = [level("Junior", "10"), level("Senior", "15")]
    assert extract_answer("Compare junior and senior", rows, comparison=True).found
    assert not extract_answer("Compare apples and pears", rows, comparison=True).found


def test_a_comparison_of_places_is_a_small_table() -> None:
    passages = [
        Passage(0, "The old rule pays 500 for a hotel.", path=("Rules 2022", "Hotel")),
        Passage(1, "The new rule pays 650 for a hotel.", path=("Rules 2024", "Hotel")),
    ]
    extract = extract_answer(
        "Compare the old rule and the new rule for a hotel", passages, comparison=True
    )
    assert extract.text.splitlines() == [
        "| Place | What it says |",
        "| --- | --- |",
        "| Rules 2022 › Hotel | The old rule pays 500 for a hotel. [1] |",
        "| Rules 2024 › Hotel | The new rule pays 650 for a hotel. [2] |",
    ]
    assert extract.cited == {1: 0, 2: 1}


@given(
    st.text(max_size=60),
    st.lists(st.builds(Passage, st.integers(0, 2), st.text(max_size=80)), max_size=4),
)
def test_any_question_and_text_give_citations_that_exist(
    question: str, passages: list[Passage]
) -> None:
    extract = extract_answer(question, passages)
    sources = {passage.source for passage in passages}
    assert set(extract.cited.values()) <= sources
    assert 0.0 <= extract.confidence <= 1.0
    assert extract.text
