"""Ratios of totals over prompts: tokens per step, and one arm against another."""

from collections.abc import Sequence

from numpy.typing import ArrayLike

from ddbench.errors import NotComparable
from ddbench.stats.clusters import cluster_sums
from ddbench.stats.interval import CONFIDENCE, Interval
from ddbench.stats.jackknife import log_jackknife

MIN_CLUSTERS = 20
"""Fewer prompts give a value without an interval; the coverage below is what decided it."""


def pooled_ratio(
    numerators: ArrayLike,
    denominators: ArrayLike,
    clusters: Sequence[str],
    *,
    confidence: float = CONFIDENCE,
) -> Interval:
    """sum(numerators) / sum(denominators), with an interval clustered by prompt.

    A nominal 95 % interval covered, in 10,000 simulated experiments (tests/stats/test_coverage.py):
    0.947 at 20 prompts and 0.949 at 40 for a normal ratio with 17 % spread; 0.921 and 0.930 for
    lognormal(sigma 1) lengths with lognormal(0.3) ratios; 0.938 and 0.941 where numerator and
    denominator are independent lognormal(sigma 1). At 20 the delta method gave 0.89 and a
    bootstrap-t 0.91 on the second of these.

    Args:
        numerators, denominators: shape (requests,); denominators with a positive total.
        clusters: the prompt id of each request; repeats of a prompt count as one unit.

    Raises NotComparable for unequal lengths or a total below that is not positive.
    """
    return log_jackknife(
        [cluster_sums(numerators, clusters)],
        [cluster_sums(denominators, clusters)],
        least=MIN_CLUSTERS,
        confidence=confidence,
    )


def paired_ratio(
    first: tuple[ArrayLike, ArrayLike, Sequence[str]],
    second: tuple[ArrayLike, ArrayLike, Sequence[str]],
    *,
    confidence: float = CONFIDENCE,
) -> Interval:
    """The pooled ratio of `first` over the pooled ratio of `second`, paired by prompt.

    A prompt that is hard for one arm is hard for the other; leaving it out of both at once keeps
    that shared variation out of the interval. A nominal 95 % interval covered, in 10,000 simulated
    experiments: 0.946 at 20 prompts and 0.949 at 40 on mild data; 0.930 and 0.935 on
    lognormal(sigma 1) lengths (where a percentile bootstrap covers 0.92 at 40, BCa 0.89).

    Args:
        first, second: (numerators, denominators, clusters) as in pooled_ratio.

    Raises NotComparable when the two sides do not have the same prompts.
    """
    if set(first[2]) != set(second[2]):
        raise NotComparable(
            f"{len(set(first[2]) ^ set(second[2]))} prompts were answered on one side only",
            remedy="Join both sides on prompt_id first.",
        )
    return log_jackknife(
        [cluster_sums(first[0], first[2]), cluster_sums(second[1], second[2])],
        [cluster_sums(first[1], first[2]), cluster_sums(second[0], second[2])],
        least=MIN_CLUSTERS,
        confidence=confidence,
    )
