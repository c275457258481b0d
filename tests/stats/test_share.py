"""Shares, against a binomial where prompts are alike."""

import numpy as np
import pytest
from scipy.stats import norm

from ddbench.errors import NotComparable
from ddbench.stats.share import MIN_SHARE_CLUSTERS, share_interval

PROMPTS = [str(number) for number in range(400)]


def test_agrees_with_the_logit_interval_of_independent_trials() -> None:
    """One trial a prompt: no clusters, so the textbook interval of the log odds must come out."""
    hits = (np.arange(400) % 10 < 9).astype(float)

    found = share_interval(hits, np.ones(400), PROMPTS)

    error = 1.0 / np.sqrt(400 * 0.9 * 0.1)
    centre, quantile = np.log(9.0), norm.ppf(0.975)
    expected = 1.0 / (1.0 + np.exp(-(centre + np.array([-1.0, 1.0]) * quantile * error)))
    assert found.value == pytest.approx(0.9)
    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=2e-3)


def test_stays_between_0_and_1() -> None:
    hits = np.full(MIN_SHARE_CLUSTERS, 20.0)
    hits[[0, 1]] = 0.0

    found = share_interval(hits, np.full(MIN_SHARE_CLUSTERS, 20.0), PROMPTS[:MIN_SHARE_CLUSTERS])

    assert found.high is not None
    assert found.value < found.high < 1.0


def test_prompts_without_any_count_are_not_counted() -> None:
    """100 prompts of which 63 have something to say are too few, and 64 are as many."""
    for known, has_interval in ((63, False), (64, True)):
        counts = np.array([5.0] * known + [0.0] * (100 - known))

        found = share_interval(np.arange(100) % 5 * (counts > 0.0), counts, PROMPTS[:100])
        alone = share_interval(np.arange(known) % 5, counts[:known], PROMPTS[:known])

        assert (found.n, found.low is not None) == (known, has_interval)
        assert (found.value, found.low, found.high) == (alone.value, alone.low, alone.high)


@pytest.mark.parametrize("hits", [0.0, 5.0])
def test_all_or_nothing_has_no_interval(hits: float) -> None:
    found = share_interval([hits] * 80, [5.0] * 80, PROMPTS[:80])

    assert (found.value, found.low, found.high, found.n) == (hits / 5.0, None, None, 80)


def test_one_prompt_with_all_the_misses_has_no_interval() -> None:
    found = share_interval([1.0] + [5.0] * 79, [5.0] * 80, PROMPTS[:80])

    assert (found.low, found.n) == (None, 80)


def test_too_few_prompts_have_no_interval() -> None:
    few = MIN_SHARE_CLUSTERS - 2

    found = share_interval([1.0, 4.0] * (few // 2), [5.0] * few, PROMPTS[:few])

    assert (found.value, found.low) == (0.5, None)


@pytest.mark.parametrize(("hits", "counts"), [([0.0], [0.0]), ([2.0], [1.0]), ([-1.0], [1.0])])
def test_what_is_no_share_is_refused(hits: list[float], counts: list[float]) -> None:
    with pytest.raises(NotComparable, match="share"):
        share_interval(hits, counts, ["p"])
