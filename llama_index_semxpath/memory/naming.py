"""Finds the nodes that a person means by a name: by words, never by running the words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from llama_index_semxpath.index.match import Match
from llama_index_semxpath.memory.requests import read_place

#: Words for kinds that people use whatever the schema calls them.
_ALIASES = {"天": "day", "日": "day", "任务": "task", "项目": "project", "周": "week"}
_WORD = re.compile(r"[a-z0-9]+|[\u4e00-\u9fff]")
_SCOPE = re.compile(r"(?P<name>.+?) (?:on|in|of|from) (?P<scope>.+)", re.IGNORECASE)
_SCOPE_ZH = re.compile(r"(?P<scope>第.+?[天日周]|最后一天)的?(?P<name>.+)")


def label(match: Match) -> str:
    """What a node is called: its ``@name``, title or text, else its kind and place.

    Example:
        >>> from llama_index_semxpath.index.match import NodeView
        >>> from llama_index_semxpath.tree.node import TreeNode
        >>> label(Match(NodeView(TreeNode("d", "Day", "d"), (), "/Plan[1]/Day[2]")))
        'Day 2'
    """
    for value in (match.attributes.get("name"), match.attributes.get("title"), match.text):
        if isinstance(value, str) and value.strip():
            text = " ".join(value.split())
            return text if len(text) <= 80 else text[:79] + "…"
    place = re.search(r"\[(\d+)\]$", match.xpath)
    return f"{match.kind} {place[1]}" if place else match.kind


class Names:
    """Names of the nodes of one tree.

    Args:
        matches: The nodes of the tree in document order, the root first.
        by_meaning: Grades a phrase where words find nothing: ids, best first.
    """

    def __init__(
        self,
        matches: Sequence[Match],
        by_meaning: Callable[[str], Sequence[str]] = lambda phrase: (),
    ) -> None:
        self._matches = list(matches)
        self._by_meaning = by_meaning

    def find(self, name: str) -> list[Match]:
        """The nodes that a name may mean; the best kind of agreement counts alone."""
        found = self._within(name, self._matches)
        if found:
            return found
        scoped = _SCOPE.fullmatch(name) or _SCOPE_ZH.fullmatch(name)
        if scoped is not None:
            places = self._within(scoped["scope"], self._matches)
            if len(places) == 1:
                inside = places[0].node.order + "."
                below = [m for m in self._matches if m.node.order.startswith(inside)]
                return self._within(scoped["name"], below)
        wanted = list(self._by_meaning(name))
        known = {match.id: match for match in self._matches}
        return [known[id_] for id_ in wanted if id_ in known]

    def _within(self, name: str, matches: Sequence[Match]) -> list[Match]:
        place = read_place(name)
        if place is not None:
            kind = _ALIASES.get(place[0], place[0]).lower()
            same = [m for m in matches if m.kind.lower() in (kind, kind.rstrip("s"), place[0])]
            if same:
                at = place[1] - 1 if place[1] > 0 else len(same) + place[1]
                return [same[at]] if 0 <= at < len(same) else []
        plain = name.casefold().strip()
        for test in (_is, _holds, _has_words):
            found = [m for m in matches if test(label(m).casefold(), plain)]
            if found:
                return found
        return [m for m in matches if m.kind.casefold() == plain]


def _is(own: str, name: str) -> bool:
    return own == name


def _holds(own: str, name: str) -> bool:
    return bool(name) and name in own


def _has_words(own: str, name: str) -> bool:
    words = set(_WORD.findall(name))
    return bool(words) and words <= set(_WORD.findall(own))
