"""A dialogue over a plan that lives in memory: edits in plain words, doubts asked back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from llama_index_semxpath.errors import AmbiguousTargetError, SemXPathError
from llama_index_semxpath.index.access import Principal
from llama_index_semxpath.index.match import Match
from llama_index_semxpath.memory.changes import Change
from llama_index_semxpath.memory.editing import as_typed
from llama_index_semxpath.memory.naming import Names, label
from llama_index_semxpath.memory.records import Record
from llama_index_semxpath.memory.requests import Request, read_choice, read_request

if TYPE_CHECKING:
    from llama_index_semxpath.memory.store import StructuredMemory

_HELP = (
    "I can add, move, delete, change, replace and swap things, undo, show, and compare versions."
)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of the dialogue.

    Args:
        text: What to tell the person.
        change: What was changed, if anything.
        candidates: What the person has to choose from, when they must.
    """

    text: str
    change: Change | None = None
    candidates: tuple[Match, ...] = ()


@dataclass(slots=True)
class _Doubt:
    """A request that waits for the person to say which node is meant."""

    request: Request
    slot: str
    candidates: list[Match]
    settled: dict[str, Match] = field(default_factory=dict)


class _AskBackError(Exception):
    def __init__(self, doubt: _Doubt) -> None:
        super().__init__(doubt.slot)
        self.doubt = doubt


