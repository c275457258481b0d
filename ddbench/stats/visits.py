"""Repeats that come in visits: trials of one launch share what that launch happened to be like."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ddbench.errors import NotComparable
from ddbench.stats.interval import CONFIDENCE, Interval
from ddbench.stats.mean import mean_interval
from ddbench.stats.pairs import ratio_of_pairs

OVER_VISITS = "Student's t on logs over visits"


def ratio_over_visits(
    first: ArrayLike, second: ArrayLike, visits: Sequence[int], *, confidence: float = CONFIDENCE
) -> Interval:
    """Geometric mean of first / second, its interval over visits where there are two or more.

    A visit launches the servers anew. The repeats inside one tell how much a trial differs from the
    next, and not how much a launch does from the next one, so with several visits each counts once,
    by the mean of its repeats; n counts visits. With a single visit it is ratio_of_pairs, whose
    interval lacks the launches.

    Covers as often as it claims whatever the share of the launches in the noise: 0.950 with two
    visits of two repeats, where pairs taken for independent covered 0.83 with launches and repeats
    alike, and 0.67 with launches of three times the spread (20,000 experiments each).

    Args:
        first, second: positive rates, shape (pairs,), aligned by visit and repeat.
        visits: the visit of each pair.

    Raises NotComparable as ratio_of_pairs, and for unequal lengths.
    """
    pairs = ratio_of_pairs(first, second, confidence=confidence)
    labels = np.asarray(visits)
    if labels.shape != (pairs.n,):
        raise NotComparable(
            f"{labels.size} visits of {pairs.n} pairs", remedy="Give every pair its visit."
        )
    if np.unique(labels).size < 2:
        return pairs
    logs = np.log(np.asarray(first, dtype=np.float64) / np.asarray(second, dtype=np.float64))
    means = np.array([logs[labels == visit].mean() for visit in np.unique(labels)])
    return exponential(mean_interval(means, confidence=confidence), method=OVER_VISITS)


def exponential(logs: Interval, *, method: str) -> Interval:
    """A mean of logarithms as a geometric mean."""
    low, high = (None if bound is None else float(np.exp(bound)) for bound in (logs.low, logs.high))
    return replace(logs, value=float(np.exp(logs.value)), low=low, high=high, method=method)
