"""How far around the place where a line falls through 0 the true place may lie."""

from math import copysign, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from ddbench.stats.interval import CONFIDENCE

MIN_UNITS = 3
"""Of two units the lines cross too often: where their noise was wide, intervals covered 0.89."""

Place = tuple[int, float]
"""The number of a segment between neighbouring points, and how far along it, 0 to 1."""
Floats = NDArray[np.float64]


def around_zero(
    heights: Floats, crossing: Place, *, confidence: float = CONFIDENCE
) -> tuple[Place | None, Place | None] | None:
    """The places next to `crossing`, left and right, at which the mean over units becomes unlike 0.

    Each unit has a line of its own through its points; at every place Student's t tests the mean of
    the lines against 0 (Fieller's interval). What one unit's points share is thereby counted right.
    The place where the mean line of the truth is 0 lies between, as often as `confidence` says: see
    ddbench.compare.crossover, which prints how often.

    Args:
        heights: shape (points, units), from left to right.
        crossing: where the mean line goes through 0.

    Returns:
        None for an end that is not reached within the points. None for both without MIN_UNITS, and
        where `crossing` is itself unlike 0: it was found from other units.

    Source: Fieller, Some Problems in Interval Estimation, Journal of the Royal Statistical Society
    B 16 (1954).
    """
    points, units = heights.shape
    if units < MIN_UNITS:
        return None
    quantile = float(stdtrit(units - 1.0, (1.0 + confidence) / 2.0))
    segments = [_unlike_zero(heights[n], heights[n + 1], quantile) for n in range(points - 1)]
    number, along = crossing
    square, twice, constant = segments[number]
    if (square * along + twice) * along + constant > _ROUNDING * max(map(abs, segments[number])):
        return None
    turns = [(n, root) for n, segment in enumerate(segments) for root in _roots(*segment)]
    left = [turn for turn in turns if sum(turn) <= sum(crossing) + _ROUNDING]
    right = [turn for turn in turns if sum(turn) >= sum(crossing) - _ROUNDING]
    return max(left, default=None), min(right, default=None)


_ROUNDING = 1e-9


def _unlike_zero(left: Floats, right: Floats, quantile: float) -> tuple[float, float, float]:
    """Coefficients of along**2, along and 1: positive where the mean of the lines is unlike 0."""
    rise = right - left
    error = quantile**2 / (left.size - 1.0)

    def product(one: Floats, other: Floats) -> float:
        means = float(one.mean() * other.mean())
        return means - error * (float((one * other).mean()) - means)

    return product(rise, rise), 2.0 * product(left, rise), product(left, left)


def _roots(square: float, twice: float, constant: float) -> list[float]:
    """Of the quadratic, within 0 to 1 and in order."""
    inner = twice * twice - 4.0 * square * constant
    if inner < -_ROUNDING * twice * twice:
        return []
    larger = -(twice + copysign(sqrt(max(inner, 0.0)), twice)) / 2.0
    found = {larger / square} if square else set()
    if larger:
        found.add(constant / larger)
    return sorted(root for root in found if 0.0 <= root <= 1.0)
