"""Facts without a model: attributes from key: value lines, relations proposed."""

import datetime as dt

from llama_index_semxpath.node_parser import parse_bytes
from llama_index_semxpath.node_parser.blocks import Block, Parsed
from llama_index_semxpath.node_parser.facts import add_facts, propose_relations


def facts(text, kind="Paragraph"):
    parsed = Parsed([Block(kind, text)])
    add_facts(parsed)
    return parsed.blocks[0].attributes


def test_pairs_are_typed():
    assert facts("Product: Kestrel\nVersion no: 4.2\nReleased: 2024-10-08") == {
        "Product": "Kestrel",
        "Version no": 4.2,
        "Released": dt.date(2024, 10, 8),
    }


def test_several_pairs_on_a_line_and_full_width_colons():
    assert facts("姓名：李雷    部门：研发部\n工号：007") == {
        "姓名": "李雷",
        "部门": "研发部",
        "工号": "007",
    }


def test_prose_with_colons_gives_nothing():
    assert facts("Note: this is one line only.") == {}
    assert facts("He said: no.\nThen he left the room and closed the door.") == {}
    assert facts("See http://a.example\nSee http://b.example") == {}


def test_names_of_the_tree_itself_are_not_overwritten():
    assert facts("Level: 3\nColour: red") == {"Colour": "red"}


def test_pairs_before_the_first_heading_are_the_documents():
    parsed = Parsed(
        [
            Block("Paragraph", "Author: Li\nTeam: A"),
            Block("Heading", "One", level=1),
            Block("Paragraph", "Inner: 1\nOther: 2"),
        ]
    )
    add_facts(parsed)
    assert parsed.attributes == {"Author": "Li", "Team": "A"}
    assert parsed.blocks[2].attributes == {"Inner": 1, "Other": 2}


def test_items_of_a_list_of_pairs():
    items = [Block("ListItem", "Name: Ann"), Block("ListItem", "Age: 30")]
    parsed = Parsed([Block("List", children=items)])
    add_facts(parsed)
    assert [item.attributes for item in items] == [{"Name": "Ann"}, {"Age": 30}]


LAW = """第一章 总则

第一条 本法自2031年起施行。

第二条 依照第一条和《水法》第三条的规定执行。

第三条 本办法代替原《河道管理办法》，参照《防洪法》。
"""


def test_relations_are_proposed_inside_a_document_and_by_name():
    nodes = parse_bytes(LAW, "law.txt")
    by_id = {node.id: node for node in nodes}
    found = [
        (fact.relation, by_id[fact.target].number if fact.target else fact.name, fact.status)
        for fact in propose_relations(nodes)
    ]
    assert found == [
        ("REFERS_TO", "第一条", "proposed"),
        ("REFERS_TO", "水法", "proposed"),
        ("REVISES", "河道管理办法", "proposed"),
        ("REFERS_TO", "防洪法", "proposed"),
    ]


def test_english_references():
    text = (
        "1 Scope\n\nThis supersedes the Pump Manual of 2020. See section 2.\n\n2 Parts\n\nBolts.\n"
    )
    nodes = parse_bytes(text, "m.txt")
    found = {(fact.relation, fact.name) for fact in propose_relations(nodes)}
    assert ("REVISES", "Pump Manual of 2020") in found
    assert ("REFERS_TO", "section 2") in found
