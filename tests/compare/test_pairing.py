"""Ratios stand the right way up and are what their names say."""

from dataclasses import fields, replace
from statistics import geometric_mean

import pytest

from ddbench.compare.arms import ComparedArm
from ddbench.compare.pairing import (
    Ratios,
    paired_trials,
    ratios,
    throughput_ratio,
    throughput_ratios,
)
from ddbench.stats.interval import Interval

Arms = dict[str, ComparedArm]


def test_every_ratio_is_second_over_first_as_its_definition_says(quickstart: Arms) -> None:
    linear, tree = quickstart["linear-8"].at(4), quickstart["tree-8-31-4"].at(4)
    sides = [[r for trial in trials for r in trial.completed] for trials in (linear, tree)]
    pooled, means, rates, times = [], [], [], []
    for side in sides:
        pooled.append(
            sum(r.completion_tokens - 1 for r in side) / sum(r.verify_ct or 0 for r in side)
        )
        means.append(sum((r.completion_tokens - 1) / (r.verify_ct or 1) for r in side) / len(side))
        rates.append(sum(r.completion_tokens for r in side) / sum(r.e2e_s for r in side))
        times.append(
            sum((r.e2e_s - r.ttft_s) / (r.completion_tokens - 1) for r in side) / len(side)
        )

    found = ratios(linear, tree)

    for ratio, (below, above) in (
        (found.tokens_per_step, pooled),
        (found.tokens_per_step_mean, means),
        (found.request_rate, rates),
        (found.tpot, times),
    ):
        assert ratio is not None
        assert ratio.value == pytest.approx(above / below)
        assert ratio.n == 48


def test_throughput_is_paired_by_visit_and_repeat(quickstart: Arms) -> None:
    linear, tree = quickstart["linear-8"].at(4), quickstart["tree-8-31-4"].at(4)
    speed = [
        [sum(r.completion_tokens for r in trial.completed) / (trial.wall_s or 0) for trial in side]
        for side in (linear, tree)
    ]
    geometric = (speed[1][0] / speed[0][0] * speed[1][1] / speed[0][1]) ** 0.5

    found = ratios(linear, tree[::-1]).tokens_per_s

    assert found is not None
    assert found.value == pytest.approx(geometric)
    assert found.n == 2


@pytest.mark.parametrize(("visits", "units"), [((0, 0), [(0, 0), (0, 1)]), ((0, 1), [0, 1])])
def test_each_repeat_or_visit_has_the_ratio_that_its_mean_is_of(
    quickstart: Arms, visits: tuple[int, int], units: list[object]
) -> None:
    linear, tree = (
        [
            replace(t, trial=replace(t.trial, visit=v))
            for t, v in zip(arm.at(4), visits, strict=True)
        ]
        for arm in (quickstart["linear-8"], quickstart["tree-8-31-4"])
    )

    found = throughput_ratios(linear, tree)

    mean = throughput_ratio(linear, tree)
    alone = throughput_ratio(linear[:1], tree[:1])
    assert mean is not None
    assert alone is not None
    assert list(found) == units
    assert geometric_mean(found.values()) == pytest.approx(mean.value)
    assert next(iter(found.values())) == pytest.approx(alone.value)


def test_a_repeat_that_only_one_side_has_is_left_out(quickstart: Arms) -> None:
    linear, tree = quickstart["linear-8"].at(4), quickstart["tree-8-31-4"].at(4)

    pairs = paired_trials(linear, tree[1:])

    assert [(a.trial.repeat, b.trial.repeat) for a, b in pairs] == [(1, 1)]


def test_swapping_the_arms_inverts_every_ratio_and_its_interval(quickstart: Arms) -> None:
    linear, tree = quickstart["linear-8"].at(8), quickstart["tree-8-31-4"].at(8)

    there, back = ratios(linear, tree), ratios(tree, linear)

    for field in fields(Ratios):
        one: Interval = getattr(there, field.name)
        other: Interval = getattr(back, field.name)
        assert one.low is not None
        assert one.high is not None
        assert (other.value, other.low, other.high) == pytest.approx(
            (1 / one.value, 1 / one.high, 1 / one.low)
        )


def test_only_prompts_that_both_sides_answered_count(quickstart: Arms) -> None:
    linear, tree = quickstart["linear-8"].at(1), quickstart["tree-8-31-4"].at(1)
    fewer = [replace(trial, requests=trial.requests[6:]) for trial in tree]

    found = ratios(linear, fewer).tokens_per_step

    assert found is not None
    assert found.n == 42
