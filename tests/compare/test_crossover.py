"""Where a ratio falls through 1, and when that cannot be said."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import ttest_1samp

from ddbench.compare.crossover import Point, crossover
from ddbench.stats.interval import Interval
from ddbench.stats.pairs import ratio_of_pairs
from ddbench.stats.visits import ratio_over_visits


def point(concurrency: int, *ratios: float) -> Point:
    """Of repeats numbered from 0."""
    found = ratio_of_pairs(ratios, np.ones(len(ratios)))
    return Point(concurrency, found, dict(enumerate(ratios)))


def around(concurrency: int, value: float, spread: float = 1.05) -> Point:
    return point(concurrency, value / spread, value, value * spread)


def test_the_crossover_is_interpolated_in_logarithms() -> None:
    """1.25 at 2 and 0.8 at 8: by symmetry the line crosses 1 at 4."""
    found = crossover([around(8, 0.8), around(2, 1.25)])

    assert found.concurrency == pytest.approx(4.0)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 4.0 < found.high
    assert found.low * found.high == pytest.approx(16.0)
    assert found.sentence.startswith("pays up to concurrency 4.0 [")


def test_a_bound_that_does_not_cross_within_the_range_is_open() -> None:
    found = crossover([around(1, 1.02), around(8, 0.7, 1.01)])

    assert found.concurrency is not None
    assert found.low is None
    assert found.high is not None
    assert "[<1," in found.sentence


@pytest.mark.parametrize("seed", range(5))
def test_the_bounds_are_where_a_t_test_of_the_interpolated_logarithms_turns(seed: int) -> None:
    """By scipy's test at 2,001 concurrencies, of four launches that differ more than repeats do."""
    rng = np.random.default_rng(seed)
    asked = (1, 2, 4, 8, 16)
    logs = rng.normal(0.0, 0.02, (4, 5)) + rng.normal(0.0, 0.04, (4, 1)) - np.log([1, 2, 4, 8, 16])
    logs += math.log(3.5)

    found = crossover([point(c, *np.exp(logs[:, row])) for row, c in enumerate(asked)])

    places = np.linspace(0.0, math.log(16.0), 2_001)
    lines = np.array([np.interp(places, np.log(asked), one) for one in logs])
    alike = np.exp(places[ttest_1samp(lines, 0.0).pvalue > 0.05])
    assert (found.low, found.high) == pytest.approx((alike[0], alike[-1]), rel=2e-3)


def test_the_interval_ends_where_the_ratio_is_first_unlike_1() -> None:
    """Far from the crossing, at 1 and at 64, noise lets the ratio be 1 again."""
    noisy, sure = 1.5, 1.01

    found = crossover(
        [around(1, 1.0, noisy), around(4, 1.3, sure), around(16, 0.7, sure), around(64, 1.0, noisy)]
    )

    assert found.low is not None
    assert found.high is not None
    assert 4.0 < found.low < (found.concurrency or 0.0) < found.high < 16.0


def test_what_the_concurrencies_of_a_launch_share_is_counted() -> None:
    """A launch 2 % above at both ends is so between; one above here and below there is not."""
    shared = crossover([point(2, 1.2, 1.224, 1.176), point(8, 0.8, 0.816, 0.784)])
    opposed = crossover([point(2, 1.2, 1.224, 1.176), point(8, 0.8, 0.784, 0.816)])

    assert shared.high is not None
    assert opposed.high is not None
    assert shared.high / (shared.concurrency or 0.0) > 1.15
    assert opposed.high / (opposed.concurrency or 0.0) < 1.05


def test_repeats_that_agree_exactly_leave_no_doubt() -> None:
    found = crossover([point(2, 1.25, 1.25, 1.25), point(8, 0.8, 0.8, 0.8)])

    assert found.concurrency == pytest.approx(4.0)
    assert (found.low, found.high) == pytest.approx((4.0, 4.0))


