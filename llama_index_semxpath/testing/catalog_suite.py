"""What every catalog must do, for authors of other ones.

Subclass :class:`CatalogConformance` in a test module and give it an empty catalog::

    class TestMyCatalog(CatalogConformance):
        @pytest.fixture
        def catalog(self, tmp_path):
            made = MyCatalog(tmp_path)
            yield made
            made.close()
"""

from __future__ import annotations

import json
from typing import Any

from llama_index_semxpath.errors import SemXPathError, UnknownDocumentError
from llama_index_semxpath.index.catalog import Catalog
from llama_index_semxpath.index.catalog_writer import Written
from llama_index_semxpath.testing.hostile import hostile_strings
from llama_index_semxpath.tree.ids import node_id
from llama_index_semxpath.tree.node import TreeNode


def small_document(doc: str, *texts: str) -> list[TreeNode]:
    """A document with one paragraph for each text."""
    seen: dict[str, int] = {}
    nodes = [TreeNode(doc, "Document", doc, level=0)]
    for text in texts:
        occurrence = seen[text] = seen.get(text, -1) + 1
        id_ = node_id(doc, doc, "Paragraph", text, occurrence)
        nodes.append(TreeNode(id_, "Paragraph", doc, doc, text))
    return nodes


def put(catalog: Catalog, nodes: list[TreeNode]) -> Written:
    """Writes one document in a transaction of its own."""
    with catalog.write() as writer:
        return writer.put_document(nodes)


def outbox(catalog: Catalog, target: str) -> list[tuple[str, str, set[str]]]:
    """What waits for a projection: what, document, ids."""
    sql = "SELECT what, doc, ids FROM outbox WHERE target = ? ORDER BY seq"
    with catalog.database.read() as connection:
        rows = connection.execute(sql, (target,)).fetchall()
    return [(what, doc, set(json.loads(ids or "[]"))) for what, doc, ids in rows]


class CatalogConformance:
    """Tests of a catalog; ``catalog`` is a fixture that gives an empty one."""

    def test_documents_come_back_in_order(self, catalog: Catalog) -> None:
        """In the order added, whole, also after a change."""
        for doc in "b", "a":
            put(catalog, small_document(doc, "x", "y"))
        put(catalog, small_document("b", "x", "z", "y"))
        assert [d.id for d in catalog.documents()] == ["b", "a"]
        assert [node.text for node in catalog.walk("b")] == ["", "x", "z", "y"]
        keys = [node.order for node in catalog.walk()]
        assert keys == sorted(set(keys))

    def test_only_what_differs_is_written(self, catalog: Catalog) -> None:
        """An insert in the middle leaves every other row, and its order key, alone."""
        put(catalog, small_document("d", "a", "b", "c"))
        before = {node.id: node.order for node in catalog.walk("d")}
        assert put(catalog, small_document("d", "a", "new", "b", "c")) == Written(1, 0, 0)
        after = {node.id: node.order for node in catalog.walk("d")}
        assert before.items() <= after.items()
        version = catalog.version
        assert put(catalog, small_document("d", "a", "new", "b", "c")) == Written(0, 0, 0)
        assert catalog.version == version

    def test_every_write_is_announced_to_every_projection(self, catalog: Catalog) -> None:
        """New, changed and removed nodes wait in the outbox, in the order of the writes."""
        put(catalog, small_document("d", "a", "b"))
        nodes = {node.text: node.id for node in catalog.walk("d")}
        put(catalog, small_document("d", "a", "c"))
        changed = {nodes["b"], *(n.id for n in catalog.walk("d") if n.text == "c")}
        with catalog.write() as writer:
            assert writer.delete_document("d")
        for target in "vectors", "graph":
            first, second, third = outbox(catalog, target)
            assert first == ("document", "d", set())
            assert second[:2] == ("nodes", "d")
            assert second[2] >= changed
            assert third[:2] == ("removed", "d")
            assert nodes["a"] in third[2]
            assert nodes["b"] not in third[2]

    def test_a_failed_write_leaves_nothing(self, catalog: Catalog) -> None:
        """Neither rows nor work for the projections."""
        put(catalog, small_document("d", "a"))
        waiting = outbox(catalog, "vectors")
        try:
            with catalog.write() as writer:
                writer.put_document(small_document("e", "b"))
                writer.delete_document("d")
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            pass
        assert [d.id for d in catalog.documents()] == ["d"]
        assert outbox(catalog, "vectors") == waiting
        assert catalog.keyword("b") == []

    def test_deleting_is_exact(self, catalog: Catalog) -> None:
        """What is not there is no error; equal text elsewhere stays."""
        put(catalog, small_document("d", "same"))
        put(catalog, small_document("e", "same"))
        with catalog.write() as writer:
            assert writer.delete_document("d")
            assert not writer.delete_document("d")
            assert not writer.delete_document("nope")
        assert [node.doc for node in catalog.walk()] == ["e", "e"]
        assert len(catalog.keyword("same")) == 1
        try:
            catalog.document("d")
        except UnknownDocumentError:
            return
        raise AssertionError("a deleted document was found")

    def test_any_string_is_only_a_string(self, catalog: Catalog) -> None:
        """Over 500 strings as id, text, key and value: back byte for byte, or refused by name."""
        stored = set()
        for text in hostile_strings():
            attributes: dict[str, Any] = {text: text, "v": {text: [text]}}
            node = TreeNode(text, "Document", text, None, text, attributes)
            try:
                put(catalog, [node])
            except SemXPathError:
                assert not text or "\x00" in text or _has_surrogate(text) or len(text) > 20_000
                continue
            stored.add(text)
            (back,) = catalog.walk(text)
            assert (back.id, back.text, back.attributes) == (text, text, node.attributes)
            assert catalog.nodes([text])[text].text == text
        assert {d.id for d in catalog.documents()} == stored
        assert len(stored) > 480
        for count, text in enumerate(sorted(stored)[::12], 1):
            with catalog.write() as writer:
                assert writer.delete_document(text)
            assert len(catalog.documents()) == len(stored) - count


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)
