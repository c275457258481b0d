"""Shares: of positions covered, of steps that accept so many drafts."""

from collections.abc import Sequence
from dataclasses import replace

from numpy.typing import ArrayLike

from ddbench.errors import NotComparable
from ddbench.stats.clusters import cluster_sums
from ddbench.stats.interval import CONFIDENCE, Interval
from ddbench.stats.jackknife import log_jackknife

MIN_SHARE_CLUSTERS = 64
"""Fewer prompts give a share without an interval: with 48, one that four decide covered 0.91."""


def share_interval(
    hits: ArrayLike, counts: ArrayLike, clusters: Sequence[str], *, confidence: float = CONFIDENCE
) -> Interval:
    """sum(hits) / sum(counts), with an interval clustered by prompt that stays between 0 and 1.

    The log jackknife of the odds: near 0 and 1 the share itself is too lopsided. All hits, or none,
    have no interval. n counts the prompts that have any counts: one that never got to a depth, or
    has no candidate of a probability, says nothing of the share there.

    A nominal 95 % covered, of 20,000 experiments with 64 prompts each (tests/stats/
    test_coverage.py), resampled from recorded drafts and from the steps of two arms: 0.949 to 0.964
    for coverage@k and for what siblings catch, 0.948 to 0.962 for calibration bins, 0.949 to 0.956
    for acceptance by depth and 0.934 where four prompts hold half the misses (0.909 with 48
    prompts); 0.958 for lognormal(sigma 1) counts.

    Args:
        hits, counts: shape (values,), 0 <= hits <= counts, with a positive total of counts.
        clusters: the prompt id of each value.

    Raises NotComparable for unequal lengths, more hits than counts, or no counts at all.
    """
    right, known = cluster_sums(hits, clusters), cluster_sums(counts, clusters)
    if not known.sum() or (right > known).any() or (right < 0.0).any():
        raise NotComparable(
            "a share of nothing, or of more than there is",
            remedy="Leave out what was not measured.",
        )
    right, known = right[known > 0.0], known[known > 0.0]
    wrong = known - right
    share = float(right.sum() / known.sum())
    unknown = Interval(share, None, None, known.size, confidence, "log jackknife of the odds")
    if known.size < MIN_SHARE_CLUSTERS or not right.sum() or not wrong.sum():
        return unknown
    odds = log_jackknife([right], [wrong], confidence=confidence)
    if odds.low is None or odds.high is None:  # a single prompt has all the hits, or misses
        return unknown
    low, high = (bound / (1.0 + bound) for bound in (odds.low, odds.high))
    return replace(unknown, low=low, high=high, freedom=odds.freedom)
