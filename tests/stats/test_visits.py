"""Rates over repeats and visits: one unit a launch, where there are several."""

import math

import numpy as np
import pytest

from ddbench.errors import NotComparable
from ddbench.stats.pairs import ratio_of_pairs
from ddbench.stats.visits import rate_over_visits, ratio_over_visits


def test_repeats_of_one_visit_count_each() -> None:
    found = rate_over_visits([200.0, 242.0], [0, 0])

    assert found.n == 2
    assert found.value == pytest.approx(220.0)  # the geometric mean
    reach = math.exp(12.7062 * math.log(1.1))
    assert (found.low, found.high) == (
        pytest.approx(220.0 / reach, rel=1e-4),
        pytest.approx(220.0 * reach, rel=1e-4),
    )


def test_of_several_visits_each_counts_once() -> None:
    """Repeats inside a visit agree: that says nothing of what another launch would give."""
    found = rate_over_visits([100.0, 100.0, 100.0, 121.0, 121.0, 121.0], [0, 0, 0, 1, 1, 1])

    assert found.n == 2
    assert found.value == pytest.approx(110.0)
    assert found.high == pytest.approx(110.0 * math.exp(12.7062 * math.log(1.1)), rel=1e-4)


def test_visits_of_unequal_repeats_weigh_the_same() -> None:
    found = rate_over_visits([100.0, 100.0, 100.0, 400.0], [0, 0, 0, 1])

    assert found.value == pytest.approx(200.0)


def test_the_ratio_of_two_arms_is_that_of_their_rates() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.lognormal(5.0, 0.1, (2, 6))
    visits = [0, 0, 1, 1, 2, 2]

    ratio = ratio_over_visits(first, second, visits)

    one, other = rate_over_visits(first, visits), rate_over_visits(second, visits)
    assert ratio.value == pytest.approx(one.value / other.value)
    assert ratio.n == 3


def test_one_visit_is_the_ratio_of_pairs() -> None:
    pairs = [3.0, 4.0], [2.0, 2.0]

    assert ratio_over_visits(*pairs, [1, 1]) == ratio_of_pairs(*pairs)


@pytest.mark.parametrize(
    ("rates", "visits"), [([], []), ([1.0], [0, 1]), ([0.0], [0]), ([1.0, -1.0], [0, 1])]
)
def test_what_is_no_rate_of_a_visit_is_refused(rates: list[float], visits: list[int]) -> None:
    with pytest.raises(NotComparable):
        rate_over_visits(rates, visits)


def test_pairs_without_their_visits_are_refused() -> None:
    with pytest.raises(NotComparable):
        ratio_over_visits([1.0, 2.0], [1.0, 2.0], [0])


def test_hosts_are_named_as_what_is_counted() -> None:
    found = rate_over_visits([100.0, 100.0, 121.0], ["alpha", "alpha", "beta"])

    assert found.n == 2
    assert found.value == pytest.approx(110.0)
    assert found.method == "Student's t on logs over hosts"
