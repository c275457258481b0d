import numpy as np
import pytest

from ddbench.errors import NotComparable
from ddbench.stats.median import median_interval


@pytest.mark.parametrize(("n", "low", "high"), [(6, 1, 6), (10, 2, 9), (20, 6, 15), (50, 18, 33)])
def test_agrees_with_the_printed_table(n: int, low: int, high: int) -> None:
    """Ranks of the 95 % interval, as in Conover's and other sign-test tables."""
    result = median_interval(np.arange(1, n + 1)[::-1])

    assert (result.low, result.high, result.n) == (low, high, n)


def test_five_values_have_no_interval() -> None:
    result = median_interval([5.0, 1.0, 2.0, 3.0, 4.0])

    assert (result.value, result.low, result.high) == (3.0, None, None)


def test_covers_the_truth_on_a_heavy_tail() -> None:
    """5,000 experiments of 20; the method's exact coverage is 0.959, 3.5 standard errors 0.01."""
    rng = np.random.default_rng(1)

    covered = sum(1.0 in median_interval(rng.lognormal(0.0, 2.0, 20)) for _ in range(5_000))

    assert 0.949 <= covered / 5_000 <= 0.969


def test_a_median_of_nothing_is_refused() -> None:
    with pytest.raises(NotComparable):
        median_interval([])
