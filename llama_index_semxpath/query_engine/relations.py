"""Facts of the property graph in the text of a node that a graph route found."""

from __future__ import annotations

import re

# As the graph route writes them: "Wang Min — approves → Contract 12".
_FACT = re.compile(r"^.{1,300} — .{1,100} → .{1,300}$")


def split_relations(text: str) -> tuple[list[str], str]:
    """Facts and the rest of a text.

    Example:
        >>> split_relations("A — knows → B\\nB is a person.")
        (['A — knows → B'], 'B is a person.')
    """
    facts: list[str] = []
    rest: list[str] = []
    for line in text.split("\n"):
        (facts if _FACT.match(line) else rest).append(line)
    return facts, "\n".join(rest).strip()
