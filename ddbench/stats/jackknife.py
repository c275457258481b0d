"""The interval of a product and quotient of sums, by leaving out one cluster at a time."""

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from ddbench.errors import NotComparable
from ddbench.stats.clusters import Floats
from ddbench.stats.interval import Interval


def log_jackknife(
    above: Sequence[Floats],
    below: Sequence[Floats],
    *,
    least: int,
    confidence: float,
) -> Interval:
    """Product of the totals of `above` over those of `below`, with an interval over clusters.

    Delete-one jackknife of the logarithm, which keeps the interval positive and a ratio's interval
    the inverse of the inverse ratio's; a t quantile with clusters - 1 degrees of freedom. It draws
    no random numbers, so a report is reproducible without a seed.

    Args:
        above, below: sums by cluster, each of shape (clusters,), clusters aligned.
        least: fewer clusters than this give a value without an interval.

    Raises NotComparable for unequal shapes and when a total below is not positive.

    Source: Efron & Tibshirani, An Introduction to the Bootstrap (1993), ch. 11.
    """
    sums = np.stack([*above, *below]) if _aligned([*above, *below]) else _refuse_shapes()
    signs = np.repeat([1.0, -1.0], [len(above), len(below)])
    totals = sums.sum(axis=1)
    if (totals[len(above) :] <= 0.0).any():
        raise NotComparable(
            "a ratio to a total that is not positive",
            remedy="Leave out the arm: it measured nothing to divide by.",
        )
    value = float(np.prod(totals**signs))
    clusters = sums.shape[1]
    without = totals[:, None] - sums  # (sums, clusters)
    low = high = None
    if clusters >= max(least, 2) and (without > 0.0).all():
        logs = signs @ np.log(without)  # (clusters,)
        spread = np.sqrt((clusters - 1) / clusters * ((logs - logs.mean()) ** 2).sum())
        reach = float(np.exp(stdtrit(clusters - 1, (1.0 + confidence) / 2.0) * spread))
        low, high = value / reach, value * reach
    return Interval(value, low, high, clusters, confidence, "log jackknife over prompts")


def _aligned(columns: Sequence[Floats]) -> bool:
    return all(column.shape == columns[0].shape and column.ndim == 1 for column in columns)


def _refuse_shapes() -> Floats:
    raise NotComparable(
        "sums of different clusters",
        remedy="Join both sides on prompt_id first.",
    )
