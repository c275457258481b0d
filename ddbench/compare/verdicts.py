"""What an interval of a ratio lets us say, in words."""

from typing import Literal, TypeGuard

from ddbench.stats.equivalence import detectable_ratio, equivalent_within
from ddbench.stats.interval import Interval
from ddbench.stats.jackknife import MIN_CLUSTERS

MARGIN = 0.01
"""Within which two arms' tokens per step are called equivalent."""

TEST_CONFIDENCE = 0.90
"""Of the interval that two one-sided tests at the 5 % level look at."""

Verdict = Literal["better", "worse", "equivalent", "undecided", "not measured"]


def verdict(
    ratio: Interval | None, *, narrow: Interval | None, lower_wins: bool = False
) -> Verdict:
    """Of a second arm against a first one, by the interval of their ratio.

    A difference that is sure and lies within the margin is equivalent all the same.

    Args:
        narrow: the same ratio with TEST_CONFIDENCE, for the equivalence test.
        lower_wins: the ratio is of times.
    """
    if ratio is None:
        return "not measured"
    if is_known(narrow) and equivalent_within(narrow, MARGIN).equivalent:
        return "equivalent"
    if ratio.low is None or ratio.high is None or ratio.low <= 1.0 <= ratio.high:
        return "undecided"
    return "better" if (ratio.low > 1.0) != lower_wins else "worse"


def is_known(ratio: Interval | None) -> TypeGuard[Interval]:
    """Whether there is a ratio with an interval."""
    return ratio is not None and ratio.low is not None and ratio.high is not None


def detectable_sentence(ratio: Interval | None) -> str | None:
    """`with 48 prompts you could not have seen less than 3.1 %`; None without a ratio."""
    if ratio is None:
        return None
    unit = unit_of(ratio)
    if ratio.low is None or ratio.high is None:
        allow = "allows" if ratio.n == 1 else "allow"
        return f"{_count(ratio.n, unit)} {allow} no interval{_needed(unit)}"
    if ratio.low == ratio.high:
        return f"{_count(ratio.n, unit)} agree exactly"
    share = detectable_ratio(ratio) - 1.0
    if share > 10.0:
        return f"with {_count(ratio.n, unit)} no difference could have been seen"
    return f"with {_count(ratio.n, unit)} you could not have seen less than {share:.1%}"


def unit_of(ratio: Interval) -> str:
    """What its n counts, in words."""
    units = {"repeats": "pair of repeats", "visits": "visit", "hosts": "host", "servers": "server"}
    return next((unit for word, unit in units.items() if word in ratio.method), "prompt")


def _count(n: int, unit: str) -> str:
    head, *tail = unit.split(" ", 1)
    return " ".join([f"{n} {head}" if n == 1 else f"{n} {head}s", *tail])


def _needed(unit: str) -> str:
    return f"; {MIN_CLUSTERS} are needed" if unit == "prompt" else "; 2 are needed"
