"""The difference of two pooled ratios, against the delta method written out."""

import numpy as np
import pytest

from ddbench.errors import NotComparable
from ddbench.stats.difference import paired_difference


def test_agrees_with_the_delta_method_on_many_prompts() -> None:
    rng = np.random.default_rng(4)
    n = 2_000
    prompts = [str(number) for number in range(n)]
    tokens, first, second = (rng.integers(low, 3 * low, n).astype(float) for low in (60, 10, 20))

    found = paired_difference((tokens, first, prompts), (tokens, second, prompts))

    one, other = tokens.sum() / first.sum(), tokens.sum() / second.sum()
    residuals = (tokens - one * first) / first.mean() - (tokens - other * second) / second.mean()
    error = residuals.std() / np.sqrt(n)
    assert found.value == pytest.approx(one - other)
    assert found.high == pytest.approx(one - other + 1.961 * error, rel=2e-3)
    assert found.n == n


def test_few_prompts_have_no_interval() -> None:
    side = ([4.0, 6.0], [1.0, 2.0], ["a", "b"])

    found = paired_difference(side, side)

    assert (found.value, found.low, found.n) == (0.0, None, 2)


def test_sides_of_other_prompts_are_refused() -> None:
    with pytest.raises(NotComparable, match="2 prompts"):
        paired_difference(([1.0], [1.0], ["a"]), ([1.0], [1.0], ["b"]))


def test_a_ratio_to_nothing_is_refused() -> None:
    with pytest.raises(NotComparable, match="not positive"):
        paired_difference(([1.0], [0.0], ["a"]), ([1.0], [1.0], ["a"]))
