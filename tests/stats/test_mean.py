import numpy as np
import pytest
from scipy import stats

from ddbench.errors import NotComparable
from ddbench.stats.jackknife import MIN_CLUSTERS
from ddbench.stats.mean import clustered_mean, mean_interval


def test_agrees_with_scipy() -> None:
    values = [311.0, 305.5, 318.2]

    result = mean_interval(values, confidence=0.9)

    expected = stats.t.interval(0.9, df=2, loc=np.mean(values), scale=stats.sem(values))
    assert (result.low, result.high) == pytest.approx(expected)
    assert (result.value, result.n, result.confidence) == (pytest.approx(311.5667), 3, 0.9)


def test_one_repeat_has_no_interval() -> None:
    result = mean_interval([311.0])

    assert (result.value, result.low, result.high, result.n) == (311.0, None, None, 1)


@pytest.mark.parametrize("values", [[], [1.0, float("nan")]])
def test_a_mean_of_nothing_is_refused(values: list[float]) -> None:
    with pytest.raises(NotComparable):
        mean_interval(values)


def test_a_clustered_mean_is_the_mean_over_requests() -> None:
    result = clustered_mean([1.0, 2.0, 6.0], ["a", "a", "b"])

    assert (result.value, result.n) == (3.0, 2)
    assert result.low is None


def test_a_clustered_mean_of_single_requests_is_close_to_students_t() -> None:
    """On mild data the log jackknife and Student's t differ in the third digit of the width."""
    values = np.random.default_rng(5).normal(10.0, 1.0, 4 * MIN_CLUSTERS)

    result = clustered_mean(values, [str(position) for position in range(values.size)])

    expected = stats.t.interval(
        0.95, df=values.size - 1, loc=values.mean(), scale=stats.sem(values)
    )
    assert (result.low, result.high) == pytest.approx(expected, rel=2e-3)
