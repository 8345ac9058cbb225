"""From cosines to scores that mean the same for every phrase.

A cosine by itself means little: models differ in how alike they find unrelated texts, and so do
phrases of one model. A phrase is therefore measured against a background, the cosines that it has
with texts that have nothing to do with it: a sample of the corpus, and, as a small corpus may be
all about the phrase, everyday phrases and sentences in two languages.

Two figures tell how far a node stands out:

- the *way* from typical to identical, ``(cosine - typical) / (1 - typical)``: what counts for short
  texts, which can come close to a phrase;
- the *standard score* ``(cosine - median) / spread`` with the median absolute deviation as spread
  (Rousseeuw & Croux, JASA 1993): what counts for long texts, whose cosines stay low.

Each goes through a logistic curve; the greater of the two is the score. Half-way to identical, or
three and a half spreads above the rest, is 0.5, the default threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from llama_index_semxpath.engines.base import Vectors, VectorSource
from llama_index_semxpath.tree.columns import Floats

#: Names the calibration in cache keys; changes with any figure below.
VERSION = "way+spread/2"

_SAMPLE = 1024
#: Below this many texts a corpus may be about one thing, so its median is no background.
_LARGE = 256
_WAY_HALF, _WAY_SLOPE = 0.5, 12.0
_SPREAD_HALF, _SPREAD_SLOPE = 3.5, 2.5
#: A text may stand out from the rest and still be far away: the least way, softly.
_FLOOR, _FLOOR_SLOPE = 0.25, 25.0
#: Least distance from typical to identical that is divided by.
_NO_WAY = 1e-6
#: Median absolute deviation to standard deviation, for a normal distribution.
_MAD = 1.4826

#: Everyday phrases without a common subject.
EVERYDAY = (
    "a cup of coffee", "the weather tomorrow", "blue paint", "train station", "an old friend",
    "the speed of light", "wooden chair", "music lesson", "tax return", "winter coat",
    "broken window", "football match", "birth certificate", "fresh bread", "mountain path",
    "phone battery", "garden tools", "history of Rome", "monthly report", "swimming pool",
    "traffic light", "wedding ring", "software update", "fishing boat", "hospital bed",
    "red apple", "night shift", "library card", "gold price", "school bus",
    "明天的天气", "一杯咖啡", "火车站", "老朋友", "木头椅子", "音乐课", "冬天的大衣", "足球比赛",
    "出生证明", "新鲜面包", "登山路线", "手机电池", "园艺工具", "罗马历史", "每月报告", "游泳池",
    "红绿灯", "结婚戒指", "软件升级", "渔船", "病床", "红苹果", "夜班", "图书证", "黄金价格",
)  # fmt: skip
#: Everyday sentences without a common subject, as long as a short paragraph.
SENTENCES = (
    "The bus leaves from the station every twenty minutes and stops at the museum and the market.",
    "She painted the kitchen door green last summer, and now the whole house smells of flowers.",
    "Please send the signed form back before Friday so that we can book the tickets in time.",
    "The river was frozen in January, and children were skating from one bank to the other.",
    "Our neighbour has two dogs and a parrot that speaks better French than I do.",
    "Stir the flour into the butter, add the milk slowly and let it boil for five minutes.",
    "The engine makes a strange noise when the car goes uphill, but it never stops.",
    "He read the last page twice, closed the book and looked out of the window for a while.",
    "The committee meets on the first Monday of the month to discuss the plans for the new bridge.",
    "Most of the stars that we see at night are larger than our own sun and very far away.",
    "The screen stays black after the update, although the light at the front is on.",
    "Prices for apartments in the centre rose again, while fewer houses were built than last year.",
    "公共汽车每二十分钟从车站出发，途中在博物馆和市场停靠。",
    "去年夏天她把厨房的门漆成了绿色，现在整个屋子都是花香。",
    "请在星期五之前把签好字的表格寄回来，这样我们才能及时订票。",
    "一月份河面结了冰，孩子们从河的这一边滑到那一边。",
    "邻居养了两条狗和一只鹦鹉，那只鹦鹉的法语说得比我好。",
    "把面粉放进黄油里搅拌，慢慢加入牛奶，再煮五分钟。",
    "汽车上坡的时候发动机会发出奇怪的声音，但是从来没有熄过火。",
    "他把最后一页读了两遍，合上书，望着窗外出了一会儿神。",
    "委员会在每月的第一个星期一开会，讨论新桥的修建方案。",
    "我们晚上看到的大多数星星都比太阳大，而且离我们非常远。",
    "更新以后屏幕一直是黑的，不过前面的指示灯还亮着。",
    "市中心公寓的价格又上涨了，而新建的房屋比去年少。",
)


@dataclass(frozen=True, slots=True)
class Background:
    """How alike a phrase is to texts that have nothing to do with it.

    Args:
        typical: The cosine of an unrelated text, in [-1, 1).
        median: Median cosine with long unrelated texts.
        spread: Spread of the cosines with long unrelated texts; ``None`` judges by the way alone.
    """

    typical: float
    median: float
    spread: float | None

    @classmethod
    def of(
        cls, vector: Vectors, corpus: Vectors, everyday: Vectors, sentences: Vectors
    ) -> Background:
        """The background of a phrase.

        Args:
            vector: Unit vector of the phrase, shape (d,).
            corpus: Unit vectors of a sample of the corpus, shape (n, d); n may be 0.
            everyday: Unit vectors of :data:`EVERYDAY`, shape (m, d).
            sentences: Unit vectors of :data:`SENTENCES`, shape (k, d).
        """
        usual = float(np.median(everyday @ vector))
        if len(corpus) < _LARGE:
            # A small corpus may be all about the phrase, so it does not say what is usual.
            return cls(usual, *_center_and_spread(sentences @ vector))
        median, spread = _center_and_spread(corpus @ vector)
        return cls(max(usual, min(median, 0.9)), median, spread)

    def scores(self, given: npt.NDArray[np.floating[Any]]) -> Floats:
        """Scores in (0, 1) of nodes with the given cosines; monotone in the cosine.

        Example:
            >>> Background(0.2, 0.2, None).scores(np.array([0.2, 0.6, 1.0])).round(3).tolist()
            [0.002, 0.5, 0.998]
        """
        cosines: Floats = given.astype(np.float64)
        # A corpus may hold nothing but the phrase itself: then no way is left.
        way: Floats = (cosines - self.typical) / max(1.0 - self.typical, _NO_WAY)
        near = _logistic(_WAY_SLOPE * (way - _WAY_HALF))
        if self.spread is None:
            return near
        spreads: Floats = (cosines - self.median) / self.spread
        outlying = _logistic(_SPREAD_SLOPE * (spreads - _SPREAD_HALF))
        floor = _logistic(_FLOOR_SLOPE * (way - _FLOOR))
        result: Floats = np.maximum(near, np.minimum(outlying, floor))
        return result

    def least_cosine(self, score: float) -> float:
        """The cosine from which on nodes score at least ``score``, by bisection.

        Example:
            >>> round(Background(0.2, 0.2, None).least_cosine(0.5), 3)
            0.6
        """
        low, high = -1.0, 1.0
        for _ in range(40):
            middle = (low + high) / 2
            if float(self.scores(np.array([middle]))[0]) >= score:
                high = middle
            else:
                low = middle
        return high


class Calibration:
    """Backgrounds of phrases for one vector source, kept once measured.

    Args:
        vectors: The embeddings.
    """

    def __init__(self, vectors: VectorSource) -> None:
        self._vectors = vectors
        self._sample: Vectors | None = None
        self._everyday: Vectors | None = None
        self._sentences: Vectors | None = None
        self._known: dict[str, Background] = {}

    def background(self, phrase: str, vector: Vectors) -> Background:
        """The background of a phrase whose vector is given."""
        if phrase not in self._known:
            if self._everyday is None or self._sentences is None or self._sample is None:
                self._everyday = self._vectors.text_vectors(EVERYDAY)
                self._sentences = self._vectors.text_vectors(SENTENCES)
                self._sample = self._vectors.sample(_SAMPLE)
            self._known[phrase] = Background.of(
                vector, self._sample, self._everyday, self._sentences
            )
        return self._known[phrase]


def _center_and_spread(cosines: Vectors) -> tuple[float, float]:
    """Median, and the median absolute deviation scaled to a standard deviation."""
    center = float(np.median(cosines))
    return center, max(_MAD * float(np.median(np.abs(cosines - center))), 1e-3)


def _logistic(x: npt.NDArray[Any]) -> Floats:
    # Beyond +-60 the curve is flat in double precision, and exp() would overflow.
    result: Floats = 1.0 / (1.0 + np.exp(-np.clip(x, -60.0, 60.0)))
    return result
