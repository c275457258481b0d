"""Does one quantity rise or fall with another?"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc, sqrt


@dataclass(frozen=True, slots=True)
class Trend:
    rho: float  # -1 to 1
    p_value: float  # two-sided
    points: int


def rank_correlation(xs: Sequence[float], ys: Sequence[float]) -> Trend:
    """Spearman's rank correlation, ties given their mean rank.

    The p-value is from the normal limit, rho * sqrt(n - 1), good from about 30 points on.
    Neighbours in time are not independent, so small p-values overstate what is known: ask for an
    effect as well.

    Args:
        xs, ys: at least two points, of one length.

    Raises:
        ValueError: fewer points, or unequal lengths.
    """
    if len(xs) != len(ys) or len(xs) < 2:
        raise ValueError(f"{len(xs)} and {len(ys)} points: want two or more, as many of each")
    a, b = _ranks(xs), _ranks(ys)
    middle = (len(xs) + 1) / 2
    covariance = sum((x - middle) * (y - middle) for x, y in zip(a, b, strict=True))
    spread = sqrt(sum((x - middle) ** 2 for x in a) * sum((y - middle) ** 2 for y in b))
    if spread == 0.0:
        return Trend(0.0, 1.0, len(xs))
    rho = covariance / spread
    return Trend(rho, erfc(abs(rho) * sqrt(len(xs) - 1) / sqrt(2.0)), len(xs))


def _ranks(values: Sequence[float]) -> list[float]:
    """1 for the smallest; equal values share the mean of their places."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in order[start : end + 1]:
            ranks[place] = (start + end) / 2 + 1
        start = end + 1
    return ranks
