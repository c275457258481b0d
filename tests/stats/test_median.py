import numpy as np
import pytest
from scipy.stats import binom

from ddbench.errors import NotComparable
from ddbench.stats.median import median_interval


@pytest.mark.parametrize(
    ("n", "ranks"), [(6, (1, 2)), (10, (2, 3)), (20, (6, 7)), (25, (8, 9)), (50, (18, 19))]
)
def test_is_between_the_two_printed_intervals_and_as_hettmansperger_and_sheather_say(
    n: int, ranks: tuple[int, int]
) -> None:
    """Ranks from 1 of the sign test's intervals just above 95 % and just below, from its tables."""
    outer, inner = (binom.cdf(n - r, n, 0.5) - binom.cdf(r - 1, n, 0.5) for r in ranks)
    way = (outer - 0.95) / (outer - inner)
    r = ranks[0]
    part = (n - r) * way / (r + (n - 2 * r) * way)

    result = median_interval(np.arange(1, n + 1)[::-1])

    assert inner < 0.95 <= outer
    assert (result.low, result.high) == pytest.approx((r + part, n + 1 - r - part))
    assert result.n == n


def test_five_values_have_no_interval() -> None:
    result = median_interval([5.0, 1.0, 2.0, 3.0, 4.0])

    assert (result.value, result.low, result.high) == (3.0, None, None)


def test_a_median_of_nothing_is_refused() -> None:
    with pytest.raises(NotComparable):
        median_interval([])
