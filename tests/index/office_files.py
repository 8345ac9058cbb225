"""Small office files and a book, each with one picture."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib

import docx
from pptx import Presentation

_ODF = "urn:oasis:names:tc:opendocument:xmlns:"


def png() -> bytes:
    """A picture of one pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0\1\2\3"))
    return b"\x89PNG\r\n\x1a\n" + body + chunk(b"IEND", b"")


def _saved(document: object) -> bytes:
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def _zipped(members: dict[str, str | bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


def docx_with_picture(picture: bytes) -> tuple[bytes, str]:
    document = docx.Document()
    document.add_heading("Trip", 1)
    document.add_picture(io.BytesIO(picture))
    return _saved(document), "trip.docx"


def pptx_with_picture(picture: bytes) -> tuple[bytes, str]:
    slides = Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[5])
    slide.shapes.title.text = "Trip"
    slide.shapes.add_picture(io.BytesIO(picture), 0, 0)
    return _saved(slides), "trip.pptx"


def odt_with_picture(picture: bytes) -> tuple[bytes, str]:
    content = (
        f'<office:document-content xmlns:office="{_ODF}office:1.0" xmlns:text="{_ODF}text:1.0" '
        f'xmlns:draw="{_ODF}drawing:1.0" xmlns:xlink="http://www.w3.org/1999/xlink">'
        "<office:body><office:text><text:p>Here it is: <draw:frame>"
        '<draw:image xlink:href="Pictures/1.png"/></draw:frame></text:p></office:text>'
        "</office:body></office:document-content>"
    )
    return _zipped({"content.xml": content, "Pictures/1.png": picture}), "trip.odt"


def epub_with_picture(picture: bytes) -> tuple[bytes, str]:
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="book/content.opf"/></rootfiles></container>'
    )
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata/><manifest>'
        '<item id="one" href="text/one.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="one"/></spine></package>'
    )
    chapter = "<html><body><h1>Trip</h1><p><img src='../img/a.png' alt=''/></p></body></html>"
    members = {
        "META-INF/container.xml": container,
        "book/content.opf": package,
        "book/text/one.xhtml": chapter,
        "book/img/a.png": picture,
    }
    return _zipped(members), "trip.epub"


MAKERS = (docx_with_picture, pptx_with_picture, odt_with_picture, epub_with_picture)
