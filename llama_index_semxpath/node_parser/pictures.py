"""The pictures behind figures, read from their document when a model is to look at them."""

from __future__ import annotations

import base64
import binascii
import mimetypes
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from llama_index_semxpath.errors import SourceError
from llama_index_semxpath.node_parser.archive import Archive

#: Most bytes of a picture; larger ones are left out.
MAX_PICTURE = 32 * 1024 * 1024
_ZIPPED = frozenset((".docx", ".pptx", ".odt", ".epub"))
_KINDS = ("image/",)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture.

    Args:
        data: Its bytes, as the file holds them.
        mime: Media type, ``image/png`` for example.
    """

    data: bytes
    mime: str

    @property
    def base64(self) -> str:
        """The bytes as LlamaIndex' ``ImageNode.image`` wants them."""
        return base64.b64encode(self.data).decode("ascii")


class Pictures:
    """The pictures of one document.

    A picture is part of the document itself (a ``data:`` address, a member of an office file or a
    book), or a file in the folder of a Markdown or HTML page or below it. Nothing else is read:
    no address on a network, no absolute path, no path or link that leads out of the folder.

    Args:
        document: Path of the document; ``None`` where it is no file.

    Example:
        >>> Pictures(None).get("data:image/gif;base64,R0lGODlhAQABAAAAACw=").mime
        'image/gif'
        >>> Pictures(None).get("https://a.example/b.png") is None
        True
    """

    def __init__(self, document: Path | None) -> None:
        self._document = document
        self._archive: Archive | None = None

    def get(self, source: str) -> Picture | None:
        """The picture of a figure by its ``@src``; ``None`` where it cannot or must not be read."""
        if source.startswith("data:"):
            return _inline(source)
        if self._document is None or not source:
            return None
        mime = mimetypes.guess_type(source)[0] or ""
        if not mime.startswith(_KINDS):
            return None
        try:
            data = self._member(source) if self._is_zipped else self._file(source)
        except (OSError, ValueError, SourceError):
            return None
        return Picture(data, mime) if data and len(data) <= MAX_PICTURE else None

    @property
    def _is_zipped(self) -> bool:
        return self._document is not None and self._document.suffix.lower() in _ZIPPED

    def _member(self, source: str) -> bytes:
        assert self._document is not None
        if self._archive is None:
            self._archive = Archive(self._document.read_bytes(), self._document.suffix[1:].upper())
        return self._archive.read(source) if source in self._archive else b""

    def _file(self, source: str) -> bytes:
        assert self._document is not None
        path = PurePosixPath(unquote(source.partition("?")[0].partition("#")[0]))
        if "://" in source or "\\" in source or path.is_absolute() or ".." in path.parts:
            return b""
        folder = self._document.parent.resolve()
        found = (folder / path).resolve()
        if not found.is_relative_to(folder) or not found.is_file():
            return b""
        return found.read_bytes() if found.stat().st_size <= MAX_PICTURE else b""


def _inline(source: str) -> Picture | None:
    head, comma, data = source.partition(",")
    mime, *options = head.removeprefix("data:").split(";")
    if not comma or not mime.startswith(_KINDS) or "base64" not in options:
        return None
    if len(data) > MAX_PICTURE * 4 // 3:
        return None
    try:
        return Picture(base64.b64decode(unquote(data), validate=False), mime)
    except (binascii.Error, ValueError):
        return None
