"""TOST and the detectable difference, against what their definitions promise."""

import math

import numpy as np
import pytest
from scipy import stats

from ddbench.errors import NotComparable
from ddbench.stats.equivalence import detectable_ratio, equivalent_within
from ddbench.stats.interval import Interval
from ddbench.stats.ratio import paired_ratio

N = 48
PROMPTS = [str(number) for number in range(N)]


def experiment(rng: np.random.Generator, truth: float, *, confidence: float) -> Interval:
    """A ratio of `truth` whose logarithm has a standard error of 0.05 / sqrt(48) = 0.72 %."""
    tokens = np.full(N, 64.0)
    noise = np.exp(rng.normal(0.0, 0.05, N))
    first = (tokens * truth * noise, tokens, PROMPTS)
    return paired_ratio(first, (tokens, tokens, PROMPTS), confidence=confidence)


def interval(low: float, high: float) -> Interval:
    return Interval(math.sqrt(low * high), low, high, N, 0.9, "by hand")


@pytest.mark.parametrize(
    ("low", "high", "equivalent"),
    [(0.995, 1.005, True), (0.98, 1.005, False), (0.995, 1.02, False), (1.02, 1.03, False)],
)
def test_equivalent_means_that_the_whole_interval_is_within_the_margin(
    low: float, high: float, equivalent: bool
) -> None:
    assert equivalent_within(interval(low, high), 0.01).equivalent is equivalent


def test_the_answer_does_not_depend_on_which_arm_is_on_top() -> None:
    one = equivalent_within(interval(0.97, 1.005), 0.01)
    other = equivalent_within(interval(1 / 1.005, 1 / 0.97), 0.01)

    assert one.least_margin == pytest.approx(other.least_margin)
    assert one.least_margin == pytest.approx(1 / 0.97 - 1)


def test_arms_at_the_margin_are_called_equivalent_at_most_as_often_as_the_level() -> None:
    """2,000 experiments, expected 5 % (the other test never fails): 3.5 standard errors above."""
    rng = np.random.default_rng(11)

    wrong = sum(
        equivalent_within(experiment(rng, 1.03, confidence=0.9), 0.03).equivalent
        for _ in range(2_000)
    )

    assert wrong / 2_000 <= 0.05 + 3.5 * math.sqrt(0.05 * 0.95 / 2_000)


def test_a_difference_of_the_detectable_size_is_found_as_often_as_promised() -> None:
    """2,000 experiments at the true detectable ratio; 3.5 standard errors are 0.031, plus 0.01 as
    the spread is that of the median experiment."""
    rng = np.random.default_rng(12)
    sizes = [detectable_ratio(experiment(rng, 1.0, confidence=0.95)) for _ in range(200)]
    detectable = float(np.median(sizes))

    found = sum(1.0 not in experiment(rng, detectable, confidence=0.95) for _ in range(2_000))

    assert detectable == pytest.approx(1.0 + 2.87 * 0.05 / math.sqrt(N), abs=0.001)
    assert 0.76 <= found / 2_000 <= 0.84


@pytest.mark.parametrize("n", [2, 3, 8])
def test_few_repeats_find_the_detectable_ratio_as_often_as_promised(n: int) -> None:
    """With one degree of freedom, too: 20,000 experiments; 3.5 standard errors are 0.01."""
    rng = np.random.default_rng(n)
    reach = float(stats.t.ppf(0.975, n - 1)) / math.sqrt(n)  # of logarithms that spread by 1
    known = Interval(1.0, math.exp(-reach), math.exp(reach), n, 0.95, "Student's t on logs")

    logs = rng.normal(math.log(detectable_ratio(known)), 1.0, (20_000, n))

    found = stats.ttest_1samp(logs, 0.0, axis=1).pvalue < 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize("low", [None, 0.0])
def test_without_an_interval_there_is_no_verdict(low: float | None) -> None:
    unknown = Interval(1.0, low, 1.0, 5, 0.9, "by hand")

    with pytest.raises(NotComparable, match="no interval"):
        equivalent_within(unknown, 0.01)
    with pytest.raises(NotComparable):
        detectable_ratio(unknown)


def test_a_margin_of_nothing_is_refused() -> None:
    with pytest.raises(NotComparable, match="margin"):
        equivalent_within(interval(0.99, 1.01), 0.0)
