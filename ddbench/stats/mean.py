"""Means: of repeats, which are few and alike, and of requests, which come in prompts."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from ddbench.errors import NotComparable
from ddbench.stats.clusters import cluster_sums
from ddbench.stats.interval import CONFIDENCE, Interval
from ddbench.stats.jackknife import log_jackknife

MIN_REPEATS = 2
MIN_CLUSTERS = 40
"""More than a ratio needs: the length of a prompt does not cancel in a mean."""


def mean_interval(values: ArrayLike, *, confidence: float = CONFIDENCE) -> Interval:
    """Mean of independent repeats, with Student's t interval; one repeat has none.

    Exact for normal noise from two repeats on, and wide there: 12.7 standard errors.

    Raises NotComparable for no values or one that is not finite.
    """
    numbers = np.asarray(values, dtype=np.float64).ravel()
    if numbers.size == 0 or not np.isfinite(numbers).all():
        raise NotComparable(
            "a mean of nothing, or of a value that is not a finite number",
            remedy="Leave out what was not measured; do not fill it in.",
        )
    value = float(numbers.mean())
    low = high = None
    if numbers.size >= MIN_REPEATS:
        error = float(numbers.std(ddof=1)) / numbers.size**0.5
        reach = float(stdtrit(numbers.size - 1, (1.0 + confidence) / 2.0)) * error
        low, high = value - reach, value + reach
    return Interval(value, low, high, numbers.size, confidence, "Student's t over repeats")


def clustered_mean(
    values: ArrayLike, clusters: Sequence[str], *, confidence: float = CONFIDENCE
) -> Interval:
    """Mean over requests of a positive quantity, with an interval clustered by prompt.

    A nominal 95 % interval covered, in 10,000 simulated experiments: 0.947 at 40 prompts for a
    spread of 20 %; 0.915 at 40 and 0.933 at 96 on lognormal(sigma 1), where Student's t covers
    0.885 and 0.91.

    Args:
        values: shape (requests,), of positive total.
        clusters: the prompt id of each request; repeats of a prompt count as one unit.

    Raises NotComparable for no values, unequal lengths or a value that is not finite.
    """
    return log_jackknife(
        [cluster_sums(values, clusters)],
        [cluster_sums(np.ones(len(clusters)), clusters)],
        least=MIN_CLUSTERS,
        confidence=confidence,
    )