class PlanDialogue:
    """Keeps a plan by talking about it.

    Args:
        memory: The memory that holds the plan.
        tree: Id of the plan's root; ``None`` takes the only tree, or the first one created.
        principal: Labels of the person.
        propose: Turns a request that no rule reads into update statements, as an LLM does.

    Example:
        >>> import tempfile
        >>> from llama_index_semxpath.memory import StructuredMemory
        >>> folder = tempfile.TemporaryDirectory()
        >>> memory = StructuredMemory.from_defaults(folder.name, embed=False)
        >>> talk = PlanDialogue(memory)
        >>> for request in ("create a plan called Porto with 2 days", "add Lighthouse to day 2",
        ...                 "add Light rail to day 1", "delete light"):
        ...     print(talk.say(request).text.splitlines()[0])
        Made Plan 'Porto' with 2 Day (version 1).
        Added 'Lighthouse' to Day 2 (version 2).
        Added 'Light rail' to Day 1 (version 3).
        Which one do you mean by 'light'?
        >>> talk.say("the second").text
        "Deleted 'Lighthouse' (version 4)."
        >>> memory.close(); folder.cleanup()
    """

    def __init__(
        self,
        memory: StructuredMemory,
        tree: str | None = None,
        *,
        principal: Principal = None,
        propose: Callable[[str, str], Sequence[str]] | None = None,
    ) -> None:
        self.memory = memory
        self.tree = tree
        self._principal = memory.who(principal)
        self._propose = propose
        self._doubt: _Doubt | None = None

    def reset(self) -> None:
        """Forgets what was left open."""
        self._doubt = None

    def say(self, text: str) -> Reply:
        """Answers one turn; what is wrong with it is told, never raised."""
        if not text.strip():
            return Reply("Tell me what to do. " + _HELP)
        try:
            doubt = self._doubt
            if doubt is not None:
                chosen = self._chosen(doubt, text)
                if chosen is not None:
                    self._doubt = None
                    settled = {**doubt.settled, doubt.slot: chosen}
                    return self._act(doubt.request, settled, text)
            self._doubt = None
            request = read_request(text)
            if request is None:
                return self._proposed(text)
            return self._act(request, {}, text)
        except _AskBackError as asked:
            self._doubt = asked.doubt
            return _question(asked.doubt)
        except AmbiguousTargetError as error:
            return Reply(str(error), candidates=error.candidates)
        except SemXPathError as error:
            return Reply(f"That cannot be done: {error}")

    # Which nodes are meant

    def _chosen(self, doubt: _Doubt, text: str) -> Match | None:
        number = read_choice(text)
        if number is not None:
            place = number - 1 if number > 0 else len(doubt.candidates) + number
            return doubt.candidates[place] if 0 <= place < len(doubt.candidates) else None
        if read_request(text) is not None:
            return None
        words = text.removeprefix("the one ").removeprefix("on ").strip(" .")
        ids = {match.id for match in doubt.candidates}
        found = [m for m in self._names().find(words) if m.id in ids]
        if not found:
            places = self._names().find(words.removeprefix("on "))
            inside = tuple(place.node.order + "." for place in places)
            found = [m for m in doubt.candidates if m.node.order.startswith(inside or ("\x7f",))]
        return found[0] if len(found) == 1 else None

    def _names(self) -> Names:
        matches = self.memory.subtree(self._root().id, self._principal)
        return Names(matches, self._by_meaning if self.memory.embed else lambda phrase: ())

    def _by_meaning(self, phrase: str) -> list[str]:
        found = self.memory.query(
            "id($tree)//*[. =~ $name]",
            params={"tree": self._root().id, "name": phrase},
            top_k=5,
            principal=self._principal,
        )
        return found.ids

    def _root(self) -> Match:
        if self.tree is None:
            roots = self.memory.trees(self._principal)
            if len(roots) != 1:
                raise SemXPathError(
                    f"there are {len(roots)} plans", hint="create one, or say which to work on"
                )
            self.tree = roots[0].id
        found = self.memory.node(self.tree, self._principal)
        if found is None:
            raise SemXPathError("the plan is not there any more", hint="undo, or create one")
        return found

    def _one(self, request: Request, slot: str, settled: dict[str, Match]) -> Match:
        if slot in settled:
            return settled[slot]
        name = getattr(request, slot)
        found = self._names().find(name)
        if not found:
            raise SemXPathError(f"I find nothing called '{name}'", hint="say it otherwise")
        if len(found) > 1:
            raise _AskBackError(_Doubt(request, slot, found, settled))
        return found[0]

    # What is done

    def _act(self, request: Request, settled: dict[str, Match], text: str) -> Reply:
        act: Callable[[Request, dict[str, Match], str], Reply] = getattr(self, f"_{request.act}")
        return act(request, settled, text)

    def _create(self, request: Request, settled: dict[str, Match], text: str) -> Reply:
        count = request.numbers[0] if request.numbers else 0
        kind, child = request.attribute.capitalize(), request.value.capitalize()
        days = [Record(child, attributes={"index": n + 1}) for n in range(count)]
        record = Record(kind, attributes={"name": request.name}, children=days)
        change = self.memory.remember(record, reason=text, principal=self._principal)
        self.tree = change.added[0]
        with_ = f" with {count} {child}" if count else ""
        return _done(f"Made {kind} '{request.name}'{with_}", change)

    def _add(self, request: Request, settled: dict[str, Match], text: str) -> Reply:
        place = self._one(request, "anchor", settled) if request.anchor else self._root()
        above = place
        if request.where != "into":
            above = self.memory.node(place.node.parent or "", self._principal) or place
        siblings = [
            match
            for match in self.memory.subtree(self._root().id, self._principal)
            if match.node.parent is not None and match.kind != above.kind
        ]
        kind, values = _like(siblings, above, request)
        change = self.memory.remember(
            Record(kind, attributes=values),
            place,
            where=request.where,  # type: ignore[arg-type]
            reason=text,
            principal=self._principal,
        )
        where = {"into": "to"}.get(request.where, request.where)
        return _done(f"Added '{request.name}' {where} {label(place)}", change)

    def _move(self, request: Request, settled: dict[str, Match], text: str) -> Reply:
        node = self._one(request, "name", settled)
        settled = {**settled, "name": node}
        place = self._one(request, "anchor", settled)
        change = self.memory.move(
            node, request.where, place, reason=text, principal=self._principal  # type: ignore[arg-type]
        )  # fmt: skip
        where = {"into": "to"}.get(request.where, request.where)
        return _done(f"Moved '{label(node)}' {where} {label(place)}", change)

    def _delete(self, request: Request, settled: dict[str, Match], text: str) -> Reply:
        node = self._one(request, "name", settled)
        change = self.memory.forget(node, reason=text, principal=self._principal)
        return _done(f"Deleted '{label(node)}'", change)

    def _set(self, request: Request, settled: dict[str, Match], text: str) -> Reply:
        node = self._one(request, "name", settled)
        names = [n for n in node.attributes if request.attribute.lower() in n.lower()]
        name = names[0] if len(names) == 1 else request.attribute
        value = as_typed(request.value, node.attributes.get(name))
        change = self.memory.revise(node, {name: value}, reason=text, principal=self._principal)
        return _done(f"Set {name} of '{label(node)}' to {value}", change)

    def _rename(self, request: Request, settled: dict[str, Match], text: str) -> Reply:
        node = self._one(request, "name", settled)
        if "name" in node.attributes or not node.text:
            change = self.memory.revise(
                node, {"name": request.other}, reason=text, principal=self._principal
            )
        else:
            change = self.memory.revise(
                node, text=request.other, reason=text, principal=self._principal
            )
        return _done(f"Renamed '{label(node)}' to '{request.other}'", change)

    def _replace(self, request: Request, settled: dict[str, Match], text: str) -> Reply:
        node = self._one(request, "name", settled)
        with self.memory.change(text, what="replace", principal=self._principal) as edit:
            edit.replace(node.id, Record(node.kind, attributes=_kept(node, request.other)))
        assert edit.change is not None
        return _done(f"Replaced '{label(node)}' with '{request.other}'", edit.change)

    def _swap(self, request: Request, settled: dict[str, Match], text: str) -> Reply:
        first = self._one(request, "name", settled)
        second = self._one(request, "other", {**settled, "name": first})
        with self.memory.change(text, what="swap", principal=self._principal) as edit:
            swap(edit, first.id, second.id)
        assert edit.change is not None
        return _done(f"Swapped '{label(first)}' and '{label(second)}'", edit.change)

    def _undo(self, request: Request, settled: dict[str, Match], text: str) -> Reply:
        last = self.memory.revisions(1)
        change = self.memory.undo(principal=self._principal)
        told = last[0].reason or last[0].what
        return _done(f"Took back '{told}'", change)

    def _compare(self, request: Request, settled: dict[str, Match], text: str) -> Reply:
        root = self._root().id
        numbers = [r.seq for r in reversed(self.memory.revisions(tree=root))]
        wanted = request.numbers or (len(numbers) - 1, len(numbers))
        if not all(1 <= number <= len(numbers) for number in wanted):
            return Reply(f"The plan has versions 1 to {len(numbers)}.")
        first, second = (numbers[number - 1] for number in wanted[:2])
        return Reply(str(self.memory.diff(first, second, self._principal).within(root)))

    def _show(self, request: Request, settled: dict[str, Match], text: str) -> Reply:
        whole = request.name.lower() in ("", "plan", "the plan", "everything", "it", "计划")
        node = self._root() if whole else self._one(request, "name", settled)
        matches = self.memory.subtree(node, self._principal)
        depth = node.node.order.count(".")
        return Reply(
            "\n".join(f"{'  ' * (m.node.order.count('.') - depth)}- {_line(m)}" for m in matches)
        )

    def _proposed(self, text: str) -> Reply:
        if self._propose is None:
            return Reply("I did not understand that. " + _HELP)
        changes = [
            self.memory.update(statement, reason=text, principal=self._principal)
            for statement in self._propose(text, self._root().id)
        ]
        if not changes:
            return Reply("I did not understand that. " + _HELP)
        return _done("; ".join(change.what for change in changes), changes[-1])


