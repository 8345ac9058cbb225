"""Paired comparison of two pipelines over the same questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much better one pipeline is than another.

    Args:
        difference: Mean difference.
        low: Lower end of the confidence interval.
        high: Upper end.
        better: Questions on which the first is better.
        worse: Questions on which it is worse.
    """

    difference: float
    low: float
    high: float
    better: int
    worse: int

    @property
    def certain(self) -> bool:
        """Whether the interval lies on one side of 0."""
        return self.low > 0.0 or self.high < 0.0


def paired(
    first: Sequence[float],
    second: Sequence[float],
    *,
    level: float = 0.95,
    samples: int = 2000,
    seed: int = 7,
) -> Comparison:
    """Paired bootstrap of the mean difference (Efron and Tibshirani 1993, percentile interval).

    Args:
        first: A figure of each question.
        second: The same of the other pipeline, in the same order.
        level: Confidence, in (0, 1).
        samples: Resamples, 1 and up.
        seed: Of the resampling: the same figures give the same interval.

    Raises:
        ValueError: Different numbers of figures, or none.

    Example:
        >>> paired([1.0, 1.0, 0.5], [0.0, 0.5, 0.5]).better
        2
    """
    if len(first) != len(second) or not first:
        raise ValueError("a paired comparison needs the same questions of both, at least one")
    differences = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    draws = np.random.default_rng(seed).integers(0, len(differences), (samples, len(differences)))
    means = differences[draws].mean(axis=1)
    edge = 100 * (1 - level) / 2
    low, high = np.percentile(means, [edge, 100 - edge])
    return Comparison(
        float(differences.mean()),
        float(low),
        float(high),
        int((differences > 0).sum()),
        int((differences < 0).sum()),
    )
