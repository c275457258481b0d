"""The median, with an interval that assumes nothing of the distribution."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr

from ddbench.errors import NotComparable
from ddbench.stats.interval import CONFIDENCE, Interval


def median_interval(values: ArrayLike, *, confidence: float = CONFIDENCE) -> Interval:
    """Median of independent values, with the interval between two order statistics.

    Covers at least `confidence` for any continuous distribution; at 95 % from 6 values on.

    Raises NotComparable for no values or one that is not finite.

    Source: Conover, Practical Nonparametric Statistics (1999), section 3.2.
    """
    numbers = np.sort(np.asarray(values, dtype=np.float64).ravel())
    if numbers.size == 0 or not np.isfinite(numbers).all():
        raise NotComparable(
            "a median of nothing, or of a value that is not a finite number",
            remedy="Leave out what was not measured; do not fill it in.",
        )
    # bdtr(k, n, 1/2): the chance that at most k values lie below the true median
    below = bdtr(np.arange(numbers.size, dtype=np.float64), numbers.size, 0.5)
    outside = int(np.count_nonzero(below[: numbers.size // 2] <= (1.0 - confidence) / 2.0))
    low = high = None
    if outside:
        low, high = float(numbers[outside - 1]), float(numbers[-outside])
    value = float(np.median(numbers))
    return Interval(value, low, high, numbers.size, confidence, "order statistics over prompts")
