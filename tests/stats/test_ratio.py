"""Values by hand, and what the interval must not depend on."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ddbench.errors import NotComparable
from ddbench.stats.jackknife import MIN_CLUSTERS
from ddbench.stats.ratio import paired_ratio, pooled_ratio

PROMPTS = [f"p{number}" for number in range(MIN_CLUSTERS)]
STEPS = np.arange(1.0, MIN_CLUSTERS + 1)
COUNTS = st.lists(st.tuples(st.integers(1, 1000), st.integers(1, 1000)), min_size=1, max_size=60)


@given(COUNTS)
def test_the_value_is_the_ratio_of_the_totals(counts: list[tuple[int, int]]) -> None:
    above, below = zip(*counts, strict=True)
    labels = [str(position % 7) for position in range(len(counts))]

    result = pooled_ratio(above, below, labels)

    assert result.value == pytest.approx(float(Fraction(sum(above), sum(below))))
    assert result.n == len(set(labels))


@pytest.mark.parametrize("seed", range(20))
def test_arms_that_count_alike_have_a_ratio_of_1_exactly(seed: int) -> None:
    """One of them over six trials: a gate at 1 must not hang on how logarithms round."""
    rng = np.random.default_rng(seed)
    tokens, steps = rng.integers(20, 64, len(PROMPTS)), rng.integers(5, 30, len(PROMPTS))

    ratio = paired_ratio((6 * tokens, 6 * steps, PROMPTS), (tokens, steps, PROMPTS))

    assert (ratio.low, ratio.value, ratio.high) == (1.0, 1.0, 1.0)


def test_the_interval_agrees_with_leaving_out_prompts_one_by_one() -> None:
    rng = np.random.default_rng(0)
    above = rng.integers(20, 60, 3 * MIN_CLUSTERS)
    below = rng.integers(5, 20, 3 * MIN_CLUSTERS)
    labels = PROMPTS * 3

    result = pooled_ratio(above, below, labels)

    logs = [
        np.log(
            sum(a for a, label in zip(above, labels, strict=True) if label != left_out)
            / sum(b for b, label in zip(below, labels, strict=True) if label != left_out)
        )
        for left_out in PROMPTS
    ]
    error = np.sqrt((len(logs) - 1) * np.var(logs))
    n, kurtosis = len(logs), stats.kurtosis(logs, fisher=False)
    freedom = min(n - 1, 2 * n / (kurtosis - (n - 3) / (n - 1)))
    reach = np.exp(stats.t.ppf(0.975, freedom) * error)
    assert result.low == pytest.approx(result.value / reach, rel=1e-6)
    assert result.high == pytest.approx(result.value * reach, rel=1e-6)


def test_a_spread_that_few_prompts_carry_is_known_less_well() -> None:
    """Student's quantile for 39 degrees of freedom is 2.02; one prompt leaves about 2, and 4.3."""
    above = STEPS * 3.0
    above[7] *= 30.0

    result, even = pooled_ratio(above, STEPS, PROMPTS), pooled_ratio(STEPS**1.1, STEPS, PROMPTS)

    assert result.freedom == pytest.approx(2.0, abs=0.2)
    assert even.freedom == MIN_CLUSTERS - 1


def test_order_of_the_requests_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    above, below = rng.integers(1, 60, (2, MIN_CLUSTERS))
    shuffled = rng.permutation(MIN_CLUSTERS)

    one = pooled_ratio(above, below, PROMPTS)
    other = pooled_ratio(above[shuffled], below[shuffled], [PROMPTS[i] for i in shuffled])

    assert (one.low, one.high) == pytest.approx((other.low, other.high))


def test_the_ratio_of_a_ratio_to_itself_is_exactly_one_with_no_doubt() -> None:
    arm = (STEPS * 3.0 + np.sin(STEPS), STEPS, PROMPTS)

    result = paired_ratio(arm, arm)

    assert (result.value, result.low, result.high) == pytest.approx((1.0, 1.0, 1.0), abs=1e-12)


def test_swapping_the_arms_inverts_the_interval() -> None:
    rng = np.random.default_rng(2)
    one = (rng.integers(20, 60, MIN_CLUSTERS), rng.integers(5, 20, MIN_CLUSTERS), PROMPTS)
    other = (rng.integers(20, 60, MIN_CLUSTERS), rng.integers(5, 20, MIN_CLUSTERS), PROMPTS)

    forth, back = paired_ratio(one, other), paired_ratio(other, one)

    assert back.low is not None
    assert back.high is not None
    assert forth.value == pytest.approx(1.0 / back.value)
    assert (forth.low, forth.high) == pytest.approx((1.0 / back.high, 1.0 / back.low))


def test_the_first_arm_is_on_top() -> None:
    twice = paired_ratio((STEPS * 4.0, STEPS, PROMPTS), (STEPS * 2.0, STEPS, PROMPTS))

    assert twice.value == pytest.approx(2.0)


def test_pairing_takes_out_what_both_arms_share() -> None:
    rng = np.random.default_rng(4)
    hard = rng.lognormal(0.0, 1.0, MIN_CLUSTERS)
    one = (hard * rng.normal(3.0, 0.01, MIN_CLUSTERS), np.ones(MIN_CLUSTERS), PROMPTS)
    other = (hard * rng.normal(2.0, 0.01, MIN_CLUSTERS), np.ones(MIN_CLUSTERS), PROMPTS)

    paired, alone = paired_ratio(one, other), pooled_ratio(*one)

    assert paired.low is not None and paired.high is not None  # noqa: PT018
    assert alone.low is not None and alone.high is not None  # noqa: PT018
    assert paired.high / paired.low < 1.03
    assert alone.high / alone.low > 1.5


def test_too_few_prompts_give_a_value_without_an_interval() -> None:
    few = PROMPTS[:-1]

    result = pooled_ratio(STEPS[:-1] * 2.0, STEPS[:-1], few)

    assert (result.value, result.low, result.high, result.n) == (2.0, None, None, len(few))


def test_a_single_prompt_with_everything_gives_no_interval() -> None:
    above = np.zeros(MIN_CLUSTERS)
    above[0] = 5.0

    result = pooled_ratio(above, STEPS, PROMPTS)

    assert result.low is result.high is None


@pytest.mark.parametrize(
    ("above", "below", "labels", "says"),
    [
        ([1.0], [1.0, 2.0], ["a"], "labels"),
        ([1.0], [0.0], ["a"], "not positive"),
        ([], [], [], "not positive"),
        ([float("nan")], [1.0], ["a"], "not a finite number"),
        ([1.0], [float("inf")], ["a"], "not a finite number"),
    ],
)
def test_what_cannot_be_divided_is_refused(
    above: list[float], below: list[float], labels: list[str], says: str
) -> None:
    with pytest.raises(NotComparable, match=says):
        pooled_ratio(above, below, labels)


def test_arms_with_different_prompts_are_not_paired() -> None:
    with pytest.raises(NotComparable, match="2 prompts were answered on one side only"):
        paired_ratio(([1.0], [1.0], ["a"]), ([1.0], [1.0], ["b"]))
