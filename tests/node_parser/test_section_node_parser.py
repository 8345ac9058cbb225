"""``SectionNodeParser`` as LlamaIndex users meet it."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from llama_index.core import Document
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import ImageNode, MetadataMode, NodeRelationship, ObjectType, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore

from llama_index_semxpath.node_parser import (
    ParseOptions,
    SectionNodeParser,
    from_llama,
    parse_bytes,
    to_llama,
)
from llama_index_semxpath.node_parser.tokens import token_counter

CASES = Path(__file__).parents[1] / "cases" / "parser"
PARENT, CHILD = NodeRelationship.PARENT, NodeRelationship.CHILD
PREVIOUS, NEXT = NodeRelationship.PREVIOUS, NodeRelationship.NEXT
SOURCE = NodeRelationship.SOURCE


def read(name: str, file: str = "input.md") -> str:
    return (next(CASES.glob(f"{name}-*")) / file).read_text(encoding="utf-8")


def parse(text: str, doc_id: str = "doc", **options):
    parser = SectionNodeParser.from_defaults(**options)
    return parser.get_nodes_from_documents([Document(text=text, id_=doc_id)])


def embedded_tokens(node) -> int:
    return token_counter(ParseOptions())(node.get_content(MetadataMode.EMBED))


class TestTables:
    """Case 19: a table whose rows are each a node."""

    nodes = parse(read("19"), max_tokens=160)
    rows = tuple(node for node in nodes if node.metadata["kind"] == "Row")

    def test_every_row_is_in_one_node_and_knows_its_columns(self):
        assert len(self.rows) == 60
        for number, row in enumerate(self.rows, 1):
            assert row.get_content().startswith(f"Lot no: {number:03}; Lot: ")
            for column in ("Lot no", "Lot", "Place", "Quantity"):
                assert f"{column}: " in row.get_content()
                assert column in row.metadata

    def test_values_are_bound_to_columns(self):
        row = next(row for row in self.rows if row.metadata["Lot no"] == "037")
        assert row.metadata["Quantity"] == 1337

    def test_path_and_caption(self):
        assert all(r.metadata["path"] == ["Timber stock", "Count of 1 June"] for r in self.rows)
        caption = "Table 4. Lots on hand"
        assert [n.metadata["kind"] for n in self.nodes if caption in n.get_content()] == [
            "Paragraph"
        ]
        table = next(node for node in self.nodes if node.metadata["kind"] == "Table")
        assert table.metadata["caption"] == caption

    def test_no_node_is_over_the_limit(self):
        assert max(map(embedded_tokens, self.nodes)) <= 160


class TestLongSection:
    """Case 25: a section of 900 sentences."""

    nodes = parse(read("25"), max_tokens=256)
    chunks = [n for n in nodes if n.metadata["path"][-1] == "Valve readings"][1:]

    def test_the_limit_holds_with_the_embedded_metadata(self):
        assert len(self.chunks) > 10
        assert max(map(embedded_tokens, self.nodes)) <= 256

    def test_every_sentence_once_and_whole(self):
        found = Counter(re.findall(r"Entry \d+\.", " ".join(n.get_content() for n in self.chunks)))
        assert found == Counter(f"Entry {number}." for number in range(1, 901))
        assert all(chunk.get_content().endswith("sheet.") for chunk in self.chunks)

    def test_one_parent_and_order(self):
        assert len({chunk.relationships[PARENT].node_id for chunk in self.chunks}) == 1
        assert [chunk.metadata["part"] for chunk in self.chunks] == list(
            range(1, len(self.chunks) + 1)
        )
        for before, after in zip(self.chunks, self.chunks[1:], strict=False):
            assert before.relationships[NEXT].node_id == after.node_id

    def test_the_next_section_is_its_own(self):
        assert self.nodes[-1].metadata["path"] == ["Station log", "Sign-off"]


class TestRelations:
    """Case 49: parents, children, neighbours, document borders."""

    documents = [  # noqa: RUF012
        Document(text=read("49", name), id_=name, metadata={"file_name": name})
        for name in ("one.md", "two.md")
    ]
    nodes = SectionNodeParser().get_nodes_from_documents(documents)
    by_id = {node.node_id: node for node in nodes}  # noqa: RUF012

    def section(self, title: str) -> TextNode:
        return next(n for n in self.nodes if n.metadata.get("title") == title)

    def test_source_is_the_own_document(self):
        for node in self.nodes:
            assert node.ref_doc_id == node.metadata["doc"]
            assert node.relationships[SOURCE].node_type == ObjectType.DOCUMENT

    def test_parent_and_children_in_order(self):
        engine = self.section("Engine")
        assert self.section("Oil").relationships[PARENT].node_id == engine.node_id
        children = [self.by_id[info.node_id] for info in engine.relationships[CHILD]]
        assert [child.text for child in children] == ["Four strokes.", "Oil", "Belt"]

    def test_relations_are_mutual_and_stay_in_the_document(self):
        for node in self.nodes:
            for forth, back in ((PREVIOUS, NEXT), (NEXT, PREVIOUS)):
                if forth in node.relationships:
                    other = self.by_id[node.relationships[forth].node_id]
                    assert other.relationships[back].node_id == node.node_id
                    assert other.ref_doc_id == node.ref_doc_id
            for info in node.relationships.get(CHILD, []):
                assert self.by_id[info.node_id].relationships[PARENT].node_id == node.node_id
            if PARENT in node.relationships:
                parent = self.by_id[node.relationships[PARENT].node_id]
                assert node.node_id in [i.node_id for i in parent.relationships[CHILD]]

    def test_ids_of_relations_are_in_the_docstore(self):
        store = SimpleDocumentStore()
        nodes = IngestionPipeline(transformations=[SectionNodeParser()]).run(
            documents=self.documents
        )
        store.add_documents(nodes)
        assert [node.node_id for node in nodes] == list(self.by_id)
        for node in nodes:
            for name, related in node.relationships.items():
                for info in related if isinstance(related, list) else [related]:
                    assert name == SOURCE or store.document_exists(info.node_id)


def test_ids_are_the_same_in_every_run_and_differ_between_documents():
    first, second = parse("# A\n\nb", "one"), parse("# A\n\nb", "one")
    assert [node.node_id for node in first] == [node.node_id for node in second]
    assert first[1].node_id != parse("# A\n\nb", "two")[1].node_id


def test_embedded_text_has_the_path_once_and_stored_text_not():
    node = parse("# Support\n\n## 24/7 hotline\n\nCall any hour.")[-1]
    assert node.get_content() == "Call any hour."
    assert node.get_content(MetadataMode.EMBED) == "Support > 24/7 hotline\n\nCall any hour."
    assert node.get_content(MetadataMode.LLM) == "Support > 24/7 hotline\n\nCall any hour."


def test_a_path_longer_than_the_limit_does_not_fail():
    text = "\n\n".join(f"{'#' * level} {'word ' * 60}{level}" for level in range(1, 7))
    nodes = parse(f"{text}\n\n{'Short sentence. ' * 200}", max_tokens=64)
    leaves = [node for node in nodes if node.metadata["kind"] == "Paragraph"]
    assert len(leaves) > 5
    assert max(map(embedded_tokens, leaves)) <= 64
    assert len(leaves[0].metadata["path"]) == 6


def test_metadata_of_the_document_is_kept_counted_and_excluded_as_asked():
    document = Document(
        text="# A\n\n" + "One more sentence. " * 200,
        metadata={"team": "pumps", "file_path": "/srv/a.md"},
        excluded_embed_metadata_keys=["file_path"],
    )
    nodes = SectionNodeParser(max_tokens=64).get_nodes_from_documents([document])
    content = nodes[1].get_content(MetadataMode.EMBED)
    assert content.startswith("team: pumps\n")
    assert "/srv" not in content
    assert nodes[1].metadata["file_path"] == "/srv/a.md"
    assert max(map(embedded_tokens, nodes)) <= 64


def test_metadata_larger_than_the_limit_is_not_embedded():
    document = Document(text="# A\n\nb", metadata={"note": "word " * 500})
    nodes = SectionNodeParser(max_tokens=64).get_nodes_from_documents([document])
    assert nodes[1].get_content(MetadataMode.EMBED) == "A\n\nb"
    assert nodes[1].metadata["note"] == "word " * 500


def test_a_user_key_never_hides_an_attribute():
    table = "|kind|path|note|\n|-|-|-|\n|oak|north|3|\n"
    document = Document(text=table, id_="d", metadata={"note": "mine", "file_name": "a.md"})
    row = SectionNodeParser().get_nodes_from_documents([document])[-1]
    assert (row.metadata["kind"], row.metadata["@kind"]) == ("Row", "oak")
    assert (row.metadata["note"], row.metadata["@note"]) == ("mine", 3)
    assert from_llama([row])[0].attributes == {"kind": "oak", "path": "north", "note": 3}


def test_nodes_come_back_as_the_same_tree():
    text = (
        read("19")
        + "\n- a\n  - b\n\n![boat](b.png)\n\n```py\nx = 1\n```\n\n|d|\n|-|\n|2026-03-01|\n"
    )
    tree = parse_bytes(text, "a.md", doc_id="doc")
    for flat in (False, True):
        assert from_llama(to_llama(tree, include_root=True, flat=flat)) == tree
    assert from_llama(parse(text)) == tree[1:]


def test_figures_are_image_nodes():
    picture, linked = parse("![boats on the lake](img/boats.png)\n\n![chart](https://e.org/c.png)")
    assert isinstance(picture, ImageNode)
    assert (picture.text, picture.image_path) == ("boats on the lake", "img/boats.png")
    assert linked.image_url == "https://e.org/c.png"


def test_flat_metadata_holds_scalars_only():
    nodes = parse("# A\n\n[b](c)", flat_metadata=True)
    assert json.loads(nodes[1].metadata["path"]) == ["A"]
    scalars = (str, int, float, bool, type(None))
    assert all(isinstance(value, scalars) for n in nodes for value in n.metadata.values())


@pytest.mark.parametrize(
    ("text", "metadata", "kinds"),
    [
        ("<h1>A</h1><p>b</p>", {}, ["Section", "Paragraph"]),
        ("# A\n\nb", {}, ["Section", "Paragraph"]),
        ("# A\n\nb", {"file_type": "text/markdown"}, ["Section", "Paragraph"]),
        ("<h1>A</h1><p>b</p>", {"file_name": "x.html"}, ["Section", "Paragraph"]),
        ("# no heading <b>", {"file_name": "x.html"}, ["Paragraph"]),
        ("# A\n\nb", {"file_name": "x.docx"}, ["Section", "Paragraph"]),
        ("   \n", {}, []),
    ],
)
def test_the_format_is_told_from_metadata_and_text(text, metadata, kinds):
    nodes = SectionNodeParser().get_nodes_from_documents([Document(text=text, metadata=metadata)])
    assert [node.metadata["kind"] for node in nodes] == kinds


def test_the_parser_serialises():
    data = SectionNodeParser.from_defaults(max_tokens=99, format="html").to_dict()
    assert data["class_name"] == "SectionNodeParser"
    again = SectionNodeParser.from_dict(data)
    assert (again.max_tokens, again.format) == (99, "html")


async def test_inside_a_running_event_loop():
    parser = SectionNodeParser()
    documents = [Document(text=f"# A{number}\n\nb", id_=str(number)) for number in range(3)]
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    ticking = asyncio.create_task(tick())
    nodes = await parser.aget_nodes_from_documents(documents, show_progress=True)
    ticking.cancel()
    assert ticks > 0
    assert [n.node_id for n in nodes] == [n.node_id for n in parser(documents)]
    piped = await IngestionPipeline(transformations=[parser]).arun(documents=documents)
    assert [n.node_id for n in piped] == [n.node_id for n in nodes]
