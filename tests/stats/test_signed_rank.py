from itertools import product

import numpy as np
import pytest
from scipy.stats import wilcoxon

from ddbench.stats.signed_rank import signed_rank


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_scipy_where_nothing_is_tied(seed):
    differences = np.random.default_rng(seed).normal(0.2, 1.0, 25)

    expected = wilcoxon(differences, alternative="greater", method="exact").pvalue

    assert signed_rank(differences.tolist()).p_value == pytest.approx(expected)


def test_is_exact_with_tied_magnitudes():
    """Against all 2**8 signs, each as likely."""
    differences = [1.0, 1.0, -1.0, 2.0, 2.0, -3.0, 3.0, 4.0]
    ranks = [2.0, 2.0, 2.0, 4.5, 4.5, 6.5, 6.5, 8.0]
    observed = sum(r for r, d in zip(ranks, differences, strict=True) if d > 0)
    sums = [
        sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
        for signs in product((0, 1), repeat=8)
    ]

    test = signed_rank([*differences, 0.0, 0.0])

    assert test.p_value == pytest.approx(sum(s >= observed for s in sums) / 256)
    assert (test.larger, test.smaller, test.ties, test.pairs) == (6, 2, 2, 10)


def test_the_limit_for_many_pairs_agrees_with_scipy():
    differences = np.random.default_rng(1).normal(0.15, 1.0, 200)

    expected = wilcoxon(differences, alternative="greater", method="approx").pvalue

    assert signed_rank(differences.tolist()).p_value == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize(("pairs", "p_value"), [(0, 1.0), (6, 1 / 64), (7, 1 / 128)])
def test_few_pairs_cannot_convince(pairs, p_value):
    assert signed_rank([1.0] * pairs).p_value == p_value
