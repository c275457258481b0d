"""Quantiles of requests: how many they need, and where their bounds lie."""

from math import ceil, floor

import numpy as np
import pytest
from scipy.stats import binom

from ddbench.errors import NotComparable
from ddbench.stats.quantile import at_rank, fewest_requests, order_ranks, quantile_interval


@pytest.mark.parametrize(("share", "requests"), [(0.5, 20), (0.9, 100), (0.95, 200), (0.99, 1_000)])
def test_ten_requests_must_lie_beyond(share: float, requests: int) -> None:
    values = np.arange(requests, dtype=float)
    prompts = [str(value) for value in values]

    found = quantile_interval(values, prompts, share)

    assert fewest_requests(share) == requests
    assert found.value == pytest.approx(np.quantile(values, share))
    with pytest.raises(NotComparable, match=f"{requests - 1} requests"):
        quantile_interval(values[1:], prompts[1:], share)


@pytest.mark.parametrize(("n", "share"), [(20, 0.5), (48, 0.9), (100, 0.95), (1_000, 0.99)])
def test_the_ranks_are_between_one_that_covers_and_the_next_that_does_not(
    n: int, share: float
) -> None:
    """By the binomial distribution: a side may miss 2.5 %; the next rank within misses more."""
    ranks = order_ranks(n, share, 0.95)
    assert ranks is not None
    low, high = ranks

    assert binom.cdf(floor(low), n, share) <= 0.025 < binom.cdf(floor(low) + 1, n, share)
    assert binom.sf(ceil(high), n, share) <= 0.025 < binom.sf(ceil(high) - 1, n, share)


@pytest.mark.parametrize(("n", "share"), [(48, 0.9), (72, 0.95), (500, 0.99), (20, 0.5)])
def test_the_lower_rank_is_interpolated_as_nyblom_says(n: int, share: float) -> None:
    """Ranks from 1; covers[r]: the chance that the r-th of n values lies below the quantile."""
    covers = {r: binom.sf(r - 1, n, share) for r in range(1, n + 1)}
    r = max(rank for rank, chance in covers.items() if chance >= 0.975)
    odds = r * (1.0 - share) * (covers[r + 1] - 0.975) / ((n - r) * share * (0.975 - covers[r]))

    ranks = order_ranks(n, share, 0.95)

    assert ranks is not None
    assert ranks[0] == pytest.approx(r + 1.0 / (1.0 + odds) - 1.0)


def test_a_share_and_its_complement_mirror_each_other() -> None:
    low, high = order_ranks(48, 0.9, 0.95) or (0.0, 0.0)

    mirrored = order_ranks(48, 0.1, 0.95)

    assert mirrored == pytest.approx((47.0 - high, 47.0 - low))


def test_a_rank_between_two_values_is_between_them() -> None:
    rows = np.array([[1.0, 2.0, 4.0], [10.0, 20.0, 40.0]])

    assert at_rank(rows, 1.25).tolist() == [2.5, 25.0]
    assert at_rank(rows, 2.0).tolist() == [4.0, 40.0]


@pytest.mark.parametrize(("prompts", "share"), [(39, 0.5), (48, 0.99)])
def test_too_few_prompts_have_a_value_and_no_interval(prompts: int, share: float) -> None:
    """Below 40 none; for the 99th percentile of requests that repeat each other, below 368."""
    values = np.repeat(np.arange(prompts, dtype=float), 30)
    labels = [str(value) for value in values]

    found = quantile_interval(values, labels, share)

    assert (found.low, found.high, found.n) == (None, None, prompts)


def test_values_without_prompts_are_refused() -> None:
    with pytest.raises(NotComparable):
        quantile_interval([1.0] * 20, ["a"], 0.5)
