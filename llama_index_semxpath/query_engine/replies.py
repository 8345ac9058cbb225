"""Reading a model's choice among numbered routes. A bad reply never routes silently."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

_FENCE = re.compile(r"```[a-zA-Z]*\s*(.*?)```", re.DOTALL)
#: Longer replies are no choice; reading them is a waste.
_MAX_REPLY = 20_000


@dataclass(frozen=True, slots=True)
class Choice:
    """One route that a model chose.

    Args:
        index: 0-based place among the choices.
        reason: Why, in the model's words.
    """

    index: int
    reason: str


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """What a reply says.

    Args:
        choices: Usable choices, each route once, in the order named; empty when there is none.
        problems: What was wrong with the reply, in plain words.
    """

    choices: tuple[Choice, ...]
    problems: tuple[str, ...]


def parse_choices(reply: str, names: Sequence[str]) -> ParsedReply:
    """Reads ``[{"choice": 2, "reason": "…"}]`` from a model's reply.

    Choices are numbered from 1. A number out of range (0 and negative ones too) is refused, never
    wrapped around to the end of the list. A route's exact name is taken in place of its number.
    Text around the JSON is ignored; text without JSON is no choice.

    Args:
        reply: What the model wrote.
        names: Names of the routes, in the order numbered.

    Returns:
        The choices, and what was wrong.

    Example:
        >>> parse_choices('{"choice": 2, "reason": "meaning"}', ["structured", "semantic"]).choices
        (Choice(index=1, reason='meaning'),)
        >>> parse_choices('[{"choice": 0}]', ["structured", "semantic"]).problems
        ('choice 0 is not among 1 to 2',)
    """
    if not reply.strip():
        return ParsedReply((), ("the reply is empty",))
    entries = list(_entries(reply[:_MAX_REPLY]))
    if not entries:
        return ParsedReply((), ("the reply holds no JSON choice",))
    choices: dict[int, Choice] = {}
    problems: list[str] = []
    for entry in entries:
        index = _index(entry.get("choice"), names)
        if index is None:
            shown = json.dumps(entry.get("choice"), ensure_ascii=False)[:80]
            problems.append(f"choice {shown} is not among 1 to {len(names)}")
        else:
            reason = entry.get("reason")
            choices.setdefault(index, Choice(index, reason if isinstance(reason, str) else ""))
    return ParsedReply(tuple(choices.values()), tuple(problems))


def _index(choice: object, names: Sequence[str]) -> int | None:
    if isinstance(choice, str):
        if choice in names:
            return names.index(choice)
        if not re.fullmatch(r"[0-9]{1,4}", choice.strip()):
            return None
        choice = int(choice)
    if isinstance(choice, float) and choice.is_integer():
        choice = int(choice)
    # bool is an int in Python; `true` is no choice.
    if isinstance(choice, bool) or not isinstance(choice, int):
        return None
    return choice - 1 if 1 <= choice <= len(names) else None


def _entries(reply: str) -> Iterator[dict[str, Any]]:
    """The objects of the first JSON value in a reply that holds any."""
    fenced = _FENCE.search(reply)
    for text in ([fenced.group(1)] if fenced else []) + [reply]:
        for start in re.finditer(r"[\[{]", text):
            try:
                value, _ = json.JSONDecoder().raw_decode(text, start.start())
            except (ValueError, RecursionError):
                continue
            objects = value if isinstance(value, list) else [value]
            found = [one for one in objects if isinstance(one, dict) and "choice" in one]
            if found or isinstance(value, list):
                yield from found
                return
