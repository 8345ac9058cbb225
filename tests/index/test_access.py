"""Access labels: nothing outside a principal's view appears anywhere, or is counted."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from store_fixtures import HashEmbedder, catalog_only, document

from llama_index_semxpath import SemXPathIndex
from llama_index_semxpath.errors import AccessError
from llama_index_semxpath.index.docstore import CatalogDocumentStore
from llama_index_semxpath.index.llama import vector_index
from llama_index_semxpath.index.rows import EntitySource
from llama_index_semxpath.tree.edges import Edge
from llama_index_semxpath.tree.node import TreeNode

CASE = (
    Path(__file__).parent.parent / "cases/permissions/57-permission-expansion-and-graph/case.json"
)


@pytest.fixture
def index(tmp_path):
    made = SemXPathIndex(catalog_only(tmp_path), embed_model=HashEmbedder())
    yield made
    made.close()


@pytest.fixture
def board(index):
    """The tree of case 57, in a document that nobody is named for."""
    data = json.loads(CASE.read_text())["data"]
    nodes = [TreeNode("doc", "Document", "doc", attributes={"title": "Minutes"}, level=0)]
    for given in data["nodes"]:
        title = given["title"]
        nodes.append(
            TreeNode(
                given["id"],
                "section",
                "doc",
                given.get("parent", "doc"),
                given.get("text", title),
                {"title": title},
                labels=frozenset(given["acl"]),
            )
        )
    index.insert_tree(nodes)
    index.add_entities([EntitySource("budget", "doc", "Topic", "budget")], "doc")
    index.add_relations([Edge(*edge) for edge in data["edges"]], "doc")
    return index


KIM = ["staff"]


def test_case_57(board):
    def ask(query: str, who=KIM):
        return board.query(query, principal=who)

    assert ask("//section").ids == ["c1"]
    assert ask("count(//section)").value == 1
    assert ask('//section[@title="Agenda"]/..').ids == []
    assert ask('//section[@title="Agenda"]/following-sibling::*').ids == []
    assert ask('/Topic[name="budget"]/rel::MENTIONED_IN').ids == ["c1"]
    assert ask("//section/rel::NEXT").ids == [] if "NEXT" in ask_relations(board) else True
    hit = board.semantic_search("salaries", principal=KIM)
    assert {match.id for match in hit} <= {"c1"}
    (match,) = board.nodes(["c1"], KIM)
    shown = json.dumps([match.to_dict(), board.schema(KIM).to_prompt()])
    for secret in ("Board", "Salaries", "90 credits", '"p"', '"c2"'):
        assert secret not in shown
    assert match.to_dict()["parent"] is None
    assert board.subtree("p", KIM) == []
    assert board.keyword_search("salaries head earns", principal=KIM) == []


def ask_relations(index) -> list[str]:
    return list(index.schema(KIM).relations)


@pytest.mark.parametrize("who", [None, [], ["guests"]])
def test_without_a_label_nothing_is_seen(board, who):
    assert board.query("//*", principal=who).ids == []
    assert board.query("count(//*)", principal=who).value == 0
    assert board.semantic_search("agenda", principal=who) == []
    assert board.keyword_search("agenda", principal=who) == []
    assert board.nodes(["c1", "p", "budget"], who) == []
    assert board.documents(who) == []
    assert board.docstore.docs == {}
    assert board.vector_index.as_retriever().retrieve("agenda") == []
    assert "section" not in board.schema(who).to_prompt()


def test_unlabelled_nodes_follow_the_default(tmp_path):
    tree = document("d", {"Open": ["free"], "Shut": ["secret"]}, labels={"Shut": ["board"]})
    for default, seen in (("deny", set()), ("allow", {"d", "Open", "free"})):
        config = catalog_only(tmp_path / default, default_access=default)
        with SemXPathIndex(config, embed_model=HashEmbedder()) as index:
            index.insert_tree(tree)
            found = index.query("//*", principal=None)
            assert {m.text or m.id for m in found} == seen


def test_a_store_without_labels_is_open(index):
    index.insert_tree(document("d", {"A": ["x"]}))
    assert len(index.query("//*")) == len(index.query("//*", principal=["any"])) == 3


def test_labels_are_inherited_narrowed_and_widened(index):
    tree = document(
        "d", {"A": ["one", "two"], "B": ["three"]},
        labels={"d": ["staff"], "A": ["board"], "two": ["staff"]},
    )  # fmt: skip
    index.insert_tree(tree)

    def seen(*labels: str) -> set[str]:
        return {m.text or m.id for m in index.query("//*", principal=labels)}

    assert seen("staff") == {"d", "two", "B", "three"}
    assert seen("board") == {"A", "one"}
    assert seen("staff", "board") == {"d", "A", "one", "two", "B", "three"}
    assert index.nodes([tree[3].id], ["staff"])[0].path == ("…",)


def test_changed_labels_take_effect_at_once(index):
    index.insert_tree(document("d", {"A": ["one"]}, labels={"d": ["staff"]}))
    assert index.query("//Paragraph", principal=["staff"]).ids
    index.insert_tree(document("d", {"A": ["one"]}, labels={"d": ["board"]}))
    assert index.query("//Paragraph", principal=["staff"]).ids == []
    assert index.query("//Paragraph", principal=["board"]).ids
    assert index.reader.embeddings.embedder.seen.count("A\none") <= 1


@pytest.mark.parametrize("who", ["staff", b"staff", [1], [None]])
def test_a_principal_that_is_none_is_refused(board, who):
    with pytest.raises(AccessError):
        board.query("//*", principal=who)


def test_relations_of_hidden_places_are_hidden(index):
    """Two entities that the reader may see, and a relation that only a hidden section says."""
    index.insert_tree(document("open", {"A": ["x"]}, labels={"open": ["staff"]}))
    index.insert_tree(document("shut", {"B": ["y"]}, labels={"shut": ["board"]}))
    for doc in "open", "shut":
        index.add_entities(
            [EntitySource("e1", doc, "Person", "Li"), EntitySource("e2", doc, "Person", "Wu")], doc
        )
    index.add_entities([EntitySource("e3", "shut", "Person", "Secret")], "shut")
    index.add_relations([Edge("e1", "KNOWS", "e2")], "open")
    index.add_relations([Edge("e1", "PAYS", "e2")], "shut")
    staff, both = ["staff"], ["staff", "board"]
    assert index.query("/Person/rel::KNOWS", principal=staff).ids == ["e2"]
    assert index.query("/Person/rel::*", principal=staff).ids == ["e2"]
    assert index.query("/Person", principal=staff).ids == ["e1", "e2"]
    assert index.query("/Person/rel::PAYS", principal=both).ids == ["e2"]
    prompt = index.schema(staff).to_prompt()
    assert "KNOWS" in prompt
    assert "PAYS" not in prompt
    assert "Secret" not in prompt


def test_the_vector_index_reads_as_its_principal(board):
    found = vector_index(board, KIM).as_retriever(similarity_top_k=9).retrieve("agenda salaries")
    assert {node.node_id for node in found} == {"c1"}
    assert "Board" not in json.dumps([node.node.to_dict() for node in found])


QUERIES = (
    "//*", "//Section", "//Paragraph[2]", "//Section[1]/Paragraph", "count(//Paragraph)",
    "//Paragraph/..", "//Paragraph/following-sibling::*", "//Section[Paragraph]",
    '//Paragraph[. =~ "secret plan"]', 'top(3, //Paragraph[. =~ "plan"])',
    '//Section[count(Paragraph) > 1]', "//*[last()]", "//Paragraph/ancestor::*",
    '//*[contains(., "plan")]', '//Paragraph[bm25(., "plan") > 0.1]',
)  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_a_view_equals_a_store_without_the_hidden_nodes(tmp_path, seed):
    """What a principal gets is what a store would give that never held the hidden nodes.

    Labels only narrow whole subtrees here, so that such a store exists.
    """
    choice = random.Random(seed)
    labels: dict[str, list[str]] = {}
    sections: dict[str, list[str]] = {}
    for s in range(5):
        title = f"Section {s}"
        sections[title] = [f"plan {s} {p} of {choice.choice('abc')}" for p in range(4)]
        if choice.random() < 0.4:
            labels[title] = [choice.choice(["board", "staff"])]
        for text in sections[title]:
            # A child may be narrowed, never widened, below a hidden section.
            if title not in labels and choice.random() < 0.3:
                labels[text] = [choice.choice(["board", "staff"])]
    tree = document("d", sections, labels={"d": ["staff"], **labels})
    seen = {
        title: [t for t in texts if "board" not in labels.get(t, ())]
        for title, texts in sections.items()
        if "board" not in labels.get(title, ())
    }
    plain = document("d", seen)
    with (
        SemXPathIndex(catalog_only(tmp_path / "a"), embed_model=HashEmbedder()) as labelled,
        SemXPathIndex(catalog_only(tmp_path / "b"), embed_model=HashEmbedder()) as bare,
    ):
        labelled.insert_tree(tree)
        bare.insert_tree(plain)
        for query in QUERIES:
            got = labelled.query(query, principal=["staff"])
            want = bare.query(query)
            if "=~" not in query and "bm25" not in query:
                assert got.ids == want.ids, query
                assert got.value == want.value, query
            else:
                assert set(got.ids) <= {node.id for node in plain}
            assert (
                [m.xpath for m in got if m.id in want.ids]
                == [m.xpath for m in want if m.id in got.ids]
                or "=~" in query
                or "bm25" in query
            )
        assert {m.id for m in labelled.semantic_search("plan", limit=99, principal=["staff"])} == {
            m.id for m in bare.semantic_search("plan", limit=99)
        }
        assert {m.id for m in labelled.keyword_search("plan", limit=99, principal=["staff"])} == {
            m.id for m in bare.keyword_search("plan", limit=99)
        }


def test_hashes_of_hidden_documents_are_not_told(index):
    for doc, label in ("open", "staff"), ("shut", "board"):
        index.insert_tree(document(doc, {"A": [f"text of {doc}"]}, labels={doc: [label]}))
        index.docstore.set_document_hash(doc, f"hash of {doc}")
    store = CatalogDocumentStore(index, principal=["staff"])
    assert store.get_all_document_hashes() == {"hash of open": "open"}
    assert store.get_document_hash("open") == "hash of open"
    assert store.get_document_hash("shut") is None
    assert index.docstore.get_all_document_hashes() == {}