def swap(edit: Any, first: str, second: str) -> None:
    """Puts two nodes in each other's places, in whatever parents they stand."""
    marker = edit.add(Record("Place"), edit.node(first).parent, before=first)
    edit.move(first, edit.node(second).parent, before=second)
    edit.move(second, edit.node(marker).parent, before=marker)
    edit.remove(marker)


def _like(siblings: Sequence[Match], above: Match, request: Request) -> tuple[str, dict[str, Any]]:
    """Kind and attributes of a new node, after those that stand beside it."""
    near = [m for m in siblings if m.node.parent == above.id] or [
        m for m in siblings if m.node.order.count(".") == above.node.order.count(".") + 1
    ]
    kinds = Counter(match.kind for match in near)
    kind = kinds.most_common(1)[0][0] if kinds else "Item"
    values: dict[str, Any] = {"name": request.name}
    if request.value:
        names = (name for match in near for name in match.attributes if "time" in name.lower())
        values[next(names, "time")] = request.value
    return kind, values


def _kept(node: Match, name: str) -> dict[str, Any]:
    """A new name in the old slot of time; the rest was about what is replaced."""
    times = {k: v for k, v in node.attributes.items() if "time" in k.lower() or k == "index"}
    return {"name": name, **times}


def _line(match: Match) -> str:
    time = next((v for k, v in match.attributes.items() if "time" in k.lower()), None)
    return f"{match.kind}: {label(match)}" + (f" ({time})" if time else "")


def _done(told: str, change: Change) -> Reply:
    return Reply(f"{told} (version {change.revision}).", change)


def _question(doubt: _Doubt) -> Reply:
    name = getattr(doubt.request, doubt.slot)
    lines = [f"Which one do you mean by '{name}'?"]
    lines += [
        f"{place}. {label(match)} — {match.xpath}"
        for place, match in enumerate(doubt.candidates, start=1)
    ]
    return Reply("\n".join(lines), candidates=tuple(doubt.candidates))
