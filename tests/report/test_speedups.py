"""Which arms are held against which, and that the ratio is the right way up."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ddbench.records import RequestFailed, RunResult
from ddbench.report.speedups import Speedup, speedups

Make = Callable[..., RunResult]


def with_server(result: RunResult, **changes: Any) -> RunResult:
    server = replace(result.trial.server, **changes)
    return replace(result, trial=replace(result.trial, server=server))


def pairs(found: list[Speedup]) -> list[tuple[int, str, str]]:
    return [(speedup.concurrency, speedup.arm, speedup.reference) for speedup in found]


def test_trees_are_held_against_linear_and_all_against_autoregressive(
    sweep: list[RunResult],
) -> None:
    found = speedups(sweep)

    assert pairs(found) == [
        (concurrency, *pair)
        for concurrency in (1, 8)
        for pair in (
            ("tree-8-31-4", "linear-8"),
            ("linear-8", "autoregressive"),
            ("tree-8-31-4", "autoregressive"),
        )
    ]


def test_the_arm_is_on_top_and_the_reference_below(sweep: list[RunResult]) -> None:
    """A tree needs 15 steps where linear needs 20; prompts and prefill keep it from 4/3."""
    tree = speedups(sweep)[0]

    own = [r for r in sweep if r.trial.arm == "tree-8-31-4" and r.trial.load.concurrency == 1]
    other = [r for r in sweep if r.trial.arm == "linear-8" and r.trial.load.concurrency == 1]
    time_s = [sum(r.e2e_s for result in side for r in result.completed) for side in (own, other)]
    steps = [
        sum(r.verify_ct or 0 for result in side for r in result.completed) for side in (own, other)
    ]
    assert tree.tokens_per_s is not None
    assert tree.request_rate is not None
    assert tree.tokens_per_step is not None
    assert tree.tokens_per_s.value == pytest.approx(time_s[1] / time_s[0])
    assert tree.request_rate.value == pytest.approx(time_s[1] / time_s[0])
    assert tree.tokens_per_step.value == pytest.approx(steps[1] / steps[0])
    assert tree.request_rate.value > 1.2
    assert (tree.tokens_per_s.n, tree.request_rate.n, tree.tokens_per_step.n) == (2, 48, 48)


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "other"},
        {"draft_model": "builtin:undertrained"},
        {"flags": (("disable-cuda-graph", True),)},
        {"env": (("A", "1"),)},
        {"engine": "sglang"},
        {"max_running_requests": 48},
    ],
)
def test_arms_under_unlike_conditions_are_not_divided(
    make_result: Make, changes: dict[str, Any]
) -> None:
    results = [make_result("linear-8"), with_server(make_result("tree-8-31-4"), **changes)]

    assert speedups(results) == []


def test_flags_of_the_drafter_are_no_condition(make_result: Make) -> None:
    tree = with_server(make_result("tree-8-31-4"), flags=(("speculative-x", 1),))

    assert pairs(speedups([make_result("linear-8"), tree])) == [(1, "tree-8-31-4", "linear-8")]


def test_a_tree_is_not_held_against_a_line_of_another_block_size(make_result: Make) -> None:
    linear = make_result("linear-8")
    short = replace(linear.trial.server.speculation, block_size=4)

    results = [with_server(linear, speculation=short), make_result("tree-8-31-4")]

    assert speedups(results) == []


def test_only_prompts_that_both_answered_are_paired(make_result: Make) -> None:
    linear, tree = make_result("linear-8"), make_result("tree-8-31-4")
    fewer = replace(tree, requests=tree.requests[8:])

    (speedup,) = speedups([linear, fewer])

    assert speedup.request_rate is not None
    assert speedup.tokens_per_step is not None
    assert speedup.request_rate.n == speedup.tokens_per_step.n == 40


def test_only_repeats_that_both_ran_are_paired(make_result: Make) -> None:
    results = [
        make_result("linear-8", repeat=0),
        make_result("linear-8", repeat=1),
        make_result("tree-8-31-4", repeat=1),
    ]

    (speedup,) = speedups(results)

    assert speedup.tokens_per_s is not None
    assert (speedup.tokens_per_s.n, speedup.tokens_per_s.low) == (1, None)


@pytest.mark.parametrize("rate_per_s", [None, 2.5])
def test_times_of_a_trial_with_a_failed_request_are_not_divided(
    make_result: Make, rate_per_s: float | None
) -> None:
    """What was accepted counts all the same."""
    linear, tree = (make_result(arm, rate_per_s=rate_per_s) for arm in ("linear-8", "tree-8-31-4"))
    first, *others = tree.requests
    failed = RequestFailed(first.prompt_id, first.sent_s, first.lateness_s, "connection reset")

    (speedup,) = speedups([linear, replace(tree, requests=(failed, *others))])

    assert speedup.tokens_per_s is speedup.request_rate is None
    assert speedup.tokens_per_step is not None
    assert speedup.tokens_per_step.n == 47


def test_arms_that_share_no_prompt_are_not_divided(make_result: Make) -> None:
    tree = make_result("tree-8-31-4")
    others = tuple(replace(r, prompt_id=f"other-{r.prompt_id}") for r in tree.completed)

    (speedup,) = speedups([make_result("linear-8"), replace(tree, requests=others)])

    assert speedup.request_rate is speedup.tokens_per_step is None


def test_arms_are_held_against_each_other_at_the_same_rate(make_result: Make) -> None:
    found = speedups(
        make_result(arm, rate_per_s=rate)
        for rate in (8.0, 2.5)
        for arm in ("linear-8", "tree-8-31-4")
    )

    assert [(one.rate_per_s, one.arm, one.reference) for one in found] == [
        (rate, "tree-8-31-4", "linear-8") for rate in (2.5, 8.0)
    ]
    assert {one.tokens_per_s.n for one in found if one.tokens_per_s} == {1}
