"""The YAML or TOML block that a Markdown file may begin with."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from typing import Any

from llama_index_semxpath.node_parser.yaml_loader import yaml_loader
from llama_index_semxpath.tree.node import Value

_FRONT = re.compile(
    r"\A\ufeff?(?:---[ \t]*\r?\n(?P<yaml>.*?)^(?:---|\.\.\.)|\+\+\+[ \t]*\r?\n(?P<toml>.*?)^\+\+\+)"
    r"[ \t]*(?:\r?\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
# PyYAML builds aliases in memory as references, but flattening would multiply them.
_MAX_LENGTH = 65_536
_MAX_ITEMS = 2_000
_LINE = re.compile(r"([\w][\w .-]{0,60}):[ \t]+(.*)$")


def split_front_matter(source: str) -> tuple[dict[str, Value], int]:
    """The front matter of a file, and where the text after it begins.

    A block that is no mapping is no front matter: ``---`` is also a rule in Markdown.

    Args:
        source: The whole file.

    Returns:
        Attributes, nested mappings flattened to ``a.b``, and the offset of the body.

    Example:
        >>> split_front_matter("---\\ntitle: Leave\\ntags: [hr, paid]\\n---\\n# Leave\\n")
        ({'title': 'Leave', 'tags': ['hr', 'paid']}, 38)
    """
    if not source.startswith(("---", "+++", "\ufeff")):
        return {}, 0
    match = _FRONT.match(source)
    # A byte order mark is no text.
    body = int(source.startswith("\ufeff"))
    if match is None or match.end() > _MAX_LENGTH:
        return {}, body
    if match["yaml"] is None:
        data = _load_toml(match["toml"])
    else:
        data = _load_yaml(match["yaml"]) or _read_lines(match["yaml"])
    if not isinstance(data, Mapping):
        return {}, body
    return flatten(data), match.end()


def flatten(data: Mapping[Any, Any]) -> dict[str, Value]:
    """A mapping of plain values as attributes; ``None`` and empty containers are left out.

    Example:
        >>> flatten({"author": {"name": "Li"}, "pages": 3, "draft": None, "of": [1, "b"]})
        {'author.name': 'Li', 'pages': 3, 'of': ['1', 'b']}
    """
    found: dict[str, Value] = {}
    todo = [(str(key), value) for key, value in reversed(list(data.items()))]
    while todo and len(found) < _MAX_ITEMS:
        key, value = todo.pop()
        if isinstance(value, Mapping):
            if key.count(".") < 8:
                todo += [(f"{key}.{inner}", item) for inner, item in reversed(list(value.items()))]
        elif isinstance(value, (list, tuple, set)):
            items = [str(item) for item in value if not isinstance(item, (Mapping, list))]
            if items:
                found[key] = items[:_MAX_ITEMS]
        elif isinstance(value, (str, bool, int, float, dt.date)):
            found[key] = value
        elif value is not None:
            found[key] = str(value)
    return found


def _load_yaml(text: str) -> object:
    import yaml

    try:
        return yaml.load(text, Loader=yaml_loader())
    # A date such as 2024-13-45 is a ValueError, deep nesting a RecursionError.
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def _read_lines(text: str) -> dict[str, str] | None:
    """The ``key: value`` lines of a block that is no YAML, such as ``title: Oil: a guide``."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if match:
            found[match[1]] = match[2].strip().strip("\"'")
        elif line.strip() and line[:1] not in " \t#-":
            return None
    return found or None


def _load_toml(text: str) -> object:
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
