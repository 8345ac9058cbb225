from __future__ import annotations

import pytest

from llama_index_semxpath.retrievers.reading import QuestionReader
from llama_index_semxpath.retrievers.reading.times import find_hours
from llama_index_semxpath.tree.node import TreeNode
from llama_index_semxpath.tree.table import TreeTable
from llama_index_semxpath.xpath import parse


def build(nodes: list) -> TreeTable:
    found: list[TreeNode] = []

    def add(kind, attributes, children=(), parent=None):
        node = TreeNode(f"n{len(found)}", kind, "d", parent, "", attributes)
        found.append(node)
        for child in children:
            add(*child, parent=node.id)

    for node in nodes:
        add(*node)
    return TreeTable.from_nodes(found)


def show(name: str, starts: str, mood: str = "Loud") -> tuple:
    return ("Show", {"name": name, "starts": starts, "mood": mood})


FESTIVAL = build(
    [
        (
            "Festival",
            {},
            [
                (
                    "Day",
                    {"label": "Friday"},
                    [
                        show("Opening Brass Parade", "10:00 AM"),
                        ("Meal", {"name": "Soup kitchen", "starts": "12:30 PM"}),
                        show("Harbour Choir", "3:00 PM", "Quiet"),
                        show("Night Drums", "9:00 PM"),
                    ],
                ),
                (
                    "Day",
                    {"label": "Saturday", "note": "rain plan"},
                    [
                        show("Puppet Theatre", "11:00 AM", "Quiet"),
                        show("Lantern Walk", "8:00 PM", "Quiet"),
                    ],
                ),
                ("Day", {"label": "Sunday"}, [show("Farewell Tango", "2:00 PM")]),
            ],
        )
    ]
)


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("How many shows are there?", "//Show"),
        ("How many shows are quiet?", '//Show[@mood = "Quiet"]'),
        ("Show everything on days 1 to 2", "//Day[1:2]/*"),
        ("What happens on day 1 and day 3?", "//Day[position() = 1 or position() = 3]/*"),
        ("What is on days 1, 2 and 3?",
         "//Day[position() = 1 or position() = 2 or position() = 3]/*"),
        ("What do we see on the second to last day?", "//Day[-2]/*"),
        ("Which days have no meal?", "//Day[not(child::Meal)]"),
        ("Which days have no quiet show?", '//Day[not(child::Show[@mood = "Quiet"])]'),
        ("Which days have more than two shows?", "//Day[count(child::Show) > 2]"),
        ("Which days have at least 2 quiet shows?",
         '//Day[count(child::Show[@mood = "Quiet"]) >= 2]'),
        ("Which days have exactly one show?", "//Day[count(child::Show) = 1]"),
        ("List all shows except the ones on day 1", "//Day[not(position() = 1)]/child::Show"),
        ("days with a note", "//Day[@note]"),
        ("days without a note", "//Day[not(@note)]"),
        ("Which shows are neither loud nor quiet?",
         '//Show[not(@mood = "Loud" or @mood = "Quiet")]'),
        ("What comes right after the Harbour Choir?", '//Show[@name = "Harbour Choir"][@+1]'),
        ("What comes right after the brass parade?",
         '//Show[@name = "Opening Brass Parade"][@+1]'),
        ("Which shows come before Night Drums?",
         '//Show[following-sibling::*[@name = "Night Drums"]]'),
        ("第2天有什么安排？", "//Day[2]/*"),
        ("最后一天做什么？", "//Day[-1]/*"),
        ("每天的第一个活动", "//Day/*[1]"),
    ],
)  # fmt: skip
def test_requests_about_records(question: str, query: str) -> None:
    reading = QuestionReader(FESTIVAL).read(question)
    assert reading is not None
    assert reading.query == query
    assert reading.records
    parse(reading.query)


def run(question: str) -> list[str]:
    from llama_index_semxpath.engines.base import Dataset
    from llama_index_semxpath.engines.memory import MemoryEngine

    reading = QuestionReader(FESTIVAL).read(question)
    assert reading is not None
    found = MemoryEngine(Dataset(FESTIVAL)).run(reading.query)
    return [str(FESTIVAL.attributes(row)["name"]) for row in found.positions.tolist()]


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What is on in the morning of day 1?", ["Opening Brass Parade"]),
        ("shows after 8 PM", ["Night Drums", "Lantern Walk"]),
        ("shows before noon", ["Opening Brass Parade", "Puppet Theatre"]),
        ("第1天晚上有什么？", ["Night Drums"]),
        ("What is between Opening Brass Parade and Night Drums?", ["Harbour Choir"]),
    ],
)
def test_times_of_day_and_neighbours_decide(question: str, names: list[str]) -> None:
    assert run(question) == names


def test_a_number_of_things_is_asked_for() -> None:
    reading = QuestionReader(FESTIVAL).read("How many shows are there?")
    assert reading is not None
    assert reading.counts
    other = QuestionReader(FESTIVAL).read("Which shows are there?")
    assert other is not None
    assert not other.counts


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("after 5 PM", [(17, 24)]),
        ("before 9:30", [(0, 9)]),
        ("at noon", [(12, 13)]),
        ("before 5", []),
        ("下午", [(12, 17)]),
        ("at 31:00", []),
    ],
)
def test_hours(text: str, hours: list) -> None:
    assert [(one.first, one.end) for one in find_hours(text)] == hours
