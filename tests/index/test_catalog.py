"""The catalog: what goes in comes out, only what differs is written, one moment a read."""

from __future__ import annotations

import datetime as dt
import math
import random
import sqlite3
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_fixtures import document

from llama_index_semxpath.errors import (
    AttributeValueError,
    StoreError,
    StoreVersionError,
    UnknownDocumentError,
)
from llama_index_semxpath.index.catalog import Catalog
from llama_index_semxpath.index.codec import decode_attributes, encode_attributes
from llama_index_semxpath.index.rows import EntitySource, Source
from llama_index_semxpath.tree.edges import Edge
from llama_index_semxpath.tree.node import TreeNode


@pytest.fixture
def catalog(tmp_path: Path):
    made = Catalog(tmp_path / "catalog.db", create=True)
    yield made
    made.close()


def put(catalog: Catalog, nodes: list[TreeNode]):
    with catalog.write() as writer:
        return writer.put_document(nodes)


def rows(catalog: Catalog) -> dict[str, tuple]:
    with catalog.database.read() as connection:
        return {row[1]: row for row in connection.execute("SELECT * FROM nodes")}


def test_a_node_comes_back_as_it_was_given(catalog):
    root = TreeNode("d", "Document", "d", attributes={"title": "D", "n": 2**70}, level=0)
    table = TreeNode(
        "t", "Table", "d", "d", "a | b", {"columns": ["a", "b"]}, tokens=3, page=4, span=(10, 20),
        labels=frozenset({"staff"}),
    )  # fmt: skip
    put(catalog, [root, table])
    assert list(catalog.walk("d")) == [root, table]
    assert catalog.nodes(["t", "nope"]) == {"t": table}
    assert catalog.subtree("t") == [table]
    assert catalog.subtree("nope") == []


def test_documents_keep_the_order_they_were_added_in(catalog):
    for name in "zebra", "apple", "mango":
        put(catalog, document(name, {"S": ["x"]}))
    put(catalog, document("zebra", {"S": ["y"]}))
    assert [d.id for d in catalog.documents()] == ["zebra", "apple", "mango"]
    assert catalog.count_nodes() == 9


def test_the_same_document_again_writes_nothing(catalog):
    put(catalog, document("d", {"A": ["x", "y"]}))
    version = catalog.version
    written = put(catalog, document("d", {"A": ["x", "y"]}))
    assert (written.added, written.changed, written.removed) == (0, 0, 0)
    assert catalog.version == version


def test_an_insert_in_the_middle_rewrites_no_other_row(catalog):
    paragraphs = [f"paragraph {i}" for i in range(500)]
    put(catalog, document("d", {"A": paragraphs[:250], "B": paragraphs[250:]}))
    before = rows(catalog)
    paragraphs.insert(300, "a new one")
    written = put(catalog, document("d", {"A": paragraphs[:250], "B": paragraphs[250:]}))
    after = rows(catalog)
    assert (written.added, written.changed, written.removed) == (1, 0, 0)
    assert {id_: row for id_, row in after.items() if id_ in before} == before
    assert [n.text for n in catalog.walk("d") if n.kind == "Paragraph"] == paragraphs


def test_spans_shift_without_touching_rows(catalog):
    nodes = document("d", {"A": ["x", "y"]})
    put(catalog, nodes)
    before = rows(catalog)
    again = document("d", {"A": ["x", "y"]})
    for at, node in enumerate(again):
        node.span = (10 * at, 10 * at + 5)
    put(catalog, again)
    assert rows(catalog) == before
    assert [node.span for node in catalog.walk("d")] == [(0, 5), (10, 15), (20, 25), (30, 35)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.permutations("abcdefgh").map(lambda p: p[:6]), min_size=2, max_size=5))
def test_any_sequence_of_versions_ends_as_the_last(tmp_path_factory, versions):
    catalog = Catalog(tmp_path_factory.mktemp("store") / "catalog.db", create=True)
    for version in versions:
        tree = document("d", {letter: [f"text of {letter}"] for letter in version})
        put(catalog, tree)
        stored = list(catalog.walk("d"))
        assert [(n.id, n.text, n.parent) for n in stored] == [
            (n.id, n.text, n.parent) for n in tree
        ]
        keys = [node.order for node in stored]
        assert keys == sorted(set(keys))
    catalog.close()


