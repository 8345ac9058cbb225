"""E-mail: subject, people and dates as attributes, the body with its structure, attachments."""

from __future__ import annotations

import datetime as dt
import email
import email.policy
import re
from email.message import EmailMessage, Message
from email.utils import parseaddr

from llama_index_semxpath.errors import SourceError
from llama_index_semxpath.node_parser.blocks import Block, Parsed
from llama_index_semxpath.node_parser.options import ParseOptions
from llama_index_semxpath.tree.node import Value

_MAX_PARTS = 500
_MAX_DEPTH = 10
_STRUCTURE = re.compile(r"<(?:h[1-6]|[uo]l|th|pre|blockquote)[\s>]", re.IGNORECASE)


def parse_eml(source: bytes | str, options: ParseOptions) -> Parsed:
    """Blocks of an e-mail.

    The HTML body is read where it has structure that the plain one lacks. Quoted lines (``>``)
    are a ``Quote``. An attachment that can be read is a section with the attachment's name.

    Args:
        source: The message (RFC 5322).
        options: How to parse.

    Raises:
        SourceError: The file is no e-mail.
    """
    data = source if isinstance(source, bytes) else source.encode("utf-8", "surrogateescape")
    message = email.message_from_bytes(data, policy=email.policy.default)
    if not isinstance(message, EmailMessage) or not message.keys():
        raise SourceError("the file is no e-mail: it has no header", hint="check its format")
    attributes = _headers(message)
    blocks: list[Block] = []
    subject = attributes.get("title")
    if isinstance(subject, str):
        blocks.append(Block("Paragraph", subject, attributes={"role": "title"}))
    blocks.extend(_body(message, options))
    names: list[str] = []
    for part in _attachments(message):
        names.append(" ".join((part.get_filename() or "attachment").split()))
        blocks.extend(_attachment(part, names[-1], options))
    if names:
        attributes["attachments"] = names
    return Parsed(blocks, attributes, "eml")


def _headers(message: EmailMessage) -> dict[str, Value]:
    out: dict[str, Value] = {}
    for header, name in (("subject", "title"), ("from", "author"), ("to", "to"), ("cc", "cc")):
        text = _header(message, header)
        if text:
            out[name] = text if name in ("title", "author") else _people(text)
    name, address = parseaddr(str(out.get("author", "")))
    if address:
        out["author"], out["from"] = name or address, address
    try:
        stamp = message["date"].datetime if message["date"] else None
    except (AttributeError, ValueError, TypeError):
        stamp = None
    if isinstance(stamp, dt.datetime):
        out["created"] = stamp
    return out


def _header(message: EmailMessage, name: str) -> str:
    try:
        return " ".join(str(message[name] or "").split())
    except (ValueError, IndexError, AttributeError, TypeError):
        return ""  # the standard library fails on some malformed headers


def _people(text: str) -> list[str]:
    return [part.strip() for part in re.split(r",(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)", text) if part]


def _body(message: EmailMessage, options: ParseOptions) -> list[Block]:
    from llama_index_semxpath.node_parser.html import parse_html
    from llama_index_semxpath.node_parser.text import text_blocks

    plain, html = _part(message, "plain"), _part(message, "html")
    if html and (not plain.strip() or _STRUCTURE.search(html)):
        return _without_spans(parse_html(html, options).blocks)
    out: list[Block] = []
    for quoted, text in _quotes(plain):
        blocks = _without_spans(text_blocks(text))
        out.extend([Block("Quote", children=blocks)] if quoted else blocks)
    return out


def _part(message: EmailMessage, kind: str) -> str:
    try:
        part = message.get_body(preferencelist=(kind,))
        return "" if part is None else str(part.get_content())
    except (LookupError, UnicodeError, ValueError, AttributeError, TypeError):
        return ""  # an unknown encoding or a damaged part


def _quotes(text: str) -> list[tuple[bool, str]]:
    """The text in turns of quoted and own lines."""
    out: list[tuple[bool, list[str]]] = []
    for line in text.splitlines():
        quoted = line.startswith(">")
        if not out or out[-1][0] != quoted:
            out.append((quoted, []))
        out[-1][1].append(re.sub(r"^(?:>\s?)+", "", line) if quoted else line)
    return [(quoted, "\n".join(lines)) for quoted, lines in out if any(map(str.strip, lines))]


def _without_spans(blocks: list[Block]) -> list[Block]:
    todo = list(blocks)
    while todo:
        block = todo.pop()
        block.span = None
        todo.extend(block.children)
    return blocks


def _attachments(message: Message) -> list[EmailMessage]:
    try:
        parts = [part for part in message.walk() if isinstance(part, EmailMessage)]
    except RecursionError:
        raise SourceError(f"the e-mail nests deeper than {_MAX_DEPTH} messages") from None
    return [part for part in parts[:_MAX_PARTS] if part.is_attachment()]


def _attachment(part: EmailMessage, name: str, options: ParseOptions) -> list[Block]:
    from llama_index_semxpath.node_parser.registry import front_end_for

    try:
        content = part.get_content()
        data = content.encode() if isinstance(content, str) else content
        front_end = front_end_for(name, mime=part.get_content_type())
        if not isinstance(data, bytes) or front_end.name == "eml":
            return []
        parsed = front_end.parse(data, options, where=name)
    except (SourceError, LookupError, UnicodeError, ValueError, TypeError, AttributeError):
        return []  # named in @attachments, but not in a form that can be read
    blocks = _without_spans(parsed.blocks)
    for block in blocks:
        if block.kind == "Heading":
            block.level = (block.level or 1) + 1
        block.attributes.pop("role", None)
    return [Block("Heading", name, level=1), *blocks]
