"""Which turns of long conversations are evidence for a question.

A turn seldom says in its own words what it is about: "I started it two years ago" answers a
question that the turn before has asked, in a session whose subject was named once. So a turn is
graded by its own words, by those of its neighbours, by its session, by meaning (its own and its
predecessor's), by who speaks and by when. Word evidence is BM25 (Robertson and Zaragoza, "The
Probabilistic Relevance Framework: BM25 and Beyond", 2009), over turns, windows and sessions; each
part is brought to about [0, 1] and the parts are added.
"""

from __future__ import annotations

import datetime as dt
import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llama_index_semxpath.memory.times import Period, find_times
from llama_index_semxpath.retrievers.words import STOPWORDS
from llama_index_semxpath.text import words

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
#: Unit vectors of the turns at some rows, one a row; NaN where there is none.
Vectors = Callable[[Rows], NDArray[np.float32]]

_K1, _B = 1.2, 0.75
#: Turns of which all meanings are compared; of more, those of the likeliest by words, date and
#: speaker, unless none of these tells turns apart.
_ALL_COMPARED = 2_000
_COMPARED = 600
#: A word in more than this share of a memory of more turns than this is passed over.
_EVERYWHERE, _LARGE = 0.5, 1_000
#: Sorting few places is cheaper than counting all, up to one in so many.
_SPARSE = 16
#: Days after a period in which people still tell what happened in it.
_TOLD_LATER = 10
_TOLD = 0.5
_NAME = r"(?<!\w){}(?:['’]s?)?(?!\w)"
_CONTRACTED = frozenset(
    "s t d m re ve ll im ive don didn doesn isn wasn aren weren got get".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Utterance:
    """One turn of a conversation, or one remembered sentence.

    Args:
        id: Its id.
        text: What was said.
        session: What it was said in; a sentence remembered by itself has a session of its own.
        speaker: Who said it.
        time: When, with a time zone.
    """

    id: str
    text: str
    session: str
    speaker: str = ""
    time: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class EvidenceWeights:
    """How much each sign counts.

    Args:
        own: Words of the turn itself, in [0, 1] before weighing.
        nearby: Words of the turn and its two neighbours, [0, 1].
        session: Words of the session, [0, 1].
        meaning: Similarity of meaning, about [-0.5, 1].
        speaker: The question names who speaks (1), or somebody else of the conversation (-1).
        date: The question names a time in which the turn was said or of which it tells, [0, 1].
    """

    own: float = 1.0
    nearby: float = 1.0
    session: float = 1.0
    meaning: float = 1.0
    speaker: float = 0.5
    date: float = 1.5


@dataclass(frozen=True, slots=True)
class Evidence:
    """The grade of every turn for one question.

    Args:
        scores: One figure a turn; only their order means something.
        parts: The weighed signs by name, one figure a turn each: why a turn stands where it does.
    """

    scores: Floats
    parts: dict[str, Floats]

    def best(self) -> list[int]:
        """Rows, best first; equal ones in order of speech.

        Example:
            >>> Evidence(np.array([0.1, 0.9]), {}).best()
            [1, 0]
        """
        order: list[int] = np.argsort(-self.scores, kind="stable").tolist()
        return order


@dataclass
class EvidenceIndex:
    """Word statistics of turns; turns can be added, in order of speech.

    Example:
        >>> index = EvidenceIndex([
        ...     Utterance("1", "What do you play?", "a", "Ann"),
        ...     Utterance("2", "Chess. I love that game.", "a", "Bo"),
        ...     Utterance("3", "I had soup for lunch.", "b", "Ann")])
        >>> index.ids[index.grade("Which game does Bo play?").best()[0]]
        '2'
    """

    turns: list[Utterance] = field(default_factory=list)

    def __post_init__(self) -> None:
        given, self.turns = self.turns, []
        self.ids: list[str] = []
        self._postings: dict[str, tuple[array[int], array[float]]] = {}
        self._lengths = array("d")
        self._sessions: dict[str, int] = {}
        self._session = array("q")
        self._before, self._after = array("q"), array("q")
        self._last: dict[str, int] = {}
        self._speakers: dict[str, int] = {}
        self._speaker = array("q")
        self._times = array("d")
        self._arrays: _Arrays | None = None
        self.extend(given)

    def __len__(self) -> int:
        return len(self.turns)

    def extend(self, turns: Iterable[Utterance]) -> None:
        """Add turns after those that are there."""
        for turn in turns:
            row = len(self.turns)
            self.turns.append(turn)
            self.ids.append(turn.id)
            stems = content_stems(turn.text)
            self._lengths.append(len(stems))
            for stem in set(stems):
                rows, counts = self._postings.setdefault(stem, (array("q"), array("d")))
                rows.append(row)
                counts.append(stems.count(stem))
            before = self._last.get(turn.session, -1)
            self._before.append(before)
            self._after.append(-1)
            if before >= 0:
                self._after[before] = row
            self._last[turn.session] = row
            self._session.append(self._sessions.setdefault(turn.session, len(self._sessions)))
            self._speaker.append(self._speakers.setdefault(turn.speaker, len(self._speakers)))
            self._times.append(turn.time.timestamp() if turn.time else np.nan)
        self._arrays = None

    @property
    def speakers(self) -> list[str]:
        """Names of those who spoke."""
        return [name for name in self._speakers if name]

    @property
    def times(self) -> Floats:
        """When each turn was said, in seconds; NaN where that is not known."""
        return self._current().times

    def blank(self, row: int) -> None:
        """Take the words of a turn away, so that nothing of it counts any more."""
        turn = self.turns[row]
        for stem in set(content_stems(turn.text)):
            rows, counts = self._postings[stem]
            counts[bisect_left(rows, row)] = 0.0
        self._lengths[row] = 0.0
        self._times[row] = np.nan
        self.turns[row] = Utterance(turn.id, "", turn.session)
        self._arrays = None

    def grade(
        self,
        question: str,
        *,
        now: dt.datetime | None = None,
        vectors: Vectors | None = None,
        question_vector: NDArray[np.float32] | None = None,
        weights: EvidenceWeights | None = None,
    ) -> Evidence:
        """Grade all turns.

        Args:
            question: English or Chinese.
            now: What "last week" counts from; without it relative times are not read.
            vectors: Meaning of the turns at given rows.
            question_vector: Meaning of the question, of length 1.
            weights: How much each sign counts.
        """
        weights = weights or EvidenceWeights()
        if not self.turns:
            return Evidence(np.zeros(0), {})
        arrays = self._current()
        named = [name for name in self._speakers if name and names(question, name)]
        stems = dict.fromkeys(content_stems(_without(question, self._speakers)))
        own, nearby, session = self._by_words(list(stems), arrays)
        parts = {
            "own": weights.own * own,
            "nearby": weights.nearby * nearby,
            "session": weights.session * session[arrays.session],
            "speaker": weights.speaker * self._by_speaker(named, arrays),
            "date": weights.date * self._by_date(question, now, arrays),
        }
        if vectors is not None and question_vector is not None and weights.meaning:
            likely: Floats = np.sum(list(parts.values()), axis=0)
            parts["meaning"] = weights.meaning * _by_meaning(
                likely, arrays, vectors, question_vector
            )
        return Evidence(np.sum(list(parts.values()), axis=0), parts)

    def _current(self) -> _Arrays:
        if self._arrays is None:
            self._arrays = _Arrays(
                session=np.array(self._session, np.intp),
                lengths=np.array(self._lengths),
                speaker=np.array(self._speaker, np.intp),
                times=np.array(self._times),
                previous=np.array(self._before, np.intp),
                following=np.array(self._after, np.intp),
            )
        return self._arrays

    def _by_words(self, stems: Sequence[str], arrays: _Arrays) -> tuple[Floats, Floats, Floats]:
        count, sessions = len(self.turns), len(self._sessions)
        own, nearby, session = np.zeros(count), np.zeros(count), np.zeros(sessions)
        for stem in stems:
            if stem not in self._postings or self._is_everywhere(stem):
                continue
            rows, times = (np.array(one) for one in self._postings[stem])
            rows, times = rows[times > 0], times[times > 0]
            _add_bm25(own, rows, times, arrays.norm)
            _add_bm25(nearby, *arrays.spread(rows, times), arrays.norm_around)
            said_in = _summed(arrays.session[rows], times, sessions)
            _add_bm25(session, *said_in, arrays.norm_session)
        return _share(own), _share(nearby), _share(session)

    def _is_everywhere(self, stem: str) -> bool:
        """Whether a word stands in so many turns of a large memory that it tells nothing."""
        count = len(self.turns)
        return count > _LARGE and len(self._postings[stem][0]) > _EVERYWHERE * count

    def _by_speaker(self, named: Sequence[str], arrays: _Arrays) -> Floats:
        if len(named) != 1:
            return np.zeros(len(self.turns))
        signs = np.where(arrays.speaker == self._speakers[named[0]], 1.0, -1.0)
        unknown = self._speakers.get("")
        if unknown is not None:
            signs[arrays.speaker == unknown] = 0.0
        return signs

    def _by_date(self, question: str, now: dt.datetime | None, arrays: _Arrays) -> Floats:
        marks = np.zeros(len(self.turns))
        told = arrays.times[~np.isnan(arrays.times)]
        if not len(told):
            return marks
        zone = now.tzinfo if now else dt.UTC
        latest = dt.datetime.fromtimestamp(float(told.max()), zone)
        first = dt.datetime.fromtimestamp(float(told.min()), zone)
        mentions = find_times(question, now or latest, years=range(first.year, latest.year + 1))
        later = dt.timedelta(days=_TOLD_LATER).total_seconds()
        for period in (period for mention in mentions for period in mention.periods):
            start, end = period.start.timestamp(), period.end.timestamp()
            gap = arrays.times - end
            marks[(gap >= 0) & (gap < later)] = np.maximum(marks[(gap >= 0) & (gap < later)], _TOLD)
            marks[(arrays.times >= start) & (gap < 0)] = 1.0
            for row in np.flatnonzero((gap >= 0) & (gap < 5 * later)).tolist():
                if self._tells_of(row, period):
                    marks[row] = 1.0
        return marks

    def _tells_of(self, row: int, period: Period) -> bool:
        """Whether a turn says "yesterday" or the like of a time in the period."""
        turn = self.turns[row]
        if turn.time is None:
            return False
        return any(
            told.start < period.end and period.start < told.end
            for mention in _mentions(turn.text, turn.time)
            for told in mention.periods
        )


@dataclass(frozen=True)
class _Arrays:
    session: Rows
    lengths: Floats
    speaker: Rows
    times: Floats
    #: Rows of the turns before and after in the session, -1 where there is none.
    previous: Rows
    following: Rows

    def before(self, values: Floats) -> Floats:
        """What the turn before has, 0 for the first of a session."""
        return np.where(self.previous >= 0, values[self.previous], 0.0)

    def spread(self, rows: Rows, values: Floats) -> tuple[Rows, Floats]:
        """Rows whose turn or neighbours have a value, and what these have together."""
        places = np.concatenate([rows, self.previous[rows], self.following[rows]])
        return _summed(places[places >= 0], np.tile(values, 3)[places >= 0], len(self.session))

    @cached_property
    def norm(self) -> Floats:
        """What the length of a turn takes from its words."""
        return _norm(self.lengths)

    @cached_property
    def norm_around(self) -> Floats:
        """The same for a turn with its neighbours."""
        after = np.where(self.following >= 0, self.lengths[self.following], 0.0)
        return _norm(self.lengths + self.before(self.lengths) + after)

    @cached_property
    def norm_session(self) -> Floats:
        """The same for sessions."""
        return _norm(np.bincount(self.session, self.lengths).astype(np.float64))


@lru_cache(maxsize=4_096)
def content_stems(text: str) -> tuple[str, ...]:
    """Stems of the words that carry the meaning of a text, as often as they occur.

    Example:
        >>> content_stems("We were painting; she's painted it for 合同")
        ('paint', 'paint', '合同')
    """
    kept = [word for word in words(text) if word not in STOPWORDS and word not in _CONTRACTED]
    return tuple(stems(kept))


def stems(tokens: Sequence[str]) -> list[str]:
    """English stems of words (Porter's second stemmer); others stay as they are.

    Example:
        >>> stems(["painted", "合同"])
        ['paint', '合同']
    """
    return [_stem(token) for token in tokens]


@lru_cache(maxsize=262_144)
def _stem(word: str) -> str:
    # A vocabulary is small beside what is said with it, and the stemmer is slow.
    return str(_stemmer().stemWord(word)) if word.isascii() else word


def names(text: str, name: str) -> bool:
    """Whether a text names somebody.

    Example:
        >>> names("Ann's car?", "Ann"), names("Annual leave", "Ann"), names("李雷的车", "李雷")
        (True, False, True)
    """
    if not name.isascii():
        return name in text
    return re.search(_NAME.format(re.escape(name)), text, re.IGNORECASE) is not None


def _without(text: str, speakers: Iterable[str]) -> str:
    """A question without the names of who takes part: they speak everywhere."""
    for name in filter(None, speakers):
        text = (
            re.sub(_NAME.format(re.escape(name)), " ", text, flags=re.IGNORECASE)
            if name.isascii()
            else text.replace(name, " ")
        )
    return text


@lru_cache(maxsize=65_536)
def _mentions(text: str, time: dt.datetime) -> tuple[Any, ...]:
    return tuple(find_times(text[:2000], time))


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")


def _summed(places: Rows, values: Floats, count: int) -> tuple[Rows, Floats]:
    """Each place once, with the sum of its values; ``count`` is the number of all places."""
    if len(places) * _SPARSE > count:
        total = np.bincount(places, values, minlength=count).astype(np.float64)
        held = np.flatnonzero(total)
        return held, total[held]
    found, at = np.unique(places, return_inverse=True)
    return found, np.bincount(at, values, minlength=len(found)).astype(np.float64)


def _norm(lengths: Floats) -> Floats:
    return _K1 * (1 - _B + _B * lengths / max(1.0, float(lengths.mean())))


def _add_bm25(scores: Floats, rows: Rows, held: Floats, norm: Floats) -> None:
    rarity = np.log1p((len(scores) - len(rows) + 0.5) / (len(rows) + 0.5))
    scores[rows] += rarity * held * (_K1 + 1) / (held + norm[rows])


def _share(scores: Floats) -> Floats:
    best = scores.max(initial=0.0)
    return scores / best if best > 0 else scores


def _by_meaning(
    likely: Floats, arrays: _Arrays, vectors: Vectors, question: NDArray[np.float32]
) -> Floats:
    """How far a turn and its predecessor stand out by meaning, in quarters of a deviation."""
    rows = np.arange(len(likely))
    if len(rows) > _ALL_COMPARED and float(np.ptp(likely)) > 0:
        rows = np.sort(np.argpartition(-likely, _COMPARED)[:_COMPARED])
    cosines = np.full(len(likely), np.nan)
    cosines[rows] = vectors(rows) @ question
    known = cosines[~np.isnan(cosines)]
    if not len(known):
        return np.zeros(len(likely))
    spread = float(known.std()) or 1.0
    standing = np.nan_to_num((cosines - float(known.mean())) / spread / 4)
    result: Floats = (standing + arrays.before(standing)) / 2
    return result
