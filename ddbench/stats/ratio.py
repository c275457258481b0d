"""Ratios of totals over prompts: tokens per step, and one arm against another."""

from collections.abc import Sequence

from numpy.typing import ArrayLike

from ddbench.errors import NotComparable
from ddbench.stats.clusters import cluster_sums
from ddbench.stats.interval import CONFIDENCE, Interval
from ddbench.stats.jackknife import log_jackknife


def pooled_ratio(
    numerators: ArrayLike,
    denominators: ArrayLike,
    clusters: Sequence[str],
    *,
    confidence: float = CONFIDENCE,
) -> Interval:
    """sum(numerators) / sum(denominators), with an interval clustered by prompt.

    The interval is that of ddbench.stats.jackknife, which prints how often it covers.

    Args:
        numerators, denominators: shape (requests,); denominators with a positive total.
        clusters: the prompt id of each request; repeats of a prompt count as one unit.

    Raises NotComparable for unequal lengths or a total below that is not positive.
    """
    return log_jackknife(
        [cluster_sums(numerators, clusters)],
        [cluster_sums(denominators, clusters)],
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
    that shared variation out of the interval.

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
        confidence=confidence,
    )
