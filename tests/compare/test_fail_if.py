"""Conditions of a CI gate look at the bounds that make them sure."""

import pytest

from ddbench.compare.fail_if import judge, read_condition
from ddbench.compare.pairing import Ratios
from ddbench.errors import NotComparable
from ddbench.stats.interval import Interval

KNOWN = Interval(1.0, 0.95, 1.05, 48, 0.95, "log jackknife over prompts")
BARE = Interval(1.0, None, None, 12, 0.95, "log jackknife over prompts")
MEASURED = {
    ("tree", 1): Ratios(KNOWN, KNOWN, BARE, KNOWN, KNOWN),
    ("tree", 8): Ratios(KNOWN, KNOWN, BARE, KNOWN, None),
}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("tokens_per_step < 0.98", False),  # 0.95 is possible, but so is 1.05
        ("tokens_per_step < 1.06", True),
        ("tokens_per_step.low < 0.98", True),
        ("tokens_per_step.value<=1", True),
        ("tokens_per_step > 1.02", False),
        ("tokens_per_step > 0.9", True),
        ("tpot.high@1 >= 1.05", True),
    ],
)
def test_a_condition_holds_by_the_bound_that_makes_it_sure(text: str, holds: bool) -> None:
    judged = judge([read_condition(text)], MEASURED)

    assert {one.holds for one in judged} == {holds}


def test_a_concurrency_can_be_named_and_must_have_been_compared() -> None:
    named = judge([read_condition("tokens_per_step@8 < 0.98")], MEASURED)

    assert [(one.arm, one.concurrency, one.number) for one in named] == [("tree", 8, 1.05)]
    with pytest.raises(NotComparable, match="nothing was compared"):
        judge([read_condition("tokens_per_step@16 < 0.98")], MEASURED)


def test_a_bound_that_is_not_known_decides_nothing() -> None:
    by_bound, by_value, absent = (
        judge([read_condition(text)], MEASURED)
        for text in ("tokens_per_s < 2", "tokens_per_s.value < 2", "tpot@8 < 2")
    )

    assert {one.holds for one in by_bound} == {None}
    assert {one.holds for one in by_value} == {True}
    assert {one.holds for one in absent} == {None}
    assert str(by_bound[0]) == "tokens_per_s < 2 (tree at concurrency 1: high not known)"


def test_what_was_left_out_of_the_comparison_passes_no_gate() -> None:
    left_out = [("tree", 4), ("other", None)]

    everywhere = judge([read_condition("tokens_per_step < 0.98")], MEASURED, left_out)
    at_8 = judge([read_condition("tokens_per_step@8 < 0.98")], MEASURED, left_out)

    assert [one.holds for one in everywhere] == [False, False, None, None]
    assert [str(one) for one in everywhere[2:]] == [
        "tokens_per_step < 0.98 (tree at concurrency 4: high not known)",
        "tokens_per_step < 0.98 (other: not compared)",
    ]
    assert [(one.arm, one.holds) for one in at_8] == [("tree", False), ("other", None)]


@pytest.mark.parametrize(
    "text", ["", "speed < 1", "tokens_per_step", "tokens_per_step = 1", "tokens_per_step.mid < 1"]
)
def test_what_cannot_be_read_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(NotComparable) as error:
        read_condition(text)

    assert "tokens_per_step < 0.98" in error.value.remedy