@pytest.mark.parametrize("second", [(0.8, 0.82), (0.8,), (0.79, 0.8)])
def test_with_fewer_than_three_shared_repeats_the_crossover_has_no_interval(
    second: Sequence[float],
) -> None:
    found = crossover([point(1, 1.2, 1.21, 1.19), point(8, *second)])

    assert found.concurrency is not None
    assert (found.low, found.high) == (None, None)
    assert found.sentence.endswith("(no interval: that takes 3 repeats of every concurrency)")


def test_of_two_visits_more_repeats_are_not_asked_for() -> None:
    """Visits are what counts where there are two, however many repeats each of them has."""
    points = [
        Point(
            c, ratio_over_visits(rates, np.ones(6), [0, 0, 0, 1, 1, 1]), {0: rates[0], 1: rates[3]}
        )
        for c, rates in ((1, [1.2] * 3 + [1.3] * 3), (8, [0.8] * 3 + [0.7] * 3))
    ]

    found = crossover(points)

    assert found.sentence.endswith("(no interval: that takes 3 visits of every concurrency)")


def test_a_crossing_that_shared_repeats_do_not_see_has_no_interval() -> None:
    """A fourth repeat, which one concurrency alone has, draws the ratio through 1."""
    found = crossover([point(1, 1.2, 1.21, 1.19), point(8, 1.1, 1.11, 1.09, 0.2)])

    assert found.concurrency is not None
    assert found.sentence.endswith(
        "(no interval: the 3 repeats that every concurrency has do not cross there)"
    )


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
    found = crossover([around(1, values[0]), around(8, values[1])])

    assert found.concurrency is None
    assert sentence in found.sentence


def test_a_value_without_doubt_about_it_needs_an_interval() -> None:
    unknown = Interval(1.4, None, None, 1, 0.95, "one repeat")

    found = crossover([Point(1, unknown, {0: 1.4}), Point(8, unknown, {0: 1.4})])

    assert found.sentence.endswith("by the values; the intervals do not settle it")


def test_one_concurrency_shows_nothing_and_several_crossings_are_doubted() -> None:
    one = crossover([around(4, 0.8)])
    many = crossover([around(1, 1.2), around(2, 0.9), around(4, 1.1), around(8, 0.8)])

    assert one.sentence == "one concurrency shows no crossover"
    assert "crosses 1 more than once" in many.sentence


ASKED = (1, 4, 8)
EXPERIMENTS = 2_000


@pytest.mark.parametrize(("repeats_spread", "launch_spread"), [(0.05, 0.0), (0.01, 0.03)])
def test_the_interval_covers_the_true_crossover_as_often_as_it_claims(
    repeats_spread: float, launch_spread: float
) -> None:
    """Three launches, the fewest; open ends cover what lies beyond. 2,000 experiments have a
    standard error of 0.005, and 10,000 gave 0.947 and 0.953."""
    rng = np.random.default_rng(1)
    noise = rng.normal(0.0, repeats_spread, (EXPERIMENTS, 3, 3))
    noise += rng.normal(0.0, launch_spread, (EXPERIMENTS, 1, 3))

    found = [crossover(simulated(-0.15, of_one)) for of_one in noise]

    seen = [one for one in found if one.concurrency is not None]
    covered = sum((one.low or 0.0) <= 3.0 <= (one.high or math.inf) for one in seen)
    assert len(seen) > 0.98 * EXPERIMENTS
    assert 0.93 <= covered / len(seen) <= 0.97


def simulated(slope: float, noise: NDArray[np.float64]) -> list[Point]:
    """The ratio is 1 at 3. noise: (concurrencies, repeats), in logarithms."""
    logs = slope * np.log(np.array(ASKED) / 3.0)[:, None] + noise
    means = np.exp(logs.mean(axis=1)).tolist()
    return [
        Point(c, Interval(mean, None, None, 3, 0.95, ""), dict(enumerate(np.exp(of_one).tolist())))
        for c, mean, of_one in zip(ASKED, means, logs, strict=True)
    ]
