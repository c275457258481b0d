"""Quantiles of requests: how many they need, and where their bounds lie."""

import numpy as np
import pytest
from scipy.stats import binom

from ddbench.errors import NotComparable
from ddbench.stats.quantile import fewest_requests, order_ranks, quantile_interval


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
def test_the_ranks_are_the_innermost_that_cover(n: int, share: float) -> None:
    """By the binomial distribution: each side misses at most 2.5 %; one rank further in, more."""
    ranks = order_ranks(n, share, 0.95)
    assert ranks is not None
    low, high = ranks

    assert binom.cdf(low, n, share) <= 0.025 < binom.cdf(low + 1, n, share)
    assert binom.sf(high, n, share) <= 0.025 < binom.sf(high - 1, n, share)


def test_too_few_prompts_have_a_value_and_no_interval() -> None:
    values = np.arange(1_000, dtype=float)
    prompts = [str(number % 48) for number in range(1_000)]

    found = quantile_interval(values, prompts, 0.99)

    assert (found.low, found.high, found.n) == (None, None, 48)


def test_values_without_prompts_are_refused() -> None:
    with pytest.raises(NotComparable):
        quantile_interval([1.0] * 20, ["a"], 0.5)
