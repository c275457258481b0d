"""An interval of a ratio in words: only what it really says."""

import pytest

from ddbench.compare.verdicts import Verdict, detectable_sentence, verdict
from ddbench.stats.interval import Interval

PROMPTS = "log jackknife over prompts"
REPEATS = "Student's t on logs over paired repeats"


def ratio(low: float | None, high: float | None, *, n: int = 48, method: str = PROMPTS) -> Interval:
    value = 1.1 if low is None or high is None else (low * high) ** 0.5
    return Interval(value, low, high, n, 0.95, method, n - 1.0)


@pytest.mark.parametrize(
    ("interval", "lower_wins", "expected"),
    [
        (ratio(1.05, 1.2), False, "better"),
        (ratio(0.8, 0.95), False, "worse"),
        (ratio(0.8, 0.95), True, "better"),
        (ratio(1.05, 1.2), True, "worse"),
        (ratio(0.95, 1.2), False, "undecided"),
        (ratio(None, None, n=12), False, "undecided"),
        (ratio(0.995, 1.004), False, "equivalent"),
        (ratio(1.001, 1.005), False, "equivalent"),
        (None, False, "not measured"),
    ],
)
def test_the_verdict_follows_from_the_interval(
    interval: Interval | None, lower_wins: bool, expected: Verdict
) -> None:
    assert verdict(interval, narrow=interval, lower_wins=lower_wins) == expected


def test_what_could_have_been_seen_is_said_with_its_unit() -> None:
    assert detectable_sentence(ratio(0.97, 1.03)) == (
        "with 48 prompts you could not have seen less than 4.4%"
    )
    assert detectable_sentence(ratio(0.5, 2.0, n=2, method=REPEATS)) == (
        "with 2 pairs of repeats you could not have seen less than 143.8%"
    )
    assert detectable_sentence(ratio(0.001, 900.0, n=2, method=REPEATS)) == (
        "with 2 pairs of repeats no difference could have been seen"
    )


def test_too_few_units_for_an_interval_are_counted_and_none_is_made_up() -> None:
    few = detectable_sentence(ratio(None, None, n=12))
    one = detectable_sentence(ratio(None, None, n=1, method=REPEATS))

    assert few == "12 prompts allow no interval; 40 are needed"
    assert one == "1 pair of repeats allows no interval; 2 are needed"
    assert detectable_sentence(None) is None
    assert detectable_sentence(ratio(1.0, 1.0)) == "48 prompts agree exactly"
