"""Figures embedded by what they show, where the store's model can look at pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llama_index_semxpath.index.codec import digest
from llama_index_semxpath.index.rows import PreparedNode, Source
from llama_index_semxpath.index.vectors import Embeddings
from llama_index_semxpath.node_parser.pictures import Picture, Pictures

# Metadata of LlamaIndex' readers that name the file of a document.
_PATHS = ("file_path", "source")


def see(nodes: Sequence[PreparedNode], source: Source | None, embeddings: Embeddings) -> int:
    """Gives each figure whose picture can be read the vector of the picture.

    Figures then lie beside texts in one space under their own ids, so a phrase is compared with
    the picture itself. Where the model takes texts only, or there is no picture, a figure keeps the
    vector of its alternative text and caption.

    Args:
        nodes: A document ready to be written.
        source: Where it came from.
        embeddings: The store's vectors.

    Returns:
        How many pictures the model was shown; known ones are not shown again.
    """
    if not getattr(embeddings.embedder, "sees", False):
        return 0
    pictures = Pictures(document_path(nodes, source))
    found: dict[bytes, Picture] = {}
    for item in nodes:
        if item.node.kind != "Figure":
            continue
        picture = pictures.get(str(item.node.attributes.get("src", "")))
        if picture is not None:
            item.embed, item.vector = None, digest("picture", picture.data)
            found[item.vector] = picture
    return embeddings.keep_pictures(found) if found else 0


def document_path(nodes: Sequence[PreparedNode], source: Source | None) -> Path | None:
    """The file that a document was read from, where that is known."""
    if source is not None:
        return Path(source.path)
    attributes = nodes[0].node.attributes if nodes else {}
    for name in _PATHS:
        path = attributes.get(name)
        if isinstance(path, str) and "://" not in path and Path(path).is_file():
            return Path(path)
    return None
