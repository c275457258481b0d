"""The median, with an interval that assumes nothing of the distribution."""

import numpy as np
from numpy.typing import ArrayLike

from ddbench.errors import NotComparable
from ddbench.stats.interval import CONFIDENCE, Interval
from ddbench.stats.quantile import order_ranks


def median_interval(values: ArrayLike, *, confidence: float = CONFIDENCE) -> Interval:
    """Median of independent values, with the interval between two order statistics.

    Covers at least `confidence` for any continuous distribution, lognormal(sigma 1) as well; at
    95 % from 6 values on (0.969), and more where ranks fall badly (0.993 with 8).

    Raises NotComparable for no values or one that is not finite.

    Source: Conover, Practical Nonparametric Statistics (1999), section 3.2.
    """
    numbers = np.sort(np.asarray(values, dtype=np.float64).ravel())
    if numbers.size == 0 or not np.isfinite(numbers).all():
        raise NotComparable(
            "a median of nothing, or of a value that is not a finite number",
            remedy="Leave out what was not measured; do not fill it in.",
        )
    ranks = order_ranks(numbers.size, 0.5, confidence)
    low, high = (None, None) if ranks is None else (float(numbers[rank]) for rank in ranks)
    value = float(np.median(numbers))
    return Interval(value, low, high, numbers.size, confidence, "order statistics over prompts")
