"""At which concurrency does the second arm stop paying?"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log

import numpy as np

from ddbench.compare.verdicts import unit_of
from ddbench.stats.interval import Interval
from ddbench.stats.zero_crossing import MIN_UNITS, Floats, Place, around_zero


@dataclass(frozen=True, slots=True)
class Point:
    """The ratio of tok/s at one concurrency. units: that of each repeat, visit or host alone."""

    concurrency: int
    ratio: Interval
    units: Mapping[Hashable, float]


@dataclass(frozen=True, slots=True)
class Crossover:
    """Where the ratio falls through 1, by interpolation between the measured concurrencies.

    low and high: between them the ratio may be 1, by Student's t on the logarithms interpolated
    there, of every repeat (or visit, or host) that all concurrencies have: what the concurrencies
    of one launch share is counted right. None where they lie beyond the range, or where those are
    fewer than three.

    A nominal 95 % covered, of 10,000 experiments a case with three units or five at two to five
    concurrencies (tests/compare/test_crossover.py): 0.945 to 0.955, whether the noise was that of
    repeats or of launches, and whether 0 % or 80 % of the intervals had an open end.
    """

    concurrency: float | None
    low: float | None
    high: float | None
    sentence: str


def crossover(points: Sequence[Point]) -> Crossover:
    """Linear in the logarithms of concurrency and ratio, between neighbours.

    Args:
        points: of distinct concurrencies; their ratios are positive.
    """
    ordered = sorted(points, key=lambda point: point.concurrency)
    if len(ordered) < 2:
        return Crossover(None, None, None, "one concurrency shows no crossover")
    falls = _falls(ordered)
    first, last = ordered[0].concurrency, ordered[-1].concurrency
    if not falls:
        return Crossover(None, None, None, _not_within(ordered, f"{first} to {last}"))
    at = _concurrency(ordered, falls[0])
    low = high = None
    shown = f"pays up to concurrency {at:.1f}"
    logs = _logs(ordered)
    bounds = around_zero(logs, falls[0])
    if bounds is None:
        shown += f" (no interval: {_why_none(logs.shape[1], ordered[0].ratio)})"
    else:
        low, high = (None if end is None else _concurrency(ordered, end) for end in bounds)
        shown += (
            f" [{f'<{first}' if low is None else f'{low:.1f}'}, "
            f"{f'>{last}' if high is None else f'{high:.1f}'}]"
        )
    if len(falls) > 1:
        shown += "; the ratio crosses 1 more than once, so this is noise or not one effect"
    return Crossover(at, low, high, shown)


def _why_none(shared: int, ratio: Interval) -> str:
    """shared: units that every concurrency has."""
    units = {"visit": "visits", "host": "hosts"}.get(unit_of(ratio), "repeats")
    if shared < MIN_UNITS:
        return f"that takes {MIN_UNITS} {units} of every concurrency"
    return f"the {shared} {units} that every concurrency has do not cross there"


def _falls(points: Sequence[Point]) -> list[Place]:
    """Wherever the line through `points` goes from above 1 to 1 or below."""
    return [
        (number, log(before) / (log(before) - log(after)))
        for number, (before, after) in enumerate(pairwise(point.ratio.value for point in points))
        if before > 1.0 >= after
    ]


def _concurrency(points: Sequence[Point], place: Place) -> float:
    number, along = place
    left, right = (log(point.concurrency) for point in points[number : number + 2])
    return exp(left + along * (right - left))


def _logs(points: Sequence[Point]) -> Floats:
    """Of the ratios of all units that every concurrency has; shape (concurrencies, units)."""
    shared = [unit for unit in points[0].units if all(unit in point.units for point in points)]
    logs = [[log(point.units[unit]) for unit in shared] for point in points]
    return np.array(logs, dtype=np.float64).reshape(len(points), len(shared))


def _not_within(points: Sequence[Point], span: str) -> str:
    """What the values say, and whether the intervals say it too."""
    ratios = [point.ratio for point in points]
    if all(ratio.value > 1.0 for ratio in ratios):
        said = f"it pays everywhere from {span}"
        sure = all(ratio.low is not None and ratio.low > 1.0 for ratio in ratios)
    elif all(ratio.value <= 1.0 for ratio in ratios):
        said = f"it pays nowhere from {span}"
        sure = all(ratio.high is not None and ratio.high < 1.0 for ratio in ratios)
    else:
        said, sure = f"from {span} the ratio rises through 1 with concurrency", False
    doubt = "" if sure else ", by the values; the intervals do not settle it"
    return f"not within the range: {said}{doubt}"
