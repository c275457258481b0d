"""When "no difference" is a finding, and how small a difference could have been seen."""

import math
from dataclasses import dataclass

from scipy.special import nctdtrinc, stdtrit

from ddbench.errors import NotComparable
from ddbench.stats.interval import Interval


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Two one-sided tests of a ratio against a margin (TOST)."""

    margin: float  # 0.01: the ratio lies within 1 / 1.01 to 1.01
    equivalent: bool
    least_margin: float  # the smallest margin at which they would have been called equivalent
    level: float  # chance of calling unlike things equivalent, at most


def equivalent_within(ratio: Interval, margin: float) -> Equivalence:
    """Whether `ratio` is 1 within `margin`, each one-sided test at (1 - ratio.confidence) / 2.

    A 90 % interval gives the usual test at the 5 % level. The margin is symmetric on the log scale,
    so that the answer does not depend on which arm is on top.

    Raises NotComparable when the ratio has no interval or the margin is not positive.

    Source: Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987).
    """
    if margin <= 0.0:
        raise NotComparable(
            f"an equivalence margin of {margin}",
            remedy="Give the largest difference that does not matter, above 0.",
        )
    low, high = _bounds(ratio)
    least = math.expm1(max(abs(math.log(low)), abs(math.log(high))))
    level = (1.0 - ratio.confidence) / 2.0
    return Equivalence(margin, least < margin, least, level)


def detectable_ratio(ratio: Interval, *, power: float = 0.8) -> float:
    """The smallest ratio above 1 that this experiment finds with chance `power`.

    From the measured spread: its interval would exclude 1 that often if the truth were this far
    away. 1.03 reads "you could not have seen less than 3 %". Takes an interval of Student's t on
    logarithms. The test statistic is then noncentral t: of two repeats, which have one degree of
    freedom, the usual sum of two quantiles found a difference with chance 0.73 instead of 0.8.

    Raises NotComparable when the ratio has no interval.
    """
    low, high = _bounds(ratio)
    freedom = ratio.n - 1.0 if ratio.freedom is None else ratio.freedom
    quantile = float(stdtrit(freedom, (1.0 + ratio.confidence) / 2.0))
    error = math.log(high / low) / 2.0 / quantile
    return math.exp(float(nctdtrinc(freedom, 1.0 - power, quantile)) * error)


def _bounds(ratio: Interval) -> tuple[float, float]:
    if ratio.low is None or ratio.high is None or ratio.low <= 0.0:
        raise NotComparable(
            f"a ratio of {ratio.n} prompts has no interval",
            remedy="Measure more prompts.",
        )
    return ratio.low, ratio.high
