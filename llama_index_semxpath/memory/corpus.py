"""What a memory can recall, kept ready for questions and brought up to date after each change."""

from __future__ import annotations

import datetime as dt
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llama_index_semxpath.index.history import Difference, History
from llama_index_semxpath.index.match import json_value
from llama_index_semxpath.memory.decay import DecayPolicy, vitality_of
from llama_index_semxpath.memory.evidence import EvidenceIndex, Utterance
from llama_index_semxpath.memory.facts import FactSchema
from llama_index_semxpath.tree.node import TreeNode

Floats = NDArray[np.float64]
#: Id of a node, how often it was used by then, and when, in seconds.
Use = tuple[str, int, float]
_DAY = 86_400.0
#: Characters by which a memory is found; a person's question meets its start.
_MOST_CHARS = 20_000

#: Kinds that only hold others.
CONTAINERS = frozenset(("Conversation", "Session", "User", "Subject", "List", "Table"))
#: Attributes that say how a memory is kept, not what it says.
KEEPING = frozenset(
    [
        *("id", "source", "confidence", "weight", "valid_from", "valid_until", "expires"),
        *("half_life_days", "pinned", "archived", "status", "replaced_by", "replaces", "time"),
        *("started", "role", "created", "sources", "tokens"),
    ]
)
#: When a node was said, by the first of these that it has.
_TIMES = ("time", "valid_from", "started", "created", "date")
#: Nodes whose missing vectors are worth computing within a recall.
_EMBED_AT_ONCE = 64


