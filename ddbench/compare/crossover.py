"""At which concurrency does the second arm stop paying?"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log

from ddbench.stats.interval import Interval

Point = tuple[int, Interval]  # concurrency, ratio of tok/s


@dataclass(frozen=True, slots=True)
class Crossover:
    """Where the ratio falls through 1, by interpolation between the measured concurrencies.

    low and high: where the lower and the upper bound of the ratio do; None where a bound does not
    cross within the range, or where a point has no interval. Two points err independently, so the
    line through their bounds is wider than need be: of 2,000 experiments a case with two to five
    repeats and noise of 3 %, a nominal 95 % covered 0.98 to 0.99.
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
    ordered = sorted(points, key=lambda point: point[0])
    if len(ordered) < 2:
        return Crossover(None, None, None, "one concurrency shows no crossover")
    values = [(c, ratio.value) for c, ratio in ordered]
    falls = _falls(values)
    span = f"{ordered[0][0]} to {ordered[-1][0]}"
    if not falls:
        return Crossover(None, None, None, _not_within(ordered, span))
    lows = [(c, r.low) for c, r in ordered if r.low is not None and r.low > 0.0]
    highs = [(c, r.high) for c, r in ordered if r.high is not None]
    low, high = (
        next(iter(_falls(side)), None) if len(side) == len(ordered) else None
        for side in (lows, highs)
    )
    at = falls[0]
    shown = f"pays up to concurrency {at:.1f}" + (
        f" [{'<' + str(ordered[0][0]) if low is None else f'{low:.1f}'}, "
        f"{'>' + str(ordered[-1][0]) if high is None else f'{high:.1f}'}]"
        if len(lows) == len(highs) == len(ordered)
        else " (no interval: repeats are too few)"
    )
    if len(falls) > 1:
        shown += "; the ratio crosses 1 more than once, so this is noise or not one effect"
    return Crossover(at, low, high, shown)


def _falls(points: Sequence[tuple[int, float]]) -> list[float]:
    """Every concurrency at which the line through `points` goes from above 1 to 1 or below."""
    found = []
    for (c1, before), (c2, after) in pairwise(points):
        if before > 1.0 >= after:
            share = log(before) / (log(before) - log(after))
            found.append(exp(log(c1) + share * (log(c2) - log(c1))))
    return found


def _not_within(points: Sequence[Point], span: str) -> str:
    """What the values say, and whether the intervals say it too."""
    ratios = [ratio for _, ratio in points]
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
