"""Records: XML, JSON and YAML as trees whose kinds are the names of the data itself."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from llama_index_semxpath.errors import SourceError
from llama_index_semxpath.node_parser.archive import parse_xml as parse_tree
from llama_index_semxpath.node_parser.blocks import Block, Parsed
from llama_index_semxpath.node_parser.options import ParseOptions
from llama_index_semxpath.node_parser.values import typed_value
from llama_index_semxpath.node_parser.yaml_loader import yaml_loader
from llama_index_semxpath.tree.node import Value

if TYPE_CHECKING:
    from lxml import etree

#: Deepest nesting of a record that is read.
MAX_DEPTH = 200
#: Most objects that one record may hold, aliases of YAML written out.
MAX_OBJECTS = 1_000_000
#: Kind of the top object and of list members that no key names.
ROOT_KIND, MEMBER_KIND = "Record", "Item"
_BREAKING = re.compile(r"[\x00-\x1f`]+")


def parse_xml(source: bytes | str, options: ParseOptions) -> Parsed:
    """An XML record: tags are kinds, attributes are attributes.

    An element that holds nothing but text, has no attributes and occurs once under its parent is
    an attribute of the parent; other elements are nodes. Text between elements belongs to the
    element that holds it. Prefixes of namespaces are dropped.

    Args:
        source: The document.
        options: How to parse.

    Raises:
        SourceError: It is not well-formed, nests too deep or declares entities.

    Example:
        >>> parsed = parse_xml(b'<Plan><Meta><Title>Trip</Title></Meta><Day n="1"/></Plan>',
        ...                    ParseOptions())
        >>> parsed.root, [(block.kind, block.attributes) for block in parsed.blocks]
        ('Plan', [('Meta', {'Title': 'Trip'}), ('Day', {'n': 1})])
    """
    data = source if isinstance(source, bytes) else _without_declaration(source).encode()
    root = parse_tree(data, "the XML file")
    block = _element(root)
    return _parsed(block, "xml")


def _without_declaration(source: str) -> str:
    # Decoded text may still declare the encoding that it had as bytes.
    return re.sub(r"^\s*<\?xml[^>]*\?>", "", source, count=1)


def _parsed(block: Block, name: str) -> Parsed:
    # The root of a tree has no text of its own; what stands in it directly is a paragraph.
    own = [Block("Paragraph", block.text)] if block.text else []
    return Parsed(own + block.children, block.attributes, name, block.kind)


def _element(root: etree._Element) -> Block:
    """The block of an element, without recursion."""
    top = Block(_tag(root))
    todo = [(root, top)]
    while todo:
        element, block = todo.pop()
        for name, raw in element.attrib.items():
            block.attributes[_local(str(name))] = typed_value(str(raw))
        texts = [element.text or ""]
        children = [child for child in element if isinstance(child.tag, str)]
        counts = Counter(child.tag for child in children)
        for child in children:
            name = _tag(child)
            if counts[child.tag] == 1 and _is_field(child) and name not in block.attributes:
                block.attributes[name] = typed_value("".join(child.itertext()))
            else:
                inner = Block(name)
                block.children.append(inner)
                todo.append((child, inner))
            texts.append(child.tail or "")
        block.text = " ".join(" ".join(texts).split())
    return top


def _is_field(element: etree._Element) -> bool:
    return not len(element) and not element.attrib and bool((element.text or "").strip())


def _tag(element: etree._Element) -> str:
    return _local(str(element.tag))


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def parse_json(source: bytes | str, options: ParseOptions) -> Parsed:
    """A JSON record; see :func:`record_blocks`.

    Raises:
        SourceError: It is not well-formed or nests too deep.

    Example:
        >>> parsed = parse_json('{"name": "Li", "tasks": [{"due": "2024-03-01"}]}', ParseOptions())
        >>> parsed.attributes, parsed.blocks[0].kind, parsed.blocks[0].attributes
        ({'name': 'Li'}, 'tasks', {'due': datetime.date(2024, 3, 1)})
    """
    text = source if isinstance(source, str) else source.decode("utf-8-sig", "replace")
    try:
        data = json.loads(text, parse_constant=lambda name: name)
    except json.JSONDecodeError as error:
        raise SourceError(
            f"cannot read the JSON file: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    except RecursionError:
        raise _too_deep("JSON") from None
    except ValueError as error:
        raise SourceError(f"cannot read the JSON file: {error}") from None
    return _record(data, "json")


def parse_yaml(source: bytes | str, options: ParseOptions) -> Parsed:
    """A YAML record; see :func:`record_blocks`. Several documents are members of one.

    Raises:
        SourceError: It is not well-formed, nests too deep, uses tags of a programming language, or
            its aliases multiply.
    """
    import yaml

    text = source if isinstance(source, str) else source.decode("utf-8-sig", "replace")
    loader = yaml_loader()
    try:
        # The events come without recursion: what nests too deep is refused before it is composed.
        depth = 0
        for event in yaml.parse(text, Loader=loader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise _too_deep("YAML")
        documents = list(yaml.load_all(text, Loader=loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise SourceError(f"cannot read the YAML file: {error.problem}{where}") from None
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise SourceError(f"cannot read the YAML file: {error}") from None
    except RecursionError:
        raise _too_deep("YAML") from None
    data = documents[0] if len(documents) == 1 else documents
    return _record(data, "yaml")


def _too_deep(name: str) -> SourceError:
    return SourceError(
        f"the {name} file nests deeper than {MAX_DEPTH} levels", hint="flatten it or split it"
    )


def _record(data: Any, name: str) -> Parsed:
    # A single object under a single key is the record, and the key its kind.
    root = ROOT_KIND
    if isinstance(data, Mapping) and len(data) == 1:
        key, value = next(iter(data.items()))
        if isinstance(value, Mapping):
            root, data = str(key), value
    block = record_blocks(data, root, name)
    return _parsed(block, name)


def record_blocks(data: Any, kind: str = ROOT_KIND, format_name: str = "json") -> Block:
    """The block of plain data.

    Objects are nodes whose kind is their key; a list under a key gives one node of that kind for
    each member; scalars and lists of strings are attributes. The members of a list inside a list
    are ``Item`` nodes.

    Args:
        data: Mappings, lists and scalars.
        kind: Kind of the top node.
        format_name: For errors.

    Raises:
        SourceError: The data nest deeper than ``MAX_DEPTH`` or hold more than ``MAX_OBJECTS``.
    """
    top = Block(kind)
    todo: list[tuple[Any, Block, int]] = [(data, top, 1)]
    count = 0
    while todo:
        value, block, depth = todo.pop()
        if depth > MAX_DEPTH:
            raise _too_deep(format_name.upper())
        for name, inner, is_node in _fields(value):
            count += len(inner) if isinstance(inner, list) else 1
            if count > MAX_OBJECTS:
                raise SourceError(
                    f"the {format_name.upper()} file holds more than {MAX_OBJECTS:,} values",
                    hint="aliases that multiply are refused; split a large file",
                )
            if is_node:
                child = Block(name)
                block.children.append(child)
                todo.append((inner, child, depth + 1))
            elif isinstance(inner, list):
                block.attributes[name] = [str(item) for item in inner]
            elif name:
                block.attributes[name] = _scalar(inner)
            else:
                block.text = str(inner)
    return top


def _fields(value: Any) -> Iterator[tuple[str, Any, bool]]:
    """Parts of a value as (name, part, whether it is a node); a scalar is its own text."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            name = _name(key)
            if isinstance(inner, list) and not _is_plain(inner):
                yield from ((name, item, True) for item in inner if item is not None)
            elif inner is not None and inner != []:
                yield name, inner, isinstance(inner, Mapping)
    elif isinstance(value, list):
        yield from ((MEMBER_KIND, item, True) for item in value if item is not None)
    else:
        yield "", value, False


def _is_plain(items: list[Any]) -> bool:
    return not any(item is None or isinstance(item, Mapping | list) for item in items)


def _scalar(value: Any) -> Value:
    if isinstance(value, str):
        return typed_value(value)
    if isinstance(value, bool | dt.date):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value)


def _name(key: Any) -> str:
    return _BREAKING.sub(" ", str(key)).strip() or MEMBER_KIND
