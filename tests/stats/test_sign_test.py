import pytest
from scipy.stats import binomtest

from ddbench.stats.sign_test import sign_test


@pytest.mark.parametrize(("larger", "smaller"), [(7, 0), (5, 2), (0, 7), (300, 250), (0, 0)])
def test_is_the_exact_binomial(larger, smaller):
    test = sign_test([1.0] * larger + [-1.0] * smaller + [0.0] * 3)

    expected = 1.0
    if larger + smaller:
        expected = binomtest(larger, larger + smaller, alternative="greater").pvalue
    assert test.p_value == pytest.approx(expected)
    assert (test.pairs, test.ties) == (larger + smaller + 3, 3)
