"""The interval of a product and quotient of sums, by leaving out one cluster at a time."""

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from ddbench.errors import NotComparable
from ddbench.stats.clusters import Floats
from ddbench.stats.interval import Interval

MIN_CLUSTERS = 40
"""Fewer prompts give a value without an interval: at 20 some real ones covered 0.87 only."""


def log_jackknife(
    above: Sequence[Floats], below: Sequence[Floats], *, confidence: float
) -> Interval:
    """Product of the totals of `above` over those of `below`, with an interval over clusters.

    Delete-one jackknife of the logarithm, which keeps the interval positive and a ratio's interval
    the inverse of the inverse ratio's. It draws no random numbers, so a report needs no seed. The
    quantile is Student's, with the degrees of freedom that the variance of such data really has:
    clusters - 1 when they look normal, fewer when a few clusters carry most of the spread.

    A nominal 95 % interval covered, of 20,000 experiments with 40 prompts each
    (tests/stats/test_coverage.py): 0.945 to 0.951 on resamples of a measured quickstart (tokens per
    step, speedups, time a token); 0.947 to 0.954 for ratios and speedups of lognormal(sigma 1)
    lengths; 0.931 for the mean of a lognormal(sigma 1); 0.949 for a normal ratio with 17 % spread.
    With clusters - 1 degrees of freedom the first were 0.92 to 0.95 at 40 and 0.87 to 0.94 at 20.

    Args:
        above, below: sums by cluster, each of shape (clusters,), clusters aligned.

    Raises NotComparable for unequal shapes and when a total below is not positive.

    Sources: Efron & Tibshirani, An Introduction to the Bootstrap (1993), ch. 11; the degrees of
    freedom: O'Neill, Some Useful Moment Results in Sampling Problems, The American Statistician
    68 (2014).
    """
    sums = np.stack([*above, *below]) if _aligned([*above, *below]) else _refuse_shapes()
    signs = np.repeat([1.0, -1.0], [len(above), len(below)])
    totals = sums.sum(axis=1)
    if (totals[len(above) :] <= 0.0).any():
        raise NotComparable(
            "a ratio to a total that is not positive",
            remedy="Leave out the arm: it measured nothing to divide by.",
        )
    value = float(_quotient(totals[:, None], signs)[0])
    clusters = sums.shape[1]
    low = high = freedom = None
    if clusters >= MIN_CLUSTERS and (totals[:, None] - sums > 0.0).all():
        reach, freedom = (float(found) for found in jackknife_reach(sums, signs, confidence))
        low, high = value / reach, value * reach
    method = "log jackknife over prompts"
    return Interval(value, low, high, clusters, confidence, method, freedom)


def jackknife_reach(sums: Floats, signs: Floats, confidence: float) -> tuple[Floats, Floats]:
    """The factor from the value to either bound, and its degrees of freedom, of many experiments.

    Args:
        sums: shape (..., sums, clusters); without any one cluster their totals are positive.
        signs: shape (sums,), 1 above and -1 below.

    Returns:
        Two arrays of shape (...).
    """
    without = sums.sum(axis=-1, keepdims=True) - sums
    logs = np.log(_quotient(without, signs))  # (..., clusters)
    clusters = logs.shape[-1]
    spread = logs.std(axis=-1) * np.sqrt(clusters - 1)
    freedom = degrees_of_freedom(logs)
    return np.exp(stdtrit(freedom, (1.0 + confidence) / 2.0) * spread), freedom


def _quotient(sums: Floats, signs: Floats) -> Floats:
    """Of counts that two arms have alike it is 1 exactly, as a sum of logarithms is not."""
    above, below = (sums[..., signs == sign, :].prod(axis=-2) for sign in (1.0, -1.0))
    return np.asarray(above / below)


def degrees_of_freedom(values: Floats) -> Floats:
    """Of the variance along the last axis: n - 1 for the kurtosis of a normal, 3; never more."""
    n = values.shape[-1]
    deviations = values - values.mean(axis=-1, keepdims=True)
    variance = np.asarray((deviations**2).mean(axis=-1))
    constant = variance == 0.0
    kurtosis = (deviations**4).mean(axis=-1) / np.where(constant, 1.0, variance) ** 2
    found = np.minimum(2 * n / (kurtosis - (n - 3) / (n - 1)), n - 1.0)
    return np.asarray(np.where(constant, n - 1.0, found))


def _aligned(columns: Sequence[Floats]) -> bool:
    return all(column.shape == columns[0].shape and column.ndim == 1 for column in columns)


def _refuse_shapes() -> Floats:
    raise NotComparable(
        "sums of different clusters",
        remedy="Join both sides on prompt_id first.",
    )
