"""How much more one pooled ratio is than another, in its own unit."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from ddbench.errors import NotComparable
from ddbench.stats.clusters import Floats, cluster_sums
from ddbench.stats.interval import CONFIDENCE, Interval
from ddbench.stats.jackknife import MIN_CLUSTERS, degrees_of_freedom

Side = tuple[ArrayLike, ArrayLike, Sequence[str]]  # numerators, denominators, clusters


def paired_difference(first: Side, second: Side, *, confidence: float = CONFIDENCE) -> Interval:
    """The pooled ratio of `first` less that of `second`, with an interval clustered by prompt.

    Delete-one jackknife; the quantile is Student's, with the degrees of freedom of the log
    jackknife. A nominal 95 % covered, of 20,000 experiments with 40 prompts each (tests/stats/
    test_coverage.py): 0.941 to 0.954 on resamples of a measured run, tokens per step of one tree
    less those of a smaller one or of the line; 0.957 for lognormal(sigma 1) lengths.

    Raises NotComparable when the two sides do not have the same prompts, or a total below is not
    positive.
    """
    if set(first[2]) != set(second[2]):
        raise NotComparable(
            f"{len(set(first[2]) ^ set(second[2]))} prompts were answered on one side only",
            remedy="Join both sides on prompt_id first.",
        )
    sums = np.stack(
        [cluster_sums(column, side[2]) for side in (first, second) for column in side[:2]]
    )
    totals = sums.sum(axis=1)
    if (totals[[1, 3]] <= 0.0).any():
        raise NotComparable(
            "a ratio to a total that is not positive",
            remedy="Leave out the arm: it measured nothing to divide by.",
        )
    value = float(totals[0] / totals[1] - totals[2] / totals[3])
    clusters = sums.shape[1]
    low = high = freedom = None
    if clusters >= MIN_CLUSTERS and (totals[:, None] - sums)[[1, 3]].all():
        reach, found = difference_reach(sums, confidence)
        low, high, freedom = value - float(reach), value + float(reach), float(found)
    return Interval(value, low, high, clusters, confidence, "jackknife over prompts", freedom)


def difference_reach(sums: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Half the width, and the degrees of freedom, of many experiments.

    Args:
        sums: shape (..., 4, clusters): numerators and denominators of both sides.

    Returns:
        Two arrays of shape (...).
    """
    without = sums.sum(axis=-1, keepdims=True) - sums
    differences = without[..., 0, :] / without[..., 1, :] - without[..., 2, :] / without[..., 3, :]
    spread = differences.std(axis=-1) * np.sqrt(sums.shape[-1] - 1)
    freedom = degrees_of_freedom(differences)
    return np.asarray(stdtrit(freedom, (1.0 + confidence) / 2.0) * spread), freedom
