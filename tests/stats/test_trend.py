import numpy as np
import pytest
from scipy.stats import spearmanr

from ddbench.stats.trend import rank_correlation


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_scipy_on_tied_data(seed):
    rng = np.random.default_rng(seed)
    xs = rng.integers(0, 20, 200).tolist()
    ys = [x + int(noise) for x, noise in zip(xs, rng.integers(0, 200, 200), strict=True)]

    trend = rank_correlation(xs, ys)

    expected = spearmanr(xs, ys)
    assert trend.rho == pytest.approx(expected.statistic)
    assert trend.p_value == pytest.approx(expected.pvalue, rel=0.3)


def test_a_constant_has_no_trend():
    assert rank_correlation([1, 2, 3], [5, 5, 5]).p_value == 1.0


def test_refuses_points_that_do_not_pair():
    with pytest.raises(ValueError, match="2 and 3 points"):
        rank_correlation([1, 2], [1, 2, 3])
