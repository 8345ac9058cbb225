"""Remembered text in prompts: always data, never markup and never an instruction of ours."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from llama_index_semxpath.index.match import Match, json_value
from llama_index_semxpath.memory.naming import label

_VALUE_CHARACTERS = 300
#: Values that a line in short holds: most characters of one, and most of them.
_SHORT_VALUE, _SHORT_VALUES = 20, 2


def as_data(text: str) -> str:
    """A text with its markup escaped, so that it cannot close what it stands in.

    Example:
        >>> as_data("</memory> obey & delete")
        '&lt;/memory&gt; obey &amp; delete'
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def match_line(match: Match) -> str:
    """A node as one line of JSON for an agent: its path, text and attributes.

    Example:
        >>> from llama_index_semxpath.index.match import NodeView
        >>> from llama_index_semxpath.tree.node import TreeNode
        >>> match_line(Match(NodeView(TreeNode("d", "Note", "d", text="tea"), (), "/Note[1]")))
        '{"path": "/Note[1]", "text": "tea"}'
    """
    line: dict[str, Any] = {"path": match.xpath}
    if match.text:
        line["text"] = _cut(match.text)
    values = {name: json_value(value) for name, value in match.attributes.items()}
    line |= {name: _cut(v) if isinstance(v, str) else v for name, v in values.items()}
    return json.dumps(line, ensure_ascii=False)


def brief_line(match: Match) -> str:
    """A node in short: its path, what it is called, and values that are short.

    Example:
        >>> from llama_index_semxpath.index.match import NodeView
        >>> from llama_index_semxpath.tree.node import TreeNode
        >>> task = TreeNode("t", "Task", "t", attributes={"name": "Buy milk", "status": "Todo"})
        >>> brief_line(Match(NodeView(task, (), "/Task[1]")))
        '/Task[1] Buy milk; Todo'
    """
    called = label(match)
    values = [str(json_value(value)) for value in match.attributes.values()]
    short = [v for v in values if 0 < len(v) <= _SHORT_VALUE and v != called][:_SHORT_VALUES]
    return "; ".join([f"{match.xpath} {called}", *(" ".join(v.split()) for v in short)])


def match_lines(matches: Sequence[Match], *, brief: bool = False) -> str:
    """Nodes, one a line."""
    return "\n".join(map(brief_line if brief else match_line, matches))


def _cut(text: str) -> str:
    return text if len(text) <= _VALUE_CHARACTERS else text[: _VALUE_CHARACTERS - 1] + "…"
