"""Figures: kept with their pictures, found by what they show where a model can look."""

from __future__ import annotations

import base64
import io
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llama_index.core.embeddings.multi_modal_base import MultiModalEmbedding
from llama_index.core.schema import ImageNode

from llama_index_semxpath.index import SemXPathIndex, StoreConfig, index_paths
from llama_index_semxpath.node_parser import parse_file, to_llama
from llama_index_semxpath.node_parser.pictures import Pictures

BOATS, PUMP = b"\x89PNG\r\n\x1a\nboats on water", b"\x89PNG\r\n\x1a\npump with seal"
WORDS = ("boats", "water", "lake", "pump", "seal", "price", "report")


class PictureDouble(MultiModalEmbedding):
    """A test double: reads the words out of a "picture" and counts what it is shown."""

    model_name: str = "picture-double"
    shown: int = 0

    def _vector(self, text: str) -> list[float]:
        found = np.array([0.01, *(float(word in text.lower()) for word in WORDS)])
        return list(found / np.linalg.norm(found))

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._vector(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._vector(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._vector(text)

    def _get_image_embedding(self, img_file_path: Any) -> list[float]:
        assert isinstance(img_file_path, BytesIO)
        self.shown += 1
        return self._vector(img_file_path.getvalue().decode("latin-1"))

    async def _aget_image_embedding(self, img_file_path: Any) -> list[float]:
        return self._get_image_embedding(img_file_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "img").mkdir(parents=True)
    (tmp_path / "secret.png").write_bytes(BOATS)
    (folder / "img" / "a.png").write_bytes(BOATS)
    inline = base64.b64encode(PUMP).decode()
    (folder / "trip.md").write_text(
        "# Trip\n\n![](img/a.png)\n\nFigure 1. Our holiday\n\n"
        f"![](data:image/png;base64,{inline})\n\nThe price of a seal is in the report.\n"
    )
    return folder


def test_pictures_are_searched_themselves(folder: Path, tmp_path: Path) -> None:
    model = PictureDouble()
    config = StoreConfig(tmp_path / "store", milvus_uri="", graph="none")
    with SemXPathIndex(config, embed_model=model) as index:
        index_paths(index, [folder])
        assert model.shown == 2
        found = index.query("//Figure[. =~ 'boats on the water']")
        assert found[0].node.attributes["src"] == "img/a.png"
        best = index.semantic_search("pump seal", kinds=["Figure"])[0]
        assert best.node.attributes["src"].startswith("data:")
        image = index.docstore.get_document(found[0].id)
        assert base64.b64decode(image.image) == BOATS
        (folder / "trip.md").write_text((folder / "trip.md").read_text() + "\nMore.\n")
        index_paths(index, [folder])
        assert model.shown == 2  # a known picture is not shown again
        (folder / "img" / "a.png").write_bytes(PUMP + b"!")


def test_without_such_a_model_caption_and_alternative_text_are_searched(
    folder: Path, tmp_path: Path
) -> None:
    config = StoreConfig(tmp_path / "store", milvus_uri="", graph="none")
    with SemXPathIndex(config) as index:
        index_paths(index, [folder])
        (first, *_) = index.query("//Figure[. =~ 'holiday photograph']")
        assert first.node.attributes["caption"] == "Figure 1. Our holiday"


def test_image_nodes_hold_their_pictures_under_the_same_ids(folder: Path) -> None:
    nodes = parse_file(folder / "trip.md")
    llama = to_llama(nodes, pictures=Pictures(folder / "trip.md"))
    images = [node for node in llama if isinstance(node, ImageNode)]
    assert [base64.b64decode(node.image) for node in images] == [BOATS, PUMP]
    assert images[0].text == "Figure 1. Our holiday"
    assert [n.node_id for n in images] == [n.id for n in nodes if n.kind == "Figure"]
    plain = [node for node in to_llama(nodes) if isinstance(node, ImageNode)]
    assert (plain[0].image, plain[0].image_path) == (None, "img/a.png")


@pytest.mark.parametrize(
    "source",
    ["../secret.png", "/etc/passwd.png", "http://127.0.0.1:1/a.png", "file:///etc/a.png",
     "link.png", "img/none.png", "trip.md", "", "data:text/html;base64,YQ==", "data:image/png,a"],
)  # fmt: skip
def test_nothing_outside_the_document_is_read(folder: Path, source: str) -> None:
    (folder / "link.png").symlink_to(folder.parent / "secret.png")
    assert Pictures(folder / "trip.md").get(source) is None


def test_pictures_of_office_files_and_books(tmp_path: Path) -> None:
    from office_files import MAKERS, png

    for make in MAKERS:
        data, name = make(png())
        path = tmp_path / name
        path.write_bytes(data)
        (figure,) = [node for node in parse_file(path) if node.kind == "Figure"]
        picture = Pictures(path).get(figure.attributes["src"])
        assert picture is not None, name
        assert picture.data == png(), name
        assert figure.attributes["src"] in zipfile.ZipFile(io.BytesIO(data)).namelist()
