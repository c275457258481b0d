"""The median, with an interval that assumes nothing of the distribution."""

import numpy as np
from numpy.typing import ArrayLike

from ddbench.errors import NotComparable
from ddbench.stats.interval import CONFIDENCE, Interval
from ddbench.stats.quantile import METHOD, at_rank, order_ranks


def median_interval(values: ArrayLike, *, confidence: float = CONFIDENCE) -> Interval:
    """Median of independent values, with the interval of ddbench.stats.quantile.order_ranks.

    From 6 values on at 95 %. That covered, of 20,000 experiments each, 0.941 to 0.951 of lognormal
    (sigma 1) values, 0.939 to 0.959 of resamples of the seconds that measured prompts took
    (tests/stats/test_coverage.py).

    Raises NotComparable for no values or one that is not finite.
    """
    numbers = np.sort(np.asarray(values, dtype=np.float64).ravel())
    if numbers.size == 0 or not np.isfinite(numbers).all():
        raise NotComparable(
            "a median of nothing, or of a value that is not a finite number",
            remedy="Leave out what was not measured; do not fill it in.",
        )
    ranks = order_ranks(numbers.size, 0.5, confidence)
    low, high = (None, None) if ranks is None else (float(at_rank(numbers, r)) for r in ranks)
    return Interval(float(np.median(numbers)), low, high, numbers.size, confidence, METHOD)
