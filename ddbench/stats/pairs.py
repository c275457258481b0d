"""One arm's repeats against another's, repeat by repeat."""

import numpy as np
from numpy.typing import ArrayLike

from ddbench.errors import NotComparable
from ddbench.stats.interval import CONFIDENCE, Interval
from ddbench.stats.mean import mean_interval


def ratio_of_pairs(
    first: ArrayLike, second: ArrayLike, *, confidence: float = CONFIDENCE
) -> Interval:
    """Geometric mean of first / second over paired repeats, with Student's t on the logarithms.

    One pair has no interval; two have a wide one (12.7 standard errors). Swapping the arms inverts
    the interval.

    Args:
        first, second: positive rates, shape (pairs,), aligned by repeat.

    Raises NotComparable for unequal lengths, no pairs, or a rate that is not positive.
    """
    above, below = (np.asarray(side, dtype=np.float64).ravel() for side in (first, second))
    if above.shape != below.shape or above.size == 0:
        raise NotComparable(
            f"{above.size} repeats of one arm and {below.size} of the other",
            remedy="Run both arms equally often and pair them by repeat.",
        )
    if not (np.concatenate([above, below]) > 0.0).all():
        raise NotComparable(
            "a rate that is not positive",
            remedy="Leave out the repeat: it measured nothing.",
        )
    logs = mean_interval(np.log(above / below), confidence=confidence)
    return Interval(
        value=float(np.exp(logs.value)),
        low=None if logs.low is None else float(np.exp(logs.low)),
        high=None if logs.high is None else float(np.exp(logs.high)),
        n=logs.n,
        confidence=confidence,
        method="Student's t on logs over paired repeats",
    )