@dataclass
class Corpus:
    """The nodes that a reader can recall at one revision.

    Args:
        reader: Reads the memory.
        principal: Labels of who reads.
        schema: What people call the attributes of facts.
    """

    reader: Any
    principal: frozenset[str] | None
    schema: FactSchema = field(default_factory=FactSchema)

    def __post_init__(self) -> None:
        self.index = EvidenceIndex()
        self.nodes: list[TreeNode] = []
        self.rows: dict[str, int] = {}
        self._kinds: dict[str, int] = {}
        self._weight, self._half, self._pinned = array("d"), array("d"), array("d")
        self._since, self._count, self._kind = array("d"), array("d"), array("d")
        self._begun, self._ended, self._archived = array("d"), array("d"), array("d")
        self._expires, self._alive = array("d"), array("b")
        self._uses = 0
        self.revision = -1
        self._places: dict[str, TreeNode] = {}
        self._vectors = np.empty((0, 0), np.float32)
        self._known = self._embedded = 0

    @property
    def alive(self) -> NDArray[np.intp]:
        """Rows of what can be recalled, oldest first."""
        return np.fromiter(self.rows.values(), np.intp, len(self.rows))

    def refresh(self) -> None:
        """Bring the corpus to the present revision."""
        with self.reader.catalog.moment():
            version = self.reader.catalog.version
            if version == self.revision:
                return
            history = History(self.reader.catalog)
            change = history.since(self.revision) if self.revision >= 0 else None
            if change is None or not self._apply(change, history):
                self._build(history)
            self.revision = version

    def _build(self, history: History) -> None:
        self.__post_init__()
        visible = self._visible()
        written = history.written()
        self._add((n for n in self.reader.catalog.walk() if _seen(n, visible)), written)

    def _apply(self, change: Difference, history: History) -> bool:
        """Apply what changed; false when all must be read again."""
        if len(change.nodes) + len(change.gone) > max(64, len(self.nodes) // 4):
            return False
        if any(node.labels is not None or node.id in self._places for node in change.nodes):
            return False  # what stands below may be visible to others now, or said elsewhere
        visible = self._visible()
        for id_ in (*change.gone, *(node.id for node in change.nodes)):
            row = self.rows.pop(id_, None)
            if row is not None:
                self.index.blank(row)
                self._alive[row] = 0
        nodes = sorted(change.nodes, key=lambda node: node.order)
        self._add((n for n in nodes if _seen(n, visible)), history.written(self.revision))
        return True

    def add_all(self, nodes: Iterable[TreeNode]) -> None:
        """Add nodes of a past state, in document order."""
        self._add(nodes, {})

    def _add(self, nodes: Iterable[TreeNode], written: Mapping[str, dt.datetime]) -> None:
        turns = []
        for node in nodes:
            if node.kind in CONTAINERS:
                self._places[node.id] = node
            elif words := wording(node, self.schema):
                self.rows[node.id] = len(self.nodes)
                self.nodes.append(node)
                time = self._said(node) or written.get(node.id)
                turns.append(self._utterance(node, words, time))
                self._keep(
                    node, _moment(node.attributes.get("created")) or written.get(node.id) or time
                )
        self.index.extend(turns)

    def _keep(self, node: TreeNode, created: dt.datetime | None) -> None:
        life = vitality_of(node.kind, node.attributes, created or _NEVER)
        begun = node.attributes.get("time" if node.kind == "Turn" else "valid_from")
        self._alive.append(1)
        self._weight.append(life.weight)
        self._half.append(life.half_life or np.nan)
        self._pinned.append(life.pinned)
        self._since.append(life.created.timestamp())
        self._count.append(0.0)
        self._kind.append(self._kinds.setdefault(node.kind, len(self._kinds)))
        self._begun.append(_stamp(begun))
        self._ended.append(_stamp(node.attributes.get("valid_until")))
        self._archived.append(_stamp(node.attributes.get("archived")))
        self._expires.append(life.expires.toordinal() if life.expires else np.nan)

    def _utterance(self, node: TreeNode, words: str, time: dt.datetime | None) -> Utterance:
        is_turn = node.kind == "Turn"
        who = node.attributes.get("speaker" if is_turn else "subject")
        session = node.parent if is_turn and node.parent else node.id
        return Utterance(node.id, words, session, str(who or ""), time)

    def _said(self, node: TreeNode) -> dt.datetime | None:
        place = self._places.get(node.parent or "") if node.kind == "Turn" else None
        for one in (node, place):
            values = {} if one is None else one.attributes
            for name in _TIMES:
                if name in values and (moment := _moment(values[name])) is not None:
                    return moment
        return None

    def _visible(self) -> set[str] | None:
        mask = self.reader.visible(self.principal)
        if mask is None:
            return None
        ids = self.reader.table.ids
        return {ids[row] for row in np.flatnonzero(mask).tolist()}

    @property
    def weights(self) -> Floats:
        """What each row was worth at the start."""
        return np.array(self._weight)

    def has_vectors(self) -> bool:
        """Whether meanings can be compared: some memory was embedded, or all are few."""
        if len(self.rows) <= _EMBED_AT_ONCE:
            return True
        if not self.reader.catalog.vectors.models():
            return False
        self._load_vectors()
        return self._embedded > 0

    def question_vector(self, question: str) -> NDArray[np.float32]:
        """Meaning of a question."""
        found: NDArray[np.float32] = self.reader.embeddings.query_vector(question)
        return found

    def time(self, row: int) -> dt.datetime | None:
        """When the memory at a row was said or written."""
        return self.index.turns[row].time

    def line(self, row: int) -> str:
        """The memory at a row as a line of a prompt, with its time and speaker."""
        node, turn = self.nodes[row], self.index.turns[row]
        text = " ".join((node.text or statement(node)).split())
        head = f"{turn.time:%Y-%m-%d %H:%M} " if turn.time else ""
        return f"{head}{turn.speaker}: {text}" if node.kind == "Turn" else head + text

    def strengths(self, now: dt.datetime, policy: DecayPolicy, uses: Sequence[Use] = ()) -> Floats:
        """Strength of each row at a moment; see :func:`decay.strength`.

        Args:
            now: The moment.
            policy: Half-lives.
            uses: All uses so far, oldest first; those seen before are not looked at again.
        """
        for id_, count, last in uses[self._uses :]:
            row = self.rows.get(id_)
            if row is not None:
                self._since[row] = max(self._since[row], last)
                self._count[row] = count
        self._uses = len(uses)
        half = np.array(self._half)
        for kind, days in policy.half_lives.items():
            code = self._kinds.get(kind)
            if code is not None:
                half[(np.array(self._kind) == code) & np.isnan(half)] = days
        half = np.where(np.array(self._pinned) > 0, np.nan, half)
        if policy.growth != 1.0:
            half = half * policy.growth ** np.array(self._count)
        age = np.maximum(0.0, now.timestamp() - np.array(self._since)) / _DAY
        found: Floats = np.array(self._weight) * 0.5 ** np.nan_to_num(age / half)
        return found

    def holding(self, now: dt.datetime) -> NDArray[np.bool_]:
        """Flags of the rows that hold at a moment; begun, not ended, not expired,
        not archived."""
        moment = now.timestamp()
        held = np.array(self._alive) > 0
        held &= ~(np.array(self._begun) > moment)
        held &= ~(np.array(self._ended) <= moment)
        held &= ~(np.array(self._archived) <= moment)
        found: NDArray[np.bool_] = held & ~(np.array(self._expires) < now.date().toordinal())
        return found

    def _load_vectors(self) -> None:
        if self._known == len(self.nodes):
            return
        embeddings = self.reader.embeddings
        if len(self._vectors) < len(self.nodes):
            # Room for as many again: memories come one by one.
            room = np.full((2 * len(self.nodes), embeddings.dimension), np.nan, np.float32)
            if self._known:
                room[: self._known] = self._vectors[: self._known]
            self._vectors = room
        ids = [node.id for node in self.nodes[self._known :]]
        stored = self.reader.catalog.vectors.of_nodes(embeddings.code(), ids)
        for row, id_ in enumerate(ids, start=self._known):
            if id_ in stored:
                self._vectors[row] = np.frombuffer(stored[id_], np.float32)
                self._embedded += 1
        self._known = len(self.nodes)

    def vectors(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Vectors of rows; NaN for those that have none and are too many to compute now."""
        self._load_vectors()
        if self._embedded < len(self.rows):
            missing = rows[np.isnan(self._vectors[rows, 0])]
            missing = missing[[bool(self.index.turns[row].text) for row in missing.tolist()]]
            if 0 < len(missing) <= _EMBED_AT_ONCE:
                texts = [self.index.turns[row].text[:2000] for row in missing.tolist()]
                self._vectors[missing] = self.reader.embeddings.text_vectors(texts)
                self._embedded += len(missing)
        if len(rows) == len(self.nodes):
            return self._vectors[: len(rows)]
        found: NDArray[np.float32] = self._vectors[rows]
        return found


def statement(node: Any) -> str:
    """A node without text of its own as one line: its kind and what its attributes say.

    Example:
        >>> statement(TreeNode("1", "POI", "d", attributes={"name": "Harbour", "cost": 5}))
        'POI name: Harbour; cost: 5'
    """
    said = [
        f"{name}: {json_value(value)}"
        for name, value in node.attributes.items()
        if name not in KEEPING and value is not None
    ]
    return f"{node.kind} {'; '.join(said)}".strip()


def wording(node: TreeNode, schema: FactSchema) -> str:
    """The words by which a node is found: its text, what it names, and what people call it.

    Example:
        >>> node = TreeNode("1", "POI", "d", attributes={"name": "Harbour", "cost": 5})
        >>> wording(node, FactSchema())
        'Harbour'
    """
    parts = [node.text]
    attributes = node.attributes
    for name, value in attributes.items():
        if name in KEEPING or (name in ("speaker", "title") and value == node.text):
            continue
        if isinstance(value, str) and value not in node.text:
            parts.append(value.replace("_", " ") if name == "attribute" else value)
        elif isinstance(value, list):
            parts.extend(one for one in value if isinstance(one, str))
    known = attributes.get("attribute")
    if isinstance(known, str):
        parts.extend(schema.spec(known).labels)
    if node.kind == "Turn":
        parts = [node.text]
    return " ".join(part for part in parts if part)[:_MOST_CHARS].strip()


def _seen(node: TreeNode, visible: set[str] | None) -> bool:
    return visible is None or node.id in visible


_NEVER = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def _moment(value: Any) -> dt.datetime | None:
    if isinstance(value, dt.datetime):
        return value if value.tzinfo else value.replace(tzinfo=dt.UTC)
    if isinstance(value, dt.date):
        return dt.datetime.combine(value, dt.time(), dt.UTC)
    if isinstance(value, str) and value[:4].isdigit():
        try:
            return _moment(dt.datetime.fromisoformat(value))
        except ValueError:
            return None
    return None


def _stamp(value: Any) -> float:
    moment = _moment(value)
    return np.nan if moment is None else moment.timestamp()