def test_many_inserts_at_one_place_keep_keys_short(catalog):
    texts = ["first", "last"]
    for at in range(400):
        texts.insert(1, f"insert {at}")
        put(catalog, document("d", {"A": texts}))
    assert [n.text for n in catalog.walk("d")][2:] == texts
    assert max(len(n.order) for n in catalog.walk("d")) < 80


def test_the_keyword_index_follows_every_change(catalog):
    put(catalog, document("d", {"A": ["the harbour pilot", "员工年假规定"]}))
    assert len(catalog.keyword("pilot")) == 1
    assert len(catalog.keyword("员工")) == 1
    put(catalog, document("d", {"A": ["the tug crew"]}))
    assert catalog.keyword("pilot") == []
    assert catalog.keyword("员工") == []
    assert len(catalog.keyword("crew")) == 1
    with catalog.write() as writer:
        assert writer.delete_document("d")
    assert catalog.keyword("crew") == []


@pytest.mark.parametrize(
    "text",
    ['"', "zz AND (", "NEAR(x y)", "x*", "col:x", "-x", "^x", "", "  ", "''", "\\", "🙂", "()"],
)
def test_no_question_is_keyword_syntax(catalog, text):
    put(catalog, document("d", {"A": ["plain words"]}))
    assert catalog.keyword(text) == []


def test_relations_and_entities_belong_to_the_documents_that_say_them(catalog):
    for doc in "d1", "d2":
        put(catalog, document(doc, {"A": ["x"]}))
        with catalog.write() as writer:
            writer.replace_relations(doc, [Edge("e1", "KNOWS", "e2", {"since": 2020})])
            writer.replace_entities(doc, [EntitySource("e1", doc, "Boat", "Mira", {"from": doc})])
    with catalog.write() as writer:
        writer.delete_document("d1")
    assert [edge.name for edge in catalog.edges()] == ["KNOWS"]
    assert catalog.edges("d1") == []
    assert [source.doc for _, source in catalog.entity_sources()] == ["d2"]


def test_sources_are_remembered(catalog):
    source = Source("/a/b.md", 10, 20, b"x" * 24)
    with catalog.write() as writer:
        writer.put_document(document("d", {"A": ["x"]}), source=source)
    assert catalog.document("d").source == source


# Values


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
    | st.dates()
    | st.datetimes(timezones=st.none() | st.just(dt.UTC)).map(
        lambda moment: moment.replace(fold=0)
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "$", "v", "w.h", " "]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["id", "text", "a key", "$", "制度"]), VALUES, max_size=4))
def test_every_value_comes_back_with_its_type(attributes):
    back = decode_attributes(encode_attributes(attributes, "n"))
    assert back == attributes
    assert repr(back) == repr(attributes)


def test_nan_and_tuples_come_back():
    back = decode_attributes(encode_attributes({"x": math.nan, "pair": (1, 2)}, "n"))
    assert math.isnan(back["x"])
    assert back["pair"] == [1, 2]


@pytest.mark.parametrize(
    "value", [object(), b"bytes", {1, 2}, 1j, {1: "a"}, ["ok", object()], {"in": {"ner": object()}}]
)
def test_what_cannot_be_kept_is_refused_by_name(catalog, value):
    node = TreeNode("d", "Document", "d", attributes={"ok": 1, "handle": value})
    with pytest.raises(AttributeValueError, match="handle"):
        put(catalog, [node])
    assert catalog.documents() == []


@pytest.mark.parametrize("bad", ["a\x00b", "a\ud800b"])
def test_strings_that_no_store_holds_are_refused(catalog, bad):
    for node in (
        TreeNode(bad, "Document", bad),
        TreeNode("d", bad, "d"),
        TreeNode("d", "Document", "d", text=bad),
        TreeNode("d", "Document", "d", attributes={bad: 1}),
        TreeNode("d", "Document", "d", attributes={"k": bad}),
        TreeNode("d", "Document", "d", attributes={"k": {"n": [bad]}}),
        TreeNode("d", "Document", "d", labels=frozenset({bad})),
    ):
        with pytest.raises(AttributeValueError):
            put(catalog, [node])
    assert catalog.documents() == []
    assert catalog.nodes([bad]) == {}
    assert catalog.find_document(bad) is None


# Trees that are none


