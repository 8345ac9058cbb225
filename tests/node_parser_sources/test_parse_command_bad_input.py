"""``semxpath parse`` on files that are broken, hostile or closed: one message, exit 2."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pytest
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

from llama_index_semxpath.cli.main import main
from llama_index_semxpath.node_parser import parse_bytes

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def zipped(name: str, content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return stream.getvalue()


def pdf(password: str | None = None, text: str = "") -> bytes:
    stream = io.BytesIO()
    encrypt = StandardEncryption(password, "owner") if password else None
    canvas = Canvas(stream, encrypt=encrypt)
    canvas.rect(10, 10, 50, 50)
    if text:
        canvas.drawString(50, 50, text)
    canvas.save()
    return stream.getvalue()


def entities(levels: int) -> bytes:
    lines = ['<!ENTITY l0 "lol">']
    for level in range(1, levels):
        lines.append(f'<!ENTITY l{level} "{f"&l{level - 1};" * 10}">')
    return f"<!DOCTYPE a [{''.join(lines)}]><a>&l{levels - 1};</a>".encode()


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.docx", zipped("word/document.xml", b" " * 120_000_000), "zip bomb"),
        ("a.xlsx", zipped("xl/workbook.xml", b" " * 120_000_000), "zip bomb"),
        ("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "password"),
        ("a.docx", b"PK\x03\x04" + bytes(60), "no zip archive"),
        ("a.xml", entities(10), "XML"),
        ("a.xml", b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', "entities"),
        ("a.xml", b"<a>" * 10_000 + b"</a>" * 10_000, "256 levels"),
        ("a.json", b"[" * 50_000 + b"]" * 50_000, "200 levels"),
        ("a.yaml", b'!!python/object/apply:os.system ["true"]', "tag"),
        ("a.csv", b'a,b\n"' + b"x\n" * 100_000, "CSV"),
        ("a.pdf", pdf("secret", "hidden"), "encrypted"),
        ("a.pdf", pdf(), "OCR"),
        ("a.pdf", b"%PDF-1.4\nnothing", "damaged"),
        ("a.md", bytes(range(256)) * 20, "binary"),
        ("a.md", b"", "empty"),
        ("a.xyz", b"x", "no reader"),
    ],
)
def test_one_message_and_exit_two(
    name: str, data: bytes, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert main(["parse", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert len(err.strip().splitlines()) == 1
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "source",
    [
        "".join("  " * level + f"- level{level}\n" for level in range(3_000)),
        "".join("> " * level + f"level{level}\n\n" for level in range(300)),
        "".join(f"{'  ' * n}- level{n}\n\n{'  ' * n}  text{n}\n\n" for n in range(200)),
    ],
)
def test_text_below_the_deepest_level_is_kept_once(source: str) -> None:
    words = re.findall(r"[a-z]+\d+", source)
    nodes = parse_bytes(source, "a.md")
    assert re.findall(r"[a-z]+\d+", " ".join(node.text for node in nodes)) == words


def test_ten_thousand_lists_of_html() -> None:
    nodes = parse_bytes("<ul><li>x" * 10_000, "a.html")
    assert sum(node.text.count("x") for node in nodes) == 10_000


def test_links_are_kept_and_never_followed() -> None:
    source = (
        "![a](file:///etc/passwd) ![b](http://127.0.0.1:1/b.png)\n\n"
        "<iframe src='http://127.0.0.1:1/'></iframe>"
    )
    nodes = parse_bytes(source, "a.md")
    sources = [node.attributes.get("src") for node in nodes if node.kind == "Figure"]
    assert sources == ["file:///etc/passwd", "http://127.0.0.1:1/b.png"]
    assert not any("root:" in node.text for node in nodes)
