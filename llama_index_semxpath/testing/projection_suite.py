"""What every projection must do, for authors of other stores.

Subclass :class:`ProjectionConformance` in a test module and give it an empty projection::

    class TestMyStore(ProjectionConformance):
        @pytest.fixture
        def projection(self, tmp_path):
            made = MyProjection(tmp_path)
            yield made
            made.close()
"""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from llama_index_semxpath.index.projection import ProjectedNode, ProjectedRow, Projection

#: Dimension of the vectors that the suite writes.
DIMENSION = 8
#: Ids that stores have been seen to mistake for something else.
HOSTILE_IDS = (
    "guides/2031/intro.md#part-1",
    "C:\\docs\\plan.md",
    'O\'Hara "memo"',
    "a|b-c:d@e",
    "{id}",
    "第三章/第五条",
    "main",
    " lead and trail ",
    "x;DROP SPACE y",
    "新建 文件(1).docx",
    'a" or id != "',
    "' or 1 == 1 --",
    "back\\",
    "line\nbreak",
    "tab\there",
    "$param {x: 1}",
    "`tick`",
    "/* comment */",
    "%_like%",
    "😀",
    "e\u0301",
    "\u202eright-to-left",
    "null",
    "0",
)


def projected(id_: str, place: int = 0, doc: str = "d", **fields: object) -> ProjectedNode:
    """A node for the suite: a top-level node of a document, with a vector of its own."""
    vector = np.random.default_rng(place).normal(size=DIMENSION).astype(np.float32)
    vector /= np.linalg.norm(vector)
    node = ProjectedNode(
        id=id_, doc=doc, parent=None, previous=None, kind="Paragraph", order=f"a0.a{place:05}",
        level=None, text=f"text of {place}", attributes={"n": place}, labels=None, weight=1.0,
        fingerprint=f"f{place}", vector=vector.tobytes(),
    )  # fmt: skip
    return replace(node, **fields)  # type: ignore[arg-type]


def rows(projection: Projection) -> dict[str, ProjectedRow]:
    """All rows by id; a row that is there twice fails."""
    projection.flush()
    found = list(projection.scan())
    by_id = {row.id: row for row in found}
    assert len(by_id) == len(found), "a row is there twice"
    return by_id


class ProjectionConformance:
    """Tests of a projection; ``projection`` is a fixture that gives an empty one."""

    def test_an_empty_store_scans_empty(self, projection: Projection) -> None:
        """Nothing in, nothing out."""
        assert rows(projection) == {}

    def test_rows_come_back(self, projection: Projection) -> None:
        """Everything that a check compares."""
        nodes = [
            projected("a", 1),
            projected("b", 2, labels=("board", "staff")),
            projected("c", 3, labels=()),
        ]
        projection.upsert(nodes)
        assert rows(projection) == {
            node.id: ProjectedRow(node.id, node.doc, node.order, node.labels, node.fingerprint)
            for node in nodes
        }

    def test_upsert_replaces(self, projection: Projection) -> None:
        """The same id again is the same row, whatever changed."""
        projection.upsert([projected("a", 1), projected("b", 2)])
        projection.upsert([projected("a", 9, labels=("x",))])
        projection.upsert([projected("a", 9, labels=("x",))])
        found = rows(projection)
        assert set(found) == {"a", "b"}
        assert (found["a"].order, found["a"].labels) == ("a0.a00009", ("x",))

    def test_delete_is_exact(self, projection: Projection) -> None:
        """Neighbours stay; what is not there is no error."""
        projection.upsert([projected(f"n{i}", i) for i in range(10)])
        projection.delete(["n3", "n7", "nope"])
        projection.delete(["n3"])
        projection.delete([])
        assert set(rows(projection)) == {f"n{i}" for i in range(10) if i not in (3, 7)}

    def test_any_id_is_only_an_id(self, projection: Projection) -> None:
        """Written, found and deleted one by one, and no other row is touched."""
        nodes = [projected(id_, place) for place, id_ in enumerate(HOSTILE_IDS)]
        projection.upsert(nodes)
        left = set(HOSTILE_IDS)
        assert set(rows(projection)) == left
        for id_ in HOSTILE_IDS:
            projection.delete([id_])
            left.discard(id_)
            assert set(rows(projection)) == left

    def test_any_value_is_only_a_value(self, projection: Projection) -> None:
        """As document id, kind, order key, label, fingerprint, attribute key and value."""
        nodes = [
            projected(
                f"n{place}",
                place,
                doc=value,
                kind=value,
                order=value,
                labels=(value,),
                fingerprint=value,
                text=value,
                attributes={value: value, "list": [value, value]},
            )
            for place, value in enumerate(HOSTILE_IDS)
        ]
        projection.upsert(nodes)
        assert rows(projection) == {
            node.id: ProjectedRow(node.id, node.doc, node.order, node.labels, node.fingerprint)
            for node in nodes
        }

    def test_long_values_are_kept(self, projection: Projection) -> None:
        """A long id and a long attribute are written whole or left out, never cut."""
        long_id = "长" * 20_000
        projection.upsert([projected(long_id, 1, attributes={"abstract": "x" * 1_000_000})])
        assert set(rows(projection)) == {long_id}
        projection.delete([long_id])
        assert rows(projection) == {}

    def test_more_rows_than_one_page(self, projection: Projection) -> None:
        """A scan gives all of them, each once."""
        ids = [f"n{i:05}" for i in range(3_000)]
        random.Random(1).shuffle(ids)
        projection.upsert([projected(id_, place) for place, id_ in enumerate(ids)])
        assert set(rows(projection)) == set(ids)
