"""Where a ratio falls through 1, and when that cannot be said."""

import math

import numpy as np
import pytest

from ddbench.compare.crossover import crossover
from ddbench.stats.interval import Interval
from ddbench.stats.pairs import ratio_of_pairs


def ratio(value: float, spread: float | None = 1.05) -> Interval:
    low, high = (None, None) if spread is None else (value / spread, value * spread)
    return Interval(value, low, high, 5, 0.95, "Student's t on logs over paired repeats")


def test_the_crossover_is_interpolated_in_logarithms() -> None:
    """1.25 at 2 and 0.8 at 8: by symmetry the line crosses 1 at 4."""
    found = crossover([(8, ratio(0.8)), (2, ratio(1.25))])

    assert found.concurrency == pytest.approx(4.0)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 4.0 < found.high
    assert found.low * found.high == pytest.approx(16.0)
    assert found.sentence.startswith("pays up to concurrency 4.0 [")


def test_a_bound_that_does_not_cross_within_the_range_is_open() -> None:
    found = crossover([(1, ratio(1.02, 1.1)), (8, ratio(0.9, 1.05))])

    assert found.concurrency is not None
    assert found.low is None
    assert found.high is not None
    assert "[<1," in found.sentence


def test_without_intervals_the_crossover_has_none() -> None:
    found = crossover([(1, ratio(1.2, None)), (8, ratio(0.8, None))])

    assert found.concurrency is not None
    assert (found.low, found.high) == (None, None)
    assert found.sentence.endswith("(no interval: repeats are too few)")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ((1.4, 1.2), "not within the range: it pays everywhere from 1 to 8"),
        ((0.9, 0.8), "not within the range: it pays nowhere from 1 to 8"),
        ((1.02, 1.2), "it pays everywhere from 1 to 8, by the values; the intervals do not settle"),
        ((0.9, 1.2), "from 1 to 8 the ratio rises through 1 with concurrency, by the values"),
    ],
)
def test_a_ratio_that_never_falls_through_1_is_not_within_the_range(
    values: tuple[float, float], sentence: str
) -> None:
    found = crossover([(1, ratio(values[0])), (8, ratio(values[1]))])

    assert found.concurrency is None
    assert sentence in found.sentence


def test_one_concurrency_shows_nothing_and_several_crossings_are_doubted() -> None:
    one = crossover([(4, ratio(0.8))])
    many = crossover([(1, ratio(1.2)), (2, ratio(0.9)), (4, ratio(1.1)), (8, ratio(0.8))])

    assert one.sentence == "one concurrency shows no crossover"
    assert "crosses 1 more than once" in many.sentence


def test_the_interval_covers_the_true_crossover_at_least_as_often_as_it_claims() -> None:
    """2,000 experiments of two repeats at three concurrencies; open ends cover what lies beyond."""
    rng = np.random.default_rng(1)
    covered = 0
    for noise in rng.normal(0.0, 0.03, (2_000, 3, 2)):
        found = crossover(
            [
                (c, ratio_of_pairs(np.exp(-0.15 * math.log(c / 3.0) + noise[row]), np.ones(2)))
                for row, c in enumerate((1, 4, 8))
            ]
        )
        assert found.concurrency is not None
        covered += (found.low or 0.0) <= 3.0 <= (found.high or math.inf)

    assert covered / 2_000 >= 0.98