def test_broken_trees_are_refused(catalog):
    root = TreeNode("d", "Document", "d")
    for nodes, message in (
        ([], "without nodes"),
        ([TreeNode("s", "Section", "d", "d")], "root"),
        ([root, TreeNode("x", "P", "d", "nope")], "parent"),
        ([root, TreeNode("x", "P", "d", "d"), TreeNode("x", "P", "d", "d")], "same id"),
        ([root, TreeNode("x", "P", "other", "d")], "belongs to document"),
        ([TreeNode("", "Document", "")], "id"),
        ([TreeNode("x" * 70_000, "Document", "x" * 70_000)], "65535"),
    ):
        with pytest.raises(StoreError, match=message):
            put(catalog, nodes)
    assert catalog.count_nodes() == 0


def test_an_id_of_another_document_is_refused(catalog):
    put(catalog, [TreeNode("d1", "Document", "d1"), TreeNode("x", "P", "d1", "d1")])
    with pytest.raises(StoreError, match="x of d1"):
        put(catalog, [TreeNode("d2", "Document", "d2"), TreeNode("x", "P", "d2", "d2")])
    assert [d.id for d in catalog.documents()] == ["d1"]


def test_an_unknown_document_is_named(catalog):
    with pytest.raises(UnknownDocumentError, match="nope"):
        catalog.document("nope")
    with pytest.raises(UnknownDocumentError):
        list(catalog.walk("nope"))
    with catalog.write() as writer:
        assert not writer.delete_document("nope")


# The file


def test_a_failed_write_leaves_nothing(catalog):
    put(catalog, document("d", {"A": ["x"]}))

    def fail() -> None:
        with catalog.write() as writer:
            writer.put_document(document("e", {"A": ["y"]}))
            writer.delete_document("d")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert [d.id for d in catalog.documents()] == ["d"]


def test_no_store_is_not_made_by_reading(tmp_path):
    with pytest.raises(StoreError, match="no store"):
        Catalog(tmp_path / "catalog.db")
    assert list(tmp_path.iterdir()) == []


def test_a_newer_store_is_refused(tmp_path):
    Catalog(tmp_path / "catalog.db", create=True).close()
    with sqlite3.connect(tmp_path / "catalog.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreVersionError, match="99"):
        Catalog(tmp_path / "catalog.db")


def test_other_files_are_refused_and_left_alone(tmp_path):
    text = tmp_path / "text.db"
    text.write_text("this is no database, but it is long enough to look at" * 50)
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE t (x)")
    for path in text, foreign:
        content = path.read_bytes()
        with pytest.raises(StoreError):
            Catalog(path, create=True)
        assert path.read_bytes() == content


def test_readers_see_whole_documents(catalog):
    """Old or new, never mixed: while one document flips between two versions."""
    versions = [{"A": [f"{v} {i}" for i in range(40)]} for v in ("old", "new")]
    put(catalog, document("d", versions[0]))
    stop = threading.Event()
    mixed: list[set[str]] = []

    def read() -> None:
        while not stop.is_set():
            kinds = {n.text.split()[0] for n in catalog.walk("d") if n.kind == "Paragraph"}
            if len(kinds) != 1:
                mixed.append(kinds)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for turn in range(40):
        put(catalog, document("d", versions[turn % 2]))
    stop.set()
    for reader in readers:
        reader.join()
    assert mixed == []


def test_random_edits_agree_with_a_plain_copy(catalog):
    choice = random.Random(7)
    plain: dict[str, dict[str, list[str]]] = {}
    for turn in range(120):
        doc = f"d{choice.randrange(4)}"
        if choice.random() < 0.2:
            plain.pop(doc, None)
            with catalog.write() as writer:
                writer.delete_document(doc)
            continue
        sections = plain.setdefault(doc, {})
        title = f"s{choice.randrange(5)}"
        texts = sections.setdefault(title, [])
        if texts and choice.random() < 0.4:
            texts.pop(choice.randrange(len(texts)))
        else:
            texts.insert(choice.randint(0, len(texts)), f"t{turn}")
        put(catalog, document(doc, sections))
        assert [n.text for n in catalog.walk(doc)] == [n.text for n in document(doc, sections)]
    assert {d.id for d in catalog.documents()} == set(plain)
    texts = sum(1 for n in catalog.walk() if n.text)
    with catalog.database.read() as connection:
        assert connection.execute("SELECT count(*) FROM words").fetchone()[0] == texts
